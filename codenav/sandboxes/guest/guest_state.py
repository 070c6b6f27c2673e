"""The state of the steps: which process holds it, and what happens to it when a step ends that process."""

from __future__ import annotations

import os
import socket
import time
from typing import Any, NamedTuple

import guest_linux
import guest_worker
from guest_frames import Message
from guest_output import Kept, Pipe
from guest_step import LOST, Request, Twin, Worker

CHEAP_SECONDS = 0.025
"""A fork up to this long is made before every step. The quicker one of the last two counts: one may be bad luck."""
TIMES_COST = 20
"""A slower one only when the steps since the last one took so many times as long: 5 % of the time at most."""
HISTORY_BYTES = 32 << 20
"""Source of earlier steps that is kept, to run them again where there is no snapshot."""
START_SECONDS = 20.0
"""For a fresh worker to import what its environment asks for."""
MOST_LATE_PIPES = 64
"""Pipes of earlier steps that are still read because a process holds their other end."""

_GONE = "threads, child processes and connections that earlier steps had opened are gone"


class Done(NamedTuple):
    """A step that ended and left its traces in the state."""

    number: int
    code: str
    seconds: float


class State:
    """Runs steps in a worker; replaces it, with its state, when a step ends it."""

    def __init__(self, loop: Any, config: Message) -> None:
        self._loop, self._config = loop, config
        self._limits: Message = config["limits"]
        self._late = Kept(self._limits["output_bytes"])
        self._late_pipe = Pipe(0)
        self._late_pipe.kept = self._late
        self._late_pipes: list[Pipe] = []
        loop.watch(self._late_pipe.reader, self._late_pipe.drain)
        self._twin: Twin | None = None
        self._since: list[Done] = []
        self._history: list[Done] = []
        self._history_bytes = 0
        self._whole_history = True
        self._costs = (0.0, 0.0)
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
        self._late_pipe.drain()
        return f"the process for the code {self._worker.end()}; {self._late.text()[-1500:].strip()}"

    def run(self, message: Message) -> None:
        """One step; the answer goes to the host."""
        started = time.monotonic()
        deadline = started + message["timeout"]
        self._prepare(deadline)
        news, self._news = self._news, ""
        late = self._take_late()
        pipes = self._new_pipes([])
        request = self._request()
        asked = {"op": "run", "number": message["number"], "code": message["code"]}
        request.go(asked, pipes, Twin() if self._want_snapshot() else None, _left(deadline))
        if request.outcome == "busy":
            news = self._undo_last()
            self._prepare(deadline)
            pipes = self._new_pipes(pipes)
            request = self._request()
            request.go(asked, pipes, Twin(), _left(deadline))
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
        for pipe in pipes:
            self._keep_late(pipe)
        self._loop.send(result, request.blob)

    def variables(self, seconds: float) -> None:
        """The names that steps have bound; the answer goes to the host."""
        deadline = time.monotonic() + seconds
        self._prepare(deadline)
        request = self._request()
        request.go({"op": "variables"}, [], None, _left(deadline))
        if request.outcome == "ok" and request.reply["op"] == "variables":
            self._loop.send({"op": "variables", "items": request.reply["items"]})
            return
        busy = request.outcome == "busy"
        self._news = self._undo_last() if busy else self._recover("a repr ended the process")
        why = "an earlier step was still running" if busy else f"a repr ended the process ({request.outcome})"
        self._loop.send({"op": "failed", "why": why})

    def check_idle(self) -> None:
        """Between steps: threads and children of the user may grow."""
        if self._over_memory():
            self._news = self._recover("threads or child processes of earlier steps went over the memory limit")

    # Ends of a step

    def _conclude(self, request: Request, message: Message, seconds: float) -> Message:
        reply = request.reply
        if request.outcome == "ok" and reply["op"] == "result":
            self._keep(Done(message["number"], message["code"], seconds), reply)
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
            if reply["deleted"]:
                result["notice"] = "state kept: the work folder was deleted; it is there again, empty."
            return result
        outcome = {"ok": "protocol_violation", "busy": "crashed"}.get(request.outcome, request.outcome)
        request.blob = b""
        why = {
            "timeout": ("TimeoutError", _took(message["timeout"])),
            "out_of_memory": ("MemoryError", f"over the limit of {self._limits['memory_bytes'] >> 20} MiB"),
            "crashed": ("Crashed", "the process " + self._worker.end()),
            "protocol_violation": ("ProtocolViolation", "the step wrote into the channel of the sandbox"),
        }[outcome]
        return {
            "outcome": outcome,
            "changed": [],
            "displays": [],
            "seconds": seconds,
            "error": dict(_no_error(), type=why[0], message=why[1]),
            "notice": self._recover(""),
        }

    def _adopt(self, twin: Twin) -> None:
        """A snapshot was made: the older one has served."""
        if self._twin is not None:
            self._twin.drop()
        self._twin, self._since = twin, []

    def _keep(self, done: Done, reply: Message) -> None:
        if "fork_seconds" in reply:
            self._costs = (self._costs[1], float(reply["fork_seconds"]))
        self._since.append(done)
        self._history_bytes += len(done.code)
        self._history.append(done)
        if self._history_bytes > HISTORY_BYTES:
            self._history, self._whole_history = [], False

    def _want_snapshot(self) -> bool:
        cost = min(self._costs)
        if self._twin is None or not self._twin.exists() or cost <= CHEAP_SECONDS:
            return True
        return sum(step.seconds for step in self._since) >= TIMES_COST * cost

    # What becomes of the state

    def _recover(self, why: str) -> str:
        """Kill what is left of the worker and put another one in its place; says what happened to the state."""
        twin = self._twin if self._twin is not None and self._twin.exists() else None
        guest_linux.kill_all({twin.pid} if twin is not None and twin.pid is not None else set())
        self._worker.close()
        because = why + "; " if why else ""
        older, self._since = self._since, []
        worker = twin.wake() if twin is not None else None
        if worker is None and self._twin is not None:
            self._twin.drop()
        self._twin = None
        if worker is not None:
            self._worker = worker
            self._to_replay = older
            if not older:
                return f"state kept: {because}the variables are those from before this step; {_GONE}."
            return f"state rebuilt: {because}{len(older)} earlier step(s) since the last snapshot run again; {_GONE}."
        self._worker = self._spawn()
        if not self._whole_history:
            self._history, self._whole_history, self._history_bytes = [], True, 0
            return f"state lost: {because}all variables are gone; run again what is needed."
        if not self._history:
            return f"state kept: {because}there were no variables yet."
        self._to_replay = list(self._history)
        return f"state rebuilt: {because}all {len(self._history)} earlier step(s) run again; {_GONE}."

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
            request, pipes = self._request(), self._new_pipes([])
            request.go({"op": "run", "number": step.number, "code": step.code}, pipes, None, _left(deadline))
            for pipe in pipes:
                self._forget(pipe)
            if request.outcome != "ok" or request.interrupted:
                self._to_replay, self._since, self._history = [], [], []
                self._recover("")
                self._news = f"state lost: step {step.number} did not run again; all variables are gone."
                return
            self._since.append(step)

    def _request(self) -> Request:
        return Request(self._loop, self._worker, self._over_memory, self._adopt)

    def _new_pipes(self, old: list[Pipe]) -> list[Pipe]:
        """For the output of a step, watched; in place of old ones."""
        for pipe in old:
            self._forget(pipe)
        made = [Pipe(self._limits["output_bytes"]), Pipe(self._limits["output_bytes"])]
        for pipe in made:
            self._watch(pipe)
        return made

    def _spawn(self) -> Worker:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid:
            theirs.close()
            return Worker(pid, ours)
        try:
            ours.close()
            for descriptor in self._loop.private_descriptors():
                if descriptor > 2:
                    os.close(descriptor)
            guest_worker.become_worker(theirs, self._late_pipe.writer, self._config)
        finally:
            os._exit(LOST)

    # Memory

    def _over_memory(self) -> bool | None:
        """Whether user code holds more than its limit; None where that is far off.

        Near the limit the frozen twin goes first: it costs what was rewritten since the fork.
        """
        limit: int = self._limits["memory_bytes"]
        folders: list[str] = self._config["counted"]
        pids = guest_linux.processes_inside()
        if guest_linux.resident_sum(pids, folders) <= limit:
            return None
        frozen = self._twin.pid if self._twin is not None else None
        held, beside = guest_linux.memory([pid for pid in pids if pid != frozen], frozen, folders)
        if held > limit:
            return True
        if held + beside > limit and self._twin is not None:
            self._twin.drop()
            self._twin, self._since = None, list(self._history)
        return False

    # Late output

    def _take_late(self) -> str:
        self._late_pipe.drain()
        for pipe in list(self._late_pipes):
            self._drain_late(pipe)
        text = self._late.text()
        self._late = Kept(self._limits["output_bytes"])
        for pipe in (self._late_pipe, *self._late_pipes):
            pipe.kept = self._late
        return text

    def _keep_late(self, pipe: Pipe) -> None:
        """Go on reading the pipe of a step that is over while somebody holds its other end."""
        if pipe.ended:
            self._forget(pipe)
            return
        pipe.kept = self._late
        self._late_pipes.append(pipe)
        self._loop.unwatch(pipe.reader)
        self._loop.watch(pipe.reader, lambda: self._drain_late(pipe))
        if len(self._late_pipes) > MOST_LATE_PIPES:
            self._forget(self._late_pipes.pop(0))

    def _drain_late(self, pipe: Pipe) -> None:
        pipe.drain()
        if pipe.ended:
            self._late_pipes.remove(pipe)
            self._forget(pipe)

    def _watch(self, pipe: Pipe) -> None:
        def read() -> None:
            pipe.drain()
            if pipe.ended:
                self._loop.unwatch(pipe.reader)

        self._loop.watch(pipe.reader, read)

    def _forget(self, pipe: Pipe) -> None:
        self._loop.unwatch(pipe.reader)
        pipe.close()


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.05)


def _no_error() -> Message:
    return {"type": "", "message": "", "line": "", "line_number": None, "traceback": ""}


def _took(seconds: float) -> str:
    return f"the step took over {seconds:g} s"
