"""The state of the steps: which process holds it, and what happens to it when a step ends that process."""

from __future__ import annotations

import os
import resource
import socket
import time
from typing import Any

import guest_linux
import guest_worker
from guest_budget import Budget
from guest_checkpoints import MOST, Checkpoint, Checkpoints, Done
from guest_frames import Message
from guest_late import Late
from guest_memory import Memory
from guest_step import LOST, WAKE_SECONDS, Request, Twin, Worker

HISTORY_BYTES = 32 << 20
"""Source of earlier steps that is kept, to run them again where there is no snapshot."""
MEASURED_SECONDS = 0.01
"""Of the kernel's time in a step: from there on it is found out how much of it a snapshot has cost."""
START_SECONDS = 20.0
"""For a fresh worker to import what its environment asks for."""

_LOST = "state lost: all variables are gone; run again what is needed."
_GONE = "threads, child processes and connections that earlier steps had opened are gone"


class State:
    """Runs steps in a worker; replaces it, with its state, when a step ends it."""

    def __init__(self, loop: Any, config: Message) -> None:
        self._loop, self._config = loop, config
        self._limits: Message = config["limits"]
        self._late = Late(loop, self._limits["output_bytes"])
        self._snapshots: bool = config["snapshots"]
        self._checkpoints = Checkpoints((self._limits["processes"] or 8 * MOST) // 8)
        self._memory = Memory(config)
        self._twin: Twin | None = None
        self._newest: Twin | None = None
        self._since: list[Done] = []
        self._history: list[Done] = []
        self._history_bytes = 0
        self._whole_history = True
        self._budget = Budget()
        self._no_room = False
        self._size = self._copied = 0
        self._to_replay: list[Done] = []
        self._news = ""
        self._worker = self._spawn()

    def trouble(self) -> str:
        """Why the worker does not start; empty when it does."""
        request = self._request()
        request.go({"op": "variables"}, [], None, START_SECONDS)
        if request.outcome == "ok":
            return ""
        self._loop.pump(0)
        return f"the process for the code {self._worker.end()}; {self._late.text()[-1500:].strip()}"

    def run(self, message: Message) -> None:
        """One step; the answer goes to the host."""
        started = time.monotonic()
        deadline = started + message["timeout"]
        self._prepare(deadline)
        news, self._news = self._news, ""
        late = self._late.take()
        self._memory.begin(self._frozen())
        pipes = self._late.new_pipes([])
        request = self._request()
        asked = {"op": "run", "number": message["number"], "code": message["code"]}
        request.go(asked, pipes, self._new_twin() if self._want_snapshot() else None, _left(deadline))
        if request.outcome == "busy" or request.unheard:
            if request.unheard:
                # It ended after its last answer and before this request: whatever ended it is not of this step.
                news = self._recover(f"the process {self._worker.end()} between two steps")
            else:
                news = self._undo_last()
            self._prepare(deadline)
            pipes = self._late.new_pipes(pipes)
            request = self._request()
            request.go(asked, pipes, self._new_twin() if self._snapshots else None, _left(deadline))
        result = self._conclude(request, message, time.monotonic() - started)
        for pipe in pipes:
            pipe.drain()
        result.update(
            op="result",
            number=message["number"],
            stdout=pipes[0].kept.text(),
            stderr=pipes[1].kept.text(),
            stdout_bytes=pipes[0].kept.total,
            late=late,
            notice=" ".join(filter(None, (news, result["notice"]))),
        )
        self._loop.send(result, request.blob)
        for pipe in pipes:
            self._late.follow(pipe)
        if request.outcome == "ok":
            self._account(request.reply, time.monotonic() - started)

    def tell(self, asked: Message, seconds: float) -> None:
        """`variables` or `digests`: what the names are that steps have bound; the answer goes to the host."""
        deadline = time.monotonic() + seconds
        self._prepare(deadline)
        request = self._request()
        request.go(asked, [], None, _left(deadline))
        if request.outcome == "ok" and request.reply["op"] == asked["op"]:
            self._loop.send(request.reply)
            return
        self._failed(request, f"a repr ended the process ({request.outcome})", "a repr ended the process")

    def checkpoint(self, number: int, seconds: float) -> None:
        """Keep the state under a number; the answer, with the numbers that had to go for it, goes to the host."""
        deadline = time.monotonic() + seconds
        self._prepare(deadline)
        request, twin = self._freeze(_left(deadline))
        if twin is None and request.outcome == "ok":
            self._loop.send({"op": "failed", "why": "there is no room for another process"})
        elif twin is None:
            self._failed(request, "the process ended", "the process ended at a checkpoint")
        else:
            steps = list(self._history) if self._whole_history else None
            dropped = self._checkpoints.keep(Checkpoint(number, twin, steps))
            self._loop.send({"op": "checkpoint", "number": number, "dropped": dropped})

    def restore(self, number: int, seconds: float) -> None:
        """Go back to a kept state, which stays kept; the answer, with what happened to the state, goes to the host."""
        deadline = time.monotonic() + seconds
        kept = self._checkpoints.get(number)
        if kept is None:
            self._loop.send({"op": "missing"})
            return
        self._kill_worker()
        self._drop_snapshot()
        self._history, self._whole_history = list(kept.steps or ()), kept.steps is not None
        self._history_bytes = sum(len(step.code) for step in self._history)
        if self._take_up(kept):
            notice = f"state kept: the variables are those of checkpoint {number}; {_GONE}."
        else:
            self._worker = self._spawn()
            self._to_replay = list(self._history)
            notice = f"state rebuilt: all {len(self._history)} step(s) before checkpoint {number} run again; {_GONE}."
            if not self._whole_history:
                self._history, self._whole_history, self._history_bytes = [], True, 0
                notice = _LOST
        self._news = ""
        self._prepare(deadline)
        news, self._news = self._news, ""
        self._loop.send({"op": "restored", "notice": news or notice})

    def _freeze(self, seconds: float) -> tuple[Request, Twin | None]:
        """Ask the worker for a frozen copy of itself."""
        made: list[Twin] = []
        request = Request(self._loop, self._worker, self._over_memory, made.append)
        request.go({"op": "checkpoint"}, [], self._new_twin(), seconds)
        if request.outcome == "ok" and request.reply["op"] != "checkpoint":
            request.outcome = "protocol_violation"
        if made and request.outcome != "ok":
            made.pop().drop()
        return request, made[0] if made else None

    def _failed(self, request: Request, why: str, recovered: str) -> None:
        """A request beside the steps ended the worker, or was never taken up."""
        busy = request.outcome == "busy"
        self._news = self._undo_last() if busy else self._recover(recovered)
        self._loop.send({"op": "failed", "why": "an earlier step was still running" if busy else why})

    def check_idle(self) -> None:
        """Between steps: threads and children of the user may grow."""
        # What the kernel has killed meanwhile, or in a step that ended all the same, is over.
        self._memory.begin(self._frozen())
        if self._over_memory():
            self._news = self._recover("threads or child processes of earlier steps went over the memory limit")

    # Ends of a step

    def _conclude(self, request: Request, message: Message, seconds: float) -> Message:
        reply = request.reply
        if request.outcome == "ok" and reply["op"] == "result":
            stopped = request.interrupted or (reply["error"] or {}).get("type") == "KeyboardInterrupt"
            self._keep(Done(message["number"], message["code"], seconds, not stopped))
            result = {key: reply[key] for key in ("outcome", "changed", "error", "displays", "seconds")}
            result["notice"] = ""
            error = reply["error"]
            if request.interrupted:
                where = error if error and error["type"] == "KeyboardInterrupt" else _no_error()
                result["error"] = dict(where, type="TimeoutError", message=_took(message["timeout"]))
                result["outcome"] = "timeout"
                result["notice"] = "state kept: the step was interrupted; what it had done until then stays."
            elif error and error["type"] == "SystemExit":
                result["notice"] = "state kept: sys.exit() ends the step, not the session."
            elif result["outcome"] == "out_of_memory":
                result["notice"] = "state kept: the allocation was refused; what the step had done until then stays."
            elif result["outcome"] == "ok" and self._memory.killed_of_user(self._frozen(), self._newest):
                result["notice"] = f"state kept: the kernel has killed a child process, {self._memory.over_limit}."
            if reply["deleted"]:
                result["notice"] = "state kept: the work folder was deleted; it is there again, empty."
            return result
        outcome = {"ok": "protocol_violation", "busy": "crashed"}.get(request.outcome, request.outcome)
        if outcome == "crashed" and self._memory.killed() and self._worker.was_killed():
            outcome = "out_of_memory"
        request.blob = b""
        why = {
            "timeout": ("TimeoutError", _took(message["timeout"])),
            "out_of_memory": ("MemoryError", self._memory.over_limit),
            "crashed": ("Crashed", "the process " + self._worker.end()),
            "interrupted": ("KeyboardInterrupt", "interrupted for the second time; the process was ended"),
            "protocol_violation": ("ProtocolViolation", "the step wrote into the channel of the sandbox"),
        }[outcome]
        return {
            "outcome": "crashed" if outcome == "interrupted" else outcome,
            "changed": [],
            "displays": [],
            "seconds": seconds,
            "error": dict(_no_error(), type=why[0], message=why[1]),
            "notice": self._recover(""),
        }

    def _adopt(self, twin: Twin) -> None:
        """A snapshot was made: the older one has served."""
        if self._twin is not None:
            self._memory.replaced(self._twin)
            self._twin.drop()
        self._twin, self._since = twin, []
        self._no_room = False
        self._budget.begin(self._size)
        self._copied = 0

    def _keep(self, done: Done) -> None:
        self._since.append(done)
        self._history_bytes += len(done.code)
        self._history.append(done)
        if self._history_bytes > HISTORY_BYTES:
            self._history, self._whole_history = [], False

    def _want_snapshot(self) -> bool:
        if not self._snapshots:
            return False
        self._size = guest_linux.anonymous(self._worker.pid)
        # After a crash the next one would cost far more without.
        unprotected = self._twin is None and not self._no_room
        # What was interrupted cannot run again.
        unprotected |= not all(step.whole for step in self._since)
        return self._budget.allows(self._size) or unprotected

    def _account(self, reply: Message, seconds: float) -> None:
        """Charge a step for its snapshot.

        Of the time that the kernel took in the worker, the part goes to the account that its share of the faults has:
        a page that the twin holds and the worker no longer shares was copied in one.
        """
        copying, slowdown = 0.0, 1.0
        kernel, faults = reply.get("kernel_seconds", 0.0), reply.get("faults", 0)
        if kernel > MEASURED_SECONDS:
            slowdown = self._worker.slowdown()
            self._budget.grew(guest_linux.anonymous(self._worker.pid) - self._size, kernel)
            if self._twin is not None and self._twin.pid is not None:
                shared = guest_linux.shared_dirty(self._worker.pid)
                copied = max(0, guest_linux.anonymous(self._twin.pid) - shared)
                pages = max(0, copied - self._copied) // resource.getpagesize()
                self._copied = copied
                copying = kernel * min(1.0, pages / max(1, faults))
        self._budget.step(seconds, reply.get("fork_seconds"), copying, slowdown)

    # What becomes of the state

    def _recover(self, why: str) -> str:
        """Kill what is left of the worker and put another one in its place; says what happened to the state."""
        self._kill_worker()
        because = why + "; " if why else ""
        older, self._since = self._since, []
        twin, self._twin = self._twin, None
        worker = twin.wake() if twin is not None and twin.exists() else None
        if worker is None and twin is not None:
            twin.drop()
        if worker is not None:
            self._worker = worker
            self._to_replay = older
            if not older:
                return f"state kept: {because}the variables are those from before this step; {_GONE}."
            return f"state rebuilt: {because}{len(older)} earlier step(s) since the last snapshot run again; {_GONE}."
        kept = self._checkpoints.newest_before(self._history) if self._whole_history else None
        if kept is not None and self._take_up(kept):
            self._to_replay = older = self._history[len(kept.steps or ()) :]
            if not older:
                return f"state kept: {because}the variables are those from before this step; {_GONE}."
            return (
                f"state rebuilt: {because}{len(older)} earlier step(s) since checkpoint {kept.number} "
                f"run again; {_GONE}."
            )
        self._worker = self._spawn()
        if not self._whole_history:
            self._history, self._whole_history, self._history_bytes = [], True, 0
            return _LOST.replace(": ", f": {because}", 1)
        if not self._history:
            return f"state kept: {because}there were no variables yet."
        self._to_replay = list(self._history)
        return f"state rebuilt: {because}all {len(self._history)} earlier step(s) run again; {_GONE}."

    def _kill_worker(self) -> None:
        """And everything of the user's beside it; the frozen twins stay."""
        twins = [twin for twin in self._frozen() if twin.exists()]
        guest_linux.kill_all({twin.pid for twin in twins if twin.pid is not None})
        if self._config.get("shared_memory"):
            guest_linux.remove_shared_memory()
        self._worker.close()

    def _drop_snapshot(self) -> None:
        if self._twin is not None:
            self._twin.drop()
        self._twin, self._since = None, []

    def _take_up(self, kept: Checkpoint) -> bool:
        """Wake the twin of a checkpoint, and let it leave another one behind."""
        if not kept.lives() or kept.twin is None:
            return False
        worker = kept.twin.wake()
        if worker is None:
            kept.freeze(None)
            return False
        self._worker, kept.twin = worker, None
        request, kept.twin = self._freeze(WAKE_SECONDS)
        if request.outcome != "ok":
            self._kill_worker()
        return request.outcome == "ok"

    def _frozen(self) -> list[Twin]:
        """Twins, the oldest first; the snapshot is the last."""
        return [*self._checkpoints.twins(), *([self._twin] if self._twin is not None else [])]

    def _undo_last(self) -> str:
        """The worker is still busy with a step that claimed to be over: back to the state from before that step."""
        if self._since:
            self._since.pop()
        if self._history:
            self._history.pop()
        return self._recover("the step before was still running although it had answered; it was undone")

    def _prepare(self, deadline: float) -> None:
        """A worker that lives and has the state."""
        if not self._worker.alive():
            ended = self._worker.end()
            self._news = self._recover(f"the process {ended} between two steps")
        while self._to_replay:
            step = self._to_replay.pop(0)
            if not step.whole:
                self._lose(step)
                return
            request, pipes = self._request(), self._late.new_pipes([])
            again = {"op": "run", "number": step.number, "code": step.code}
            request.go(again, pipes, None, _left(deadline), deaf=True)
            for pipe in pipes:
                self._late.forget(pipe)
            if request.outcome != "ok" or request.interrupted:
                self._lose(step)
                return
            self._since.append(step)

    def _lose(self, step: Done) -> None:
        """A step that does not run again takes the state with it."""
        self._to_replay, self._since, self._history = [], [], []
        self._recover("")
        self._news = f"state lost: step {step.number} did not run again; all variables are gone."

    def _request(self) -> Request:
        return Request(self._loop, self._worker, self._over_memory, self._adopt)

    def _spawn(self) -> Worker:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid:
            theirs.close()
            return Worker(pid, ours)
        try:
            ours.close()
            for descriptor in (*self._loop.private_descriptors(), *self._memory.descriptors):
                if descriptor > 2:
                    os.close(descriptor)
            guest_worker.become_worker(theirs, self._late.writer, self._config)
        finally:
            os._exit(LOST)

    # Memory

    def _new_twin(self) -> Twin:
        self._newest = Twin(self._loop)
        return self._newest

    def _over_memory(self) -> bool | None:
        """As `Memory.over`. Near the limit the frozen copies go, the oldest first."""
        frozen = self._frozen()
        over = self._memory.over(frozen, self._newest)
        if over is False and frozen and self._memory.full(frozen):
            if not self._checkpoints.drop_oldest_twin():
                frozen[-1].drop()
                self._twin, self._since, self._no_room = None, list(self._history), True
            # The kernel may have killed the same one.
            self._memory.begin(self._frozen())
        return over


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.05)


def _no_error() -> Message:
    return {"type": "", "message": "", "line": "", "line_number": None, "traceback": ""}


def _took(seconds: float) -> str:
    return f"the step took over {seconds:g} s"
