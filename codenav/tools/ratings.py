"""Ratings of the descriptions of operations, by rules: completeness and readability, 1 to 3 each.

The rules are those of docs/tools.md: 3 means detailed and clear, 2 that something is unclear or missing, 1 that a
reader cannot tell what the operation does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from codenav.core.system.stored import Makers, Stored
from codenav.core.system.terminal_text import few
from codenav.tools.describing import clean
from codenav.tools.model import Operation, Schema
from codenav.tools.types import merged

BEST = 3
FEWEST_WORDS, MOST_WORDS = 3, 40
"""Words of a first sentence that reads well: "Find products." says too little, what is longer is read twice."""
LONGEST = 4000
"""Characters of a description: from there on it is a manual, of which an agent sees the beginning."""
SHOWN = 4
"""Parameters without a description that a finding names."""

_PLACEHOLDER = re.compile(
    r"^\W*(todo|tbd|fixme|lorem ipsum|description|summary|string|n/?a|none|null|test|foo)\W*$", re.I
)
_MARKUP = re.compile(r"<[^<>]{1,200}>|https?://\S+|[|*#`_\[\](){}=]{2,}")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_SENTENCE = re.compile(r"(?<=[.!?])\s|\n\s*\n")


@dataclass(frozen=True, slots=True)
class Rating(Stored):
    """The rating of a description."""

    completeness: int = BEST
    readability: int = BEST
    findings: Sequence[str] = ()
    """What is missing or unclear, a phrase each."""

    made: ClassVar[Makers] = {"findings": tuple}

    @property
    def weight(self) -> float:
        """From 0.33, the worst of both, to 1."""
        return round((self.completeness + self.readability) / (2 * BEST), 2)


def rated(operation: Operation, schemas: Mapping[str, Schema]) -> Rating:
    """The rating of an operation's description."""
    complete, lacking = _completeness(operation, schemas)
    readable, unclear = _readability(operation)
    return Rating(complete, readable, (*lacking, *unclear))


def _completeness(operation: Operation, schemas: Mapping[str, Schema]) -> tuple[int, list[str]]:
    findings = []
    bare = [item.name for item in operation.parameters if not _said(item.text, item.schema, schemas)]
    if bare:
        findings.append(f"no description of {few(bare, SHOWN)}")
    if not (operation.result_text.strip() or operation.result or operation.result_types):
        findings.append("no description of the answer")
    if not _text(operation):
        return 1, ["no description", *findings]
    if len(bare) * 2 > len(operation.parameters) > 1:
        return 1, findings
    return (2 if findings else BEST), findings


def _said(text: str, schema: Schema, schemas: Mapping[str, Schema]) -> bool:
    """True if a parameter is described, or the values that it lists say enough."""
    found = merged(schema, schemas)
    return bool(text.strip() or str(found.get("description") or "").strip() or found.get("enum"))


def _readability(operation: Operation) -> tuple[int, list[str]]:
    text = _text(operation)
    if not text:
        return 1, []
    # A title may be short if a description follows it.
    first = _SENTENCE.split(clean(operation.text).strip() or text, maxsplit=1)[0]
    words = _WORD.findall(first)
    if _PLACEHOLDER.match(text):
        return 1, [f"a placeholder for a description: {text[:40]!r}"]
    if _letters(text) in {_letters(name) for name in (operation.name, operation.id, operation.path)}:
        return 1, ["a description that only repeats the name"]
    findings = []
    if not FEWEST_WORDS <= len(words) <= MOST_WORDS:
        findings.append(f"a first sentence of {len(words)} word{'s' * (len(words) != 1)}")
    if len(" ".join(_MARKUP.findall(text))) * 2 > len(text):
        findings.append("more markup than text")
    if len(text) > LONGEST:
        findings.append(f"a description of {len(text):,} characters")
    if len(words) >= FEWEST_WORDS and first.upper() == first:
        findings.append("a description in capitals")
    return (2 if findings else BEST), findings


def _text(operation: Operation) -> str:
    """Title and description, the title first, each once."""
    title, text = clean(operation.title).strip(), clean(operation.text).strip()
    if not title or text.startswith(title.rstrip(".")):
        return text
    ends = "" if title.endswith((".", "!", "?")) else "."
    return f"{title}{ends} {text}".strip() if text else title


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()
