"""Reader of function lists: those of model APIs, saved lists of MCP servers, JSON Schemas, and the tool set file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from codenav.core.errors import UsageError
from codenav.tools.addresses import is_url, origin, shown
from codenav.tools.argument_schemas import effect_of, parameters_of, result_of, title_and_text
from codenav.tools.documents import parse, read_file
from codenav.tools.fetching import fetch
from codenav.tools.model import Effect, Group, Operation, ToolSpec
from codenav.tools.naming import identifier, package_name, unique
from codenav.tools.schemas import OwnSchemas, fault_of
from codenav.tools.toolset import is_toolset, read_toolset

FORMATS = (
    "a tool set file with `sets` (codenav schema toolset), a list of functions as model APIs take it, the answer of "
    "tools/list of an MCP server, or JSON Schemas of arguments with their names as `title`"
)
_INPUTS = ("inputSchema", "input_schema", "parameters")


def read_functions(where: str, *, allow_private: bool = False) -> ToolSpec:
    """Read a file or URL, JSON or YAML, in one of `FORMATS`.

    Functions without addresses are called on the host: `handlers` of the Python API, by `Operation.id`.

    Raises:
        NotFound: no such file, or the server does not know the address.
        UsageError: it is in none of the formats, or breaks the one it is in.
        Unavailable: the server does not answer or refuses.
    """
    document = _load(where, allow_private)
    if is_toolset(document):
        from codenav.core import schemas

        return read_toolset(document, where, schemas.load("toolset"))
    return spec_of_functions(document, where)


def spec_of_functions(document: Any, where: str) -> ToolSpec:
    """Make the specification of a list of functions.

    Raises:
        UsageError: it is none.
    """
    items = _items(document)
    if not items:
        raise UsageError(f"{where} has no tools", hint=f"name {FORMATS}")
    table = OwnSchemas()
    title = document.get("title", "") if isinstance(document, Mapping) and len(items) > 1 else ""
    name = package_name(where, title=title if isinstance(title, str) else "")
    taken: set[str] = set()
    ids: set[str] = set()
    operations = []
    for place, item in enumerate(items):
        if isinstance(item, Mapping) and _is_built_in(item):
            table.note(f"{item['type']!r} is a tool of the model's server and was left out")
            continue
        operation = operation_of(item, f"{where}: [{place}]", name, taken, table)
        if operation.id in ids:
            table.note(f"{operation.id!r} is there twice; the first one counts")
            continue
        ids.add(operation.id)
        taken.add(operation.name)
        operations.append(operation)
    if not operations:
        raise UsageError(f"{where} has no tools that code could call", hint=f"name {FORMATS}")
    return ToolSpec(
        name=name,
        format="tools",
        title=title if isinstance(title, str) else "",
        groups=(Group(name=name),),
        schemas=table.found,
        operations=tuple(operations),
        notes=tuple(table.notes),
    )


def _items(document: Any) -> Sequence[Any]:
    """Return the functions of a document: a list, the list in a request or in an answer, or a single one."""
    if isinstance(document, list):
        return document
    if not isinstance(document, Mapping):
        return []
    for key in ("tools", "functions"):
        if isinstance(document.get(key), list):
            found: list[Any] = document[key]
            return found
    if isinstance(document.get("result"), Mapping) and isinstance(document["result"].get("tools"), list):
        answer: list[Any] = document["result"]["tools"]
        return answer
    return [document] if _is_function(document) or _is_schema(document) or "function" in document else []


def _is_built_in(item: Mapping[str, Any]) -> bool:
    kind = item.get("type")
    return isinstance(kind, str) and kind != "function" and "name" not in item and not _is_schema(item)


def _is_function(item: Mapping[str, Any]) -> bool:
    return isinstance(item.get("name"), str) and not _is_schema(item)


def _is_schema(item: Mapping[str, Any]) -> bool:
    return isinstance(item.get("title"), str) and ("properties" in item or "$schema" in item or "$ref" in item)


def operation_of(item: Any, where: str, group: str, taken: set[str], table: OwnSchemas) -> Operation:
    """Make the operation of a function or of a tool of an MCP server. `where` names it in messages.

    Raises:
        UsageError: it is none, or its schema is none.
    """
    if isinstance(item, Mapping) and isinstance(item.get("function"), Mapping):
        item = item["function"]
    if not isinstance(item, Mapping):
        raise UsageError(f"{where} is {_kind(item)}, not a function", hint=f"name {FORMATS}")
    if _is_schema(item):
        id, schema, text = item["title"], item, item.get("description", "")
    elif _is_function(item):
        id, text = item["name"], item.get("description", "")
        schema = next((item[key] for key in _INPUTS if item.get(key) is not None), {})
    else:
        raise UsageError(f"{where} has no name", hint="give it a 'name'; for a JSON Schema, a 'title'")
    if not id.strip():
        raise UsageError(f"{where} has an empty name")
    if not isinstance(schema, Mapping):
        raise UsageError(f"{where} ({id}): its parameters are {_kind(schema)}, not a JSON Schema")
    fault = fault_of(schema)
    if fault:
        raise UsageError(f"{where} ({id}): no JSON Schema: {fault}")
    annotations = item.get("annotations")
    # A tool of an MCP server that says nothing may destroy; of other functions that is not assumed.
    silent: Mapping[str, Any] = {} if "inputSchema" in item else {"destructiveHint": False}
    hints = annotations if isinstance(annotations, Mapping) else silent
    effect = effect_of(hints)
    wrapped = _is_wrapped(item.get("outputSchema"))
    parameters, body = parameters_of(table.take(schema, id), table.found)
    output = item.get("outputSchema", item.get("output_schema"))
    title = "" if _is_schema(item) else item.get("title") or hints.get("title")
    title, text = title_and_text(title if isinstance(title, str) else "", text if isinstance(text, str) else "")
    return Operation(
        name=unique(identifier(id), taken),
        id=id,
        group=group,
        title=title,
        text=text,
        effect=effect,
        idempotent=effect is Effect.READ or hints.get("idempotentHint") is True,
        parameters=parameters,
        body=body,
        result=result_of(output, id, table, key="result" if wrapped else None),
        wrapped=wrapped,
    )


def _is_wrapped(schema: Any) -> bool:
    """True if the library of a server has put a plain result into an object, as structured answers are objects."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or "result" not in properties:
        return False
    alone = len(properties) == 1 and schema.get("required") == ["result"]
    return alone or schema.get("x-fastmcp-wrap-result") is True


def _kind(value: Any) -> str:
    return {list: "a list", str: "a text", bool: "a truth value", type(None): "nothing"}.get(type(value), "a number")


def _load(where: str, allow_private: bool) -> Any:
    if is_url(where):
        content, _ = fetch(where, trusted=origin(where), allow_private=allow_private)
        return parse(content, shown(where))
    return read_file(Path(where).expanduser())
