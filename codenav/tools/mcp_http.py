"""Transport of messages to an MCP server over streamable HTTP."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from codenav.tools.mcp_answers import Exchange

CONNECT_SECONDS = 10.0
READ_SECONDS = 300.0
"""Longest silence in an answer. Calls have limits of their own; a stream for messages without a request has not."""

current: ContextVar[Exchange] = ContextVar("codenav-mcp-exchange")
"""The exchange of the request that this task sends. The protocol's client carries it along to the task that does so."""


@asynccontextmanager
async def http_streams(
    url: str, headers: Mapping[str, str], limit: int, too_long: Callable[[Exchange], None]
) -> AsyncIterator[Any]:
    """Open the transport for the protocol's client. Redirects to other origins are not followed."""
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=READ_SECONDS)
    async with (
        _Observed(headers=dict(headers), timeout=timeout, limit=limit, too_long=too_long) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=limit) as streams,
    ):
        yield streams


class _Lost(httpx2.StreamError):
    """The connection was lost, or is given up, in the middle of an answer. The protocol's client expects this class."""


class _Observed(httpx2.AsyncClient):
    """Client that notes the facts of each exchange.

    A request that got no answer is an answer of status 599 to the protocol's client, which would otherwise give up the
    whole session.
    """

    def __init__(self, *, limit: int, too_long: Callable[[Exchange], None], **options: Any) -> None:
        super().__init__(**options)
        self._limit, self._too_long = limit, too_long

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request, and note what came of it."""
        exchange = current.get(None)
        if exchange is None or request.method != "POST":
            return await super().send(request, **options)
        exchange.status = exchange.error = None
        try:
            response = await super().send(request, **options)
        except httpx2.TransportError as error:
            exchange.error = error
            exchange.sent = exchange.sent or not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
            return httpx2.Response(599, request=request)
        exchange.sent, exchange.status = True, response.status_code
        with contextlib.suppress(ValueError):
            exchange.retry_after = float(response.headers.get("retry-after", ""))
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Bounded(response.stream, self._limit, exchange, self._too_long)
        return response


class _Bounded(httpx2.AsyncByteStream):
    """The body of an answer, given up where it is too long."""

    def __init__(
        self, stream: httpx2.AsyncByteStream, limit: int, exchange: Exchange, too_long: Callable[[Exchange], None]
    ) -> None:
        self._stream, self._limit, self._exchange, self._too_long = stream, limit, exchange, too_long

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for chunk in self._stream:
                size += len(chunk)
                if size > self._limit:
                    self._too_long(self._exchange)
                    raise _Lost("the answer is too long")
                yield chunk
        except httpx2.TransportError as error:
            self._exchange.error = error
            raise _Lost(str(error)) from error

    async def aclose(self) -> None:
        await self._stream.aclose()
