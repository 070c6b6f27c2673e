"""One attempt at a sample: a session of its own, the trace of the calls that its code makes, its values and scores."""

from __future__ import annotations

import json
import queue
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any, cast

from codenav.core.actions import CodeSummary, Search
from codenav.core.errors import CodeNavError, ContextOverflow, UsageError
from codenav.core.events import ActionTaken, Event, Status, StepEnded
from codenav.core.execution import Execution
from codenav.core.options import ModelOptions
from codenav.core.protocols import Environment, Model, Sandbox
from codenav.core.setting import keywords_of
from codenav.core.system.terminal_text import shortened
from codenav.environments import EpisodeParts, MakeEnvironments, SearchEnvironment
from codenav.episodes.record import EpisodeResult
from codenav.evals.calling import CallingAgent
from codenav.evals.results import ERROR, Result, beginning, plain
from codenav.evals.settings import STORE, Settings
from codenav.evals.task import Attempt, Mode, Sample, Setting, Task, ToolCall
from codenav.session.api import index, open_session
from codenav.session.session import Session

CALLED = "eval.called"
"""Name of the call to the host by which an adapted code base tells of a call of one of its tools."""
_FORGES = re.compile(r"call_host|eval\.called")
"""Traces of code that tells of calls itself, in place of the tools."""
MOST_CALLS = 10_000
"""Calls that are kept of one attempt: the code inside decides how many it makes."""
CALL_CHARACTERS = 20_000
"""Characters kept of the arguments of a call, in JSON."""
STEP_CHARACTERS = 4_000
"""Characters kept of each text of a step in a result; the record has all of it."""
SCORE_SECONDS = 300.0
"""Seconds for the scores of one attempt; graders that call tools again take up to 30."""
NO_DESCRIPTION = "No description is given."


class Trace:
    """The calls of tools in one episode, and its sandbox, from which variables are read after the last step.

    It is the session's handler of calls, a listener that knows the steps, and makes the environments.
    """

    only_hears = True
    """Nothing answers a call, so a step may be tried in several ways."""

    def __init__(self) -> None:
        self.sums_up = False
        """The agent has the action `code_summary`."""
        self._sandbox: Sandbox | None = None
        self._calls: list[ToolCall] = []
        self._pending: dict[str, list[ToolCall]] = {}
        """The calls of the step under way, by the script that made them."""
        self._script = ""
        self._lock = threading.Lock()

    @property
    def calls(self) -> list[ToolCall]:
        """Calls of all steps that were observed, in order."""
        with self._lock:
            return list(self._calls)

    def __call__(self, name: str, arguments: dict[str, Any]) -> None:
        """Note one call. The code inside chooses the arguments: what is not as expected is left out."""
        if name != CALLED:
            raise LookupError(f"there is no {name} here")
        tool, given = arguments.get("name"), arguments.get("arguments")
        if not isinstance(tool, str) or not tool:
            return
        given = given if isinstance(given, dict) else {}
        if len(json.dumps(given)) > CALL_CHARACTERS:
            given = {key[:100]: repr(value)[:200] for key, value in list(given.items())[:50]}
        with self._lock:
            if len(self._calls) + sum(map(len, self._pending.values())) < MOST_CALLS:
                self._pending.setdefault(self._script, []).append(ToolCall(tool[:200], given))

    def on_event(self, event: Event) -> None:
        """Give the calls of the script that was kept to the step that ends.

        Only the tools tell of calls: those of a step whose own code speaks to the host are not believed.
        """
        with self._lock:
            if isinstance(event, StepEnded) and not _FORGES.search(event.step.action.content):
                failed = not event.step.observation.ok
                made = self._pending.get(event.step.action.content, ())
                self._calls += [replace(one, step=event.step.number, failed=failed) for one in made]
            if isinstance(event, ActionTaken | StepEnded):
                self._pending.clear()

    def begin(self, script: str) -> None:
        """Take the calls from now on as those of a script."""
        with self._lock:
            self._script = script

    def values(self, names: Sequence[str]) -> dict[str, Any]:
        """The variables that exist and are plain data."""
        if self._sandbox is None:
            return {}
        found = {}
        for name in names:
            with suppress(CodeNavError):
                found[name] = self._sandbox.get(name)
        return found

    def environments(self, make: MakeEnvironments, settings: Settings) -> MakeEnvironments:
        """A function that makes the environments of a task for a mode: without search where tools are described."""
        left_out = {Mode.CODE_USE: (), Mode.NO_SEARCH: (Search,), Mode.TOOL_USE: (Search, CodeSummary)}[settings.mode]

        def made(parts: EpisodeParts) -> list[Environment]:
            self._sandbox = parts.sandbox
            heard = cast(Sandbox, HeardSandbox(parts.sandbox, self.begin))
            found = [one for one in make(replace(parts, sandbox=heard)) if one.action not in left_out]
            self.sums_up = any(one.action is CodeSummary for one in found)
            for one in found:
                if isinstance(one, SearchEnvironment):
                    one.shows = settings.shows
            return found

        return made


