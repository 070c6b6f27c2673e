"""Who may write an index, across processes and machines: a document per lock, made by whoever comes first.

The owner beats: it rewrites its document every `BEAT_SECONDS`. A lock is free where its document is gone, where its
owner was a process of this machine that has ended, or where no beat came while somebody watched for `SILENT_SECONDS`
by a clock of its own. Clocks of different machines are never compared but to decide whether watching is worth while.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from codenav.errors import IndexUnavailable
from codenav.owners import Owner
from codenav.retrieval.elastic import names
from codenav.retrieval.elastic.connection import Connection
from codenav.retrieval.elastic.faults import Refused, mapping
from codenav.retrieval.elastic.indices import EXISTS, STATE, marks

BEAT_SECONDS = 4.0
SILENT_SECONDS = 15.0
"""Without a beat the owner counts as dead. It is asked three times more often."""
_STALE_SECONDS = 40.0
"""A beat that old by the clocks of two machines is watched: they may differ, so it proves nothing."""
_POLL_SECONDS = 0.2
_FIELDS = {
    "host": {"type": "keyword"}, "boot": {"type": "keyword"}, "pids": {"type": "keyword"}, "pid": {"type": "long"},
    "started": {"type": "long"}, "token": {"type": "keyword"}, "what": {"type": "keyword", "index": False},
    "beat": {"type": "double", "index": False},
}  # fmt: skip
_BODY: dict[str, Any] = {
    "settings": {"index.number_of_shards": 1, "index.auto_expand_replicas": "0-1"},
    "mappings": {"dynamic": "strict", "_meta": {"codenav": {"locks": 1}}, "properties": _FIELDS},
    "wait_for_active_shards": 1,
}


class Lock:
    """A lock that is held."""

    def __init__(self, locks: Locks, id: str, what: str, version: _Version) -> None:
        self._locks, self._id, self._what, self._version = locks, id, what, version
        self._ended = threading.Event()
        self._lost = False
        self._beats = threading.Thread(target=self._beat, name="codenav-lock", daemon=True)
        self._beats.start()

    def check(self) -> None:
        """Make sure that it still is held: this process may have slept for long.

        Raises:
            IndexUnavailable: another one has it by now.
        """
        now = None if self._lost else self._locks.version(self._id)
        if now is None or now[2] != self._version[2]:
            raise IndexUnavailable(
                "another process has taken over the build of this index, as this one gave no sign of life",
                hint="run codenav index again",
            )

    def release(self) -> None:
        """Give it back."""
        self._ended.set()
        self._beats.join(BEAT_SECONDS)
        if not self._lost:
            with contextlib.suppress(IndexUnavailable):
                self._locks.drop(self._id, self._version)

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            with contextlib.suppress(IndexUnavailable):
                version = self._locks.beat(self._id, self._what, self._version)
                if version is None:
                    self._lost = True
                    return
                self._version = version


_Version = tuple[int, int, str]
"""Sequence number, primary term, token: changes with every beat."""


@dataclass(frozen=True)
class _Seen:
    """The document of a lock."""

    version: _Version
    owner: dict[str, Any]


class Locks:
    """The locks in one cluster."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._there = False

    @contextlib.contextmanager
    def held(self, what: str, *, wait: bool) -> Iterator[Lock | None]:
        """Hold the lock of that name; None where it was not got, which happens only without `wait`.

        Raises:
            IndexUnavailable: the cluster does not let us make it.
        """
        lock = self._acquire(what, wait=wait)
        try:
            yield lock
        finally:
            if lock:
                lock.release()

    def version(self, id: str) -> _Version | None:
        """What the document of a lock is at now."""
        seen = self._seen(id)
        return seen.version if seen else None

    def beat(self, id: str, what: str, version: _Version) -> _Version | None:
        """Show that the owner lives; None where the lock is not ours any more."""
        answer = self._connection.read(
            lambda es: es.index(
                index=names.LOCKS, id=id, document=_said(version[2], what),
                if_seq_no=version[0], if_primary_term=version[1],
            ),
            empty=(404, 409),
        )  # fmt: skip
        if answer:
            return _version_of(answer, version[2])
        # The answer to an earlier beat may have been lost: the token tells.
        seen = self._seen(id)
        return seen.version if seen and seen.version[2] == version[2] else None

    def drop(self, id: str, version: _Version) -> None:
        """Remove the document of a lock if it is in that state."""
        self._connection.read(
            lambda es: es.delete(index=names.LOCKS, id=id, if_seq_no=version[0], if_primary_term=version[1]),
            empty=(404, 409),
        )

    def _acquire(self, what: str, *, wait: bool) -> Lock | None:
        self._make_room()
        id, token = names.alias_of(what), uuid.uuid4().hex
        watched: tuple[_Version, float] | None = None
        while True:
            answer = self._connection.write(
                lambda es: es.create(index=names.LOCKS, id=id, document=_said(token, what)), empty=(409,)
            )
            if answer:
                return Lock(self, id, what, _version_of(answer, token))
            seen = self._seen(id)
            if seen is None:
                continue
            if seen.version[2] == token:
                # The answer to our own request was lost.
                return Lock(self, id, what, seen.version)
            if watched is None or watched[0] != seen.version:
                watched = (seen.version, time.monotonic())
            silent = time.monotonic() - watched[1]
            if _dead(seen.owner) or silent > SILENT_SECONDS:
                self.drop(id, seen.version)
                continue
            if not wait and abs(time.time() - float(seen.owner.get("beat", 0))) < _STALE_SECONDS:
                return None
            time.sleep(_POLL_SECONDS)

    def _seen(self, id: str) -> _Seen | None:
        data = self._connection.read(lambda es: es.get(index=names.LOCKS, id=id), empty=(404,))
        if not data.get("found"):
            return None
        source = mapping(data.get("_source"))
        return _Seen(_version_of(data, str(source.get("token", ""))), source)

    def _make_room(self) -> None:
        """Make the index that holds the locks."""
        if self._there:
            return
        found = self._index()
        if not found:
            try:
                self._connection.write(lambda es: es.indices.create(index=names.LOCKS, **_BODY))
            except Refused as error:
                if error.kind != EXISTS:
                    raise
            found = self._index()
        if not found or not all("locks" in marks(mapping(state)) for state in found.values()):
            raise IndexUnavailable(
                f"the name {names.LOCKS} is taken by an index that is not codenav's",
                hint=f"rename or remove it, or use another cluster than {self._connection.where}",
            )
        self._there = True

    def _index(self) -> dict[str, Any]:
        return self._connection.read(lambda es: es.indices.get(index=names.LOCKS, filter_path=STATE), empty=(404,))


def _said(token: str, what: str) -> dict[str, Any]:
    """The document of a lock that this process holds."""
    return {**Owner.this_process().to_dict(), "token": token, "what": what, "beat": time.time()}


def _dead(data: dict[str, Any]) -> bool:
    """Whether that was a process of this machine that has ended; of others nothing is known."""
    owner = Owner.from_dict(data)
    return owner is not None and owner.ended(local=False)


def _version_of(data: dict[str, Any], token: str) -> _Version:
    return int(data["_seq_no"]), int(data["_primary_term"]), token
