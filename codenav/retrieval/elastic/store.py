"""The store of all indexes of codenav in one cluster."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from codenav.core.blocks import IndexStats, StoredIndex
from codenav.core.config import StoreOptions
from codenav.core.errors import IndexUnavailable, NotFound
from codenav.core.setting import check_ranges
from codenav.retrieval.elastic import schema
from codenav.retrieval.elastic.connection import BUILD_PATIENCE, Connection
from codenav.retrieval.elastic.faults import part
from codenav.retrieval.elastic.index import STORE, ElasticsearchIndex
from codenav.retrieval.elastic.indices import PREFIX, STATE, Indices, alias_of, marks, stored_bytes
from codenav.retrieval.elastic.locks import held
from codenav.retrieval.elastic.reader import IndexReplaced, Reader


class ElasticsearchStore:
    """The indexes in one cluster. Satisfies `protocols.Store`."""

    name = STORE

    def __init__(
        self, options: StoreOptions, *, patience: float = BUILD_PATIENCE, notice: Callable[[str], None] | None = None
    ) -> None:
        """Nothing is sent before the first use. `patience` and `notice`: as `Connection`.

        Raises:
            UsageError: options that cannot be right.
        """
        check_ranges(options)
        self._options = options
        self._connection = Connection(options, patience=patience, notice=notice)

    def __repr__(self) -> str:
        return f"ElasticsearchStore({self._connection.where!r})"

    def open(self, key: str, *, source: str) -> ElasticsearchIndex:
        """The index with that key, which need not exist yet.

        Raises:
            IndexUnavailable: the cluster does not answer or refuses us, or something else has that name.
        """
        self._connection.check()
        indices = Indices(self._connection, self._options, key)
        lock = partial(held, self._connection, f"{key} (write)", wait=True)
        near = self._options.vectors
        return ElasticsearchIndex(self._connection, indices, source=source, lock=lock, near=near)

    @contextlib.contextmanager
    def build_lock(self, key: str, *, wait: bool) -> Iterator[bool]:
        """Hold the right to build an index, in the whole cluster; yields True if it was got. See `locks`.

        Raises:
            StorageFull, IndexUnavailable: the lock cannot be made.
        """
        self._connection.check()
        with held(self._connection, key, wait=wait) as lock:
            yield lock is not None

    def list(self) -> Sequence[StoredIndex]:
        """Every index of codenav in the cluster, by source.

        Raises:
            IndexUnavailable: the cluster does not answer or refuses us.
        """
        self._connection.check()
        found = filter(None, (self._stored(index, key, usable) for index, key, usable in self._shown()))
        return sorted(found, key=lambda item: (item.source, item.key))

    def remove(self, key: str) -> None:
        """Remove an index. A search that is under way may end in an error.

        Raises:
            NotFound: there is none of that key.
            IndexUnavailable: another process is building it, or the cluster does not answer.
        """
        self._connection.check()
        indices = Indices(self._connection, self._options, key)
        if indices.current() is None:
            near = difflib.get_close_matches(key, [other for _, other, _ in self._shown()], n=1)
            raise NotFound(f"no index {key!r}", hint=f"did you mean {near[0]}?" if near else "codenav sources list")
        with self.build_lock(key, wait=False) as free:
            if not free:
                raise IndexUnavailable(
                    f"the index {key} is being built by another process", hint="try again when it is done"
                )
            indices.remove()

    def close(self) -> None:
        """Release connections; safe to call twice."""
        self._connection.close()

    def _shown(self) -> Iterator[tuple[str, str, bool]]:
        """The name, key and usability of every index of ours that answers."""
        found = self._connection.read(
            lambda es: es.indices.get(index=f"{PREFIX}*", expand_wildcards="all", filter_path=STATE)
        )
        for index, state in found.items():
            mark, aliases = marks(state), part(state, "aliases")
            key = str(mark.get("key", ""))
            if key and alias_of(key) in aliases:
                yield index, key, mark.get("format") == schema.version()

    def _stored(self, index: str, key: str, usable: bool) -> StoredIndex | None:
        size = stored_bytes(self._connection, index)
        notice = "the next use builds it anew: it was made by another version of codenav"
        stats = IndexStats(key, STORE)
        if usable:
            try:
                stats, notice = Reader(self._connection, index).stats(), ""
            except IndexReplaced:
                return None
            except IndexUnavailable as error:
                notice = str(error)
        return StoredIndex(**vars(stats), key=key, size_bytes=size, notice=notice)
