"""The benchmarks as tasks of Inspect: its model, limits, epochs and log; our agent, sandbox and scores.

inspect eval codenav/mnms -T data=mnms -T tasks=test_human_verified_filtered.json --model openai/gpt-5
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
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
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import CORRECT, INCORRECT, Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from codenav.core.config import load_config
from codenav.core.events import Status
from codenav.episodes.store import EVAL_WORK
from codenav.evals.attempts import World, attempt, checked_samples, unsolved
from codenav.evals.inspect_model import InspectModel
from codenav.evals.registry import make
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
    rows = [
        # The expected result is for readers of the log. Neither the agent nor a sandbox gets it.
        InspectSample(
            id=one.id,
            input=one.request,
            target=json.dumps(one.gold, ensure_ascii=False, default=str),
            metadata={"group": one.group, **one.facts},
        )
        for one in samples.values()
    ]
    return Task(
        dataset=MemoryDataset(rows, name=name),
        solver=_agent(_world(made, settings), samples),
        scorer=_scorer(made, samples),
        # One sample without a model is no reason to lose the others: it is an error in the log, and not solved.
        fail_on_error=False,
        score_on_error=True,
        metadata={"codenav": facts},
    )


def _world(task: Benchmark, settings: Settings) -> World:
    """The world of a task's attempts, which is removed when the process ends."""
    with ExitStack() as opening:
        folder = Path(tempfile.mkdtemp(prefix="codenav-inspect-"))
        opening.callback(shutil.rmtree, folder, ignore_errors=True)
        setting = task.setting(settings.mode, folder / "code")
        world = World.open(task, settings, setting, folder / EVAL_WORK, opening)
        atexit.register(opening.pop_all().close)
    return world


def _agent(world: World, samples: Mapping[str, Sample]) -> Solver:
    @solver(name="codenav_agent")
    def codenav_agent() -> Solver:
        """The agent of codenav, asking Inspect's model."""

        async def solve(state: TaskState, generate: Generate) -> TaskState:
            model = InspectModel(get_model(), lambda conversation: setattr(state, "messages", conversation))
            sessions: list[Session] = []
            ours = replace(world, settings=replace(world.settings, model=model))
            run = partial(attempt, ours, samples[str(state.sample_id)], state.epoch, sessions.append)
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


def _scorer(benchmark: Benchmark, samples: Mapping[str, Sample]) -> Scorer:
    @metric(name="table", scores="unreduced")
    def table() -> Metric:
        """The columns of the benchmark, as `codenav eval run` prints them: means over epochs, and their spread."""

        def compute(scores: list[SampleScore]) -> Value:
            by_epoch: dict[int, list[Mapping[str, Any]]] = {}
            for row in (score.score.metadata or {} for score in scores):
                if "scores" in row:
                    by_epoch.setdefault(row["epoch"], []).append(row["scores"])
            tables = [benchmark.aggregate(rows) for _, rows in sorted(by_epoch.items())]
            columns = {column: over_epochs([table[column] for table in tables]) for column in (*tables, {})[0]}
            means = {column: mean for column, (mean, _) in columns.items()}
            return means | {f"{column} ±": spread for column, (_, spread) in columns.items() if spread is not None}

        return compute

    @scorer(name="codenav_scores", metrics=[table()])
    def codenav_scores() -> Scorer:
        """The scores of an attempt, made from the same episode by the same scorer as in `codenav eval run`."""

        async def score(state: TaskState, target: Target) -> Score:
            line = state.store.get(RESULT)
            if line is None or line["status"] == ERROR:
                # An error, or a limit of Inspect's that ended the sample from outside, counts as having done nothing.
                ended = line or {"status": Status.LIMIT.value, "reason": "a limit of Inspect's"}
                scores = unsolved(benchmark, samples[str(state.sample_id)])
                result = Result.from_dict({"id": str(state.sample_id), "epoch": state.epoch, **ended, "scores": scores})
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
