"""The benchmarks as tasks of Inspect: its model, limits, epochs and log; our agent, sandbox and scores.

inspect eval codenav/mnms -T data=mnms -T tasks=test_human_verified_filtered.json --model openai/gpt-5
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
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

from codenav.core.config import load_config
from codenav.core.events import Status
from codenav.episodes.store import EVAL_WORK
from codenav.evals.attempts import World, attempt, checked_samples, unsolved
from codenav.evals.inspect_model import InspectModel
from codenav.evals.registry import make, scorer_of
from codenav.evals.results import ERROR, Result
from codenav.evals.scores import over_epochs
from codenav.evals.settings import SAMPLING, Settings
from codenav.evals.task import Sample
from codenav.evals.task import Task as Benchmark
from codenav.session.session import Session

RESULT = "codenav:result"
"""The key in a sample's store under which the line of our own results is kept."""
_TEXTS = ("data", "description", "guidelines", "tasks", "prepared", "python")
"""Options that are texts, also where `-T` makes a number or a word of YAML of them."""


def benchmark(name: str, data: str, **options: Any) -> Task:
    """A benchmark as a task of Inspect.

    `name` and `options` are those of `codenav eval run`; `data` is a checkout of the benchmark's repository.

    Raises:
        UsageError: the benchmark has no such option, or a value is invalid.
    """
    given: dict[str, Any] = {key: value for key, value in options.items() if value not in (None, False)}
    given |= {key: str(given[key]) for key in _TEXTS if key in given}
    limits: dict[str, Any] = {key: given.pop(f"max_{key}") for key in ("steps", "seconds") if f"max_{key}" in given}
    own: dict[str, Any] = {key: given.pop(key) for key in ("mode", "shows", "sandbox", "python") if key in given}
    made = make(name, str(data), given, python=own.get("python"), sandbox=own.get("sandbox"))
    settings = Settings.of({**own, "limits": load_config().limits(**limits)})
    samples = {sample.id: sample for sample in checked_samples(made.samples())}
    facts = {"benchmark": name, "mode": settings.mode.value, "shows": settings.shows, "sampling": dict(SAMPLING)}
    return Task(
        dataset=MemoryDataset([_sample(one) for one in samples.values()], name=name),
        solver=_agent(_LazyWorld(made, settings), samples),
        scorer=_scorer(name, made, samples),
        # One sample without a model is no reason to lose the others: it is an error in the log, and not solved.
        fail_on_error=False,
        score_on_error=True,
        metadata={"codenav": facts},
    )


def _sample(sample: Sample) -> InspectSample:
    return InspectSample(
        id=sample.id,
        input=sample.request,
        # For readers of the log. Neither the agent nor a sandbox gets it.
        target=json.dumps(sample.gold, ensure_ascii=False, default=str),
        metadata={"group": sample.group, **sample.facts},
    )


class _LazyWorld:
    """The world of a task's attempts, made at the first one and removed when the process ends."""

    def __init__(self, task: Benchmark, settings: Settings) -> None:
        self._task, self._settings = task, settings
        self._lock = threading.Lock()
        self._made: World | None = None

    def get(self) -> World:
        """Return the world. Concurrent callers wait for the first one, which builds the index."""
        with self._lock:
            if self._made is None:
                with ExitStack() as opening:
                    folder = Path(tempfile.mkdtemp(prefix="codenav-inspect-"))
                    opening.callback(shutil.rmtree, folder, ignore_errors=True)
                    setting = self._task.setting(self._settings.mode, folder / "code")
                    self._made = World.open(self._task, self._settings, setting, folder / EVAL_WORK, opening)
                    atexit.register(opening.pop_all().close)
        return self._made


def _agent(world: _LazyWorld, samples: Mapping[str, Sample]) -> Solver:
    @solver(name="codenav_agent")
    def codenav_agent() -> Solver:
        """The agent of codenav, asking Inspect's model."""

        async def solve(state: TaskState, generate: Generate) -> TaskState:
            def asked(conversation: list[ChatMessage]) -> None:
                state.messages = conversation

            model = InspectModel(get_model(), asked)
            sessions: list[Session] = []
            run = partial(_attempted, world, samples[str(state.sample_id)], state.epoch, model, sessions.append)
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
    world: _LazyWorld, sample: Sample, epoch: int, model: InspectModel, started: Callable[[Session], None]
) -> Result | None:
    shared = world.get()
    return attempt(replace(shared, settings=replace(shared.settings, model=model)), sample, epoch, started)


def _scorer(name: str, benchmark: Benchmark, samples: Mapping[str, Sample]) -> Scorer:
    @metric(name="table", scores="unreduced")
    def table() -> Metric:
        """The columns of the benchmark, as `codenav eval run` prints them: means over epochs, and their spread."""

        def compute(scores: list[SampleScore]) -> Value:
            return _table(name, [score.score.metadata or {} for score in scores])

        return compute

    @scorer(name="codenav_scores", metrics=[table()])
    def codenav_scores() -> Scorer:
        """The scores of an attempt, made from the same episode by the same scorer as in `codenav eval run`."""

        async def score(state: TaskState, target: Target) -> Score:
            line = state.store.get(RESULT)
            if line is None or line["status"] == ERROR:
                # An error, or a limit of Inspect's that ended the sample from outside, counts as having done nothing.
                sample, ended = samples[str(state.sample_id)], line or {"status": Status.LIMIT.value}
                reason = ended.get("reason", "a limit of Inspect's")
                result = Result(sample.id, state.epoch, ended["status"], unsolved(benchmark, sample), reason=reason)
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


def _table(name: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The columns of a benchmark from the metadata of scores: means over epochs, `±` two standard deviations."""
    benchmark = scorer_of(name)
    assert benchmark is not None
    by_epoch: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        if "scores" in row:
            by_epoch.setdefault(row["epoch"], []).append(row["scores"])
    tables = [benchmark.aggregate(scores) for _, scores in sorted(by_epoch.items())]
    found: dict[str, float] = {}
    for column in tables[0] if tables else ():
        mean, spread = over_epochs([table[column] for table in tables])
        found[column] = mean
        if spread is not None:
            found[f"{column} ±"] = spread
    return found


def _registered(name: str) -> Callable[..., Task]:
    """A benchmark as a task of Inspect that is called `codenav/…`.

    Inspect puts the package's name before it only where the package is installed under its own name, or not in
    development.
    """

    def made(data: str, **options: Any) -> Task:
        return benchmark(name, data, **options)

    made.__name__ = name.replace("-", "_")
    found: Callable[..., Task] = task(made)
    info = getattr(found, "__registry_info__", None)
    if info is not None and not info.name.startswith("codenav/"):
        found = task(name=f"codenav/{made.__name__}")(made)
    return found


m3tooleval = _registered("m3tooleval")
api_bank = _registered("api-bank")
mnms = _registered("mnms")

__all__ = ["api_bank", "m3tooleval", "mnms"]
