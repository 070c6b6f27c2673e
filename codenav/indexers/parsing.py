"""Parsing with tree-sitter, bounded in time and memory."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

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
