"""Parsing Python with tree-sitter, bounded in time."""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query

PARSE_SECONDS = 2.0
"""Processor time that one file may take. Real files of up to 1 MB take under 0.1 s; 1 MB of noise takes over 2 s."""


class OutOfTime(Exception):
    """A file took over `PARSE_SECONDS`; it is read by lines instead."""


def parse(data: bytes, seconds: float = PARSE_SECONDS) -> Node:
    """The root of the syntax tree of UTF-8 source.

    Raises:
        OutOfTime: the parser was stopped.
    """
    parser = _parser()
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


def called_names(root: Node, data: bytes) -> tuple[list[int], list[str]]:
    """The dotted names that are called, and where each begins: two lists, in order of the source."""
    from tree_sitter import QueryCursor

    found = QueryCursor(_calls()).captures(root).get("called", [])
    pairs = []
    for node in found:
        start, end = node.start_byte, node.end_byte
        if end - start > 200:
            # A chain over a whole file: the text of every link would be quadratic.
            continue
        name = "".join(data[start:end].decode("utf-8").split())
        if name.isidentifier() or all(part.isidentifier() for part in name.split(".")):
            pairs.append((start, name))
    pairs.sort()
    return [start for start, _ in pairs], [name for _, name in pairs]


@cache
def _parser() -> Parser:
    import tree_sitter_python
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_python.language()))


@cache
def _calls() -> Query:
    import tree_sitter_python
    from tree_sitter import Language, Query

    return Query(Language(tree_sitter_python.language()), "(call function: [(identifier) (attribute)] @called)")