class HeardSandbox:
    """A sandbox that tells which script is about to run: of several for one step only one is kept."""

    def __init__(self, sandbox: Sandbox, tell: Callable[[str], None]) -> None:
        self._sandbox, self._tell = sandbox, tell

    def run(self, code: str, **options: Any) -> Execution:
        """Run code, as `Sandbox.run`."""
        self._tell(code)
        return self._sandbox.run(code, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)


@dataclass(frozen=True)
class World:
    """Everything that the attempts of a run share."""

    task: Task
    settings: Settings
    setting: Setting
    on: Sequence[Any]
    """The open indexes of `Setting.on`."""
    work: Path
    """Folder for the work folders."""

    @classmethod
    def open(cls, task: Task, settings: Settings, setting: Setting, work: Path, opening: ExitStack) -> World:
        """Build the indexes of a setting, and open them until `opening` ends.

        Raises:
            Unavailable, UsageError: for the reasons of `codenav.index`; or tool-use with a task that registers no tool.
        """
        if settings.mode is Mode.TOOL_USE and not setting.tools:
            raise UsageError(f"{task.name} registers no tools for JSON calls", hint="Setting.tools, or --use code")
        given = settings.sessions
        keywords: Any = {name: given[name] for name in STORE if name in given}
        keywords |= {"progress": given.get("progress"), "notice": given.get("notice")}
        python = given.get("python") or setting.python
        indexes = [opening.enter_context(index(path, python=python, **keywords)) for path in setting.on]
        return cls(task, settings, setting, indexes, work)


