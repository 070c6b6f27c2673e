"""The spellings of a secret: one pattern per character, so that any mixture of escapes is found.

Letters and digits stand for themselves, since no writer of JSON, HTML, URLs or reprs changes them. Every other
character has the forms that such writers use for it, escaped once or several times.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.entities import codepoint2name

from codenav.core.system.terminal_text import neutral

LEAST_PART = 4
"""Fewest characters of a cut secret that are masked. Three may be seen."""
_LEAST_BASE64 = 7
"""Fewest characters of base64 that are searched for. Shorter pieces occur by chance."""
_SLASHES, _PERCENT, _AND = r"\\{1,16}", "%(?:25){0,8}", "&(?:amp;){0,8}"
"""Beginnings of escapes. They are bounded, since an endless run would be tried from each of its characters."""
_SHORT_ESCAPES = {"\n": "n", "\t": "t", "\r": "r", "\b": "b", "\f": "f", "\a": "a", "\v": "v", "\0": "0"}


@dataclass(frozen=True)
class Form:
    """A way to write a secret."""

    shown: str
    """The text that replaces it."""
    units: Sequence[re.Pattern[str]]
    """One pattern per character, in order."""
    whole: re.Pattern[str]
    """The pattern of the whole secret."""
    starts: Mapping[str, Sequence[int]]
    """Maps a character of a text to the positions in the secret whose pattern can begin with it."""
    first: re.Pattern[str]
    """Pattern of a character that can begin the whole secret."""
    opening: re.Pattern[str]
    """Pattern of a place where the first `LEAST_PART` units match."""

    @classmethod
    def of(cls, characters: str, shown: str) -> Form:
        """Make the form for characters in all their spellings."""
        patterns = [_unit(one) for one in characters]
        starts: dict[str, list[int]] = {}
        for number, one in enumerate(characters):
            others = "=?\ufffd" if not one.isascii() else "\n" if one == "\r" else ""
            for first in one if _plain(one) else dict.fromkeys((one, *"\\%&+", *others)):
                starts.setdefault(first, []).append(number)
        first = re.compile("|".join(re.escape(one) for one, numbers in starts.items() if numbers[0] == 0))
        opening = re.compile(f"(?={''.join(patterns[:LEAST_PART])})")
        return cls(shown, [_compiled(one) for one in patterns], re.compile("".join(patterns)), starts, first, opening)

    def begins(self, text: str, start: int) -> int:
        """Return how many units of the secret lie from `start` to the text's end, or 0 if the text does not end in it.

        An escape that the end of the text cuts counts as a unit.
        """
        before = at = start
        for number, unit in enumerate(self.units):
            if at >= len(text):
                return number
            match = unit.match(text, at)
            if match is None:
                # `&am` is the beginning of an escape, not `&` followed by something else.
                cut = _CUT_ESCAPE.fullmatch(text, at) or _CUT_ESCAPE.fullmatch(text, before)
                return max(number, 1) if cut else 0
            before, at = at, match.end()
        return len(self.units) if at >= len(text) else 0

    def ends(self, text: str, start: int, least: int) -> int:
        """Return the end of the rest of a secret at `start`, if it has at least `least` units, or -1.

        The remainder of an escape may precede it.
        """
        for begin in range(start, min(start + _LONGEST_ESCAPE, len(text))):
            for first in self.starts.get(text[begin], ()):
                if not 0 < first <= len(self.units) - least:
                    continue
                at = begin
                for unit in self.units[first:]:
                    match = unit.match(text, at)
                    if match is None:
                        break
                    at = match.end()
                else:
                    return at
            if not (text[begin].isalnum() or text[begin] in "#;{}"):
                break
        return -1


_LONGEST_ESCAPE = 10
"""Characters of the longest escape, `\\U0001f511`."""
_CUT_ESCAPE = re.compile(r"[\\%&][\\%&#;{xuU0-9a-zA-Z]{0,40}")
"""Pattern of the beginning of an escape, also of one in several parts."""


def forms_of(name: str, value: str) -> Iterator[Form]:
    """Yield the forms of a value: as it is with any escapes, as base64, as hexadecimal digits."""
    shown = f"[secret {name}]"
    data = value.encode("utf-8", "surrogatepass")
    texts = [*_readings(value, data), *_base64(data), data.hex(), data.hex().upper()]
    if not value.isascii():
        with contextlib.suppress(UnicodeEncodeError):
            texts += _base64(value.encode("latin-1"))
    for text in dict.fromkeys(texts):
        yield Form.of(text, shown)


def _readings(value: str, data: bytes) -> Iterator[str]:
    """Yield a value as texts: composed and decomposed, and its UTF-8 as one who takes it for Latin-1 reads it.

    A header is such a place: its bytes are UTF-8, and most servers read them as Latin-1.
    """
    yield value
    if not value.isascii():
        yield unicodedata.normalize("NFC", value)
        yield unicodedata.normalize("NFD", value)
        for _ in range(2):
            read = data.decode("latin-1")
            yield read
            yield "".join(_windows(byte) for byte in data)
            data = read.encode()


def _windows(byte: int) -> str:
    """Return a byte as the character of Windows-1252; of the five that it leaves out, as that of Latin-1."""
    try:
        return bytes((byte,)).decode("cp1252")
    except UnicodeDecodeError:
        return chr(byte)


def _base64(data: bytes) -> Iterator[str]:
    """Yield the parts of base64 that any data with this value contains. The value may begin at any of three offsets."""
    for before, skipped in ((0, 0), (1, 2), (2, 3)):
        whole = before + len(data)
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            text = encode(b"\0" * before + data).decode().rstrip("=")[skipped:]
            text = text if whole % 3 == 0 else text[:-1]
            if len(text) >= _LEAST_BASE64:
                yield text


def _plain(one: str) -> bool:
    return one.isascii() and one.isalnum()


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@functools.cache
def _unit(one: str) -> str:
    """Return the pattern of a character in all its spellings, the longer ones first."""
    if _plain(one):
        return one
    number = ord(one)
    data = one.encode("utf-8", "surrogatepass")
    escapes = [f"u{half:04x}" for half in _halves(number)]
    found = [
        _SLASHES.join(["", *(_any_case(escape) for escape in escapes)]),
        rf"{_SLASHES}{_any_case(f'U{number:08x}')}",
        rf"{_SLASHES}{_any_case(f'u{{{number:x}}}')}",
        "".join(rf"{_SLASHES}{_any_case(f'x{byte:02x}')}" for byte in data),
        "".join(rf"{_SLASHES}{byte:03o}" for byte in data),
        "".join(f"{_PERCENT}{_any_case(f'{byte:02x}')}" for byte in data),
        rf"{_AND}#(?:0{{0,7}}{number}|[xX]0{{0,7}}{_any_case(f'{number:x}')});?",
    ]
    if number < 0x100:
        found += [rf"{_SLASHES}{_any_case(f'x{number:02x}')}", f"{_PERCENT}{_any_case(f'{number:02x}')}"]
    if number > 0x7F:
        # Quoted-printable, and what stands for a character that an encoding does not have.
        found += ["".join(f"={byte:02X}" for byte in data), "[?\ufffd]"]
    names = {*([codepoint2name[number]] if number in codepoint2name else ()), *(("apos",) if one == "'" else ())}
    found += [f"{_AND}{name};" for name in names]
    if one in _SHORT_ESCAPES:
        found.append(rf"{_SLASHES}{_SHORT_ESCAPES[one]}")
    if one == " ":
        found.append(r"\+")
    if one == "\r":
        found.append("\n")
    if neutral(one) not in (one, "\n"):
        found.append(re.escape(neutral(one)))
    found.append(_SLASHES if one == "\\" else rf"\\{{0,16}}{re.escape(one)}")
    return f"(?:{'|'.join(dict.fromkeys(found))})"


def _halves(number: int) -> list[int]:
    """Return the UTF-16 code units of a character, as JSON writes them: beyond the first 65,536 there are two."""
    if number < 0x10000:
        return [number]
    return [0xD800 + ((number - 0x10000) >> 10), 0xDC00 + ((number - 0x10000) & 0x3FF)]


def _any_case(text: str) -> str:
    """Return a pattern for hexadecimal digits in either case."""
    return "".join(f"[{one}{one.upper()}]" if one in "abcdef" else re.escape(one) for one in text)
