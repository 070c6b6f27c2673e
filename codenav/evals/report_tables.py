"""The tables of a report in HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from codenav.core.system.terminal_text import neutral
from codenav.evals.compared import Compared
from codenav.evals.figures import cell
from codenav.evals.recorded import OUTCOMES
from codenav.evals.report import Report, RunRow, TaskTable, groups, totals
from codenav.evals.set_up import recall_lines


def tables_html(report: Report) -> str:
    """All tables, and the comparison of two runs."""
    parts = [_table(table) for table in report.tables]
    return "\n".join([*parts, *(_compared(one) for one in report.compared)])


def _table(table: TaskTable) -> str:
    rows, papers = table.rows, table.paper_rows
    head = _line([table.task, *(row.run.name for row in rows), *(row.name for row in papers), ""], tag="th")
    lines = [
        _line(["mode", *(row.run.head.mode for row in rows), *(row.mode.value for row in papers), ""]),
        _line(["model", *(row.run.head.model for row in rows), *(row.model for row in papers), ""], rule=True),
    ]
    for column in table.columns:
        ours = [cell(column.name, row.figures.get(column.name)) for row in rows]
        theirs = [table.paper_cell(column, row) or "–" for row in papers]
        lines.append(_line([column.name, *ours, *theirs, column.text], text=True))
    counts = [row.run.counts() for row in rows]
    blank = [""] * (len(papers) + 1)
    solved = [row.run.solved() for row in rows]
    rates = [f"{one['percent']:.1f} ({one['low']:.1f} to {one['high']:.1f})" for one in solved]
    lines.append(
        _line(["solved", *rates, *[""] * len(papers), "percent of all attempts, with its 95 % interval (Wilson)"])
    )
    lines += [_line([outcome, *(str(count[outcome]) for count in counts), *blank]) for outcome in OUTCOMES]
    body = f"<table><thead>{head}</thead><tbody>{''.join(lines)}</tbody></table>"
    return f"<h2>{_text(table.task)}</h2>{body}{''.join(_below(row) for row in rows)}"


def _below(row: RunRow) -> str:
    """Notes, costs, groups and settings of a run."""
    spent, name = totals(row.run), _text(row.run.name)
    dollars = spent["dollars"]
    costs = f"{spent['tokens_in']:,} tokens in, {spent['tokens_out']:,} out, {spent['seconds']:,.1f} s"
    costs += f", ${dollars:,.4f}" if dollars is not None else ""
    parts = [f'<p class="note">{name}: {_text(note)}</p>' for note in row.notes]
    parts.append(f'<p class="small">{name}: in all {costs}</p>')
    parts += [f'<p class="small">{name}: {_text(line)}</p>' for line in recall_lines(row.run)]
    if row.differs:
        parts.append(f'<p class="small">{name} differs from the paper: {_text("; ".join(row.differs))}</p>')
    by_group = groups(row.run)
    if by_group:
        lines = [_line([group, str(one["attempts"]), str(one["correct"])]) for group, one in by_group.items()]
        parts.append(_folded(f"{name}: groups", _line(["group", "attempts", "correct"], tag="th"), lines))
    settings = {"made": row.run.head.made, **row.run.settings}
    parts.append(_folded(f"{name}: settings", "", [_line([key, str(value)]) for key, value in settings.items()]))
    return "".join(parts)


def _folded(title: str, head: str, lines: Iterable[str]) -> str:
    table = f"<table><thead>{head}</thead><tbody>{''.join(lines)}</tbody></table>"
    return f'<details class="t"><summary>{title}</summary>{table}</details>'


def _compared(compared: Compared) -> str:
    return (
        f"<p>Sample by sample: {_text(compared.first)} is better on {len(compared.better)}, {_text(compared.second)} "
        f"on {len(compared.worse)}, equal on {len(compared.equal)}.</p>"
    )


def _line(cells: Sequence[str], *, tag: str = "td", rule: bool = False, text: bool = False) -> str:
    """A row; with `text` its last cell is an explanation."""
    made = [f"<{tag}>{_text(one)}</{tag}>" for one in cells]
    if text:
        made[-1] = f'<{tag} class="text">{_text(cells[-1])}</{tag}>'
    return ('<tr class="rule">' if rule else "<tr>") + "".join(made) + "</tr>"


def _text(text: str) -> str:
    return escape(neutral(text[:2000]))
