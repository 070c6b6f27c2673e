"""The servers of local models: started by the first run that needs one, shared by later ones, found by their folders.

CODENAV_HOME/models/serving-UID/KEY/    one server, see `codenav.agents.models.local.server`; nobody else may read it
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import math
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from codenav.agents.models.local import memory
from codenav.agents.models.local.catalogue import models_dir
from codenav.agents.models.local.gguf import Header, read_header
from codenav.agents.models.local.server import ALIVE, LOG, STATE, UNUSED, USED, answer_of
from codenav.core import errors
from codenav.core.cancelling import current_scope
from codenav.core.errors import MissingExtra, ModelFailed, ModelUnreachable, StorageFull, Unavailable, UsageError
from codenav.core.system.process_identity import Owner

CONTEXT = 16_384
"""Tokens of prompt and answer together, where the model was trained for as many: 0.5 GB of memory with 1.5B weights."""
ENDING_SECONDS = 5.0
"""The longest time in which a process gives back the memory of a model."""
LOADING_SECONDS = 600.0
"""The longest time to load a model."""
BYTES_A_SECOND = 250e6
"""Bytes of weights that are loaded in a second, measured on two cores with 1.1 GB; for the line that says how long."""
_SERVE = "from codenav.agents.models.local.server import main; main()"
_TICK = 0.05
_KEPT = ("PATH", "HOME", "USER", "LANG", "TMPDIR", "TZ", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "PYTHONPATH")
"""Environment variables of a server: no secrets of the shell."""


@dataclass(frozen=True)
class Served:
    """A file of weights and how it is served."""

    name: str
    path: Path
    header: Header
    needs: int
    """Bytes of memory to load it."""

    @classmethod
    def of(cls, name: str, path: Path, *, needs: int = 0) -> Served:
        """A file, checked as far as its header goes; without `needs` that is estimated.

        Raises:
            MissingExtra: the extra `local` is not installed.
            NotFound, UsageError: there is no such file, it is no GGUF file, or no model that answers.
        """
        if find_spec("xllamacpp") is None:
            raise MissingExtra("xllamacpp, which serves local models,", "local")
        path = path.absolute()
        header = read_header(path)
        if not header.chat:
            raise UsageError(
                f"{path} has no chat template: it continues texts and does not answer",
                hint="take the instruct or chat variant of the model",
            )
        estimate = memory.needed(path.stat().st_size, header.cache, min(CONTEXT, header.context or CONTEXT))
        return cls(name, path, header, needs or estimate)

    @property
    def context(self) -> int:
        """Tokens of context that it is served with."""
        return min(CONTEXT, self.header.context or CONTEXT)

    @property
    def folder(self) -> Path:
        """The folder of its server; another file at the same path gets another one, as another machine does."""
        about = self.path.stat()
        identity = (os.uname().nodename, os.path.realpath(self.path), about.st_size, about.st_mtime_ns, self.context)
        return _servers() / hashlib.sha256(repr(identity).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Server:
    """A server that answers."""

    name: str
    path: str
    url: str
    key: str
    owner: Owner
    context: int
    keep_alive: float
    folder: Path

    @property
    def idle_seconds(self) -> float:
        """Seconds since the last use."""
        try:
            return max(0.0, time.time() - (self.folder / USED).stat().st_mtime)
        except OSError:
            return 0.0

    def use(self) -> None:
        """Note that it is used now."""
        with contextlib.suppress(OSError):
            os.utime(self.folder / USED)

    def lives(self) -> bool:
        """True if it answers, or does not end within seconds: a connection breaks before its process has ended."""
        deadline = time.monotonic() + ENDING_SECONDS
        while _alive(self.folder):
            if _answering(self.folder) == self or time.monotonic() > deadline:
                return True
            time.sleep(_TICK)
        return False


def short_of_memory(served: Served) -> Unavailable | None:
    """The error of a machine whose memory does not hold a model now; None if it does, or nobody can tell."""
    free = memory.free()
    if free is None or free >= served.needs:
        return None
    return Unavailable(
        f"{served.name} needs {_gb(served.needs)} of memory, and {_gb(free)} are free here",
        hint="close other programs, or name another model: codenav models list",
    )


def start(served: Served, keep_alive: float) -> None:
    """Start the server of a model unless it runs or loads; it does not answer yet when this returns.

    Raises:
        Unavailable: too little memory is free.
        StorageFull: its folder cannot be made.
    """
    folder = served.folder
    if _alive(folder):
        return
    if trouble := short_of_memory(served):
        raise trouble
    _prepare(folder)
    root = str(Path(errors.__file__).parents[2])
    kept = {name: os.environ[name] for name in os.environ if name in _KEPT or name.startswith("LC_")}
    # Threads that wait for each other spin for a moment, then sleep: on two processors 10 to 11 tokens a second are
    # written in place of 9 to 17 without other work, and 1.1 to 2 in place of 0.4 to 0.8 at a load of 9.
    kept["GOMP_SPINCOUNT"] = "10000"
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, (root, kept.get("PYTHONPATH"))))
    arguments = [folder, served.path, served.name, served.context, keep_alive]
    with (folder / LOG).open("wb") as log:
        # It forks once it has the lock, so that nobody has to wait for its end.
        subprocess.run(
            [sys.executable, "-P", "-c", _SERVE, *map(str, arguments)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=kept, check=False,
        )  # fmt: skip


def ready(
    served: Served, keep_alive: float, *, tell: Callable[[str], None], timeout: float = LOADING_SECONDS
) -> Server:
    """The server of a model, once it answers; it is started where none runs.

    `tell` gets a line if there is something to wait for.

    Raises:
        ModelUnreachable: it does not answer in `timeout` seconds.
        ModelFailed: it ended while it loaded.
        Unavailable, StorageFull: for the reasons of `start`.
    """
    deadline = time.monotonic() + min(timeout, LOADING_SECONDS)
    folder = served.folder
    started = told = False
    while True:
        alive = _alive(folder)
        server = _answering(folder) if alive else None
        if server is not None:
            server.use()
            return server
        if not alive:
            if started:
                raise ModelFailed(f"the server of {served.name} ended while it loaded: {why_ended(served)}")
            started = True
            start(served, keep_alive)
        if not told:
            told = True
            tell(f"loading the model {served.name}, about {math.ceil(served.path.stat().st_size / BYTES_A_SECOND)} s")
        if time.monotonic() > deadline:
            raise ModelUnreachable(
                f"the server of {served.name} does not answer within {timeout:.3g} s", hint="codenav models stop"
            )
        current_scope().sleep(_TICK)


def running() -> Sequence[Server]:
    """The servers of this user that answer."""
    found = [_answering(folder) for folder in _folders() if _alive(folder)]
    return [server for server in found if server is not None]


def stop(path: Path | None = None) -> Sequence[str]:
    """End the servers of this user, or the one of a file, also while they load; return the names of their models."""
    stopped = []
    for folder in _folders():
        # One that has not told its state yet is loading: nobody knows its process, and its file is not the one asked.
        deadline = time.monotonic() + LOADING_SECONDS
        while _alive(folder) and (told := _told(folder)) is None and time.monotonic() < deadline:
            time.sleep(_TICK)
        if not _alive(folder) or told is None or (path is not None and Path(told.path) != path.absolute()):
            continue
        if told.owner.lives():
            os.kill(told.owner.pid, signal.SIGTERM)
            while _alive(folder) and time.monotonic() < deadline:
                time.sleep(_TICK)
            stopped.append(told.name)
    return stopped


def why_ended(served: Served) -> str:
    """The first error of llama.cpp in the log of the server of a model, else the last one of Python."""
    try:
        text = (served.folder / LOG).read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    if text.endswith(f"\n{UNUSED}\n"):
        return UNUSED
    said = re.search(r"^[\d.]+ E .*?: (.*)", text, re.MULTILINE) or re.search(
        r"^(\w*(?:Error|Exception)\b.*)\s*\Z", text, re.MULTILINE
    )
    if said:
        return said[1][:300]
    return "it was killed, perhaps for its memory" if text else "it said nothing"


def _servers() -> Path:
    return models_dir() / f"serving-{os.geteuid()}"


def _folders() -> Iterator[Path]:
    try:
        yield from sorted(path for path in _servers().iterdir() if path.is_dir())
    except OSError:
        return


def _prepare(folder: Path) -> None:
    """Make the folder of a server, which nobody else may read or write."""
    try:
        _servers().parent.mkdir(parents=True, exist_ok=True)
        for made in (_servers(), folder):
            made.mkdir(mode=0o700, exist_ok=True)
            about = os.lstat(made)
            if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
                raise PermissionError(errno.EPERM, "it belongs to somebody else")
            made.chmod(0o700)
    except OSError as error:
        raise StorageFull(f"cannot write in {_servers()}: {error.strerror}", cause=error) from error


def _alive(folder: Path) -> bool:
    """True if a process has the lock of a folder: also while it loads, and after a `kill -9` no longer."""
    try:
        handle = os.open(folder / ALIVE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # Shared, so that two who look at the same time do not see each other.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(handle)


def _told(folder: Path) -> Server | None:
    """The server that a folder tells of, whether it answers or not."""
    try:
        told = json.loads((folder / STATE).read_text(encoding="utf-8"))
        owner = Owner.from_dict(told.pop("owner"))
        return None if owner is None else Server(**told, owner=owner, folder=folder)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _answering(folder: Path) -> Server | None:
    server = _told(folder)
    if server is None:
        return None
    try:
        answer_of(f"{server.url}/models", server.key)
        return server
    except (OSError, ValueError):
        return None


def _gb(number: int) -> str:
    return f"{number / 1e9:.1f} GB"
