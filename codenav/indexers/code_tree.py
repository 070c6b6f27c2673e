"""Grammars by name, and parsing with tree-sitter, bounded in time and memory."""

from __future__ import annotations

import importlib
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from codenav.indexers.code_languages import LANGUAGE_RULES
from codenav.indexers.code_rules import Reader

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

PARSE_SECONDS = 2.0
"""Processor time that one file may take. Real files of up to 1 MB take under 0.1 s; 1 MB of noise takes over 2 s."""

_MIN_BUFFER = 1 << 20


class OutOfTime(Exception):
    """Parsing a file took too long or too much memory; it is read without a syntax tree instead."""


class _Buffer:
    """The buffer for the source being parsed, shared by all files.

    The binding (0.26) never frees what its read callback returned: with one buffer for all files that happens once.
    """

    def __init__(self) -> None:
        self.content = bytearray()
        self.view = memoryview(self.content)

    def fill(self, data: bytes) -> memoryview:
        """A view of the source, valid until the next call."""
        if len(data) > len(self.content):
            self.content = bytearray(max(_MIN_BUFFER, 2 * len(data)))
            self.view = memoryview(self.content)
        self.content[: len(data)] = data
        return self.view


_buffer = _Buffer()
_lock = threading.Lock()


def parse_within(parser: Parser, data: bytes, seconds: float) -> Node:
    """The root of the syntax tree of UTF-8 source, within `seconds` of processor time.

    Raises:
        OutOfTime: the parser was stopped.
    """
    size = len(data)
    with _lock:
        view = _buffer.fill(data)
        end = time.thread_time() + seconds
        try:
            tree = parser.parse(
                lambda offset, point: view[offset:size],
                progress_callback=lambda offset, error: time.thread_time() > end,
            )
        except ValueError as error:
            parser.reset()
            raise OutOfTime from error
    return tree.root_node


def damage(root: Node) -> int:
    """The amount of a tree that could not be parsed: the bytes of errors, plus one for each error or missing token."""
    total = 0
    stack = [root]
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            total += node.end_byte - node.start_byte + 1
        elif node.has_error:
            stack += node.children
    return total


class NoParser(Exception):
    """The grammar of a language is not installed."""


@dataclass(frozen=True, slots=True)
class Role:
    """The meaning of one kind of node to the walk."""

    kind: str
    reader: Reader | None = None
    comment: bool = False
    attribute: bool = False
    wrapper: bool = False
    container: bool = False
    importing: bool = False
    conditional: bool = False
    ignored: bool = False
    package: bool = False
    call: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Grammar:
    """A parser, and the roles of its nodes by their number; nodes that are not listed have none."""

    parser: Parser
    roles: Mapping[int, Role]
    opaque: bytes
    """Indexed by the number of a node: 1 if nothing below it matters, 2 if the node itself does not matter either."""


ERROR = 0xFFFF
"""The number of error nodes: `ts_builtin_sym_error` in tree-sitter's `api.h`, -1 in 16 bits."""

_OPAQUE = {
    "array_type", "char_literal", "character_literal", "decimal_integer_literal", "float_literal", "formal_parameter",
    "function_type", "generic_name", "generic_type", "integer_literal", "interpreted_string_literal", "map_type",
    "named_type", "namespace_name", "nested_type_identifier", "number", "number_literal", "parameter_declaration",
    "pointer_type", "preproc_arg", "qualified_name", "qualified_type", "raw_string_literal", "reference_type",
    "regex", "scoped_identifier", "scoped_type_identifier", "slice_type", "string_literal", "token_tree",
    "type_annotation", "type_arguments", "type_list", "type_parameters", "variable_name",
}  # fmt: skip
"""Types and literals: they contain no definition and no call."""


_ANGLES = re.compile(rb"(?<!\w)(?:\w++\s*+<\s*+){200}")
"""Long runs of `a < b < …`, ambiguous up to their end (comparison or type arguments).

The Java parser takes 30 GB for 50,000 `a<`.
"""


@cache
def grammar(language: str) -> Grammar:
    """The grammar of a language in `LANGUAGE_RULES`.

    Raises:
        NoParser: its package is not installed.
    """
    from tree_sitter import Language, Parser

    rules = LANGUAGE_RULES[language]
    try:
        package = importlib.import_module(rules.package)
    except ImportError as error:
        raise NoParser from error
    loaded = Language(getattr(package, rules.entry)())
    groups = {
        "comment": rules.comments, "attribute": rules.attributes, "wrapper": rules.wrappers,
        "container": rules.containers, "importing": rules.imports, "conditional": rules.conditionals,
        "ignored": rules.ignored, "package": rules.package_nodes,
    }  # fmt: skip
    roles = {}
    roles_by_kind = set().union(*groups.values(), rules.definitions, rules.calls)
    for kind in roles_by_kind:
        number = loaded.id_for_node_kind(kind, True)
        if number is not None:
            flags = {flag: kind in kinds for flag, kinds in groups.items()}
            roles[number] = Role(kind, reader=rules.definitions.get(kind), call=rules.calls.get(kind), **flags)
    opaque = bytearray(ERROR + 1)
    for number in range(loaded.node_kind_count):
        kind = loaded.node_kind_for_id(number) or ""
        if not loaded.node_kind_is_named(number):
            opaque[number] = 2
        elif kind in rules.comments | rules.imports:
            opaque[number] = 1
        elif kind not in roles_by_kind and (kind in _OPAQUE or kind.endswith("identifier")):
            opaque[number] = 2
    return Grammar(Parser(loaded), roles, bytes(opaque))


def parse(data: bytes, language: str, seconds: float = PARSE_SECONDS) -> Node:
    """The root of the syntax tree of UTF-8 source, within `seconds` of processor time.

    Raises:
        OutOfTime: the parser was stopped, or would take more memory than there is.
        NoParser: the grammar is not installed.
    """
    if _ANGLES.search(data):
        raise OutOfTime
    return parse_within(grammar(language).parser, data, seconds)
