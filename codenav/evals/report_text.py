"""A report as text: runs side by side, a line for each figure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import zip_longest

from codenav.evals.report import Comparison, Report, TaskTable


def report_text(report: Report) -> str:
    """The whole report, with a legend below each table."""
    return "\n\n".join([*map(_table_text, report.tables), *map(_compared_text, report.compared)])


def _table_text(table: TaskTable) -> str:
    # The beginning of a line about a run; nothing where there is only one.
    marked = [(f"{row.run.name}: " if len(table.rows) > 1 else "", row) for row in table.rows]
    parts = [_aligned([[line.label, *line.cells] for line in table.lines()])]
    parts += [f"{mark}! {note}" for mark, row in marked for note in row.notes]
    parts += [f"{mark}{row.cost}" for mark, row in marked]
    for mark, row in marked:
        if row.differs:
            parts += [f"{mark}differs from the paper's set-up:", *(f"  - {line}" for line in row.differs)]
    parts += ["", *(_wrapped(f"{column.name}: {column.text}") for column in table.columns)]
    if any(figure.spread is not None for row in table.rows for figure in row.figures.values()):
        parts.append("±: two standard deviations over the epochs")
    return "\n".join(parts)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, subsequent_indent="  ", break_long_words=False)


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    """The lines with their cells below each other."""
    columns = zip_longest(*lines, fillvalue="")
    widths = [max(map(len, column)) for column in columns]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=False)).rstrip() for line in lines
    )


def _compared_text(compared: Comparison) -> str:
    lines = [compared.sentence]
    for name, ids in ((compared.first, compared.better), (compared.second, compared.worse)):
        if ids:
            more = f", and {len(ids) - 10} more" if len(ids) > 10 else ""
            lines.append(f"  {name}: {', '.join(ids[:10])}{more}")
    return "\n".join(lines)
