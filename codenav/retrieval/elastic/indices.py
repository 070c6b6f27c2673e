"""The indexes behind one alias: the one that answers, a new one beside it, the change from one to the other.

codenav-KEY               an alias: the state that answers
codenav-KEY-7             the index behind it; never changed once the alias points to it
codenav-KEY-6             the one before it, for readers that have it open; the next build removes it
codenav-KEY-8.building    an alias of its successor while that is written
codenav-locks             who builds what
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from codenav.core.config import StoreOptions
from codenav.core.errors import IndexUnavailable
from codenav.retrieval.elastic import schema, statistics
from codenav.retrieval.elastic.connection import Ask, Connection
from codenav.retrieval.elastic.faults import Refused, part

PREFIX = "codenav-"
LOCKS = f"{PREFIX}locks"
BUILDING = ".building"
"""The end of the alias through which an index is written: a write that comes late makes no index of its own."""
COPIES_SECONDS = 60
"""Time that a build waits for the copies asked for. A cluster that is short of nodes never has them all."""
STATE = "*.mappings._meta,*.aliases"
"""The parts of an index's state that tell if it is ours, and which one."""
EXISTS = "resource_already_exists_exception"
"""The type of the error where there is an index of that name."""
_READY: dict[str, Any] = {"wait_for_active_shards": 1, "timeout": "60s"}
_PLAIN = re.compile(r"(?!locks\Z)[a-z0-9][a-z0-9._-]{0,120}(?<![.])")


def alias_of(key: str) -> str:
    """The alias of the index with that key: lower case, legal, and another one for each key."""
    if _PLAIN.fullmatch(key):
        return PREFIX + key
    readable = re.sub(r"[^a-z0-9._-]+", "-", key.lower()).strip(".-")[:120].rstrip(".-") or "index"
    return f"{PREFIX}{readable}-{hashlib.blake2b(key.encode('utf-8', 'backslashreplace'), digest_size=6).hexdigest()}"


def numbered(alias: str, number: int) -> str:
    """The name of the index of that number behind an alias."""
    return f"{alias}-{number}"


def number_of(index: str, alias: str) -> int | None:
    """The number of an index behind an alias; None where it bears another kind of name. The inverse of `numbered`."""
    match = re.fullmatch(rf"{re.escape(alias)}-(\d{{1,9}})", index)
    return int(match[1]) if match else None


@dataclass(frozen=True)
class Current:
    """The index that answers."""

    name: str
    usable: bool
    """True if it is of our format."""


def marks(state: Mapping[str, Any]) -> dict[str, Any]:
    """Our mark in the state of an index; empty where it is not ours."""
    return part(state, "mappings", "_meta", "codenav")


def stored_bytes(connection: Connection, index: str) -> int:
    """The bytes of an index on disk with its copies, as the server counts them; 0 where it does not say."""
    answer = connection.read(
        lambda es: es.indices.stats(index=index, metric="store", filter_path="_all.total.store"), empty=(400, 403, 404)
    )
    return int(part(answer, "_all", "total", "store").get("size_in_bytes", 0))


