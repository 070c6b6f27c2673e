"""The rerun of earlier steps, within a time of its own, and its differences from the first run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from guest_history import Done, values_of
from guest_notice import few, numbers
from guest_relay import Relay

if TYPE_CHECKING:
    from guest_state import State

SPARE_SECONDS = 5.0
"""Time besides twice what the steps took before, for a machine that is busier now."""
END_SECONDS = 2.0
"""Time for the end of a step that does not come to its end by then, and for another worker."""


class Rerun:
    """A rerun of steps, compared with their first run."""

    def __init__(self, loop: Any, state: State) -> None:
        self._loop, self._state = loop, state
        self._values: list[str] = []
        self._outcomes: list[int] = []
        self._answered = False

    def run(self, steps: list[Done]) -> str:
        """Run steps again; return why that did not work, or an empty text. The host is told how long it may take."""
        for step in steps:
            if step.refusal:
                return f"step {step.number} cannot run again, because {step.refusal}"
        seconds = SPARE_SECONDS + 2 * sum(step.seconds for step in steps)
        self._loop.send({"op": "rebuilding", "seconds": seconds + END_SECONDS})
        until = time.monotonic() + seconds
        failed = next((step.number for step in steps if not self._step(step, until)), 0)
        return f"step {failed} did not run again to its end" if failed else ""

    def _step(self, step: Done, until: float) -> bool:
        late = self._state.late
        self._answered |= bool(step.answered)
        request, pipes = self._state.request(), late.new_pipes()
        calls = step.answered is not None
        asked = {"op": "run", "number": step.number, "code": step.code, "calls": calls}
        relay = Relay(self._loop, step.number, step.answered) if calls else None
        request.go(asked, pipes, None, max(until - time.monotonic(), 0.05), deaf=True, relay=relay)
        for pipe in pipes:
            late.forget(pipe)
        if request.outcome != "ok" or request.interrupted or request.reply["op"] != "result":
            return False
        values = values_of(request.reply)
        differing = {name for name in {*values, *step.values} if values.get(name) != step.values.get(name)}
        self._values = [name for name in self._values if name not in values] + sorted(differing)
        if request.reply["outcome"] != step.outcome:
            self._outcomes.append(step.number)
        step.values, step.outcome = values, str(request.reply["outcome"])
        return True

    def differences(self) -> list[str]:
        """Sentences on what is not as it was."""
        found = []
        if self._values:
            found.append(f"{few(self._values)} {'differs' if len(self._values) == 1 else 'differ'} from before")
        if self._outcomes:
            found.append(f"{numbers(self._outcomes)} ended differently from before")
        if self._answered:
            found.append("calls to the host got the answers from before")
        return found
