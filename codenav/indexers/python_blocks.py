"""Blocks of Python source: definitions at any depth, top-level assignments, imports and conditionals."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from codenav.core.blocks import BlockKind, CodeBlock, LineSpan
from codenav.indexers.open_brackets import closed_python
from codenav.indexers.parsing import PARSE_SECONDS, OutOfTime, damage
from codenav.indexers.place import Identity, Place, numbered
from codenav.indexers.python_draft import Calls, Draft, finish, names_to_import
from codenav.indexers.python_formatted import Irregular
from codenav.indexers.python_lines import LineDefinition, definitions_by_lines
from codenav.indexers.python_regular_file import regular_drafts
from codenav.indexers.python_text import dedent, one_line
from codenav.indexers.python_tree import called_names, parse
from codenav.indexers.python_walk import Walk

if TYPE_CHECKING:
    from tree_sitter import Node

    from codenav.indexers.cython_text import Reading

CUT = "cut: parsed by lines"
"""The reason of a skip for a file that took the parser too long: only its definitions are in the index."""


def python_blocks(text: str, place: Place, *, seconds: float = PARSE_SECONDS) -> tuple[list[CodeBlock], str]:
    """The blocks of a Python file in order of the source, and `CUT` if it had to be read by lines, else "".

    `seconds` is the parser's limit of processor time. `text` has `\\n` line ends. A file with syntax errors gives the
    blocks around them; definitions that the parser loses in a damaged part are found by lines.
    """
    seen: Counter[Identity] = Counter()
    try:
        drafts, calls = regular_drafts(text, path=place.path, module=place.module)
        return [finish(draft, text, place, calls, seen) for draft in drafts], ""
    except Irregular:
        return parsed_blocks(text, place, seconds)


def cython_blocks(text: str, place: Place, *, seconds: float = PARSE_SECONDS) -> tuple[list[CodeBlock], str]:
    """The same for Cython: functions of all kinds, classes, structs and what is declared of C."""
    # Imported only here: its patterns cost each process that parses some milliseconds.
    from codenav.indexers.cython_text import as_python

    return parsed_blocks(text, place, seconds, as_python(text.encode("utf-8", "replace")))


def parsed_blocks(
    text: str, place: Place, seconds: float, reading: Reading | None = None
) -> tuple[list[CodeBlock], str]:
    """The same as `python_blocks`, always by a syntax tree; that of `reading` if the text is Cython."""
    written = text.encode("utf-8", "replace")
    data = bytes(reading.python) if reading else written
    seen: Counter[Identity] = Counter()
    closed = None
    try:
        root = parse(data, seconds)
        if root.has_error and (closed := closed_python(data)):
            again = parse(closed.text, seconds)
            root, closed = (again, closed) if damage(again) < damage(root) else (root, None)
        read = closed.text if closed else data
        starts, names = called_names(root, read)
    except OutOfTime:
        lines = data.decode("utf-8", "replace").split("\n")
        return numbered(_from_lines(found, lines, place) for found in definitions_by_lines(lines)), CUT
    walk = Walk(read, root, path=place.path, module=place.module)
    drafts = walk.drafts()
    if closed:
        for draft in drafts:
            draft.start, draft.end = closed.written(draft.start), closed.written(draft.end)
            draft.elided = [(closed.written(start), closed.written(end)) for start, end in draft.elided]
        starts = [closed.written(start) for start in starts]
    calls = Calls(starts, names)
    if reading:
        drafts = reading.as_written(drafts, walk.definitions, written)
    lost = _mend(root, data.decode("utf-8", "replace").split("\n"), walk.definitions, place) if root.has_error else []
    blocks = [finish(draft, written, place, calls, seen) for draft in drafts]
    if lost:
        blocks = numbered(sorted(blocks + lost, key=lambda block: (block.lines.start, -block.lines.end)))
    return blocks, ""


def _mend(root: Node, lines: list[str], known: dict[int, Draft], place: Place) -> list[CodeBlock]:
    """The definitions that the tree of a file with errors lost; adds lost enclosing classes to those in `known`."""
    damaged = _damaged_rows(root)
    lost = []
    for found in definitions_by_lines(lines):
        draft = known.get(found.row)
        if draft is None and found.row in damaged:
            lost.append(_from_lines(found, lines, place))
        elif draft is not None and draft.qualname.count(".") + 1 < len(found.names):
            draft.qualname = ".".join(found.names)
            draft.kind = _kind(found)
            draft.importable = "" if found.in_function else found.names[0]
    return lost


def _damaged_rows(root: Node) -> set[int]:
    rows: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node.is_error or node.type == "string":
            rows.update(range(node.start_point.row, node.end_point.row + 1))
        elif node.child_count:
            stack += node.children
    return rows


def _kind(found: LineDefinition) -> BlockKind:
    return BlockKind.CLASS if found.is_class else BlockKind.METHOD if found.in_class else BlockKind.FUNCTION


def _from_lines(found: LineDefinition, lines: list[str], place: Place) -> CodeBlock:
    last = found.row if found.is_class else found.last
    text = "\n".join(lines[found.first : last + 1])[len(found.indent) :]
    qualname = ".".join(found.names)
    public, line = ("", "") if found.in_function else names_to_import(place, found.names[0], qualname)
    return CodeBlock(
        id="",
        kind=_kind(found),
        name=found.names[-1],
        qualname=qualname,
        path=place.path,
        lines=LineSpan(found.first + 1, found.last + 1),
        text=dedent(text, found.indent),
        signature=one_line(lines[found.row]).rstrip().removesuffix(":"),
        language="python",
        source=place.source,
        module=place.module,
        public_name=public,
        import_line=line,
    )