class Indices:
    """All indexes of one key."""

    def __init__(self, connection: Connection, options: StoreOptions, key: str) -> None:
        self._connection = connection
        self._options = options
        self.key = key
        self.alias = alias_of(key)

    @property
    def building(self) -> str:
        """The alias through which the next index is written."""
        return self.alias + BUILDING

    def current(self) -> Current | None:
        """The index that answers; None where there is none.

        Raises:
            IndexUnavailable: the name is taken by something that is not ours.
        """
        found = self._connection.read(lambda es: es.indices.get(index=self.alias, filter_path=STATE), empty=(404,))
        for index, state in found.items():
            mark = marks(state)
            if len(found) > 1 or mark.get("key") != self.key or number_of(index, self.alias) is None:
                raise IndexUnavailable(
                    f"the name {self.alias} is taken by an index that is not codenav's: {index}",
                    hint=f"rename or remove it, or use another cluster than {self._connection.where}",
                )
            return Current(index, mark.get("format") == schema.version())
        return None

    def create(self, source: str) -> str:
        """Make a new empty index, with its copies; nothing shows it yet."""
        body = schema.body(self._options, key=self.key, source=source, alias=self.building)
        return self._made(lambda fresh: lambda es: es.indices.create(index=fresh, **body, **_READY))

    def clone(self, old: Current) -> str:
        """Make a new index with all that the old one holds; it shares its files."""
        body: dict[str, Any] = {"settings": schema.cloned(self._options), "aliases": {self.building: {}}}
        return self._made(lambda fresh: lambda es: es.indices.clone(index=old.name, target=fresh, **body, **_READY))

    def publish(self, fresh: str, before: Current | None, *, blocks: int, first: bool) -> None:
        """Make a written index of so many blocks the one that answers, durably. `first`: it is no copy.

        The one before it stays until the next build, for the readers that have it open; older ones go in this step.

        Raises:
            IndexUnavailable: another one has taken its place meanwhile.
        """
        write = self._connection.write
        statistics.settle(self._connection, fresh, blocks=blocks, first=first)
        write(lambda es: es.indices.flush(index=fresh))
        write(lambda es: es.indices.put_settings(index=fresh, settings=schema.PUBLISHED))
        actions: list[dict[str, Any]] = [
            {"add": {"index": fresh, "alias": self.alias}},
            {"remove": {"index": fresh, "alias": self.building}},
        ]
        if before:
            actions.append({"remove": {"index": before.name, "alias": self.alias}})
        old = [index for index in self._own() if index not in (fresh, before and before.name)]
        actions += [{"remove_index": {"index": index}} for index in old]
        try:
            write(lambda es: es.indices.update_aliases(actions=actions))
        except IndexUnavailable as error:
            # The answer to a request that was carried out may have been lost.
            now = self.current()
            if now is None or now.name != fresh:
                if isinstance(error, Refused) and error.status == 404:
                    raise IndexUnavailable(f"another build has replaced the index {self.alias} meanwhile") from error
                raise

    def sweep(self) -> None:
        """Remove what killed builds left: indexes that still bear the name of one in work."""
        for index, aliases in self._own().items():
            if self.building in aliases:
                self._remove(index)

    def remove(self) -> None:
        """Remove all indexes of this key, the one that answers last."""
        for index, _ in sorted(self._own().items(), key=lambda item: self.alias in item[1]):
            self._remove(index)

    def _own(self) -> dict[str, dict[str, Any]]:
        """All indexes of this key with their aliases."""
        return {
            index: part(state, "aliases") for index, state in self._named().items()
            if number_of(index, self.alias) is not None and marks(state).get("key") == self.key
        }  # fmt: skip

    def _named(self) -> dict[str, Any]:
        """All indexes with a name like ours."""
        return self._connection.write(
            lambda es: es.indices.get(index=f"{self.alias}-*", expand_wildcards="all", filter_path=STATE)
        )

    def _remove(self, index: str) -> None:
        self._connection.write(lambda es: es.indices.delete(index=index, ignore_unavailable=True))

    def abandon(self, fresh: str) -> None:
        """Remove an unfinished index, or leave that to the next build."""
        with contextlib.suppress(IndexUnavailable):
            self._connection.read(lambda es: es.indices.delete(index=fresh, ignore_unavailable=True))

    def _made(self, make: Callable[[str], Ask]) -> str:
        number = max((number_of(index, self.alias) or 0 for index in self._named()), default=0)
        while True:
            number += 1
            fresh = numbered(self.alias, number)
            try:
                made = self._connection.write(make(fresh))
                break
            except Refused as error:
                if error.kind != EXISTS:
                    raise
        try:
            if not made.get("shards_acknowledged"):
                raise IndexUnavailable(
                    f"no node of the cluster at {self._connection.where} takes a new index",
                    hint="see GET /_cluster/allocation/explain; is a disk nearly full?",
                )
            self._wait_for_copies(fresh)
        except BaseException:
            self.abandon(fresh)
            raise
        return fresh

    def _wait_for_copies(self, index: str) -> None:
        """Wait for as many copies as were asked for and nodes allow: a node may be lost from the first document on."""
        if not self._options.elasticsearch_replicas:
            return
        write, empty = self._connection.write, (403, 408)
        health = write(lambda es: es.cluster.health(index=index), empty=empty)
        copies = min(self._options.elasticsearch_replicas + 1, health.get("number_of_data_nodes", 1))
        if copies > 1:
            until = {"wait_for_active_shards": copies * health.get("active_primary_shards", 1)}
            write(lambda es: es.cluster.health(index=index, timeout=f"{COPIES_SECONDS}s", **until), empty=empty)
