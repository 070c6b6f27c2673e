"""Advice on another query, for one that found nothing: by which condition, and for which names that are there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from codenav.core.blocks import CodeBlock, SearchResult
from codenav.core.protocols import Index
from codenav.navigation import lookup
from codenav.retrieval.query import tree
from codenav.retrieval.query.fields import unknown_fields
from codenav.retrieval.query.parser import parse

_DOTTED = re.compile(r"[^\W\d]\w*(?:(?:\.|::|#)\w+)+")
_CONDITIONS, _NAMES, _SENTENCES = 6, 3, 5
"""The most conditions that are left out in turn, names that are looked for, and sentences."""


def advice(index: Index, result: SearchResult) -> Sequence[str]:
    """Sentences on what to ask instead; empty for a query that found something, unless it has an unknown field."""
    found = [
        f"there is no field {name}: it was read as text; the fields are {', '.join(known)}"
        for name, known in unknown_fields(result.query)
    ]
    if not result.total:
        asked = parse(result.query).tree
        found += [*_dotted(index, result.query), *_without(index, asked), *_near(index, asked)]
    return list(dict.fromkeys(found))[:_SENTENCES]


def _dotted(index: Index, query: str) -> Iterator[str]:
    """The definitions that a dotted name in the query names."""
    for dotted in _DOTTED.findall(query[:2_000])[:_NAMES]:
        found = lookup.definitions(index, dotted)
        if found:
            yield f"{dotted} names {', '.join(_place(blocks[0]) for blocks in found[:_NAMES])}"


def _without(index: Index, asked: tree.Node) -> Iterator[str]:
    """The matches if one of the conditions that narrow is left out."""
    conditions = asked.children if isinstance(asked, tree.And) else ()
    for condition in conditions if len(conditions) <= _CONDITIONS else ():
        if not all(isinstance(leaf, tree.Value | tree.Lines) for leaf in tree.leaves(condition)):
            continue
        found = index.search(tree.render(tree.all_of(item for item in conditions if item != condition)), limit=1)
        kinds = [leaf.value for leaf in tree.leaves(condition) if isinstance(leaf, tree.Value) and leaf.field == "type"]
        if found.total and kinds and not isinstance(condition, tree.Not):
            yield f"no {' or '.join(kinds)} matches, but {_place(found[0].block)}"
        elif found.total:
            count = "1 match" if found.total == 1 else f"{found.total} matches"
            yield f"{count} without {tree.render(condition)}, first {_place(found[0].block)}"


def _near(index: Index, asked: tree.Node) -> Iterator[str]:
    """The names that are most like one that is nowhere."""
    names = [
        leaf.pattern.strip("*?") if isinstance(leaf, tree.Wildcard) else ".".join(leaf.words)
        for leaf in tree.leaves(asked)
        if isinstance(leaf, tree.Words | tree.Wildcard) and leaf.field in ("name", "text")
    ]
    # `name: Store.gett` is read as `gett` that is in `Store`, too.
    whole = [name for name in names if not any(other.endswith(f".{name}") for other in names)]
    for name in whole[:_NAMES]:
        if not index.search(tree.render(tree.Words("text", (name,))), limit=1).total:
            near = lookup.near_names(index, name)
            if near:
                yield f"nothing is named {name}; the nearest: {', '.join(near)}"


def _place(block: CodeBlock) -> str:
    return f"{block.kind.value} {block.qualname[:100]} ({block.path}:{block.lines.start})"
