"""Keeps secrets out of records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote

MASK = "••••••"

SHORTEST = 6
"""Characters. Shorter values (`1`, `true`, `info`) are settings; masking them would garble every text."""


def masker(secrets: Iterable[str]) -> Callable[[Any], Any]:
    """A function that returns JSON data with the secrets masked, in keys too, as written, in a repr and in a URL."""
    values = {value for value in secrets if len(value) >= SHORTEST}
    forms = {form for value in values for form in (value, repr(value)[1:-1], quote(value, safe=""))}
    ordered = sorted(forms, key=len, reverse=True)

    def mask(data: Any) -> Any:
        if isinstance(data, str):
            for form in ordered:
                data = data.replace(form, MASK)
            return data
        if isinstance(data, dict):
            return {mask(key): value if _is_picture(data, key) else mask(value) for key, value in data.items()}
        if isinstance(data, list):
            return [mask(item) for item in data]
        return data

    return mask if ordered else lambda data: data


def _is_picture(data: dict[str, Any], key: str) -> bool:
    """Whether a value is base64 of a display: a mask inside would break the picture."""
    return key == "data" and "mime" in data
