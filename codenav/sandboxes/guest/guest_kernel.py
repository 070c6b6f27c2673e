"""Memory that the kernel holds for user code outside the pages of its processes: an estimate that is never too low.

A control group counts most of it. Without one, nothing else does.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence

import guest_linux
import guest_sockets

_PAGE = resource.getpagesize()
PIPE_BYTES = 16 * _PAGE
"""Bytes of a pipe of the usual size, which it keeps: F_SETPIPE_SZ is refused."""
FULL_PIPE_BYTES = 2 * _PAGE
"""Bytes of a pipe made by a user who has more than `pipe-user-pages-soft` in all."""
DESCRIPTOR_BYTES = 1024
"""The kernel's own bytes for what is open: its inode, its entry, its operations."""
LOCK_BYTES = 256
MAPPING_BYTES = 224
FEW_PROCESSES = 4
"""Number of processes whose mappings, 65,530 each at most, come to little."""
MAPPINGS_EVERY = 8
"""Calls from one count of the mappings to the next; counting takes longer than all the rest."""
TERMINAL_BYTES = 160 << 10
"""Bytes of a pseudo-terminal with both directions full."""


class Kernel:
    """A counter of the kernel's memory for user code."""

    def __init__(self, *, sockets: bool, rest: bool) -> None:
        """`sockets`: this network namespace is the sandbox's own; `rest`: no control group counts."""
        self._sockets = guest_sockets.Sockets() if sockets else None
        self._rest = rest
        self._calls = self._mappings = 0
        self._pipes = guest_linux.number_in("/proc/sys/fs/pipe-user-pages-soft") * _PAGE

    def held(self, pids: Sequence[int], enough: int) -> int:
        """Bytes that the kernel holds for these processes; from `enough` on not exactly."""
        sockets = self._sockets.held(enough) if self._sockets is not None else 0
        if not self._rest:
            return sockets
        descriptors = sum(_descriptors(pid) for pid in pids)
        pipes = descriptors // 2 * PIPE_BYTES
        if self._pipes:
            pipes = min(pipes, self._pipes + descriptors // 2 * FULL_PIPE_BYTES)
        mappings = self._mapped(pids, enough)
        return sockets + pipes + descriptors * DESCRIPTOR_BYTES + _locks(enough) + _terminals() + mappings

    def tables(self, pids: Sequence[int]) -> int:
        """Bytes of the page tables of these processes, and of what lies in the swap."""
        return sum(_tables(pid) for pid in pids) if self._rest else 0

    def _mapped(self, pids: Sequence[int], enough: int) -> int:
        self._calls += 1
        if len(pids) <= FEW_PROCESSES:
            self._mappings = 0
        elif self._calls % MAPPINGS_EVERY == 0:
            self._mappings = 0
            for pid in pids:
                if self._mappings * MAPPING_BYTES < enough:
                    self._mappings += _lines(f"/proc/{pid}/maps", enough // MAPPING_BYTES)
        return self._mappings * MAPPING_BYTES


def _descriptors(pid: int) -> int:
    """The number of descriptors that a process has open. Since Linux 6.2 its folder has that as its size."""
    try:
        return os.stat(f"/proc/{pid}/fd").st_size or len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def _locks(enough: int) -> int:
    """Bytes of the locks on files, of which there may be millions on one; those of this process id namespace."""
    return _lines("/proc/locks", enough // LOCK_BYTES) * LOCK_BYTES


def _lines(path: str, enough: int) -> int:
    found = 0
    try:
        with open(path, "rb", buffering=0) as file:
            while found < enough:
                data = file.read(1 << 16)
                if not data:
                    break
                found += data.count(b"\n")
    except OSError:
        pass
    return found


def _terminals() -> int:
    try:
        return max(0, len(os.listdir("/dev/pts")) - 1) * TERMINAL_BYTES
    except OSError:
        return 0


def _tables(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            text = file.read()
    except OSError:
        return 0
    found = 0
    for name in (b"VmPTE:", b"VmSwap:"):
        _, _, after = text.partition(name)
        words = after.split(None, 1)
        found += int(words[0]) << 10 if words and words[0].isdigit() else 0
    return found
