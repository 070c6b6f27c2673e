"""Removes episodes, and with them what no other one needs."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from codenav.episodes.store import GOING, EpisodeStore
from codenav.errors import StorageFull, UsageError
from codenav.events import Status
from codenav.locks import unused


@dataclass(frozen=True)
class Removal:
    """What a removal came to."""

    removed: Sequence[str] = ()
    """Ids."""
    in_use: Sequence[str] = ()
    """Ids of those that stayed because they run, or because their session goes on."""
    freed_bytes: int = 0
    """On the disk."""

    def to_dict(self) -> dict[str, Any]:
        """The document of `codenav episodes remove --json`."""
        return {"removed": [*self.removed], "in_use": [*self.in_use], "freed_bytes": self.freed_bytes}


def remove(store: EpisodeStore, names: Sequence[str]) -> Removal:
    """Remove the episodes of these names, as `EpisodeStore.load` takes them: all of them or none.

    Raises:
        NotFound, UsageError: a name stands for none or for several, or one is in use; nothing is removed.
        StorageFull: no permission to remove one.
    """
    ids = list(dict.fromkeys(map(store.resolve, names)))
    with ExitStack() as taken:
        for id in ids:
            if not taken.enter_context(_free(store, id)):
                raise UsageError(
                    f"{id} is in use: it runs, or its session goes on", hint="remove it when that has ended"
                )
        gone = [id for id in ids if _gone(store, id)]
    return Removal(gone, (), _swept(store))


def remove_old(store: EpisodeStore, *, older_than: timedelta | None = None, keep: int | None = None) -> Removal:
    """Remove the episodes that began longer ago than `older_than`, or all but the newest `keep`. Those in use stay.

    Raises:
        StorageFull: no permission to remove one.
    """
    ids = store.ids()[keep or 0 :]
    if older_than is not None:
        begin = datetime.now(UTC) - older_than
        ids = [id for id in ids if _begun(id) < begin]
    gone, busy = [], []
    for id in ids:
        with _free(store, id) as free:
            if not free:
                busy.append(id)
            elif _gone(store, id):
                gone.append(id)
    return Removal(gone, busy, _swept(store))


def size_of(store: EpisodeStore) -> int:
    """Bytes on the disk of all episodes together; what they share counts once."""
    sizes = {(found.st_dev, found.st_ino): found.st_blocks for found in _files(store.folder, store.objects.folder)}
    return sum(sizes.values()) * 512


@contextlib.contextmanager
def _free(store: EpisodeStore, id: str) -> Iterator[bool]:
    """Whether nobody uses an episode; meanwhile nobody can begin to."""
    with unused(store.folder / id) as free:
        yield free and store.status(id) is not Status.RUNNING


def _gone(store: EpisodeStore, id: str) -> bool:
    """Put an episode out of sight; False where another process was faster."""
    try:
        os.rename(store.folder / id, store.folder / f"{GOING}{id}")
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StorageFull(f"{id} cannot be removed: {error.strerror}", cause=error) from error
    return True


def _swept(store: EpisodeStore) -> int:
    """Remove what is out of sight, also what was left when an earlier removal was killed; the bytes that it had."""
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
