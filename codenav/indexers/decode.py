"""Decoding of files to text, in any encoding."""

from __future__ import annotations

import codecs
import re

_BOMS = (
    # UTF-32 first: its little-endian mark begins with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)

_BINARY_BYTES = 8000
"""Bytes in which to look for a NUL byte, as in git (`FIRST_FEW_BYTES` in xdiff-interface.c)."""

_CHARSETS = re.compile(
    r"ascii|big5(hkscs)?|cp\d+|euc[-_]\w+|gb(k|2312|18030)|hp-roman8|hz|iso2022[-_]\w+|iso8859-\d+|johab"
    r"|koi8-[rtu]|kz1048|mac-\w+|ptcp154|shift[-_]jis\w*|tis-620|utf-8(-sig)?"
)
"""The character sets among Python's codecs (documentation of `codecs`, "Standard Encodings"), by the names that
`codecs.lookup` gives them. Not UTF-7, and not UTF-16 and 32: a cookie cannot be read in them. Not the codecs that are
Python's own: `punycode` takes 35 s for 480 KB, `unicode_escape` warns."""

_COOKIE = re.compile(rb"[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-\w.]+)")
"""An encoding cookie (PEP 263): on the first line, or on the second if the first is blank or a comment."""

_NO_INDEX = re.compile(r"\s*[^\w\s]+\s*index\s*:\s*false\s*[^\w\s]*\s*$", re.IGNORECASE)
"""A first line that opts the file out, in a comment of any kind: `# index: false`, `<!-- index: false -->`."""


def is_binary(data: bytes) -> bool:
    """True if the content is not text: it has a NUL byte near the start and no byte order mark."""
    return b"\0" in data[:_BINARY_BYTES] and not data.startswith(tuple(mark for mark, _ in _BOMS))


def decode(data: bytes, *, cookie: bool = False) -> str:
    """The text of a file, with `\\n` line ends and without a byte order mark.

    Tried in this order: byte order mark, encoding cookie (if `cookie` is set: Python files), UTF-8, and Latin-1,
    which reads any byte.
    """
    text = _marked(data)
    if text is None and cookie:
        text = _declared(data)
    if text is None:
        text = _try(data, "utf-8")
    if text is None:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def asks_to_be_left_out(text: str) -> bool:
    """True if the first line is a comment with `index: false`."""
    return _NO_INDEX.match(text.partition("\n")[0][:200]) is not None


def _marked(data: bytes) -> str | None:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    return None


def _declared(data: bytes) -> str | None:
    first, _, rest = data[:1000].partition(b"\n")
    found = _COOKIE.match(first)
    if found is None and not first.split(b"#")[0].strip():
        found = _COOKIE.match(rest.partition(b"\n")[0])
    if found is None:
        return None
    text = _try(data, found.group(1).decode("ascii"))
    # An encoding in which the cookie itself reads differently (EBCDIC) cannot be meant.
    return text if text and found.group().decode("ascii", "replace") in text else None


def _try(data: bytes, encoding: str) -> str | None:
    """The decoded text; None if the encoding is unknown, is not a character set, or does not fit."""
    try:
        if not _CHARSETS.fullmatch(codecs.lookup(encoding).name):
            return None
        text = data.decode(encoding)
        text.encode("utf-8")
    except (LookupError, ValueError):
        return None
    return text
