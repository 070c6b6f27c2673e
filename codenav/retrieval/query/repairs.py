"""Repairs of a query's text before it is parsed: quotes, invisible characters, Markdown, prose."""

from __future__ import annotations

import re
import unicodedata

_TRIPLE = re.compile(r"([\"'])(?:\1\1)+")
"""Three quotes, which say the same as one; in a longer row as many as leave fewer than three."""
_QUOTES = str.maketrans({
    "“": '"', "”": '"', "„": '"', "‟": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "‚": "'", "`": " ", "−": "-",
    "–": "-", "—": " ",
})  # fmt: skip


class _Plain(dict[int, int | None]):
    """A table for `str.translate`: white space is a space or a line end, and no character is invisible."""

    def __missing__(self, code: int) -> int | None:
        char, category = chr(code), unicodedata.category(chr(code))
        plain: int | None = code
        if char.isspace() and char not in " \t\n":
            plain = ord(" " if category == "Zs" else "\n")
        elif category == "Cc" and char not in "\t\n":
            plain = ord(" ")
        elif category == "Cf":
            plain = None
        return self.setdefault(code, plain)


_PLAIN = _Plain()
_FENCE = re.compile(r"```[\w+-]{0,20}[ \t]{0,9}\n")
_TAGS = re.compile(r"</?(?:content|thought|query|search)>", re.IGNORECASE)
_BULLET = re.compile(r"\s*(?:[-*•]|\d{1,3}[.)])[ \t]+(?=[^\s])(?!(?:AND|OR|NOT)\b)")
_FLAGS = re.compile(r"\A\s*\(\?[aimsux]{1,6}\)")
_OPERATOR = re.compile(r"(?:\A|\s)(?:AND|OR|NOT|&&|\|\|)(?=\s|\Z)")
_PROSE = re.compile(r"[\w\s.,'?!-]+")


def cleaned(text: str) -> tuple[str, list[str]]:
    """Return the text to parse, and the repairs that change its meaning."""
    notes: list[str] = []
    plain, fences = _FENCE.subn(" ", normal(text))
    if "`" in plain:
        notes.append("backticks were left out")
    elif fences:
        notes.append("a Markdown fence was left out")
    plain = _TRIPLE.sub(r"\1", plain.translate(_QUOTES))
    plain, tags = _TAGS.subn(" ", plain)
    if tags:
        notes.append("tags around the query were left out")
    bullet = _BULLET.match(plain)
    if bullet:
        plain = plain[bullet.end() :]
        notes.append("a list bullet was left out")
    plain, flags = _FLAGS.subn("", plain)
    if flags:
        notes.append("the flags of a regular expression were left out: case never counts")
    return _question(plain, notes), notes


def normal(text: str) -> str:
    """The text in the characters that a query is read in: NFKC, without invisible ones and odd white space."""
    before = ""
    while text != before:
        before = text
        text = unicodedata.normalize("NFKC", text.translate(_PLAIN))
    return text


def _question(text: str, notes: list[str]) -> str:
    """Remove the question marks of prose, where they are not wildcards."""
    if "?" not in text or len(text.split()) < 3 or _OPERATOR.search(text) or not _PROSE.fullmatch(text):
        return text
    if not re.search(r"\w\?(?:\s|\Z)", text):
        return text
    notes.append("question marks were left out")
    return re.sub(r"\?(?=\s|\Z)", " ", text)
