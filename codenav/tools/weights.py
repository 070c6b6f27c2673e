"""The weights of the tools of a state: what checks find lowers them, and search results show and heed them.

checks.json beside spec.json: {"SPEC/GROUP/NAME.tool": {"rating": {…}, "server": "…", "trial": "…"}}

Descriptions are rated by the rules of docs/tools.md, in completeness and readability, 1 to 3 each: 3 means detailed and
clear, 2 that something is unclear or missing, 1 that a reader cannot tell what the operation does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from codenav.core.system.atomic_files import write_whole
from codenav.core.system.stored import Makers, Stored
from codenav.core.system.terminal_text import few
from codenav.tools.describing import clean
from codenav.tools.model import Operation, Schema, ToolSpec
from codenav.tools.types import merged

FILE = "checks.json"
FAILED = 0.5
"""Factor on the weight of a tool for each of: its server did not answer, its trial did not do as the schema says."""

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
    """The missing and unclear parts, a phrase each."""

    made: ClassVar[Makers] = {"findings": tuple}

    @property
    def weight(self) -> float:
        """From 0.33, the worst of both, to 1."""
        return round((self.completeness + self.readability) / (2 * BEST), 2)


@dataclass(frozen=True, slots=True)
class Checked(Stored):
    """The findings of checks about a tool."""

    rating: Rating = field(default_factory=Rating)
    server: str = ""
    """The reason why its server did not answer; empty if it did, or was not asked."""
    trial: str = ""
    """The reason why a trial of it failed; empty if it went well, or was not made."""

    made: ClassVar[Makers] = {"rating": Rating.from_dict}

    @property
    def weight(self) -> float:
        """Between 0 and 1; 1 if nothing was found."""
        return round(self.rating.weight * FAILED ** (bool(self.server) + bool(self.trial)), 2)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The findings that lower the weight, the worst first."""
        return tuple(filter(None, (self.trial, self.server, *self.rating.findings)))


def by_rules(spec: ToolSpec, paths: Mapping[str, str]) -> dict[str, Checked]:
    """The checks that need nobody, by the path of an operation's block."""
    return {paths[operation.name]: Checked(rating_of(operation, spec.schemas)) for operation in spec.operations}


def save(folder: Path, checks: Mapping[str, Checked]) -> None:
    """Write the checks of a state; tools without findings are left out.

    Raises:
        OSError: no room, or no permission.
    """
    found = {path: one.to_dict() for path, one in sorted(checks.items()) if one.weight < 1 or one.reasons}
    text = json.dumps(found, indent=1)
    write_whole(folder / FILE, text + "\n")


def read(folder: Path) -> dict[str, Checked]:
    """The checks of a state; empty if there are none that can be read."""
    try:
        data: dict[str, dict[str, Any]] = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return {path: Checked.from_dict(item) for path, item in data.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def rating_of(operation: Operation, schemas: Mapping[str, Schema]) -> Rating:
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
