"""The reason why a block matched a query, in words; found in the block itself, so it is the same for every store."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Callable

from codenav.core.blocks import CodeBlock
from codenav.retrieval import analysis, stems
from codenav.retrieval.query import tree


def why(node: tree.Node, block: CodeBlock, *, lifted: bool = False) -> str:
    """The reason of a match: `name: exact` for a whole identifier of the name, `name: part` for a part or a pattern.

    Otherwise the fields that were searched: `text`, `doc`, or those of a query that only filters (`type, file_path`);
    `meaning` for a block that holds no word of the query, and besides if that brought it before a hit that matches the
    words better (`lifted`).
    """
    found = _why(node, block)
    return f"{found}, {MEANING}" if lifted and found != MEANING else found


def _why(node: tree.Node, block: CodeBlock) -> str:
    leaves = tree.leaves(node)
    wholes, parts = (set(tokens.split()) for tokens in analysis.named(block.name))
    fields = {leaf: getattr(leaf, "field", "lines" if isinstance(leaf, tree.Lines) else "") for leaf in leaves}
    named = [leaf for leaf in leaves if fields[leaf] in ("text", "name")]
    if any(_exact(leaf, wholes) for leaf in named):
        return "name: exact"
    if any(_part(leaf, wholes, parts) for leaf in named):
        return "name: part"
    if _is_only_near(node, block):
        return MEANING
    texts = [name for name in fields.values() if name in tree.TEXT_FIELDS]
    return ", ".join(dict.fromkeys(texts or filter(None, fields.values()))) or "everything"


MEANING = "meaning"
FUZZY = 0.5
"""The likeness, by `difflib`, from which a part of a name counts as what a fuzzy word found."""


def _is_only_near(node: tree.Node, block: CodeBlock) -> bool:
    """True if plain words are asked for, and the block holds no stem of any."""
    children = node.children if isinstance(node, tree.Or) else (node,)
    if not all(isinstance(child, tree.Words) and child.field == "text" for child in children):
        return False
    text = f"{block.path} {block.qualname} {block.docstring} {block.text}"
    asked = stems.stems(" ".join(word for child in children for word in getattr(child, "words", ())))
    return bool(asked) and not set(asked) & set(stems.stems(text))


def _exact(leaf: tree.Leaf, wholes: set[str]) -> bool:
    match leaf:
        case tree.Words(_, words) | tree.Phrase(_, words):
            return any(wholes.issuperset(analysis.whole_tokens(word)) for word in analysis.words(" ".join(words)))
    return False


def _part(leaf: tree.Leaf, wholes: set[str], parts: set[str]) -> bool:
    match leaf:
        case tree.Words(field, words) | tree.Phrase(field, words):
            identifiers = analysis.words(" ".join(words))
            if any(_within(analysis.part_tokens(word), parts) for word in identifiers):
                return True
            begins = tuple(word.lower() for word in identifiers if len(word) >= analysis.MIN_PREFIX)
            return field == "text" and isinstance(leaf, tree.Words) and any(map(_starter(begins), wholes))
        case tree.Wildcard(_, pattern):
            return any(fnmatch.fnmatchcase(token, pattern.lower()) for token in wholes | parts)
        case tree.Regex(field, _):
            # Not matched again here: Python's engine can take forever for a pattern that the index matched at once.
            return field == "name"
        case tree.Fuzzy(_, word, _):
            return bool(difflib.get_close_matches(word.lower(), wholes | parts, n=1, cutoff=FUZZY))
    return False


def _starter(begins: tuple[str, ...]) -> Callable[[str], bool]:
    return lambda token: token.startswith(begins)


def _within(tokens: list[str], parts: set[str]) -> bool:
    return bool(tokens) and parts.issuperset(tokens)
