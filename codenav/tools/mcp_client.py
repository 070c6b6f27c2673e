"""Connections to MCP servers for synchronous code."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from codenav.core.errors import MissingExtra
from codenav.core.system.closing import Closing
from codenav.tools.mcp_answers import (
    FAILURE_CHARACTERS,
    McpAnswer,
    McpFile,
    McpServer,
    McpUnavailable,
    answer_of,
    shortened,
)

if TYPE_CHECKING:
    from mcp import Client, types

    from codenav.tools.mcp_link import Link

__all__ = ["McpAnswer", "McpConnection", "McpFile", "McpServer", "McpUnavailable"]

START_SECONDS = 30.0
LIMIT_BYTES = 8 * 1024 * 1024
PAGES = 1000
"""Most pages of a list of tools."""
TOOLS = 10_000
"""Most tools of a server."""
ROUNDS = 10
"""Most times that a server may say that it is not ready with a call."""


class McpConnection(Closing):
    """A connection to an MCP server: a process of this machine or an address. It is made at the first use. Thread-safe.

    A server that has ended is started anew by the next use. Its process and all that it started end with `close`, and
    with this process, however that ends.
    """

    def __init__(
        self,
        transport: Mapping[str, Any],
        *,
        environment: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        start_seconds: float = START_SECONDS,
        limit_bytes: int = LIMIT_BYTES,
    ) -> None:
        """Set up a connection; nothing is started.

        Args:
            transport: `ToolSpec.transport`.
            environment: Variables for the process of the server besides the few that it gets anyway.
            headers: Headers for each request over HTTP.
            start_seconds: Time for the server to start and to agree on the protocol.
            limit_bytes: Most bytes of one answer.
        """
        self._transport, self._environment, self._headers = transport, environment or {}, headers or {}
        self._start_seconds, self._limit = start_seconds, limit_bytes
        self._link: Link | None = None
        self._lock = threading.Lock()
        self._late = 0
        self._noise_told = False

    def noise(self) -> str:
        """Return a sentence on text of the server that is no message, once; empty if there is none."""
        found = self._link.noise if self._link is not None and not self._noise_told else ""
        self._noise_told = self._noise_told or bool(found)
        return f"its server prints text that is no message, which is ignored: {found!r}" if found else ""

    @property
    def server(self) -> McpServer:
        """The server in its own words.

        Raises:
            McpUnavailable, NotFound, Cancelled: as for `call`.
        """
        return self._opened(self._start_seconds).do(_describe, timeout=self._start_seconds, when="at the start")

    def tools(self, timeout: float = START_SECONDS) -> list[types.Tool]:
        """List the tools, all pages. The server is asked each time. `timeout` is in seconds.

        Raises:
            McpUnavailable, NotFound, Cancelled: as for `call`.
        """
        from mcp import MCPError

        link = self._opened(self._start_seconds)
        try:
            return link.do(_list, timeout=timeout, when="during the list of its tools")
        except MCPError as error:
            raise McpUnavailable(f"the MCP server {link.where} lists no tools: {shortened(error.message)}") from error

    def call(self, name: str, arguments: Mapping[str, Any], *, timeout: float, parse: bool = False) -> McpAnswer:
        """Call a tool once.

        Args:
            name: Its name on the server.
            arguments: The arguments by their names on the server.
            timeout: Time for the call in seconds, with the start of the server if it is not running.
            parse: A text answer that is JSON stands for its value.

        Raises:
            McpUnavailable: the server did not start, ended, refused, or did not answer in time.
            NotFound: the program or the address does not exist.
            Cancelled: `cancel` was called.
        """
        from mcp import MCPError

        until = time.monotonic() + timeout
        for again in (True, False):
            link = self._opened(max(until - time.monotonic(), 0.1))
            left = max(until - time.monotonic(), 0.1)
            try:
                answer = link.do(
                    lambda client: _call(client, name, dict(arguments), parse), timeout=left, when="during the call"
                )
            except MCPError as error:
                answer = McpAnswer(
                    value=error.data, failure=shortened(error.message, FAILURE_CHARACTERS) or f"error {error.code}"
                )
            except McpUnavailable as fault:
                if fault.session_lost and again:
                    # The server says that it did not run the request, so a new session may ask once more.
                    link.close()
                    continue
                self._count_late(link, fault)
                raise
            self._late = 0
            return answer
        raise AssertionError("the second round returns or raises")

    def cancel(self) -> None:
        """End the calls in flight, from any thread. Their callers get `Cancelled`."""
        link = self._link
        if link is not None:
            link.cancel()

    def close(self) -> None:
        """Close the connection and end the server's process, if it has one."""
        # A start in another thread has the lock.
        self.cancel()
        with self._lock:
            link, self._link = self._link, None
        if link is not None:
            link.close()

    def _count_late(self, link: Link, fault: McpUnavailable) -> None:
        """Give up a process that let two calls in a row wait in vain: it hangs."""
        self._late = self._late + 1 if fault.timed_out else 0
        if self._late >= 2 and "command" in self._transport:
            self._late = 0
            link.close()

    def _opened(self, seconds: float) -> Link:
        """Return the connection, made anew if there is none that works."""
        with self._lock:
            if self._link is not None and self._link.alive:
                return self._link
            if self._link is not None:
                self._link.close()
            try:
                from codenav.tools.mcp_link import Link
            except ModuleNotFoundError as error:
                raise MissingExtra("the client of MCP servers", "tools") from error
            self._link = Link(self._transport, self._environment, self._headers, self._limit)
            link = self._link
            # Within the lock: a second caller waits for this start instead of starting the server twice.
            link.open(seconds)
            return link


