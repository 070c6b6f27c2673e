"""The rewriting of requests: a model writes one anew from the turns before it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path

from codenav.core.errors import Cancelled, CodeNavError, ModelFailed, RankingFailed, UsageError
from codenav.core.messages import Message
from codenav.core.protocols import Model
from codenav.core.system.terminal_text import flattened, shortened
from codenav.core.tool_selection import ToolSelection

TURN = 2000
"""Most characters of one turn that the model sees: its beginning and its end."""
SECONDS = 30.0
"""Time limit of the model's answer, with its retries."""


class Rewriter:
    """A model that writes requests anew, as the settings say."""

    def __init__(self, model: Model, settings: ToolSelection, *, tell: Callable[[str], None]) -> None:
        """`tell` gets a line where the model fails and the settings say `skip`.

        Raises:
            UsageError: the prompt of the settings cannot be read, or is empty.
        """
        self._model, self._settings, self._tell = model, settings, tell
        self._prompt = prompt_of(settings.rewrite_prompt) or _builtin()

    def rewrite(self, turns: Sequence[Message], request: str) -> str:
        """Return a request so that it needs none of the turns before it; as it is if there are too few of them.

        Raises:
            RankingFailed: the model failed, and the settings say `abort`.
            Cancelled: the work was cancelled meanwhile.
        """
        if not request or len(turns) < max(1, self._settings.rewrite_trigger):
            return request
        try:
            return self._written([*turns, Message("user", request)])
        except Cancelled:
            raise
        except CodeNavError as error:
            if self._settings.rewrite_failure == "abort":
                raise RankingFailed(str(error), hint=error.hint) from error
            self._tell(f"the request was not written anew: {error}")
            return request

    def _written(self, turns: Sequence[Message]) -> str:
        """The last turn, written anew in one line."""
        seen = turns[-self._settings.rewrite_turns :] if self._settings.rewrite_turns else turns
        told = "\n\n".join(f"{turn.role}: {_middle_cut(turn.content)}" for turn in seen)
        answer = self._model.complete([Message("system", self._prompt), Message("user", told)], timeout=SECONDS)
        # A model may be one whose answers are not limited where it was opened; a token has four letters.
        most = 4 * self._settings.rewrite_tokens
        written = shortened(flattened(answer.text.strip().strip("\"'`"), 64_000), most)
        if not any(map(str.isalnum, written)):
            raise ModelFailed("the model that rewrites requests wrote no words", hint="another rewrite.model")
        return written


def prompt_of(path: str) -> str:
    """Return the text of a prompt file; "" for no file.

    Raises:
        UsageError: it cannot be read, or is empty.
    """
    if not path:
        return ""
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the prompt {path}: {error}", hint="a text file in UTF-8") from error
    if not text:
        raise UsageError(f"the prompt {path} is empty", hint="leave it out for the one that is built in")
    return text


@functools.cache
def _builtin() -> str:
    return (resources.files("codenav.retrieval.selection") / "rewrite.md").read_text(encoding="utf-8").strip()


def _middle_cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= TURN else f"{text[: TURN // 2]} … {text[-TURN // 2 :]}"
