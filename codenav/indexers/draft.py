"""Drafts of code blocks, whose text is cut out later, and their conversion to `CodeBlock`."""

from __future__ import annotations

import keyword
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from codenav.core.blocks import BlockKind, CodeBlock, LineSpan
from codenav.indexers.code_rules import Rules
from codenav.indexers.place import Identity, Place, next_id
from codenav.indexers.python_text import dedent

NAME_LENGTH = 200
"""Characters. Of a longer dotted name of a call only the last part is read."""

LONG_VALUE = 20_000
"""Characters. In languages other than Python the text of a longer assignment is cut, since it is a table of data."""

_ARGUMENTS = re.compile(r"(?:::)?<[^<>()]*>")
_DOTTED = re.compile(r"[@#$\w\\]+[?!]?(?:(?:\.|::|->|\?\.|\?->|&\.|!\.|\\)[@#$\w]+[?!]?)*")
_OPERATOR = re.compile(r"^\s*(?:await|new|typeof)\s+")
_LAST = re.compile(r"[$\w]+[?!]?\Z")


@dataclass(frozen=True, slots=True)
class Elision:
    """A range that a block leaves out, and the text shown in its place: None for `...` after a blank."""

    start: int
    end: int
    shown: str | None = None


@dataclass(slots=True)
class Draft:
    """A block whose text is cut out later, once its elisions are known.

    Its offsets are characters in Python, else bytes.
    """

    kind: BlockKind
    name: str
    qualname: str
    start: int
    """Offset of the start in the source, with doc comment, attributes and decorators."""
    end: int
    rows: tuple[int, int]
    """First and last row, 0-based."""
    signature: str = ""
    docstring: str = ""
    importable: str = ""
    """For Python the module-level name to import, else the whole line; empty if it cannot be imported."""

    elided: list[Elision] = field(default_factory=list)
    """Bodies of definitions that are separate blocks, values of long assignments, doc comments of parts."""

    def move(self, written: Callable[[int], int]) -> None:
        """Set the offsets to what `written` says of each."""
        self.start, self.end = written(self.start), written(self.end)
        self.elided = [Elision(written(part.start), written(part.end), part.shown) for part in self.elided]

    def shown(self, calls: Calls, cut: Callable[[int, int], str]) -> tuple[str, dict[str, None]]:
        """The text without what is elided, and the names called in it; `cut` gives the text of a range."""
        if not self.elided:
            return cut(self.start, self.end), dict.fromkeys(calls.between(self.start, self.end))
        called: dict[str, None] = {}
        text, position = "", self.start
        for part in sorted(self.elided, key=lambda part: (part.start, -part.end)):
            if part.start >= position and part.end <= self.end:
                called.update(dict.fromkeys(calls.between(position, part.start)))
                text += cut(position, part.start)
                text += part.shown if part.shown is not None else "..." if text.endswith(" ") else " ..."
                position = part.end
        called.update(dict.fromkeys(calls.between(position, self.end)))
        return text + cut(position, self.end), called

    def block(
        self,
        text: str,
        place: Place,
        *,
        language: str,
        import_line: str,
        calls: Iterable[str],
        id: str = "",
        public_name: str = "",
    ) -> CodeBlock:
        """The block with its text."""
        return CodeBlock(
            id=id,
            kind=self.kind,
            name=self.name,
            qualname=self.qualname,
            path=place.path,
            lines=LineSpan(self.rows[0] + 1, self.rows[1] + 1),
            text=text,
            signature=self.signature,
            docstring=self.docstring,
            language=language,
            source=place.source,
            module=place.module or place.within,
            public_name=public_name,
            import_line=import_line,
            calls=tuple(calls),
        )


@dataclass(frozen=True, slots=True)
class Calls:
    """The dotted names that a file calls, in order of the offset of one character in each."""

    offsets: Sequence[int]
    names: Sequence[str]

    def between(self, start: int, end: int) -> Sequence[str]:
        """The names in a range of offsets."""
        return self.names[bisect_left(self.offsets, start) : bisect_left(self.offsets, end)]


def calls_in(spans: Iterable[tuple[int, int]], data: bytes) -> Calls:
    """The calls whose names are read from ranges of bytes; each counts where its last byte is."""
    pairs = sorted((end, called_name(data[max(start, end - NAME_LENGTH) : end])) for start, end in spans)
    named = [(end - 1, name) for end, name in pairs if name]
    return Calls([end for end, _ in named], [name for _, name in named])


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


def names_to_import(place: Place, top: str, qualname: str) -> tuple[str, str]:
    """The public name of a definition in `top`, what its module has at its top level, and the statement to import it.

    The name is empty for what is private, the statement if there is none.
    """
    offered, _ = place.public.get(top, ("", ""))
    module, _, name = (offered or f"{place.module}.{top}").rpartition(".")
    inner = qualname.removeprefix(top)
    private = any(part.startswith("_") and not part.endswith("__") for part in inner.split("."))
    can = module and top.isidentifier() and name.isidentifier() and not keyword.iskeyword(name)
    return "" if private or not offered else offered + inner, f"from {module} import {name}" if can else ""


def number_rows(drafts: Sequence[Draft], source: str) -> None:
    """Set the rows of drafts, which are in order of their starts."""
    row = at = 0
    for draft in drafts:
        row += source.count("\n", at, draft.start)
        at = draft.start
        draft.rows = (row, row + source.count("\n", at, draft.end))


def finish_python(draft: Draft, source: str, place: Place, calls: Calls, seen: Counter[Identity]) -> CodeBlock:
    """The block of a draft of Python; `seen` is shared by the blocks of a file."""
    text, called = draft.shown(calls, lambda start, end: source[start:end])
    indent = source[source.rfind("\n", 0, draft.start) + 1 : draft.start]
    public = ""
    if draft.kind is BlockKind.DOCUMENT:
        line = f"import {place.module}" if place.module else ""
    else:
        public, line = names_to_import(place, draft.importable, draft.qualname)
    text = dedent(text, "" if indent.strip() else indent)
    id = next_id(place, draft.qualname, draft.kind, text, seen)
    return draft.block(text, place, language="python", import_line=line, calls=called, id=id, public_name=public)


def finish_code(draft: Draft, data: bytes, place: Place, rules: Rules, calls: Calls) -> CodeBlock:
    """The block of a draft of another language, without an id: `numbered` gives ids to all blocks of a file."""
    text, called = draft.shown(calls, lambda start, end: data[start:end].decode("utf-8", "replace"))
    line_start = data.rfind(b"\n", max(0, draft.start - 1000), draft.start) + 1
    indent = data[line_start : draft.start].decode("utf-8", "replace") if line_start or draft.start < 1000 else "x"
    text = dedent(text, "" if indent.strip() else indent)
    if draft.kind is BlockKind.ASSIGNMENT and len(text) > LONG_VALUE:
        text = text[:LONG_VALUE] + " …"
    public, line = "", draft.importable
    if rules.offers:
        hidden = not line or draft.signature.startswith(("private ", "protected "))
        public, line = ("", "") if hidden else place.offered(draft.qualname)
    return draft.block(text, place, language=rules.name, import_line=line, calls=called, public_name=public)
