"""The benchmarks as tasks of Inspect: its model, limits, epochs and log; our agent, sandbox and scores.

inspect eval codenav/mnms -T data=mnms -T tasks=test_human_verified_filtered.json --model openai/gpt-5
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.dataset import Sample as InspectSample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import CORRECT, INCORRECT, Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError

from codenav.agents.models.answers import read_answer
from codenav.agents.models.scripted import estimated_usage
from codenav.core.errors import ContextOverflow, LimitReached, ModelUnreachable
from codenav.core.events import Status
from codenav.core.messages import Completion, Message, Sampling
from codenav.core.usage import Usage
from codenav.episodes.store import EVAL_WORK
from codenav.evals.attempts import World, attempt, check_samples, scores_of_nothing
from codenav.evals.benchmark import make
from codenav.evals.results import ERROR, Result
from codenav.evals.runs import in_shard
from codenav.evals.scores import over_epochs
from codenav.evals.settings import SAMPLING, Settings, in_draw
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
    names = ("mode", "shows", "sandbox", "python", "max_steps", "max_seconds", "limit", "shard")
    own: dict[str, Any] = {key: given.pop(key) for key in names if key in given}
    made = make(name, str(data), given, python=own.get("python"), sandbox=own.get("sandbox"))
    settings = Settings.of(own)
    every = settings.samples(check_samples(made.samples()))
    samples = {sample.id: sample for sample in every if in_shard(sample.id, settings.shard)}
    facts = {"benchmark": name, "mode": settings.mode.value, "shows": settings.shows, "sampling": dict(SAMPLING)}
    rows = [
        # The expected result is for readers of the log. Neither the agent nor a sandbox gets it.
        InspectSample(
            id=one.id,
            input=one.request,
            target=json.dumps(one.gold, ensure_ascii=False, default=str),
            metadata={"group": one.group, **one.facts},
        )
        # In the order in which `--limit` of either program draws them.
        for one in sorted(samples.values(), key=lambda sample: in_draw(sample.id))
    ]
    return Task(
        dataset=MemoryDataset(rows, name=name),
        solver=_agent(_world(made, settings), samples),
        scorer=_scorer(made, samples),
        config=GenerateConfig(**SAMPLING),
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
                scores = scores_of_nothing(benchmark, samples[str(state.sample_id)])
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


_FINISHES = {"max_tokens": "length", "model_length": "length", "tool_calls": "stop"}
_ROLES: dict[str, Callable[..., ChatMessage]] = {"system": ChatMessageSystem, "assistant": ChatMessageAssistant}


class InspectModel:
    """A model that the thread of a session asks, and the event loop of Inspect answers.

    It must be used in a thread that `anyio.to_thread.run_sync` started from that loop.
    """

    def __init__(self, model: Model, asked: Callable[[list[ChatMessage]], None]) -> None:
        """`asked` gets the whole conversation after each answer, in the event loop."""
        self._model, self._asked = model, asked
        self.ended_by: Exception | None = None
        """The error that ended the conversation: a limit of Inspect's, or a failure of the provider."""

    @property
    def name(self) -> str:
        """Inspect's name of the model."""
        return str(self._model)

    def complete(
        self, messages: Sequence[Message], *, timeout: float | None = None, sampling: Sampling | None = None
    ) -> Completion:
        """The next answer. Retries, stop reasons and prices are the provider's.

        The sampling is that which the agent asks for, else that of the task, or of Inspect's `--temperature` and so on.
        """
        began = time.monotonic()
        chat = [_ROLES.get(one.role, ChatMessageUser)(content=one.content) for one in messages]
        try:
            output = anyio.from_thread.run(self._generate, chat, timeout, _config(sampling))
        except TimeoutError as error:
            raise ModelUnreachable(f"{self.name} did not answer within {timeout:.0f} s") from error
        except LimitExceededError as error:
            # For the episode it is a limit like its own: what was done until then is scored.
            self.ended_by = error
            reached = LimitReached(f"{error.type} (Inspect)", error.value, error.limit or 0)
            reached.hint = f"raise Inspect's {error.type} limit"
            raise reached from error
        except Exception as error:
            self.ended_by = error
            message = f"{type(error).__name__}: {error}"
            raise ModelUnreachable(message, hint="the sample's error in Inspect's log says more") from error
        if output.stop_reason == "model_length" and not output.completion.strip():
            raise ContextOverflow(f"the prompt does not fit into the context of {self.name}")
        return _completion(messages, output, time.monotonic() - began)

    def close(self) -> None:
        """Do nothing: Inspect closes its models."""

    async def _generate(self, chat: list[ChatMessage], timeout: float | None, config: GenerateConfig) -> ModelOutput:
        with anyio.fail_after(timeout):
            output: ModelOutput = await self._model.generate(list(chat), config=config)
        self._asked([*chat, *([output.message] if output.choices else [])])
        return output


def _config(asked: Sampling | None) -> GenerateConfig:
    if asked is None:
        return GenerateConfig()
    most = asked.max_tokens or None
    return GenerateConfig(temperature=asked.temperature, seed=asked.seed, top_p=asked.top_p, max_tokens=most)


def _completion(messages: Sequence[Message], output: ModelOutput, seconds: float) -> Completion:
    """The answer as the agent reads it: without reasoning, and without anything after the first action."""
    content: Any = output.message.content if output.choices else ""
    reasoning = "" if isinstance(content, str) else "\n".join(getattr(part, "reasoning", "") or "" for part in content)
    calls = (output.message.tool_calls or []) if output.choices else []
    finish = _FINISHES.get(str(output.stop_reason), str(output.stop_reason))
    message = {
        "content": output.completion,
        "reasoning_content": reasoning.strip(),
        "tool_calls": [{"function": {"name": call.function, "arguments": call.arguments}} for call in calls],
    }
    answer = read_answer({"choices": [{"finish_reason": finish, "message": message}]})
    usage = output.usage
    if usage is None:
        spent = estimated_usage(messages, answer.text)
    else:
        # Inspect counts tokens of the cache apart.
        asked = usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
        spent = Usage(requests=1, input_tokens=asked, output_tokens=usage.output_tokens, seconds=seconds)
    return Completion(answer.text, usage=spent, reasoning=answer.reasoning, truncated=answer.truncated)
