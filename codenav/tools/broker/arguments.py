"""Checks of arguments against the schemas of their operation. The errors say what is expected, with an example."""

from __future__ import annotations

import base64
import difflib
import re
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from codenav.core.system.terminal_text import flattened, neutral, shortened
from codenav.tools.broker.flights import Refused
from codenav.tools.broker.request import is_file, with_files
from codenav.tools.describing import bounds_of
from codenav.tools.examples import NoExample, example_arguments, example_of
from codenav.tools.fitting import Sent, first_problem, validator_for
from codenav.tools.model import Operation, Parameter, Schema
from codenav.tools.types import allows_null, merged, shape

FILE_BYTES = 8 << 20
"""Most bytes of the files that one call sends."""
MOST_MISTAKES = 3
"""Equal mistakes on one tool after which the code is told to give it up."""
_SHOWN = 200


class ArgumentChecker:
    """The checker of the arguments of one specification's operations. It counts mistakes."""

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self._schemas = schemas
        self._validators: dict[str, Any] = {}
        self._mistakes: Counter[tuple[str, str, str]] = Counter()
        self._lock = threading.Lock()

    def check(self, tool: str, operation: Operation, arguments: Any) -> dict[str, Any]:
        """Check arguments, and return them without those that are None for "not given".

        Raises:
            Refused: an argument is missing, unknown, or not what its schema says.
        """
        if not isinstance(arguments, dict):
            raise Refused(f"{tool}: the arguments are a dict of names and values")
        known = {item.name: item for item in operation.parameters}
        for name in arguments:
            if name not in known:
                self._refuse(tool, operation, str(name), "unknown", self._unknown(str(name), list(known)))
        given = {
            name: value
            for name, value in arguments.items()
            if value is not None or known[name].required or allows_null(known[name].schema, self._schemas)
        }
        for name, item in known.items():
            if item.required and name not in given:
                self._refuse(tool, operation, name, "required", f"{name} is missing; expected {self._expected(item)}")
        shown, room = {}, [FILE_BYTES]
        for name, value in given.items():
            try:
                shown[name] = _with_files(value, room)
            except Refused as refusal:
                self._refuse(tool, operation, name, "file", f"{name}: {refusal}")
        problem = self._problem(operation, shown)
        if problem is not None:
            name = str(problem.absolute_path[0]) if problem.absolute_path else ""
            self._refuse(tool, operation, name, str(problem.validator), self._told(problem, known.get(name)))
        return given

    def _problem(self, operation: Operation, shown: Mapping[str, Any]) -> Any:
        """Return the first violation, or None."""
        with self._lock:
            validator = self._validators.get(operation.name)
            if validator is None:
                validator = self._validators[operation.name] = _validator(operation, self._schemas)
        return first_problem(validator, dict(shown))

    def _refuse(self, tool: str, operation: Operation, name: str, kind: str, told: str) -> None:
        with self._lock:
            self._mistakes[tool, name, kind] += 1
            count = self._mistakes[tool, name, kind]
        text = f"{tool}: {told}"
        item = next((one for one in operation.parameters if one.name == name), None)
        with suppress(NoExample):
            if item is not None:
                text += f"; for example {name}={_shown(example_of(item, self._schemas))}"
            elif operation.parameters:
                text += f"; for example {tool}({_called(example_arguments(operation, self._schemas))})"
        if count >= MOST_MISTAKES:
            text += f". This is the same mistake for the {_ordinal(count)} time: give up {tool}, and do without it"
        raise Refused(flattened(neutral(text), 1000))

    @staticmethod
    def _unknown(name: str, known: Sequence[str]) -> str:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        if near:
            return f"there is no argument {name[:60]}; did you mean {near[0]}?"
        return f"there is no argument {name[:60]}; it takes {', '.join(known) or 'none'}"

    def _expected(self, item: Parameter) -> str:
        return expected(item.schema, self._schemas) + (f" ({flattened(item.text, 120)})" if item.text else "")

    def _told(self, problem: Any, item: Parameter | None) -> str:
        """Return what is wrong with which part of which argument."""
        path = list(problem.absolute_path)
        where = "".join(f"[{part!r}]" if place else str(part) for place, part in enumerate(path)) or "the arguments"
        if problem.validator == "required":
            missing = [name for name in problem.validator_value if name not in problem.instance]
            return f"{where} has no {' and no '.join(map(repr, missing))}"
        if problem.validator == "additionalProperties":
            allowed = list(problem.schema.get("properties", {}))
            extra = [name for name in problem.instance if name not in allowed]
            return f"{where}: {self._unknown(str(extra[0]) if extra else '', allowed).replace('argument', 'key')}"
        wanted = expected(problem.schema, self._schemas)
        whole = f" ({flattened(item.text, 120)})" if item is not None and item.text and len(path) == 1 else ""
        return f"{where}: expected {wanted}{whole}, got {_shown(problem.instance)}"


