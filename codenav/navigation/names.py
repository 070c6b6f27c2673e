"""Search for blocks by query, and the names that follow from the place of a block."""

from __future__ import annotations

import re
from collections.abc import Iterable

from codenav.core.blocks import CodeBlock
from codenav.core.protocols import Index
from codenav.retrieval.query import tree

MATCHES = 10_000
"""The most blocks looked at for one name. The commonest name in transformers (`forward`) has 8,600."""


_FAMILY = {"tsx": "javascript", "typescript": "javascript", "jsx": "javascript", "cpp": "c"}
"""Languages that call each other by name; all others only call their own."""


def family(block: CodeBlock) -> str:
    """The language of a block, or the one that stands for all that call each other by name."""
    return _FAMILY.get(block.language, block.language)


def search_all(index: Index, *parts: tree.Node) -> Iterable[CodeBlock]:
    """The blocks that match all parts of a query."""
    return (hit.block for hit in index.search(tree.render(tree.all_of(parts)), limit=MATCHES))


def dotted_path(path: str) -> str:
    """The dotted form of a path: `a.b` for `a/b/__init__.py` and `a/b.py`."""
    stem = re.sub(r"\.\w+$", "", path)
    return stem.removesuffix("/__init__").replace("/", ".")


def module_of(block: CodeBlock) -> str:
    """The dotted name of the module that contains the block; empty if it cannot be imported."""
    if block.module:
        return block.module
    match = re.match(r"(?:from|import)\s+([\w.]+)", block.import_line)
    return match[1] if match else ""


def place_of(block: CodeBlock) -> str:
    """The place of a block as `codenav show` takes it: `path:first-last`."""
    return f"{block.path}:{block.lines.start}-{block.lines.end}"
