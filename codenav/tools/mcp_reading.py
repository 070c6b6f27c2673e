"""Reader of MCP servers: the list of a server's tools as a specification."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from codenav.core.errors import UsageError
from codenav.tools.addresses import is_url
from codenav.tools.functions import operation_of
from codenav.tools.mcp_client import McpConnection, McpServer
from codenav.tools.model import Group, Operation, Scheme, ToolSpec
from codenav.tools.naming import identifier, package_name
from codenav.tools.places import parse
from codenav.tools.schemas import OwnSchemas

if TYPE_CHECKING:
    from mcp import types

TOKEN = "authorization"
"""Name of the secret that is sent as bearer token."""
_ONLY_AS_TASK = "its server runs it as a task only (taskSupport: required), which codenav does not do"
_NOISY = "the server prints text that is no message on its standard output, which is ignored"


def read_mcp(where: str, *, environment: Mapping[str, str] | None = None) -> ToolSpec:
    """Ask a server for its tools. The server is started for it where it is a command, and ended again.

    Args:
        where: A URL of streamable HTTP, or a command.
        environment: Variables for the process of the server besides the few that it gets anyway. For a URL, the value
            of `authorization` is the bearer token.

    Raises:
        NotFound: there is no such program, or the server does not know the address.
        UsageError: there is no command, or its quotes do not match.
        McpUnavailable: the server does not start, does not answer or refuses; an `Unavailable`.
        MissingExtra: the extra `tools` is not installed.
    """
    place = parse(f"mcp:{where}")
    transport: dict[str, Any] = {"url": place.where}
    if not is_url(place.where):
        transport = {"command": shlex.split(place.where), "folder": str(Path.cwd())}
    given = environment or {}
    headers = {"Authorization": f"Bearer {given[TOKEN]}"} if "url" in transport and TOKEN in given else {}
    with McpConnection(transport, environment=given, headers=headers) as connection:
        server = connection.server
        tools = connection.tools()
        noisy = bool(connection.noise())
    found = spec_of(server, tools, transport)
    return replace(found, notes=(*found.notes, _NOISY)) if noisy else found


def spec_of(server: McpServer, tools: Sequence[types.Tool], transport: Mapping[str, Any]) -> ToolSpec:
    """Make the specification of a server."""
    name = identifier(server.name) if re.search(r"\w", server.name) else _name_of(transport)
    table = OwnSchemas()
    operations: list[Operation] = []
    taken: set[str] = set()
    names: set[str] = set()
    over_http = "url" in transport
    for tool in tools:
        if tool.name in names:
            table.note(f"the server lists {tool.name!r} twice; the first one counts")
            continue
        names.add(tool.name)
        try:
            item = tool.model_dump(by_alias=True, exclude_none=True)
            operation = operation_of(item, "its input", name, taken, table)
        except UsageError as error:
            table.note(f"{tool.name!r} was left out: {error}")
            continue
        if item.get("execution", {}).get("taskSupport") == "required":
            table.note(f"{tool.name} cannot be called: {_ONLY_AS_TASK}")
            operation = replace(operation, unusable=_ONLY_AS_TASK)
        if over_http:
            operation = replace(operation, security=((TOKEN,), ()))
        taken.add(operation.name)
        operations.append(operation)
    return ToolSpec(
        name=name,
        format="mcp",
        title=server.title or server.name,
        version=server.version,
        text=server.text,
        groups=(Group(name=name, title=server.title or server.name, guidance=server.text),),
        schemes=(Scheme(TOKEN, "bearer", text="Token of the server, if it wants one"),) if over_http else (),
        schemas=table.found,
        operations=tuple(operations),
        transport=transport,
        notes=tuple(table.notes),
    )


def _name_of(transport: Mapping[str, Any]) -> str:
    """Make a name for a server that does not say its own: from its address, or the last file of its command."""
    if "url" in transport:
        return package_name(transport["url"])
    words = [word for word in transport["command"] if not word.startswith("-")]
    files = [word for word in words if PurePath(word).suffix]
    return identifier(PurePath((files or words)[-1]).stem)
