"""The benchmarks as tasks of Inspect: its model, limits, epochs and log; our agent, sandbox and scores.

inspect eval codenav/mnms -T data=mnms -T tasks=test_human_verified_filtered.json --model openai/gpt-5
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.dataset import Sample as InspectSample
from inspect_ai.model import ChatMessage, ModelOutput, get_model
from inspect_ai.scorer import CORRECT, INCORRECT, Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from codenav.core.events import Status
from codenav.environments.formatting import SHOWS
from codenav.episodes.store import EVAL_WORK
from codenav.evals.attempts import World, attempt, checked_samples, unsolved
from codenav.evals.inspect_model import InspectModel
from codenav.evals.registry import has_option, make, scorers
from codenav.evals.results import ERROR, Result
from codenav.evals.scores import over_epochs
from codenav.evals.settings import SAMPLING, completed
from codenav.evals.task import Mode, Sample
from codenav.evals.task import Task as Benchmark
from codenav.session.api import index
from codenav.session.session import Session

PREFIX = "codenav/"
RESULT = "codenav:result"
"""The key in a sample's store under which the line of our own results is kept."""


def benchmark(
    name: str,
    data: str,
    *,
    mode: str = "code-use",
    shows: str = SHOWS[0],
    sandbox: str | None = None,
    python: str | None = None,
    max_steps: int | None = None,
    max_seconds: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Task:
    """A benchmark as a task of Inspect.

    Args:
        name: as in `codenav eval run NAME`.
        data: checkout of the benchmark's repository.
        mode: `code-use` or `tool-use`.
        shows: content of search results.
        sandbox: the backend that contains the code; Inspect's own sandboxes are not used.
        python: the interpreter that runs the code.
        max_steps: actions of an episode. Default: the configured limit.
        max_seconds: wall clock of an episode. Default: the configured limit.
        options: keywords of the benchmark's factory.
    """
    made = make(name, data, {**(options or {}), **_accepted(name, "python", python)})
    keywords = completed({"sandbox": sandbox, "python": python})
    given = {"steps": max_steps, "seconds": max_seconds}
    limits = {key: value for key, value in given.items() if value is not None}
    keywords["limits"] = replace(keywords["limits"], **limits)
    samples = {sample.id: sample for sample in checked_samples(made.samples())}
    worlds = _Worlds(made, Mode(mode), shows, keywords)
    return Task(
        dataset=MemoryDataset([_sample(one) for one in samples.values()], name=name),
        solver=_agent(worlds, samples),
        scorer=_scorer(name, made, samples),
        # One sample without a model is no reason to lose the others: it is an error in the log, and not solved.
        fail_on_error=False,
        score_on_error=True,
        metadata={"codenav": {"benchmark": name, "mode": mode, "shows": shows, "sampling": dict(SAMPLING)}},
    )


def _accepted(name: str, option: str, value: Any) -> dict[str, Any]:
    return {option: value} if value is not None and has_option(name, option) else {}


def _sample(sample: Sample) -> InspectSample:
    return InspectSample(
        id=sample.id,
        input=sample.request,
        # For readers of the log. Neither the agent nor a sandbox gets it.
        target=json.dumps(sample.gold, ensure_ascii=False, default=str),
        metadata={"group": sample.group, **sample.facts},
    )


class _Worlds:
    """The world of a task's attempts, made at the first one and removed when the process ends."""

    def __init__(self, task: Benchmark, mode: Mode, shows: str, keywords: dict[str, Any]) -> None:
        self._task, self._mode, self._shows, self._keywords = task, mode, shows, keywords
        self._lock = threading.Lock()
        self._made: World | None = None

    def get(self) -> World:
        """Return the world. Concurrent callers wait for the first one, which builds the index."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
        return self._made

    def _make(self) -> World:
        with ExitStack() as opening:
            folder = Path(tempfile.mkdtemp(prefix="codenav-inspect-"))
            opening.callback(shutil.rmtree, folder, ignore_errors=True)
            setting = self._task.setting(self._mode, folder / "code")
            python = self._keywords.get("python") or setting.python
            indexes = [opening.enter_context(index(path, python=python)) for path in setting.on]
            atexit.register(opening.pop_all().close)
        return World(
            task=self._task,
            mode=self._mode,
            setting=setting,
            on=indexes,
            keywords=self._keywords,
            work=folder / EVAL_WORK,
            shows=self._shows,
        )


def _agent(worlds: _Worlds, samples: Mapping[str, Sample]) -> Solver:
    @solver(name="codenav_agent")
    def codenav_agent() -> Solver:
        """The agent of codenav, asking Inspect's model."""

        async def solve(state: TaskState, generate: Generate) -> TaskState:
            def asked(conversation: list[ChatMessage]) -> None:
                state.messages = conversation

            model = InspectModel(get_model(), asked)
            sessions: list[Session] = []
            run = partial(_attempted, worlds, samples[str(state.sample_id)], state.epoch, model, sessions.append)
            try:
                result = await anyio.to_thread.run_sync(run, abandon_on_cancel=True)
            except BaseException:
                # A thread cannot be stopped from outside; the session that works in it can.
                for session in sessions:
                    session.cancel()
                raise
            state.store.set(RESULT, result.to_dict() if result else {"status": ERROR})
            if result is not None:
                state.output = ModelOutput.from_content(model.name, result.answer or result.reason)
            if model.ended_by is not None:
                raise model.ended_by
            if result is None or result.status == ERROR:
                raise RuntimeError(result.reason if result else "the episode was interrupted")
            state.completed = True
            return state

        return solve

    made: Solver = codenav_agent()
    return made


def _attempted(
    worlds: _Worlds, sample: Sample, epoch: int, model: InspectModel, started: Callable[[Session], None]
) -> Result | None:
    return attempt(replace(worlds.get(), model=lambda sample: model), sample, epoch, started)


def _scorer(name: str, benchmark: Benchmark, samples: Mapping[str, Sample]) -> Scorer:
    @metric(name="table", scores="unreduced")
    def table() -> Metric:
        """The columns of the benchmark, as `codenav eval run` prints them: means over epochs, and their spread."""

        def compute(scores: list[SampleScore]) -> Value:
            return table_of(name, [score.score.metadata or {} for score in scores])

        return compute

    @scorer(name="codenav_scores", metrics=[table()])
    def codenav_scores() -> Scorer:
        """The scores of an attempt, made from the same episode by the same scorer as in `codenav eval run`."""

        async def score(state: TaskState, target: Target) -> Score:
            line = state.store.get(RESULT)
            if line is None or line["status"] == ERROR:
                # An error, or a limit of Inspect's that ended the sample from outside, counts as having done nothing.
                result = _nothing(benchmark, samples[str(state.sample_id)], state.epoch, line or {})
            else:
                result = Result.from_dict(line)
            return Score(
                value=CORRECT if result.scores.get("correct") is True else INCORRECT,
                answer=result.answer,
                explanation=result.program or result.reason,
                metadata={"epoch": result.epoch, "status": result.status, "scores": dict(result.scores)},
            )

        return score

    made: Scorer = codenav_scores()
    return made


def _nothing(benchmark: Benchmark, sample: Sample, epoch: int, line: Mapping[str, Any]) -> Result:
    status, reason = line.get("status", Status.LIMIT.value), line.get("reason", "a limit of Inspect's")
    return Result(sample.id, epoch, status, unsolved(benchmark, sample), reason=reason)


def table_of(name: str, rows: list[dict[str, Any]]) -> dict[str, float]:
    """The columns of a benchmark from the metadata of scores: means over epochs, `±` two standard deviations."""
    benchmark_class = scorers()[name]
    by_epoch: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        if "scores" in row:
            by_epoch.setdefault(row["epoch"], []).append(row["scores"])
    tables = [benchmark_class.aggregate(scores) for _, scores in sorted(by_epoch.items())]
    found: dict[str, float] = {}
    for column in tables[0] if tables else ():
        mean, spread = over_epochs([table[column] for table in tables])
        found[column] = mean
        if spread is not None:
            found[f"{column} ±"] = spread
    return found


def m3tooleval(
    data: str,
    mode: str = "code-use",
    description: str = "library",
    guidelines: str = "default",
    shows: str = SHOWS[0],
    paths_only: bool = False,
    docstrings: bool = False,
    any_commit: bool = False,
    sandbox: str | None = None,
    python: str | None = None,
    max_steps: int | None = None,
    max_seconds: float | None = None,
) -> Task:
    """82 tasks in five domains; scored is the answer."""
    own = {"paths_only": paths_only or None, "docstrings": docstrings or None}
    return _task("m3tooleval", own, **_common(locals()))


def api_bank(
    data: str,
    prepared: str | None = None,
    mode: str = "code-use",
    description: str = "library",
    guidelines: str = "default",
    shows: str = SHOWS[0],
    any_commit: bool = False,
    sandbox: str | None = None,
    python: str | None = None,
    max_steps: int | None = None,
    max_seconds: float | None = None,
) -> Task:
    """186 dialogues; scored are the APIs that were called. `prepared` is a folder made by `codenav eval prepare`."""
    return _task("api-bank", {"prepared": Path(prepared) if prepared else None}, **_common(locals()))


def mnms(
    data: str,
    tasks: str,
    sample: int | None = None,
    seed: int = 0,
    stub_tools: bool = False,
    mode: str = "code-use",
    description: str = "library",
    guidelines: str = "default",
    shows: str = SHOWS[0],
    any_commit: bool = False,
    sandbox: str | None = None,
    python: str | None = None,
    max_steps: int | None = None,
    max_seconds: float | None = None,
) -> Task:
    """Multi-modal tasks; scored are the tools of the program. `tasks` is a task file, `sample` the number to draw."""
    own = {"tasks": tasks, "sample": sample, "seed": seed, "stub_tools": stub_tools or None}
    return _task("mnms", own, **_common(locals()))


_COMMON = (
    "data", "mode", "description", "guidelines", "shows", "any_commit", "sandbox", "python", "max_steps", "max_seconds"
)  # fmt: skip


def _common(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in _COMMON}


def _task(name: str, own: Mapping[str, Any], **common: Any) -> Task:
    shared = {key: common.pop(key) or None for key in ("description", "guidelines", "any_commit")}
    data = common.pop("data")
    # A number or a word of YAML is what `-T` makes of such texts.
    shared = {key: str(value) if key != "any_commit" and value is not None else value for key, value in shared.items()}
    return benchmark(name, str(data), options={**own, **shared}, **common)


def registered(function: Callable[..., Task]) -> Callable[..., Task]:
    """The function as a task of Inspect, with the name `codenav/…`.

    Inspect puts the package's name before it only where the package is installed under its own name, or not in
    development.
    """
    made: Callable[..., Task] = task(function)
    info = getattr(made, "__registry_info__", None)
    if info is not None and not info.name.startswith(PREFIX):
        made = task(name=f"{PREFIX}{function.__name__}")(function)
    return made
