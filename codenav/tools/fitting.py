"""Values against schemas: what arguments are checked with, and the examples that are written for them."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any
from urllib.parse import urlsplit

from codenav.tools.model import Schema

BACKTRACKS = 100_000
"""Most steps back in the match of a pattern: the code chooses the text, and a specification may hold any pattern, over
which Python's own `re` keeps the whole process waiting. A text that needs more does not match."""
_FORMATS = {"date-time": "date-time", "email": "idn-email", "time": "time"} | {
    name: name for name in ("date", "hostname", "ipv4", "ipv6", "uuid")
}
"""Formats of texts that are checked, by their names in JSON Schema; `byte` and `uri` are the others. An unknown format
allows everything."""
_BITS = {"int32": 32, "int64": 64}


class Sent(str):
    """The content of a file, as base64, where a schema is checked; `$file` itself is what is sent."""


def fits(value: Any, schema: Any, schemas: Mapping[str, Schema]) -> bool:
    """True if a value is what a schema allows. A schema that cannot be read allows everything."""
    return first_problem(validator_for(schema, schemas), value) is None


def validator_for(schema: Any, schemas: Mapping[str, Schema]) -> Any:
    """A validator for a schema whose references lead to `#/schemas/NAME`."""
    return _kind()({"schemas": schemas, "allOf": [schema]})


def first_problem(validator: Any, value: Any) -> Any:
    """The first error of a value, a `jsonschema.ValidationError`; None if it has none."""
    try:
        return nearest(validator.iter_errors(value))
    except Exception:
        # A schema may be anything, and its validator fails in as many ways.
        return None


def nearest(errors: Iterable[Any]) -> Any:
    """The error to tell: the outermost, and in a choice that of the branch which was meant; None if there is none."""
    from jsonschema.exceptions import relevance

    best: Any = max(errors, key=relevance, default=None)
    while best is not None and best.context:
        if best.validator != "anyOf":
            best = max(best.context, key=relevance)
            continue
        branches: dict[int, list[Any]] = {}
        for error in best.context:
            branches.setdefault(error.schema_path[0], []).append(error)
        of_its_kind = {at: errors for at, errors in branches.items() if not any(map(_is_other, errors))}
        told = _by_discriminator(best, branches) or _by_tags(best, of_its_kind)
        meant = told or max(branches.values(), key=lambda errors: _nearness(best.instance, errors))
        if all(_is_other(error) for error in meant):
            return best
        best = max(meant, key=relevance)
    return best


def _by_discriminator(choice: Any, branches: Mapping[int, list[Any]]) -> list[Any] | None:
    """The errors of the branch that the discriminator names, or that it names none; None without a discriminator."""
    told = choice.schema.get("discriminator") or {}
    name, mapping = told.get("propertyName"), told.get("mapping", {})
    if not name or not isinstance(choice.instance, dict):
        return None
    value = choice.instance.get(name)
    target = mapping.get(value, f"#/schemas/{value}") if isinstance(value, str) else None
    found = next((errors for at, errors in branches.items() if choice.validator_value[at].get("$ref") == target), None)
    if found is not None or not mapping:
        return found
    if name not in choice.instance:
        return [_error(choice, "required", [name], choice.instance)]
    return [_error(choice, "enum", list(mapping), value, name)]


def _by_tags(choice: Any, branches: Mapping[int, list[Any]]) -> list[Any] | None:
    """That a property has none of the values by which it tells the branches apart; None if it is not that."""
    tags = [next((error for error in errors if _is_tag(error)), None) for errors in branches.values()]
    found = [error for error in tags if error is not None]
    if not found or len(found) < len(tags) or len({error.path[0] for error in found}) > 1:
        return None
    values = [value for error in found for value in error.schema.get("enum", [error.schema.get("const")])]
    return [_error(choice, "enum", values, found[0].instance, found[0].path[0])]


def _error(choice: Any, keyword: str, wanted: list[Any], instance: Any, *path: Any) -> Any:
    import jsonschema

    return jsonschema.ValidationError(
        keyword, keyword, path, instance=instance, validator_value=wanted, schema={keyword: wanted}, parent=choice
    )


def _nearness(instance: Any, errors: Sequence[Any]) -> tuple[bool, bool, int, int]:
    """The nearness of a value to a branch: first its kind, then the tag that tells branches apart, then its keys."""
    missing = sum(len(set(error.validator_value) - set(instance)) for error in errors if error.validator == "required")
    kind, tag = not any(map(_is_other, errors)), not any(map(_is_tag, errors))
    return kind, tag, -missing, -len(errors)


def _is_tag(error: Any) -> bool:
    return error.validator in ("const", "enum") and len(error.path) == 1


def _is_other(error: Any) -> bool:
    """True if the value is of another kind than the branch: what is wrong is not inside of it."""
    if error.validator == "anyOf":
        return not error.path and all(map(_is_other, error.context))
    return not error.path and error.validator in ("type", "const", "enum")


@cache
def _kind() -> Any:
    import jsonschema

    standard = jsonschema.Draft202012Validator
    by_type = standard.VALIDATORS["type"]

    def typed(validator: Any, types: Any, instance: Any, schema: Any) -> Iterator[Any]:
        takes_file = schema.get("format") in ("binary", "byte", "base64") or "contentEncoding" in schema
        if isinstance(instance, Sent) and not takes_file and "contentMediaType" not in schema:
            yield jsonschema.ValidationError("no file is expected here")
        else:
            yield from by_type(validator, types, instance, schema)

    def matched(validator: Any, pattern: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and not isinstance(instance, Sent) and not _allows("pattern", pattern, instance):
            yield jsonschema.ValidationError("the pattern does not match")

    def formatted(validator: Any, name: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if not isinstance(instance, Sent) and not _has_format(str(name), instance):
            yield jsonschema.ValidationError(f"the format is not {name}")

    return jsonschema.validators.extend(standard, {"type": typed, "pattern": matched, "format": formatted})


def _has_format(name: str, value: Any) -> bool:
    if name in _BITS and isinstance(value, int | float) and not isinstance(value, bool):
        return -(1 << (_BITS[name] - 1)) <= value < 1 << (_BITS[name] - 1)
    if not isinstance(value, str):
        return True
    if name == "byte":
        try:
            base64.b64decode(value, validate=True)
        except ValueError:
            return False
    if name == "uri":
        return bool(urlsplit(value).scheme) and not re.search(r"\s", value)
    # Services take a moment with a space in it, and a time without a zone.
    if name == "date-time":
        value = value.replace(" ", "T", 1)
    if name == "time" and not re.search(r"[Zz]|[+-]\d\d:\d\d", value):
        value += "Z"
    return name not in _FORMATS or _allows("format", _FORMATS[name], value)


def _allows(keyword: str, operand: Any, text: str) -> bool:
    """True if a keyword allows a text; so does a pattern that cannot be read."""
    found = _compiled(keyword, str(operand))
    return found is None or bool(found.is_valid(text))


@lru_cache(maxsize=512)
def _compiled(keyword: str, operand: str) -> Any:
    import jsonschema_rs

    options = jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACKS)
    try:
        return jsonschema_rs.validator_for({keyword: operand}, pattern_options=options, validate_formats=True)
    except ValueError:
        return None
