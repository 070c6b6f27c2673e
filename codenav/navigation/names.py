"""Blocks by query, and the names that follow from where a block is."""

from __future__ import annotations

import re
from collections.abc import Iterable

from codenav.blocks import CodeBlock
from codenav.protocols import Index
from codenav.retrieval import query_tree as tree
from codenav.retrieval.documents import KIND_WORTH, worth

MATCHES = 10_000
"""Blocks of one name that are looked through. The commonest name of transformers (`forward`) has 8,600."""


def search_all(index: Index, *parts: tree.Node) -> Iterable[CodeBlock]:
    """The blocks that match all parts of a query."""
    return (hit.block for hit in index.search(tree.render(tree.all_of(parts)), limit=MATCHES))


def dotted_path(path: str) -> str:
    """`a/b/__init__.py` and `a/b.py` as `a.b`."""
    stem = re.sub(r"\.\w+$", "", path)
    return stem.removesuffix("/__init__").replace("/", ".")


def module_of(block: CodeBlock) -> str:
    """The dotted name of the module that the block's import line names; empty where it has none."""
    match = re.match(r"(?:from|import)\s+([\w.]+)", block.import_line)
    return match[1] if match else ""


def is_aside(block: CodeBlock) -> bool:
    """Whether it is a test or vendored code."""
    return worth(block) < KIND_WORTH.get(block.kind, 1.0)


def place_of(block: CodeBlock) -> str:
    """`path:first-last`, as `codenav show` takes it."""
    return f"{block.path}:{block.lines.start}-{block.lines.end}"
