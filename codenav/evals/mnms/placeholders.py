"""Placeholders in place of the results of tools: of the right types, and always the same.

This text becomes a module of the adapted code base where upstream's functions cannot run. It is written for any Python
from 3.8 on, with the standard library alone.
"""

from __future__ import annotations

from typing import Any

RESULTS: dict[str, Any] = {
    "text": "(placeholder for a text)",
    "image": "placeholder.png",
    "integer": 1,
    "object": {"label": "placeholder", "bbox": [0, 0, 100, 100]},
    "list[dict]": [{"label": "placeholder", "bbox": [0, 0, 100, 100]}],
}


def results(outputs: dict[str, str], **arguments: tuple[Any, Any]) -> dict[str, Any]:
    """A value of the right kind for each output; each argument comes with the types that it may have."""
    for name, (value, types) in arguments.items():
        if not isinstance(value, types):
            raise TypeError(f"{name} is of type {type(value).__name__}, not {_named(types)}")
    return {key: RESULTS.get(kind, RESULTS["text"]) for key, kind in outputs.items()}


def _named(types: Any) -> str:
    return " or ".join(one.__name__ for one in (types if isinstance(types, tuple) else (types,)))
