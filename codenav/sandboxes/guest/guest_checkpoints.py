"""Checkpoints: kept states, each a frozen twin with the steps that led to it, in case the twin is lost."""

from __future__ import annotations

import re

from guest_frames import Message
from guest_processes import Twin
from guest_relay import Answered

MOST = 16
"""Maximum number of checkpoints kept at the same time. Each is a process."""
VALUE_BYTES = 200
"""Bytes that a name in a step's `changed` takes."""
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


class Done:
    """A step that ended and left its traces in the state."""

    def __init__(self, number: int, code: str, seconds: float, reply: Message) -> None:
        self.number, self.code, self.seconds = number, code, seconds
        self.refusal = ""
        """The reason why it must not run again; empty where it may."""
        self.leaves = False
        """True if threads or processes went on when it was over."""
        self.answered: list[Answered] | None = None
        """Its calls to the host; None where it could make none."""
        self.outcome = str(reply["outcome"])
        self.values = values_of(reply)
        """Its `changed`, by which a second run is compared with the first."""

    def size(self) -> int:
        """Bytes that it takes to keep the step, about."""
        return len(self.code) + VALUE_BYTES * len(self.values) + sum(len(call.frame) for call in self.answered or ())


def values_of(reply: Message) -> dict[str, int]:
    """A hash of type and repr for each name that a step has changed, without addresses, which differ by process."""
    return {str(name): hash((kind, _ADDRESS.sub("0x", text))) for name, kind, text in reply["changed"]}


class Checkpoint:
    """A kept state."""

    def __init__(self, number: int, twin: Twin, steps: list[Done] | None) -> None:
        self.number = number
        self.twin: Twin | None = twin
        self.steps = steps
        """The steps that led to it; None where they are no longer known."""

    def lives(self) -> bool:
        """True if its twin exists. Forgets one that does not."""
        if self.twin is not None and not self.twin.exists():
            self.freeze(None)
        return self.twin is not None

    def freeze(self, twin: Twin | None) -> None:
        """Replace its twin by another one, or by none."""
        if self.twin is not None:
            self.twin.drop()
        self.twin = twin

    def leads_to(self, steps: list[Done]) -> bool:
        """True if these steps went on from here."""
        if self.steps is None or len(self.steps) > len(steps):
            return False
        return not self.steps or self.steps[-1] is steps[len(self.steps) - 1]


class Checkpoints:
    """The kept states by number, the oldest first."""

    def __init__(self, most: int) -> None:
        self._most = max(1, min(most, MOST))
        self._kept: dict[int, Checkpoint] = {}

    def keep(self, checkpoint: Checkpoint) -> list[int]:
        """Add a checkpoint, and return the numbers of those dropped for it."""
        self._kept[checkpoint.number] = checkpoint
        dropped = list(self._kept)[: -self._most]
        for number in dropped:
            self._kept.pop(number).freeze(None)
        return dropped

    def get(self, number: int) -> Checkpoint | None:
        """The checkpoint of that number; None where there is none, or no longer."""
        found = self._kept.get(number)
        if found is not None and not found.lives() and found.steps is None:
            del self._kept[number]
            return None
        return found

    def newest_before(self, steps: list[Done]) -> Checkpoint | None:
        """The checkpoint from which the fewest of these steps would have to run again."""
        fitting = [kept for kept in self._kept.values() if kept.leads_to(steps) and kept.lives()]
        return max(fitting, key=lambda kept: len(kept.steps or ()), default=None)

    def twins(self) -> list[Twin]:
        """The frozen processes, the oldest first."""
        return [kept.twin for kept in self._kept.values() if kept.twin is not None]

    def drop_oldest_twin(self) -> bool:
        """Drop the oldest twin to free its memory; the steps that led to it stay known. False where there is none."""
        for kept in self._kept.values():
            if kept.twin is not None:
                kept.freeze(None)
                return True
        return False
