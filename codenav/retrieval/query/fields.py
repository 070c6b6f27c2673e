"""The fields of the query language, and other spellings of them and of their values that people write."""

from __future__ import annotations

import difflib
import fnmatch
import re

from codenav.core.blocks import BlockKind

TEXT_FIELDS = ("text", "name", "doc", "signature")
"""Fields whose values are analysed into identifiers (`codenav.retrieval.analysis`)."""
KEYWORD_FIELDS = ("type", "file_path", "language", "source", "calls")
"""Fields whose values are taken literally. Next to words they narrow: `type:CLASS loader` is read with AND."""
ALIASES = {
    "kind": "type", "kinds": "type", "path": "file_path", "file": "file_path", "filename": "file_path",
    "filepath": "file_path", "lang": "language", "line": "lines", "docstring": "doc", "prototype": "signature",
    "content": "text", "symbol": "name", "call": "calls", "callers": "calls",
}  # fmt: skip
"""Other names of the fields, read without reporting a repair."""
DEFINING = {
    "class": ("CLASS",), "struct": ("CLASS",), "interface": ("CLASS",), "method": ("METHOD",),
    "function": ("FUNCTION", "METHOD"), "func": ("FUNCTION", "METHOD"), "def": ("FUNCTION", "METHOD"),
}  # fmt: skip
"""Names of kinds that are written like fields: `class: Loader` asks for a class with that name."""

_KNOWN = (*TEXT_FIELDS, *KEYWORD_FIELDS, "lines")
FIELD = re.compile(rf"({'|'.join((*_KNOWN, *ALIASES))})[ \t]*:(?!:)", re.IGNORECASE | re.ASCII)
"""The name of a field and its colon, at the beginning of a clause."""
EQUALS = re.compile(
    rf"({'|'.join(_KNOWN)})(?:=(?=[\w*\u0080-\U0010ffff]|\"[^\"]*\"|'[^']*')"
    r"|[ \t]*=[ \t]*(?=\"[^\"\n]{1,200}\"(?:[\s),]|\Z)))",
    re.I | re.ASCII,
)
"""A field with an equals sign: `name=x`, `name = "x"`."""
DEFINES = re.compile(rf"({'|'.join(DEFINING)})[ \t]*:(?!:)[ \t]*(?=[\"']?[\w*\u0080-\U0010ffff])", re.I | re.ASCII)
_NEAR = re.compile(r"([A-Za-z][A-Za-z_-]{2,11}|file path)[ \t]*:(?!:)[ \t]*(?=[\w*\"'(./\[])")

_UNKNOWN = re.compile(r"(?:^|\(|\b(?:AND|OR|NOT)\s)\s*([a-z][a-z_]{2,20}):(?![:/])\s*[\w\"'(*]")


def unknown_fields(query: str) -> list[tuple[str, tuple[str, ...]]]:
    """The words that are written like a field and are none, each with the fields that there are.

    Of a query without operators and brackets only one such word before a single value counts: `error: no such file` is
    a message.
    """
    if re.search(r"\b(?:AND|OR|NOT)\b|^\s*\(", query) is None and len(query.split()) > 2:
        return []
    written = dict.fromkeys(found[1] for found in _UNKNOWN.finditer(query[:2_000]))
    return [
        (name, _KNOWN)
        for name in written
        if not (name in _KNOWN or name in ALIASES or name in DEFINING or near_field(f"{name}:x", 0))
    ]


def near_field(text: str, at: int) -> tuple[str, int] | None:
    """A misspelled field at that position (`nmae:`, `file-path:`), as (correct name, position of its value)."""
    match = _NEAR.match(text, at)
    if match is None:
        return None
    written = match[1].lower()
    plain = re.sub(r"[ -]", "_", written)
    near = [plain] if plain in _KNOWN else difflib.get_close_matches(plain, _KNOWN, n=1, cutoff=0.85)
    if not near and len(written) == 4 and written[0] in "nt":
        near = [known for known in ("name", "type") if sorted(known) == sorted(written) and known != "text"]
    return (near[0], match.end()) if near and near[0][0] == written[0] else None


