"""A report as text: runs side by side, a line for each figure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import zip_longest

from codenav.core.system.terminal_text import flattened
from codenav.evals.compared import Compared
from codenav.evals.figures import cell
from codenav.evals.paper import EPOCHS
from codenav.evals.recorded import OUTCOMES
from codenav.evals.report import Report, RunRow, TaskTable, totals
from codenav.evals.set_up import recall_lines

Line = Sequence[str]
"""The cells of one line, the label first."""


def report_text(report: Report) -> str:
    """The whole report, with a legend below each table."""
    parts = [_table_text(table) for table in report.tables]
    return "\n\n".join([*parts, *(_compared_text(one) for one in report.compared)])


def _table_text(table: TaskTable) -> str:
    marks = _marks(table)
    lines = [
        [table.task, *(row.run.name for row in table.rows), *(row.name for row in table.paper_rows)],
        *_set_up_lines(table),
        *_figure_lines(table),
        *_outcome_lines(table),
    ]
    parts = [_aligned(lines)]
    for mark, row in zip(marks, table.rows, strict=True):
        parts += [f"{mark}! {note}" for note in row.notes]
    parts += [f"{mark}{_spent(row)}" for mark, row in zip(marks, table.rows, strict=True)]
    parts += [f"{mark}{line}" for mark, row in zip(marks, table.rows, strict=True) for line in recall_lines(row.run)]
    for mark, row in zip(marks, table.rows, strict=True):
        if row.differs:
            parts += [f"{mark}differs from the paper's set-up:", *(f"  - {line}" for line in row.differs)]
    parts += ["", *(_wrapped(f"{column.name}: {column.text}") for column in table.columns)]
    if any(figure.spread is not None for row in table.rows for figure in row.figures.values()):
        parts.append("±: two standard deviations over the epochs")
    return "\n".join(parts)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, subsequent_indent="  ", break_long_words=False)


def _marks(table: TaskTable) -> list[str]:
    """The beginning of a line about a run; nothing where there is only one."""
    return [f"{row.run.name}: " for row in table.rows] if len(table.rows) > 1 else [""]


def _set_up_lines(table: TaskTable) -> list[Line]:
    rows, papers = table.rows, table.paper_rows
    lines: list[Line] = [
        ["mode", *(row.run.head.mode for row in rows), *(row.mode.value for row in papers)],
        ["model", *(row.run.head.model for row in rows), *(row.model for row in papers)],
        ["samples", *(str(len(row.run.head.samples)) for row in rows), *(str(row.samples) for row in papers)],
        ["epochs", *(str(row.run.head.epochs) for row in rows), *(str(EPOCHS) for row in papers)],
    ]
    for name in _differing(rows):
        lines.append([name, *(flattened(str(row.run.settings.get(name, "–")), 24) for row in rows)])
    return lines


def _differing(rows: Sequence[RunRow]) -> list[str]:
    """Names of the settings that the runs do not share."""
    names = dict.fromkeys(name for row in rows for name in row.run.settings)
    return [name for name in names if len({repr(row.run.settings.get(name)) for row in rows}) > 1]


def _figure_lines(table: TaskTable) -> list[Line]:
    return [
        [
            column.name,
            *(cell(column.name, row.figures.get(column.name)) for row in table.rows),
            *(table.paper_cell(column, row) or "–" for row in table.paper_rows),
        ]
        for column in table.columns
    ]


def _outcome_lines(table: TaskTable) -> list[Line]:
    counts = [row.run.counts() for row in table.rows]
    solved = [row.run.solved() for row in table.rows]
    rates = [f"{one['percent']:.1f} ({one['low']:.1f} to {one['high']:.1f})" for one in solved]
    lines: list[Line] = [
        ["solved, % (95 % interval)", *rates],
        ["attempts", *(str(len(row.run.results)) for row in table.rows)],
    ]
    return lines + [[f"  {outcome}", *(str(count[outcome]) for count in counts)] for outcome in OUTCOMES]


def _spent(row: RunRow) -> str:
    spent = totals(row.run)
    dollars = spent["dollars"]
    return f"in all: {spent['tokens_in']:,} tokens in, {spent['tokens_out']:,} out, {spent['seconds']:,.1f} s" + (
        f", ${dollars:,.4f}" if dollars is not None else ""
    )


def _aligned(lines: Sequence[Line]) -> str:
    """The lines with their cells below each other."""
    columns = zip_longest(*lines, fillvalue="")
    widths = [max(map(len, column)) for column in columns]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=False)).rstrip() for line in lines
    )


def _compared_text(compared: Compared) -> str:
    lines = [
        f"Sample by sample: {compared.first} is better on {len(compared.better)}, {compared.second} on "
        f"{len(compared.worse)}, equal on {len(compared.equal)}"
    ]
    for name, ids in ((compared.first, compared.better), (compared.second, compared.worse)):
        if ids:
            more = f", and {len(ids) - 10} more" if len(ids) > 10 else ""
            lines.append(f"  {name}: {', '.join(ids[:10])}{more}")
    return "\n".join(lines)
