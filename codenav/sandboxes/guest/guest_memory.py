"""The memory limit on all that user code holds, in whatever processes and files."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

import guest_linux
from guest_kernel import Kernel
from guest_processes import Twin

if TYPE_CHECKING:
    from guest_state import State

ENDING_SECONDS = 0.2
"""Time for the end of a process that the kernel has killed to be seen."""
LOST_SECONDS = 2.0
"""Time for a step to end by itself when the kernel has killed a process of it: a pool would wait for that one forever,
and who looks at the end of a child needs a processor for it."""
LITTLE = 16
"""Divisor of the limit: below that part of it no frozen copy is given up."""


class Memory:
    """A watch on the memory limit, besides the kernel's where that has a limit of its own."""

    def __init__(self, state: State) -> None:
        self._state, config = state, state.config
        self._limit: int = config["limits"]["memory_bytes"]
        self.over_limit = f"over the limit of {self._limit >> 20} MiB"
        """The words for a message that the limit was exceeded."""
        self._folders: list[str] = config["counted"]
        self._kernel = Kernel(**config.get("kernel", {"sockets": False, "rest": False}))
        self.descriptors: list[int] = []
        """Descriptors that a worker must not inherit."""
        if config.get("killed"):
            with contextlib.suppress(OSError):
                self.descriptors.append(os.open(config["killed"], os.O_RDONLY))
        self._kills = 0
        self._dead: set[int] = set()
        self._lost_since = 0.0

    def begin(self) -> None:
        """Forget what the kernel has killed until now."""
        self._kills = self._count_kills()
        self._dead = _dead(self._state.frozen())
        self._lost_since = 0.0

    def killed(self) -> bool:
        """True if the kernel has killed for want of memory since `begin`: it also counts what nobody has mapped."""
        return self._count_kills() > self._kills

    def replaced(self, twin: Twin) -> None:
        """Note that a frozen copy goes: if the kernel has killed it since `begin`, that is no loss of user code."""
        if self.killed() and _dead([twin]) - self._dead:
            self._kills += 1

    def killed_of_user(self) -> bool:
        """True if the kernel has killed more than frozen copies since `begin`; False where that is not sure.

        Like `killed` it takes microseconds if the kernel has killed nothing; else up to `ENDING_SECONDS`, or a second.
        """
        if not self.killed():
            return False
        frozen = self._state.frozen()
        if not all(twin.pid is not None or (twin in frozen and twin.exists()) for twin in self._copies()):
            return False
        until = time.monotonic() + ENDING_SECONDS
        while self._more_than_copies():
            if time.monotonic() > until:
                return True
            time.sleep(0.005)
        return False

    def over(self) -> bool | None:
        """True if user code is over its limit, or lost a part to the kernel `LOST_SECONDS` ago; None where far off.

        False: near the limit. A frozen copy is given up where it makes room.
        """
        state = self._state
        if state.crowded():
            # Hundreds that fork would leave the supervisor no processor, and it waits for each that it looks into.
            guest_linux.calm(state.others())
            if self.descriptors:
                # The kernel does.
                return self._lost_one() or None
        if self.descriptors and self._lost_one():
            return True
        pids = guest_linux.processes_inside()
        kernel = self._kernel.held(pids, self._limit)
        if kernel > self._limit:
            return True
        if guest_linux.resident_sum(pids, self._folders) + self._kernel.tables(pids) + kernel <= self._limit:
            return None
        if state.newest is not None and state.newest.coming():
            # The copy cannot be told from user code yet.
            return None
        held, beside = self._sum(pids)
        if held + kernel > self._limit:
            return True
        if kernel > self._limit // LITTLE:
            # Buffers grow faster than pages.
            return None
        # A copy of a small state would make no room for code that is about to go over its limit anyway.
        if state.frozen() and held + beside + kernel > self._limit and beside > self._limit // LITTLE:
            state.give_up_a_copy()
            # The kernel may have killed the same one.
            self.begin()
        return False

    def _copies(self) -> list[Twin]:
        """The frozen copies, with that of a checkpoint that is just made: its request is not over."""
        frozen, newest = self._state.frozen(), self._state.newest
        return frozen if newest is None or newest in frozen else [*frozen, newest]

    def _more_than_copies(self) -> bool:
        return self._count_kills() - self._kills > len(_dead(self._state.frozen()) - self._dead)

    def _lost_one(self) -> bool:
        """True if the kernel has killed more than frozen copies, and `LOST_SECONDS` have gone by since."""
        if not self._more_than_copies():
            self._lost_since = 0.0
            return False
        now = time.monotonic()
        self._lost_since = self._lost_since or now
        return now - self._lost_since > LOST_SECONDS

    def _sum(self, pids: list[int]) -> tuple[int, int]:
        known = [twin.pid for twin in self._copies() if twin.pid is not None]
        others = [pid for pid in pids if pid not in known]
        held, beside = guest_linux.memory(others, known, self._folders)
        return held + self._kernel.tables(others), beside + self._kernel.tables(known)

    def _count_kills(self) -> int:
        return guest_linux.killed_for_memory(self.descriptors[0]) if self.descriptors else 0


def _dead(frozen: list[Twin]) -> set[int]:
    ended = guest_linux.reap()
    pids = {twin.pid for twin in frozen if twin.pid is not None}
    return {pid for pid in pids if pid in ended or guest_linux.exiting(pid)}
