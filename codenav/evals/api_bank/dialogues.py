"""The dialogues of `level-1-given-desc`: which of them are samples, the request, the state before it, and gold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from codenav.core.errors import NotFound, UsageError
from codenav.core.system.stored import Document
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


@dataclass(frozen=True)
class Call(Document):
    """A recorded call of an API in a dialogue."""

    name: str
    params: Mapping[str, Any]
    """As upstream writes them, all text."""
    result: Mapping[str, Any]
    """As recorded: `input`, `output`, `exception`."""

    stored: ClassVar[Sequence[str]] = ("name", "params", "arguments", "result")

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments that were really passed: `result["input"]` has lists and numbers that `params` has as text."""
        given = self.result.get("input")
        return given if isinstance(given, dict) and given else self.params


@dataclass(frozen=True)
class Dialogue:
    """A dialogue, split after the last message of the user."""

    id: str
    """`dialogue-017`: its place among the files. Their names cannot serve, since they name the expected APIs."""
    file: str
    chat: Sequence[Mapping[str, Any]]
    """The messages up to the last one of the user. Empty for a file without one."""
    rest: Sequence[Mapping[str, Any]]

    @property
    def earlier(self) -> list[Call]:
        """The calls before the last message of the user."""
        return _calls(self.chat)

    @property
    def gold(self) -> list[Call]:
        """The calls after it. A dialogue without any is no sample."""
        return _calls(self.rest)

    @property
    def request(self) -> str:
        """The prompt: the chat, calls in upstream's notation."""
        return "\n".join([OPENING, "", *map(_line, self.chat)])

    def sample(self) -> Sample:
        """The sample. Its file for the work folder has nothing of what is expected."""
        earlier = [{"name": call.name, "arguments": call.arguments, "result": call.result} for call in self.earlier]
        # Not the id: it is a place among files whose names begin with the expected API.
        seed = hashlib.sha256(self.request.encode()).hexdigest()
        state = json.dumps({"seed": seed, "earlier": earlier}, ensure_ascii=False, indent=1)
        return Sample(
            id=self.id,
            request=self.request,
            gold=[call.to_dict() for call in self.gold],
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
    messages = []
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}", hint="git checkout that file again") from None
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            messages.append(_message(line, f"{path}:{number}"))
    last = max((place for place, message in enumerate(messages) if message["role"] == "User"), default=-1)
    return Dialogue(id, path.name, messages[: last + 1], messages[last + 1 :] if last >= 0 else [])


def _message(line: str, place: str) -> dict[str, Any]:
    wrong = UsageError(f"{place} is no message of a dialogue", hint="git checkout that file again")
    try:
        message = json.loads(line)
    except ValueError:
        raise wrong from None
    if not isinstance(message, dict):
        raise wrong
    if message.get("role") == "API":
        kinds = {"api_name": str, "param_dict": dict, "result": dict}
    else:
        kinds = {"role": str, "text": str}
    if not all(isinstance(message.get(key), kind) for key, kind in kinds.items()):
        raise wrong
    return message


def _calls(messages: Sequence[Mapping[str, Any]]) -> list[Call]:
    return [
        Call(message["api_name"], message["param_dict"], message["result"])
        for message in messages
        if message["role"] == "API"
    ]


def _line(message: Mapping[str, Any]) -> str:
    if message["role"] != "API":
        return f"{'User' if message['role'] == 'User' else 'Assistant'}: {message['text']}"
    given = ", ".join(f"{name}={value!r}" for name, value in message["param_dict"].items())
    return f"API: [{message['api_name']}({given})] Response: {message['result'].get('output')}"
