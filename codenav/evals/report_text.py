"""A report as text: runs side by side, a line for each figure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import zip_longest

from codenav.evals.report import Comparison, Report, RunRow, TaskTable

BESIDE = 2
"""Runs that stand beside each other, with all figures; more are a row each."""
COMPARED = (
    "mode", "model", "ablation", "solved, % (95 % interval)", "attempts", "steps", "tokens in", "tokens out", "seconds",
    "  error",
)  # fmt: skip
"""The labels of a run's row, beside the figures that the paper has too."""


def report_text(report: Report) -> str:
    """The whole report, with a legend below each table."""
    return "\n\n".join([*map(_table_text, report.tables), *map(_compared_text, report.compared)])


def _table_text(table: TaskTable) -> str:
    # The beginning of a line about a run; nothing where there is only one.
    marked = [(f"{row.run.name}: " if len(table.rows) > 1 else "", row) for row in table.rows]
    lines = table.lines()
    parts = [_aligned(_below(table) if len(table.rows) > BESIDE else [[line.label, *line.cells] for line in lines])]
    parts += [f"{mark}! {note}" for mark, row in marked for note in row.notes]
    parts += [f"{mark}{row.cost}" for mark, row in marked]
    if len(table.rows) > BESIDE:
        parts += [f"{mark}made with {text}" for text, mark in _groups(table, list(map(_made_with, table.rows)))]
    for said, mark in _groups(table, ["\n".join(f"  - {line}" for line in row.differs) for row in table.rows]):
        parts.append(f"{mark}differs from the paper's set-up:\n{said}")
    parts += ["", *(_wrapped(f"{column.name}: {column.text}") for column in table.columns)]
    if any(figure.spread is not None for row in table.rows for figure in row.figures.values()):
        parts.append("±: two standard deviations over the epochs")
    return "\n".join(parts)


def _made_with(row: RunRow) -> str:
    return ", ".join(f"{name} {value}" for name, value in row.run.made_with().items())


def _groups(table: TaskTable, texts: Sequence[str]) -> list[tuple[str, str]]:
    """Each text once, with the beginning of a line that names the runs that it is about."""
    names = [row.run.name for row in table.rows]
    about = {text: [name for name, its in zip(names, texts, strict=True) if its == text] for text in texts if text}
    return [(text, "" if len(names) == 1 else f"{', '.join(runs)}: ") for text, runs in about.items()]


def _below(table: TaskTable) -> list[list[str]]:
    """A row for each run, and for each of the paper, with the figures that are compared most."""
    head, *lines = table.lines()
    metrics = {column.name for column in table.columns if column.metric}
    shown = [line for line in lines if line.label in metrics or line.label in COMPARED]
    rows = [
        [line.cells[place] if place < len(line.cells) else "–" for line in shown] for place in range(len(head.cells))
    ]
    labels = [line.label.strip() for line in shown]
    return [[head.label, *labels], *([name, *row] for name, row in zip(head.cells, rows, strict=True))]


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
