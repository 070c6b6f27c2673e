"""Words of code: those of identifiers, of documentation and of comments, package by package.

Python is read by its syntax tree, with the name and the docstring's first sentence of each definition; Go and
JavaScript by their comments, a comment right before a definition as its documentation.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MOST_BYTES, LARGEST_FILE = 2_000_000, 200_000
"""Bytes of a package that are read, and of a file; so no package speaks louder than ten others."""
SKIPPED = {"__pycache__", "_vendor", "vendor", "_vendored", "node_modules", "testdata"}

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_IDENTIFIER = re.compile(r"[A-Za-z0-9_]+")
_LINE_COMMENT = {".py": re.compile(r"\s*#\s?(.*)"), ".go": re.compile(r"\s*//\s?(.*)")}
_LINE_COMMENT |= dict.fromkeys((".js", ".mjs", ".ts"), re.compile(r"\s*(?://|/?\*+/?)\s?(.*)"))
_DEFINITION = re.compile(r"(?:export |default |async |static )*(?:func|function|class|type)\b\s*(?:\([^)]*\)\s*)?(\w+)")


@dataclass
class Package:
    """What was read of one package."""

    name: str
    definitions: list[tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=list)
    """The parts of each documented name, and the words of the first sentence of its documentation."""
    sentences: list[list[str]] = field(default_factory=list)
    words: set[str] = field(default_factory=set)


@functools.cache
def parts(identifier: str) -> tuple[str, ...]:
    """The parts of an identifier in lower case: load, http, model for `loadHTTPModel`."""
    return tuple(part.lower() for part in _PART.findall(identifier))


def text_words(text: str) -> list[str]:
    """The parts of all identifiers of a text, in order."""
    return [part for word in _IDENTIFIER.findall(text) for part in parts(word)]


def read(folder: Path, name: str, seen: set[bytes]) -> Package:
    """Read a package; files whose contents are in `seen` are left out, and those that are read added to it."""
    package = Package(name)
    left = MOST_BYTES
    for path in _files(folder):
        size = path.stat().st_size
        if size > LARGEST_FILE or size > left:
            continue
        content = path.read_bytes()
        digest = hashlib.md5(content).digest()
        if digest in seen:
            continue
        seen.add(digest)
        left -= size
        try:
            _read_file(path, content.decode("utf-8"), package)
        except (UnicodeDecodeError, SyntaxError, ValueError, RecursionError):
            continue
    return package


def _files(folder: Path) -> list[Path]:
    """The files in an order of chance that is the same everywhere, tests last."""
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in SKIPPED]
        found += [Path(place, name) for name in files if Path(name).suffix in _LINE_COMMENT]
    inside = {path: path.relative_to(folder).as_posix() for path in found}
    return sorted(found, key=lambda path: ("test" in inside[path], hashlib.md5(inside[path].encode()).digest()))


def _read_file(path: Path, text: str, package: Package) -> None:
    for word in set(_IDENTIFIER.findall(text)):
        package.words.update(parts(word))
    if path.suffix != ".py":
        _read_comments(path.suffix, text, package)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    _read_comments(".py", text, package)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            named = "" if node.name.startswith("__") or "test" in path.name else node.name
            _document(named, ast.get_docstring(node) or "", package)
        elif isinstance(node, ast.Module):
            _document("", ast.get_docstring(node) or "", package)


def _read_comments(suffix: str, text: str, package: Package) -> None:
    block: list[str] = []
    for line in text.split("\n"):
        comment = _LINE_COMMENT[suffix].fullmatch(line)
        if comment:
            block.append(comment[1])
        elif block:
            definition = None if suffix == ".py" else _DEFINITION.match(line)
            _document(definition[1] if definition else "", "\n".join(block), package)
            block = []


def _document(name: str, text: str, package: Package) -> None:
    """Take up the documentation of a name; without a name its sentences alone."""
    found = list(_sentences(text))
    own = parts(name)
    if own and found:
        summary = found.pop(0)
        package.definitions.append((own, tuple(summary)))
        package.sentences.append([*own, *summary])
    package.sentences += found


def _sentences(text: str) -> Iterator[list[str]]:
    for paragraph in re.split(r"\n\s*\n", text):
        for sentence in re.split(r"(?<=[.!?])\s+|\n\s*[-*:>@]+ ", paragraph):
            words = text_words(sentence)
            if 2 <= len(words) <= 80:
                yield words
