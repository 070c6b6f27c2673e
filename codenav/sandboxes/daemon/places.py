"""Folders of named sandboxes, each with a record of the sandbox, a log of its steps and a socket.

CODENAV_HOME/sandboxes/lab/sandbox.json     the sandbox and its owner
CODENAV_HOME/sandboxes/lab/steps.jsonl      the steps that ran in it
CODENAV_HOME/sandboxes/lab/work/            the files of its work folder, if no other was named
CODENAV_HOME/sandboxes/lab/socket           or in the runtime directory, if that path is too long
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from codenav.core.config import home
from codenav.core.errors import NotFound, StorageFull, UsageError
from codenav.core.system.atomic_files import write_whole
from codenav.core.system.locks import locked
from codenav.core.system.process_identity import Owner
from codenav.sandboxes.sweeper import Leftover

LONGEST_SOCKET = 107
"""Longest path of a socket in bytes (unix(7): 108 with the null byte)."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_RECORD, _LOCK = "sandbox.json", ".lock"


@dataclass(frozen=True)
class Record:
    """The description of a named sandbox, written before it starts and again when it runs."""

    name: str
    owner: Owner
    """The host process of the sandbox."""
    socket: str
    created: str
    """Time of creation in UTC, ISO 8601."""
    running: bool = False
    """True once it has started."""
    backend: str = ""
    isolated: bool = True
    python_version: str = ""
    network: str = ""
    image: str = ""
    notice: str = ""
    """See `SandboxInfo.notice`."""
    work_inside: str = ""
    """The work folder as the code sees it."""
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
            # Unknown keys come from another version of codenav, whose sandbox may still run.
            known = {key: value for key, value in data.items() if key in cls.__dataclass_fields__}
            return None if owner is None else cls(**{**known, "owner": owner})
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self) -> None:
        """Write the record atomically."""
        write_whole(folder_of(self.name) / _RECORD, json.dumps(asdict(self)))


def sandboxes_dir() -> Path:
    """Return the folder that contains those of the named sandboxes."""
    return home("data") / "sandboxes"


def folder_of(name: str) -> Path:
    """Return the folder of a sandbox. It need not exist."""
    return sandboxes_dir() / name


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


def listed() -> Sequence[Record]:
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
            folder = folder_of(name)
            folder.mkdir(mode=0o700)
            record = Record(name, Owner.this_process(), str(_socket_of(folder)), created, idle_seconds=idle_seconds)
            record.write()
    return record


def remove(name: str) -> bool:
    """Remove what is left of a sandbox. True if it is gone."""
    record = Record.read(name)
    for path in {record.socket if record else "", str(_socket_of(folder_of(name), make=False))}:
        with contextlib.suppress(OSError):
            if path and stat.S_ISSOCK(os.lstat(path).st_mode):
                os.unlink(path)
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


def _socket_of(folder: Path, *, make: bool = True) -> Path:
    usual = folder / "socket"
    if _fits(usual):
        return usual
    short = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:16]
    return _runtime_dir(make=make) / f"{short}.socket"


def _runtime_dir(*, make: bool) -> Path:
    """Return a folder on this machine that belongs to this user, short enough for a socket."""
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    own = f"codenav-{os.geteuid()}"
    candidates = [*([Path(given, "codenav")] if given else []), Path(tempfile.gettempdir(), own), Path("/tmp", own)]
    for folder in candidates:
        with contextlib.suppress(OSError):
            if make:
                with contextlib.suppress(FileExistsError):
                    folder.mkdir(mode=0o700)
            found = os.lstat(folder)
            ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022
            if ours and _fits(folder / f"{'0' * 16}.socket"):
                return folder
    return Path(tempfile.mkdtemp(prefix="codenav-", dir="/tmp")) if make else candidates[-1]


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= LONGEST_SOCKET


def to_dict(record: Record, **more: Any) -> dict[str, Any]:
    """Convert a record to the JSON of `codenav sandbox ps --json`."""
    return {
        "name": record.name,
        "backend": record.backend,
        "python_version": record.python_version,
        "network": record.network,
        "image": record.image,
        "work_dir": record.work_dir,
        "created": record.created,
        "idle_limit": record.idle_seconds,
        "pid": record.owner.pid,
        **more,
    }
