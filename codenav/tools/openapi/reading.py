"""An OpenAPI document as a tool specification."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from codenav.core.errors import UsageError
from codenav.core.system.collecting import uncollected
from codenav.tools.addresses import shown
from codenav.tools.model import IDEMPOTENT, Body, Effect, Group, Operation, Parameter, ToolSpec
from codenav.tools.naming import identifier, package_name, unique
from codenav.tools.openapi.bodies import body_of, old_body, spread
from codenav.tools.openapi.context import Context, LeftOut, first_line, mapping_of, text_of
from codenav.tools.openapi.directions import Directions, cut_circles, references
from codenav.tools.openapi.parameters import (
    IGNORED_HEADERS,
    complete_path,
    name_all,
    parameter_of,
    parameters_at,
)
from codenav.tools.openapi.results import links_of, result_of
from codenav.tools.openapi.security import need_of, read_schemes, take_tokens
from codenav.tools.openapi.servers import root_servers, servers_at
from codenav.tools.references import Library, Place
from codenav.tools.schemas import PREFIX
from codenav.tools.validation import METHODS, version_of

_CHECK = "codenav tools check compares it with its specification"


@dataclass(frozen=True, slots=True)
class Found:
    """An operation of a document before schemas are told apart by direction."""

    operation: Operation
    body: Body | None
    whole: Parameter | None
    """The body as one parameter; None if its properties are parameters already, as in forms of 2.0."""


def read_openapi(where: str, *, allow_private: bool = False) -> ToolSpec:
    """Read an OpenAPI document, 2.0 to 3.2, from a file or URL.

    Raises:
        NotFound: no such file, or the server does not know the address.
        UsageError: it is no OpenAPI document, an invalid one, or refers to something that it may not.
        Unavailable: its server does not answer or refuses.
    """
    with uncollected():
        return _read(where, allow_private)


def _read(where: str, allow_private: bool) -> ToolSpec:
    library = Library(where, allow_private=allow_private)
    version = version_of(library.root.value, shown(where))
    context = Context(library, version)
    read_schemes(context)
    servers = root_servers(context)
    try:
        found = list(operations_of(context, servers))
    except LeftOut as error:
        raise UsageError(f"{shown(where)} has no operations: {error}") from error
    if not found:
        why = "".join(f": {note}" for note in list(context.notes)[-1:])
        raise UsageError(f"{shown(where)} has no operations that can be called{why}", hint=_CHECK)
    operations = with_directions(context, found)
    info = mapping_of(library.root.value.get("info"))
    groups, operations = with_groups(context, operations)
    return ToolSpec(
        name=package_name(where, title=text_of(info.get("title"))),
        format="openapi",
        title=text_of(info.get("title")),
        version=str(info.get("version") or ""),
        text=text_of(info.get("description")) or text_of(info.get("summary")),
        servers=tuple(servers),
        groups=tuple(groups),
        schemes=tuple(context.schemes.values()),
        schemas=schemas_in_use(context.schemas.found, operations),
        operations=tuple(operations),
        notes=tuple(context.kept_notes()),
    )


def operations_of(context: Context, servers: Sequence[str]) -> Iterator[Found]:
    """The operations in the order of the document; one that cannot be read is noted."""
    taken: set[str] = set()
    ids: set[str] = set()
    paths = context.resolve(context.library.root.at("paths"))
    for path in mapping_of(paths.value):
        if path.startswith("x-"):
            continue
        if not path.startswith("/"):
            context.note(f"{paths.at(path).pointer}: does not begin with a slash: left out")
            continue
        try:
            item = context.resolve(paths.at(path), beside=None)
            if not isinstance(item.value, Mapping):
                raise LeftOut("it is no object")
        except LeftOut as error:
            context.note(f"all operations of {path} are left out: {error}")
            continue
        for method, operation in methods_of(item):
            called = f"{method.upper()} {path}"
            try:
                operation = context.resolve(operation, beside=None)
                if not isinstance(operation.value, Mapping):
                    raise LeftOut(f"{operation.pointer}: is no object")
                made = operation_of(context, path, method, item, operation, servers)
            except LeftOut as error:
                context.note(f"{called} is left out: {error}")
                continue
            name, own_id = naming(context, called, operation, ids)
            name = unique(name, taken)
            taken.add(name)
            yield replace(made, operation=replace(made.operation, name=name, id=own_id))


def methods_of(item: Place) -> Iterator[tuple[str, Place]]:
    """The methods of a path item and their operations."""
    for method in item.value:
        if method in METHODS:
            yield method, item.at(method)
    for method in mapping_of(item.value.get("additionalOperations")):
        if re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", method):
            yield method, item.at("additionalOperations", method)


def naming(context: Context, called: str, operation: Place, ids: set[str]) -> tuple[str, str]:
    """Name in Python, before it is made unique, and id of an operation."""
    given = operation.value.get("operationId")
    if isinstance(given, str) and given.strip():
        if given not in ids:
            ids.add(given)
            return identifier(given, otherwise="operation"), given
        context.note(f"{operation.pointer}/operationId: {given!r} is there already: a number tells them apart")
        return identifier(given, otherwise="operation"), called
    return identifier(called.lower(), otherwise="operation"), called


def operation_of(
    context: Context, path: str, method: str, item: Place, operation: Place, servers: Sequence[str]
) -> Found:
    """An operation but for its name.

    Raises:
        LeftOut: it cannot be called.
    """
    value = operation.value
    parameters = parameters_at(context, item, operation)
    if context.old:
        body, contents = old_body(context, parameters, operation)
    else:
        body, contents = body_of(context, operation)
    found = []
    for (name, where), place in parameters.items():
        if where == "header" and name.lower() in IGNORED_HEADERS:
            continue
        if where in ("path", "query", "header", "cookie", "querystring"):
            found.append(parameter_of(context, place, where))
        elif not (context.old and where in ("body", "formData")):
            raise LeftOut(f"{place.pointer}: there are no parameters in {where!r}")
    found = complete_path(context, path, operation, found)
    result = result_of(context, operation)
    security, scopes = need_of(context, operation)
    own = servers_at(context, operation) or servers_at(context, item)
    method = method.upper() if method in METHODS else method
    summary = text_of(value.get("summary")) or text_of(item.value.get("summary"))
    text = text_of(value.get("description")) or text_of(item.value.get("description"))
    tags = value.get("tags")
    tag = next((tag for tag in tags if isinstance(tag, str) and tag.strip()), "") if isinstance(tags, list) else ""
    whole = contents[0] if len(contents) == 1 and contents[0].place == "content" else None
    return Found(
        Operation(
            name="", id="", group=tag or f"/{segment(path)}", title=first_line(summary or text), text=text or summary,
            effect=Effect.of_method(method), idempotent=method in IDEMPOTENT,
            deprecated=value.get("deprecated") is True, method=method, path=path.partition("#")[0],
            servers=tuple(own) if own != list(servers) else (),
            parameters=tuple(found if whole else [*found, *contents]),
            security=security, scopes=scopes, result=result.schema, result_types=result.types,
            result_text=result.text, links=links_of(context, operation),
        ),
        body, whole,
    )  # fmt: skip


def segment(path: str) -> str:
    """The first segment of a path that says what it is about: no parameter and no version."""
    for part in re.split(r"[/?#]", path):
        if part and "{" not in part and not re.fullmatch(r"api|rest|v?\d+(\.\d+)*", part.lower()):
            return part
    return "root"


def with_directions(context: Context, found: Sequence[Found]) -> list[Operation]:
    """The operations with schemas of their direction, bodies spread, and tokens taken out."""
    cut_circles(context.schemas.found, context.note)
    directions = Directions(context.schemas.found, context.schemas.flags)
    made = []
    for item in found:
        body: Body | None = item.body
        contents: list[Parameter] = []
        if item.whole is not None and body is not None:
            body, contents = spread(context, directions, body, item.whole)
        parameters = [
            replace(parameter, schema=directions.of_request(parameter.schema))
            for parameter in (*item.operation.parameters, *contents)
        ]
        result = item.operation.result
        made.append(
            replace(
                item.operation,
                body=body,
                parameters=tuple(parameters),
                result=None if result is None else directions.of_answer(result),
            )
        )
    before = named_schemes(made)
    made = take_tokens(context, made)
    for name in before - named_schemes(made):
        # What a token in a parameter stands for has no use of its own any more.
        del context.schemes[name]
    made = [replace(operation, parameters=tuple(name_all(list(operation.parameters)))) for operation in made]
    return [
        replace(operation, examples=example_calls(operation, item.whole.example if item.whole else None))
        for operation, item in zip(made, found, strict=True)
    ]


def named_schemes(operations: Sequence[Operation]) -> set[str]:
    """The schemes that operations need."""
    return {name for operation in operations for names in operation.security for name in names}


def example_calls(operation: Operation, body: Any) -> tuple[Mapping[str, Any], ...]:
    """The arguments of an example call, with those of an example of the body; none where a required one has none."""
    found = {}
    for parameter in operation.parameters:
        if parameter.place == "content" and body is not None:
            found[parameter.name] = body
        elif parameter.place == "body" and isinstance(body, Mapping) and parameter.wire in body:
            found[parameter.name] = body[parameter.wire]
        elif parameter.required:
            found[parameter.name] = parameter.example
    return (found,) if found and None not in found.values() else ()


def with_groups(context: Context, operations: Sequence[Operation]) -> tuple[list[Group], list[Operation]]:
    """The groups that operations are in, and the operations with their names.

    A group is a module beside the operations: it gives way to an operation of its name.
    """
    described = {}
    root = context.library.root
    for tag in root.value.get("tags") if isinstance(root.value.get("tags"), list) else ():
        if isinstance(tag, Mapping) and isinstance(tag.get("name"), str):
            described[tag["name"]] = tag
    names = {operation.name for operation in operations}
    groups: dict[str, Group] = {}
    for operation in operations:
        if operation.group in groups:
            continue
        name = identifier(operation.group, otherwise="operations")
        name = f"{name.rstrip('_')}_group" if name in names else name
        name = unique(name, names | {group.name for group in groups.values()})
        tag = described.get(operation.group, {})
        title = text_of(tag.get("summary")) or operation.group.removeprefix("/")
        groups[operation.group] = Group(name, title=title, text=text_of(tag.get("description")))
    return list(groups.values()), [
        replace(operation, group=groups[operation.group].name) for operation in operations
    ]  # fmt: skip


def schemas_in_use(schemas: Mapping[str, Any], operations: Sequence[Operation]) -> dict[str, Any]:
    """The schemas that operations refer to, directly or through others."""
    waiting = [
        schema
        for operation in operations
        for schema in (*(parameter.schema for parameter in operation.parameters), operation.result)
        if schema
    ]
    found: set[str] = set()
    while waiting:
        schema = waiting.pop()
        targets = {holder["$ref"].removeprefix(PREFIX) for holder in references(schema)}
        discriminator = schema.get("discriminator")
        if isinstance(discriminator, Mapping):
            targets |= {target.removeprefix(PREFIX) for target in discriminator.get("mapping", {}).values()}
        for name in targets - found:
            found.add(name)
            waiting.append(schemas[name])
    return {name: schema for name, schema in schemas.items() if name in found}
