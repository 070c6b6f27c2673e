"""The CodeNav paper's tables 1 to 5 (arXiv 2406.12276v1): the figures that it prints, their set-up, and the runs.

`±` is two standard deviations over three runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codenav.evals.recorded import RunRecord
from codenav.evals.task import LEVELS, Mode

MODEL = "gpt-4-1106-preview"
EPOCHS = 3
SAMPLES = {"mnms": 200, "m3tooleval": 82, "api-bank": 186}
"""Per task. Which 200 of m&m's were drawn is not published."""
SET_UP: Mapping[str, Any] = {"description": "library", "shows": "shorter", "paths_only": False, "model": MODEL}
"""The set-up of table 1; the other tables vary one of these options each."""


@dataclass(frozen=True, eq=False)
class PaperRow:
    """A row of one of the paper's tables."""

    table: int
    task: str
    mode: Mode
    figures: Mapping[str, str]
    """Of the metrics that the paper prints: `P`, `R`, `F1`, `accuracy`, `steps`."""
    varies: Mapping[str, Any]
    """The options that differ from `SET_UP`."""

    @property
    def name(self) -> str:
        """The heading of the row: the number of its table."""
        return f"paper, table {self.table}"

    @property
    def set_up(self) -> Mapping[str, Any]:
        """The options of the row."""
        return {**SET_UP, **self.varies}

    @property
    def model(self) -> str:
        """The model of the row."""
        return str(self.set_up["model"])

    def to_dict(self) -> dict[str, Any]:
        """The row in JSON types."""
        figures, of = dict(self.figures), self.set_up
        names = ("model", "description", "shows")
        return {"table": self.table, "mode": self.mode.value, **{name: of[name] for name in names}, "figures": figures}


_TABLES: Sequence[tuple[int, str, str, str, Mapping[str, Any]]] = (
    (1, "mnms", "tool-use", "P 82.9 ±4.5, R 81.7 ±0.4, F1 79.6 ±2.3, steps 4.9 ±0.1", {}),
    (1, "mnms", "code-use", "P 88.0 ±6.1, R 78.2 ±4.5, F1 80.6 ±5.1, steps 7.2 ±0.2", {}),
    (1, "m3tooleval", "tool-use", "accuracy 83.7 ±2.8, steps 6.6 ±0.5", {}),
    (1, "m3tooleval", "code-use", "accuracy 81.7 ±4.9, steps 7.8 ±0.4", {}),
    (1, "api-bank", "tool-use", "P 86.6 ±0.8, R 93.6 ±1.1, F1 88.5 ±0.7, steps 3.4 ±0.1", {}),
    (1, "api-bank", "code-use", "P 84.0 ±0.7, R 89.3 ±0.6, F1 85.3 ±0.3, steps 5.3 ±0.0", {}),
    (2, "mnms", "code-use", "F1 74.1 ±1.9, steps 7.0 ±0.1", {"description": "none"}),
    (2, "mnms", "code-use", "F1 78.1 ±3.5, steps 6.7 ±0.2", {"description": "names"}),
    (2, "mnms", "code-use", "F1 80.8 ±0.4, steps 6.9 ±0.1", {"description": "descriptions"}),
    (2, "mnms", "code-use", "F1 80.7 ±5.0, steps 6.1 ±0.1", {"description": "prototypes"}),
    (3, "mnms", "code-use", "F1 80.0 ±5.2, steps 7.8 ±0.1", {"shows": "prototypes"}),
    (3, "mnms", "code-use", "F1 81.2 ±2.3, steps 7.3 ±0.2", {"shows": "code"}),
    (4, "m3tooleval", "code-use", "accuracy 76.8 ±6.5, steps 8.3 ±0.3", {"paths_only": True}),
    (5, "mnms", "code-use", "P 54.4 ±2.3, R 15.8 ±1.4, F1 23.0 ±0.8, steps 9.1 ±1.1", {"model": "gpt-3.5-turbo-0125"}),
    (5, "mnms", "code-use", "P 82.5 ±2.1, R 62.3 ±1.9, F1 67.9 ±1.3, steps 9.1 ±0.3",
     {"model": "Mixtral-8x22B-Instruct-v0.1"}),
    (5, "mnms", "code-use", "P 78.2 ±3.1, R 38.5 ±5.5, F1 48.8 ±5.1, steps 10.0 ±0.2", {"model": "Qwen1.5-110B-Chat"}),
)  # fmt: skip
"""Tables 2 to 5 hold a row of table 1 as well, which stands here once."""

ROWS = [
    PaperRow(table, task, Mode(mode), dict(one.split(" ", 1) for one in figures.split(", ")), varies)
    for table, task, mode, figures, varies in _TABLES
]


def row_for(task: str, mode: str, **set_up: Any) -> PaperRow | None:
    """The row with a set-up (options as in `SET_UP`), and that of `MODEL` for models that the paper did not try.

    None: there is none.
    """
    # The paper's agent without search writes code with the tools that it is told of.
    mode = Mode.TOOL_USE if mode == Mode.NO_SEARCH else mode
    rows = [row for row in ROWS if (row.task, row.mode.value) == (task, mode)]
    if mode == Mode.CODE_USE:
        names = ("description", "shows", "paths_only")
        rows = [row for row in rows if all(row.set_up[name] == set_up[name] for name in names)]
    name = set_up["model"].rpartition("/")[2].lower()
    same = [row for row in rows if row.model.lower() == name]
    return next(iter(same or [row for row in rows if row.model == MODEL]), None)


def row_of(run: RunRecord) -> PaperRow | None:
    """The row with the set-up of a run."""
    settings = {name: run.settings.get(name, usual) for name, usual in SET_UP.items()}
    if settings["description"] not in LEVELS:
        # A text of somebody's own stands in the place of the library description.
        settings["description"] = "library"
    return row_for(run.head.task, run.head.mode, **{**settings, "model": run.head.model})


def differences(run: RunRecord, row: PaperRow) -> Iterator[str]:
    """The differences from the set-up of the paper's row, as far as the paper states its own."""
    head, settings = run.head, run.settings
    if head.model.rpartition("/")[2].lower() != row.model.lower():
        yield f"model {head.model}; the paper's was {row.model}"
    if head.epochs != EPOCHS:
        yield f"{head.epochs} epoch{'s' * (head.epochs != 1)}; the paper's figures are means of {EPOCHS} runs"
    if len(head.samples) != SAMPLES[row.task]:
        yield f"{len(head.samples)} sample{'s' * (len(head.samples) != 1)}; the paper had {SAMPLES[row.task]}"
    elif row.task == "mnms":
        yield "another draw of 200 samples: the paper's ids are not published"
    if str(settings.get("description", "")).startswith("sha256:"):
        yield "the description is a file of your own"
    else:
        yield "descriptions are ours, or built from the checkout; the paper's own words differ"
    guidelines = str(settings.get("guidelines", "default"))
    own = "no guidelines" if guidelines == "none" else "the guidelines are a file of your own"
    yield "guidelines in our words" if guidelines == "default" else own
    if settings.get("docstrings"):
        yield "upstream's descriptions stand as docstrings in the code base"
    yield "the agent, its prompts, search and sandbox are codenav's, not those of the paper's program"


def folder_of(model: str) -> str:
    """Return a name of a folder for a model: `Qwen/Qwen3-0.6B` is `Qwen-Qwen3-0.6B`."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip(".-") or "model"
