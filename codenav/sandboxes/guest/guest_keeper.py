"""The keeper of the process that holds the state, and of what takes its place when a step ends it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from typing import Any

import guest_linux
import guest_worker
from guest_checkpoints import MOST, Checkpoint, Checkpoints, Done
from guest_frames import Message
from guest_late import Late
from guest_memory import Memory
from guest_processes import FULL, LOST, WAKE_SECONDS, Twin, Worker
from guest_request import Request
from guest_rerun import Rerun
from guest_told import losses, numbers

HISTORY_BYTES = 32 << 20
"""Maximum bytes of earlier steps' source, and answers to their calls, kept to run them again without a snapshot."""


class Keeper:
    """The worker, its snapshot, the checkpoints, and the steps that led to each."""

    def __init__(self, loop: Any, config: Message) -> None:
        self._loop, self._config = loop, config
        limits = config["limits"]
        self.late = Late(loop, limits["output_bytes"])
        self.memory = Memory(config)
        self.checkpoints = Checkpoints((limits["processes"] or 8 * MOST) // 8)
        self.twin: Twin | None = None
        """The snapshot."""
        self._newest: Twin | None = None
        self.since: list[Done] = []
        """The steps after the snapshot."""
        self.no_room = False
        """True if a snapshot was given up for want of memory."""
        self._forget()
        self._again: list[Done] = []
        self._news: list[str] = []
        self._threads, self._processes = 1, 0
        self.worker = self._spawn()

    def _forget(self) -> None:
        self.history: list[Done] = []
        self._history_bytes, self._whole_history = 0, True

    @property
    def steps(self) -> list[Done] | None:
        """The steps that led to the state; None where they are no longer known."""
        return list(self.history) if self._whole_history else None

    @property
    def to_tell(self) -> bool:
        """True if the worker was replaced and `settle` was not called yet."""
        return bool(self._news)

    def keep(self, done: Done) -> None:
        """Record a step that has ended."""
        threads = guest_linux.tasks(self.worker.pid)
        done.leaves, self._threads = threads > self._threads, threads
        self.since.append(done)
        self._history_bytes += done.size()
        self.history.append(done)
        if self._history_bytes > HISTORY_BYTES:
            self.history, self._whole_history = [], False

    def adopt(self, twin: Twin) -> None:
        """Replace the snapshot by a newer one."""
        if self.twin is not None:
            self.memory.replaced(self.twin)
            self.twin.drop()
        self.twin, self.since = twin, []
        self.no_room = False

    def drop_snapshot(self) -> None:
        """Drop the snapshot, if there is one."""
        if self.twin is not None:
            self.twin.drop()
        self.twin, self.since = None, []

    def frozen(self) -> list[Twin]:
        """The twins, the oldest first; the snapshot is the last."""
        return [*self.checkpoints.twins(), *([self.twin] if self.twin is not None else [])]

    def new_twin(self) -> Twin:
        """Make the twin for the copy that the next request is to leave behind."""
        present = [self.worker.pid, *guest_linux.processes_inside()]
        processes = len(present) - len(self.frozen())
        if processes > self._processes > 0 and self.since:
            self.since[-1].leaves = True
        self._processes = processes
        self._newest = Twin(self._loop, present)
        return self._newest

    def request(self, on_twin: Callable[[Twin], None]) -> Request:
        """A request to the worker; `on_twin` gets the copy that it leaves behind, where it is to leave one."""
        return Request(self._loop, self.worker, self.over_memory, on_twin, self.crowded)

    def freeze(self, seconds: float) -> tuple[Request, Twin | None]:
        """Ask the worker for a frozen copy of itself, for a checkpoint."""
        made: list[Twin] = []
        request = self.request(made.append)
        request.go({"op": "checkpoint"}, [], self.new_twin(), seconds)
        if request.outcome == "ok" and request.reply["op"] != "checkpoint":
            request.outcome = "protocol_violation"
        if made and request.outcome != "ok":
            made.pop().drop()
        return request, made[0] if made else None

    # Replacing the worker

    def replace(self, why: str) -> None:
        """Kill what is left of the worker and put another one in its place; `settle` says what became of the state."""
        self.kill_worker()
        because = why + "; " if why else ""
        older, self.since = self.since, []
        twin, self.twin = self.twin, None
        worker = twin.wake() if twin is not None and twin.exists() else None
        if twin is not None and worker is not None:
            self.worker = worker
            self._begin(because, older, "since the last snapshot", twin.losses)
            return
        if twin is not None:
            twin.drop()
        kept = self.checkpoints.newest_before(self.history) if self._whole_history else None
        said = self.take_up(kept) if kept is not None else None
        if kept is not None and said is not None:
            older = self.history[len(kept.steps or ()) :]
            self._begin(because, older, f"since checkpoint {kept.number}", said)
            return
        self.worker = self._spawn()
        if not self._whole_history:
            self._forget()
            self._news = [f"state lost: {because}all variables are gone; run again what is needed"]
        elif not self.history:
            self._news = [f"state kept: {because}there were no variables yet"]
        else:
            self._begin(because, list(self.history), "", "")

    def replace_ended(self) -> None:
        """Replace a worker that has ended between two steps."""
        why = f"the process {self.worker.end()} between two steps"
        if self.lacked_memory():
            self.replace_outgrown(why)
        else:
            self.replace(why)

    def replace_outgrown(self, why: str) -> None:
        """Replace the worker after threads or children of earlier steps have used up the memory.

        The last step that had left some is undone, with those after it: run again it would do the same.
        """
        if self.since and self.others():
            self.since[-1].leaves = True
        leaving = [step for step in self.history or self.since if step.leaves]
        if leaving:
            leaving[-1].refusal = "what it had left running used up the memory"
        undone = self.since[self.since.index(leaving[-1]) :] if leaving and leaving[-1] in self.since else []
        if undone:
            del self.since[-len(undone) :], self.history[-len(undone) :]
            self._history_bytes = sum(step.size() for step in self.history)
            why += f"; {numbers([step.number for step in undone])} {'was' if len(undone) == 1 else 'were'} undone"
        self.replace(why)

    def lacked_memory(self) -> bool:
        """True if the worker has ended for want of memory."""
        return self.worker.was_full() or (self.memory.killed() and self.worker.was_killed())

    def replace_after_violation(self, why: str) -> None:
        """Replace the worker after the sandbox's channel was written to; what may have done it never runs again."""
        for step in (*self.history, *self.since):
            if step.leaves:
                step.refusal = "it had left a thread or process behind when the channel of the sandbox was written to"
        self.replace(why)

    def undo_last(self) -> None:
        """Go back to the state before a step that claimed to be over, with which the worker is still busy."""
        for steps in (self.since, self.history):
            if steps:
                steps.pop()
        self.replace_after_violation("the step before was still running although it had answered; it was undone")

    def go_back(self, kept: Checkpoint) -> None:
        """Go back to the state of a checkpoint, which stays kept; `settle` says what became of it."""
        self.kill_worker()
        self.drop_snapshot()
        self.history, self._whole_history = list(kept.steps or ()), kept.steps is not None
        self._history_bytes = sum(step.size() for step in self.history)
        said = self.take_up(kept)
        if said is not None:
            self._news = [f"state kept: the variables are those of checkpoint {kept.number}", *losses(said)]
            return
        self.worker = self._spawn()
        if self._whole_history:
            self._begin("", list(self.history), f"before checkpoint {kept.number}", "")
        else:
            self._forget()
            self._news = ["state lost: all variables are gone; run again what is needed"]

    def take_up(self, kept: Checkpoint) -> str | None:
        """Wake the twin of a checkpoint and have it leave another; return what it said, None where that failed."""
        twin = kept.twin
        if not kept.lives() or twin is None:
            return None
        worker = twin.wake()
        if worker is None:
            kept.freeze(None)
            return None
        self.worker, kept.twin = worker, None
        request, kept.twin = self.freeze(WAKE_SECONDS)
        if request.outcome != "ok":
            self.kill_worker()
            return None
        return twin.losses

    def kill_worker(self) -> None:
        """Kill the worker and everything else of the user's; the frozen twins stay."""
        twins = [twin for twin in self.frozen() if twin.exists()]
        guest_linux.kill_all({twin.pid for twin in twins if twin.pid is not None})
        if self._config.get("shared_memory"):
            guest_linux.remove_shared_memory()
        self.worker.close()

    def _spawn(self) -> Worker:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid:
            theirs.close()
            return Worker(pid, ours)
        try:
            ours.close()
            for descriptor in (*self._loop.private_descriptors(), *self.memory.descriptors):
                if descriptor > 2:
                    os.close(descriptor)
            guest_worker.become_worker(theirs, self.late.writer, self._config)
        except MemoryError:
            os._exit(FULL)
        finally:
            os._exit(LOST)

    # Steps that run again

    def _begin(self, because: str, steps: Sequence[Done], since: str, said: str) -> None:
        self._again = list(steps)
        self._threads, self._processes = 1, 0
        if not steps:
            self._news = [f"state kept: {because}the variables are those from before this step", *losses(said)]
            return
        which = f"{len(steps)} earlier step(s) {since}" if since else f"all {len(steps)} earlier step(s)"
        ran = numbers([step.number for step in steps])
        self._news = [f"state rebuilt: {because}{which} run again: {ran}", *losses(said)]

    def settle(self) -> str:
        """Run again what the new worker lacks, in a time of its own, and say what happened to the state."""
        steps, self._again = self._again, []
        if steps:
            rerun = Rerun(self._loop, self, self._config["work"])
            failed = rerun.run(steps)
            if failed:
                self._forget()
                self.since = []
                self.replace("")
                self._again = []
                self._news = [f"state lost: {failed}; all variables are gone", *rerun.changed()]
            else:
                self.since += steps
                self._threads = guest_linux.tasks(self.worker.pid)
                self._news += rerun.differences()
        news, self._news = self._news, []
        return "; ".join(news) + "." if news else ""

    # Memory

    def others(self) -> set[int]:
        """The processes of user code besides the worker."""
        known = {twin.pid for twin in self.frozen()}
        return {pid for pid in guest_linux.processes_inside() if pid != self.worker.pid and pid not in known}

    def has_children(self) -> bool:
        """True if user code has other processes than the worker; False while that cannot be told from the snapshot."""
        return (self.twin is None or self.twin.pid is not None) and bool(self.others())

    def crowded(self) -> bool:
        """True if user code has very many processes. Only in a namespace, where they are quickly found."""
        return os.getpid() == 1 and len(self.others()) >= self._config["limits"]["crowd"]

    def begin_memory(self) -> None:
        """Forget what the kernel has killed until now."""
        self.memory.begin(self.frozen())

    def killed_of_user(self) -> bool:
        """True if the kernel has killed user code: see `Memory.killed_of_user`."""
        return self.memory.killed_of_user(self.frozen(), self._newest)

    def over_memory(self) -> bool | None:
        """True if user code is over its memory: see `Memory.over`. Near the limit, drops the oldest frozen copy."""
        if self.crowded():
            # Hundreds that fork would leave the supervisor no processor, and it waits for each that it looks into.
            guest_linux.calm(self.others())
            if self.memory.descriptors:
                # The kernel does.
                return self.memory.lost_one(self.frozen()) or None
        frozen = self.frozen()
        over = self.memory.over(frozen, self._newest)
        if over is False and frozen and self.memory.full(frozen):
            if not self.checkpoints.drop_oldest_twin():
                frozen[-1].drop()
                self.twin, self.since, self.no_room = None, list(self.history), True
            # The kernel may have killed the same one.
            self.begin_memory()
        return over
