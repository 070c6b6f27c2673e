"""The masking of secrets in whatever comes from a sandbox, and in records."""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from codenav.secrets.written_forms import LEAST_PART, Form, forms_of

SHORTEST = 6
"""Characters of the shortest masked value: `1`, `true`, `info` are settings, and masking them garbles every text."""
LEAST_LINE = 16
"""Characters of the shortest line that is masked by itself, in a value of several lines such as a key in PEM."""

WIDEST = 8
"""Characters that one character of a secret takes on average where it is cut, at most: `&amp;lt;`."""

_STRUCTURE = frozenset(("event", "type", "outcome", "status", "kind", "mime", "tool", "rule", "id", "language"))
"""Keys whose values are words of the format itself: a record with these masked could not be read back."""
_OWN_KEY = re.compile("[a-z_]+")
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Types of displays that hold pixels, which are not searched for text."""
_CUT = re.compile(r"""['")\]}>]{0,4}\s{0,4}(?:…|\.\.\.)\s{0,4}(?:b?['"])?""")
"""An ellipsis with the quotes and brackets around it: `b'abc'…`, `abc … xyz`, numpy's and pandas' `abc...`."""
_OWN_CUT = re.compile(r"… \d+ (?:bytes|characters) left out …")
MOST_MARKS = 100
"""Ellipses in a text that are examined; where there are more, only those that the sandbox itself writes."""


def masker(secrets: Mapping[str, str]) -> Callable[[Any], Any]:
    """A function that returns JSON data with each secret replaced by `[secret NAME]`.

    `secrets` has names and values. A value is found as written, escaped as in a repr, JSON, HTML, XML or a URL, as
    base64 and as hexadecimal digits, and where it was cut, in all strings but the words of the format and pictures.
    """
    forms = _forms(secrets)

    def mask(data: Any) -> Any:
        if isinstance(data, str):
            return _masked(data, forms)
        if isinstance(data, dict):
            return {mask_key(key): mask_value(key, value, data) for key, value in data.items()}
        if isinstance(data, list):
            return [mask(item) for item in data]
        return data

    def mask_key(key: Any) -> Any:
        return key if not isinstance(key, str) or _OWN_KEY.fullmatch(key) else _masked(key, forms)

    def mask_value(key: str, value: Any, around: Mapping[str, Any]) -> Any:
        if not isinstance(value, str):
            return mask(value)
        if key == "data" and "mime" in around:
            return value if around["mime"] in _PICTURES else _masked_base64(value, forms)
        # The type of a variable or an exception is a name that the code has chosen.
        chosen = key == "type" and ("repr" in around or "traceback" in around)
        return value if key in _STRUCTURE and not chosen else _masked(value, forms)

    return mask if forms else lambda data: data


class StreamMasker:
    """A masker for text that comes in pieces: a possible beginning of a secret waits for the next piece."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._forms = _forms(secrets)
        self._waiting = ""

    def feed(self, text: str) -> str:
        """Take a piece and return the text that can be shown now."""
        text = self._waiting + text
        at = self._open_end(text)
        self._waiting = text[at:]
        return _masked(text[:at], self._forms)

    def end(self) -> str:
        """The text that was still waiting, masked."""
        text, self._waiting = self._waiting, ""
        return _masked(text, self._forms)

    def _open_end(self, text: str) -> int:
        """The position of a possible secret that the end of the text cuts; the text's length where there is none."""
        found = [match.span() for form in self._forms for match in form.whole.finditer(text)]
        open_end = len(text)
        for form in self._forms:
            for match in form.first.finditer(text, max(0, len(text) - WIDEST * len(form.units)), open_end):
                start = match.start()
                if any(first < start < last for first, last in found):
                    continue
                if 0 < form.begins(text, start) < len(form.units):
                    open_end = start
                    break
        return open_end


def _forms(secrets: Mapping[str, str]) -> Sequence[Form]:
    return _made(tuple(secrets.items()))


@functools.lru_cache(maxsize=8)
def _made(items: Sequence[tuple[str, str]]) -> Sequence[Form]:
    """The forms of all secrets, longest first, as one may contain another. Cached: a step that streams asks twice."""
    secrets = dict(items)
    named = {name: value for name, value in secrets.items() if len(value) >= SHORTEST}
    for name, value in secrets.items():
        lines = [line.strip() for line in value.splitlines()]
        if len(lines) > 1:
            named |= {
                f"{name}\n{number}": line
                for number, line in enumerate(lines)
                if len(line) >= LEAST_LINE and not line.startswith("-----")
            }
    found = [form for name, value in named.items() for form in forms_of(name.partition("\n")[0], value)]
    return sorted(found, key=lambda form: len(form.units), reverse=True)


def _masked(text: str, forms: Sequence[Form]) -> str:
    for form in forms:
        text = form.whole.sub(form.shown.replace("\\", r"\\"), text)
    if "…" in text or "..." in text:
        text = _masked_at_cuts(text, forms)
    return text


def _masked_at_cuts(text: str, forms: Sequence[Form]) -> str:
    """The text with parts of secrets masked: their beginnings before an ellipsis and their ends after one."""
    for mark in reversed(_marks(text)):
        for form in forms:
            end = form.ends(text, mark.end(), LEAST_PART)
            if end > 0:
                text = text[: mark.end()] + form.shown + text[end:]
                break
        for form in forms:
            start = _begun(text[: mark.start()], form)
            if start >= 0:
                text = text[:start] + form.shown + text[mark.start() :]
                break
    return text


def _begun(text: str, form: Form) -> int:
    """The position of the beginning of a secret that the end of the text cuts; -1 if there is none."""
    for match in form.opening.finditer(text, max(0, len(text) - WIDEST * len(form.units))):
        if form.begins(text, match.start()) >= LEAST_PART:
            return match.start()
    return -1


def _marks(text: str) -> list[re.Match[str]]:
    """The ellipses to examine: of very many only the sandbox's own, so that code cannot keep the host busy."""
    if text.count("…") + text.count("...") <= MOST_MARKS:
        return list(_CUT.finditer(text))
    own = [place for match in _OWN_CUT.finditer(text) for place in (match.start(), match.end() - 1)]
    around = [_CUT.search(text, max(0, place - 4), place + 6) for place in own[-MOST_MARKS:]]
    return [match for match in around if match is not None]


def _masked_base64(data: str, forms: Sequence[Form]) -> str:
    """The base64 of a display with its text masked; unchanged where nothing in it is masked."""
    try:
        text = base64.b64decode(data).decode("utf-8", "surrogateescape")
    except ValueError:
        return _masked(data, forms)
    shown = _masked(text, forms)
    return data if shown == text else base64.b64encode(shown.encode("utf-8", "surrogateescape")).decode("ascii")
