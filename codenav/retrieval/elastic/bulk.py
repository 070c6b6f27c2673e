"""Sends many documents: two requests at a time, in pieces that a small server takes, again where it is overloaded."""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

from codenav.errors import IndexUnavailable
from codenav.retrieval.elastic import codec, faults
from codenav.retrieval.elastic.connection import Connection, quoted
from codenav.retrieval.elastic.faults import Refused

THREADS = 2
"""More bring nothing on two processors, and a server with a small heap refuses them."""
CHUNK_BYTES = 3_000_000
"""Of one request: about 1,500 blocks. A server with 128 MB of heap takes 12 MB in all requests at a time."""
SMALLEST = 64_000
"""Bytes below which a refused piece is not halved again."""
_LONGEST_PAUSE = 5.0


class Sender:
    """Writes through one alias. Everything is sent when `drain` returns; nothing is left running after `close`."""

    def __init__(self, connection: Connection, alias: str) -> None:
        self._connection = connection
        self._path = f"/{quoted(alias)}/_bulk"
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="codenav-bulk")
        self._parts: list[bytes] = []
        self._size = 0
        self._sent: deque[Future[None]] = deque()
        self._stopped = False

    def add(self, lines: bytes) -> None:
        """Whole lines for the bulk interface. Waits while enough is on its way.

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
        if not self._size:
            return
        data = b"".join(self._parts)
        self._parts, self._size = [], 0
        for piece in pieces(data, 2 * CHUNK_BYTES):
            self._sent.append(self._pool.submit(self._deliver, piece))

    def _deliver(self, data: bytes) -> None:
        """One piece, in halves where the server has no room for it, until patience ends."""
        deadline, pause = time.monotonic() + self._connection.patience, 0.1
        waiting = deque([data])
        while waiting and not self._stopped:
            fault = self._try(waiting[0])
            if fault is None:
                waiting.popleft()
                deadline = time.monotonic() + self._connection.patience
                continue
            if time.monotonic() + pause > deadline:
                raise fault
            if fault.status in (413, 429) and len(waiting[0]) > SMALLEST:
                waiting.extendleft(reversed(pieces(waiting.popleft(), 0)))
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _try(self, data: bytes) -> Refused | None:
        """None where all was written; what passes by itself is returned, what does not is raised."""
        connection = self._connection
        try:
            answer = connection.write(
                "POST", self._path, data, accept=(413, 429),
                require_alias=True, filter_path="errors,items.*.error.type,items.*.error.reason,items.*.status",
            )  # fmt: skip
        except Refused as error:
            if error.status == 404:
                raise _gone() from error
            raise
        if not answer.ok:
            fault = faults.refused(answer.status, answer.body, where=connection.where, user=connection.user)
            if isinstance(fault, Refused):
                return fault
            raise fault
        outcome = answer.json()
        return self._worst(outcome.get("items", [])) if outcome.get("errors") else None

    def _worst(self, items: list[dict[str, dict[str, object]]]) -> Refused | None:
        """The first error of an item that will not pass, raised; else the first one. A missing block is removed."""
        passing: Refused | None = None
        for item in items:
            for outcome in item.values():
                error, status = faults.mapping(outcome.get("error")), int(str(outcome.get("status", 0)))
                if not error:
                    continue
                kind = str(error.get("type", ""))
                if status == 404:
                    raise _gone()
                body = codec.dumps({"error": error})
                fault = faults.refused(status, body, where=self._connection.where, user=self._connection.user)
                if not isinstance(fault, Refused) or not faults.transient(status, kind):
                    raise fault
                passing = passing or fault
        return passing


def _gone() -> IndexUnavailable:
    return IndexUnavailable(
        "the index that was being written is gone: something else removed it", hint="run codenav index again"
    )


def pieces(data: bytes, size: int) -> list[bytes]:
    """Cut between documents into pieces of about `size` bytes; 0: into halves. One document is never cut."""
    size = size or max(len(data) // 2, 1)
    if len(data) <= size:
        return [data]
    found: list[bytes] = []
    begin = at = 0
    while at < len(data):
        end = data.index(b"\n", at) + 1
        if data.startswith(b'{"index"', at):
            end = data.index(b"\n", end) + 1
        if end - begin > size and at > begin:
            found.append(data[begin:at])
            begin = at
        at = end
    found.append(data[begin:])
    return found
