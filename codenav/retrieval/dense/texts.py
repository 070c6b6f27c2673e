"""The text of a block by which it is looked for: its name, its description, and the parameters with their texts."""

from __future__ import annotations

import re

from codenav.core.blocks import BlockKind, CodeBlock

LONGEST = 4_000
"""Characters of a docstring that are read. The description comes first; what is further down tells less."""

_TOOL_END = re.compile(r"^(?:Returns|Raises|Example):\s*$", re.MULTILINE)
_TOOL_LINE = re.compile(r"^Tool '.*$", re.MULTILINE)
_HEADINGS = re.compile(r"^Args:\s*$|: no description\.$|^\s*>>>.*$|^[-=~]{3,}$", re.MULTILINE)
_SIGNATURE = re.compile(r"^\s*(?:async\s+)?(?:def|class)\s+|\bself\b|\bcls\b")


def text_of(block: CodeBlock) -> str:
    """The text of a block. What the stub of every tool has says nothing about one, and is left out."""
    said = block.docstring[:LONGEST]
    if block.kind is BlockKind.TOOL:
        said = _TOOL_LINE.sub("", _TOOL_END.split(said, maxsplit=1)[0])
        return f"{block.qualname} {_HEADINGS.sub('', said)}"
    return f"{block.qualname} {_HEADINGS.sub('', said)} {_SIGNATURE.sub(' ', block.signature)}"
