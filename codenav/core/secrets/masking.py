"""Masking of secrets in everything that comes out of a sandbox, and in records."""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from codenav.core.secrets.written_forms import LEAST_PART, Form, forms_of

SHORTEST = 6
"""Fewest characters of a masked value: `1`, `true`, `info` are settings, and masking them would garble every text."""
LEAST_LINE = 16
"""Fewest characters of a line masked on its own, in a value of several lines such as a PEM key."""

WIDEST = 8
"""Most characters that one character of a secret takes on average at a cut: `&amp;lt;`."""

_STRUCTURE = frozenset(("event", "type", "outcome", "status", "kind", "mime", "tool", "rule", "id", "language"))
"""Keys whose values are words of the record format. With these masked a record could not be read back."""
_OWN_KEY = re.compile("[a-z_]+")
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Types of displays with pixels, which are not searched for text."""
_CUT = re.compile(r"""['")\]}>]{0,4}\s{0,4}(?:…|\.\.\.)\s{0,4}(?:b?['"])?""")
"""An ellipsis with the quotes and brackets around it: `b'abc'…`, `abc … xyz`, numpy's and pandas' `abc...`."""
_OWN_CUT = re.compile(r"… \d+ (?:bytes|characters) left out …")
MOST_MARKS = 100
"""Most ellipses in a text that are examined. Beyond that, only those that the sandbox itself writes."""


def masker(secrets: Mapping[str, str]) -> Callable[[Any], Any]:
    """Return a function that replaces each secret in JSON data by `[secret NAME]`.

    `secrets` maps names to values. A value is found as written, with the escapes of a repr, JSON, HTML, XML or a URL,
    as base64, as hexadecimal digits, and where it was cut. Words of the record format and pictures are not searched.
    """
    forms = _forms(secrets)
    mask_all = data_masker(secrets)

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
        if key in ("arguments", "answer") and "tool" in around:
            return mask_all(value)
        if not isinstance(value, str):
            return mask(value)
        if key == "data" and "mime" in around:
            return value if around["mime"] in _PICTURES else _masked_base64(value, forms)
        # The type of a variable or an exception is a name that the code has chosen.
        chosen = key == "type" and ("repr" in around or "traceback" in around)
        return value if key in _STRUCTURE and not chosen else _masked(value, forms)

    return mask if forms else lambda data: data


def data_masker(secrets: Mapping[str, str]) -> Callable[[Any], Any]:
    """Return a masker for data of a tool, in which no key is a word of the record format."""
    forms = _forms(secrets)

    def mask(data: Any) -> Any:
        if isinstance(data, str):
            return _masked(data, forms)
        if isinstance(data, dict):
            return {mask(key): mask(value) for key, value in data.items()}
        return [mask(item) for item in data] if isinstance(data, list) else data

    return mask if forms else lambda data: data


class StreamMasker:
    """A masker for text that arrives in pieces. A possible beginning of a secret waits for the next piece."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._forms = _forms(secrets)
        self._waiting = ""

    def feed(self, text: str) -> str:
        """Take a piece, and return the text that can be shown now."""
        text = self._waiting + text
        at = self._open_end(text)
        self._waiting = text[at:]
        return _masked(text[:at], self._forms)

    def end(self) -> str:
        """Return the text that was still waiting, masked."""
        text, self._waiting = self._waiting, ""
        return _masked(text, self._forms)

    def _open_end(self, text: str) -> int:
        """Return the position of a possible secret that is cut by the end of the text, or else the text's length."""
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
    """Return the forms of secrets, longest first, as one may contain another. Cached: a streamed step asks twice."""
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
    """Mask parts of secrets: their beginnings before an ellipsis, and their ends after one."""
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
    """Return the position of a secret's beginning that is cut by the end of the text, or -1."""
    for match in form.opening.finditer(text, max(0, len(text) - WIDEST * len(form.units))):
        if form.begins(text, match.start()) >= LEAST_PART:
            return match.start()
    return -1


def _marks(text: str) -> list[re.Match[str]]:
    """Return the ellipses to examine. If there are many, only the sandbox's own: code must not keep the host busy."""
    if text.count("…") + text.count("...") <= MOST_MARKS:
        return list(_CUT.finditer(text))
    own = [place for match in _OWN_CUT.finditer(text) for place in (match.start(), match.end() - 1)]
    around = [_CUT.search(text, max(0, place - 4), place + 6) for place in own[-MOST_MARKS:]]
    return [match for match in around if match is not None]


def _masked_base64(data: str, forms: Sequence[Form]) -> str:
    """Return the base64 of a display with its text masked, or unchanged if nothing in it is masked."""
    try:
        text = base64.b64decode(data).decode("utf-8", "surrogateescape")
    except ValueError:
        return _masked(data, forms)
    shown = _masked(text, forms)
    return data if shown == text else base64.b64encode(shown.encode("utf-8", "surrogateescape")).decode("ascii")
