"""Definitions found line by line, for files with syntax errors: after a missing brace the parser may lose the rest."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from codenav.core.blocks import BlockKind
from codenav.indexers.code_text import prototype
from codenav.indexers.draft import Draft

_LINE_CHARACTERS = 500
"""Longer lines are skipped."""

_NO_NAMES = {
    "auto", "await", "bool", "case", "catch", "char", "constexpr", "delete", "do", "elif", "else", "elseif", "except",
    "for", "foreach", "function", "goto", "if", "int", "lock", "new", "print", "return", "sizeof", "super", "switch",
    "synchronized", "this", "throw", "typedef", "unless", "until", "using", "void", "while", "with", "yield",
}  # fmt: skip
"""Words that begin a statement or stand before its brackets, and so are not names of definitions."""

_JAVA_WORDS = r"(?:(?:public|private|protected|internal|static|final|abstract|sealed|partial|readonly|export)\s+)*"
_ARGUMENTS = re.compile(r"<[^<>()]*>")
_TYPED = re.compile(r"(?P<indent>\s*)(?P<first>[\w~][\w:<>.\[\]?]*)(?P<rest>(?:[ \t*&]+[\w:<>.\[\]?~]+){0,12})\([^;]*$")
"""`static int f(int a,` in C, C++, C# and Java: the name declared is the last word before the bracket."""

