"""The figures that the CodeNav paper prints (arXiv 2406.12276v1, tables 1 to 5), and the set-up behind each.

`±` is two standard deviations over three runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from codenav.evals.task import Mode

MODEL = "gpt-4-1106-preview"
MIXTRAL = "Mixtral-8x22B-Instruct-v0.1"
EPOCHS = 3
SAMPLES = {"mnms": 200, "m3tooleval": 82, "api-bank": 186}
"""Per task. Which 200 of m&m's were drawn is not published."""


@dataclass(frozen=True, eq=False)
class PaperRow:
    """A row of one of the paper's tables."""

    table: int
    task: str
    mode: Mode
    figures: Mapping[str, str]
    """Of the metrics that the paper prints: `P`, `R`, `F1`, `accuracy`, `steps`."""
    description: str = "library"
    shows: str = "shorter"
    paths_only: bool = False
    model: str = MODEL

    @property
    def name(self) -> str:
        """The heading of the row: the number of its table."""
        return f"paper, table {self.table}"

    @property
    def samples(self) -> int:
        """The number of its samples."""
        return SAMPLES[self.task]


def _row(table: int, task: str, mode: Mode, p: str, r: str, f1: str, steps: str, *, model: str = MODEL) -> PaperRow:
    return PaperRow(table, task, mode, {"P": p, "R": r, "F1": f1, "steps": steps}, model=model)


def _mnms(table: int, f1: str, steps: str, *, description: str = "library", shows: str = "shorter") -> PaperRow:
    return PaperRow(table, "mnms", Mode.CODE_USE, {"F1": f1, "steps": steps}, description=description, shows=shows)


def _m3(table: int, mode: Mode, accuracy: str, steps: str, *, paths_only: bool = False) -> PaperRow:
    return PaperRow(table, "m3tooleval", mode, {"accuracy": accuracy, "steps": steps}, paths_only=paths_only)


ROWS = (
    _row(1, "mnms", Mode.TOOL_USE, "82.9 ±4.5", "81.7 ±0.4", "79.6 ±2.3", "4.9 ±0.1"),
    _row(1, "mnms", Mode.CODE_USE, "88.0 ±6.1", "78.2 ±4.5", "80.6 ±5.1", "7.2 ±0.2"),
    _m3(1, Mode.TOOL_USE, "83.7 ±2.8", "6.6 ±0.5"),
    _m3(1, Mode.CODE_USE, "81.7 ±4.9", "7.8 ±0.4"),
    _row(1, "api-bank", Mode.TOOL_USE, "86.6 ±0.8", "93.6 ±1.1", "88.5 ±0.7", "3.4 ±0.1"),
    _row(1, "api-bank", Mode.CODE_USE, "84.0 ±0.7", "89.3 ±0.6", "85.3 ±0.3", "5.3 ±0.0"),
    _mnms(2, "74.1 ±1.9", "7.0 ±0.1", description="none"),
    _mnms(2, "78.1 ±3.5", "6.7 ±0.2", description="names"),
    _mnms(2, "80.8 ±0.4", "6.9 ±0.1", description="descriptions"),
    _mnms(2, "80.7 ±5.0", "6.1 ±0.1", description="prototypes"),
    _mnms(3, "80.0 ±5.2", "7.8 ±0.1", shows="prototypes"),
    _mnms(3, "81.2 ±2.3", "7.3 ±0.2", shows="code"),
    _m3(4, Mode.CODE_USE, "76.8 ±6.5", "8.3 ±0.3", paths_only=True),
    _row(5, "mnms", Mode.CODE_USE, "54.4 ±2.3", "15.8 ±1.4", "23.0 ±0.8", "9.1 ±1.1", model="gpt-3.5-turbo-0125"),
    _row(5, "mnms", Mode.CODE_USE, "82.5 ±2.1", "62.3 ±1.9", "67.9 ±1.3", "9.1 ±0.3", model=MIXTRAL),
    _row(5, "mnms", Mode.CODE_USE, "78.2 ±3.1", "38.5 ±5.5", "48.8 ±5.1", "10.0 ±0.2", model="Qwen1.5-110B-Chat"),
)  # fmt: skip
"""Tables 2, 3 and 5 hold a row of table 1 as well, which stands here once."""


def row_for(task: str, mode: str, *, description: str, shows: str, paths_only: bool, model: str) -> PaperRow | None:
    """The row with that set-up, and that of `MODEL` for models that the paper did not try. None: there is none."""
    rows = [row for row in ROWS if (row.task, row.mode.value) == (task, mode)]
    if mode == Mode.CODE_USE:
        wanted = (description, shows, paths_only)
        rows = [row for row in rows if (row.description, row.shows, row.paths_only) == wanted]
    name = model.rpartition("/")[2].lower()
    same = [row for row in rows if row.model.lower() == name]
    return next(iter(same or [row for row in rows if row.model == MODEL]), None)
