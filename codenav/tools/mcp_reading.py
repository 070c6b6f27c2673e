"""Reader of MCP servers: the list of a server's tools as a specification."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from codenav.tools.addresses import is_url
from codenav.tools.argument_schemas import effect_of, parameters_of, result_of, titled
from codenav.tools.mcp_client import McpConnection, McpServer, McpTool
from codenav.tools.model import Effect, Group, Operation, Scheme, ToolSpec
from codenav.tools.naming import identifier, package_name, unique
from codenav.tools.places import parse
from codenav.tools.schemas import OwnSchemas, fault_of

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


def spec_of(server: McpServer, tools: Sequence[McpTool], transport: Mapping[str, Any]) -> ToolSpec:
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
        fault = fault_of(tool.input)
        if fault:
            table.note(f"{tool.name} was left out: its input is no JSON Schema: {fault}")
            continue
        operation = _operation(tool, unique(identifier(tool.name), taken), name, table)
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


def _operation(tool: McpTool, name: str, group: str, table: OwnSchemas) -> Operation:
    schema = table.take(tool.input, tool.name)
    parameters, body = parameters_of(schema, table.found)
    title, text = titled(tool.title, tool.text)
    wrapped = _is_wrapped(tool.output)
    if tool.only_as_task:
        table.note(f"{tool.name} cannot be called: {_ONLY_AS_TASK}")
    effect = effect_of(tool.annotations)
    return Operation(
        name=name,
        id=tool.name,
        group=group,
        title=title,
        text=text,
        effect=effect,
        idempotent=effect is Effect.READ or tool.annotations.get("idempotentHint") is True,
        parameters=parameters,
        body=body,
        result=result_of(tool.output, tool.name, table, key="result" if wrapped else None),
        wrapped=wrapped,
        unusable=_ONLY_AS_TASK if tool.only_as_task else "",
    )


def _is_wrapped(schema: Mapping[str, Any] | None) -> bool:
    """True if the library of a server has put a plain result into an object, as structured answers are objects."""
    properties = (schema or {}).get("properties")
    if not schema or not isinstance(properties, Mapping) or "result" not in properties:
        return False
    alone = len(properties) == 1 and schema.get("required") == ["result"]
    return alone or schema.get("x-fastmcp-wrap-result") is True


def _name_of(transport: Mapping[str, Any]) -> str:
    """Make a name for a server that does not say its own: from its address, or the last file of its command."""
    if "url" in transport:
        return package_name(transport["url"])
    words = [word for word in transport["command"] if not word.startswith("-")]
    files = [word for word in words if PurePath(word).suffix]
    return identifier(PurePath((files or words)[-1]).stem)
