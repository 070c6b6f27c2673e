"""The parts of a value, so that it can be compared with another one where a part of it is never the same twice."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import sys
from typing import Any, Mapping

from guest_values import Reader, Unknown, shown_text

MOST = 1000
"""Maximum parts of one value; one with more is compared as a whole."""
EACH = 50
"""Maximum items of a place that count one by one; of more there is one hash."""
FEW_KEYS = 40
"""Maximum keys of a dict with places of their own; those of a larger one share a place, as items of a list do."""
TEXT = 20_000
"""Maximum characters of a text that is compared word by word."""
DEPTH = 5
WORDS = re.compile(r"\w+(?:[.:/+-]\w+)*|[^\w\s]")
"""The words of a text: a time, a path or a UUID is one."""


def parts(value: Any) -> list[str]:
    """The parts as `PLACE:HASH`, in order; empty where there are too many. Places that hold several items repeat."""
    found = _Parts()
    found.walk(value, "", DEPTH)
    rows: list[str] = []
    for place, items in found.places.items():
        rows += _rows(place, items)
        if len(items) > EACH:
            # The same items in another order.
            rows += _rows(place + "~", [_short("".join(sorted(items)).encode())])
    return rows if len(rows) <= MOST else []


def _rows(place: str, items: list[str]) -> list[str]:
    kept = items if len(items) <= EACH else [_short("".join(items).encode())]
    return [f"{_short(place.encode())}:{item}" for item in kept]


def _short(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=4).hexdigest()


class _Parts:
    def __init__(self) -> None:
        self.places: dict[str, list[str]] = {}
        self._reader = Reader()

    def walk(self, value: Any, place: str, depth: int) -> None:
        pandas, numpy = sys.modules.get("pandas"), sys.modules.get("numpy")
        if isinstance(value, str):
            self._text(str(value), place)
        elif pandas is not None and depth and isinstance(value, pandas.DataFrame):
            self.walk(value.index.tolist(), place + ".index", depth - 1)
            self._mapping(
                {str(name): value.iloc[:, at].tolist() for at, name in enumerate(value.columns)}, place, depth
            )
        elif pandas is not None and depth and isinstance(value, pandas.Series):
            self._mapping({"index": value.index.tolist(), "values": value.tolist()}, place, depth)
        elif numpy is not None and depth and isinstance(value, numpy.ndarray) and value.size <= FEW_KEYS:
            self.walk(value.tolist(), place, depth)
        elif isinstance(value, dict) and depth:
            self._mapping(value, place, depth)
        elif isinstance(value, (list, tuple)) and depth:
            self._add(place + "#", str(len(value)).encode())
            for item in value:
                self.walk(item, place + "[]", depth - 1)
        elif isinstance(value, (set, frozenset)):
            for item in value:
                token = self._token(item)
                self._add(f"{place}{{{_short(token)}}}", token)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type) and depth:
            self._mapping(vars(value) if hasattr(value, "__dict__") else {}, place, depth)
        else:
            token = self._token(value)
            shown = shown_text(value) if token.startswith(b"#") else None
            self._text(shown, place) if shown else self._add(place, token)

    def _mapping(self, items: Mapping[Any, Any], place: str, depth: int) -> None:
        wide = len(items) > FEW_KEYS
        marked = [(_short(self._token(key)), item) for key, item in items.items()]
        for mark, item in sorted(marked, key=lambda pair: pair[0]) if wide else marked:
            self._add(f"{place}.{mark}", b"")
            self.walk(item, f"{place}.{'*' if wide else mark}", depth - 1)

    def _text(self, text: str, place: str) -> None:
        for word in WORDS.findall(text) if len(text) <= TEXT else [text]:
            self._add(place, word.encode("utf-8", "surrogatepass"))

    def _token(self, value: Any) -> bytes:
        try:
            return self._reader.token(value)
        except Unknown:
            return b"opaque" + type(value).__name__.encode("utf-8", "replace")

    def _add(self, place: str, token: bytes) -> None:
        self.places.setdefault(place, []).append(_short(token))
