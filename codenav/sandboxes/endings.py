"""Results of steps that the host composes itself, or completes, instead of the sandbox."""

from __future__ import annotations

from dataclasses import replace

from codenav.core.execution import Execution, ExecutionError, Outcome, Resources
from codenav.sandboxes.channel import Closed, TooLate
from codenav.sandboxes.workfolder import CopiedOut

LOST = (
    "state lost: the sandbox had to be started again; all variables are gone, and files that had not been copied out."
)


def completed(done: Execution, notice: str, copied: CopiedOut) -> Execution:
    """Return a step's result, completed with what was copied out and with notices of the host."""
    lines = "".join(f"[not copied out] {line}\n" for line in copied.news)
    state = LOST if copied.broken else " ".join(filter(None, (notice, done.notice)))
    joined = " ".join(filter(None, (state, copied.notice)))
    return replace(done, notice=joined, files=copied.written, stderr=done.stderr + lines)


def broken_off(error: Exception, seconds: float) -> Execution:
    """Return the result of a step that got no valid answer."""
    if isinstance(error, TooLate):
        outcome, kind, message = Outcome.TIMEOUT, "TimeoutError", f"the step took over {seconds:g} s"
    elif isinstance(error, Closed):
        outcome, kind, message = Outcome.CRASHED, "Crashed", "the sandbox ended"
    else:
        outcome, kind, message = Outcome.PROTOCOL_VIOLATION, "ProtocolViolation", str(error)
    return Execution(outcome, error=ExecutionError(kind, message), notice=LOST, seconds=seconds)


def closed_while_running(seconds: float) -> Execution:
    """Return the result of a step whose sandbox was closed."""
    error = ExecutionError("Closed", "the sandbox was closed while the step ran")
    return Execution(Outcome.CRASHED, error=error, notice="state lost: the sandbox is closed.", seconds=seconds)


def starved_of_memory(resources: Resources) -> Execution:
    """Return the result of a step during which the kernel killed the supervisor for lack of memory.

    Memory that no process has mapped is not freed when a process ends.
    """
    error = ExecutionError("MemoryError", f"over the limit of {resources.memory_bytes >> 20} MiB")
    return Execution(Outcome.OUT_OF_MEMORY, error=error, notice=LOST)


def refused(message: str) -> Execution:
    """Return the result of a step that was not sent."""
    return Execution(Outcome.ERROR, error=ExecutionError("ValueError", message))
