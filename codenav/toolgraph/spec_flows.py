"""The flows of results from call to call, and the groups, that specifications state."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from codenav.core.traces import Trace, TracedCall
from codenav.toolgraph.nodes import Node, NodeKind
from codenav.tools.model import Operation, Schema, ToolSpec
from codenav.tools.types import kinds_of, list_at, resolved

MOST_GIVERS = 5
"""The most callables that give what a parameter takes. What more of them give says little about any."""
_DEEPEST = 4
"""Schemas inside each other in which an object is looked for."""
_PATH_PARAMETER = re.compile(r"\{([^{}]+)\}")
_MOST_SCHEMAS = 2_000
"""The most schemas of an answer that are looked at."""


class Flow(NamedTuple):
    """A result that goes into a parameter, by the names of the callables."""

    giver: str
    taker: str
    parameter: str


def flows_of_spec(spec: ToolSpec, prefix: str) -> list[Flow]:
    """The flows between operations, in three ways.

    Links that the specification states. Paths: what `/users` or `/search/users` lists, `/users/{user_id}/orders` takes,
    if its objects have such an id, of the same type. Types: what has an object of a named schema, and who takes a whole
    one. The last two only where few operations give it. Equal names alone
    say nothing: they join 14 to 18 % of all pairs of operations of TMDB and Spotify, these rules 1.9 % and 0.6 %.

    `prefix`: what stands before the names of the operations in the names of callables, `shop.`.
    """
    linked = list(_linked(spec.operations))
    found = dict.fromkeys(linked)
    stated = {(flow.taker, flow.parameter) for flow in linked}
    for guessed in (_by_path(spec), _by_type(spec)):
        # What the specification states about a parameter needs no guess.
        found |= dict.fromkeys(flow for flow in _few(guessed) if (flow.taker, flow.parameter) not in stated)
    return [Flow(prefix + giver, prefix + taker, parameter) for giver, taker, parameter in found]


def traces_of_spec(spec: ToolSpec, prefix: str) -> Iterator[Trace]:
    """The example requests of the groups of a tool set, with the calls that answer them."""
    known = {operation.name for operation in spec.operations}
    for group in spec.groups:
        for number, example in enumerate(group.examples):
            calls = example.get("calls") if isinstance(example, Mapping) else None
            names = [str(call.get("tool")) for call in calls or () if isinstance(call, Mapping)]
            if len(names) > 1 and known.issuperset(names):
                made = tuple(TracedCall(prefix + name) for name in names)
                request = str(example.get("request") or "")
                yield Trace(f"{spec.name}:{group.name}:{number}", made, request, origin="specs")


def memberships(spec: ToolSpec, prefix: str) -> Iterator[tuple[Node, Node]]:
    """The members of groups: operations of their groups, and groups, or what has none, of the specification.

    Groups have names with a stroke, `shop/orders`, since an operation may be called as one is.
    """
    whole = Node(f"{spec.name}/", NodeKind.CATEGORY, spec.title)
    groups = {one.name: Node(f"{spec.name}/{one.name}", NodeKind.GROUP, one.title or one.text) for one in spec.groups}
    for group in groups.values():
        yield group, whole
    for operation in spec.operations:
        yield Node(prefix + operation.name), groups.get(operation.group, whole)


def _few(flows: Iterable[Flow]) -> Iterator[Flow]:
    givers: dict[tuple[str, str], dict[Flow, None]] = defaultdict(dict)
    for flow in flows:
        if flow.giver != flow.taker:
            givers[flow.taker, flow.parameter][flow] = None
    for found in givers.values():
        if len(found) <= MOST_GIVERS:
            yield from found


def _linked(operations: Sequence[Operation]) -> Iterator[Flow]:
    by_id = {name: one for one in operations for name in (f"{one.method} {one.path}", one.id)}
    for giver in operations:
        for link in giver.links:
            taker = by_id.get(link.operation)
            if taker is None or taker is giver:
                continue
            for wire in link.parameters:
                named = (one for one in taker.parameters if one.wire == wire or (one.place == "content" and not wire))
                parameter = next(named, None)
                if parameter is not None:
                    yield Flow(giver.name, taker.name, parameter.name)


def _by_path(spec: ToolSpec) -> Iterator[Flow]:
    """Flows from what lists the things of a segment into the parameters after that segment."""
    lists: dict[str, list[Operation]] = defaultdict(list)
    for operation in spec.operations:
        parts = _parts(operation.path)
        if parts and not _PATH_PARAMETER.search(parts[-1]) and operation.method in ("GET", "POST", "QUERY"):
            lists[_singular(parts[-1])].append(operation)
    things: dict[str, dict[str, str]] = {}
    for taker in spec.operations:
        parts = _parts(taker.path)
        for before, part in pairwise(parts):
            match = _PATH_PARAMETER.fullmatch(part)
            named = (one for one in taker.parameters if match and one.place == "path" and one.wire == match[1])
            parameter = next(named, None)
            if match is None or parameter is None:
                continue
            kind = _singular(before)
            for giver in lists.get(kind, ()):
                if part in _parts(giver.path):
                    # It takes the same thing.
                    continue
                if giver.name not in things:
                    things[giver.name] = _properties(giver.result, spec.schemas)
                if _identifies(match[1], kind, _type(parameter.schema, spec.schemas), things[giver.name]):
                    yield Flow(giver.name, taker.name, parameter.name)


def _identifies(wire: str, kind: str, type_: str, properties: Mapping[str, str]) -> bool:
    """True if objects have a property that is what a parameter is called."""
    name = _plain(wire)
    short = name.removeprefix(_plain(kind)) or "id"
    for own, its in properties.items():
        if its == type_ and _plain(own) in (name, short):
            return True
    # `/customers/{customer}` takes the only thing of that type that tells customers apart.
    return name == _plain(kind) and list(properties.values()).count(type_) == 1


def _by_type(spec: ToolSpec) -> Iterator[Flow]:
    """Flows of whole objects of a named schema."""
    givers: dict[str, list[Operation]] = defaultdict(list)
    for operation in spec.operations:
        name = _named_object(operation.result, spec.schemas)
        if name:
            givers[name].append(operation)
    for taker in spec.operations:
        for parameter in taker.parameters:
            name = _named_object(parameter.schema, spec.schemas)
            for giver in givers.get(name, ()) if name else ():
                yield Flow(giver.name, taker.name, parameter.name)


def _named_object(schema: Any, schemas: Mapping[str, Schema]) -> str:
    """The name of the schema of an object, or of the objects in a list; empty if it has none."""
    for one in (schema, schema.get("items")) if isinstance(schema, Mapping) else ():
        reference = one.get("$ref") if isinstance(one, Mapping) else None
        if isinstance(reference, str):
            properties = resolved(one, schemas).get("properties")
            return reference.rpartition("/")[2] if isinstance(properties, Mapping) and len(properties) > 1 else ""
    return ""


def _properties(schema: Any, schemas: Mapping[str, Schema]) -> dict[str, str]:
    """The properties of the objects in an answer, at any depth that is looked at, with their types."""
    found: dict[str, str] = {}
    stack = [(schema, 0)]
    # A schema may be a part of itself.
    for _ in range(_MOST_SCHEMAS):
        if not stack:
            break
        one, depth = stack.pop()
        one = resolved(one, schemas)
        properties = one.get("properties") if depth <= _DEEPEST else None
        for name, inner in properties.items() if isinstance(properties, Mapping) else ():
            type_ = _type(inner, schemas)
            if type_ in ("integer", "string", "number"):
                found.setdefault(str(name), type_)
            elif type_ == "array" or depth == 0:
                stack.append((inner, depth + 1))
        stack += [(one["items"], depth + 1)] if "items" in one and depth < _DEEPEST else []
        stack += [(part, depth) for key in ("allOf", "anyOf", "oneOf") for part in list_at(one, key)[:20]]
    return found


def _type(schema: Any, schemas: Mapping[str, Schema]) -> str:
    """The JSON type of a value, null aside; empty if nothing is said about it."""
    return next((kind for kind in kinds_of(resolved(schema, schemas)) if kind != "null"), "")


def _parts(path: str) -> list[str]:
    return [part for part in path.partition("?")[0].split("/") if part]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _singular(word: str) -> str:
    word = word.lower()
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if re.search(r"(?:ss|x|ch|sh)es$", word):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
