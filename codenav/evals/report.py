"""The report of runs: a table per task, with the paper's rows beside ours and what differs in the set-up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codenav.core.errors import UsageError
from codenav.core.system.terminal_text import few, flattened
from codenav.evals import paper
from codenav.evals.ablations import VARIED
from codenav.evals.benchmark import scorer_of
from codenav.evals.recorded import COSTS, OUTCOMES, Figure, RunRecord, cell, figures_of, outcome_of
from codenav.evals.results import ERROR
from codenav.evals.scores import mcnemar
from codenav.evals.task import Column, Task

SHARED = ("model", "codenav", "server", "sampling", "model_digest")
"""What runs of several benchmarks have to share to stand in one report."""


@dataclass(frozen=True)
class RunRow:
    """A run in a table."""

    run: RunRecord
    figures: Mapping[str, Figure]
    paper: paper.PaperRow | None

    @property
    def notes(self) -> list[str]:
        """Warnings that come before the figures: no language model, placeholders for tools, attempts missing."""
        return list(_notes(self.run))

    @property
    def differs(self) -> list[str]:
        """The set-up against that of the paper's row, a line for each difference."""
        return list(paper.differences(self.run, self.paper)) if self.paper else []

    @property
    def cost(self) -> str:
        """Tokens, seconds and dollars of all attempts in words."""
        spent = self.run.totals()
        text = f"in all: {spent['tokens_in']:,} tokens in, {spent['tokens_out']:,} out, {spent['seconds']:,.1f} s"
        return text if spent["dollars"] is None else f"{text}, ${spent['dollars']:,.4f}"

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
            "totals": self.run.totals(),
            "groups": self.run.groups(),
            "paper": self.paper.to_dict() if self.paper else None,
            "differs": self.differs,
            "notes": self.notes,
        }


@dataclass(frozen=True)
class Line:
    """A line of a table: its label, a cell for each run and then for each row of the paper, and a legend."""

    label: str
    cells: Sequence[str]
    legend: str = ""


@dataclass(frozen=True)
class TaskTable:
    """The runs of one task."""

    task: str
    columns: Sequence[Column]
    rows: Sequence[RunRow]

    def lines(self) -> list[Line]:
        """The table as every format prints it; the first line is its heading."""
        runs = [row.run for row in self.rows]
        papers = list(dict.fromkeys(row.paper for row in self.rows if row.paper))
        heads = [run.head for run in runs]
        solved = [run.solved() for run in runs]
        counts, made = [run.counts() for run in runs], [run.made_with() for run in runs]
        return [
            Line(self.task, [*(run.name for run in runs), *(row.name for row in papers)]),
            Line("mode", [*(head.mode for head in heads), *(row.mode.value for row in papers)]),
            Line("model", [*(head.model for head in heads), *(row.model for row in papers)]),
            *(
                Line(name, [one.get(name, "–") for one in made])
                for name in dict.fromkeys(key for one in made for key in one)
            ),
            Line("samples", [str(len(h.samples)) for h in heads] + [str(paper.SAMPLES[p.task]) for p in papers]),
            Line("epochs", [*(str(head.epochs) for head in heads), *(str(paper.EPOCHS) for _ in papers)]),
            *(Line(name, [flattened(str(run.settings.get(name, "–")), 24) for run in runs]) for name in _unlike(runs)),
            *(self._figures(column, papers) for column in self.columns),
            Line(
                "solved, % (95 % interval)",
                [f"{one['percent']:.1f} ({one['low']:.1f} to {one['high']:.1f})" for one in solved],
            ),
            Line("attempts", [str(len(run.results)) for run in runs]),
            *(Line(f"  {outcome}", [str(count[outcome]) for count in counts]) for outcome in OUTCOMES),
        ]

    def to_dict(self) -> dict[str, Any]:
        """The table in JSON types."""
        return {
            "task": self.task,
            "columns": [{"name": column.name, "text": column.text} for column in self.columns],
            "runs": [row.to_dict() for row in self.rows],
        }

    def _figures(self, column: Column, papers: Sequence[paper.PaperRow]) -> Line:
        ours = [cell(column.name, row.figures.get(column.name)) for row in self.rows]
        return Line(column.name, [*ours, *(row.figures.get(column.metric, "–") for row in papers)], column.text)


