"""Tools, answers and failures of MCP servers as plain data; a failure is one sentence."""

from __future__ import annotations

import base64
import binascii
import http
import json
import mimetypes
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from codenav.core.errors import CodeNavError, NotFound, Unavailable
from codenav.core.system.terminal_text import flattened, neutral, shown_url

if TYPE_CHECKING:
    from mcp import types

FAILURE_CHARACTERS = 500
"""Characters of a server's words on a failure."""
TOKEN_HINT = "name the variable that holds its token: --secret authorization=VARIABLE"


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server in its own words."""

    name: str = ""
    """Empty if it does not say."""
    title: str = ""
    version: str = ""
    text: str = ""
    """Its instructions for models."""
    protocol: str = ""
    """Version of the protocol that was agreed on."""


@dataclass(frozen=True, slots=True)
class McpFile:
    """A picture, sound or other binary part of an answer."""

    name: str
    type: str
    """Media type."""
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class McpAnswer:
    """The answer to a call."""

    value: Any = None
    """JSON data: the structured answer, else the text, else a list of the parts. `McpFile` objects stand for binary
    parts: the value itself, or items of that list."""
    beside: tuple[McpFile, ...] = ()
    """Binary parts beside a structured answer."""
    failure: str = ""
    """The error that the tool or server answered with, as one line; empty if there is none. `value` has all of it."""
    bytes: int = 0
    """Size of the answer."""


def answer_of(result: types.CallToolResult, *, parse: bool) -> McpAnswer:
    """Convert a result. `parse`: a text that is JSON stands for its value."""
    parts = [_part(content) for content in result.content]
    size = len(result.model_dump_json(by_alias=True, exclude_none=True))
    structured = result.structured_content
    if result.is_error:
        texts = [part for part in parts if isinstance(part, str) and part.strip()]
        said = "\n".join(texts) or (json.dumps(structured) if structured is not None else "the tool failed")
        return McpAnswer(
            value=structured if structured is not None else said,
            failure=shortened(said, FAILURE_CHARACTERS),
            bytes=size,
        )
    if structured is not None:
        return McpAnswer(structured, bytes=size, beside=tuple(part for part in parts if isinstance(part, McpFile)))
    if parse:
        parts = [_parsed(part) for part in parts]
    value = parts[0] if len(parts) == 1 else parts or None
    return McpAnswer(value=value, bytes=size)


def _part(content: Any) -> Any:
    """Convert a part of an answer: text, a file, or for links their JSON."""
    match content.type:
        case "text":
            return content.text
        case "image" | "audio":
            return _file(content.data, content.mime_type, content.type)
        case "resource":
            resource = content.resource
            name = PurePosixPath(unquote(urlsplit(str(resource.uri)).path)).name
            if hasattr(resource, "blob"):
                return _file(resource.blob, resource.mime_type or "application/octet-stream", "resource", name)
            return resource.text
    return content.model_dump(mode="json", by_alias=True, exclude_none=True)


def _file(data: str, media_type: str, stem: str, name: str = "") -> McpFile | str:
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        # No base64, whatever the server says: better its text than nothing.
        return data
    plain = media_type.partition(";")[0].strip().lower()
    return McpFile(name or stem + (mimetypes.guess_extension(plain) or ".bin"), plain, content)


def _parsed(part: Any) -> Any:
    if not isinstance(part, str):
        return part
    try:
        return json.loads(part)
    except ValueError:
        return part


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


def shortened(text: str, characters: int = 200) -> str:
    """Return text of a server as one line, without control characters."""
    return flattened(neutral(text), characters)


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
