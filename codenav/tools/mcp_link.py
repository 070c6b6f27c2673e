"""One life of a connection to an MCP server: a thread with an event loop, the protocol's client and its transport."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, TypeVar

import anyio
from mcp import Client, MCPError, types
from mcp.client.stdio import get_default_environment
from pydantic import ValidationError

from codenav import __version__
from codenav.core.errors import Cancelled, CodeNavError
from codenav.tools.mcp_answers import Exchange, McpUnavailable, http_fault, shortened, where_of
from codenav.tools.mcp_http import current, http_streams
from codenav.tools.mcp_process import ServerProcess

T = TypeVar("T")

LATE_SECONDS = 8.0
"""Time beyond its limit after which a request that has not ended is given up with its whole connection."""
CLOSE_SECONDS = 5.0

_BARE = {"Server returned an error response", "Not Found", "Session terminated", "Connection closed"}
"""Words of the protocol's client, not of the server."""
_OF_THE_CLIENT = ("Failed to parse", "Redirect to", "SSE stream", "Unexpected content type", "server answered a")

# The protocol's client logs what it makes errors of. Without a handler, Python prints that on standard error.
for _name in ("mcp", "client"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


class Link:
    """A connection that is open from `open` to `close`, or until the server ends. Thread-safe."""

    def __init__(
        self, transport: Mapping[str, Any], environment: Mapping[str, str], headers: Mapping[str, str], limit: int
    ) -> None:
        """Set up a connection; the arguments are those of `McpConnection`."""
        self._transport, self._environment, self._headers, self._limit = transport, environment, headers, limit
        self._url = str(transport.get("url", ""))
        self.where = where_of(transport)
        """The server as messages name it."""
        self._process: ServerProcess | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._client: Client | None = None
        self._opened: Future[None] = Future()
        self._running: dict[Exchange, anyio.CancelScope] = {}
        self._over = False
        self._thread = threading.Thread(target=self._run, name="codenav-mcp", daemon=True)

    @property
    def alive(self) -> bool:
        """True while requests can be sent."""
        ended = self._process is not None and self._process.ended.is_set()
        return self._thread.is_alive() and not self._over and not ended

    @property
    def noise(self) -> str:
        """The start of the first text on the server's standard output that was no message; empty if there was none."""
        return self._process.garbage if self._process is not None else ""

    def open(self, seconds: float) -> None:
        """Start the server or connect to it, and agree on the protocol.

        Raises:
            McpUnavailable: there is no server, or it refuses, or it does not answer in time.
            NotFound: no server is known at the address.
            Cancelled: `cancel` was called.
        """
        self._opening = Exchange()
        self._seconds = seconds
        self._thread.start()
        try:
            self._opened.result(seconds + LATE_SECONDS)
        except BaseException:
            self.close()
            raise

    def do(self, work: Callable[[Client], Awaitable[T]], *, timeout: float, when: str) -> T:
        """Let the client do something.

        Args:
            work: The requests.
            timeout: Time for it in seconds.
            when: Words for messages: `during the call`.

        Raises:
            McpUnavailable: the server does not answer, or is gone.
            MCPError: the server answered with an error.
            Cancelled: `cancel` was called.
        """
        assert self._loop is not None
        exchange = Exchange(sent=not self._url)

        async def guarded() -> T:
            assert self._client is not None
            client = self._client
            return await self._watched(exchange, timeout, lambda _: work(client))

        future = asyncio.run_coroutine_threadsafe(guarded(), self._loop)
        try:
            return future.result(timeout + LATE_SECONDS)
        except FutureTimeout:
            self.close()
            raise self._late(timeout) from None
        except (Cancelled, CodeNavError):
            raise
        except Exception as error:
            raise self._explained(error, exchange, when) from error
        except BaseException:
            future.cancel()
            raise

    def cancel(self) -> None:
        """End the requests in flight, from any thread. Their callers get `Cancelled`."""
        self._from_outside(lambda: self._end_requests("cancelled"))

    def close(self) -> None:
        """Close the connection and end the server's process, if it has one."""
        self._over = True

        def stop() -> None:
            self._end_requests("cancelled")
            if self._stop is not None:
                self._stop.set()

        self._from_outside(stop)
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join(CLOSE_SECONDS)

    def _from_outside(self, work: Callable[[], None]) -> None:
        loop = self._loop
        if loop is not None:
            # A loop that has ended takes no calls.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(work)

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        except BaseException as error:
            if not self._opened.done():
                self._opened.set_exception(self._explained(error, self._opening, "before it answered"))
        finally:
            self._over = True

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        client = Client(
            self._streams(), cache=None, client_info=types.Implementation(name="codenav", version=__version__)
        )

        async def live(scope: anyio.CancelScope) -> None:
            async with client:
                # From here on the scope is without a limit: it must be left in the order in which it was entered.
                scope.deadline = math.inf
                self._running.pop(self._opening, None)
                self._client = client
                self._opened.set_result(None)
                assert self._stop is not None
                await self._stop.wait()

        await self._watched(self._opening, self._seconds, live)

    def _streams(self) -> Any:
        if self._url:
            return http_streams(self._url, self._headers, self._limit, self._end_long)
        environment = {**get_default_environment(), **self._environment}
        self._process = ServerProcess(
            self._transport["command"], str(self._transport.get("folder", "")), environment,
            self._limit, self._end_all_long,
        )  # fmt: skip
        return self._process.streams()

    async def _watched(
        self, exchange: Exchange, timeout: float, work: Callable[[anyio.CancelScope], Awaitable[T]]
    ) -> T:
        """Do something within a time limit, so that `cancel` can end it."""
        current.set(exchange)
        with anyio.CancelScope(deadline=anyio.current_time() + timeout) as scope:
            self._running[exchange] = scope
            try:
                return await work(scope)
            finally:
                self._running.pop(exchange, None)
        if exchange.ended_by == "cancelled":
            raise Cancelled
        if exchange.ended_by == "too long":
            raise McpUnavailable(f"the answer of the MCP server {self.where} is over {self._limit:,} bytes")
        raise self._late(timeout)

    def _late(self, timeout: float) -> McpUnavailable:
        words = f"the MCP server {self.where} did not answer within {max(round(timeout, 1), 0.1):g} s"
        if self._process is not None and self._process.garbage:
            words += f"; its standard output has text that is no message: {self._process.garbage!r}"
        return McpUnavailable(words, timed_out=True)

    def _end_requests(self, reason: str) -> None:
        for exchange in list(self._running):
            self._end(exchange, reason)

    def _end(self, exchange: Exchange, reason: str) -> None:
        scope = self._running.get(exchange)
        if scope is not None:
            exchange.ended_by = exchange.ended_by or reason
            scope.cancel()

    def _end_long(self, exchange: Exchange) -> None:
        self._end(exchange, "too long")

    def _end_all_long(self) -> None:
        # A message that is not read to its end does not tell which request it answers.
        self._end_requests("too long")

    def _explained(self, error: BaseException, exchange: Exchange, when: str) -> BaseException:
        """Return the error for the caller. What the server said itself, an `MCPError`, stays."""
        for found in _leaves(error):
            if isinstance(found, CodeNavError):
                return found
            if isinstance(found, OSError) and not self._url:
                return McpUnavailable(f"the MCP server {self.where} cannot be started: {found}", sent=False)
        answered = next((found for found in _leaves(error) if isinstance(found, MCPError)), None)
        bare = answered is None or answered.message in _BARE
        if bare and self._process is not None and (fault := self._process.fault(self.where, when)):
            return fault
        if answered is not None and answered.message == "Session terminated":
            return McpUnavailable(f"the MCP server {self.where} has ended the session", sent=False, session_lost=True)
        if exchange.error is not None or bare or exchange.status in (401, 403, 429, 502, 503, 504):
            said = "" if bare or answered is None else shortened(answered.message)
            refused = http_fault(self.where, exchange, said) if self._url else None
            if refused is not None:
                return refused
        words = shortened(answered.message if answered else _reason(error))
        if not when.startswith("during"):
            return McpUnavailable(f"{self.where} is no MCP server that can be used: {words}")
        if answered is not None and not bare and not answered.message.startswith(_OF_THE_CLIENT):
            return answered
        return McpUnavailable(f"the MCP server {self.where} breaks the protocol: {words}")


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for part in error.exceptions for leaf in _leaves(part)]
    return [error]


def _reason(error: BaseException) -> str:
    first = _leaves(error)[0]
    if isinstance(first, ValidationError):
        details = first.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, details["loc"]))
        return f"its answer is wrong at {place}: {details['msg']}"
    return str(first) or type(first).__name__
