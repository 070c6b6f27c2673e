"""Text of bounded length."""

from __future__ import annotations

from collections.abc import Iterable


def cut(text: str, limit: int) -> str:
    """The text, or its beginning and an ellipsis, in at most `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def within(title: str, lines: Iterable[str], room: int) -> str:
    """A title and as many lines as fit into `room` characters; "" if none fits."""
    text = title
    for line in lines:
        if len(text) + len(line) + 1 > room:
            break
        text += f"\n{line}"
    return text if text != title else ""
