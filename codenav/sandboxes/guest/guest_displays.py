"""Pictures and rich representations of a step."""

from __future__ import annotations

import sys
from typing import Any, Tuple

from guest_describe import guarded

Picture = Tuple[str, bytes]

_METHODS = (("image/png", "_repr_png_"), ("image/svg+xml", "_repr_svg_"), ("text/html", "_repr_html_"))


def rich(value: Any) -> list[Picture]:
    """What a value shows of itself; the first of PNG, SVG, HTML that it has."""
    if isinstance(value, type):
        return []
    for mime, name in _METHODS:
        method = guarded(lambda name=name: getattr(value, name, None))  # type: ignore[misc]
        data = guarded(method) if callable(method) else None
        made = _bytes(data, mime)
        if made:
            return [(mime, made)]
    return []


def _bytes(data: Any, mime: str) -> bytes | None:
    if isinstance(data, tuple) and data:
        data = data[0]
    if isinstance(data, bytes):
        return data
    if not isinstance(data, str):
        return None
    if mime == "image/png":
        import base64

        return bytes(guarded(lambda: base64.b64decode(data)) or b"")
    return data.encode("utf-8", "backslashreplace")


def figures() -> list[Picture]:
    """The open figures of matplotlib, which are closed then."""
    plots = sys.modules.get("matplotlib.pyplot")
    if plots is None:
        return []
    found = []
    for number in guarded(lambda: list(plots.get_fignums())) or []:
        data = guarded(lambda number=number: _png(plots.figure(number)))  # type: ignore[misc]
        if data:
            found.append(("image/png", data))
    guarded(lambda: plots.close("all"))
    return found


def _png(figure: Any) -> bytes:
    import io

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()


def within(pictures: list[Picture], limit: int) -> list[Picture]:
    """Those that fit into so many bytes together."""
    kept, total = [], 0
    for mime, data in pictures:
        if total + len(data) <= limit:
            kept.append((mime, data))
            total += len(data)
    return kept
