"""The task API-Bank: samples from a checkout of DAMO-ConvAI, the texts for the agent, and the scores of calls."""

from __future__ import annotations

import tempfile
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any

from codenav.core.errors import UsageError
from codenav.evals.api_bank.code_base import Api, code_base, read_apis
from codenav.evals.api_bank.dialogues import FOLDER, Dialogue, dialogues
from codenav.evals.api_bank.environment import FOLDER as ENVIRONMENT
from codenav.evals.api_bank.environment import make, prepared_python
from codenav.evals.api_bank.replays import DATA, GRADER, RENAMED, Replays, checks, state_of
from codenav.evals.benchmark import Benchmark, write_files
from codenav.evals.scores import after_last_error, match, match_scores, mean_percent, sum_scores
from codenav.evals.task import Attempt, Check, Column, Mode, Sample, Tool

UNGRADABLE: Mapping[str, str] = {
    "CancelTimedSwitch": RENAMED,
    "DeleteMeeting": GRADER,
    "QueryScene": DATA,
    "TimedSwitch": RENAMED,
}
"""APIs whose grader refuses every expected call of the known commit, and the cause: 13 calls, which no agent can make
so that they are accepted. They count by name, not in the columns `accepted` and `upstream`."""
_RECIPES = {"accepted": "ours", "upstream": "upstream"}
"""Columns of graded calls, and the recipes of `Replays.grade`."""

_LIBRARY = (
    "The package `apis` is a library of APIs. Each API is a class in a file of its own, imported as "
    "`from apis import NAME`; an object of it, made without arguments, has the data of the conversation's service."
)
_GUIDELINES = (
    "Use an API by making an object of its class without arguments and calling its method `call`, and no other "
    "method: `GetToday().call()`. It returns a dictionary: `output` has the result, `exception` the reason of a "
    "failure.",
    "Every request can be answered with these APIs. Define no APIs of your own, and change none.",
    "Make only the calls that the last message of the user needs. What the conversation already tells, such as a "
    "token, need not be asked for again.",
)


