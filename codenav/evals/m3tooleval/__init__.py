"""The task M3ToolEval: samples from a checkout of code-act, the texts for the agent, and two graders."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from codenav.core.errors import UsageError
from codenav.evals.benchmark import Benchmark
from codenav.evals.m3tooleval.adapt import BROWSER, PACKAGE, code_base, file_of, module_of
from codenav.evals.m3tooleval.grading import accepts, upstream_accepts
from codenav.evals.m3tooleval.selfcheck import checks
from codenav.evals.m3tooleval.upstream import ANOTHER, COMMIT, FOLDER, NEEDS, Domain, read
from codenav.evals.m3tooleval.upstream import Tool as UpstreamTool
from codenav.evals.scores import percent_of
from codenav.evals.task import Attempt, Check, Column, Mode, Sample, Tool

ANSWER = "answer"
"""The variable in which the agent leaves its result."""
LINES: Mapping[str, str] = {
    "message_decoder": "turns hexadecimal into text, reverses texts, undoes a Caesar cipher, and finds the length of "
    "a text and the smallest or largest of some values",
    "dna_sequencer": "counts nucleotides, checks DNA, and converts between DNA, mRNA and amino acids",
    "trade_calculator": "converts prices, computes tariffs and final trade values, and evaluates expressions",
    "travel_itinerary_planning": "finds flights and hotels, and adds up what a trip costs",
    "web_browsing": f"a `{BROWSER}` for the pages of a shop of magical goods and its staff, and a calculator",
}
"""One line on each file, by upstream's module."""
_ONE_FILE = f"The library `{PACKAGE}` has these files. The tools for a request are all in one of them:"
_ONE_FIELD = "The tools are of these fields. Those for a request are all in one of them:"
_SEARCH_GUIDELINE = "Find the file for the request first, then search inside it: (file_path: *{file})."
_BROWSING = (
    f"Browse with a `{BROWSER}` object, made without arguments. Take one action at a time, a click or a scroll: print "
    "what it returns and read it before the next. Write no loops and no clever code for browsing."
)
_GUIDELINES = (
    "A page that says that it shows page m of n has more below as long as m is smaller than n: scroll down.",
    "Use what you have read on a page as it is; nothing has to be parsed.",
)
_ANSWERING = (
    "Once you have the result, bind it alone to a variable named `answer`, as a value of the type that was asked for, "
    "and give the same value in `done`, with no other words."
)
_ANSWERING_CALLS = "Answer with the result alone, as a value of the type that was asked for, with no other words."


