"""The sending of many documents: two requests at a time, each as large as the server takes them now."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from codenav.core.errors import IndexUnavailable, StorageFull
from codenav.retrieval.elastic import faults
from codenav.retrieval.elastic.connection import Connection
from codenav.retrieval.elastic.faults import Refused, part

if TYPE_CHECKING:
    from elastic_transport import ObjectApiResponse
    from elasticsearch import Elasticsearch

THREADS = 2
"""Requests at a time. More bring nothing on two processors, and a server with a small heap refuses them."""
CHUNK_BYTES = 3_000_000
"""Bytes of one request: about 1,500 blocks. A server with 128 MB of heap takes 12 MB in all requests at a time."""
SMALLEST = 64_000
"""Bytes below which the size of a refused request is not halved again, unless it was refused for its size alone."""
_PARTS = "errors,items.*.error.type,items.*.error.reason,items.*.status"


class Sender:
    """A writer through one alias. Everything is sent when `drain` returns; nothing is left running after `close`."""

    def __init__(self, connection: Connection, alias: str) -> None:
        self._connection, self._alias = connection, alias
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="codenav-bulk")
        self._parts: list[bytes] = []
        self._waiting = 0
        self._sent: deque[Future[None]] = deque()
        self._stopped = False
        self._size = CHUNK_BYTES
        """Bytes of the next request."""

    def add(self, lines: bytes) -> None:
        """Add whole lines for the bulk interface. Waits while enough is on its way.

        Raises:
            IndexUnavailable, StorageFull: an earlier piece could not be written.
        """
        self._parts.append(lines)
        self._waiting += len(lines)
        if self._waiting >= CHUNK_BYTES:
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
        if self._waiting:
            self._sent.append(self._pool.submit(self._deliver, b"".join(self._parts)))
            self._parts, self._waiting = [], 0

    def _deliver(self, lines: bytes) -> None:
        """Send all of these lines. What was taken is not sent again, and each request has the whole patience."""
        rest = deque(actions(lines))
        sent = 0

        def ask(client: Elasticsearch) -> ObjectApiResponse[Any] | None:
            nonlocal sent
            answer = None
            while answer is None and not self._stopped:
                sent = _fitting(rest, self._size)
                answer = self._ask(client, [rest[at] for at in range(sent)])
            return answer

        while rest and not self._stopped:
            try:
                self._connection.write(ask)
            except Refused as error:
                if error.status == 404:
                    raise IndexUnavailable(
                        "the index that was being written is gone: something else removed it",
                        hint="run codenav index again",
                    ) from error
                raise
            for _ in range(sent):
                rest.popleft()

    def _ask(self, client: Elasticsearch, pairs: Sequence[Pair]) -> ObjectApiResponse[Any] | None:
        """Send one request and note if its size was refused; None where it is to be sent again in parts, at once."""
        from elasticsearch import ApiError, TransportError

        rows: Any = [row for pair in pairs for row in pair if row is not None]
        size = sum(len(row) + 1 for row in rows)
        try:
            answer = client.bulk(operations=rows, index=self._alias, require_alias=True, filter_path=_PARTS)
            if part(answer.body).get("errors"):
                raise self._worst(answer.body["items"])
        except ApiError as error:
            too_large = error.status_code == 413
            self._halve(size, least=1 if too_large else SMALLEST)
            if too_large and len(pairs) > 1:
                return None
            raise
        except (TransportError, Refused):
            # A proxy may hang up where it is sent too much.
            self._halve(size, least=SMALLEST)
            raise
        return answer

    def _halve(self, refused: int, *, least: int) -> None:
        """Make the next requests half as large as one that was refused."""
        self._size = min(self._size, max(refused // 2, least))

    def _worst(self, items: list[dict[str, Any]]) -> Refused | StorageFull:
        """The first error of a document that will not pass, else the first one."""
        found: list[Refused | StorageFull] = []
        for item in items:
            for outcome in item.values():
                if "error" not in outcome:
                    continue
                where, user = self._connection.where, self._connection.user
                fault = faults.refused(int(outcome.get("status", 0)), outcome, where=where, user=user)
                if not isinstance(fault, Refused) or not fault.passes:
                    return fault
                found.append(fault)
        return found[0]


Pair = tuple[bytes, bytes | None]
"""An action, and its document if there is one."""


def _fitting(pairs: Sequence[Pair], size: int) -> int:
    """The number of pairs, at least one, that a request of that size holds."""
    for count, (action, document) in enumerate(pairs):
        size -= len(action) + len(document or b"") + 2
        if size < 0:
            return max(count, 1)
    return len(pairs)


def actions(lines: bytes) -> Iterator[Pair]:
    """The pairs in lines of the bulk interface."""
    rows = iter(lines.splitlines())
    for row in rows:
        yield row, None if row.startswith(b'{"delete"') else next(rows)
