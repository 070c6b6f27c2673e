"""The effects of one step of the user: the names that it changed, its value and its pictures."""

from __future__ import annotations

import ast
import builtins
import gc
import json
from typing import Any

import guest_describe
import guest_displays
import guest_runner
from guest_frames import Message
from guest_plain import SAFE_INT, encode

SMALL_BYTES = 10_000
"""Maximum bytes of the value of a step's last expression for it to be sent itself, beside its repr."""


class Step:
    """The record of what one step of the user did."""

    def __init__(self, number: int) -> None:
        self._filename = f"<step {number}>"
        self._binds: set[str] = set()
        self._before: guest_describe.Before | None = None
        self._pictures: list[guest_displays.Picture] = []
        self._value: Message | None = None

    def look(self, tree: ast.Module | str, space: dict[str, Any]) -> None:
        """Note the names and their values before it runs."""
        self._binds, mentions = guest_runner.names(tree) if isinstance(tree, ast.Module) else (set(), set())
        self._before = guest_describe.Before(space, mentions)

    def show(self, space: dict[str, Any]) -> None:
        """Print and keep the value of its last expression, which is `_` from now on."""
        value = space.pop(guest_runner.HIDDEN, None)
        if value is None:
            return
        builtins._ = value  # type: ignore[attr-defined]
        self._pictures += guest_displays.take_shown() + guest_displays.rich(value)
        text = repr(value)
        self._value = _described(value, text)
        print(text)

    def result(self, space: dict[str, Any], error: BaseException | None, display_bytes: int) -> tuple[Message, bytes]:
        """The result of the step for the supervisor: message and blob."""
        pictures = self._pictures + guest_displays.take_shown() + guest_displays.figures()
        pictures = guest_displays.within(pictures, display_bytes)
        space.pop(guest_runner.HIDDEN, None)
        if guest_runner.STEP_VALUE in space:
            value = space.pop(guest_runner.STEP_VALUE)
            self._value = _described(value, repr(value))
        changed = [] if self._before is None else self._before.changed(space, self._binds)
        described = None if error is None else guest_runner.describe_error(error, self._filename)
        memory = isinstance(error, MemoryError)
        outcome = "ok" if error is None else "out_of_memory" if memory else "error"
        if error is not None and memory:
            # With them go the local variables, which the supervisor must not count.
            error.__traceback__ = error.__context__ = error.__cause__ = None
        error = self._before = None
        if memory:
            gc.collect()
        return {
            "outcome": outcome,
            "changed": changed,
            "error": described,
            "value": self._value,
            "displays": [[mime, len(data)] for mime, data in pictures],
        }, b"".join(data for _, data in pictures)


def _described(value: Any, text: str) -> Message:
    """The value of a step's last expression: type, repr, and the value itself where it is small and plain JSON data."""
    found: Message = {
        "type": type(value).__name__[:200],
        "repr": guest_describe.cut(text, guest_describe.REPR_CHARACTERS),
        "data": None,
    }
    found["data"] = guest_describe.guarded(lambda: _small(value))
    return found


def _small(value: Any) -> Any:
    encode(value, SMALL_BYTES)
    return json.loads(json.dumps(value, allow_nan=False)) if _is_json(value) else None


def _is_json(value: Any) -> bool:
    if type(value) is list:
        return all(_is_json(item) for item in value)
    if type(value) is dict:
        return all(type(key) is str and _is_json(item) for key, item in value.items())
    return value is None or type(value) in (bool, str, float) or (type(value) is int and abs(value) < SAFE_INT)
