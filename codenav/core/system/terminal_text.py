"""Display of untrusted text (from a model, sandboxed code, a repository) in a terminal or a log."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit, urlunsplit

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Control characters that reorder displayed text (Unicode UAX 9; "Trojan Source", CVE-2021-42574)."""

_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff{_BIDI}]")


def neutral(text: str) -> str:
    """The text with line ends as `\\n`, and control characters, bidi controls and lone surrogates as escapes."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSAFE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    number = ord(match.group())
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def shortened(text: str, characters: int) -> str:
    """The text cut to a number of characters; if it is longer, it ends with an ellipsis."""
    return text if len(text) <= characters else f"{text[: characters - 1]}…"


def flattened(text: str, characters: int) -> str:
    """The text on one line, with white space as single spaces, cut to a number of characters."""
    return shortened(" ".join(text.split()), characters)


def few(names: Sequence[str], most: int) -> str:
    """The first names on one line, and the number of the others: `a, b and 3 more`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def shown_url(url: str) -> str:
    """A URL without a user name and password in it."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")
