"""The dialogues of `level-1-given-desc`: which of them are samples, the request, the state before it, and gold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codenav.core.errors import NotFound, UsageError
from codenav.evals.api_bank.inside import SAMPLE
from codenav.evals.task import Sample

FOLDER = "lv1-lv2-samples/level-1-given-desc"
"""The dialogues in the checkout's folder `api-bank`."""
YEAR = "This year is 2023."
"""From upstream's prompt: dates in the dialogues lack the year, and `GetToday` says 2023-03-31."""
OPENING = (
    "Below is a conversation of a user with an assistant, with the API calls that the assistant made and their "
    f"responses. You are the assistant: do what the last message of the user asks for. {YEAR}"
)
_AGAIN = "git checkout that file again"

Message = Mapping[str, Any]
Call = dict[str, Any]
"""A recorded call: `name`; `params`, all text, as upstream writes them; `arguments`, as they were really passed; and
`result`, as recorded, with `input`, `output` and `exception`."""


@dataclass(frozen=True)
class Dialogue:
    """A dialogue, split after the last message of the user."""

    id: str
    """`dialogue-017`: its place among the files. Their names cannot serve, since they name the expected APIs."""
    file: str
    chat: Sequence[Message]
    """The messages up to the last one of the user. Empty for a file without one."""
    rest: Sequence[Message]

    @property
    def earlier(self) -> list[Call]:
        """The calls before the last message of the user."""
        return [_call(message) for message in self.chat if message["role"] == "API"]

    @property
    def gold(self) -> list[Call]:
        """The calls after it. A dialogue without any is no sample."""
        return [_call(message) for message in self.rest if message["role"] == "API"]

    def sample(self) -> Sample:
        """The sample. Its file for the work folder has nothing of what is expected."""
        request = "\n".join([OPENING, "", *map(_line, self.chat)])
        earlier = [{name: call[name] for name in ("name", "arguments", "result")} for call in self.earlier]
        # Not the id: it is a place among files whose names begin with the expected API.
        seed = hashlib.sha256(request.encode()).hexdigest()
        state = json.dumps({"seed": seed, "earlier": earlier}, ensure_ascii=False, indent=1)
        return Sample(
            id=self.id,
            request=request,
            gold=self.gold,
            files={SAMPLE: state.encode()},
            group="level-2" if "level-2" in self.file else "level-1",
            facts={"file": self.file},
        )


def dialogues(root: Path) -> list[Dialogue]:
    """All dialogues of a checkout, in the order of their file names.

    Raises:
        NotFound: there are none.
        UsageError: a file is no dialogue.
    """
    files = sorted((root / FOLDER).glob("*.jsonl"), key=lambda path: path.name)
    if not files:
        raise NotFound(f"no dialogues (*.jsonl) in {root / FOLDER}", hint="take a whole checkout of DAMO-ConvAI")
    return [_read(path, f"dialogue-{number:03}") for number, path in enumerate(files, 1)]


def _read(path: Path, id: str) -> Dialogue:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}", hint=_AGAIN) from None
    messages = [_message(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]
    last = max((place for place, message in enumerate(messages) if message["role"] == "User"), default=-1)
    return Dialogue(id, path.name, messages[: last + 1], messages[last + 1 :] if last >= 0 else [])


def _message(line: str, place: str) -> Message:
    try:
        message = json.loads(line)
        call = {"api_name": str, "param_dict": dict, "result": dict}
        kinds = call if message.get("role") == "API" else {"role": str, "text": str}
        sound = all(isinstance(message.get(key), kind) for key, kind in kinds.items())
    except (ValueError, AttributeError):
        sound = False
    if not sound:
        raise UsageError(f"{place} is no message of a dialogue", hint=_AGAIN)
    found: Message = message
    return found


def _call(message: Message) -> Call:
    # `param_dict` has lists and numbers as text.
    passed = message["result"].get("input")
    return {
        "name": message["api_name"],
        "params": message["param_dict"],
        "arguments": passed if isinstance(passed, dict) and passed else message["param_dict"],
        "result": message["result"],
    }


def _line(message: Message) -> str:
    """A message in the request, a call in upstream's notation."""
    if message["role"] != "API":
        return f"{'User' if message['role'] == 'User' else 'Assistant'}: {message['text']}"
    given = ", ".join(f"{name}={value!r}" for name, value in message["param_dict"].items())
    return f"API: [{message['api_name']}({given})] Response: {message['result'].get('output')}"