def expected(schema: Any, schemas: Mapping[str, Schema]) -> str:
    """Return what a schema expects: the type or shape as stubs show it, with its bounds."""
    whole = merged(schema, schemas)
    if whole.get("format") == "binary":
        return "a file (a path in the work folder, or bytes)"
    facts = [shortened(shape(whole, schemas), _SHOWN) or "any value", *bounds_of(whole)]
    facts += [f"format {whole['format']}"] if whole.get("format") else []
    facts += [f"matching {str(whole['pattern'])[:80]}"] if whole.get("pattern") else []
    return ", ".join([*facts, *(["no item twice"] if whole.get("uniqueItems") else [])])


def without_content(value: Any) -> Any:
    """Return arguments as a record keeps them: files with their length in place of their content."""

    def short(file: dict[str, Any]) -> dict[str, Any]:
        size = len(file["data"].rstrip("=")) * 3 // 4
        return {"$file": {"name": file.get("name"), "type": file.get("type"), "bytes": size}}

    return with_files(value, short)


def _with_files(value: Any, room: list[int]) -> Any:
    """Return a value with files as their content, for a schema. Raises Refused."""
    if is_file(value):
        file = value["$file"]
        try:
            content = base64.b64decode(file["data"], validate=True)
        except ValueError:
            raise Refused("the content of a file is base64") from None
        for key in ("name", "type"):
            if not isinstance(file.get(key, ""), str) or len(file.get(key, "")) > 255:
                raise Refused(f"the {key} of a file is a text of at most 255 characters")
        if file.get("type") and not re.fullmatch(r"[\w.+-]+/[\w.+-]+(; ?[\w-]+=[\w.-]+)*", file["type"], re.ASCII):
            raise Refused("the type of a file is a media type, such as image/png")
        room[0] -= len(content)
        if room[0] < 0:
            raise Refused(f"the files of a call have at most {FILE_BYTES >> 20} MiB")
        return Sent(file["data"])
    if isinstance(value, dict):
        if "$file" in value:
            raise Refused("a file is {'$file': {'name', 'type', 'data'}}, with its content as base64")
        return {name: _with_files(item, room) for name, item in value.items()}
    return [_with_files(item, room) for item in value] if isinstance(value, list) else value


def _validator(operation: Operation, schemas: Mapping[str, Schema]) -> Any:
    properties = {item.name: item.schema for item in operation.parameters}
    return validator_for({"type": "object", "properties": properties}, schemas)


def _called(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_shown(value)}" for name, value in arguments.items())


def _shown(value: Any) -> str:
    if isinstance(value, Sent):
        return "a file"
    try:
        return flattened(repr(without_content(value)), _SHOWN)
    except (RecursionError, ValueError):
        return "a value"


def _ordinal(count: int) -> str:
    return {3: "third", 4: "fourth", 5: "fifth"}.get(count, f"{count}th")
