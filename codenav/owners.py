"""Whose something is, across processes, restarts and machines: a token that can be asked whether its process ended."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_STATE, _STARTED = 0, 19
"""Places in /proc/PID/stat after the command's name: fields 3 and 22 of proc(5)."""
_TEXT = re.compile(r"(?P<host>[^\s/]+)/(?P<boot>[^\s/]*)/(?P<pids>[^\s/]*)/(?P<pid>\d{1,10})/(?P<started>\d{1,20})")


@dataclass(frozen=True, slots=True)
class Owner:
    """A process. As text: `host/boot/pids/pid/started`, no white space, at most 250 characters."""

    host: str
    boot: str
    """The kernel's boot id; empty where /proc does not tell."""
    pids: str
    """The namespace of process ids: a container has its own, and its pids mean nothing outside."""
    pid: int
    started: int
    """Clock ticks after the boot: a pid that was given to another process does not count."""

    @classmethod
    def this_process(cls) -> Owner:
        """The process that calls."""
        pid = os.getpid()
        return cls(_host(), _boot(), _pids(), pid, _started(pid) or 0)

    @classmethod
    def from_text(cls, text: str) -> Owner | None:
        """The inverse of `str`; None for any other text."""
        match = _TEXT.fullmatch(text.strip())
        if match is None:
            return None
        return cls(match["host"], match["boot"], match["pids"], int(match["pid"]), int(match["started"]))

    def __str__(self) -> str:
        return f"{self.host}/{self.boot}/{self.pids}/{self.pid}/{self.started}"

    def to_dict(self) -> dict[str, Any]:
        """The stored form."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Any) -> Owner | None:
        """The inverse of `to_dict`, also without `pids`; None for anything else."""
        if not isinstance(data, Mapping):
            return None
        texts = [data.get("host"), data.get("boot"), data.get("pids", "")]
        numbers = [data.get("pid"), data.get("started")]
        if not all(isinstance(text, str) for text in texts) or not all(type(number) is int for number in numbers):
            return None
        return cls(*texts, *numbers)

    def lives(self) -> bool:
        """Whether it is seen to run: of another machine or another namespace of process ids nothing is seen."""
        return self._here() and self._runs()

    def ended(self, *, local: bool = True) -> bool:
        """Whether it certainly has ended; of another machine's processes that is never certain.

        `local` says that what it owns cannot be another machine's of the same name: then a process of an earlier
        boot has ended, too. A container on a remote engine is not local.
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
    """The number in `pid:[4026531836]`."""
    try:
        return os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        return ""


def _started(pid: int) -> int | None:
    """None where there is no such process, or only what is left of it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[_STATE] in (b"Z", b"X") else int(fields[_STARTED])
