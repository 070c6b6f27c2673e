"""Steps and other requests of the host: each goes to the worker, and the host is told what becomes of the state."""

from __future__ import annotations

import resource
import time
from typing import Any

import guest_left
import guest_linux
from guest_budget import Budget
from guest_frames import Message
from guest_history import Done
from guest_output import Pipe
from guest_relay import Relay
from guest_request import Request
from guest_state import State
from guest_tap import Tap

MEASURED_SECONDS = 0.01
"""Kernel time of a step from which on it is found out how much of it a snapshot has cost."""
LITTLE_PART = 4
"""Divisor of the memory: with less than that part of it left a step that ran out of memory is undone. What it holds
would fail the next one."""
START_SECONDS = 20.0
"""Time for a fresh worker to import what its environment asks for."""
STILL_RUNNING = "the step before was still running although it had answered"
HANDED_ON = ("outcome", "changed", "error", "displays", "seconds")


class Steps:
    """The server of the host's requests to the state, one at a time."""

    def __init__(self, loop: Any, config: Message) -> None:
        self._loop, self._config = loop, config
        self._state = State(loop, config)
        self._budget = Budget()
        self._copied = self._found_room = 0
        self._news = ""
        """Sentences on the state since the last step, for the notice of the next one."""

    def trouble(self) -> str:
        """The reason why the worker does not start; empty when it does."""
        request = self._state.request()
        request.go({"op": "variables"}, [], None, START_SECONDS)
        if request.outcome == "ok":
            return ""
        self._loop.pump(0)
        return f"the process for the code {self._state.worker.end()}; {self._state.late.text()[-1500:].strip()}"

    def run(self, message: Message) -> None:
        """Run a step; the answer goes to the host."""
        state, clock = self._state, guest_left.now()
        self._ready()
        started = time.monotonic()
        request, pipes, relay = self._try(message)
        if request.outcome == "busy" or request.unheard:
            if request.unheard:
                # The worker ended after its last answer and before this request: whatever ended it is not of this step.
                state.replace_ended()
            else:
                state.replace(STILL_RUNNING, undo=True)
            self._ready()
            for pipe in pipes:
                state.late.forget(pipe)
            started = time.monotonic()
            request, pipes, relay = self._try(message)
        result = self._conclude(request, message, time.monotonic() - started, relay)
        left = self._left(request, result, clock)
        if request.outcome == "ok" and state.has_children():
            state.late.linger(pipes)
        for pipe in pipes:
            pipe.settle()
        result.update(
            op="result",
            number=message["number"],
            stdout=pipes[0].kept.text(),
            stderr=pipes[1].kept.text(),
            stdout_bytes=pipes[0].kept.total,
            late_output=state.late.take(),
            notice=" ".join(filter(None, (self._take_news(), result["notice"], left))),
        )
        self._loop.send(result, request.blob)
        for pipe in pipes:
            state.late.follow(pipe)
        if request.outcome == "ok":
            self._account(request.reply, time.monotonic() - started)

    def _try(self, message: Message) -> tuple[Request, list[Pipe], Relay | None]:
        """Send a step to the worker and wait for its end."""
        state = self._state
        state.memory.begin()
        pipes = state.late.new_pipes()
        tap = Tap(self._loop, pipes, self._config["limits"]["output_bytes"]) if message.get("stream") else None
        relay = Relay(self._loop, message["number"]) if message["calls"] else None
        self._found_room = self._room()
        size = self._snapshot_size()
        request = state.request()
        asked = {key: message[key] for key in ("op", "number", "code", "calls")}
        request.go(asked, pipes, state.new_twin() if size else None, message["timeout"], relay=relay)
        if size and state.snapshot is not None and state.snapshot.twin is state.newest:
            self._budget.begin(size)
            self._copied = 0
        if tap is not None:
            tap.close()
        return request, pipes, relay

    def tell(self, asked: Message, seconds: float) -> None:
        """Answer a request for `variables`, `digests` or a `value`; the answer goes to the host."""
        self._ready()
        request = self._state.request()
        request.go(asked, [], None, seconds)
        if request.outcome == "ok" and request.reply["op"] == asked["op"]:
            self._loop.send(request.reply)
            return
        self._failed(request, f"a repr ended the process ({request.outcome})", "a repr ended the process")

    def checkpoint(self, number: int, seconds: float) -> None:
        """Keep the state under a number; the answer, with the numbers that had to go for it, goes to the host."""
        self._ready()
        request, twin = self._state.freeze(seconds)
        if twin is None and request.outcome == "ok":
            self._loop.send({"op": "failed", "why": "there is no room for another process"})
        elif twin is None:
            self._failed(request, "the process ended", "the process ended at a checkpoint")
        else:
            dropped = self._state.keep_checkpoint(number, twin)
            self._loop.send({"op": "checkpoint", "number": number, "dropped": dropped})

    def restore(self, number: int) -> None:
        """Go back to a kept state, which stays kept; the answer, with what happened to the state, goes to the host."""
        if not self._state.has_checkpoint(number):
            self._loop.send({"op": "missing"})
            return
        self._state.go_back(number)
        self._news = ""
        self._ready()
        self._loop.send({"op": "restored", "notice": self._take_news()})

    def check_idle(self) -> None:
        """Check memory between steps: threads and children of the user may grow."""
        # What the kernel has killed meanwhile, or in a step that ended all the same, no longer counts.
        self._state.memory.begin()
        if self._state.memory.over():
            why = "threads or child processes of earlier steps went over the memory limit"
            self._state.replace(why, undo=True)

    def _failed(self, request: Request, why: str, recovered: str) -> None:
        """Recover from a request, none of the steps, that ended the worker or was never taken up."""
        busy = request.outcome == "busy"
        self._state.replace(STILL_RUNNING if busy else recovered, undo=busy)
        self._ready()
        self._loop.send({"op": "failed", "why": "an earlier step was still running" if busy else why})

    def _ready(self) -> None:
        """Make sure that the worker lives and has the state."""
        if not self._state.worker.alive():
            self._state.replace_ended()
        self._news = " ".join(filter(None, (self._news, self._state.settle())))

    def _take_news(self) -> str:
        news, self._news = self._news, ""
        return news

    # Ends of a step

    def _conclude(self, request: Request, message: Message, seconds: float, relay: Relay | None) -> Message:
        """The result of a step, but for its output; the worker is replaced where it is of no more use."""
        reply = request.reply if request.outcome == "ok" and request.reply["op"] == "result" else None
        if reply and reply["outcome"] == "out_of_memory" and self._is_full():
            request.outcome = "out_of_memory"
        elif reply:
            return self._kept(request, message, seconds, relay)
        state = self._state
        outcome = {"ok": "protocol_violation", "busy": "crashed"}.get(request.outcome, request.outcome)
        if outcome == "crashed" and state.lacked_memory():
            outcome = "out_of_memory"
        request.blob = b""
        kind, why = {
            "timeout": ("TimeoutError", _took(message["timeout"])),
            "out_of_memory": ("MemoryError", state.memory.over_limit),
            "crashed": ("Crashed", "the process " + state.worker.end()),
            "interrupted": ("KeyboardInterrupt", "interrupted for the second time; the process was ended"),
            "protocol_violation": ("ProtocolViolation", "the step wrote into the channel of the sandbox"),
        }[outcome]
        # What has written there may be a thread that an earlier step has left.
        state.replace(undo=outcome == "protocol_violation")
        return {
            "outcome": "crashed" if outcome == "interrupted" else outcome,
            "changed": [],
            "displays": [],
            "seconds": seconds,
            "error": (reply or {}).get("error") or dict(_no_error(), type=kind, message=why),
            "notice": state.settle(),
        }

    def _left(self, request: Request, result: Message, since: float) -> str:
        """A sentence on what a step has left that did not come to its own end."""
        error = result["error"] or {}
        if request.outcome == "ok" and not request.interrupted and error.get("type") != "KeyboardInterrupt":
            return ""
        for twin in self._state.frozen():
            # One that is just being made is told from children of the step once it has spoken.
            twin.exists()
        folders = {self._config["env"].get("TMPDIR", "/tmp"), *self._config["counted"]} - {self._config["work"]}
        return guest_left.left_behind(self._state.others(), sorted(folders), since)

    def _kept(self, request: Request, message: Message, seconds: float, relay: Relay | None) -> Message:
        """The result of a step that came to its end in a worker that goes on."""
        reply, error = request.reply, request.reply["error"]
        stopped = bool(error) and error["type"] == "KeyboardInterrupt"
        done = Done(message["number"], message["code"], seconds, reply)
        if relay is not None:
            done.answered = relay.answered
            done.refusal = "" if relay.complete else "the answers to its calls were too large to be kept"
        if stopped or request.interrupted:
            done.refusal = "it was interrupted"
        if reply["outcome"] == "out_of_memory":
            done.refusal = "it ran out of memory"
        self._state.history.add(done)
        result = {key: reply[key] for key in HANDED_ON}
        result.update(value=reply.get("value"), notice="")
        if request.interrupted:
            where = error if stopped else _no_error()
            result["error"] = dict(where, type="TimeoutError", message=_took(message["timeout"]))
            result["outcome"] = "timeout"
            result["notice"] = "state kept: the step was interrupted; what it had done until then stays."
        elif error and error["type"] == "SystemExit":
            result["notice"] = "state kept: sys.exit() ends the step, not the session."
        elif result["outcome"] == "out_of_memory":
            result["notice"] = "state kept: the allocation was refused; what the step had done until then stays."
        elif result["outcome"] == "ok" and self._state.memory.killed_of_user():
            over = self._state.memory.over_limit
            result["notice"] = f"state kept: the kernel has killed a child process, {over}."
        if reply.get("moved"):
            result["notice"] = "state kept: the folder of the step is gone; the next one starts in the work folder."
        if reply["deleted"]:
            result["notice"] = "state kept: the work folder was deleted; it is there again, empty."
        return result

    def _is_full(self) -> bool:
        """True if a step has left too little memory for the next one, and had found twice as much."""
        enough: int = self._config["limits"]["data_bytes"] // LITTLE_PART
        return self._room() < min(enough, self._found_room // 2)

    def _room(self) -> int:
        """The bytes of memory that the process of the steps may still take."""
        return int(self._config["limits"]["data_bytes"]) - guest_linux.data(self._state.worker.pid)

    # Snapshots

    def _snapshot_size(self) -> int:
        """The bytes of the state, of which a snapshot is wanted; 0 where none is."""
        if not self._config["snapshots"]:
            return 0
        state = self._state
        size = guest_linux.anonymous(state.worker.pid)
        # After a crash there is none, and without one the next crash would cost far more.
        unprotected = state.snapshot is None and not state.no_room
        # A step with a refusal, such as an interrupted one, cannot run again.
        unprotected |= any(step.refusal for step in state.history.after(state.snapshot))
        return size if self._budget.allows(size) or unprotected else 0

    def _account(self, reply: Message, seconds: float) -> None:
        """Charge a step for its snapshot.

        The kernel's time in the worker is charged by the share of page faults that copied: each page that the twin
        holds and the worker no longer shares was copied in one.
        """
        copying, snapshot = 0.0, self._state.snapshot
        kernel, faults = reply.get("kernel_seconds", 0.0), reply.get("faults", 0)
        twin = snapshot.twin if snapshot is not None else None
        if kernel > MEASURED_SECONDS and twin is not None and twin.pid is not None:
            copied = max(0, guest_linux.anonymous(twin.pid) - guest_linux.shared_dirty(self._state.worker.pid))
            pages = max(0, copied - self._copied) // resource.getpagesize()
            self._copied = copied
            copying = kernel * min(1.0, pages / max(1, faults))
        self._budget.step(seconds, reply.get("fork_seconds", 0.0) + copying)


def _no_error() -> Message:
    return {"type": "", "message": "", "line": "", "line_number": None, "traceback": ""}


def _took(seconds: float) -> str:
    return f"the step took over {seconds:g} s"