class M3ToolEval(Benchmark):
    """82 requests that need several calls of the tools in one of five files; the final answer is graded."""

    name = "m3tooleval"
    columns = (
        Column("accuracy", "answers that have the expected value, compared as values, in %", "accuracy", share=True),
        Column("upstream", "answers that upstream's checker accepts, faults included, in %", "accuracy", share=True),
        Column("variable", f"answers taken from the variable `{ANSWER}`, in % of all samples", share=True),
        Column("text", "answers taken from the text of `done`, in % of all samples", share=True),
        Column("untooled", "correct answers that no call of a tool preceded, in % of all samples", share=True),
    )
    known_commit, folder, needs = COMMIT, FOLDER, NEEDS
    read = (ANSWER,)

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
            data, any_commit, description, guidelines: as for `Benchmark`.
            paths_only: describe the library by its file paths alone.
            docstrings: give the functions upstream's descriptions as docstrings; upstream's functions have none.
            sandbox: the backend in which upstream's modules are imported. Empty: the configured one.

        Raises:
            NotFound: a file is missing.
            UsageError: the commit is another one, or the tasks cannot be imported.
            SandboxUnavailable: no sandbox works here.
        """
        super().__init__(data, any_commit=any_commit, description=description, guidelines=guidelines)
        self._domains = read(self.root, backend=sandbox)
        self._paths_only, self._docstrings, self._sandbox = paths_only, docstrings, sandbox

    def samples(self) -> Sequence[Sample]:
        """All samples; `gold` holds the expected result as Python writes it, and its type."""
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

    def files(self) -> Mapping[str, bytes]:
        """The package `m3eval`."""
        return code_base(self._domains, docstrings=self._docstrings)

    def facts(self) -> Mapping[str, Any]:
        """The options of this benchmark."""
        return {"paths_only": self._paths_only, "docstrings": self._docstrings}

    def score(self, attempt: Attempt) -> dict[str, Any]:
        """Grade the variable `answer` if it is there and not None, else the text of `done`.

        What did not end with `done` is wrong.
        """
        expected = ast.literal_eval(attempt.sample.gold["value"])
        done = attempt.result.status.value == "done"
        held = attempt.values.get(ANSWER)
        answer = attempt.result.answer if held is None else held
        return {
            "correct": done and accepts(answer, expected),
            "upstream": done and upstream_accepts(str(answer).strip(), expected),
            "graded": ("text" if held is None else "variable") if done else "nothing",
            "tools": len(attempt.calls),
        }

    def aggregate(self, scores: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """The columns, in %."""
        return {
            "accuracy": percent_of(score["correct"] for score in scores),
            "upstream": percent_of(score["upstream"] for score in scores),
            "variable": percent_of(score["graded"] == "variable" for score in scores),
            "text": percent_of(score["graded"] == "text" for score in scores),
            "untooled": percent_of(score["correct"] and not score["tools"] for score in scores),
        }

    def selfcheck(self, out: Path, *, notice: Callable[[str], None]) -> Sequence[Check]:
        """Build all tasks again with the adapted tools, and put the expected results to both graders."""
        known = self.commit == self.known_commit
        return checks(self.root, self._domains, out, known=known, backend=self._sandbox, notice=notice)

    def description_text(self, mode: Mode, level: str) -> str:
        """The files, or the tools in them. With `paths_only` the level `library` has file paths alone (table 4)."""
        if mode is Mode.TOOL_USE:
            return "\n".join([_ONE_FIELD, *(_tools_of(one, imports=False) for one in self._domains)])
        if mode is Mode.NO_SEARCH or level in ("descriptions", "prototypes"):
            full = level == "prototypes" or mode is Mode.NO_SEARCH
            return "\n".join([_ONE_FILE, *(_tools_of(one, prototypes=full) for one in self._domains)])
        if level == "none":
            return ""
        lines = []
        for domain in self._domains:
            line = "" if self._paths_only else LINES.get(domain.name, "")
            names = ", ".join(map(_call_name, _own_tools(domain))) if level == "names" else line
            lines.append(f"- {file_of(domain)}" + (f": {names}" if names else ""))
        return "\n".join([_ONE_FILE, *lines])

    def guidelines_text(self, mode: Mode) -> str:
        """Our guidelines, with one on search where there is search, and on code where code is written."""
        search = [_SEARCH_GUIDELINE.format(file=file_of(self._domains[-1]))] if mode is Mode.CODE_USE else []
        coded = [*search, _BROWSING, *_GUIDELINES, _ANSWERING]
        found = [*_GUIDELINES, _ANSWERING_CALLS] if mode is Mode.TOOL_USE else coded
        return "\n".join(["Guidelines:", *(f"- {one}" for one in found)])

    def tools_called(self) -> Sequence[Tool]:
        """All tools of all domains, Python's own ones among them."""
        return list(
            {
                tool.name: tool for domain in self._domains for tool in map(partial(_called, domain), domain.tools)
            }.values()
        )


def _called(domain: Domain, tool: UpstreamTool) -> Tool:
    name = _call_name(tool)
    if not tool.root:
        return Tool(name, "", name)
    made = f"\nbrowser = {BROWSER}()" if tool.kind == "method" else ""
    return Tool(name, f"from {module_of(domain)} import {tool.root}{made}", name)


def _tools_of(domain: Domain, *, prototypes: bool = True, imports: bool = True) -> str:
    """The tools of a file: upstream's descriptions and, with `prototypes`, upstream's signatures.

    Without `imports` the tools are called by name, and Python's own ones are among them.
    """
    own = _own_tools(domain) if imports else domain.tools
    roots = ", ".join(dict.fromkeys(tool.root for tool in own))
    lines = [f"\n{file_of(domain)}", f"from {module_of(domain)} import {roots}"] if imports else [f"\n{domain.name}"]
    if imports and any(tool.kind == "method" for tool in own):
        lines.append(f"browser = {BROWSER}()")
    for number, tool in enumerate(own, 1):
        text = "\n    ".join(tool.description.strip().splitlines())
        lines.append(f"[{number}] {_call_name(tool)}: {text}")
        if prototypes:
            lines.append(f"    Signature: {'browser.' if tool.kind == 'method' else ''}{tool.signature}")
    return "\n".join(lines)


def _own_tools(domain: Domain) -> list[UpstreamTool]:
    """The tools that the domain's file defines; the others are Python's own `max`, `min` and `sum`."""
    return [tool for tool in domain.tools if tool.root]


def _call_name(tool: UpstreamTool) -> str:
    return f"browser.{tool.name}" if tool.kind == "method" else tool.name
