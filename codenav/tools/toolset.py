"""The tool set file, a format of this project: tools with the requests that they are for and how they go together."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from codenav.core.errors import UsageError
from codenav.core.system.terminal_text import flattened
from codenav.tools.argument_schemas import title_and_text
from codenav.tools.model import IDEMPOTENT, Body, Effect, Group, Operation, Parameter, Scheme, ToolSpec
from codenav.tools.naming import identifier, unique
from codenav.tools.schemas import OwnSchemas, fault_of

MOST_TOLD = 20
"""Most violations in one message."""

_IN_URL = re.compile(r"\{([^{}/]*)\}")
_OWN = {"text", "example", "hint", "required", "place", "wire", "schema"}
"""Keys of a parameter that are no keywords of JSON Schema."""
_TYPES = {"json": "application/json", "form": "application/x-www-form-urlencoded", "multipart": "multipart/form-data"}
_STYLES = {"path": ("simple", False), "header": ("simple", False), "query": ("form", True), "cookie": ("form", True)}


def is_toolset(document: Any) -> bool:
    """True if a document wants to be a tool set file."""
    return isinstance(document, Mapping) and "sets" in document


def read_toolset(document: Mapping[str, Any], where: str, schema: Mapping[str, Any]) -> ToolSpec:
    """Make the specification of a tool set file.

    Args:
        document: The file.
        where: Its name for messages.
        schema: The JSON Schema of such files.

    Raises:
        UsageError: the file breaks its format; the message has a line for each violation.
    """
    found = violations(document, schema)
    if found:
        more = [f"… and {len(found) - MOST_TOLD} more"] if len(found) > MOST_TOLD else []
        listed = [*found[:MOST_TOLD], *more]
        told = f" {listed[0]}" if len(listed) == 1 else "".join(f"\n  {line}" for line in listed)
        raise UsageError(
            f"{where} is no valid tool set file:{told}",
            hint="codenav schema toolset",
        )
    return _Reading(document).spec()


def violations(document: Any, schema: Mapping[str, Any]) -> list[str]:
    """The violations of a tool set file, each one line that begins with its path."""
    import jsonschema_rs
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    # It is ten times as fast, and says less about what is wrong.
    if jsonschema_rs.validator_for(dict(schema)).is_valid(document):
        return list(_inconsistent(document))
    errors = sorted(Draft202012Validator(schema).iter_errors(document), key=lambda error: list(map(str, error.path)))
    found = []
    for error in errors:
        # Of alternatives, the one that comes closest.
        closest = best_match([error]) or error
        words = _words(closest.message, closest)
        found.append(f"{_path(closest.absolute_path)}: {words}")
    return found


def _words(message: str, error: Any) -> str:
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        known = list(error.schema.get("properties", ()))
        extra = [str(key) for key in error.instance if key not in known]
        near = difflib.get_close_matches(extra[0], known, n=1) if extra else []
        return f"unknown key {extra[0]!r}" + (f", did you mean {near[0]!r}?" if near else "") if extra else message
    told = error.schema.get("description") if isinstance(error.schema, Mapping) else None
    if error.validator in ("anyOf", "pattern") and told:
        message = f"{error.instance!r} does not fit: {told}"
    return flattened(message, 300)


def _path(path: Sequence[Any] | Any) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "the whole file"


def _inconsistent(document: Mapping[str, Any]) -> Iterator[str]:
    """The violations that a JSON Schema cannot express."""
    secrets = document.get("secrets", {})
    for name, secret in secrets.items():
        if secret["type"] not in ("basic", "bearer") and "name" not in secret:
            yield f"secrets.{name}: 'name' is missing, the name of the {secret['type']}"
    names = {tool["name"]: tool for one in document["sets"] for tool in one["tools"]}
    seen: set[str] = set()
    for place, one in enumerate(document["sets"]):
        path = f"sets[{place}]"
        yield from _unknown(one.get("secrets", ()), secrets, f"{path}.secrets", "secret")
        for number, tool in enumerate(one["tools"]):
            yield from _inconsistent_tool(tool, f"{path}.tools[{number}]", document)
            if tool["name"] in seen:
                yield f"{path}.tools[{number}].name: {tool['name']!r} is there twice"
            seen.add(tool["name"])
        for number, example in enumerate(one.get("examples", ())):
            for step, call in enumerate(example["calls"]):
                spot = f"{path}.examples[{number}].calls[{step}]"
                yield from _unknown([call["tool"]], names, f"{spot}.tool", "tool")
                known = names.get(call["tool"], {}).get("parameters", {})
                yield from _unknown(call.get("arguments", ()), known, f"{spot}.arguments", "parameter")


def _inconsistent_tool(tool: Mapping[str, Any], path: str, document: Mapping[str, Any]) -> Iterator[str]:
    parameters = tool.get("parameters", {})
    url = tool.get("url", "")
    if url.startswith("/") and "server" not in document:
        yield f"{path}.url: {url!r} is relative, but the file has no 'server'"
    in_url = _IN_URL.findall(url)
    wires = {details.get("wire", name) for name, details in parameters.items()}
    for name in in_url:
        if name not in wires:
            yield f"{path}.url: {{{name}}} is no parameter of the tool"
    for name, details in parameters.items():
        wire = details.get("wire", name)
        if "place" in details and not url:
            yield f"{path}.parameters.{name}.place: a tool without 'url' has none"
        elif (details.get("place", "path") == "path") != (wire in in_url) and "place" in details:
            yield f"{path}.parameters.{name}.place: the URL has {'a' if wire in in_url else 'no'} {{{wire}}}"
        yield from _no_schema(details, f"{path}.parameters.{name}")
    if "result" in tool:
        yield from _no_schema(tool["result"], f"{path}.result")
    yield from _unknown(tool.get("secrets", ()), document.get("secrets", {}), f"{path}.secrets", "secret")
    for number, example in enumerate(tool.get("examples", ())):
        yield from _unknown(example, parameters, f"{path}.examples[{number}]", "parameter")


def _no_schema(schema: Any, path: str) -> Iterator[str]:
    """The violation of JSON Schema itself, if there is one."""
    if isinstance(schema, Mapping) and "schema" in schema:
        yield from _no_schema(schema["schema"], f"{path}.schema")
    keywords = {key: value for key, value in schema.items() if key not in _OWN} if isinstance(schema, Mapping) else {}
    fault = fault_of(keywords)
    if fault:
        yield f"{path}.{fault}"
    elif isinstance(keywords.get("pattern"), str):
        try:
            re.compile(keywords["pattern"])
        except re.error as wrong:
            yield f"{path}.pattern: {keywords['pattern']!r} is no regular expression: {wrong}"


def _unknown(names: Any, known: Mapping[str, Any], path: str, kind: str) -> Iterator[str]:
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, list(known), n=1)
            yield f"{path}: there is no {kind} {name!r}" + (f", did you mean {near[0]!r}?" if near else "")


class _Reading:
    """The conversion of one valid file."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._table = OwnSchemas()
        self._taken: set[str] = set()

    def spec(self) -> ToolSpec:
        document = self._document
        groups: list[Group] = []
        operations: list[Operation] = []
        for one in document["sets"]:
            name = unique(identifier(one["name"]), {group.name for group in groups})
            made = [self._operation(tool, name, one) for tool in one["tools"]]
            groups.append(
                Group(
                    name=name,
                    title=one.get("title", ""),
                    text=one.get("text", "").strip(),
                    intent=tuple(one.get("intent", ())),
                    guidance=one.get("guidance", "").strip(),
                    examples=tuple(one.get("examples", ())),
                )
            )
            operations += made
        server = document.get("server", "")
        return ToolSpec(
            name=identifier(document["name"]),
            format="tools",
            title=document.get("title", document["name"]),
            version=str(document.get("version", "")),
            text=document.get("text", "").strip(),
            servers=(server.rstrip("/"),) if server else (),
            groups=tuple(groups),
            schemes=tuple(_scheme(name, secret) for name, secret in document.get("secrets", {}).items()),
            schemas=self._table.found,
            operations=tuple(operations),
            notes=tuple(self._table.notes),
        )

    def _operation(self, tool: Mapping[str, Any], group: str, one: Mapping[str, Any]) -> Operation:
        name = unique(identifier(tool["name"]), self._taken)
        self._taken.add(name)
        url = tool.get("url", "")
        method = tool.get("method", "GET") if url else ""
        pairs = self._parameters(tool, method)
        bodied = [parameter for parameter in pairs.values() if parameter.place == "body"]
        required = any(parameter.required for parameter in bodied)
        has_body = bool(bodied) or not url
        secrets = tool.get("secrets", one.get("secrets", ())) if url else ()
        effect = _effect(tool, method)
        title, text = title_and_text(tool.get("title", ""), tool["text"])
        return Operation(
            name=name,
            id=tool["name"],
            group=group,
            title=title,
            text=text,
            effect=effect,
            idempotent=tool.get("idempotent", method in IDEMPOTENT or effect is Effect.READ),
            deprecated=tool.get("deprecated", False),
            method=method,
            path=url,
            parameters=tuple(sorted(pairs.values(), key=lambda parameter: not parameter.required)),
            body=Body(_TYPES[tool.get("body", "json")], required=required, spread=True) if has_body else None,
            security=(tuple(secrets),) if secrets else (),
            result=self._table.take(tool["result"], name, document=self._document) if "result" in tool else None,
            result_types=("application/json",) if "result" in tool and url else (),
            result_text=tool.get("result_text", ""),
            examples=tuple(
                {pairs[key].name: value for key, value in example.items()} for example in tool.get("examples", ())
            ),
        )

    def _parameters(self, tool: Mapping[str, Any], method: str) -> dict[str, Parameter]:
        """Make the parameters by their names in the file."""
        in_url = set(_IN_URL.findall(tool.get("url", "")))
        made: dict[str, Parameter] = {}
        for key, details in tool.get("parameters", {}).items():
            wire = details.get("wire", key)
            usual = "path" if wire in in_url else "query" if method in ("GET", "HEAD", "OPTIONS", "DELETE") else "body"
            place = details.get("place", usual)
            style, explode = _STYLES.get(place, ("", False))
            schema = self._table.take(details.get("schema", {}), key, document=self._document)
            own = {name: value for name, value in details.items() if name not in _OWN}
            if "items" in own:
                own["items"] = self._table.take(own["items"], key, document=self._document)
            made[key] = Parameter(
                name=unique(identifier(key), {parameter.name for parameter in made.values()}),
                wire=wire,
                place=place,
                schema={**schema, **own},
                required=place == "path" or details.get("required", False),
                text=details.get("text", "").strip(),
                example=details.get("example"),
                hint=details.get("hint", "").strip(),
                style=style,
                explode=explode,
            )
        return made


def _effect(tool: Mapping[str, Any], method: str) -> Effect:
    if "effect" in tool:
        return Effect(tool["effect"])
    return Effect.of_method(method) if method else Effect.WRITE


def _scheme(name: str, secret: Mapping[str, Any]) -> Scheme:
    kind = secret["type"]
    over_name = kind not in ("basic", "bearer")
    return Scheme(
        name=name,
        type="key" if over_name else kind,
        place=kind if over_name else "",
        wire=secret["name"] if over_name else "",
        prefix=secret.get("prefix", ""),
        text=secret.get("text", ""),
    )
