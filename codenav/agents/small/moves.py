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
_TICKS = re.compile(r"(?:^[`\s]*`[`\s]*$\n?)+\Z", re.MULTILINE)
"""Lines of nothing but backticks at the end of a block, which a grammar lets a model write."""

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
    code = textwrap.dedent(_TICKS.sub("", fence["code"])).strip() if fence else ""
    if fence and code:
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
