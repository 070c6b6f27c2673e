"""The store of a user's embedded indexes: one folder with a folder for each."""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from codenav.core.blocks import StoredIndex
from codenav.core.errors import IndexUnavailable, NotFound, StorageFull
from codenav.retrieval.embedded import generations
from codenav.retrieval.embedded.index import EmbeddedIndex

_GOING = ".removed-"
"""Prefix of the name of a folder that is being removed, which hides it at once."""


class EmbeddedStore:
    """The embedded indexes in one folder. Implements `protocols.Store`."""

    name = "embedded"

    def __init__(self, folder: Path, *, vectors: bool = True) -> None:
        self.folder = folder
        self._vectors = vectors

    def open(self, key: str, *, source: str) -> EmbeddedIndex:
        """The index with that key, which need not exist yet."""
        return EmbeddedIndex(self.folder / key, source=source, near=self._vectors)

    def build_lock(self, key: str, *, wait: bool) -> AbstractContextManager[bool]:
        """Lock an index for a build. See `generations.build_lock`."""
        return generations.build_lock(self.folder / key, wait=wait)

    def list(self) -> Sequence[StoredIndex]:
        """Every index in the folder, by source; anything else there is skipped.

        Raises:
            IndexUnavailable: the folder cannot be read.
        """
        try:
            places = sorted(item for item in self.folder.iterdir() if item.is_dir() and not item.name.startswith("."))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise IndexUnavailable(f"{self.folder} cannot be read: {error.strerror}") from error
        return sorted(filter(None, map(_stored, places)), key=lambda item: (item.source, item.key))

    def remove(self, key: str) -> None:
        """Remove an index. A reader that has it open can still use it.

        Raises:
            NotFound: there is no index with that key.
            IndexUnavailable: another process is building it.
            StorageFull: no permission to remove it.
        """
        place = self.folder / key
        if not key or key.startswith(".") or Path(key).name != key or not place.is_dir():
            known = [item.name for item in self.folder.iterdir() if item.is_dir()] if self.folder.is_dir() else []
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]}?" if near else "codenav sources list"
            raise NotFound(f"no index {key!r}", hint=hint)
        gone = self.folder / f"{_GOING}{os.getpid()}-{key}"
        with generations.build_lock(place, wait=False) as free:
            if not free:
                raise IndexUnavailable(
                    f"the index {key} is being built by another process", hint="try again when it is done"
                )
            try:
                shutil.rmtree(gone, ignore_errors=True)
                place.rename(gone)
            except OSError as error:
                raise StorageFull(f"the index {key} cannot be removed: {error.strerror}", cause=error) from error
        for left in self.folder.glob(f"{_GOING}*"):
            shutil.rmtree(left, ignore_errors=True)

    def close(self) -> None:
        """Do nothing: this store holds no resources."""


def _stored(place: Path) -> StoredIndex | None:
    size = generations.size_of(place)
    try:
        state = generations.current(place)
    except generations.Unusable as error:
        notice = f"the next use builds it anew: {error}"
        return StoredIndex(place.name, "embedded", key=place.name, size_bytes=size, notice=notice)
    except IndexUnavailable as error:
        return StoredIndex(place.name, "embedded", key=place.name, size_bytes=size, notice=str(error))
    if state is None:
        return None
    return StoredIndex(**vars(state[1].stats()), key=place.name, size_bytes=size)
