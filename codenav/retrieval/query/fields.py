"""The fields of the query language, and other spellings of them that people write."""

from __future__ import annotations

import difflib
import re

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
