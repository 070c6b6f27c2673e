"""Steps that bring nothing new: the same search, the same failing code, the same error, the same result again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import replace

from codenav.core.actions import AskObservation, CodeObservation, SearchObservation, Step, Unreadable
from codenav.core.system.terminal_text import flattened

NOTE = "This is the {} time: {}, and nothing new came of it. Do something else{}."
ORDINALS = {2: "second", 3: "third"}
DOING = 80
"""Characters of the action of a model that is stuck, in the reason for the end."""


class Repeats:
    """The count of steps that were taken again since something new came of one.

    At the second time the agent is told, at `most` times it has failed; 0 means never.
    """

    def __init__(self, most: int) -> None:
        self.reason = ""
        """Why the agent has failed, once it has."""
        self._most = most
        self._seen: set[Hashable] = set()
        """All that was done, and the blocks that were found."""
        self._times = Counter[Hashable]()

    def noted(self, step: Step) -> Step:
        """The newest step, with a note below its observation if it is a repetition."""
        if isinstance(step.action, Unreadable):
            return step
        marks, gain = _marks(step), _gain(step)
        if gain - self._seen:
            self._times.clear()
        self._seen |= gain
        self._times.update(list(marks))
        mark = max(marks, key=lambda one: self._times[one])
        times, what = self._times[mark], marks[mark]
        if times < 2:
            return step
        if times == self._most:
            doing = f"{step.action.type}: {flattened(step.action.content, DOING)}"
            self.reason = f"the model is stuck: {what} {times} times with nothing new ({doing})"
        last = "; once more ends the work" if times == self._most - 1 else ""
        note = NOTE.format(ORDINALS.get(times, f"{times}th"), what, last)
        return replace(step, observation=replace(step.observation, note=note))


def _marks(step: Step) -> Mapping[Hashable, str]:
    """The things by which a step can be the same as another one, each with its name."""
    seen, content = step.observation, " ".join(step.action.content.split())
    if isinstance(seen, SearchObservation):
        return {("search", content.casefold()): "the same search"}
    if not isinstance(seen, CodeObservation):
        return {(step.action.type, content, seen.text): "the same step with the same answer"}
    ran = seen.execution
    if seen.ok:
        result = (ran.stdout, *ran.changed, *ran.files, *(display.data for display in ran.displays))
        return {("code", content, result): "the same code with the same result"}
    error = (ran.error.type, ran.error.message) if ran.error else (ran.outcome.value, "")
    return {("failed", content): "the same code failed", ("error", *error): "the same error"}


def _gain(step: Step) -> set[Hashable]:
    """What a step brought, if nothing before it did."""
    seen = step.observation
    if not seen.ok or (isinstance(seen, AskObservation) and not seen.answered):
        return set()
    if isinstance(seen, SearchObservation):
        return {hit.block.id for result in seen.results for hit in result}
    return set(_marks(step))
