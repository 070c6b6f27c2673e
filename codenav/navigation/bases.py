"""The names of base classes, as the headers of classes have them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codenav.core.blocks import CodeBlock

_NAME = re.compile(r"(?:(?:public|protected|private|virtual)\s+)*((?:[^\W\d]\w*|::|[.\\])+)")
_HEADS = {
    "python": re.compile(r"class\s+\w+\s*(?:\[[^\]]*\])?\s*\((.*)\)", re.DOTALL),
    "ruby": re.compile(r"<\s*(.*)", re.DOTALL),
    **dict.fromkeys(("cpp", "csharp"), re.compile(r"(?<!:):(?!:)(.*?)(?:\bwhere\b|$)", re.DOTALL)),
}
"""What stands before and after the bases; in Go and Rust no class has any."""
_CLAUSE = re.compile(r"\b(?:extends|implements)\s+(.*?)(?=\b(?:extends|implements|permits)\b|$)", re.DOTALL)
_BY_CLAUSE = ("java", "javascript", "typescript", "tsx", "php")
_ANGLED = re.compile(r"<[^<>]*>")
_ROUND = re.compile(r"\([^()]*\)")
_SQUARE = re.compile(r"\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]")


def base_names(block: CodeBlock) -> list[str]:
    """The base classes named in the header of a class, dotted, generics without their parameters."""
    if block.language == "python":
        match = _HEADS["python"].match(block.signature)
        parts = _SQUARE.sub("", match[1]).split(",") if match else []
        return [item for part in parts if re.fullmatch(r"[^\W\d][\w.]*", item := part.strip())]
    found = (_NAME.match(part.strip()) for clause in _clauses(block) for part in clause.split(","))
    return [match[1].replace("::", ".").replace("\\", ".").strip(".") for match in found if match]


def _clauses(block: CodeBlock) -> Iterator[str]:
    """The lists of bases in the header of a class of another language than Python."""
    header = _without(_ROUND, block.signature)
    if block.language in _BY_CLAUSE:
        yield from _CLAUSE.findall(_without(_ANGLED, header))
    elif head := _HEADS.get(block.language):
        header = header if block.language == "ruby" else _without(_ANGLED, header)
        if match := head.search(header):
            yield match[1]


def _without(brackets: re.Pattern[str], text: str) -> str:
    """The text without what stands in brackets, at any depth."""
    while (shorter := brackets.sub(" ", text)) != text:
        text = shorter
    return text
