"""The time budget of snapshots, each of which costs a fork and a copy of every page that is written to after it.

Steps earn credit, snapshots spend it: `SHARE` of the time of all steps, whatever the size of the state. Cheap ones are
free. The expected cost of a snapshot is that of the last one, per byte.
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
"""Time to copy a byte, where nothing was measured. An array of 1 GB rewritten in place took 0.12 s, after a fork 0.8 s:
two shared cores, Linux 6.18."""


class Budget:
    """The cost of earlier snapshots, and the credit for more."""

    def __init__(self) -> None:
        self._credit, self._wanted = GRANT_SECONDS, 0.0
        self._size, self._spent = 0, 0.0

    def allows(self, size: int) -> bool:
        """True if a snapshot of a state of `size` bytes may be made."""
        if size <= SMALL_BYTES:
            return True
        # What the copying of a small state cost says nothing about a large one.
        known = self._size if size <= 2 * self._size else 0
        self._wanted = size * (self._spent / known if known else COPY_SECONDS)
        return self._wanted <= max(CHEAP_SECONDS, self._credit)

    def begin(self, size: int) -> None:
        """Note a new snapshot of `size` bytes: what a fork and the copying of pages cost from now on is its cost."""
        self._size, self._spent = size, 0.0

    def step(self, seconds: float, spent: float) -> None:
        """Note the seconds of a step, and those of them that the snapshot has cost it."""
        self._spent += spent
        self._credit += SHARE * max(0.0, seconds - spent) - (spent if spent > CHEAP_SECONDS else 0.0)
        self._credit = min(self._credit, max(MOST_CREDIT_SECONDS, 2 * self._wanted))
