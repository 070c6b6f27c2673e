"""The log of a named sandbox: one line per step, with secrets masked and pictures left out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from codenav.core.execution import Execution, ToolCall

FILE = "steps.jsonl"
MOST_BYTES = 8 << 20
"""Size at which a new log is begun. The previous one is kept beside it."""


def write(folder: Path, number: int, code: str, execution: Execution, calls: Sequence[ToolCall] = ()) -> None:
    """Append a step to the log, with its calls to tools. Raises OSError."""
    entry = execution.to_dict()
    entry["displays"] = [{"mime": item.mime, "bytes": len(item.data)} for item in execution.displays]
    step = {"number": number, "at": now(), "code": code, "execution": entry}
    if calls:
        step["calls"] = [call.to_dict() for call in calls]
    line = json.dumps(step) + "\n"
    path = folder / FILE
    if path.exists() and path.stat().st_size + len(line) > MOST_BYTES:
        os.replace(path, folder / f"older-{FILE}")
    with path.open("a", encoding="ascii") as file:
        file.write(line)


def read(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the logged steps, the oldest first. Incomplete lines are skipped."""
    for name in (f"older-{FILE}", FILE):
        try:
            file = (folder / name).open(encoding="ascii")
        except FileNotFoundError:
            continue
        with file:
            for line in file:
                try:
                    yield json.loads(line)
                except ValueError:
                    continue


def now() -> str:
    """Return the current time in UTC, ISO 8601, in whole seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")
