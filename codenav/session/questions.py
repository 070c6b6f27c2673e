"""The questions to a person in one episode: how many there may be, who answers them, and what was said."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from codenav.core.actions import Ask, Step
from codenav.core.clocks import asking
from codenav.core.errors import UsageError
from codenav.episodes.record import EpisodeResult


class Questions:
    """The requests of a session, with the questions to a person in one episode.

    Answers given beforehand are taken first, then the person is asked, then nobody.
    """

    def __init__(
        self,
        request: str = "",
        before: Sequence[EpisodeResult] = (),
        *,
        person: Callable[[str], str | None] | None = None,
        given: list[str] | None = None,
        most: int = 0,
    ) -> None:
        """`before` are the earlier episodes. `given` loses the answers that are taken. `most` bounds the questions."""
        self._person, self._given, self._left = person, given if given is not None else [], most
        self.earlier = [step for episode in before for step in episode.steps]
        self.requests = [*(episode.request for episode in before), request]
        """Each request so far, and each answer, which is a part of it."""
        self._lock = threading.Lock()

    @property
    def text(self) -> str:
        """The requests with the answers, a line each."""
        return "\n".join(self.requests)

    @property
    def open(self) -> bool:
        """True if a question would be put to somebody."""
        return self._left > 0 and bool(self._given or self._person)

    def __call__(self, question: str) -> str | None:
        """Return the answer; None if nobody is there, or no question is left. Callable from any thread."""
        with self._lock:
            if not self.open:
                return None
            self._left -= 1
            with asking():
                answer = self._given.pop(0) if self._given else self._person(question) if self._person else None
            if answer is None:
                self._person = None  # Who is gone is not asked again.
            else:
                self.requests.append(answer)
            return answer


def checked_answers(answers: Sequence[str]) -> list[str]:
    """Return answers that are given beforehand.

    Raises:
        UsageError: one is empty.
    """
    given = [answers] if isinstance(answers, str) else list(answers)
    if not all(one.strip() for one in given):
        raise UsageError("an answer is empty", hint="--answer TEXT, once for each question, in their order")
    return given


def tell_left(answers: Sequence[str], tell: Callable[[str], None]) -> None:
    """Tell which answers given beforehand nothing has asked for."""
    if answers:
        tell(f"no question came for {', '.join(map(repr, answers))} (--answer)")


def answered(steps: Sequence[Step]) -> dict[str, str]:
    """Return the questions of steps that were answered, each with its answer."""
    asked = [step for step in steps if isinstance(step.action, Ask) and step.observation.to_data().get("answered")]
    return {step.action.content: step.observation.text.removeprefix("Answer: ") for step in asked}


def with_answers(episode: EpisodeResult) -> str:
    """Return a request with the questions about it that were answered, and their answers."""
    return "\n".join([episode.request, *(" ".join(one) for one in answered(episode.steps).items())])
