"""YAML and JSON documents from text that nobody vouches for: bounded, JSON types only, each error with its line."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from codenav.core.errors import NotFound, UsageError

LARGEST = 64 * 1024 * 1024
"""Bytes of a document."""
DEEPEST = 200
"""Levels of a document. `orjson` writes at most 254, and what reads a document may go down as deep in itself."""
MOST_VALUES = 1_000_000
"""Values of a small document once its aliases are written out. A larger one may have one for each character: more takes
aliases."""

NUMBERS = {
    "int": re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"),
    "float": re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"),
}
"""YAML 1.2's core schema. By 1.1, `NO` in a list of countries is false, `12:30` is 750, and a date is no text."""


class Unreadable(Exception):
    """A document that is not what it should be: a message without the name of the document."""


def read_file(path: Path) -> Any:
    """The document in a file.

    Raises:
        NotFound: there is no such file.
        UsageError: it cannot be read, or it is neither JSON nor YAML.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {path}") from error
    except IsADirectoryError as error:
        raise UsageError(f"{path} is a folder", hint="name the document in it") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return parse(data, str(path))


def parse(data: bytes, name: str) -> Any:
    """The JSON value of a document, mappings with texts as keys only.

    Raises:
        UsageError: it is neither JSON nor YAML, too large, or expands to something too large.
    """
    try:
        if len(data) > LARGEST:
            raise Unreadable(f"is larger than {LARGEST >> 20} MiB")
        return _parsed(data)
    except Unreadable as error:
        raise UsageError(f"{name} {error}") from error


def _parsed(data: bytes) -> Any:
    text = _text(data)
    start = text[:500].lstrip().lower()
    if not start:
        raise Unreadable("is empty")
    if start.startswith(("<!doctype html", "<html", "<head", "<body", "<script", "<!--")):
        raise Unreadable("is an HTML page, not a document; name the address of the JSON or YAML itself")
    if re.match(r"<[!?a-z]", start):
        raise Unreadable("is XML, not JSON or YAML")
    if start[0] in '{["':
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            if "recursion" in str(error).lower():
                raise Unreadable(f"is nested deeper than {DEEPEST} levels") from error
            try:
                # Also YAML begins with a brace; a comment or a comma at the end is no mistake there.
                return _yaml(text)
            except Unreadable:
                raise Unreadable(f"is not valid JSON: line {error.lineno}: {error.msg.partition(':')[0]}") from error
        check_depth(value)
        return value
    return _yaml(text)


def _text(data: bytes) -> str:
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(f"is not {encoding[:6].upper().rstrip('-')} text: line {line}") from error
    if "\0" in text:
        raise Unreadable("is no text: it has zero bytes")
    return text


def check_depth(value: Any) -> None:
    """Raise `Unreadable` for a value of more than `DEEPEST` levels."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            item
            for holder in level
            for item in (holder.values() if isinstance(holder, dict) else holder)
            if isinstance(item, dict | list)
        ] if isinstance(level[0], dict | list) else []  # fmt: skip
        if not level:
            return
    raise Unreadable(f"is nested deeper than {DEEPEST} levels")


@cache
def _loader() -> Any:
    """A loader of YAML 1.2's core schema, with libyaml where PyYAML was built with it."""
    import yaml

    base: Any = yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader

    class Loader(base):  # type: ignore[misc]
        """The composer of nodes; `_Made` turns them into values."""

    tags = "tag:yaml.org,2002:"
    for name, pattern, first in (
        ("bool", re.compile(r"true|True|TRUE|false|False|FALSE"), "tTfF"),
        ("null", re.compile(r"~|null|Null|NULL|"), ["~", "n", "N", ""]),
        ("int", NUMBERS["int"], "-+0123456789"),
        ("float", NUMBERS["float"], "-+.0123456789"),
        ("merge", re.compile("<<"), "<"),
    ):
        # The pattern must match all of it: the resolver only looks at the beginning.
        Loader.add_implicit_resolver(tags + name, re.compile(f"(?:{pattern.pattern})$"), list(first))
    return Loader


