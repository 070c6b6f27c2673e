"""The m&m's task: requests that one to three calls of 33 tools answer (Ma et al., 2024)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from codenav.core.errors import Unavailable, UsageError
from codenav.episodes.verify import last_summary
from codenav.evals.checkouts import checkout
from codenav.evals.mnms.adapt import missing_packages, write_placeholders, write_real
from codenav.evals.mnms.descriptions import description as described
from codenav.evals.mnms.plans import WHERE, Node, PlannedTask, read_tasks
from codenav.evals.mnms.sampling import draw
from codenav.evals.mnms.scoring import COLUMNS, aggregate, score
from codenav.evals.mnms.selfcheck import checks
from codenav.evals.mnms.tools import COMMIT, FOLDER, NEEDS, read_tools
from codenav.evals.task import Attempt, Check, Mode, Sample, Setting

KINDS = {1: "one tool", 2: "two tools", 3: "three tools"}


class Mnms:
    """Tasks of m&m's, scored by the calls in the code summary."""

    name = "mnms"
    columns = COLUMNS

    def __init__(
        self,
        data: Path,
        *,
        any_commit: bool = False,
        description: str = "library",
        guidelines: str = "default",
        shows: str = "shorter",
        paths_only: bool = False,
        tasks: str | Path | None = None,
        sample: int = 0,
        seed: int = 0,
        stub_tools: bool = False,
        python: str | Path | None = None,
    ) -> None:
        """Read the checkout and the task file. Nothing is written.

        Args:
            data: a checkout of RAIVNLab/mnms, or the folder `mnms` in it.
            description: `none`, `names`, `descriptions`, `prototypes`, `library`, or the path of a file.
            guidelines: `default`, `none`, or the path of a file.
            shows: the content of a block that a search shows; the runner sees to it.
            paths_only: no level of m&m's, whose tools are all in one file.
            tasks: the task file, relative to the current folder or to `data`.
            sample: tasks to draw; 0 means all.
            seed: of the draw. It is raised until every tool of the file is drawn.
            stub_tools: placeholders in place of upstream's functions, which need models, packages and keys.
            python: the interpreter whose packages upstream's functions need.

        Raises:
            NotFound, UsageError: something named does not exist, or is not in the format.
        """
        if paths_only:
            raise UsageError("m&m's has its tools in one file: --paths-only says nothing", hint="--description none")
        if sample < 0:
            raise UsageError("a sample of less than 0 tasks", hint="--sample 200, or 0 for all")
        data = Path(data)
        self._checkout = checkout(data, needs=NEEDS, folder=FOLDER, commit=COMMIT, any_commit=any_commit)
        self.tools = read_tools(self._checkout.root)
        self.tool_names = [tool.name for tool in self.tools]
        if tasks is None:
            raise UsageError("no task file is named", hint=WHERE)
        path = Path(tasks).expanduser()
        if not path.is_absolute() and not path.exists() and (data / path).exists():
            path = data / path
        self.file = read_tasks(path, self.tool_names)
        self.drawn = draw(self.file.tasks, sample, seed)
        self._tasks = {task.id: task for task in self.drawn.tasks}
        self._level, self._guidelines = str(description), str(guidelines)
        self._stub_tools, self._python = stub_tools, Path(python) if python else None
        self._size, self._seed = sample, seed
        # Files that are named are read now, so that a wrong name ends here and not after the index was built.
        for mode in Mode:
            self._described(mode)

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

    def setting(self, mode: Mode, out: Path) -> Setting:
        """Write the functions below `out`.

        Raises:
            Unavailable: upstream's functions cannot be imported, and no placeholders are wanted.
        """
        root = self._checkout.root
        if self._stub_tools:
            folder = write_placeholders(out, self.tools)
        else:
            missing = missing_packages(root, self._python)
            if missing:
                raise Unavailable(
                    f"upstream's functions need packages that are missing: {', '.join(missing)}",
                    hint="--python with an environment that has them, or --stub-tools for typed placeholders",
                )
            folder = write_real(root, out, self.tools)
        facts = {
            "commit": self._checkout.commit,
            "tasks": self.file.path.name,
            "tasks_sha256": self.file.sha256,
            "tasks_in_file": len(self.file.tasks),
            "sample": self._size,
            "seed_asked": self._seed,
            "seed": self.drawn.seed,
            "ids": [task.id for task in self.drawn.tasks],
            "tools_missing": list(self.drawn.missing),
            "description": "full" if mode is Mode.TOOL_USE else self._level,
            "guidelines": self._guidelines,
            "stub_tools": self._stub_tools,
        }
        return Setting(on=[folder], description=self._described(mode), python=self._python, facts=facts)

    def score(self, attempt: Attempt) -> dict[str, Any]:
        """Scores of the last code summary; without one, of an empty program, as in the paper."""
        summary = last_summary(attempt.result.steps)
        program = summary.code if summary else ""
        return score(self._task(attempt.sample), program, self.tool_names, summed_up=summary is not None)

    def aggregate(self, scores: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """The columns from the scores of one epoch. It needs no checkout, so that reports need none."""
        return aggregate(scores)

    def selfcheck(self, out: Path, *, notice: Callable[[str], None]) -> Sequence[Check]:
        """Score the plans of the task file as if they were programs. Nothing of them runs."""
        return checks(self.file.tasks, self.tool_names, notice)

    def _described(self, mode: Mode) -> str:
        return described(mode, self._level, self._guidelines, self.tools)

    def _task(self, sample: Sample) -> PlannedTask:
        known = self._tasks.get(sample.id)
        if known is not None:
            return known
        plans = [[Node(**node) for node in plan] for plan in sample.gold]
        return PlannedTask(sample.id, sample.request, plans[0], plans[1:])
