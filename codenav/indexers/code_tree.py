"""Grammars by name, and parsing bounded in time."""

from __future__ import annotations

import importlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from codenav.indexers.code_languages import LANGUAGE_RULES
from codenav.indexers.code_rules import Reader
from codenav.indexers.python_tree import PARSE_SECONDS, OutOfTime

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


class NoParser(Exception):
    """The grammar of a language is not installed."""


@dataclass(frozen=True, slots=True)
class Role:
    """What a kind of node is to the walk."""

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
    """A parser, and the roles of its nodes by their number; the others have none."""

    parser: Parser
    roles: Mapping[int, Role]
    error: int
    """The number of nodes that stand for what could not be parsed."""


_ERROR = 0xFFFF
"""`ts_builtin_sym_error` in tree-sitter's `api.h`: -1 in 16 bits."""


@cache
def grammar(language: str) -> Grammar:
    """The grammar of a language of `LANGUAGE_RULES`.

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
    for kind in set().union(*groups.values(), rules.definitions, rules.calls):
        number = loaded.id_for_node_kind(kind, True)
        if number is not None:
            flags = {flag: kind in kinds for flag, kinds in groups.items()}
            roles[number] = Role(kind, reader=rules.definitions.get(kind), call=rules.calls.get(kind), **flags)
    return Grammar(Parser(loaded), roles, _ERROR)


def parse(data: bytes, language: str, seconds: float = PARSE_SECONDS) -> Node:
    """The root of the syntax tree of UTF-8 source, within `seconds` of processor time.

    Raises:
        OutOfTime: the parser was stopped.
        NoParser: the grammar is not installed.
    """
    parser = grammar(language).parser
    view = memoryview(data)
    end = time.thread_time() + seconds
    try:
        tree = parser.parse(
            lambda offset, point: view[offset:], progress_callback=lambda offset, error: time.thread_time() > end
        )
    except ValueError as error:
        parser.reset()
        raise OutOfTime from error
    return tree.root_node
