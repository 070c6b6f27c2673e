"""The time budget of snapshots, each of which costs a fork and a copy of every page that is written to after it.

Steps earn credit, snapshots spend it: `SHARE` of the time of all steps, whatever the size of the state. Cheap ones are
free. The expected cost of a snapshot is that of the last one, per byte; for a state unlike any before, the worst.
"""

from __future__ import annotations

CHEAP_SECONDS = 0.025
"""A snapshot that costs no more is made before every step: 2.5 % of a step of one second."""
SMALL_BYTES = 16 << 20
"""A state that is no larger is cheap: the interpreter and a few modules. Copying all of it takes 12 ms."""
SHARE = 0.03
"""The part of the time of all steps that dearer snapshots may cost. Twice as much, 0.06, came to 13 % (100 MB of
objects read) and 20 % (512 MiB rewritten) of 20 steps of over a second; this came to 9 and 8 %."""
GRANT_SECONDS = 0.3
"""Credit at the start: room to find out what a snapshot costs of a state of a few hundred megabytes."""
MOST_CREDIT_SECONDS = 2.0
"""The most credit, or twice the cost of the snapshot wanted last: long steps must not pay for many dear ones later."""
COPY_SECONDS = 0.7e-9
"""Minimum time to copy a byte, where nothing was measured. An array of 1 GB rewritten in place took 0.12 s, after a
fork 0.8 s: two shared cores, Linux 6.18."""
SLOW_COPY_SECONDS = 5e-9
"""Maximum time to copy a byte. Memory that the machine has to find first took 3.8e-9 s per byte there."""
GROWN_BYTES = 32 << 20
"""Growth in one step from which that step shows what memory costs on this machine."""


class Budget:
    """The cost of earlier snapshots, and the credit for more."""

    def __init__(self) -> None:
        self._credit = GRANT_SECONDS
        self._wanted = 0.0
        self._forks = [(0.0, 1)]
        self._size = 0
        self._copying = 0.0
        self._known_size = 0
        self._known_rate = self._first_rate = COPY_SECONDS

    def allows(self, size: int) -> bool:
        """True if a snapshot of a state of `size` bytes may be made."""
        if size <= SMALL_BYTES:
            return True
        self._learn()
        rate = self._known_rate if size <= 2 * self._known_size else self._first_rate
        # The quickest of the last few: others were bad luck.
        fork = min(seconds * min(1.0, size / then) for seconds, then in self._forks)
        self._wanted = fork + rate * size
        return self._wanted <= max(CHEAP_SECONDS, self._credit)

    def begin(self, size: int) -> None:
        """Note a new snapshot of `size` bytes; pages copied from now on are its cost."""
        self._learn()
        self._size, self._copying = size, 0.0

    def step(self, seconds: float, fork: float | None, copying: float, slowdown: float = 1.0) -> None:
        """Note the seconds of a step, and the processor time of its fork, if it had one, and of the copying of pages.

        A processor that also serves others makes both `slowdown` times as long.
        """
        if fork is not None:
            self._forks = [*self._forks[-3:], (fork, max(1, self._size))]
        self._copying += copying
        spent = (fork or 0.0) + copying
        self._credit += SHARE * max(0.0, seconds - spent * slowdown)
        if spent > CHEAP_SECONDS:
            self._credit -= spent * slowdown
        self._credit = min(self._credit, max(MOST_CREDIT_SECONDS, 2 * self._wanted))

    def grew(self, size: int, kernel_seconds: float) -> None:
        """Note that a step has taken `size` bytes of memory, which cost the kernel `kernel_seconds`."""
        if size >= GROWN_BYTES:
            self._first_rate = min(max(COPY_SECONDS, kernel_seconds / size), SLOW_COPY_SECONDS)

    def _learn(self) -> None:
        if self._size:
            self._known_size, self._known_rate = self._size, self._copying / self._size
