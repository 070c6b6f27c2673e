"""Identity of processes across restarts and machines: an owner can be saved, and later asked if its process ended."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codenav.core.system.stored import Document

_STATE, _STARTED = 0, 19
"""Indices in /proc/PID/stat after the command's name: fields 3 and 22 of proc(5)."""
_TEXT = re.compile(r"(?P<host>[^\s/]+)/(?P<boot>[^\s/]*)/(?P<pids>[^\s/]*)/(?P<pid>\d{1,10})/(?P<started>\d{1,20})")


@dataclass(frozen=True, slots=True)
class Owner(Document):
    """A process that owns something. As text: `host/boot/pids/pid/started`, no white space, at most 250 characters."""

    host: str
    boot: str
    """The kernel's boot id; empty if /proc does not tell."""
    pids: str
    """The namespace of process ids; a container has its own, and its pids mean nothing outside."""
    pid: int
    started: int
    """Start time in clock ticks after boot, to recognise a pid that was given to another process."""

    @classmethod
    def this_process(cls) -> Owner:
        """The calling process."""
        pid = os.getpid()
        return cls(_host(), _boot(), _pids(), pid, _started(pid) or 0)

    @classmethod
    def from_text(cls, text: str) -> Owner | None:
        """Parse the text of an owner; None for any other text."""
        match = _TEXT.fullmatch(text.strip())
        if match is None:
            return None
        return cls(match["host"], match["boot"], match["pids"], int(match["pid"]), int(match["started"]))

    def __str__(self) -> str:
        return f"{self.host}/{self.boot}/{self.pids}/{self.pid}/{self.started}"

    @classmethod
    def from_dict(cls, data: Any) -> Owner | None:
        """Read the stored form, `pids` being optional; None for anything else."""
        if not isinstance(data, Mapping):
            return None
        texts = [data.get("host"), data.get("boot"), data.get("pids", "")]
        numbers = [data.get("pid"), data.get("started")]
        if not all(isinstance(text, str) for text in texts) or not all(type(number) is int for number in numbers):
            return None
        return cls(*texts, *numbers)

    def lives(self) -> bool:
        """True if the process is seen to run; one on another machine or in another pid namespace cannot be seen."""
        return self._here() and self._runs()

    def ended(self, *, local: bool = True) -> bool:
        """True if the process has certainly ended; that is never certain for one on another machine.

        `local`: True if its possessions cannot be those of another machine with the same name; then a process of an
        earlier boot has ended, too. A container on a remote engine is not local.
        """
        boot = _boot()
        if self.host != _host() or not boot or not self.boot:
            return False
        if self.boot != boot:
            return local
        return self._here() and not self._runs()

    def _here(self) -> bool:
        same = self.host == _host() and self.boot == _boot() != ""
        return same and (not self.pids or self.pids == _pids())

    def _runs(self) -> bool:
        return self.pid > 0 and _started(self.pid) == self.started


def _host() -> str:
    return re.sub(r"[\s/]", "_", os.uname().nodename)[:64] or "localhost"


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _pids() -> str:
    """The namespace of process ids: the number in `pid:[4026531836]`, or ""."""
    try:
        return os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        return ""


def _started(pid: int) -> int | None:
    """The start time of a process in clock ticks after boot; None if there is none, or only a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[_STATE] in (b"Z", b"X") else int(fields[_STARTED])
