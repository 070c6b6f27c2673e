"""The cache of git repositories: each commit is fetched once with `git`, and kept under CODENAV_HOME by URL and commit.

CACHE/git/KEY/COMMIT/NAME/    the files of a commit; never changed once written
CACHE/git/KEY/state.json      the last known commit of each revision, and the time when the server was asked
CACHE/git/KEY/.lock           held during a fetch
CACHE/git/KEY/.fetch-*/       a commit that is being fetched
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from codenav.core.config import home
from codenav.core.errors import NotFound, StorageFull, Unavailable, UsageError
from codenav.core.system.atomic_files import write_whole
from codenav.core.system.locks import held
from codenav.indexers.repository import COMMIT, Git, GitFailed, Repository

LOOK_AGAIN = 600.0
"""Seconds after which a search or a run asks the server again for a branch's commit; `codenav index` always asks."""

_UNUSED_SECONDS = 86_400.0
"""Seconds for which a commit that no revision points to any more is kept: a sandbox may still run on it."""

Notify = Callable[[str], None]


@dataclass(frozen=True)
class Checkout:
    """A commit on this disk."""

    path: Path
    commit: str
    """The full hash."""


@dataclass(frozen=True)
class _Known:
    """The last known state of a revision."""

    commit: str
    asked: float
    """When the server was asked, by `time.time()`."""
    fetched: str
    """The day of the fetch, for people."""


def checkout(repository: Repository, *, max_age: float | None = 0.0, notice: Notify | None = None) -> Checkout:
    """The files of a revision, fetched if they are not in the cache.

    `max_age`: seconds for which an earlier answer of the server is good enough; None never asks. A full commit hash
    is fetched only once. If the server does not answer, the commit fetched last is used, and `notice` says so.

    Raises:
        NotFound: no such revision, or `max_age` is None and it was never fetched.
        Unavailable: the server does not answer or refuses the request, or git is not installed.
        UsageError: the repository is empty, or larger than `repository.MAX_BYTES`.
        StorageFull: no room for it.
    """
    cache = _Cache(repository)
    begun = time.time()
    known = cache.known()
    if known and (max_age is None or cache.is_fresh(known, begun - max_age)):
        return cache.use(known)
    if max_age is None:
        raise NotFound(f"{repository.spec} has not been fetched", hint=f"codenav index {repository.spec}")
    tell = notice or (lambda text: None)
    with cache.locked(lambda: tell(f"another process fetches {repository.shown}: waiting for it")):
        known = cache.known()
        if known and cache.is_fresh(known, begun):
            return cache.use(known)
        try:
            known = cache.fetch()
        except UsageError:
            cache.tidy()
            raise
        except Unavailable as error:
            cache.tidy()
            if isinstance(error, StorageFull) or not known:
                raise
            tell(f"{error}: using commit {known.commit[:12]}, fetched {known.fetched}")
            with suppress(OSError):
                cache.note(_Known(known.commit, time.time(), known.fetched))
        return cache.use(known)


def forget(repository: Repository) -> None:
    """Remove the files fetched for a revision; those of the repository's other revisions stay."""
    cache = _Cache(repository)
    if cache.known():
        with cache.locked():
            cache.forget()