class ApiBank(Benchmark):
    """Dialogues whose last request is answered with calls of 52 APIs; the names of the called APIs are scored."""

    name = "api-bank"
    columns = (
        Column("precision", "calls of expected APIs among all, mean over samples, in %", "P"),
        Column("recall", "expected calls that were made, mean over samples, in %", "R"),
        Column("f1", "harmonic mean of both for each sample, mean over samples, in %", "F1"),
        Column("f1_pooled", "F1 of all calls of all samples together, in %"),
        Column("late_f1", "f1 of the calls made after the last step that failed, in %"),
        Column("accepted", "gradable expected calls that upstream's graders accept in the sample's state, in %"),
        Column("upstream", "the same by upstream's recipe, faults included: each call alone, arguments as text, in %"),
    )
    known_commit = "483554eae102996f5ec1f4feab4e78ef29c2a394"
    folder = "api-bank"
    needs = ("apis/api.py", "init_database", FOLDER)

    def __init__(
        self,
        data: Path,
        *,
        any_commit: bool = False,
        description: str = "library",
        guidelines: str = "default",
        prepared: str | Path | None = None,
        python: str | Path | None = None,
        sandbox: str = "",
    ) -> None:
        """Read the dialogues from a checkout of DAMO-ConvAI, or from its folder `api-bank`.

        Args:
            data, any_commit, description, guidelines: as for `Benchmark`.
            prepared: the folder that `prepare` made. None: the caller's Python, in which `SearchEngine` needs
                rank_bm25, numpy and nltk.
            python: the Python of which `prepare` makes the environment (None: the first that fits), and which replays
                calls where nothing is prepared.
            sandbox: backend of the sandbox that replays calls. Empty: that of the attempt, else the configured one.

        Raises:
            NotFound: a file is missing.
            UsageError: the commit is another one, or a file is not as expected.
        """
        super().__init__(data, any_commit=any_commit, description=description, guidelines=guidelines)
        self._python, self._backend = python, sandbox
        self._prepared = prepared_python(Path(prepared)) if prepared else None
        self._all = dialogues(self.root)
        self._own_grader: Replays | None = None
        self._opening = threading.Lock()

    @cached_property
    def apis(self) -> Sequence[Api]:
        """The APIs as upstream describes them."""
        return read_apis(self.root)

    @property
    def dialogues(self) -> Sequence[Dialogue]:
        """The dialogues that are samples."""
        return [dialogue for dialogue in self._all if dialogue.gold]

    def samples(self) -> Sequence[Sample]:
        """The dialogues in which an API is called after the last message of the user; `gold` has those calls."""
        found = [dialogue.sample() for dialogue in self.dialogues]
        if not found:
            raise UsageError(f"no dialogue in {self.root / FOLDER} is a sample", hint="take a whole checkout")
        return found

    def files(self) -> Mapping[str, bytes]:
        """The package `apis`."""
        return code_base(self.root, self.apis, [call for one in self._all for call in [*one.earlier, *one.gold]])

    def facts(self) -> Mapping[str, Any]:
        """The environment of the APIs."""
        return {"environment": "prepared" if self._prepared else "the caller's"}

    @property
    def interpreter(self) -> Path | None:
        """The prepared environment."""
        return self._prepared

    def prepare(self, out: Path, *, notice: Callable[[str], None]) -> bool:
        """Make the environment of the APIs in `out`.

        Raises:
            NotFound, UsageError: the Python that was given does not fit.
            Unavailable: there is no fitting Python, or its packages cannot be installed.
        """
        out.mkdir(parents=True, exist_ok=True)
        make(out / ENVIRONMENT, python=self._python, notice=notice)
        return True

    def score(self, attempt: Attempt) -> dict[str, Any]:
        """Compare the calls with the expected ones: by name, and by what upstream's graders say of them.

        `correct` is F1 = 100 by name: the expected APIs were called, each as often as expected, and no others.
        """
        gold = attempt.sample.gold
        expected = [call["name"] for call in gold]
        found = match([call.name for call in attempt.calls], expected)
        late = match([call.name for call in after_last_error(attempt.calls)], expected)
        made = [{"name": call.name, "arguments": call.arguments} for call in attempt.calls if call.name in expected]
        verdicts = self._grader(attempt).grade(state_of(attempt.sample), made, gold) if made else {}
        return {
            "correct": found.f1 == 1.0,
            **match_scores(found),
            **match_scores(late, "late_"),
            "gradable": sum(name not in UNGRADABLE for name in expected),
            **{key: _accepted(expected, verdicts.get(recipe, ())) for key, recipe in _RECIPES.items()},
        }

    def aggregate(self, scores: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """The columns, in %."""
        gradable = [score for score in scores if score["gradable"]]
        shares = {key: mean_percent(score[key] / score["gradable"] for score in gradable) for key in _RECIPES}
        return {**sum_scores(scores), **sum_scores(scores, "late_"), **shares}

    def selfcheck(self, out: Path, *, notice: Callable[[str], None]) -> Sequence[Check]:
        """Make the expected calls, with and without recorded answers, and score them."""
        samples = self.samples()
        notice(f"making {sum(len(sample.gold) for sample in samples)} expected calls four times")
        with closing(self._replays(write_files(self.files(), out / "code"), self._backend)) as replays:
            return checks(samples, replays, known=self.commit == self.known_commit)

    def description_text(self, mode: Mode, level: str) -> str:
        """Upstream's own descriptions."""
        if mode is Mode.TOOL_USE:
            return "\n\n".join(["These tools are there:", *(api.text(coded=False) for api in self.apis)])
        if mode is Mode.NO_SEARCH:
            return "\n\n".join([_LIBRARY, *(api.text() for api in self.apis)])
        if level == "none":
            return ""
        if level == "names":
            return f"{_LIBRARY}\nAPIs: {', '.join(api.name for api in self.apis)}"
        names = [api.prototype if level == "prototypes" else api.name for api in self.apis]
        lines = [f"- {name}: {api.description}" for name, api in zip(names, self.apis, strict=True)]
        return "\n".join([_LIBRARY, "All APIs:", *lines])

    def guidelines_text(self, mode: Mode) -> str:
        """Our guidelines; the first one is on code."""
        return "\n".join(["Guidelines:", *(f"- {one}" for one in _GUIDELINES[mode is Mode.TOOL_USE :])])

    def tools_called(self) -> Sequence[Tool]:
        """The APIs by name."""
        return [Tool(api.name, f"from apis import {api.name}", f"{api.name}().call") for api in self.apis]

    def _grader(self, attempt: Attempt) -> Replays:
        """The replays for the attempts of a run, in a sandbox like that of the first one."""
        info = attempt.result.sandbox
        backend, image = self._backend or str(info.get("backend") or ""), str(info.get("image") or "")
        with self._opening:
            if self._own_grader is None:
                # Beside no run folder: what is graded there must not be found by an agent.
                folder = tempfile.TemporaryDirectory(prefix="codenav-api-bank-")
                code = write_files(self.files(), Path(folder.name) / "code")
                self._own_grader = self._replays(code, backend, image)
                weakref.finalize(self, _close, self._own_grader, folder)
            return self._own_grader

    def _replays(self, code: Path, backend: str, image: str = "") -> Replays:
        return Replays(code, python=self._prepared or self._python, backend=backend, image=image)


def _accepted(expected: Sequence[str], verdicts: Sequence[Mapping[str, Any]]) -> int:
    pairs = zip(expected, verdicts, strict=False)
    return sum(bool(verdict["accepted"]) for name, verdict in pairs if name not in UNGRADABLE)


def _close(replays: Replays, folder: tempfile.TemporaryDirectory[str]) -> None:
    replays.close()
    folder.cleanup()
