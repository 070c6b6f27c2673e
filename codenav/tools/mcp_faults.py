"""Failures of MCP servers, each as one sentence."""

from __future__ import annotations

import http
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from codenav.core.errors import CodeNavError, NotFound, Unavailable
from codenav.core.system.terminal_text import flattened, neutral, shown_url

TOKEN_HINT = "name the variable that holds its token: --secret authorization=VARIABLE"


class McpUnavailable(Unavailable):
    """An MCP server did not start, ended, refused or did not answer.

    `status` is that of HTTP, if there is one. `retry_after` is in seconds, as the server said. `sent` is False only if
    the request surely did not reach the server. `session_lost` is True if the server said that it knows the session no
    more.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        status: int | None = None,
        retry_after: float | None = None,
        sent: bool = True,
        timed_out: bool = False,
        session_lost: bool = False,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status, self.retry_after, self.sent, self.timed_out = status, retry_after, sent, timed_out
        self.session_lost = session_lost


@dataclass(slots=True, eq=False)
class Exchange:
    """The facts about one request that the protocol's client does not tell."""

    sent: bool = False
    """False while nothing was sent."""
    status: int | None = None
    """Status of the last answer over HTTP."""
    retry_after: float | None = None
    error: Exception | None = None
    """The reason why there was no answer over HTTP."""
    ended_by: str = ""
    """`cancelled` or `too long`, if something else than the time ended it."""


def shortened(text: str) -> str:
    """Return text of a server as one line of at most 200 characters, without control characters."""
    return flattened(neutral(text), 200)


def where_of(transport: Mapping[str, Any]) -> str:
    """Return the words for a server in messages: its command, or its URL without what may be secret in it."""
    if "url" in transport:
        return shown_url(str(transport["url"]).partition("?")[0])
    return f"`{flattened(neutral(shlex.join(transport['command'])), 120)}`"


def http_fault(url: str, exchange: Exchange, said: str) -> CodeNavError | None:
    """Return the failure that an exchange over HTTP shows; None if it shows none.

    Args:
        url: The server's address as messages show it.
        exchange: The request.
        said: The server's own words. May be empty.
    """
    if exchange.error is not None:
        reason = shortened(str(exchange.error) or type(exchange.error).__name__)
        if exchange.sent:
            return McpUnavailable(f"the connection to the MCP server {url} was lost: {reason}", sent=True)
        return McpUnavailable(f"no MCP server answers at {url}: {reason}", sent=False)
    status = exchange.status
    if status is None or status < 400:
        return None
    phrase = f" {http.HTTPStatus(status).phrase}" if status in set(http.HTTPStatus) else ""
    words = f": {said}" if said else ""
    if status == 401:
        return McpUnavailable(f"the MCP server {url} wants a token (401){words}", hint=TOKEN_HINT, status=status)
    if status == 403:
        return McpUnavailable(f"the MCP server {url} refuses access (403){words}", hint=TOKEN_HINT, status=status)
    if status in (404, 405):
        older = "its older transport (addresses that end in /sse) is not spoken; look for one that ends in /mcp"
        hint = older if url.endswith("/sse") else "check the address"
        return NotFound(f"there is no MCP server at {url}: it answered {status}{phrase}", hint=hint)
    return McpUnavailable(
        f"the MCP server {url} answered {status}{phrase}{words}", status=status, retry_after=exchange.retry_after
    )