class _Cache:
    """The cache of one repository."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.folder = home("cache") / "git" / repository.key()

    def locked(self, waiting: Callable[[], object] = lambda: None) -> AbstractContextManager[None]:
        """Lock the folder, which is created if missing; `waiting` is called if another process holds it."""
        return held(self.folder, ".lock", waiting=waiting, making=lambda: _writing(self.folder))

    def known(self) -> _Known | None:
        """The last known state of the revision; None if its files are not there."""
        known = self._states().get(self.repository.revision)
        return known if known and self._tree(known.commit).is_dir() else None

    def is_fresh(self, known: _Known, since: float) -> bool:
        """True if the server need not be asked."""
        return bool(COMMIT.fullmatch(self.repository.revision)) or since <= known.asked <= time.time()

    def use(self, known: _Known) -> Checkout:
        """The files of a known state, marked as used now."""
        tree = self._tree(known.commit)
        with suppress(OSError):
            os.utime(tree.parent)
        return Checkout(tree, known.commit)

    def fetch(self) -> _Known:
        """Ask the server for the revision's commit, and fetch it if it is not there."""
        for left in self.folder.glob(".fetch-*"):
            shutil.rmtree(left, ignore_errors=True)
        with _writing(self.folder), tempfile.TemporaryDirectory(prefix=".fetch-", dir=self.folder) as scratch:
            git = Git(self.repository, Path(scratch))
            ref, commit = self._found(git)
            if not self._tree(commit).is_dir():
                commit = git.fetch(ref)
                tree = git.unpack(commit)
                self._tree(commit).parent.mkdir(exist_ok=True)
                if not self._tree(commit).is_dir():
                    tree.rename(self._tree(commit))
            known = _Known(commit, time.time(), time.strftime("%Y-%m-%d"))
            self.note(known)
        return known

    def note(self, known: _Known) -> None:
        """Save the state of the revision, and remove commits that nothing has used for a day."""
        states = {**self._states(), self.repository.revision: known}
        self._save(states)
        self._sweep({state.commit for state in states.values()}, older=time.time() - _UNUSED_SECONDS)

    def forget(self) -> None:
        """Remove the revision, and its commit if no other revision points to it."""
        states = {name: state for name, state in self._states().items() if name != self.repository.revision}
        if not states:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        self._save(states)
        self._sweep({state.commit for state in states.values()}, older=time.time() + 1)

    def tidy(self) -> None:
        """Remove the folder of a repository from which nothing was fetched."""
        if not self._states():
            shutil.rmtree(self.folder, ignore_errors=True)

    def _found(self, git: Git) -> tuple[str, str]:
        """The reference to fetch and its commit; a branch goes before a tag, as in `git clone`."""
        revision = self.repository.revision
        if COMMIT.fullmatch(revision):
            return revision, revision
        refs = git.refs("HEAD") if not revision else git.refs(revision, f"{revision}^{{}}")
        names = [f"refs/heads/{revision}", f"refs/tags/{revision}", revision] if revision else ["HEAD"]
        for name in names:
            if name in refs:
                return name, refs.get(f"{name}^{{}}", refs[name])
        if not revision:
            raise UsageError(f"{self.repository.shown} has no commit", hint="push one, or name a branch with @REV")
        raise NotFound(f"{self.repository.shown} has no {revision!r}", hint=self._hint(git))

    def _hint(self, git: Git) -> str:
        revision = self.repository.revision
        if all(digit in "0123456789abcdef" for digit in revision) and len(revision) >= 7:
            return "a commit needs its full hash (40 digits): git rev-parse " + revision
        short = {name.removeprefix("refs/heads/").removeprefix("refs/tags/") for name in git.refs()}
        names = sorted(name for name in short if not name.endswith("^{}") and not name.startswith("refs/"))
        close = difflib.get_close_matches(revision, names, n=2, cutoff=0.5)
        if close:
            return "did you mean " + " or ".join(f"@{name}" for name in close) + "?"
        return f"git ls-remote {self.repository.shown}"

    def _tree(self, commit: str) -> Path:
        # The folder has the repository's name: a repository that is a package itself is imported by that name.
        return self.folder / commit / self.repository.name

    def _states(self) -> Mapping[str, _Known]:
        try:
            data = json.loads((self.folder / "state.json").read_text(encoding="utf-8"))
            states = {name: _Known(**state) for name, state in data["revisions"].items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return {}
        return {name: state for name, state in states.items() if COMMIT.fullmatch(str(state.commit))}

    def _save(self, states: Mapping[str, _Known]) -> None:
        revisions = {name: asdict(state) for name, state in states.items()}
        text = json.dumps({"url": self.repository.shown, "revisions": revisions})
        write_whole(self.folder / "state.json", text)

    def _sweep(self, kept: set[str], *, older: float) -> None:
        for place in self.folder.iterdir():
            with suppress(OSError):
                if COMMIT.fullmatch(place.name) and place.name not in kept and place.stat().st_mtime < older:
                    shutil.rmtree(place, ignore_errors=True)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Raise StorageFull if the cache cannot be written."""
    try:
        yield
    except OSError as error:
        raise StorageFull(f"cannot write to {folder}: {error.strerror}", cause=error) from error
    except GitFailed as error:
        if shutil.disk_usage(folder).free < 1 << 20:
            raise StorageFull(f"no space left for {folder}") from error
        raise
