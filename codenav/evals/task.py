"""The base types of evals: a task, its samples, an attempt at a sample, and its scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Protocol

from codenav.core.system.stored import Document
from codenav.environments import MakeEnvironments, usual_environments
from codenav.episodes.record import EpisodeResult
from codenav.episodes.verify import last_summary


class Mode(StrEnum):
    """The knowledge of tools that the agent is given."""

    CODE_USE = "code-use"
    """A library description, and search."""
    TOOL_USE = "tool-use"
    """Full descriptions of all tools in the prompt, and one JSON call a turn in place of code and search."""
    NO_SEARCH = "no-search"
    """Full descriptions of the whole code base in the prompt, code, and no search."""


LEVELS = ("none", "names", "descriptions", "prototypes", "library")
"""Levels of the description in code-use (CodeNav paper, table 2); any other word is the path of a file."""


@dataclass(frozen=True)
class Sample:
    """One request with what is needed to score an attempt at it."""

    id: str
    """Unique in its task; letters, digits and `_.:-`."""
    request: str
    """The text that the agent is given."""
    gold: Any = None
    """The expected result in JSON types. It never enters a sandbox, a prompt or a work folder."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files of the work folder at the start, by relative path."""
    group: str = ""
    """Domain or kind, by which tables may be split."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """More about the sample for reports and scorers, in JSON types."""


@dataclass(frozen=True)
class ToolCall(Document):
    """The outermost call of a public function or method of the target code base, as it happened in the sandbox."""

    name: str
    """The tool in the words of its benchmark: an API class, a function."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Arguments by name, in JSON types; what is none is its `repr`."""
    step: int = 0
    """Number of the step, from 1."""
    failed: bool = False
    """The step in which the call was made ended with an error."""


@dataclass(frozen=True)
class Tool:
    """A tool that is registered for JSON calls."""

    name: str
    imports: str
    """The lines that its first call needs before it: `from apis import GetToday`."""
    call: str
    """The expression that is called: `GetToday().call`."""


@dataclass(frozen=True)
class Attempt:
    """The outcome of one episode on one sample: all that a scorer may use."""

    sample: Sample
    result: EpisodeResult
    calls: Sequence[ToolCall] = ()
    """In order. Calls made while a summary was replayed are not among them."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """The variables that `Setting.read` names, as they were at the end, for those that exist and are plain data."""
    sums_up: bool = True
    """The agent has the action `code_summary`; else the steps that ended well are its program."""

    @property
    def program(self) -> str | None:
        """The program that is scored where a benchmark scores one. None: the agent was to send one, and did not."""
        found = last_summary(self.result.steps)
        return found.code if found else None if self.sums_up else self.result.summary.code


@dataclass(frozen=True)
class Setting:
    """The world in which the samples of a task run, for one mode and one level of description."""

    on: Sequence[Path]
    """Folders with the adapted code base."""
    description: str
    """The library or tool descriptions, with the guidelines after them."""
    python: Path | None = None
    """The interpreter that the code base needs. None: the caller's, else codenav's own."""
    environments: MakeEnvironments = usual_environments
    read: Sequence[str] = ()
    """Variables that are read from the sandbox after the last step."""
    tools: Sequence[Tool] = ()
    """The tools that are registered for JSON calls; only tool-use needs them."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """More for the head of a run: commit of the checkout, level of the description, placeholders for tools."""


@dataclass(frozen=True)
class Column:
    """A column of a task's table: an aggregate over the attempts of one run."""

    name: str
    """Key in `Task.aggregate`, and the heading."""
    text: str
    """One line for a legend, with the unit."""
    metric: str = ""
    """The paper's name of the same figure (`paper.ROWS`): `P`, `R`, `F1`, `accuracy`. Empty: the paper has none."""
    share: bool = False
    """True for the percentage of all attempts of which something holds."""


class Task(Protocol):
    """A benchmark: samples, the setting that they run in, and a scorer."""

    name: str
    """As in `codenav eval run NAME`."""
    columns: Sequence[Column]
    """In the order of the table."""

    def samples(self) -> Sequence[Sample]:
        """All samples, in the benchmark's order."""
        ...

    def setting(self, mode: Mode, out: Path) -> Setting:
        """Write the adapted code base below `out`, and return the setting. Expected answers are not among it."""
        ...

    def score(self, attempt: Attempt) -> dict[str, Any]:
        """Scores of one attempt in JSON types. `correct` (bool) tells `done` episodes from wrong ones."""
        ...

    def aggregate(self, scores: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """The columns of a table, from the scores of one epoch. What ended as `error` is not among them.

        It depends on nothing but the scores: reports call it on an object of the class that was made without a
        checkout (`benchmark.scorer_of`).
        """
        ...


@dataclass(frozen=True)
class Check(Document):
    """One line of a self-check: a figure that is known, and the one that was found."""

    name: str
    expected: Any
    found: Any
    detail: str = ""
    """Lines on what was found: causes, ids."""

    stored: ClassVar[Sequence[str]] = ("name", "expected", "found", "ok", "detail")

    @property
    def ok(self) -> bool:
        """True if the two are equal."""
        return bool(self.expected == self.found)