def _yaml(text: str) -> Any:
    import yaml

    if _nested(text):
        raise Unreadable(f"is nested deeper than {DEEPEST} levels")
    loader = None
    try:
        loader = _loader()(text)
        node = loader.get_single_node()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or error
        if "nesting depth" in str(problem):
            # libyaml 0.2.6 has a limit of its own.
            raise Unreadable(f"is nested deeper than {DEEPEST} levels") from error
        raise Unreadable(f"is not valid YAML: {line}{problem}".replace("\n", " ")) from error
    except RecursionError as error:
        raise Unreadable(f"is nested deeper than {DEEPEST} levels") from error
    finally:
        if loader is not None and hasattr(loader, "dispose"):
            loader.dispose()
    made = _Made(max(MOST_VALUES, len(text)))
    value, _ = made.value(node, 0)
    if not isinstance(value, dict | list):
        raise Unreadable("is a plain text, neither JSON nor YAML with content")
    return value


def _nested(text: str) -> bool:
    """True for brackets or block sequences far too deep: libyaml's composer calls itself for each level, unchecked."""
    if re.search(rf"(?:[-?][ ]){{{DEEPEST}}}", text):
        return True
    opened = text.count("[") + text.count("{")
    if opened <= DEEPEST:
        return False
    depth = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        # Brackets in texts count too, so the bound is a wide one; the exact one is held when values are made.
        if depth > 10 * DEEPEST:
            return True
    return False


class _Made:
    """The values of nodes: aliases share one value, and are counted as if they were written out."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.done: dict[int, tuple[Any, int]] = {}
        self.open: set[int] = set()

    def value(self, node: Any, depth: int) -> tuple[Any, int]:
        """The value of a node, and how many values it has written out."""
        if node.id == "scalar":
            return self.scalar(node), 1
        if id(node) in self.done:
            return self.done[id(node)]
        if id(node) in self.open:
            raise Unreadable(f"has an alias inside of what it stands for: line {node.start_mark.line + 1}")
        if depth > DEEPEST:
            raise Unreadable(f"is nested deeper than {DEEPEST} levels: line {node.start_mark.line + 1}")
        self.open.add(id(node))
        value: Any
        if node.id == "sequence":
            pairs = [self.value(item, depth + 1) for item in node.value]
            value, size = [item for item, _ in pairs], 1 + sum(size for _, size in pairs)
        else:
            value, size = self.mapping(node, depth)
        if size > self.most:
            raise Unreadable(f"grows to over {self.most:,} values by its aliases: line {node.start_mark.line + 1}")
        self.open.discard(id(node))
        self.done[id(node)] = value, size
        return value, size

    def mapping(self, node: Any, depth: int) -> tuple[dict[str, Any], int]:
        """The value of a mapping: its own keys win over merged ones."""
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        total = 1
        for key_node, value_node in node.value:
            if key_node.id != "scalar":
                raise Unreadable(f"has a key that is no text: line {key_node.start_mark.line + 1}")
            value, size = self.value(value_node, depth + 1)
            total += size
            if key_node.tag == "tag:yaml.org,2002:merge":
                for mapping in value if isinstance(value, list) else [value]:
                    if not isinstance(mapping, Mapping):
                        raise Unreadable(f"merges something without keys: line {key_node.start_mark.line + 1}")
                    merged = {**mapping, **merged}
                continue
            key = key_node.value
            if key in own:
                raise Unreadable(f"has the key {key!r} twice in one place: line {key_node.start_mark.line + 1}")
            own[key] = value
        return ({**merged, **own} if merged else own), total

    def scalar(self, node: Any) -> Any:
        """The value of a scalar: text unless its tag names another JSON type."""
        kind, text = node.tag.rpartition(":")[2], node.value
        if kind == "str":
            return text
        if kind == "bool":
            return text.lower() == "true"
        if kind == "null":
            return None
        if kind == "int" and NUMBERS["int"].fullmatch(text) and len(text) < 4_000:
            return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
        if kind in ("int", "float") and NUMBERS["float"].fullmatch(text):
            return float(text)
        return text
