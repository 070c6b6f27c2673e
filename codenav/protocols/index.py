"""The contracts of indexes and of the stores that keep them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from codenav.blocks import BlockKind, Change, CodeBlock, FileState, IndexStats, Packed, SearchResult, StoredIndex


class Index(Protocol):
    """Blocks of one or several sources, searchable."""

    def search(self, query: str, *, kinds: Collection[BlockKind] | None = None, limit: int = 100) -> SearchResult:
        """Blocks that match a query, best first. Never refreshes the index.

        A query that is not well formed is repaired, never refused: see `SearchResult.repairs`.

        Raises:
            QueryTooLarge: the query has over 64 KB.
            IndexUnavailable: the store cannot be read.
        """
        ...

    def get(self, id: str) -> CodeBlock | None:
        """The block with that id."""
        ...

    def blocks(self) -> Iterator[CodeBlock]:
        """Every block, by path and first line; a stream that holds no more than a few hundred blocks at a time.

        Raises:
            IndexUnavailable: the store cannot be read.
        """
        ...

    def stats(self) -> IndexStats:
        """What the index holds."""
        ...

    def close(self) -> None:
        """Release files and connections; safe to call twice."""
        ...


class WritableIndex(Index, Protocol):
    """An index that a build can change."""

    @property
    def exists(self) -> bool:
        """Whether a state is there to be searched."""
        ...

    @property
    def notice(self) -> str:
        """What a user should know of this index, such as that it is built anew; empty where there is nothing."""
        ...

    @property
    def pack(self) -> Callable[[Sequence[CodeBlock]], Packed] | None:
        """Makes the blocks of one file ready for `apply`: a function of a module, for the processes that parse.

        None where the index takes blocks as they are.
        """
        ...

    def files(self) -> Mapping[str, FileState]:
        """What the index remembers of each file that it holds."""
        ...

    def apply(
        self, changes: Iterable[Change], *, versions: Mapping[str, str] | None = None, started: float | None = None
    ) -> None:
        """Replace and remove blocks per file, atomically: readers see the old or the new state, never a mix.

        `changes` is consumed as a stream; if it raises, or the process dies, the old state stays.
        `started` is when the build began, by `time.monotonic()`; None: now. `IndexStats.seconds` counts from there.

        Raises:
            StorageFull: the new state could not be written; the old one stays.
        """
        ...


class Store(Protocol):
    """Keeps indexes by key: a folder of them, or a cluster."""

    @property
    def name(self) -> str:
        """`embedded` or `elasticsearch`, as in `--store`."""
        ...

    def open(self, key: str, *, source: str) -> WritableIndex:
        """The index with that key, which need not exist yet. It shows the state that was current when it was opened.

        Raises:
            IndexUnavailable: the store cannot be read, or refuses us.
        """
        ...

    def build_lock(self, key: str, *, wait: bool) -> AbstractContextManager[bool]:
        """Hold the right to build an index; the context's value is whether it was got.

        Without `wait` it is not got where another process or thread has it. It frees itself when its owner dies.

        Raises:
            StorageFull, IndexUnavailable: the lock cannot be made.
        """
        ...

    def list(self) -> Sequence[StoredIndex]:
        """Every index in the store, by source. Whatever else lies there is passed over.

        Raises:
            IndexUnavailable: the store cannot be read.
        """
        ...

    def remove(self, key: str) -> None:
        """Remove an index.

        Raises:
            NotFound: there is none of that key.
            IndexUnavailable: another process is building it, or the store cannot be reached.
        """
        ...

    def close(self) -> None:
        """Release connections; safe to call twice. Indexes that it opened are closed by their users."""
        ...
