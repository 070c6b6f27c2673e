"""Steps and other requests to the state: each goes to the worker, and the host is told what becomes of the state."""

from __future__ import annotations

import resource
import time
from typing import Any

import guest_left
import guest_linux
from guest_budget import Budget
from guest_checkpoints import Checkpoint, Done
from guest_frames import Message
from guest_keeper import Keeper
from guest_output import Pipe
from guest_processes import Twin
from guest_relay import Relay
from guest_request import Request
from guest_tap import Tap

MEASURED_SECONDS = 0.01
"""Kernel time of a step from which on it is found out how much of it a snapshot has cost."""
LITTLE_PART = 4
"""Divisor of the memory: with less than that part of it left a step that ran out of memory is undone. What it holds
would fail the next one."""
START_SECONDS = 20.0
"""Time for a fresh worker to import what its environment asks for."""


class State:
    """The state of a session. Runs steps in a worker; replaces it, with its state, when a step ends it."""

    def __init__(self, loop: Any, config: Message) -> None:
        self._loop = loop
        self._snapshots: bool = config["snapshots"]
        self._config = config
        self._keeper = Keeper(loop, config)
        self._budget = Budget()
        self._size = self._copied = 0
        self._news = ""
        self._found_room = 0

    def trouble(self) -> str:
        """The reason why the worker does not start; empty when it does."""
        keeper = self._keeper
        request = self._request()
        request.go({"op": "variables"}, [], None, START_SECONDS)
        if request.outcome == "ok":
            return ""
        self._loop.pump(0)
        return f"the process for the code {keeper.worker.end()}; {keeper.late.text()[-1500:].strip()}"

    def run(self, message: Message) -> None:
        """Run a step; the answer goes to the host."""
        keeper, started = self._keeper, time.monotonic()
        started += self._prepare()
        deadline = started + message["timeout"]
        news, self._news = self._news, ""
        clock = guest_left.now()
        keeper.begin_memory()
        pipes = keeper.late.new_pipes([])
        tap = self._tap(message, pipes)
        request = self._request()
        relay = self._relay(message)
        self._found_room = self._room()
        asked = {key: message[key] for key in ("op", "number", "code", "calls")}
        request.go(asked, pipes, keeper.new_twin() if self._want_snapshot() else None, _left(deadline), relay=relay)
        if request.outcome == "busy" or request.unheard:
            if request.unheard:
                # The worker ended after its last answer and before this request: whatever ended it is not of this step.
                keeper.replace_ended()
            else:
                keeper.undo_last()
            spent = self._settle() + self._prepare()
            started, deadline = started + spent, deadline + spent
            news, self._news = self._news, ""
            pipes = keeper.late.new_pipes(pipes)
            tap, relay = self._tap(message, pipes), self._relay(message)
            request = self._request()
            request.go(asked, pipes, keeper.new_twin() if self._snapshots else None, _left(deadline), relay=relay)
        if tap is not None:
            tap.close()
        result = self._conclude(request, message, time.monotonic() - started, relay)
        left = self._left(request, result, clock)
        if request.outcome == "ok" and keeper.has_children():
            keeper.late.linger(pipes)
        for pipe in pipes:
            pipe.settle()
        result.update(
            op="result",
            number=message["number"],
            stdout=pipes[0].kept.text(),
            stderr=pipes[1].kept.text(),
            stdout_bytes=pipes[0].kept.total,
            late_output=keeper.late.take(),
            notice=" ".join(filter(None, (news, result["notice"], left))),
        )
        self._loop.send(result, request.blob)
        for pipe in pipes:
            keeper.late.follow(pipe)
        if request.outcome == "ok":
            self._account(request.reply, time.monotonic() - started)

    def _tap(self, message: Message, pipes: list[Pipe]) -> Tap | None:
        return Tap(self._loop, pipes, self._config["limits"]["output_bytes"]) if message.get("stream") else None

    def _relay(self, message: Message) -> Relay | None:
        return Relay(self._loop, message["number"]) if message["calls"] else None

    def tell(self, asked: Message, seconds: float) -> None:
        """Answer a request for `variables`, `digests` or a `value`; the answer goes to the host."""
        self._prepare()
        request = self._request()
        request.go(asked, [], None, seconds)
        if request.outcome == "ok" and request.reply["op"] == asked["op"]:
            self._loop.send(request.reply)
            return
        self._failed(request, f"a repr ended the process ({request.outcome})", "a repr ended the process")

    def checkpoint(self, number: int, seconds: float) -> None:
        """Keep the state under a number; the answer, with the numbers that had to go for it, goes to the host."""
        self._prepare()
        request, twin = self._keeper.freeze(seconds)
        if twin is None and request.outcome == "ok":
            self._loop.send({"op": "failed", "why": "there is no room for another process"})
        elif twin is None:
            self._failed(request, "the process ended", "the process ended at a checkpoint")
        else:
            dropped = self._keeper.checkpoints.keep(Checkpoint(number, twin, self._keeper.steps))
            self._loop.send({"op": "checkpoint", "number": number, "dropped": dropped})

    def restore(self, number: int) -> None:
        """Go back to a kept state, which stays kept; the answer, with what happened to the state, goes to the host."""
        kept = self._keeper.checkpoints.get(number)
        if kept is None:
            self._loop.send({"op": "missing"})
            return
        self._keeper.go_back(kept)
        self._news = ""
        self._settle()
        self._prepare()
        notice, self._news = self._news, ""
        self._loop.send({"op": "restored", "notice": notice})

    def _failed(self, request: Request, why: str, recovered: str) -> None:
        """Recover from a request, none of the steps, that ended the worker or was never taken up."""
        busy = request.outcome == "busy"
        if busy:
            self._keeper.undo_last()
        else:
            self._keeper.replace(recovered)
        self._settle()
        self._loop.send({"op": "failed", "why": "an earlier step was still running" if busy else why})

    def check_idle(self) -> None:
        """Check memory between steps: threads and children of the user may grow."""
        # What the kernel has killed meanwhile, or in a step that ended all the same, no longer counts.
        self._keeper.begin_memory()
        if self._keeper.over_memory():
            self._keeper.replace_outgrown("threads or child processes of earlier steps went over the memory limit")

    def _request(self) -> Request:
        return self._keeper.request(self._adopt)

    # Ends of a step

    def _left(self, request: Request, result: Message, since: float) -> str:
        """What a step has left that did not come to its own end."""
        error = result["error"] or {}
        if request.outcome == "ok" and not request.interrupted and error.get("type") != "KeyboardInterrupt":
            return ""
        for twin in self._keeper.frozen():
            # One that is just being made is told from children of the step once it has spoken.
            twin.exists()
        folders = {self._config["env"].get("TMPDIR", "/tmp"), *self._config["counted"]} - {self._config["work"]}
        return guest_left.left_behind(self._keeper.others(), sorted(folders), since)

    def _conclude(self, request: Request, message: Message, seconds: float, relay: Relay | None) -> Message:
        reply, keeper = request.reply, self._keeper
        error = reply["error"] if request.outcome == "ok" and reply["op"] == "result" else None
        if error and reply["outcome"] == "out_of_memory" and self._is_full():
            request.outcome = "out_of_memory"
        if request.outcome == "ok" and reply["op"] == "result":
            stopped = request.interrupted or (reply["error"] or {}).get("type") == "KeyboardInterrupt"
            done = Done(message["number"], message["code"], seconds, reply)
            if relay is not None:
                done.answered = relay.answered
                done.refusal = "" if relay.complete else "the answers to its calls were too large to be kept"
            done.refusal = "it was interrupted" if stopped else done.refusal
            if reply["outcome"] == "out_of_memory":
                done.refusal = "it ran out of memory"
            keeper.keep(done)
            result = {key: reply[key] for key in ("outcome", "changed", "error", "displays", "seconds")}
            result["value"] = reply.get("value")
            result["notice"] = ""
            if request.interrupted:
                where = error if error and error["type"] == "KeyboardInterrupt" else _no_error()
                result["error"] = dict(where, type="TimeoutError", message=_took(message["timeout"]))
                result["outcome"] = "timeout"
                result["notice"] = "state kept: the step was interrupted; what it had done until then stays."
            elif error and error["type"] == "SystemExit":
                result["notice"] = "state kept: sys.exit() ends the step, not the session."
            elif result["outcome"] == "out_of_memory":
                result["notice"] = "state kept: the allocation was refused; what the step had done until then stays."
            elif result["outcome"] == "ok" and keeper.killed_of_user():
                result["notice"] = f"state kept: the kernel has killed a child process, {keeper.memory.over_limit}."
            if reply.get("moved"):
                result["notice"] = "state kept: the folder of the step is gone; the next one starts in the work folder."
            if reply["deleted"]:
                result["notice"] = "state kept: the work folder was deleted; it is there again, empty."
            return result
        outcome = {"ok": "protocol_violation", "busy": "crashed"}.get(request.outcome, request.outcome)
        if outcome == "crashed" and keeper.lacked_memory():
            outcome = "out_of_memory"
        request.blob = b""
        violation = outcome == "protocol_violation"
        why = {
            "timeout": ("TimeoutError", _took(message["timeout"])),
            "out_of_memory": ("MemoryError", keeper.memory.over_limit),
            "crashed": ("Crashed", "the process " + keeper.worker.end()),
            "interrupted": ("KeyboardInterrupt", "interrupted for the second time; the process was ended"),
            "protocol_violation": ("ProtocolViolation", "the step wrote into the channel of the sandbox"),
        }[outcome]
        if violation:
            keeper.replace_after_violation("")
        else:
            keeper.replace("")
        return {
            "outcome": "crashed" if outcome == "interrupted" else outcome,
            "changed": [],
            "displays": [],
            "seconds": seconds,
            "error": error or dict(_no_error(), type=why[0], message=why[1]),
            "notice": keeper.settle(),
        }

    def _is_full(self) -> bool:
        """True if a step has left too little memory for the next one, and had found twice as much."""
        enough: int = self._config["limits"]["data_bytes"] // LITTLE_PART
        return self._room() < min(enough, self._found_room // 2)

    def _room(self) -> int:
        """The bytes of memory that the process of the steps may still take."""
        return int(self._config["limits"]["data_bytes"]) - guest_linux.data(self._keeper.worker.pid)

    def _adopt(self, twin: Twin) -> None:
        self._keeper.adopt(twin)
        self._budget.begin(self._size)
        self._copied = 0

    def _want_snapshot(self) -> bool:
        if not self._snapshots:
            return False
        keeper = self._keeper
        self._size = guest_linux.anonymous(keeper.worker.pid)
        # After a crash there is none, and without one the next crash would cost far more.
        unprotected = keeper.twin is None and not keeper.no_room
        # A step with a refusal, such as an interrupted one, cannot run again.
        unprotected |= any(step.refusal for step in keeper.since)
        return self._budget.allows(self._size) or unprotected

    def _account(self, reply: Message, seconds: float) -> None:
        """Charge a step for its snapshot.

        The kernel's time in the worker is charged by the share of page faults that copied: each page that the twin
        holds and the worker no longer shares was copied in one.
        """
        keeper = self._keeper
        copying, slowdown = 0.0, 1.0
        kernel, faults = reply.get("kernel_seconds", 0.0), reply.get("faults", 0)
        if kernel > MEASURED_SECONDS:
            slowdown = keeper.worker.slowdown()
            self._budget.grew(guest_linux.anonymous(keeper.worker.pid) - self._size, kernel)
            if keeper.twin is not None and keeper.twin.pid is not None:
                shared = guest_linux.shared_dirty(keeper.worker.pid)
                copied = max(0, guest_linux.anonymous(keeper.twin.pid) - shared)
                pages = max(0, copied - self._copied) // resource.getpagesize()
                self._copied = copied
                copying = kernel * min(1.0, pages / max(1, faults))
        self._budget.step(seconds, reply.get("fork_seconds"), copying, slowdown)

    def _prepare(self) -> float:
        """Make sure that the worker lives and has the state; return the seconds that rerunning steps took."""
        keeper = self._keeper
        if not keeper.worker.alive():
            keeper.replace_ended()
        return self._settle() if keeper.to_tell else 0.0

    def _settle(self) -> float:
        """Finish what `Keeper.replace` began, and return the seconds that took; the next step tells of it."""
        started = time.monotonic()
        self._news = " ".join(filter(None, (self._news, self._keeper.settle())))
        return time.monotonic() - started


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.05)


def _no_error() -> Message:
    return {"type": "", "message": "", "line": "", "line_number": None, "traceback": ""}


def _took(seconds: float) -> str:
    return f"the step took over {seconds:g} s"
