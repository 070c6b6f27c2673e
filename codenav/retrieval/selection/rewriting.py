"""Requests written anew from the last turns of a conversation, so that they can be ranked by on their own."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from codenav.core.errors import ModelFailed, UsageError
from codenav.core.messages import Message
from codenav.core.protocols import Model
from codenav.core.system.terminal_text import flattened, shortened

TURN = 2000
"""Most characters of one turn that the model sees: its beginning and its end."""
SECONDS = 30.0
"""Time limit of the model's answer, with its retries."""


class Rewriter:
    """A model that writes a request anew. A conversation's last turn is the request."""

    def __init__(self, model: Model, *, prompt: str = "", turns: int = 6, tokens: int = 128, trigger: int = 0) -> None:
        """`prompt` is a text in place of the one that is built in; the rest is as in `ToolSelection`."""
        self._model, self._prompt = model, prompt or _builtin()
        self._turns, self._tokens, self._trigger = turns, tokens, trigger

    def acts(self, turns: Sequence[Message]) -> bool:
        """True if a conversation is longer than the trigger, and has anything before its request."""
        return len(turns) > max(1, self._trigger)

    def rewritten(self, turns: Sequence[Message]) -> str:
        """Return the request of a conversation so that it needs none of the turns before; one line.

        Raises:
            ModelUnreachable, ModelRefused, ModelFailed, ContextOverflow: the model does not answer, or not with words.
        """
        seen = list(turns)[-self._turns :] if self._turns else list(turns)
        told = "\n\n".join(f"{turn.role}: {_middle_cut(turn.content)}" for turn in seen)
        answer = self._model.complete([Message("system", self._prompt), Message("user", told)], timeout=SECONDS)
        # A model may be one whose answers are not limited where it was opened; a token has four letters.
        written = shortened(flattened(answer.text.strip().strip("\"'`"), 64_000), 4 * self._tokens)
        if not any(map(str.isalnum, written)):
            raise ModelFailed("the model that rewrites requests wrote no words", hint="--rewrite with another model")
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
