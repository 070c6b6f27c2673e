"""Python source to blocks: every definition at any depth, top-level assignments, imports and conditionals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codenav.blocks import BlockKind, CodeBlock, LineSpan
from codenav.indexers.python_draft import Calls, Place, finish, import_line, numbered
from codenav.indexers.python_lines import LineDefinition, definitions_by_lines
from codenav.indexers.python_text import dedent, one_line
from codenav.indexers.python_tree import OutOfTime, called_names, parse
from codenav.indexers.python_walk import Walk

if TYPE_CHECKING:
    from tree_sitter import Node

CUT = "cut: parsed by lines"
"""The reason of a skip for a file that the parser could not read in time: only its definitions are in the index."""


def python_blocks(text: str, place: Place) -> tuple[list[CodeBlock], str]:
    """The blocks of a Python file in order of the source, and `CUT` where it had to be read by lines, else "".

    `text` has `\\n` line ends. A file with syntax errors gives the blocks around them; definitions that the parser
    loses inside a damaged stretch are found by lines.
    """
    data = text.encode("utf-8")
    try:
        root = parse(data)
        calls = Calls(*called_names(root, data))
    except OutOfTime:
        lines = text.split("\n")
        return numbered(_from_lines(found, lines, place) for found in definitions_by_lines(lines)), CUT
    walk = Walk(data, root, path=place.path, module=place.module)
    blocks = [finish(draft, data, place, calls) for draft in walk.drafts()]
    if root.has_error:
        blocks += _lost(root, text.split("\n"), walk.rows, place)
        blocks.sort(key=lambda block: (block.lines.start, -block.lines.end))
    return numbered(blocks), ""


def _lost(root: Node, lines: list[str], found_rows: set[int], place: Place) -> list[CodeBlock]:
    """Definitions in damaged stretches that the tree does not have."""
    damaged = _damaged_rows(root)
    return [
        _from_lines(found, lines, place)
        for found in definitions_by_lines(lines)
        if found.row in damaged and found.row not in found_rows
    ]


def _damaged_rows(root: Node) -> set[int]:
    rows: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node.is_error:
            rows.update(range(node.start_point.row, node.end_point.row + 1))
        elif node.has_error:
            stack += node.children
    return rows


def _from_lines(found: LineDefinition, lines: list[str], place: Place) -> CodeBlock:
    kind = BlockKind.CLASS if found.is_class else BlockKind.METHOD if found.in_class else BlockKind.FUNCTION
    last = found.row if found.is_class else found.last
    text = "\n".join(lines[found.first : last + 1])[len(found.indent) :]
    return CodeBlock(
        id="",
        kind=kind,
        name=found.names[-1],
        qualname=".".join(found.names),
        path=place.path,
        lines=LineSpan(found.first + 1, found.last + 1),
        text=dedent(text, found.indent),
        signature=one_line(lines[found.row]).rstrip().removesuffix(":"),
        language="python",
        source=place.source,
        import_line="" if found.in_function else import_line(place.module, found.names[0]),
    )