_MEANT = {
    "DEF": "FUNCTION", "FUNC": "FUNCTION", "FN": "FUNCTION", "SUBROUTINE": "FUNCTION", "PROCEDURE": "FUNCTION",
    "PROPERTY": "METHOD", "CONSTRUCTOR": "METHOD", "STRUCT": "CLASS", "INTERFACE": "CLASS", "TRAIT": "CLASS",
    "ENUM": "CLASS", "PROTOCOL": "CLASS", "DATACLASS": "CLASS", "VARIABLE": "ASSIGNMENT", "VAR": "ASSIGNMENT",
    "CONSTANT": "ASSIGNMENT", "CONST": "ASSIGNMENT", "ATTRIBUTE": "ASSIGNMENT", "DOC": "DOCUMENT",
    "DOCUMENTATION": "DOCUMENT", "MARKDOWN": "DOCUMENT", "README": "DOCUMENT", "NOTEBOOK": "DOCUMENT",
    "IF": "CONDITIONAL", "ENDPOINT": "TOOL", "OPERATION": "TOOL",
}  # fmt: skip
"""Other names that models use for the kinds of blocks."""
_LANGUAGES = {
    "py": "python", "python3": "python", "js": "javascript", "jsx": "javascript", "node": "javascript",
    "ts": "typescript", "golang": "go", "rs": "rust", "rb": "ruby", "c++": "cpp", "cxx": "cpp", "c#": "csharp",
    "cs": "csharp", "md": "markdown", "rst": "restructuredtext",
}  # fmt: skip
_LISTED = frozenset({*_LANGUAGES, *_LANGUAGES.values(), "java", "php", "tsx", "c", "text", "notebook"})
"""Names recognised as languages in the continuation of a list: `language: js OR ts`."""
FURTHER_VALUE = r"([^\s,;|&()\"':^]{1,200})(?=[\s),|&^]|\Z)"
"""A word that may be another value of the field before it."""


def block_kinds(value: str) -> tuple[list[BlockKind], str]:
    """The kinds that a `type` value names, and a sentence if it had to be repaired, else "".

    Not case-sensitive; `A,B`, `A|B`, `A OR B` and wildcards name several. If nothing similar exists, no kinds are
    returned, and the sentence says so.
    """
    found: dict[BlockKind, None] = {}
    mended = []
    names = re.findall(r"[^,;|/&()\[\]{}\"'\s]+", value.upper())
    for name in list(dict.fromkeys(name for name in names if name not in ("OR", "AND")))[:20]:
        matches = [kind for kind in BlockKind if fnmatch.fnmatchcase(kind.value, name)]
        if not matches:
            near = _nearest(name)
            if near is None:
                known = ", ".join(BlockKind)
                return [], f"there is no type {name[:40]}: it was left out; the types are {known}"
            mended.append(f"type {name[:40]} was read as {near}")
            matches = [BlockKind(near)]
        found.update(dict.fromkeys(matches))
    return list(found), "; ".join(mended)


def continues(field: str, value: str) -> bool:
    """True if a value after `OR` or a comma is one more of the field before: `type: FUNCTION OR METHOD`."""
    if field == "type":
        return _exact(value.upper()) is not None
    if field == "language":
        return value.lower() in _LISTED
    return field == "file_path" and re.search(r"[/*]|\.\w{1,5}\Z", value) is not None


def _exact(name: str) -> str | None:
    known = {kind.value: kind.value for kind in BlockKind}
    return known.get(name) or known.get(name.removesuffix("S")) or known.get(name.removesuffix("ES"))


def _nearest(name: str) -> str | None:
    for tried in (name, name.removesuffix("S")):
        if tried in _MEANT:
            return _MEANT[tried]
    known = {**{kind.value: kind.value for kind in BlockKind}, **_MEANT}
    near = difflib.get_close_matches(name[:30], known, n=1, cutoff=0.7)
    return _exact(name) or (known[near[0]] if near else None)


def language(value: str) -> str:
    """The name of a language in the index: `javascript` for `js`."""
    return _LANGUAGES.get(value.lower(), value)
