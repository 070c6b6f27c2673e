"""Folders of named sandboxes, each with a record of the sandbox, a log of its steps and a socket.

CODENAV_HOME/sandboxes/lab/sandbox.json     the sandbox and its owner
CODENAV_HOME/sandboxes/lab/steps.jsonl      the steps that ran in it
CODENAV_HOME/sandboxes/lab/work/            the files of its work folder, if no other was named
CODENAV_HOME/sandboxes/lab/socket           the socket of its host process
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import json
import os
import re
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from codenav.core.config import home
from codenav.core.errors import NotFound, StorageFull, UsageError
from codenav.core.execution import SandboxInfo
from codenav.core.system.atomic_files import write_whole
from codenav.core.system.locks import locked
from codenav.core.system.process_identity import Owner
from codenav.sandboxes.sweeper import Leftover

T = TypeVar("T")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_RECORD, _SOCKET, _LOCK = "sandbox.json", "socket", ".lock"
FORCE = signal.SIGUSR1
"""The signal that ends a host process and the running step at once. SIGTERM gives the step a second."""


@dataclass(frozen=True)
class Record:
    """The description of a named sandbox, written before it starts and again when it runs."""

    name: str
    owner: Owner
    """The host process of the sandbox."""
    created: str
    """Time of creation in UTC, ISO 8601."""
    info: SandboxInfo | None = None
    """The description of the sandbox, once it runs."""
    work_dir: str = ""
    """The folder of this machine that its files are copied to."""
    idle_seconds: float = 0.0
    """Seconds without a step after which it ends. 0 means never."""

    @classmethod
    def read(cls, name: str) -> Record | None:
        """Read the record of a sandbox. None if there is no readable one."""
        try:
            data = json.loads((folder_of(name) / _RECORD).read_text(encoding="utf-8"))
            owner = Owner.from_dict(data["owner"])
            info = _known(SandboxInfo, data["info"]) if data.get("info") else None
            return None if owner is None else _known(cls, {**data, "owner": owner, "info": info})
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self) -> None:
        """Write the record atomically."""
        write_whole(folder_of(self.name) / _RECORD, json.dumps(asdict(self)))


def _known(kind: type[T], data: Mapping[str, Any]) -> T:
    """Make a dataclass. Unknown keys come from another version of codenav, whose sandbox may still run."""
    return kind(**{key: value for key, value in data.items() if key in kind.__dataclass_fields__})  # type: ignore[attr-defined]


def sandboxes_dir() -> Path:
    """Return the folder that contains those of the named sandboxes."""
    return home("data") / "sandboxes"


def folder_of(name: str) -> Path:
    """Return the folder of a sandbox. It need not exist."""
    return sandboxes_dir() / name


@contextlib.contextmanager
def socket_address(name: str) -> Iterator[str]:
    """Yield the address of a sandbox's socket: its path may be longer than the 107 bytes of an address (unix(7)).

    Raises:
        OSError: the sandbox has no folder.
    """
    folder = os.open(folder_of(name), os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{_SOCKET}"
    finally:
        os.close(folder)


def checked_name(name: str) -> str:
    """Return a name after checking that a sandbox can have it.

    Raises:
        UsageError: it is not a valid name.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a sandbox",
            hint="up to 40 letters, digits, dots, dashes and underscores, a letter or digit first",
        )
    return name


def record_of(name: str) -> Record:
    """Return the record of a sandbox that has not ended.

    Raises:
        NotFound: there is none of that name, or its host process has ended.
    """
    record = Record.read(checked_name(name))
    if record is None:
        near = difflib.get_close_matches(name, names(), n=1)
        raise NotFound(
            f"no sandbox is named {name!r}; one that was idle for too long has ended",
            hint=f"did you mean {near[0]!r}?" if near else f"codenav sandbox start --name {name}",
        )
    if record.owner.ended():
        raise NotFound(
            f"the sandbox {name!r} is gone: its host process has ended", hint=f"codenav sandbox start --name {name}"
        )
    return record


def names() -> Sequence[str]:
    """Return the names of all sandboxes with a folder, sorted."""
    try:
        return sorted(name for name in os.listdir(sandboxes_dir()) if _NAME.fullmatch(name))
    except OSError:
        return []


def records() -> Sequence[Record]:
    """Return the records of all sandboxes, the oldest first, including those whose host process has ended."""
    found = [record for record in map(Record.read, names()) if record is not None]
    return sorted(found, key=lambda record: record.created)


def claim(name: str, *, created: str, idle_seconds: float) -> Record:
    """Claim a name, or the first free one of `box1`, `box2` and so on, for this process.

    Raises:
        UsageError: the name is taken.
        StorageFull: nothing can be written there.
    """
    with locked(sandboxes_dir(), _LOCK, wait=True, making=_writing):
        if not name:
            taken = names()
            name = next(chosen for chosen in (f"box{n}" for n in range(1, len(taken) + 2)) if chosen not in taken)
        older = Record.read(checked_name(name))
        if older is not None and not older.owner.ended():
            raise UsageError(
                f"a sandbox named {name!r} is there already", hint=f"codenav sandbox stop {name}, or another --name"
            )
        with _writing():
            remove(name)
            folder_of(name).mkdir(mode=0o700)
            record = Record(name, Owner.this_process(), created, idle_seconds=idle_seconds)
            record.write()
    return record


def remove(name: str) -> bool:
    """Remove what is left of a sandbox. True if it is gone."""
    shutil.rmtree(folder_of(name), ignore_errors=True)
    return not os.path.lexists(folder_of(name))


def leftovers() -> list[Leftover]:
    """Return the folders of named sandboxes whose host process has ended."""
    found = []
    for name in names():
        record = Record.read(name)
        if record is not None and record.owner.ended():
            found.append(Leftover("named sandbox", name, record.owner, functools.partial(remove, name)))
    return found


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageFull(f"cannot write in {sandboxes_dir()}: {error.strerror}", cause=error) from error


def to_dict(record: Record, **more: Any) -> dict[str, Any]:
    """Convert a record to the JSON of `codenav sandbox ps --json`."""
    return {
        "name": record.name,
        **{name: getattr(record.info, name, "") for name in ("backend", "python_version", "network", "image")},
        "work_dir": record.work_dir,
        "created": record.created,
        "idle_limit": record.idle_seconds,
        "pid": record.owner.pid,
        **more,
    }
