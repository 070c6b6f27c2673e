"""The forms of an answer beside its text: a table on the terminal, and files of the work folder."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

CELL = 80
"""Most characters of a cell on the terminal."""


def table_text(value: Any) -> str:
    """Return a value as an aligned table."""
    import pandas

    frame = _frame(value)
    if frame.empty:
        return "(no rows)"
    with pandas.option_context("display.unicode.east_asian_width", True, "display.max_colwidth", CELL):
        return str(frame.to_string(index=False))


def write_files(value: Any, folder: Path) -> list[Path]:
    """Write a table as CSV and HTML, anything else as JSON; return the paths. Raises OSError.

    Files that are there stay: the new ones get a number.
    """
    if isinstance(value, list) and value and all(isinstance(row, dict | list) for row in value):
        frame = _frame(value)
        page = f'<!doctype html>\n<meta charset="utf-8">\n{frame.to_html(index=False)}\n'
        contents = {"csv": frame.to_csv(index=False), "html": page}
    else:
        contents = {"json": json.dumps(value, indent=2, ensure_ascii=False)}
    paths = []
    for ending, text in contents.items():
        names = (f"answer{f'-{number}' if number > 1 else ''}.{ending}" for number in itertools.count(1))
        path = next(folder / name for name in names if not os.path.lexists(folder / name))
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
        paths.append(path)
    return paths


def _frame(value: Any) -> pandas.DataFrame:
    """The rows of a value; a single value is a table of one cell."""
    import pandas

    rows = value if isinstance(value, list) else [value]
    if isinstance(value, dict):
        rows = [{"": key, **one} if isinstance(one, dict) else {"": key, "value": one} for key, one in value.items()]
    if rows and (all(isinstance(row, dict) for row in rows) or all(isinstance(row, list) for row in rows)):
        frame = pandas.DataFrame(rows, dtype=object)
    else:
        frame = pandas.DataFrame({"value": pandas.Series(rows, dtype=object)})
    return frame.where(frame.notna(), "")
