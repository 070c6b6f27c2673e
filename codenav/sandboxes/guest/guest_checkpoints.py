"""States that were asked to be kept: each a frozen twin, with the steps that led to it for when the twin is lost."""

from __future__ import annotations

import re

from guest_frames import Message
from guest_processes import Twin
from guest_relay import Answered

MOST = 16
"""Kept at the same time. Each is a process."""
VALUE_BYTES = 200
"""What a name of a step's `changed` takes."""
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


class Done:
    """A step that ended and left its traces in the state."""

    def __init__(self, number: int, code: str, seconds: float, reply: Message) -> None:
        self.number, self.code, self.seconds = number, code, seconds
        self.refusal = ""
        """Why it must not run again; empty where it may."""
        self.leaves = False
        """Whether threads or processes went on when it was over."""
        self.answered: list[Answered] | None = None
        """Its calls to the host; None where it could make none."""
        self.outcome = str(reply["outcome"])
        self.values = values_of(reply)
        """Its `changed`, by which a second run is compared with the first."""

    def size(self) -> int:
        """Bytes that it takes to keep, about."""
        return len(self.code) + VALUE_BYTES * len(self.values) + sum(len(call.frame) for call in self.answered or ())


def values_of(reply: Message) -> dict[str, int]:
    """Of each name that a step has changed, a short sum of its type and repr. Addresses differ in every process."""
    return {str(name): hash((kind, _ADDRESS.sub("0x", text))) for name, kind, text in reply["changed"]}


class Checkpoint:
    """One kept state."""

    def __init__(self, number: int, twin: Twin, steps: list[Done] | None) -> None:
        self.number = number
        self.twin: Twin | None = twin
        self.steps = steps
        """What led to it; None where that is no longer known."""

    def lives(self) -> bool:
        """Whether its twin is there. Forgets one that is not."""
        if self.twin is not None and not self.twin.exists():
            self.freeze(None)
        return self.twin is not None

    def freeze(self, twin: Twin | None) -> None:
        """Take another twin, or none, in place of the one that it has."""
        if self.twin is not None:
            self.twin.drop()
        self.twin = twin

    def leads_to(self, steps: list[Done]) -> bool:
        """Whether these steps went on from here."""
        if self.steps is None or len(self.steps) > len(steps):
            return False
        return not self.steps or self.steps[-1] is steps[len(self.steps) - 1]


class Checkpoints:
    """The kept states by number, the oldest first."""

    def __init__(self, most: int) -> None:
        self._most = max(1, min(most, MOST))
        self._kept: dict[int, Checkpoint] = {}

    def keep(self, checkpoint: Checkpoint) -> list[int]:
        """Add one; the numbers of those that had to go for it."""
        self._kept[checkpoint.number] = checkpoint
        dropped = list(self._kept)[: -self._most]
        for number in dropped:
            self._kept.pop(number).freeze(None)
        return dropped

    def get(self, number: int) -> Checkpoint | None:
        """That one; None where there is none, or no more."""
        found = self._kept.get(number)
        if found is not None and not found.lives() and found.steps is None:
            del self._kept[number]
            return None
        return found

    def newest_before(self, steps: list[Done]) -> Checkpoint | None:
        """The one from which the fewest of these steps would have to run again."""
        fitting = [kept for kept in self._kept.values() if kept.leads_to(steps) and kept.lives()]
        return max(fitting, key=lambda kept: len(kept.steps or ()), default=None)

    def twins(self) -> list[Twin]:
        """The frozen processes, the oldest first."""
        return [kept.twin for kept in self._kept.values() if kept.twin is not None]

    def drop_oldest_twin(self) -> bool:
        """Give its memory back; the steps that led there stay known. False where there is none."""
        for kept in self._kept.values():
            if kept.twin is not None:
                kept.freeze(None)
                return True
        return False
