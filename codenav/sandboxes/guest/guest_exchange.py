"""Python values as JSON and back: for `get` and `set`, and for the value of a step's last expression."""

from __future__ import annotations

from typing import Any


def described(value: Any, text: str) -> dict[str, Any]:
    return {"type": type(value).__name__[:200], "repr": text[:1000]}
