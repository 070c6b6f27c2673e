"""Blocks of source in any language with a grammar, except Python."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from codenav.blocks import CodeBlock
from codenav.indexers.code_draft import Calls, finish
from codenav.indexers.code_languages import LANGUAGE_RULES
from codenav.indexers.code_lines import mend
from codenav.indexers.code_macros import damage, without_macros
from codenav.indexers.code_marks import Marks
from codenav.indexers.code_tree import NoParser, grammar, parse
from codenav.indexers.code_walk import Walk
from codenav.indexers.document_blocks import document_blocks
from codenav.indexers.parsing import PARSE_SECONDS, OutOfTime
from codenav.indexers.place import Place, numbered

if TYPE_CHECKING:
    from tree_sitter import Node

CUT = "cut: indexed as text"
"""The reason of a skip for a file that took the parser too long."""

NO_PARSER = "no parser for "
"""The beginning of a skip's reason if the grammar is not installed; the name of the language follows."""

MINIFIED = "minified"

LONG_LINE = 2_000
"""Bytes. Longer lines are the output of a tool, and definitions in them are left out."""

CUT_LINES = f"cut: definitions in lines of over {LONG_LINE:,} characters"

_CPP = re.compile(
    r"^\s*(?:namespace\b|template\s*<|class\s+\w+[^;]*$|(?:public|private|protected)\s*:|using\s+\w|(?:constexpr|"
    r"virtual|explicit|inline\s+constexpr)\s)|\bstd::",
    re.MULTILINE,
)
"""Lines that only C++ has. A header without one is read as C."""


def code_blocks(
    text: str, place: Place, language: str, *, seconds: float = PARSE_SECONDS
) -> tuple[list[CodeBlock] | None, str]:
    """The blocks of a file in order, and the reason if it was cut; None and the reason if it was left out.

    `language` is a key of `LANGUAGE_RULES`. `text` has `\\n` line ends. `seconds` is the parser's limit of processor
    time; a file that takes longer is indexed as text.
    """
    if language == "c" and place.path.endswith((".h", ".H")) and _CPP.search(text):
        language = "cpp"
    data = text.encode("utf-8", "replace")
    long_rows, rest = _long_lines(data)
    if long_rows and rest < max(2_000, len(data) // 20):
        return None, MINIFIED
    rules = LANGUAGE_RULES[language]
    try:
        root = _parsed(data, language, seconds)
    except NoParser:
        return None, f"{NO_PARSER}{rules.name}: pip install 'codenav-agent[{rules.extra}]'"
    except OutOfTime:
        return document_blocks(text, place, rules.name), CUT
    marks = Marks(data)
    walk = Walk(data, root, rules, grammar(language), marks, path=place.path)
    drafts = walk.drafts()
    if root.has_error:
        drafts = mend(drafts, data, language, marks.comment_rows())
    reason = ""
    if long_rows:
        kept = [draft for draft in drafts if draft.rows[0] not in long_rows or draft.rows[0] != draft.rows[1]]
        reason = CUT_LINES if len(kept) < len(drafts) else ""
        drafts = kept
    calls = Calls(walk.called, data)
    return numbered(finish(draft, data, place, rules.name, calls) for draft in drafts), reason


def _parsed(data: bytes, language: str, seconds: float) -> Node:
    """The syntax tree of a file; for C and C++, with macros blanked out if that leaves less damage."""
    root = parse(data, language, seconds)
    if language not in ("c", "cpp") or not root.has_error:
        return root
    masked = without_macros(data)
    if masked == data:
        return root
    try:
        other = parse(masked, language, seconds)
    except OutOfTime:
        return root
    return other if damage(other) < damage(root) else root


def _long_lines(data: bytes) -> tuple[set[int], int]:
    """The rows of long lines, and the total bytes of the others."""
    if len(data) <= LONG_LINE:
        return set(), len(data)
    rows, rest = set(), 0
    for row, line in enumerate(data.split(b"\n")):
        if len(line) > LONG_LINE:
            rows.add(row)
        else:
            rest += len(line) + 1
    return rows, rest