def attempt(world: World, sample: Sample, epoch: int, started: Callable[[Session], None]) -> Result | None:
    """Run one episode on a sample, and score it. None if it was interrupted.

    `started` gets the session, whose `cancel` ends the attempt. What goes wrong outside the conversation is a result
    with the status `error`.
    """
    folder = world.work / f"{sha256(sample.id.encode()).hexdigest()[:16]}-{epoch}"
    trace = Trace()
    try:
        _write(sample.files, folder)
        with session_for(world, sample, epoch, folder, trace) as session:
            started(session)
            result = _run_episode(session, sample.request)
            if result.status == Status.INTERRUPTED:
                return None
            values = trace.values(world.setting.read) if result.status != Status.ERROR else {}
    except CodeNavError as error:
        return error_result(world, sample, epoch, str(error))
    except OSError as error:
        return error_result(world, sample, epoch, f"{type(error).__name__}: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if result.status == Status.LIMIT and not result.usage.output_tokens:
        # A server that hangs is no answer of a model: the sample is run again.
        return error_result(world, sample, epoch, f"the model wrote nothing: {result.reason}")
    done = Attempt(sample, result, trace.calls, values, trace.sums_up)
    if result.status == Status.ERROR:
        return _result(world, done, epoch, scores_of_nothing(world.task, sample))
    try:
        scores = score_attempt(world.task, done)
    except _NoScores as error:
        ended = _result(world, done, epoch, scores_of_nothing(world.task, sample))
        return replace(ended, status=ERROR, reason=f"the scorer of {world.task.name} failed: {error}")
    return _result(world, done, epoch, scores)


def error_result(world: World, sample: Sample, epoch: int, reason: str) -> Result:
    """Return the result of an attempt without an episode: an error, which counts as having done nothing."""
    return _result(world, _nothing(sample, reason), epoch, scores_of_nothing(world.task, sample))


class _NoScores(Exception):
    """A scorer has failed. The message says how."""


def score_attempt(task: Task, attempt: Attempt) -> dict[str, Any]:
    """Return the scores of an attempt in JSON types.

    A scorer is the task's own code: whatever it does must neither end a run of hours nor count as an answer. It runs in
    a thread of its own, which is left behind after `SCORE_SECONDS`.

    Raises:
        _NoScores: it raised something, did not end, or gave what are no scores.
    """
    ended: queue.SimpleQueue[dict[str, Any] | BaseException] = queue.SimpleQueue()

    def work() -> None:
        try:
            ended.put(_checked(plain(task.score(attempt))))
        except BaseException as error:
            ended.put(error)

    threading.Thread(target=work, name="eval-scorer", daemon=True).start()
    try:
        found = ended.get(timeout=SCORE_SECONDS)
    except queue.Empty:
        raise _NoScores(f"it did not end within {SCORE_SECONDS:g} s") from None
    if isinstance(found, BaseException):
        raise _NoScores(f"{type(found).__name__}: {beginning(found)}")
    return found


def _checked(scores: Any) -> dict[str, Any]:
    if not isinstance(scores, dict):
        raise TypeError(f"scores are a mapping, not {beginning(scores)}")
    correct = scores.get("correct", False)
    if correct not in (True, False):
        raise ValueError(f"`correct` is true or false, not {beginning(correct)}")
    for name, value in scores.items():
        if value in ("nan", "inf", "-inf"):
            raise ValueError(f"`{name}` is {value}, which is no number")
    return {**scores, "correct": bool(correct)} if "correct" in scores else scores


def scores_of_nothing(task: Task, sample: Sample) -> dict[str, Any]:
    """Return the scores of an attempt that did nothing, as which an error counts. Empty where the scorer fails."""
    try:
        return {**score_attempt(task, _nothing(sample)), "correct": False}
    except _NoScores:
        return {}


def _nothing(sample: Sample, reason: str = "") -> Attempt:
    return Attempt(sample, EpisodeResult(id="", request=sample.request, status=Status.ERROR, reason=reason))


def _run_episode(session: Session, request: str) -> EpisodeResult:
    """Run a request. A conversation that the model's context cannot hold has failed: another try would end alike."""
    episode = session.episode(request)
    try:
        while not episode.ended:
            episode.step()
    except ContextOverflow:
        return replace(episode.result, status=Status.FAILED)
    except CodeNavError:
        # It is in the result, as after `Episode.run`.
        pass
    return episode.result


@contextmanager
def session_for(world: World, sample: Sample, epoch: int, folder: Path, trace: Trace) -> Iterator[Session]:
    """The session of one attempt.

    Raises:
        CodeNavError: for the reasons of `Session`.
    """
    settings, setting = world.settings, world.setting
    keywords = dict(settings.sessions)
    if not keywords.get("python") and setting.python:
        keywords["python"] = setting.python
    keywords.pop("progress", None)
    with ExitStack() as opening:
        model = settings.model_of(sample, epoch, opening)
        if settings.mode is Mode.TOOL_USE:
            model = cast(Model, model)
            keywords = {name: value for name, value in keywords.items() if name not in keywords_of(ModelOptions)}
            keywords["agent"] = CallingAgent(model, setting.tools, small=settings.is_small(model))
            # There is no code of the model's to be read.
            keywords |= {"checks_lint": False, "checks_types": False}
        else:
            keywords["model"] = model
        yield opening.enter_context(
            open_session(
                on=list(world.on),
                # An empty one would be replaced by one made from the metadata of the code base.
                description=setting.description if setting.description.strip() else NO_DESCRIPTION,
                environments=trace.environments(setting.environments, settings),
                listeners=[trace.on_event],
                calls=trace,
                work_dir=folder,
                **{"rerank": False, **keywords},
            )
        )


def check_samples(samples: Sequence[Sample]) -> list[Sample]:
    """Return samples after checking ids, requests and files.

    Raises:
        UsageError: an id is invalid or used twice, a request is empty, or a file leads out of the work folder.
    """
    seen: set[str] = set()
    for sample in samples:
        if not sample.id or not all(one.isascii() and (one.isalnum() or one in "_.:-") for one in sample.id):
            raise UsageError(f"{sample.id!r} is no id of a sample", hint="letters, digits and _.:- are allowed")
        if sample.id in seen:
            raise UsageError(f"two samples have the id {sample.id}", hint="the ids of a task are unique")
        seen.add(sample.id)
        if not sample.request.strip():
            raise UsageError(f"the request of sample {sample.id} is empty", hint="leave the sample out")
        for name in sample.files:
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or not path.parts:
                raise UsageError(f"sample {sample.id} has a file {name!r}", hint="files are relative paths inside")
    if not seen:
        raise UsageError("the task has no samples", hint="look at --data, --tasks and --limit")
    return list(samples)


def _write(files: Mapping[str, bytes], folder: Path) -> None:
    # A killed run may have left it.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _result(world: World, attempt: Attempt, epoch: int, scores: Mapping[str, Any]) -> Result:
    sample, result = attempt.sample, attempt.result
    asked, written, price = result.usage.input_tokens, result.usage.output_tokens, world.settings.price
    return Result(
        id=sample.id,
        epoch=epoch,
        status=result.status.value,
        scores=plain(scores),
        request=sample.request,
        group=sample.group,
        gold=plain(sample.gold),
        answer=result.answer,
        program=result.summary.code,
        verified=result.summary.verified,
        values=plain(attempt.values),
        calls=[plain(call.to_dict()) for call in attempt.calls],
        trajectory=_trajectory(result),
        steps=len(result.steps),
        seconds=round(result.seconds, 3),
        prompt_tokens=asked,
        completion_tokens=written,
        dollars=None if price is None else round((asked * price[0] + written * price[1]) / 1e6, 6),
        reason=result.reason,
        episode=result.id,
    )


def _trajectory(result: EpisodeResult) -> list[dict[str, str]]:
    """Return the steps of an episode as a result keeps them."""
    return [
        {
            "thought": shortened(step.action.thought, STEP_CHARACTERS),
            "action": step.action.type,
            "content": shortened(step.action.content, STEP_CHARACTERS),
            "observation": shortened(step.observation.text, STEP_CHARACTERS),
        }
        for step in result.steps
    ]
