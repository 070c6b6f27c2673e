"""The contracts of indexes and of the stores that keep them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from codenav.core.blocks import (
    BlockKind,
    Change,
    CodeBlock,
    FileState,
    Frequencies,
    IndexStats,
    Packed,
    SearchResult,
    StoredIndex,
)


class Index(Protocol):
    """Searchable blocks of one or several sources."""

    def search(self, query: str, *, kinds: Collection[BlockKind] | None = None, limit: int = 100) -> SearchResult:
        """Return the blocks that match a query, best first. Never refreshes the index.

        A malformed query is repaired, never refused: see `SearchResult.repairs`.

        Raises:
            QueryTooLarge: the query has over 64 KB.
            IndexUnavailable: the store cannot be read.
        """
        ...

    def get(self, id: str) -> CodeBlock | None:
        """Return the block with that id, or None."""
        ...

    def blocks(self) -> Iterator[CodeBlock]:
        """Yield every block by path and first line, with at most a few hundred blocks in memory at a time.

        Raises:
            IndexUnavailable: the store cannot be read.
        """
        ...

    def stats(self) -> IndexStats:
        """Return the statistics of the index."""
        ...

    def close(self) -> None:
        """Release files and connections. Safe to call twice."""
        ...


@runtime_checkable
class ScaledIndex(Index, Protocol):
    """An index whose scores can be put on one scale with those of others. Those of a mere `Index` stay as they are."""

    def frequencies(self, query: str) -> Frequencies | None:
        """Return the statistics by which the words of a query are scored. None if they are not known.

        Raises:
            QueryTooLarge, IndexUnavailable: as `search`.
        """
        ...

    def search(
        self,
        query: str,
        *,
        kinds: Collection[BlockKind] | None = None,
        limit: int = 100,
        frequencies: Frequencies | None = None,
    ) -> SearchResult:
        """As `Index.search`, with scores by these statistics instead of those of this index.

        They change scores and with them the order of hits, never which blocks match.
        """
        ...


class WritableIndex(Index, Protocol):
    """An index that a build can change."""

    @property
    def exists(self) -> bool:
        """True if there is a state that can be searched."""
        ...

    @property
    def notice(self) -> str:
        """A notice about this index for a user, such as that it is being rebuilt. May be empty."""
        ...

    @property
    def pack(self) -> Callable[[Sequence[CodeBlock]], Packed] | None:
        """A module-level function that prepares the blocks of one file for `apply`, for use in parsing processes.

        None if the index takes blocks as they are.
        """
        ...

    def files(self) -> Mapping[str, FileState]:
        """Return what the index remembers of each file that it contains."""
        ...

    def apply(
        self, changes: Iterable[Change], *, versions: Mapping[str, str] | None = None, started: float | None = None
    ) -> None:
        """Replace and remove blocks per file, atomically: readers see the old or the new state, never a mix.

        `changes` is consumed as a stream. If it raises, or the process dies, the old state stays.
        `started` is the time of `time.monotonic()` from which `IndexStats.seconds` counts. None means now.

        Raises:
            StorageFull: the new state could not be written. The old one stays.
        """
        ...


class Store(Protocol):
    """A store of indexes by key, in a folder or a cluster."""

    @property
    def name(self) -> str:
        """The name of the store as in `--store`: `embedded` or `elasticsearch`."""
        ...

    def open(self, key: str, *, source: str) -> WritableIndex:
        """Open the index with that key, which need not exist yet. It shows the state that is current now.

        Raises:
            IndexUnavailable: the store cannot be read, or denies access.
        """
        ...

    def build_lock(self, key: str, *, wait: bool) -> AbstractContextManager[bool]:
        """Hold the right to build an index. The context's value is True if it was acquired.

        Without `wait`, it is not acquired if another process or thread has it. It is released when its owner dies.

        Raises:
            StorageFull, IndexUnavailable: the lock cannot be made.
        """
        ...

    def list(self) -> Sequence[StoredIndex]:
        """Return every index in the store, by source. Other things in it are ignored.

        Raises:
            IndexUnavailable: the store cannot be read.
        """
        ...

    def remove(self, key: str) -> None:
        """Remove an index.

        Raises:
            NotFound: there is no index with that key.
            IndexUnavailable: another process is building it, or the store cannot be reached.
        """
        ...

    def close(self) -> None:
        """Release connections. Safe to call twice. Indexes that it opened are closed by their users."""
        ...
