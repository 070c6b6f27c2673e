"""The shape of each frame that comes from inside, for both ends.

The supervisor checks its worker with it, and the host the supervisor. The host loads this file too; it imports the
standard library alone.

A shape has the keys of an object with a check for each. A key with `?` may be missing; no other key may be there, but
for `...`, of which nothing is handed on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Callable

TEXT = 1 << 20
"""Maximum characters of a text where nothing smaller is said."""
STREAM = (4 << 20) + 100
"""Maximum characters of what a step has printed: 1 MiB, each byte of which may take four, and the mark of a cut."""
MOST_ITEMS = 1000
"""Maximum number of variables, displays or files of one frame."""
MOST_ATOMS = 8000
"""Maximum numbers, or texts, of an answer to `digests`."""
SECONDS = 1e9

MOST_CALLS = 1000
"""Maximum number of calls to the host in one step."""
CALL_BYTES = 12 << 20
"""Maximum bytes of the arguments of a call as JSON: a file of 8 MiB in base64, and what goes with it."""
ANSWER_BYTES = 25 << 20
"""Maximum bytes of the result of a call as JSON: 8 MiB of UTF-8 take three times that as ASCII."""
CALL_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/\-]{0,199}")
"""The names that a call may have: `petstore.find_pet`."""
CALL_ERROR_CHARACTERS = 4000
"""Maximum characters of the message of a call that failed."""

Check = Callable[[Any], bool]


class Shape:
    """The keys of an object with a check for each. Called, it is True for a value that has them."""

    def __init__(self, keys: Mapping[str, Check]) -> None:
        self.checks = {key.rstrip("?"): check for key, check in keys.items()}
        self._needed = [key for key in keys if not key.endswith("?")]
        self._others = self.checks.pop("...", None)
        if self._others:
            self._needed.remove("...")

    def __call__(self, value: Any) -> bool:
        return not self.trouble(value)

    def trouble(self, value: Any) -> str:
        """A description of what is wrong with a value; empty where nothing is."""
        if not isinstance(value, dict):
            return "not an object"
        for key in self._needed:
            if key not in value:
                return f"{key} is missing"
        for key, item in value.items():
            check = self.checks.get(key, self._others)
            if check is None:
                return f"{key!r:.50} is unknown"
            if not check(item):
                return f"{key} is not what it should be"
        return ""


def text(most: int = TEXT) -> Check:
    """A check for a text of at most `most` characters."""
    return lambda value: isinstance(value, str) and len(value) <= most


def matching(pattern: re.Pattern[str]) -> Check:
    """A check for a text that matches a pattern as a whole."""
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def one_of(*words: str) -> Check:
    """A check for one of these texts."""
    return lambda value: isinstance(value, str) and value in words


def number(least: float, most: float) -> Check:
    """A check for a number between two others, both excluded but a least of 0; no bool."""
    return lambda value: type(value) in (int, float) and (least < value < most or value == least == 0)


def whole(most: int, least: int = 0) -> Check:
    """A check for an int from `least` to `most`."""
    return lambda value: type(value) is int and least <= value <= most


def flag(value: Any) -> bool:
    """True for a bool."""
    return isinstance(value, bool)


def anything(value: Any) -> bool:
    """True for whatever JSON can hold; its reader decodes and bounds it."""
    return True


def none_or(check: Check) -> Check:
    """A check for None, or for what passes `check`."""
    return lambda value: value is None or check(value)


def list_of(check: Check, most: int = MOST_ITEMS) -> Check:
    """A check for a list of at most `most` items that pass `check`."""
    return lambda value: isinstance(value, list) and len(value) <= most and all(check(item) for item in value)


def row_of(*checks: Check) -> Check:
    """A check for a list with an item for each of `checks`, which it passes."""
    return lambda value: (
        isinstance(value, list) and len(value) == len(checks) and all(check(item) for check, item in zip(checks, value))
    )


_SECONDS = number(0, SECONDS)
_COUNT = whole(1 << 62)
_VARIABLES = list_of(row_of(text(), text(), text()))
"""Name, type and repr of each variable."""
_DIGEST = matching(re.compile(r"[0-9a-f]{32}|"))
_PARTS = list_of(matching(re.compile(r"[0-9a-f]{8}:[0-9a-f]{8}")))
_ATOMS = list_of(number(-1e308, 1e308), MOST_ATOMS)
_NAMED = list_of(row_of(text(), text()))
"""Name and reason of each."""
_ENTRIES = list_of(row_of(text(), _COUNT, whole(1 << 62, -(1 << 62)), whole((1 << 32) - 1)))
"""Name, size, time in milliseconds and mode of each entry."""
ERROR = Shape(
    {"type": text(), "message": text(), "line": text(), "traceback": text(), "line_number": none_or(whole(1 << 31, 1))}
)
VALUE = Shape({"type": text(1000), "repr": text(20_000), "data": anything})
_STEP: dict[str, Check] = {
    "changed": _VARIABLES,
    "error": none_or(ERROR),
    "displays": list_of(row_of(text(), _COUNT)),
    "seconds": _SECONDS,
    "value?": none_or(VALUE),
}
"""The keys of a step that the worker sends, and the supervisor hands on."""
OUTCOMES = ("ok", "error", "timeout", "out_of_memory", "crashed", "protocol_violation")
RESULT = Shape(
    {
        **_STEP,
        "op": one_of("result"),
        "number": _COUNT,
        "outcome": one_of(*OUTCOMES),
        "stdout": text(STREAM),
        "stderr": text(STREAM),
        "stdout_bytes": _COUNT,
        "late_output": text(STREAM),
        "notice": text(),
    }
)
"""The result of a step, as the host gets it: the keys are the fields of `codenav.core.execution.Execution`."""


def _frames(shapes: Mapping[str, Mapping[str, Check]]) -> dict[str, Shape]:
    return {op: Shape({"op": one_of(op), **keys}) for op, keys in shapes.items()}


_ASKED: dict[str, Mapping[str, Check]] = {
    "variables": {"items": _VARIABLES},
    "value": {"value?": anything, "missing?": flag, "why?": text(1000)},
    "digests": {
        "items": list_of(
            row_of(text(1000), text(1000), _DIGEST, one_of("firm", "part", "soft", "none"), flag, text(20_000), _PARTS)
        ),
        "numbers": _ATOMS,
        "many": _ATOMS,
        "texts": list_of(text(1000), MOST_ATOMS),
    },
}
"""The answers that the worker sends, and the supervisor hands on."""

FROM_WORKER = _frames(
    {
        **_ASKED,
        "checkpoint": {"fork_seconds?": _SECONDS},
        "result": {
            **_STEP,
            "outcome": one_of("ok", "error", "out_of_memory"),
            "deleted": flag,
            "moved?": flag,
            "fork_seconds?": _SECONDS,
            "kernel_seconds?": _SECONDS,
            "faults?": _COUNT,
            "...": anything,
        },
    }
)
FROM_CALLER = Shape({"op": one_of("call"), "call": whole(1 << 62, 1), "name": matching(CALL_NAME)})
"""A call to the host, on the line of its step; the arguments are in the blob."""
FROM_SUPERVISOR = {
    **_frames(
        {
            **_ASKED,
            "ready": {"version": text(40), "unfiltered?": text(200)},
            "failed": {"why": text()},
            "rebuilding": {"seconds": _SECONDS},
            "output": {"stream": one_of("stdout", "stderr")},
            "call": {**FROM_CALLER.checks, "step": _COUNT},
            "checkpoint": {"number": _COUNT, "dropped": list_of(_COUNT)},
            "restored": {"notice": text()},
            "missing": {},
            "changes": {
                "files": list_of(row_of(text(), _COUNT)),
                "total?": _COUNT,
                "refused": _NAMED,
                "unseen": _NAMED,
                "more?": _COUNT,
            },
            "data": {"last": flag, "executable?": flag},
            "list": {"entries": _ENTRIES, "total": _COUNT},
            "stat": {"entries": _ENTRIES},
            "done": {},
        }
    ),
    "result": RESULT,
}


def trouble(message: Mapping[str, Any], shapes: Mapping[str, Shape]) -> str:
    """A description of what is wrong with a frame; empty where nothing is."""
    op = message.get("op")
    shape = shapes.get(op) if isinstance(op, str) else None
    if shape is None:
        return f"a frame {op!r:.50}, which is none of ours"
    found = shape.trouble(message)
    return f"{op}: {found}" if found else ""


def agrees(result: Mapping[str, Any], blob: bytes) -> bool:
    """True if the displays of a step fill its blob, and it has an error just where it did not end well."""
    sizes = sum(size for _, size in result["displays"])
    return bool(sizes == len(blob)) and (result["error"] is None) == (result["outcome"] == "ok")
