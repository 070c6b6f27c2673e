"""The memory that a model needs, and that this machine has."""

from __future__ import annotations

import os
from pathlib import Path

PROMPTS_KEPT = 512 << 20
"""Bytes that the server may keep of earlier prompts; llama.cpp's own limit is 8 GB."""
WORKING = 300 << 20
"""Bytes of llama.cpp's buffers, and of Python around it, measured with the 1.5B model."""


def needed(size: int, cache: int, context: int) -> int:
    """Bytes for a file of weights, `cache` bytes of attention for each token of context, and the rest."""
    return size + cache * context + WORKING + PROMPTS_KEPT


def free(proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Bytes that can be had without swapping, on the machine and in the control group; None if nobody tells."""
    found = [_available(proc)]
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        found.append(_left(groups / limit, groups / used))
    return min((number for number in found if number is not None), default=None)


def processors() -> int:
    """Physical processors that this process may use: a second thread on one of them only slows llama.cpp down."""
    siblings = set()
    for number in os.sched_getaffinity(0):
        try:
            text = Path(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list").read_text()
        except OSError:
            text = str(number)
        siblings.add(text)
    return len(siblings)


def _available(proc: Path) -> int | None:
    try:
        lines = (proc / "meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")), None)


def _left(limit: Path, used: Path) -> int | None:
    """The memory that a control group has left; its file pages that nobody reads count as free."""
    try:
        most = limit.read_text().strip()
        if not most.isdigit():
            return None
        stat = dict(line.split() for line in (limit.parent / "memory.stat").read_text().splitlines())
        return int(most) - int(used.read_text()) + int(stat.get("total_inactive_file", stat.get("inactive_file", 0)))
    except (OSError, ValueError):
        return None
