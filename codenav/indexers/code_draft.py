"""Drafts of blocks of languages other than Python, and their conversion to `CodeBlock`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.indexers.code_rules import Rules
from codenav.indexers.draft import BlockDraft
from codenav.indexers.place import Place
from codenav.indexers.python_text import dedent

LONG_VALUE = 20_000
"""Characters. The text of a longer assignment is cut, since it is a table of data."""

_NAME_BYTES = 200
"""Bytes. Of a longer name of a call only the end is read."""

_ARGUMENTS = re.compile(r"(?:::)?<[^<>()]*>")
_DOTTED = re.compile(r"[@#$\w\\]+[?!]?(?:(?:\.|::|->|\?\.|\?->|&\.|!\.|\\)[@#$\w]+[?!]?)*")
_OPERATOR = re.compile(r"^\s*(?:await|new|typeof)\s+")
_LAST = re.compile(r"[$\w]+[?!]?\Z")


@dataclass(frozen=True, slots=True)
class Elision:
    """A byte range that a block leaves out, and the text shown in its place."""

    start: int
    end: int
    shown: str


@dataclass(slots=True)
class Draft(BlockDraft):
    """A draft of a language other than Python. Its offsets are bytes."""

    elided: list[Elision] = field(default_factory=list)


@dataclass(slots=True)
class Run:
    """Adjacent imports, or adjacent statements."""

    kind: BlockKind
    start: int
    end: int
    rows: tuple[int, int]
    signature: list[str]
    elided: list[Elision] = field(default_factory=list)


class Calls:
    """The names that a file calls, in order of the byte where each ends."""

    def __init__(self, spans: Iterable[tuple[int, int]], data: bytes) -> None:
        pairs = sorted((end, called_name(data[max(start, end - _NAME_BYTES) : end])) for start, end in spans)
        self._ends = [end for end, name in pairs if name]
        self._names = [name for _, name in pairs if name]

    def between(self, start: int, end: int) -> Sequence[str]:
        """The names that end in a range of bytes."""
        return self._names[bisect_right(self._ends, start) : bisect_right(self._ends, end)]


def called_name(source: bytes) -> str:
    """The called name in `source`, such as `a::b` or `this.save`; of other expressions the last name, or ""."""
    name = source.decode("utf-8", "replace")
    if not name.isidentifier():
        name = "".join(_OPERATOR.sub("", name).split())
        while "<" in name:
            shorter = _ARGUMENTS.sub("", name)
            if shorter == name:
                break
            name = shorter
        if not _DOTTED.fullmatch(name):
            last = _LAST.search(name)
            return last.group() if last else ""
    return name


def finish(draft: Draft, data: bytes, place: Place, rules: Rules, calls: Calls) -> CodeBlock:
    """The block of a draft, without an id: `numbered` gives ids to all blocks of a file."""
    called: dict[str, None] = {}
    pieces = []
    position = draft.start
    for elision in sorted(draft.elided, key=lambda elision: (elision.start, -elision.end)):
        if elision.start >= position and elision.end <= draft.end:
            called.update(dict.fromkeys(calls.between(position, elision.start)))
            pieces.append(data[position : elision.start].decode("utf-8", "replace"))
            pieces.append(elision.shown)
            position = elision.end
    called.update(dict.fromkeys(calls.between(position, draft.end)))
    pieces.append(data[position : draft.end].decode("utf-8", "replace"))
    line_start = data.rfind(b"\n", max(0, draft.start - 1000), draft.start) + 1
    indent = data[line_start : draft.start].decode("utf-8", "replace") if line_start or draft.start < 1000 else "x"
    text = dedent("".join(pieces), "" if indent.strip() else indent)
    if draft.kind is BlockKind.ASSIGNMENT and len(text) > LONG_VALUE:
        text = text[:LONG_VALUE] + " …"
    public, line = "", draft.importable
    if rules.offers:
        hidden = not line or draft.signature.startswith(("private ", "protected "))
        public, line = ("", "") if hidden else place.offered(draft.qualname)
    return draft.block(text, place, language=rules.name, import_line=line, calls=called, public_name=public)