@dataclass(frozen=True)
class Comparison:
    """The samples that two runs of one task have results for, each by its mean score over the epochs."""

    first: str
    second: str
    better: Sequence[str]
    """Ids of samples on which the first run scored higher."""
    worse: Sequence[str]
    equal: Sequence[str]
    pairs: int
    """Attempts that both runs have made."""
    first_alone: int
    """Attempts that the first run has solved, and the second has not."""
    second_alone: int

    @classmethod
    def of(cls, first: RunRecord, second: RunRecord) -> Comparison:
        """Compare two runs."""
        ours, theirs = first.sample_scores(), second.sample_scores()
        both = [id for id in ours if id in theirs]
        mine, its = first.solved_attempts(), second.solved_attempts()
        pairs = [(solved, its[key]) for key, solved in mine.items() if key in its]
        return cls(
            first.name,
            second.name,
            [id for id in both if ours[id] > theirs[id]],
            [id for id in both if ours[id] < theirs[id]],
            [id for id in both if ours[id] == theirs[id]],
            len(pairs),
            pairs.count((True, False)),
            pairs.count((False, True)),
        )

    @property
    def p(self) -> float:
        """The probability of so uneven pairs by chance (McNemar)."""
        return mcnemar(self.first_alone, self.second_alone)

    @property
    def sentence(self) -> str:
        """The comparison in words."""
        return (
            f"Sample by sample: {self.first} is better on {len(self.better)}, {self.second} on {len(self.worse)}, "
            f"equal on {len(self.equal)}. Of {self.pairs} pairs of attempts {self.first} alone solved "
            f"{self.first_alone}, {self.second} alone {self.second_alone}: p = {self.p:.3f} (McNemar)"
        )

    def to_dict(self) -> dict[str, Any]:
        """The comparison in JSON types."""
        found = {"first": self.first, "second": self.second, "better": list(self.better), "worse": list(self.worse)}
        names = ("pairs", "first_alone", "second_alone", "p")
        return {**found, "equal": len(self.equal), **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True)
class Report:
    """The report of one or several runs: `codenav eval table`."""

    tables: Sequence[TaskTable]
    compared: Sequence[Comparison] = ()
    """The runs of each task beside its first one, sample by sample."""

    def to_dict(self) -> dict[str, Any]:
        """The document of `--json`."""
        return {
            "tasks": [table.to_dict() for table in self.tables],
            "compared": [one.to_dict() for one in self.compared],
        }


def report(
    folders: Sequence[Path], *, mixed: bool = False, with_paper: bool = True, own: Sequence[Task] = ()
) -> Report:
    """Read runs, and make their tables, with the paper's rows unless these are not wanted.

    `own` are tasks of one's own that the runs are of. A task that is neither there nor a known benchmark gets a column
    for each score that is a number or a truth value.

    Raises:
        NotFound: a folder holds no run.
        UsageError: two runs differ in a setting, and `mixed` is off.
    """
    if not folders:
        raise UsageError("there is no run to report", hint="codenav eval table runs/a")
    runs = [RunRecord.read(folder) for folder in dict.fromkeys(folders)]
    by_task: dict[str, list[RunRecord]] = {}
    for run in runs:
        by_task.setdefault(run.head.task, []).append(run)
    firsts = [(runs[0], of_task[0]) for of_task in by_task.values()]
    beside = [(of_task[0], run) for of_task in by_task.values() for run in of_task[1:]]
    for one, other in [*firsts, *beside] if not mixed else ():
        names = one.head.differences(other.head, apart=VARIED)
        if one.head.task != other.head.task:
            names = [name for name in names if name.partition(" ")[0] in SHARED]
        if names:
            raise UsageError(
                f"{one.name} and {other.name} have different settings: {', '.join(names)}",
                hint="--mixed shows them side by side",
            )
    tables = [_table(task, of_task, scorer_of(task, own), with_paper) for task, of_task in by_task.items()]
    return Report(tables, [Comparison.of(*pair) for pair in beside])


def _table(name: str, runs: Sequence[RunRecord], task: Task | None, with_paper: bool) -> TaskTable:
    rows = [RunRow(run, figures_of(run, task), paper.row_of(run) if with_paper else None) for run in runs]
    costs = {column.name for column in COSTS}
    found = dict.fromkeys(name for row in rows for name in row.figures)
    # The aggregate of a task may have more figures than its table shows; they are in the JSON document.
    unknown = [Column(name, "mean over the samples") for name in found if name not in costs]
    columns = list(task.columns) if task else unknown
    known = {column.name for column in columns}
    columns += [column for column in COSTS if column.name in found and column.name not in known]
    return TaskTable(name, columns, rows)


def _notes(run: RunRecord) -> Iterator[str]:
    """Lines that belong above the figures: they say when these are no measurement of a model on the whole task."""
    if run.head.model.startswith("scripted:"):
        yield "the answers were scripted; no language model was used"
    if run.settings.get("stub_tools"):
        yield "the tools were placeholders (--stub-tools): calls were made, and nothing was computed"
    errors = [result.id for result in run.results if outcome_of(result) == ERROR]
    if errors:
        count = f"{len(errors)} of {len(run.results)} attempts"
        yield f"{count} ended as errors and are not solved ({few(errors, 10)}): codenav eval run --resume"
    if run.missing:
        yield f"{run.missing} of {len(run.head.attempts)} attempts have no result yet: codenav eval run --resume"
    if run.head.shard:
        yield f"this is the shard {run.head.shard}: codenav eval merge joins it with the others"
    if run.head.mixed:
        yield f"put together from runs that differ in {', '.join(run.head.mixed)}"
    yield from run.notices


def _unlike(runs: Sequence[RunRecord]) -> list[str]:
    """Names of the settings that the runs do not share."""
    names = dict.fromkeys(name for run in runs for name in run.settings)
    return [name for name in names if len({repr(run.settings.get(name)) for run in runs}) > 1]
