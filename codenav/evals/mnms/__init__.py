"""The m&m's task: requests that one to three calls of 33 tools answer (Ma et al., 2024)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from codenav.core.errors import Unavailable, UsageError
from codenav.evals.benchmark import Benchmark
from codenav.evals.mnms.plans import WHERE, Node, PlannedTask, draw, read_tasks
from codenav.evals.mnms.programs import MODULE, PACKAGE
from codenav.evals.mnms.scoring import COLUMNS, aggregate, checks, score
from codenav.evals.mnms.tools import COMMIT, FOLDER, NEEDS, missing_packages, placeholder_files, read_tools, real_files
from codenav.evals.task import Attempt, Check, Mode, Sample, Tool

KINDS = {1: "one tool", 2: "two tools", 3: "three tools"}
TEXTS = Path(__file__).parent
"""Folder of the texts for the agent."""
SEARCH = "How to search:"
"""The line of `guidelines.md` from which on it is for agents that can search."""
SUMMARY = "- End with a code_summary"
"""The beginning of the guideline for agents that write a program."""


class Mnms(Benchmark):
    """Tasks of m&m's, scored by the calls in the code summary."""

    name = "mnms"
    columns = COLUMNS
    known_commit, folder, needs = COMMIT, FOLDER, NEEDS
    all_tools = "full"

    def __init__(
        self,
        data: Path,
        *,
        any_commit: bool = False,
        description: str = "library",
        guidelines: str = "default",
        tasks: str | Path | None = None,
        sample: int = 0,
        seed: int = 0,
        stub_tools: bool = False,
        python: str | Path | None = None,
    ) -> None:
        """Read a checkout of RAIVNLab/mnms, or the folder `mnms` in it, and the task file. Nothing is written.

        Args:
            data, any_commit, description, guidelines: as for `Benchmark`.
            tasks: the task file, relative to the current folder or to `data`.
            sample: tasks to draw; 0 means all.
            seed: of the draw. It is raised until every tool of the file is drawn.
            stub_tools: placeholders in place of upstream's functions, which need models, packages and keys.
            python: the interpreter whose packages upstream's functions need.

        Raises:
            NotFound, UsageError: something named does not exist, or is not in the format.
        """
        if sample < 0:
            raise UsageError("a sample of less than 0 tasks", hint="--sample 200, or 0 for all")
        super().__init__(data, any_commit=any_commit, description=description, guidelines=guidelines)
        self.tools = read_tools(self.root)
        self.tool_names = [tool.name for tool in self.tools]
        if tasks is None:
            raise UsageError("no task file is named", hint=WHERE)
        path = Path(tasks).expanduser()
        if not path.is_absolute() and not path.exists() and (data / path).exists():
            path = data / path
        self.file = read_tasks(path, self.tool_names)
        self.drawn = draw(self.file.tasks, sample, seed)
        self._stub_tools, self._python = stub_tools, Path(python) if python else None
        self._size, self._seed = sample, seed

    def samples(self) -> Sequence[Sample]:
        """The tasks that were drawn, in the order of the file."""
        return [
            Sample(
                id=task.id,
                request=task.request,
                gold=[[node.__dict__ for node in plan] for plan in task.plans],
                group=KINDS.get(len(task.plan), f"{len(task.plan)} tools"),
            )
            for task in self.drawn.tasks
        ]

    def files(self) -> Mapping[str, bytes]:
        """The package `mnm`.

        Raises:
            Unavailable: upstream's functions cannot be imported, and no placeholders are wanted.
        """
        if self._stub_tools:
            return placeholder_files(self.tools)
        missing = missing_packages(self.root, self._python)
        if missing:
            raise Unavailable(
                f"upstream's functions need packages that are missing: {', '.join(missing)}",
                hint="--python with an environment that has them, or --stub-tools for typed placeholders",
            )
        return real_files(self.root, self.tools)

    @property
    def interpreter(self) -> Path | None:
        """The one that was named."""
        return self._python

    def facts(self) -> Mapping[str, Any]:
        """The task file, what was drawn from it, and the kind of the tools."""
        return {
            "tasks": self.file.path.name,
            "tasks_sha256": self.file.sha256,
            "tasks_in_file": len(self.file.tasks),
            "sample": self._size,
            "seed_asked": self._seed,
            "seed": self.drawn.seed,
            "ids": [task.id for task in self.drawn.tasks],
            "tools_missing": list(self.drawn.missing),
            "stub_tools": self._stub_tools,
        }

    def score(self, attempt: Attempt) -> dict[str, Any]:
        """Scores of the last code summary; without one, of an empty program, as in the paper."""
        program = attempt.program
        sample = attempt.sample
        first, *others = ([Node(**node) for node in plan] for plan in sample.gold)
        task = PlannedTask(sample.id, sample.request, first, others)
        return score(task, program or "", self.tool_names, summed_up=program is not None)

    def aggregate(self, scores: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """The columns from the scores of one epoch. It needs no checkout, so that reports need none."""
        return aggregate(scores)

    def selfcheck(self, out: Path, *, notice: Callable[[str], None]) -> Sequence[Check]:
        """Score the plans of the task file as if they were programs. Nothing of them runs."""
        return checks(self.file.tasks, self.tool_names, notice)

    def description_text(self, mode: Mode, level: str) -> str:
        """The library in words, or its functions; in tool-use one line a tool (CodeNav paper, figure 10)."""
        if mode is not Mode.CODE_USE:
            outputs = {tool.name: ", ".join(key for key, _ in tool.outputs) for tool in self.tools}
            one = next((tool for tool in self.tools if len(tool.parameters) == len(tool.outputs) == 1), self.tools[0])
            key = one.outputs[0][0]
            imported = f" (`from {PACKAGE}.{MODULE} import …`)" if mode is Mode.NO_SEARCH else ""
            read = [f"output = {one.prototype}", f"{key} = output[{key!r}]"] if imported else [f"<result-1>.{key}"]
            return "\n".join(
                [
                    f"These functions are there{imported}:",
                    *(f"{tool.prototype} -> {outputs[tool.name]}: {tool.description}" for tool in self.tools),
                    "",
                    "Each function returns a dict. Its keys are the names after `->`:",
                    *read,
                ]
            )
        if level in ("none", "names"):
            return "\n".join(self.tool_names) if level == "names" else ""
        if level == "library":
            return (TEXTS / "library.md").read_text(encoding="utf-8")
        names = [tool.prototype if level == "prototypes" else tool.name for tool in self.tools]
        return "\n".join(f"{name}: {tool.description}" for name, tool in zip(names, self.tools, strict=True))

    def guidelines_text(self, mode: Mode) -> str:
        """Our guidelines; those on search and on the program are for agents that have the one or the other."""
        text = (TEXTS / "guidelines.md").read_text(encoding="utf-8")
        if mode is Mode.TOOL_USE:
            return text.partition(SUMMARY)[0] + "- End with the answer once these calls are made."
        return text if mode is Mode.CODE_USE else text.partition(SEARCH)[0]

    def tools_called(self) -> Sequence[Tool]:
        """The functions by name."""
        names = self.tool_names
        return [Tool(name, f"from {PACKAGE}.{MODULE} import {name}", name) for name in names]
