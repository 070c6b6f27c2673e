"""The value that an answer rests on, fetched from the sandbox as JSON data."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from codenav.core.actions import Step
from codenav.core.errors import CodeNavError
from codenav.core.protocols import Sandbox
from codenav.episodes.products import LAST_VALUE, basis

SECONDS = 20.0
"""Seconds that the sandbox may take to convert a value."""
PLAIN = """
def _codenav_plain(value):
    import json

    def inner(one):
        return one.tolist() if hasattr(one, "tolist") else sorted(one, key=str) if isinstance(one, set) else str(one)

    value = value.to_dicts() if hasattr(value, "to_dicts") else value
    if hasattr(value, "to_frame") and hasattr(value, "index"):
        value = value.to_frame("value" if value.name is None else value.name)
    if hasattr(value, "columns") and hasattr(value, "to_json"):
        value = value if type(value.index).__name__ == "RangeIndex" else value.reset_index()
        return json.loads(value.to_json(orient="records", date_format="iso", double_precision=15))
    value = {str(key): one for key, one in value.items()} if isinstance(value, dict) else value
    if not isinstance(value, (dict, list, tuple, set, str, int, float)) and not hasattr(value, "tolist"):
        raise TypeError("no data")
    return json.loads(json.dumps(value, default=inner), parse_constant=lambda text: None)
"""
"""Code for the sandbox, which has the types of the value. Tables become rows by column, not-a-number None."""


def value_of(sandbox: Sandbox, steps: Sequence[Step]) -> Any:
    """Return the value that the answer of an episode rests on, as JSON data; several variables by name.

    A literal that was printed is the value itself. None: nothing was computed, it is of another type or over 8 MiB, or
    the sandbox is gone.
    """
    variables, printed = basis(steps)
    if LAST_VALUE not in variables:
        with suppress(ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            value = ast.literal_eval(printed.strip())
            return json.loads(json.dumps(list(value) if isinstance(value, set) else value, default=str))
    names = list(variables)
    wanted = names[0] if len(names) == 1 else "{" + ", ".join(f"{name!r}: {name}" for name in names) + "}"
    with suppress(CodeNavError):
        if names and sandbox.run(f"{PLAIN}\n_codenav_answer = _codenav_plain({wanted})", timeout=SECONDS).ok:
            found = sandbox.get("_codenav_answer")
            sandbox.run("del _codenav_plain, _codenav_answer")
            return found
    return None if names or "\n" in printed.strip() else printed.strip() or None
