"""Blocks of Python source: definitions at any depth, top-level assignments, imports and conditionals."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from codenav.core.blocks import CodeBlock
from codenav.indexers.draft import Calls, finish_python, number_rows
from codenav.indexers.open_brackets import Closed, closed_python, completed
from codenav.indexers.place import Identity, Place
from codenav.indexers.python_reader import Reader
from codenav.indexers.python_scan import Irregular

if TYPE_CHECKING:
    from codenav.indexers.cython_text import Reading

_TABS = re.compile(r"^[ \f]*\t[ \t\f]*", re.MULTILINE)


def python_blocks(text: str, place: Place) -> list[CodeBlock]:
    """The blocks of a Python file in order of the source; `text` has `\\n` line ends.

    A file with syntax errors gives the blocks around them: brackets and strings that stay open are closed where the
    next statement begins.
    """
    return _blocks(text, place, None)


def cython_blocks(text: str, place: Place) -> list[CodeBlock]:
    """The same for Cython: functions of all kinds, classes, structs and what is declared of C."""
    # Imported only here: its patterns cost each process that parses some milliseconds.
    from codenav.indexers.cython_text import as_python

    return _blocks(text, place, as_python(text))


def _blocks(text: str, place: Place, cython: Reading | None) -> list[CodeBlock]:
    source = cython.python if cython else text
    repairs: list[Closed[str]] = []
    if "\t" in source and _TABS.search(source):
        repairs.append(_without_tabs(source))
        source = repairs[-1].text
    try:
        reader = Reader(source, path=place.path, module=place.module)
    except Irregular:
        if closed := closed_python(source):
            repairs.append(closed)
            source = closed.text
        reader = Reader(source, path=place.path, module=place.module, strict=False)
    drafts, calls = reader.drafts, reader.calls
    for repair in reversed(repairs):
        for draft in drafts:
            draft.move(repair.written)
        calls = Calls([repair.written(offset) for offset in calls.offsets], calls.names)
    if cython:
        cython.sign(drafts, reader.definitions)
        drafts += cython.declared
    drafts.sort(key=lambda draft: (draft.start, -draft.end))
    number_rows(drafts, text)
    seen: Counter[Identity] = Counter()
    return [finish_python(draft, text, place, calls, seen) for draft in drafts]


def _without_tabs(source: str) -> Closed[str]:
    """The source indented by spaces; a tab goes to the next multiple of 8, as in Python."""
    missing = []
    for found in _TABS.finditer(source):
        width = len(found.group().rpartition("\f")[2].expandtabs(8))
        missing.append((found.end(), " " * max(0, width - len(found.group()))))
    return completed(_TABS.sub(lambda found: " " * len(found.group()), source), missing)
