"""Tools and answers of MCP servers as plain data."""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from codenav.core.system.terminal_text import flattened, neutral

if TYPE_CHECKING:
    from mcp import types


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
class McpTool:
    """A tool that a server lists."""

    name: str
    title: str = ""
    text: str = ""
    input: Mapping[str, Any] = field(default_factory=dict)
    """JSON Schema of the arguments."""
    output: Mapping[str, Any] | None = None
    """JSON Schema of the structured answer."""
    only_as_task: bool = False
    """True if a plain call is refused (`taskSupport: required`)."""
    annotations: Mapping[str, Any] = field(default_factory=dict)
    """`readOnlyHint`, `destructiveHint`, `idempotentHint`, `openWorldHint`, as far as the server says them."""


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
        return McpAnswer(value=structured if structured is not None else said, failure=failed(said), bytes=size)
    if structured is not None:
        return McpAnswer(structured, bytes=size, beside=tuple(part for part in parts if isinstance(part, McpFile)))
    if parse:
        parts = [_parsed(part) for part in parts]
    value = parts[0] if len(parts) == 1 else parts or None
    return McpAnswer(value=value, bytes=size)


def failed(said: str) -> str:
    """Return a server's words on a failure as one line."""
    return flattened(neutral(said), 500)


def tool_of(tool: types.Tool) -> McpTool:
    """Convert a listed tool."""
    hints = tool.annotations
    return McpTool(
        name=tool.name,
        title=tool.title or (hints.title if hints else None) or "",
        text=tool.description or "",
        input=tool.input_schema,
        output=tool.output_schema,
        only_as_task=tool.execution is not None and tool.execution.task_support == "required",
        annotations=hints.model_dump(by_alias=True, exclude_none=True, exclude={"title"}) if hints else {},
    )


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