async def _describe(client: Client) -> McpServer:
    info = client.server_info
    return McpServer(
        name=info.name if info else "",
        title=(info.title if info else None) or "",
        version=info.version if info else "",
        text=client.instructions or "",
        protocol=client.protocol_version,
    )


async def _list(client: Client) -> list[types.Tool]:
    found: list[types.Tool] = []
    cursor: str | None = None
    seen = set()
    for _ in range(PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        found += page.tools
        cursor = page.next_cursor
        if len(found) > TOOLS:
            raise McpUnavailable(f"the server lists more than {TOOLS:,} tools")
        if cursor is None:
            return found
        if cursor in seen:
            break
        seen.add(cursor)
    raise McpUnavailable(f"the server's list of tools does not end: {len(found):,} tools so far")


async def _call(client: Client, name: str, arguments: dict[str, Any], parse: bool) -> McpAnswer:
    import anyio
    from mcp import MCPError, types
    from mcp.types import HEADER_MISMATCH
    from pydantic import TypeAdapter

    # Not `Client.call_tool`: it lists the tools again, and throws away an answer that its schema does not fit.
    either: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
        types.CallToolResult | types.InputRequiredResult
    )
    state: str | None = None
    listed = False
    for attempt in range(ROUNDS):
        parameters = types.CallToolRequestParams(name=name, arguments=arguments, request_state=state)
        try:
            result = await client.session.send_request(types.CallToolRequest(params=parameters), either)
        except MCPError as error:
            if error.code != HEADER_MISMATCH or listed:
                raise
            # Some arguments travel in headers, too; the list of tools says which.
            listed = True
            await _list(client)
            continue
        if isinstance(result, types.CallToolResult):
            return answer_of(result, parse=parse)
        if result.input_requests:
            kinds = sorted({request.method.partition("/")[0] for request in result.input_requests.values()})
            return McpAnswer(failure=f"{name} asks its client for more ({', '.join(kinds)}), which code cannot give")
        state = result.request_state
        await anyio.sleep(min(0.05 * 2**attempt, 1.0))
    return McpAnswer(failure=f"{name} was not ready after {ROUNDS} rounds")
