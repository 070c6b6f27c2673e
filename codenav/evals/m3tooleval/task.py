"""The task M3ToolEval: samples from a checkout of code-act, the adapted code base, and two graders."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from codenav.core.errors import NotFound, UsageError
from codenav.evals.checkouts import checkout
from codenav.evals.m3tooleval.adapt import code_base, write
from codenav.evals.m3tooleval.checks import checks
from codenav.evals.m3tooleval.grading import accepts, upstream_accepts
from codenav.evals.m3tooleval.texts import LEVELS, described, guided
from codenav.evals.m3tooleval.upstream import ANOTHER, COMMIT, FOLDER, NEEDS, read
from codenav.evals.task import Attempt, Check, Column, Mode, Sample, Setting

ANSWER = "answer"
"""The variable in which the agent leaves its result."""


class M3ToolEval:
    """82 requests that need several calls of the tools in one of five files; the final answer is graded."""

    name = "m3tooleval"
    columns: Sequence[Column] = (
        Column("accuracy", "answers that have the expected value, compared as values, in %", "accuracy", share=True),
        Column("upstream", "answers that upstream's checker accepts, faults included, in %", "accuracy", share=True),
        Column("variable", f"answers taken from the variable `{ANSWER}`, in % of all samples", share=True),
        Column("text", "answers taken from the text of `done`, in % of all samples", share=True),
        Column("untooled", "correct answers that no call of a tool preceded, in % of all samples", share=True),
    )

    def __init__(
        self,
        data: Path,
        *,
        any_commit: bool = False,
        description: str = "library",
        guidelines: str = "default",
        paths_only: bool = False,
        docstrings: bool = False,
        sandbox: str = "",
    ) -> None:
        """Read the tasks from a checkout of code-act, or from `scripts/eval/m3tooleval` in one.

        Args:
            data: the checkout.
            any_commit: take another commit than the known one.
            description: `none`, `names`, `descriptions`, `prototypes`, `library`, or the path of a file.
            guidelines: `default`, `none`, or the path of a file.
            paths_only: describe the library by its file paths alone.
            docstrings: give the functions upstream's descriptions as docstrings; upstream's functions have none.
            sandbox: the backend in which upstream's modules are imported. Empty: the configured one.

        Raises:
            NotFound: a file is missing.
            UsageError: the commit is another one, or the tasks cannot be imported.
            SandboxUnavailable: no sandbox works here.
        """
        found = checkout(data, needs=NEEDS, folder=FOLDER, commit=COMMIT, any_commit=any_commit)
        self._root, self._commit = found.root, found.commit
        self._sandbox = sandbox
        self._domains = read(found.root, backend=sandbox)
        self._description, self._guidelines = description, guidelines
        self._paths_only, self._docstrings = paths_only, docstrings

    def samples(self) -> Sequence[Sample]:
        """All samples; `gold` holds the expected result as Python writes it, and its type."""
        return self._samples

    @cached_property
    def _samples(self) -> list[Sample]:
        made = [
            Sample(
                id=re.sub(r"[^\w.:-]", "_", row.name.replace("/", ":"), flags=re.ASCII),
                request=row.instruction,
                gold={"value": row.expected, "type": row.type},
                group=domain.name,
                facts={"name": row.name},
            )
            for domain in self._domains
            for row in domain.tasks
        ]
        if len({sample.id for sample in made}) < len(made):
            raise UsageError("two tasks have the same name", hint=ANOTHER)
        return made

    def setting(self, mode: Mode, out: Path) -> Setting:
        """Write the package `m3eval` below `out`, and describe it."""
        folder = out / self.name
        write(code_base(self._domains, docstrings=self._docstrings), folder)
        description, guidelines = self._described(mode), self._guided(mode)
        return Setting(
            on=[folder],
            description="\n\n".join(part for part in (description, guidelines) if part),
            read=[ANSWER],
            facts={
                "commit": self._commit,
                "description": self._description if mode is Mode.CODE_USE else "all tools",
                "description_characters": len(description),
                "guidelines": self._guidelines,
                "paths_only": self._paths_only,
                "docstrings": self._docstrings,
            },
        )

    def score(self, attempt: Attempt) -> dict[str, Any]:
        """Grade the variable `answer` if it is there and not None, else the text of `done`.

        What did not end with `done` is wrong.
        """
        expected = ast.literal_eval(attempt.sample.gold["value"])
        done = attempt.result.status.value == "done"
        held = attempt.values.get(ANSWER)
        graded = ("text" if held is None else "variable") if done else "nothing"
        answer = attempt.result.answer if held is None else held
        correct = done and accepts(answer, expected)
        return {
            "correct": correct,
            "upstream": done and upstream_accepts(str(answer).strip(), expected),
            "graded": graded,
            "tools": len(attempt.calls),
        }

    def aggregate(self, scores: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """The columns, in %."""
        return {
            "accuracy": _percent(score["correct"] for score in scores),
            "upstream": _percent(score["upstream"] for score in scores),
            "variable": _percent(score["graded"] == "variable" for score in scores),
            "text": _percent(score["graded"] == "text" for score in scores),
            "untooled": _percent(score["correct"] and not score["tools"] for score in scores),
        }

    def selfcheck(self, out: Path, *, notice: Callable[[str], None]) -> Sequence[Check]:
        """Build all tasks again with the adapted tools, and put the expected results to both graders."""
        return checks(
            self._root, self._domains, out, known=self._commit == COMMIT, backend=self._sandbox, notice=notice
        )

    def _described(self, mode: Mode) -> str:
        if self._description not in LEVELS:
            return _file(self._description, "description")
        return described(self._domains, mode, self._description, paths_only=self._paths_only)

    def _guided(self, mode: Mode) -> str:
        if self._guidelines == "none":
            return ""
        if self._guidelines == "default":
            return guided(self._domains, mode)
        return _file(self._guidelines, "guidelines")


def _file(path: str, option: str) -> str:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        raise NotFound(
            f"--{option} {path}: {error.strerror}", hint=f"--{option} takes one of the levels in --help, or a file"
        ) from None


def _percent(flags: Any) -> float:
    taken = list(flags)
    return 100.0 * sum(map(bool, taken)) / len(taken) if taken else 0.0
