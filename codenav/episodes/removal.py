"""The removal of episodes, and of the shared files that no other episode needs."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from codenav.core.errors import StorageFull, UsageError
from codenav.core.events import Status
from codenav.core.system.locks import unused
from codenav.core.system.stored import Document
from codenav.episodes.store import GOING, EpisodeStore

Before = Callable[[Sequence[str]], object]
"""Gets the ids of episodes that are about to be removed, and that nobody uses meanwhile; if it raises, they stay."""
TOGETHER = 100
"""The most episodes that are held at once, each by an open folder."""


@dataclass(frozen=True)
class Removal(Document):
    """The result of a removal, and the document of `codenav episodes remove --json`."""

    removed: Sequence[str] = ()
    """The ids of the removed episodes."""
    in_use: Sequence[str] = ()
    """The ids of episodes that stayed because they run or their session is still open."""
    freed_bytes: int = 0
    """Bytes freed on the disk."""


def remove(store: EpisodeStore, names: Sequence[str], *, before: Before = lambda ids: None) -> Removal:
    """Remove the episodes with these names, as `EpisodeStore.load` takes them: all of them or none.

    Raises:
        NotFound, UsageError: a name matches no episode or several, or one is in use; nothing is removed.
        StorageFull: there is no permission to remove one.
    """
    ids = list(dict.fromkeys(map(store.resolve, names)))
    with ExitStack() as taken:
        for id in ids:
            if not taken.enter_context(_free(store, id)):
                raise UsageError(
                    f"{id} is in use: it runs, or its session is still open", hint="remove it when it has ended"
                )
        before(ids)
        gone = [id for id in ids if _gone(store, id)]
    return Removal(gone, (), _swept(store))


def remove_old(
    store: EpisodeStore,
    *,
    older_than: timedelta | None = None,
    keep: int | None = None,
    before: Before = lambda ids: None,
) -> Removal:
    """Remove the episodes that began longer ago than `older_than`, or all but the newest `keep`. Those in use stay.

    Raises:
        StorageFull: there is no permission to remove one.
    """
    ids = store.ids()[keep or 0 :]
    if older_than is not None:
        begin = datetime.now(UTC) - older_than
        ids = [id for id in ids if _begun(id) < begin]
    gone: list[str] = []
    busy: list[str] = []
    for first in range(0, len(ids), TOGETHER):
        with ExitStack() as taken:
            free: list[str] = []
            for id in ids[first : first + TOGETHER]:
                (free if taken.enter_context(_free(store, id)) else busy).append(id)
            before(free)
            gone += [id for id in free if _gone(store, id)]
    return Removal(gone, busy, _swept(store))


def size_of(store: EpisodeStore) -> int:
    """The bytes that all episodes together take on the disk; shared files count once."""
    sizes = {(found.st_dev, found.st_ino): found.st_blocks for found in _files(store.folder, store.objects.folder)}
    return sum(sizes.values()) * 512


@contextlib.contextmanager
def _free(store: EpisodeStore, id: str) -> Iterator[bool]:
    """True if nobody uses an episode; nobody can begin to use it inside the block."""
    with unused(store.folder / id) as free:
        yield free and store.status(id) is not Status.RUNNING


def _gone(store: EpisodeStore, id: str) -> bool:
    """Rename an episode out of sight; False if another process removed it first."""
    try:
        os.rename(store.folder / id, store.folder / f"{GOING}{id}")
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StorageFull(f"{id} cannot be removed: {error.strerror}", cause=error) from error
    return True


def _swept(store: EpisodeStore) -> int:
    """Delete the folders out of sight, those of killed removals too; return the bytes that they took on the disk."""
    freed = 0
    for place in store.folder.glob(f"{GOING}*"):
        freed += sum(found.st_blocks * 512 for found in _files(place) if found.st_nlink == 1)
        shutil.rmtree(place, ignore_errors=True)
    return freed + store.objects.prune()


def _begun(id: str) -> datetime:
    try:
        return datetime.strptime(id[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)


def _files(*folders: Path) -> Iterator[os.stat_result]:
    for folder in folders:
        for directory, _, names in os.walk(folder):
            for name in names:
                with contextlib.suppress(OSError):
                    yield os.lstat(os.path.join(directory, name))
