"""Keeps secrets out of records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

SHORTEST = 6
"""Characters. Shorter values (`1`, `true`, `info`) are settings; masking them would garble every text."""

_STRUCTURE = frozenset(("event", "type", "outcome", "status", "kind", "mime", "tool", "rule", "id", "language"))
"""Keys whose values are words of the format itself: a record with these masked could not be read back."""


def masker(secrets: Mapping[str, str]) -> Callable[[Any], Any]:
    """A function that returns JSON data with each secret replaced by `[secret NAME]`.

    `secrets` has names and values. A value is found as written, as in a repr and as in a URL, in all strings but
    the words of the format and the base64 of displays.
    """
    named = [(name, value) for name, value in secrets.items() if len(value) >= SHORTEST]
    forms = [
        (form, f"[secret {name}]")
        for name, value in named
        for form in dict.fromkeys((value, repr(value)[1:-1], quote(value, safe="")))
    ]
    # Longest first: a secret may hold another one.
    forms.sort(key=lambda pair: len(pair[0]), reverse=True)

    def mask(data: Any) -> Any:
        if isinstance(data, str):
            for form, shown in forms:
                data = data.replace(form, shown)
            return data
        if isinstance(data, dict):
            kept = _STRUCTURE | {"data"} if "mime" in data else _STRUCTURE
            return {
                key: value if key in kept and isinstance(value, str) else mask(value) for key, value in data.items()
            }
        if isinstance(data, list):
            return [mask(item) for item in data]
        return data

    return mask
