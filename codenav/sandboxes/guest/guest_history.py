"""Steps that led to a state, kept so that they can run again, and frozen copies of the states between them."""

from __future__ import annotations

import re

from guest_frames import Message
from guest_processes import Twin
from guest_relay import Answered

HISTORY_BYTES = 32 << 20
"""Maximum bytes of earlier steps' source, and answers to their calls, kept to run them again without a snapshot."""
VALUE_BYTES = 200
"""Bytes that a name in a step's `changed` takes."""
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


class Done:
    """A step that ended and left its traces in the state."""

    def __init__(self, number: int, code: str, seconds: float, reply: Message) -> None:
        self.number, self.code, self.seconds = number, code, seconds
        self.refusal = ""
        """The reason why it must not run again; empty where it may."""
        self.answered: list[Answered] | None = None
        """Its calls to the host; None where it could make none."""
        self.outcome = str(reply["outcome"])
        self.values = values_of(reply)
        """Its `changed`, by which a second run is compared with the first."""

    def size(self) -> int:
        """Bytes that it takes to keep the step, about."""
        return len(self.code) + VALUE_BYTES * len(self.values) + sum(len(call.frame) for call in self.answered or ())

    def forget(self) -> None:
        """Give up what it takes to run it again."""
        self.code, self.values, self.answered = "", {}, None
        self.refusal = self.refusal or "the steps were too large for all to be kept"


def values_of(reply: Message) -> dict[str, int]:
    """A hash of type and repr for each name that a step has changed, without addresses, which differ by process."""
    return {str(name): hash((kind, _ADDRESS.sub("0x", text))) for name, kind, text in reply["changed"]}


class History:
    """The steps that led to the state, bounded in bytes: of the oldest only the numbers stay."""

    def __init__(self, steps: list[Done]) -> None:
        self.steps = list(steps)
        self._bytes = sum(step.size() for step in steps)
        self._forgotten = 0

    def add(self, done: Done) -> None:
        """Add a step that has ended."""
        self.steps.append(done)
        self._bytes += done.size()
        while self._bytes > HISTORY_BYTES and self._forgotten < len(self.steps):
            oldest = self.steps[self._forgotten]
            self._bytes -= oldest.size()
            oldest.forget()
            self._forgotten += 1

    def after(self, frozen: Frozen | None) -> list[Done]:
        """The steps that a frozen copy lacks; all of them for None."""
        return self.steps[len(frozen.steps) if frozen is not None else 0 :]


class Frozen:
    """A frozen copy of the worker, with the steps that led to it. `number` is that of a checkpoint, 0 of a snapshot."""

    def __init__(self, twin: Twin, steps: list[Done], number: int = 0) -> None:
        self.twin: Twin | None = twin
        """None where it is no more: a checkpoint can be made again from its steps."""
        self.steps, self.number = list(steps), number

    def lives(self) -> bool:
        """True if its twin exists. Forgets one that does not."""
        if self.twin is not None and not self.twin.exists():
            self.drop()
        return self.twin is not None

    def drop(self) -> None:
        """End its twin; the steps stay known."""
        twin, self.twin = self.twin, None
        if twin is not None:
            twin.drop()

    def leads_to(self, steps: list[Done]) -> bool:
        """True if these steps went on from here."""
        own = len(self.steps)
        return own <= len(steps) and (not own or self.steps[-1] is steps[own - 1])
