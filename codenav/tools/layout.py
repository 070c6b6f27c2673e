"""The cache of tool sources: each state of a specification is laid out once, under CODENAV_HOME.

CACHE/tools/KEY/HASH/         a state (`state_files`); never changed once written
CACHE/tools/KEY/state.json    the current state, and the time when file, server or program was asked
CACHE/tools/KEY/.lock         held while the specification is read
CACHE/tools/KEY/.reading-*/   a state that is being written
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from codenav import __version__
from codenav.core.config import home
from codenav.core.errors import NotFound, StorageFull, Unavailable
from codenav.core.system.atomic_files import write_whole
from codenav.core.system.locks import held
from codenav.tools.places import FORMS, Place
from codenav.tools.reading import read_spec
from codenav.tools.references import MOST_DOCUMENTS
from codenav.tools.state_files import STUBS, Summary, digest_of, read_summary, write_state

LAYOUT = "4"
"""Version of what is written from a specification: a state of another one is written anew."""

NOTES = 3
"""Notes on what was left out or repaired that are told; the others are counted."""

_UNUSED_SECONDS = 86_400.0
"""Seconds for which a state that is no longer current is kept: a sandbox may still run on it."""

_STATE = re.compile(r"[0-9a-f]{32}")
_REFERENCE = re.compile(r"""["']?\$ref["']?\s*:\s*(?:"([^"#\n]+)|'([^'#\n]+)|([^"'#\s,}\]]+))""")

Notify = Callable[[str], None]


@dataclass(frozen=True)
class State:
    """A state of a tool source on this disk."""

    place: Place
    path: Path
    """The folder of its files, see `state_files`."""
    summary: Summary

    @property
    def stubs(self) -> Path:
        """The path to import `tools.SPEC` from."""
        return self.path / STUBS


@dataclass(frozen=True)
class _Known:
    """The last known state of a source."""

    hash: str
    asked: float
    """When it was read, by `time.time()`."""
    fetched: str
    """The day when it changed last, for people."""
    fingerprint: str = ""
    """Hash of the files that it was read from; empty if a server or a program was asked."""
    allow_private: bool = False
    """References to private addresses were allowed when it was indexed."""


def laid_out(
    place: Place,
    *,
    max_age: float | None = 0.0,
    notice: Notify | None = None,
    allow_private: bool = False,
) -> State:
    """The current state of a tool source, read and written if it is new.

    `max_age`: seconds for which an earlier answer of a server or program is good enough; None asks nobody. A file is
    read again whenever its content changed. If a server is down or a program does not start, the state before is used,
    and `notice` says so. `allow_private` holds for a source until its index is removed.

    Raises:
        NotFound: no such file, or `max_age` is None and it was never read.
        UsageError: it is no specification, or one that cannot be read.
        Unavailable: a server or a program does not answer, and no state is there.
        MissingExtra: the extra `tools` is not installed.
        StorageFull: no room for it.
    """
    cache = _Cache(place)
    tell = notice or (lambda text: None)
    begun = time.time()
    known = cache.known()
    if max_age is None:
        if known is None:
            raise NotFound(f"{place.name} has not been read", hint=f"codenav index {shlex.quote(place.name)}")
        return cache.use(known)
    private = allow_private or bool(known and known.allow_private)
    if known and cache.good_enough(known, begun - max_age, private):
        return cache.use(known)
    waiting = f"another process reads {place.name}: waiting for it"
    with held(cache.folder, ".lock", waiting=lambda: tell(waiting), making=lambda: _making(cache.folder)):
        known = cache.known()
        if known and cache.good_enough(known, begun, private):
            return cache.use(known)
        try:
            known, notes = cache.read(private)
        except Unavailable as error:
            cache.tidy()
            if isinstance(error, StorageFull) or not known or place.file:
                raise
            tell(f"{error}: using the state of {known.fetched}")
            with suppress(OSError):
                cache.note(replace(known, asked=time.time()))
            return cache.use(known)
        except BaseException:
            cache.tidy()
            raise
        for note in notes[:NOTES]:
            tell(note)
        if len(notes) > NOTES:
            tell(f"and {len(notes) - NOTES} more like these: codenav tools show --on {shlex.quote(place.name)}")
        return cache.use(known)


def forget(place: Place) -> None:
    """Remove all states of a source."""
    cache = _Cache(place)
    if cache.folder.is_dir():
        with held(cache.folder, ".lock", making=lambda: _making(cache.folder)):
            shutil.rmtree(cache.folder, ignore_errors=True)


class _Cache:
    """The cache of one source."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.folder = home("cache") / "tools" / place.key()

    def known(self) -> _Known | None:
        """The last known state; None if its files are not there."""
        try:
            data = json.loads((self.folder / "state.json").read_text(encoding="utf-8"))
            known = _Known(**data["state"])
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        there = _STATE.fullmatch(str(known.hash)) and (self.folder / known.hash / "source.json").is_file()
        return known if there else None

    def good_enough(self, known: _Known, since: float, private: bool) -> bool:
        """True if nobody need be asked."""
        if private != known.allow_private:
            return False
        if self.place.file and known.fingerprint:
            return known.fingerprint == fingerprint(self.place)
        return since <= known.asked <= time.time()

    def use(self, known: _Known) -> State:
        """The files of a known state, marked as used now."""
        path = self.folder / known.hash
        with suppress(OSError):
            os.utime(path)
        try:
            return State(self.place, path, read_summary(path))
        except (OSError, ValueError, TypeError, KeyError) as error:
            shutil.rmtree(path, ignore_errors=True)
            again = f"codenav index {shlex.quote(self.place.name)}"
            raise NotFound(f"the files kept of {self.place.name} are damaged", hint=again) from error

    def read(self, private: bool) -> tuple[_Known, tuple[str, ...]]:
        """Read the specification, and write its state if it is not there; return it with the notes of a new one."""
        for left in self.folder.glob(".reading-*"):
            shutil.rmtree(left, ignore_errors=True)
        _check_file(self.place)
        print_of_files = fingerprint(self.place)
        spec = read_spec(self.place.name, allow_private=private)
        digest = digest_of(spec, layout=LAYOUT)
        target, before = self.folder / digest, self.known()
        new = not (target / "source.json").is_file()
        with _making(self.folder):
            if new:
                shutil.rmtree(target, ignore_errors=True)
                with tempfile.TemporaryDirectory(prefix=".reading-", dir=self.folder) as scratch:
                    # The scratch folder itself is private; the state is read by sandboxes of other users, too.
                    inner = Path(scratch) / "state"
                    inner.mkdir()
                    write_state(spec, inner)
                    inner.rename(target)
            day = before.fetched if before and before.hash == digest else time.strftime("%Y-%m-%d")
            known = _Known(digest, time.time(), day, print_of_files, private)
            self.note(known)
        return known, tuple(spec.notes) if new else ()

    def note(self, known: _Known) -> None:
        """Save the current state, and remove states that nothing has used for a day."""
        text = json.dumps({"source": self.place.name, "state": asdict(known)})
        write_whole(self.folder / "state.json", text)
        older = time.time() - _UNUSED_SECONDS
        for path in self.folder.iterdir():
            with suppress(OSError):
                if _STATE.fullmatch(path.name) and path.name != known.hash and path.stat().st_mtime < older:
                    shutil.rmtree(path, ignore_errors=True)

    def tidy(self) -> None:
        """Remove the folder of a source from which nothing was read."""
        if not self.known():
            shutil.rmtree(self.folder, ignore_errors=True)


def fingerprint(place: Place) -> str:
    """A hash of the files that a specification is read from; empty if a server or a program is asked for parts of it.

    The files that it refers to are found by the text of their references, which is quicker than reading it.
    """
    if place.file is None:
        return ""
    seen: dict[str, bytes] = {}
    pending = [str(place.file)]
    while pending:
        path = pending.pop()
        if path in seen or len(seen) >= MOST_DOCUMENTS:
            continue
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            seen[path] = str(error.errno).encode()
            continue
        seen[path] = hashlib.blake2b(content, digest_size=16).digest()
        for match in _REFERENCE.finditer(content.decode("utf-8", "replace")) if b"$ref" in content else ():
            target = next(filter(None, match.groups())).strip()
            if re.match(r"https?://", target, re.IGNORECASE):
                return ""
            pending.append(os.path.normpath(os.path.join(os.path.dirname(path), unquote(target))))
    digest = hashlib.blake2b(f"{__version__}\0{LAYOUT}".encode(), digest_size=16)
    for path, content in sorted(seen.items()):
        digest.update(os.fsencode(path) + b"\0" + content)
    return digest.hexdigest()


def _check_file(place: Place) -> None:
    """Raise NotFound for a file that does not exist, with a name like it."""
    path = place.file
    if path is None or path.exists():
        return
    with suppress(OSError):
        near = difflib.get_close_matches(path.name, [entry.name for entry in path.parent.iterdir()], n=1, cutoff=0.6)
        if near:
            raise NotFound(f"there is no file {path}", hint=f"did you mean {place.kind}:{path.with_name(near[0])}?")
    raise NotFound(f"there is no file {path}", hint=FORMS[place.kind])


@contextlib.contextmanager
def _making(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageFull(f"cannot write to {folder}: {error.strerror}", cause=error) from error
