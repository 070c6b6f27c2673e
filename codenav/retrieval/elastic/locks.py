"""Locks for writing an index, across processes and machines: a document per lock, made by whoever comes first.

The owner beats: it rewrites its document every `BEAT_SECONDS`. A lock is free where its document is gone, where its
owner was a process of this machine that has ended, or where no beat came while somebody watched for `SILENT_SECONDS`
by a clock of its own. Clocks of different machines are never compared but to decide if watching is worth while.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

from codenav.core.errors import IndexUnavailable
from codenav.core.system.process_identity import Owner
from codenav.retrieval.elastic import schema
from codenav.retrieval.elastic.connection import Connection
from codenav.retrieval.elastic.faults import Refused, part
from codenav.retrieval.elastic.indices import EXISTS, LOCKS, STATE, alias_of, marks

BEAT_SECONDS = 4.0
SILENT_SECONDS = 15.0
"""Time without a beat after which the owner counts as dead. It is asked three times more often."""
_STALE_SECONDS = 40.0
"""Age of a beat, by the clocks of two machines, from which it is watched: they may differ, so it proves nothing."""
_POLL_SECONDS = 0.2
_FIELDS = {
    "host": {"type": "keyword"}, "boot": {"type": "keyword"}, "pids": {"type": "keyword"}, "pid": {"type": "long"},
    "started": {"type": "long"}, "token": {"type": "keyword"}, "what": {"type": "keyword", "index": False},
    "beat": {"type": "double", "index": False},
}  # fmt: skip
_BODY: dict[str, Any] = {
    "settings": {**schema.OWN, "index.number_of_shards": 1, "index.auto_expand_replicas": "0-1"},
    "mappings": {**schema.WHOLE, "_meta": {"codenav": {"locks": 1}}, "properties": _FIELDS},
    "wait_for_active_shards": 1,
}


@contextlib.contextmanager
def held(connection: Connection, what: str, *, wait: bool) -> Iterator[Lock | None]:
    """Hold the lock of that name; yields None where it was not got, which happens only without `wait`.

    Raises:
        StorageFull: we have no right to write, or a disk of the cluster is full.
        IndexUnavailable: the cluster does not answer.
    """
    _make_room(connection)
    lock = Lock(connection, what)
    got = lock.take(wait=wait)
    try:
        yield lock if got else None
    finally:
        if got:
            lock.release()


class Lock:
    """A lock: taken, kept by beats, given back."""

    def __init__(self, connection: Connection, what: str) -> None:
        self._connection, self._what = connection, what
        self._id, self._token = alias_of(what), uuid.uuid4().hex
        self._version = (0, 0)
        self._ended, self._lost = threading.Event(), False
        self._beats = threading.Thread(target=self._beat, name="codenav-lock", daemon=True)

    def take(self, *, wait: bool) -> bool:
        """Take the lock, waiting for it unless `wait` is False. True if it was got."""
        watched, since = (0, 0), 0.0
        while True:
            made = self._connection.write(
                lambda es: es.create(index=LOCKS, id=self._id, document=self._document()), empty=(409,)
            )
            seen = made or self._seen()
            if not seen:
                continue
            source = part(seen, "_source")
            # The answer to our own request may have been lost: the token tells.
            if made or source.get("token") == self._token:
                self._version = _version(seen)
                self._beats.start()
                return True
            if watched != _version(seen):
                watched, since = _version(seen), time.monotonic()
            owner = Owner.from_dict(source)
            # The end of a process on another machine cannot be known.
            if (owner and owner.ended(local=False)) or time.monotonic() > since + SILENT_SECONDS:
                self._drop(watched)
            elif not wait and abs(time.time() - float(source.get("beat", 0))) < _STALE_SECONDS:
                return False
            else:
                time.sleep(_POLL_SECONDS)

    def check(self) -> None:
        """Check that the lock still is held: this process may have slept for long.

        Raises:
            IndexUnavailable: another one has it by now.
        """
        if self._lost or not self._own():
            raise IndexUnavailable(
                "another process has taken over the build of this index, as this one gave no sign of life",
                hint="run codenav index again",
            )

    def release(self) -> None:
        """Give the lock back."""
        self._ended.set()
        self._beats.join(BEAT_SECONDS)
        if not self._lost:
            with contextlib.suppress(IndexUnavailable):
                self._drop(self._version)

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            with contextlib.suppress(IndexUnavailable):
                number, term = self._version
                answer = self._connection.read(
                    lambda es: es.index(
                        index=LOCKS, id=self._id, document=self._document(),
                        if_seq_no=number, if_primary_term=term,  # noqa: B023
                    ),
                    empty=(404, 409),
                )  # fmt: skip
                # The answer to an earlier beat may have been lost.
                seen = answer or self._own()
                if not seen:
                    self._lost = True
                    return
                self._version = _version(seen)

    def _document(self) -> dict[str, Any]:
        owner = Owner.this_process().to_dict()
        return {**owner, "token": self._token, "what": self._what, "beat": time.time()}

    def _seen(self) -> dict[str, Any]:
        """The lock as it is in the cluster; empty where it is free."""
        return self._connection.read(lambda es: es.get(index=LOCKS, id=self._id), empty=(404,))

    def _own(self) -> dict[str, Any]:
        """The lock as it is in the cluster; empty where it is not ours."""
        seen = self._seen()
        return seen if part(seen, "_source").get("token") == self._token else {}

    def _drop(self, version: tuple[int, int]) -> None:
        """Remove the lock if it is in that state."""
        number, term = version
        self._connection.read(
            lambda es: es.delete(index=LOCKS, id=self._id, if_seq_no=number, if_primary_term=term),
            empty=(404, 409),
        )


def _version(seen: dict[str, Any]) -> tuple[int, int]:
    """The sequence number and primary term of a document: they change with every beat."""
    return int(seen["_seq_no"]), int(seen["_primary_term"])


def _make_room(connection: Connection) -> None:
    """Make the index that holds the locks, unless it exists."""

    def found() -> dict[str, Any]:
        # Not `read`: who has no right to see the locks has none to write, which is told apart.
        return connection.write(lambda es: es.indices.get(index=LOCKS, filter_path=STATE), empty=(404,))

    there = found()
    if not there:
        try:
            connection.write(lambda es: es.indices.create(index=LOCKS, **_BODY))
        except Refused as error:
            if error.kind != EXISTS:
                raise
        there = found()
    if not there or not all("locks" in marks(state) for state in there.values()):
        raise IndexUnavailable(
            f"the name {LOCKS} is taken by an index that is not codenav's",
            hint=f"rename or remove it, or use another cluster than {connection.where}",
        )
