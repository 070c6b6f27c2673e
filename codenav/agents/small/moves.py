"""The three moves of a small model, as text and as grammars: a block of Python, `SEARCH: words`, `ANSWER: text`."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

_FENCE = re.compile(
    r"```[ \t]*(?:python3?|py)?[ \t]*\n(?P<code>.*?)(?:\n[ \t]*```|[ \t]*```\s*\Z|\Z)", re.DOTALL | re.IGNORECASE
)
_WORD = re.compile(
    r"^[\s*#>-]*(?P<move>SEARCH|ANSWER)\b[*\s]*:[*\s]*(?P<text>.*)", re.IGNORECASE | re.DOTALL | re.MULTILINE
)

CODE, SEARCH, ANSWER = "code", "search", "answer"
_RULES = {
    # Free inside: no backtick begins the end of the block.
    CODE: 'code ::= "```python\\n" ([^`] | "`" [^`] | "``" [^`])+ "```"',
    SEARCH: 'search ::= "SEARCH: " [^\\n`]+',
    ANSWER: 'answer ::= "ANSWER: " [^\\n]+',
}


def grammar(*moves: str) -> str:
    """The grammar of answers that are one of these moves, in llama.cpp's GBNF."""
    return "\n".join([f"root ::= {' | '.join(moves)}", *(_RULES[move] for move in moves)])


@dataclass(frozen=True)
class Move:
    """A move of a small model."""

    kind: str
    text: str

    def __str__(self) -> str:
        return f"```python\n{self.text}\n```" if self.kind == CODE else f"{self.kind.upper()}: {self.text}"


def read(text: str, *, allowed: tuple[str, ...] = (CODE, SEARCH, ANSWER)) -> Move | None:
    """The first allowed move in an answer; None if it holds none. Servers without grammars get any text here."""
    fence, word = _FENCE.search(text), _WORD.search(text)
    found: list[tuple[int, Move]] = []
    rows = fence["code"].split("\n") if fence else []
    # A grammar lets a model end its block with lines of nothing but backticks.
    while rows and not rows[-1].strip("` \t\r"):
        rows.pop()
    if fence and (code := textwrap.dedent("\n".join(rows)).strip()):
        found.append((fence.start(), Move(CODE, code)))
    if word:
        # A line of a block that happens to begin so is code.
        inside = fence is not None and fence.start() < word.start()
        said = word["text"].partition("```")[0].strip()
        kind = word["move"].lower()
        said = said.splitlines()[0].strip() if kind == SEARCH and said else said
        if said and not inside:
            found.append((word.start(), Move(kind, said)))
    return next((move for _, move in sorted(found, key=lambda one: one[0]) if move.kind in allowed), None)
