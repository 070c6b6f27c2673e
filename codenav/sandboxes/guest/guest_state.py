"""The state: the process that holds the variables, what can take its place, and the steps that led there."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any

import guest_linux
import guest_worker
from guest_frames import Message
from guest_history import Done, Frozen, History
from guest_late import Late
from guest_memory import Memory
from guest_notice import losses, numbers
from guest_processes import FULL, LOST, WAKE_SECONDS, Twin, Worker
from guest_request import Request
from guest_rerun import Rerun

MOST_CHECKPOINTS = 16
"""Maximum number of checkpoints kept at the same time. Each is a process."""


class State:
    """All that runs now, and the history of it. Replaces the worker, with its variables, when that has ended."""

    def __init__(self, loop: Any, config: Message) -> None:
        self._loop, self.config = loop, config
        limits = config["limits"]
        self.late = Late(loop, limits["output_bytes"])
        self.memory = Memory(self)
        self.history = History([])
        self.snapshot: Frozen | None = None
        """The copy that the newest step has left, or an older one."""
        self._checkpoints: dict[int, Frozen] = {}
        processes = limits["processes"]
        self._most = max(1, min(processes // 8, MOST_CHECKPOINTS)) if processes else MOST_CHECKPOINTS
        self.newest: Twin | None = None
        """The last copy that was asked for. It may be just being made."""
        self.no_room = False
        """True if a snapshot was given up for want of memory."""
        self._again: list[Done] = []
        self._news: list[str] = []
        self.worker = self._spawn()

    def _spawn(self) -> Worker:
        ours, far_end = socket.socketpair()
        pid = os.fork()
        if pid:
            far_end.close()
            return Worker(pid, ours)
        try:
            ours.close()
            for descriptor in (*self._loop.private_descriptors(), *self.memory.descriptors):
                if descriptor > 2:
                    os.close(descriptor)
            guest_worker.become_worker(far_end, self.late.writer, self.config)
        except MemoryError:
            os._exit(FULL)
        finally:
            os._exit(LOST)

    def request(self, on_twin: Callable[[Twin], None] | None = None) -> Request:
        """A request to the worker; the copy that it leaves behind, if it is to leave one, becomes the snapshot."""
        return Request(self._loop, self, on_twin or self._adopt)

    # Frozen copies

    def new_twin(self) -> Twin:
        """Make the twin for the copy that the next request is to leave behind."""
        self.newest = Twin(self._loop, [self.worker.pid, *guest_linux.processes_inside()])
        return self.newest

    def _adopt(self, twin: Twin) -> None:
        if self.snapshot is not None and self.snapshot.twin is not None:
            self.memory.replaced(self.snapshot.twin)
        self._drop_snapshot()
        self.snapshot = Frozen(twin, self.history.steps)
        self.no_room = False

    def _drop_snapshot(self) -> None:
        if self.snapshot is not None:
            self.snapshot.drop()
        self.snapshot = None

    def frozen(self) -> list[Twin]:
        """The twins, the oldest first; that of the snapshot is the last."""
        copies = [*self._checkpoints.values(), *([self.snapshot] if self.snapshot is not None else [])]
        return [one.twin for one in copies if one.twin is not None]

    def keep_checkpoint(self, number: int, twin: Twin) -> list[int]:
        """Keep the state under a number, and return the numbers of the checkpoints dropped for it."""
        self._checkpoints[number] = Frozen(twin, self.history.steps, number)
        dropped = list(self._checkpoints)[: -self._most]
        for one in dropped:
            self._checkpoints.pop(one).drop()
        return dropped

    def has_checkpoint(self, number: int) -> bool:
        """True if a checkpoint of that number is kept."""
        return number in self._checkpoints

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

    def give_up_a_copy(self) -> None:
        """Drop the oldest frozen copy to free its memory, the snapshot last."""
        for kept in self._checkpoints.values():
            if kept.twin is not None:
                kept.drop()
                return
        self._drop_snapshot()
        self.no_room = True

    # Replacing the worker

    def replace(self, why: str = "", *, undo: bool = False) -> None:
        """Kill what is left of the worker and put another one in its place; `settle` says what became of the state.

        With `undo` the last of the steps that would run again is taken out: what it did, or left running, has brought
        the worker down.
        """
        self._kill_worker()
        frozen, said = self._wake()
        again = self.history.after(frozen)
        if undo and again:
            undone = again.pop()
            self.history = History(self.history.steps[:-1])
            why += f"{'; ' if why else ''}step {undone.number} was undone"
        self._begin(why + "; " if why else "", frozen, again, said)

    def replace_ended(self) -> None:
        """Replace a worker that has ended between two steps."""
        self.replace(f"the process {self.worker.end()} between two steps", undo=self.lacked_memory())

    def lacked_memory(self) -> bool:
        """True if the worker has ended for want of memory."""
        return self.worker.was_full() or (self.memory.killed() and self.worker.was_killed())

    def go_back(self, number: int) -> None:
        """Go back to the state of a checkpoint, which stays kept; `settle` says what became of it."""
        kept = self._checkpoints[number]
        self._kill_worker()
        self._drop_snapshot()
        self.history = History(kept.steps)
        frozen, said = self._wake()
        self._begin("", frozen, self.history.after(frozen), said, went_back=True)

    def _wake(self) -> tuple[Frozen | None, str]:
        """Make the frozen copy with the most of the steps the worker, or else a fresh process; return what it says."""
        copies = [*([self.snapshot] if self.snapshot is not None else []), *self._checkpoints.values()]
        fitting = [one for one in copies if one.leads_to(self.history.steps)]
        for frozen in sorted(fitting, key=lambda one: len(one.steps), reverse=True):
            said = self._take_up(frozen)
            if said is not None:
                return frozen, said
        self.worker = self._spawn()
        return None, ""

    def _take_up(self, frozen: Frozen) -> str | None:
        """Wake a twin, and have that of a checkpoint leave another; return what it said, None where that failed."""
        if frozen is self.snapshot:
            self.snapshot = None
        twin = frozen.twin if frozen.lives() else None
        worker = twin.wake() if twin is not None else None
        if twin is None or worker is None:
            frozen.drop()
            return None
        self.worker, frozen.twin = worker, None
        if frozen.number:
            request, frozen.twin = self.freeze(WAKE_SECONDS)
            if request.outcome != "ok":
                self._kill_worker()
                return None
        return twin.losses

    def _begin(
        self, because: str, frozen: Frozen | None, again: list[Done], said: str, *, went_back: bool = False
    ) -> None:
        self._again = again
        if again:
            since = f"since checkpoint {frozen.number} " if frozen and frozen.number else "since the last snapshot "
            which = f"{len(again)} earlier step(s) {since}" if frozen else f"all {len(again)} earlier step(s) "
            ran = f"{which}run again: {numbers([step.number for step in again])}"
            self._news = [f"state rebuilt: {because}{ran}", *losses(said)]
        elif frozen is None:
            self._news = [f"state kept: {because}there were no variables yet"]
        else:
            of = f"of checkpoint {frozen.number}" if went_back else "from before this step"
            self._news = [f"state kept: {because}the variables are those {of}", *losses(said)]

    def _kill_worker(self) -> None:
        """Kill the worker and everything else of the user's; the frozen twins stay."""
        guest_linux.kill_all({twin.pid for twin in self.frozen() if twin.exists() and twin.pid is not None})
        if self.config.get("shared_memory"):
            guest_linux.remove_shared_memory()
        self.worker.close()

    def settle(self) -> str:
        """Run again what a new worker lacks, in a time of its own, and say what has happened to the state."""
        again, self._again = self._again, []
        if again:
            rerun = Rerun(self._loop, self)
            failed = rerun.run(again)
            if failed:
                self.history = History([])
                self.replace()
                self._news = [f"state lost: {failed}; all variables are gone"]
            else:
                self._news += rerun.differences()
        news, self._news = self._news, []
        return "; ".join(news) + "." if news else ""

    # Processes of user code

    def others(self) -> set[int]:
        """The processes of user code besides the worker."""
        known = {twin.pid for twin in self.frozen()}
        return {pid for pid in guest_linux.processes_inside() if pid != self.worker.pid and pid not in known}

    def has_children(self) -> bool:
        """True if user code has other processes than the worker; False while that cannot be told from the snapshot."""
        twin = self.snapshot.twin if self.snapshot is not None else None
        return (twin is None or twin.pid is not None) and bool(self.others())

    def crowded(self) -> bool:
        """True if user code has very many processes. Only in a namespace, where they are quickly found."""
        return os.getpid() == 1 and len(self.others()) >= self.config["limits"]["crowd"]
