"""Text analysis, the same for every store: lower-case tokens joined by white space.

Stores index the result with a plain white space tokenizer, so engines cannot differ in their analysis.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

MAX_TOKEN = 255
"""The most characters kept of a token: Lucene's white space analyzer splits longer ones."""
SENTINEL = "\u2205"
"""The token of an empty field: Lucene's average length counts only documents that have the field, tantivy's all. No
text gives this token (it is not a letter), so no query finds it by chance."""
SPACE = "\u2423"
"""The replacement for white space inside a path."""
MIN_PREFIX, MAX_PREFIX = 3, 32
"""Lengths, in characters, of the prefixes of a name that are indexed as tokens."""

_CJK = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003fa1f"
_WORD = re.compile(rf"[{_CJK}]+|[^\W{_CJK}]+")
_IS_CJK = re.compile(rf"[{_CJK}]")
_PART = re.compile(r"A+(?!a)|A?a+|0+")


class _Parts(dict[str, str]):
    """A cache from identifier to its parts, joined by blanks. Code repeats identifiers: 9 of 10 look-ups hit."""

    def __missing__(self, word: str) -> str:
        if len(word) > MAX_TOKEN:
            return " ".join(_split(word))
        if len(self) > 200_000:
            self.clear()
        value = " ".join(_ASCII_PART.findall(word)).lower() if word.isascii() else " ".join(_split(word))
        if value == word:
            # Most words are their own only part, and are kept once.
            value = word
        self[word] = value
        return value


_parts = _Parts()
_ASCII_PART = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_BLANKED = "".join(char if char.isalnum() or char == "_" else " " for char in map(chr, range(128)))
"""A translation table that keeps the characters that `\\w` matches in ASCII and blanks the rest."""


def words(text: str) -> list[str]:
    """The identifiers in a text as written: runs of letters, digits and `_`, or of Chinese, Japanese or Korean."""
    if text.isascii():
        # Half of the time of a regular expression.
        return text.translate(_BLANKED).split()
    return _WORD.findall(unicodedata.normalize("NFKC", text))


def whole_tokens(word: str) -> list[str]:
    """The tokens of one whole identifier: itself in lower case, or the bigrams of a Chinese, Japanese or Korean run."""
    return _whole(word).split()


def part_tokens(word: str) -> list[str]:
    """The parts of one identifier: load, http, model, v, 2 for `loadHTTPModel_v2`."""
    return _parts[word].split()


def analysed(text: str) -> tuple[str, str]:
    """Two fields of a text, never empty: its compound identifiers, each once, and the parts of all, in order.

    An identifier that is its own only part, as most words are, is only among the parts.
    """
    identifiers = words(text)
    compounds = [
        whole
        for word in dict.fromkeys(identifiers)
        if (part := _parts[word]) != word and (whole := _whole(word)) != part
    ]
    return _joined(dict.fromkeys(compounds)), _joined(map(_parts.__getitem__, identifiers))


def parts(text: str) -> str:
    """The second field of `analysed` alone."""
    return _joined(map(_parts.__getitem__, words(text)))


def named(name: str) -> tuple[str, str]:
    """Two fields of a name, never empty: its whole identifiers, each once, and their parts, in order."""
    return _joined(dict.fromkeys(token for word in words(name) for token in whole_tokens(word))), parts(name)


def prefixes(wholes: str) -> str:
    """The field of prefixes of the whole identifiers of a name, these included."""
    tokens = [
        token[:length]
        for token in wholes.split()
        for length in range(min(MIN_PREFIX, len(token)), min(len(token), MAX_PREFIX) + 1)
    ]
    # Each only once: without frequencies, Lucene's average length counts a token once, tantivy's each occurrence.
    return " ".join(dict.fromkeys(tokens))


def as_set(parts: Iterable[str]) -> str:
    """One token for the parts of a name, whatever their order: `club_graph_karate` for `karate_club_graph`."""
    return "_".join(sorted(set(parts)))[:MAX_TOKEN] or SENTINEL


def path_token(path: str) -> str:
    """A path as one lower-case token without white space."""
    return re.sub(r"\s", SPACE, unicodedata.normalize("NFKC", encodable(path))).lower() or SENTINEL


def path_parts(path: str) -> str:
    """The components of a path as tokens, followed by its file name without the suffix."""
    parts = [part[:MAX_TOKEN] for part in path_token(path).split("/") if part]
    stem = parts[-1].rpartition(".")[0] if parts else ""
    return " ".join([*parts, stem] if stem else parts) or SENTINEL


def keyword(value: str) -> str:
    """A literal value as one lower-case token."""
    return path_token(value)[:MAX_TOKEN]


def is_cjk(char: str) -> bool:
    """True if a character is indexed as part of bigrams."""
    return bool(_IS_CJK.match(char))


def encodable(text: str) -> str:
    """The text with lone surrogates escaped, which no engine can store."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _joined(tokens: Iterable[str]) -> str:
    return " ".join(filter(None, tokens)) or SENTINEL


def _whole(word: str) -> str:
    """The tokens of one whole identifier, joined by blanks."""
    if not word.isascii() and _IS_CJK.match(word):
        return " ".join(_bigrams(word))
    return word.lower()[:MAX_TOKEN]


def _split(word: str) -> list[str]:
    if _IS_CJK.match(word):
        return _bigrams(word)
    word = word[: 4 * MAX_TOKEN]
    shape = "".join(map(_shape, word))
    return [word[match.start() : match.end()].lower()[:MAX_TOKEN] for match in _PART.finditer(shape)]


def _shape(char: str) -> str:
    if char.isupper():
        return "A"
    return "_" if char == "_" else "0" if char.isdigit() else "a"


def _bigrams(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(max(1, len(run) - 1))]
