"""The sending of many documents: two requests at a time, in smaller ones and again where the server is overloaded."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from codenav.errors import IndexUnavailable, StorageFull
from codenav.retrieval.elastic import faults
from codenav.retrieval.elastic.connection import Connection
from codenav.retrieval.elastic.faults import Refused

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

THREADS = 2
"""Requests at a time. More bring nothing on two processors, and a server with a small heap refuses them."""
CHUNK_BYTES = 3_000_000
"""Bytes of one request: about 1,500 blocks. A server with 128 MB of heap takes 12 MB in all requests at a time."""
SMALLEST = 64_000
"""Bytes below which the size of a refused request is not halved again."""
_PARTS = "errors,items.*.error.type,items.*.error.reason,items.*.status"


class Sender:
    """A writer through one alias. Everything is sent when `drain` returns; nothing is left running after `close`."""

    def __init__(self, connection: Connection, alias: str) -> None:
        self._connection, self._alias = connection, alias
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="codenav-bulk")
        self._parts: list[bytes] = []
        self._size = 0
        self._sent: deque[Future[None]] = deque()
        self._stopped = False

    def add(self, lines: bytes) -> None:
        """Add whole lines for the bulk interface. Waits while enough is on its way.

        Raises:
            IndexUnavailable, StorageFull: an earlier piece could not be written.
        """
        self._parts.append(lines)
        self._size += len(lines)
        if self._size >= CHUNK_BYTES:
            self._send()
            while len(self._sent) > THREADS:
                self._sent.popleft().result()

    def drain(self) -> None:
        """Send what is left and wait for all of it. Raises as `add`."""
        self._send()
        while self._sent:
            self._sent.popleft().result()

    def close(self) -> None:
        """Send nothing more; what is on its way ends first."""
        self._stopped = True
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _send(self) -> None:
        if self._size:
            self._sent.append(self._pool.submit(self._deliver, b"".join(self._parts)))
            self._parts, self._size = [], 0

    def _deliver(self, lines: bytes) -> None:
        """Send all of these lines, in requests of half the size each time that the server has no room for one."""
        size = 4 * CHUNK_BYTES

        def ask(client: Elasticsearch) -> None:
            nonlocal size
            from elasticsearch import helpers

            size = max(size // 2, SMALLEST)
            given: Any = actions(lines)
            try:
                if not self._stopped:
                    helpers.bulk(
                        client, given, expand_action_callback=lambda action: action, chunk_size=sys.maxsize,
                        max_chunk_bytes=size, index=self._alias, require_alias=True, filter_path=_PARTS,
                    )  # fmt: skip
            except helpers.BulkIndexError as error:
                raise self._worst(error.errors) from error

        try:
            self._connection.write(ask)
        except Refused as error:
            if error.status == 404:
                raise IndexUnavailable(
                    "the index that was being written is gone: something else removed it",
                    hint="run codenav index again",
                ) from error
            raise

    def _worst(self, items: list[dict[str, Any]]) -> Refused | StorageFull:
        """The first error of a document that will not pass, else the first one."""
        found: list[Refused | StorageFull] = []
        for item in items:
            for outcome in item.values():
                where, user = self._connection.where, self._connection.user
                fault = faults.refused(int(outcome.get("status", 0)), outcome, where=where, user=user)
                if not isinstance(fault, Refused) or not fault.passes:
                    return fault
                found.append(fault)
        return found[0]


def actions(lines: bytes) -> Iterator[tuple[bytes, bytes | None]]:
    """The pairs in lines of the bulk interface: what is to be done, and the document if there is one."""
    rows = iter(lines.splitlines())
    for row in rows:
        yield row, None if row.startswith(b'{"delete"') else next(rows)