_PATTERNS: dict[str, tuple[re.Pattern[str], ...]] = {
    name: tuple(re.compile(r"(?P<indent>\s*)" + pattern) for pattern in patterns)
    for name, patterns in {
        "javascript": (
            r"(?:export\s+|default\s+|declare\s+|abstract\s+)*(?:class|interface|enum|namespace)\s+(?P<type>\w+)",
            r"(?:export\s+|default\s+|declare\s+|async\s+)*function\b\s*\*?\s*(?P<name>\w+)\s*[(<]",
            r"(?:export\s+)?(?:const|let|var)\s+(?P<name>\w+)\s*=\s*(?:async\s*)?(?:function\b|\([^()]*\)\s*=>|\w+\s*=>)",
            r"(?:(?:public|private|protected|static|async|get|set|override)\s+)*\*?(?P<name>#?\w+)\s*\([^()]*\)[^;=()]*\{\s*$",
        ),
        "go": (
            r"func\s+(?:\([^)]*?(?P<owner>\w+)(?:\[[^\]]*\])?\)\s*)?(?P<name>\w+)\s*[(\[]",
            r"type\s+(?P<type>\w+)\b[^=]*\{",
        ),
        "java": (_JAVA_WORDS + r"(?:class|interface|enum|record|struct|@interface)\s+(?P<type>\w+)",),
        "rust": (
            r"(?:pub(?:\([^)]*\))?\s+)?(?:(?:default|const|async|unsafe|extern)\s+)*fn\s+(?P<name>\w+)",
            r"(?:pub(?:\([^)]*\))?\s+)?(?:struct|enum|trait|union|mod(?=\s+\w+\s*\{))\s+(?P<type>\w+)",
            r"(?:unsafe\s+)?impl\b(?:.*\bfor\s+|\s*<[^{]*?>\s*|\s+)&?(?:\w+::)*(?P<type>\w+)",
        ),
        "c": (
            r"(?:typedef\s+)?(?:enum\s+)?(?:class|struct|enum|union)\s+(?:[A-Z_0-9]+\s+)?(?P<type>\w+)"
            r"\s*(?:final\s*)?(?::[^;()]*|\{[^;]*)?$",
        ),
        "ruby": (r"def\s+(?:self\.)?(?P<name>\w+[?!=]?)", r"(?:class|module)\s+(?:\w+::)*(?P<type>\w+)"),
        "php": (
            r"(?:(?:public|private|protected|static|abstract|final)\s+)*function\s+&?(?P<name>\w+)\s*\(",
            r"(?:(?:abstract|final|readonly)\s+)*(?:class|interface|trait|enum)\s+(?P<type>\w+)",
        ),
    }.items()
}
_KEYWORD_FIRST = {"go", "php", "ruby", "rust"}
"""Languages in which a word begins every definition, so that any name may follow: `fn new`, `def print`."""
_ALIKE = {"typescript": "javascript", "tsx": "javascript", "csharp": "java", "cpp": "c"}


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that begins a definition."""

    names: tuple[str, ...]
    is_type: bool
    in_type: bool
    row: int
    indent: str


def mend(
    drafts: list[Draft],
    data: bytes,
    language: str,
    comments: Collection[int] = (),
    rows: Collection[int] | None = None,
) -> list[Draft]:
    """The drafts of a file with syntax errors, in order, including those that the parser lost.

    `comments` are the rows that hold nothing but a comment, `rows` those where a definition may be lost; None for any.

    A definition that the parser put into the wrong parent gets its qualified name back. Nesting and extent are read
    from the indentation. Lines of more than `_LINE_CHARACTERS` characters are skipped.
    """
    written = data.split(b"\n")
    lines = [
        "x" if row in comments or len(line) > _LINE_CHARACTERS else line.decode("utf-8", "replace")
        for row, line in enumerate(written)
    ]
    if language in ("c", "cpp"):
        # What a macro is defined as is no definition.
        lines = ["x" if before.endswith(b"\\") else line for before, line in zip([b"", *written], lines, strict=False)]
    known: dict[str, list[Draft]] = {}
    for draft in drafts:
        known.setdefault(draft.name, []).append(draft)
    functions = {draft.name for draft in drafts if draft.kind in (BlockKind.FUNCTION, BlockKind.METHOD)}
    offsets = [0]
    for line in written:
        offsets.append(offsets[-1] + len(line) + 1)
    lost = []
    for found in _definitions(lines, language):
        there = [draft for draft in known.get(found.names[-1], ()) if draft.rows[0] <= found.row <= draft.rows[1]]
        if there:
            # Take the nearest: a constructor is inside a class with the same name.
            draft = max(there, key=lambda draft: draft.rows[0])
            if _misplaced(draft, found, functions):
                draft.qualname = ".".join(found.names)
                if draft.kind is not BlockKind.CLASS:
                    draft.kind = BlockKind.METHOD if found.in_type else BlockKind.FUNCTION
            continue
        if rows is not None and found.row not in rows:
            continue
        last = _last_row(lines, found)
        kind = BlockKind.CLASS if found.is_type else BlockKind.METHOD if found.in_type else BlockKind.FUNCTION
        shown = found.row if found.is_type else last
        lost.append(
            Draft(
                kind=kind,
                name=found.names[-1],
                qualname=".".join(found.names),
                start=offsets[found.row] + len(found.indent.encode()),
                end=offsets[shown] + len(written[shown]),
                rows=(found.row, last),
                signature=prototype(lines[found.row]),
            )
        )
    return sorted([*drafts, *lost], key=lambda draft: (draft.start, -draft.end))


def _misplaced(draft: Draft, found: _Line, functions: set[str]) -> bool:
    """True if the parser lost the enclosing class, or a missing brace put the draft into the function above."""
    names = draft.qualname.split(".")
    if draft.kind is BlockKind.ASSIGNMENT or len(names) == len(found.names):
        return False
    return len(names) < len(found.names) or (
        set(found.names) < set(names) and set(names[:-1]) - set(found.names) <= functions
    )


def _definitions(lines: list[str], language: str) -> Iterator[_Line]:
    around: list[tuple[int, str, bool]] = []
    for row, line in enumerate(lines):
        found = _match(line, language)
        if found is None and not line.lstrip().startswith("}"):
            continue
        width = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
        while around and around[-1][0] >= width:
            around.pop()
        if found is None:
            continue
        indent, owner, name, is_type = found
        if len(around) < 20:
            names = (*(outer for _, outer, _ in around), *owner, name)
            yield _Line(names, is_type, bool(owner) or (bool(around) and around[-1][2]), row, indent)
        around.append((width, name, is_type))


def begins(line: str, language: str) -> bool:
    """True for a line that begins a definition."""
    return len(line) <= _LINE_CHARACTERS and _match(line, language) is not None


def _match(line: str, language: str) -> tuple[str, tuple[str, ...], str, bool] | None:
    """Indentation, owner types named on the line itself, name, and True if the name is that of a type."""
    alike = _ALIKE.get(language, language)
    for pattern in _PATTERNS[alike]:
        found = pattern.match(line)
        if found is None:
            continue
        groups = found.groupdict()
        name = groups.get("type") or groups.get("name") or ""
        if name and (alike in _KEYWORD_FIRST or name not in _NO_NAMES):
            return groups["indent"], (groups["owner"],) if groups.get("owner") else (), name, bool(groups.get("type"))
    if alike not in ("c", "java") or "operator" in line:
        return None
    typed = _TYPED.match(_ARGUMENTS.sub("", _ARGUMENTS.sub("", line)))
    if typed is None or typed["first"] in _NO_NAMES or not line.rstrip().endswith(("{", ")", ",", "(")):
        return None
    *owner, name = (typed["rest"].split() or [""])[-1].lstrip("*&").split("::")
    macro = alike == "c" and name.isupper() and len(name) > 2
    if not re.fullmatch(r"~?\w+", name) or macro or name in _NO_NAMES or "." in typed["rest"].split()[-1]:
        return None
    return typed["indent"], tuple(re.findall(r"^\w+", part)[0] for part in owner if re.match(r"\w", part)), name, False


def _last_row(lines: list[str], found: _Line) -> int:
    """The last row of a definition: it ends before the next line with as little indentation.

    The line that closes its braces still belongs to it.
    """
    width = len(found.indent.expandtabs(4))
    last = found.row
    for row in range(found.row + 1, min(len(lines), found.row + 5_000)):
        stripped = lines[row].strip()
        if not stripped:
            continue
        if len(lines[row].expandtabs(4)) - len(lines[row].expandtabs(4).lstrip()) <= width:
            if stripped[0] in "{)]":
                last = row
                continue
            closes = stripped[0] == "}" or stripped.split()[0] == "end"
            return row if closes else last
        last = row
    return last
