"""Docstrings of operations: what one does, its parameters, the shape of its result and an example call."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from codenav.tools.examples import NoExample, example_arguments
from codenav.tools.fitting import fits
from codenav.tools.model import Effect, Group, Operation, Parameter, ToolSpec
from codenav.tools.types import Schemas, Types, is_number, kinds_of, list_at, merged, quoted, shape

TEXT_CHARACTERS = 2000
PARAMETER_CHARACTERS = 400
EXAMPLE_CHARACTERS = 400
WIDTH = 100

_EFFECTS = {Effect.READ: "reads", Effect.WRITE: "writes", Effect.DESTROY: "may delete"}
_TAGS = re.compile(r"</?(?:a|b|br|code|div|em|h[1-6]|i|li|ol|p|pre|span|strong|table|tbody|td|th|tr|ul)\b[^<>]*>", re.I)
_BOUNDS = (
    ("minimum", "at least {}"), ("exclusiveMinimum", "over {}"), ("maximum", "at most {}"),
    ("exclusiveMaximum", "under {}"), ("multipleOf", "a multiple of {}"), ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"), ("minItems", "at least {} items"), ("maxItems", "at most {} items"),
    ("minProperties", "at least {} keys"), ("maxProperties", "at most {} keys"),
)  # fmt: skip


def docstring(operation: Operation, spec: ToolSpec) -> str:
    """The docstring of a stub, not indented and not escaped."""
    parts = [_first(operation, spec), *_prose(operation)]
    if operation.unusable:
        parts.append(f"Cannot be called: {operation.unusable}.")
    if operation.deprecated:
        parts.append("Deprecated.")
    if operation.parameters:
        rows = (_parameter(item, spec.schemas) for item in operation.parameters)
        parts.append("\n".join(["Args:", *rows]))
    if any(_is_choice(item.schema, spec.schemas) for item in operation.parameters):
        parts.append("Where a value has several of the shapes that an argument may have, the server decides.")
    parts.append("\n".join(["Returns:", _result(operation, spec.schemas)]))
    parts.append("\n".join(["Example:", f"    {example_call(operation, spec.schemas)}"]))
    return "\n\n".join(parts)


def title_of(operation: Operation) -> str:
    """The title of an operation, in one line."""
    for text in (operation.title, operation.text):
        lines = clean(text).strip().splitlines()
        if lines and lines[0].strip():
            return _cut(" ".join(lines[0].strip("# ").split()), 200)
    return operation.id if operation.method else operation.name.replace("_", " ").strip()


def clean(text: str) -> str:
    """A text from a specification without tags of HTML, control characters and parts of characters."""
    if text.isprintable() and "<" not in text:
        return text
    text = _TAGS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(letter if letter == "\n" or letter.isprintable() else " " for letter in text.expandtabs(4))


def example_call(operation: Operation, schemas: Schemas) -> str:
    """A call of the stub with example arguments, in one line; long ones, and ones that nobody knows, are left open."""
    try:
        arguments = example_arguments(operation, schemas)
    except NoExample:
        return f"{operation.name}({', '.join(f'{item.name}=…' for item in operation.parameters if item.required)})"
    text = f"{operation.name}({', '.join(f'{name}={_value(value)}' for name, value in arguments.items())})"
    if len(text) > EXAMPLE_CHARACTERS:
        text = f"{operation.name}({', '.join(f'{name}=…' for name in arguments)})"
    return text


def _first(operation: Operation, spec: ToolSpec) -> str:
    title = title_of(operation)
    title = title if title.endswith((".", "!", "?", "…")) else f"{title}."
    where = f"{operation.method} {operation.path}" if operation.method else f"Tool {operation.id!r} of {spec.name}"
    kind = operation.body.content_type if operation.body else ""
    if kind.endswith("+json"):
        # It says what the body means: `application/merge-patch+json`.
        where += f" as {kind}"
    return f"{title}\n\n{_cut(clean(where), 300)}: {_EFFECTS[operation.effect]}."


def _prose(operation: Operation) -> Iterator[str]:
    text = re.sub(r"\n{3,}", "\n\n", clean(operation.text)).strip()
    first, _, rest = text.partition("\n")
    if " ".join(first.strip("# ").split()).rstrip(".") == title_of(operation).rstrip("."):
        text = rest.strip()
    if text:
        yield "\n".join(line.rstrip() for line in _cut(text, TEXT_CHARACTERS).splitlines())


def _parameter(item: Parameter, schemas: Schemas) -> str:
    schema = merged(item.schema, schemas)
    said = " ".join(clean(item.text or str(schema.get("description") or "")).split())
    facts = list(_facts(item, schema, schemas))
    text = " ".join(filter(None, [_sentence(_cut(said, PARAMETER_CHARACTERS)), *map(_sentence, facts)]))
    return _wrapped(f"{item.name}: {text or 'no description.'}")


def _wrapped(text: str) -> str:
    """A text in lines of at most `WIDTH` where its words allow, the first indented by 4, the others by 8."""
    return textwrap.fill(
        " ".join(text.split()), WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _is_choice(schema: Mapping[str, Any], schemas: Schemas) -> bool:
    """True if a value may have one of several shapes, of which it can fit two."""
    parts = [merged(part, schemas) for part in list_at(merged(schema, schemas), "anyOf")]
    return sum("object" in kinds_of(part) for part in parts) > 1


def _facts(item: Parameter, schema: Mapping[str, Any], schemas: Schemas) -> Iterator[str]:
    kinds = kinds_of(schema)
    form = schema.get("format")
    if form == "binary":
        yield "The path of a file in the current folder, or its content as bytes"
    elif isinstance(form, str) and form:
        yield f"Format {clean(form)}"
    bounds = bounds_of(schema)
    if bounds:
        yield ", ".join(bounds).capitalize()
    if isinstance(schema.get("pattern"), str) and len(schema["pattern"]) <= 120:
        yield f"Pattern {clean(schema['pattern'])}"
    inner = merged(schema.get("items"), schemas) if "array" in kinds else schema
    values = list_at(inner, "enum")
    if values and (inner is not schema or "Literal" not in Types(schemas).of(schema)):
        shown = ", ".join(quoted(value) for value in values[:40])
        yield f"One of {_cut(clean(shown), 600)}" + (f" and {len(values) - 40} more" if len(values) > 40 else "")
    form = shape(schema, schemas)
    if "{" in form and form not in ("{…}", "[{…}]"):
        yield f"Shape {clean(form)}"
    if not item.required and schema.get("default") is not None:
        yield f"Default {_cut(_value(schema['default']), 100)}"
    if item.example is not None and fits(item.example, item.schema, schemas):
        yield f"Example: {_cut(_value(item.example), 200)}"
    if item.hint:
        yield f"In a request: {_cut(' '.join(clean(item.hint).split()), 200)}"


def bounds_of(schema: Mapping[str, Any]) -> list[str]:
    """The bounds that a schema has for values: `at least 1`, `at most 3 characters`."""
    return [_bound(text, schema[key]) for key, text in _BOUNDS if is_number(schema.get(key))]


def _bound(text: str, value: Any) -> str:
    said = text.format(quoted(value))
    return said.removesuffix("s") if value == 1 and said.endswith("s") else said


def _result(operation: Operation, schemas: Schemas) -> str:
    said = " ".join(clean(operation.result_text).split())
    form = clean(shape(operation.result, schemas)) if operation.result is not None else ""
    if is_file(operation, schemas):
        said = f"{_sentence(said)} The path of the file that the answer is written to".strip()
        form = ""
    facts = [_sentence(_cut(said, PARAMETER_CHARACTERS)), f"Shape: {form}" if form else ""]
    text = " ".join(filter(None, facts)) or "the answer; the specification does not describe it."
    return f"    {result_type(operation, schemas)}: {text}"


def result_type(operation: Operation, schemas: Schemas) -> str:
    """The annotation of the result."""
    if is_file(operation, schemas):
        return "str"
    if operation.result is None:
        return "Any"
    return Types(schemas, answers=True).of(operation.result)


def is_file(operation: Operation, schemas: Schemas) -> bool:
    """True if a good answer is a file: its schema says so, or its media types are neither data nor text."""
    if merged(operation.result, schemas).get("format") == "binary":
        return True
    types = [kind.partition(";")[0].strip().lower() for kind in operation.result_types]
    return bool(types) and not any(
        kind.startswith("text/") or kind.endswith(("json", "xml", "yaml", "/*", "urlencoded")) for kind in types
    )


def group_text(group: Group) -> str:
    """The text of a group: title, description, the requests that it is for, and guidance."""
    intent = "; ".join(" ".join(clean(one).split()) for one in group.intent)
    title = clean(group.title).strip()
    parts = [
        title if title.casefold() != group.name.casefold() else "",
        clean(group.text).strip() if clean(group.text).strip() != title else "",
        f"For requests such as: {intent}" if intent else "",
        clean(group.guidance).strip(),
        *map(_worked_example, group.examples),
    ]
    return "\n\n".join(filter(None, parts))


def _worked_example(example: Mapping[str, Any]) -> str:
    """A request with the calls that answer it, in one line; empty for an example in another form."""
    calls = example.get("calls")
    if not isinstance(calls, list | tuple) or not all(isinstance(call, dict) and "tool" in call for call in calls):
        return ""
    written = []
    for call in calls:
        given = call.get("arguments")
        arguments = (
            ", ".join(f"{name}={_value(value)}" for name, value in given.items()) if isinstance(given, dict) else ""
        )
        written.append(f"{call['tool']}({arguments})")
    return _cut(" ".join(clean(f"Example: {example.get('request', '')}: {'; '.join(written)}").split()), 600)


def _sentence(text: str) -> str:
    return text if not text or text.endswith((".", "!", "?", "…", ":")) else f"{text}."


def _value(value: Any) -> str:
    return " ".join(clean(quoted(value)).split(" "))


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
