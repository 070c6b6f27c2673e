"""Values that a model made up for calls to tools that write: a person is asked for them while the call waits."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from codenav.session.episode import Episode
from codenav.session.questions import Questions

QUESTION = "{} needs {}, and nothing so far holds {!r}. What is it? (keep: that is right)"
SAID = "the person says that {} is {!r}, not {!r}: call {} with that"
UNASKED = "{} was called with {}={!r}, which nothing so far holds: check it"
_TELLING = re.compile(r"(?=\S*@|(?:\S*\d){3})\S+")
"""An address, or the number of a phone or an order: a word that nobody guesses. A plain word may be right although
nothing holds it: a title, the code of a currency."""
_WHEN = re.compile(r"\d{1,4}[-/.]\d{1,2}(?:[-/.]\d{1,4})?(?:\D.*)?|\d{1,2}:\d\d.*")
"""A date or a time, which follows from `tomorrow`."""


def is_made_up(value: Any, code: str, known: str) -> bool:
    """True for a text that stands in code as a literal, and in nothing that is known, however it is punctuated."""
    if not isinstance(value, str) or not _TELLING.fullmatch(value) or _WHEN.fullmatch(value):
        return False
    return any(f"{quote}{value}{quote}" in code for quote in "'\"") and _plain(value) not in _plain(known)


class Values:
    """The values of an episode that were made up, with what a person says in their place."""

    def __init__(self, questions: Questions, episode: Episode, tell: Callable[[str], None]) -> None:
        """`tell` gets what nobody was there to be asked for."""
        self._questions, self._episode, self._tell = questions, episode, tell
        self._right: dict[str, str] = {}

    def doubt(self, code: str, tool: str, name: str, value: Any) -> str:
        """Return why a call in code must not be sent with this value of an argument; empty if it may be."""
        if not isinstance(value, str) or (value not in self._right and not is_made_up(value, code, self._known())):
            return ""
        if value not in self._right:
            answer = self._questions(QUESTION.format(tool, name, value))
            if answer is None:
                self._tell(UNASKED.format(tool, name, value))
            kept = answer is None or answer.strip().casefold() in ("", "keep")
            self._right[value] = value if answer is None or kept else answer.strip()
        right = self._right[value]
        return "" if right == value else SAID.format(name, right, value, tool)

    def _known(self) -> str:
        """Everything that the model was told, and what a person has said."""
        seen = [step.observation.text for step in [*self._questions.earlier, *self._episode.steps]]
        return "\n".join([self._episode.result.prompt, *self._questions.requests, *seen])


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
