"""The report of runs: a table per task, with the paper's rows beside ours and what differs in the set-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codenav.core.errors import UsageError
from codenav.evals import paper
from codenav.evals.ablations import LEVELS
from codenav.evals.compared import Compared
from codenav.evals.figures import COSTS, Figure, Scorer, figures_of
from codenav.evals.recorded import Recorded, outcome_of
from codenav.evals.scoring import scorer_of
from codenav.evals.set_up import differences, notes
from codenav.evals.task import Column, Task


@dataclass(frozen=True)
class RunRow:
    """A run in a table."""

    run: Recorded
    figures: Mapping[str, Figure]
    paper: paper.PaperRow | None
    differs: Sequence[str]
    """The set-up against that of the paper's row, a line for each difference."""
    notes: Sequence[str]
    """Warnings that come before the figures: no language model, placeholders for tools, attempts missing."""

    def to_dict(self) -> dict[str, Any]:
        """The row in JSON types."""
        head = self.run.head
        return {
            "run": self.run.name,
            "mode": head.mode,
            "model": head.model,
            "epochs": head.epochs,
            "samples": len(head.samples),
            "shard": head.shard,
            "settings": dict(head.settings),
            "facts": dict(head.facts),
            "codenav": head.codenav,
            "figures": {name: figure.to_dict() for name, figure in self.figures.items()},
            "outcomes": self.run.counts(),
            "solved": self.run.solved(),
            "totals": totals(self.run),
            "groups": groups(self.run),
            "paper": _paper_dict(self.paper),
            "differs": list(self.differs),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class TaskTable:
    """The runs of one task."""

    task: str
    columns: Sequence[Column]
    rows: Sequence[RunRow]

    @property
    def paper_rows(self) -> Sequence[paper.PaperRow]:
        """The paper's rows that belong to the runs, each once."""
        return list(dict.fromkeys(row.paper for row in self.rows if row.paper))

    def paper_cell(self, column: Column, row: paper.PaperRow) -> str:
        """The paper's figure for a column, or ""."""
        metric = _metric(self.task, column)
        return row.figures.get(metric, "") if metric else ""

    def to_dict(self) -> dict[str, Any]:
        """The table in JSON types."""
        return {
            "task": self.task,
            "columns": [{"name": column.name, "text": column.text} for column in self.columns],
            "runs": [row.to_dict() for row in self.rows],
        }


@dataclass(frozen=True)
class Report:
    """The report of one or several runs: `codenav eval report`."""

    tables: Sequence[TaskTable]
    compared: Sequence[Compared] = ()
    """For two runs of one task, sample by sample."""

    def to_dict(self) -> dict[str, Any]:
        """The document of `--json`."""
        return {
            "tasks": [table.to_dict() for table in self.tables],
            "compared": [one.to_dict() for one in self.compared],
        }


def report(folders: Sequence[Path], *, mixed: bool = False, own: Sequence[Task] = ()) -> Report:
    """Read runs, and make their tables.

    `own` are tasks of one's own that the runs are of. A task that is neither there nor a known benchmark gets a column
    for each score that is a number or a truth value.

    Raises:
        NotFound: a folder holds no run.
        UsageError: two runs differ in a setting, and `mixed` is off.
    """
    if not folders:
        raise UsageError("there is no run to report", hint="codenav eval report runs/a")
    runs = [Recorded.read(folder) for folder in dict.fromkeys(folders)]
    if not mixed:
        _refuse_different(runs)
    by_task: dict[str, list[Recorded]] = {}
    for run in runs:
        by_task.setdefault(run.head.task, []).append(run)
    tables = [_table(task, of_task, scorer_of(task, own)) for task, of_task in by_task.items()]
    pairs = [of_task for of_task in by_task.values() if len(of_task) == 2]
    return Report(tables, [Compared.of(*pair) for pair in pairs])


def totals(run: Recorded) -> dict[str, float | None]:
    """Sums over all attempts, errors included, as they were paid for too. Dollars are None where one is unknown."""
    prices = [result.dollars for result in run.results]
    known = [price for price in prices if price is not None]
    return {
        "attempts": len(run.results),
        "steps": sum(result.steps for result in run.results),
        "tokens_in": sum(result.prompt_tokens for result in run.results),
        "tokens_out": sum(result.completion_tokens for result in run.results),
        "seconds": round(sum(result.seconds for result in run.results), 3),
        "dollars": sum(known) if known and len(known) == len(prices) else None,
    }


def groups(run: Recorded) -> dict[str, dict[str, int]]:
    """Attempts and correct ones by group of samples, errors included. Empty where samples have no groups."""
    found: dict[str, dict[str, int]] = {}
    for result in run.results:
        if result.group:
            entry = found.setdefault(result.group, {"attempts": 0, "correct": 0})
            entry["attempts"] += 1
            entry["correct"] += outcome_of(result) == "correct"
    return found


def _refuse_different(runs: Sequence[Recorded]) -> None:
    first = runs[0]
    for other in runs[1:]:
        names = first.head.differences(other.head)
        if names:
            raise UsageError(
                f"{first.name} and {other.name} have different settings: {', '.join(names)}",
                hint="--mixed shows them side by side",
            )


def _table(task: str, runs: Sequence[Recorded], scorer: Scorer | None) -> TaskTable:
    rows = [_row(run, scorer) for run in runs]
    costs = {column.name for column in COSTS}
    found = dict.fromkeys(name for row in rows for name in row.figures)
    if scorer:
        # Its aggregate may have more figures than its table shows; they are in the JSON document.
        columns = list(scorer[0])
    else:
        columns = [Column(name, "mean over the samples") for name in found if name not in costs]
    known = {column.name for column in columns}
    columns += [column for column in COSTS if column.name in found and column.name not in known]
    return TaskTable(task, columns, rows)


def _row(run: Recorded, scorer: Scorer | None) -> RunRow:
    settings = run.settings
    level = str(settings.get("description", "library"))
    row = paper.row_for(
        run.head.task,
        run.head.mode,
        # A text of somebody's own stands in the place of the library description.
        description=level if level in LEVELS else "library",
        shows=str(settings.get("shows", "shorter")),
        paths_only=settings.get("paths_only") is True,
        model=run.head.model,
    )
    return RunRow(run, figures_of(run, scorer), row, differences(run, row) if row else (), notes(run))


def _metric(task: str, column: Column) -> str | None:
    """The paper's name of a column: the one under which table 1 has the column's figures."""
    if column.name == "steps":
        return "steps"
    for row in paper.ROWS:
        if row.table == 1 and row.task == task and row.mode in column.paper:
            for name, figure in row.figures.items():
                if _squeezed(figure) == _squeezed(column.paper[row.mode]):
                    return name
    return None


def _squeezed(figure: str) -> str:
    return "".join(figure.split())


def _paper_dict(row: paper.PaperRow | None) -> dict[str, Any] | None:
    if row is None:
        return None
    return {
        "table": row.table,
        "mode": row.mode.value,
        "model": row.model,
        "description": row.description,
        "shows": row.shows,
        "figures": dict(row.figures),
    }
