"""The runner: samples in bounded jobs, each result on the disk at once, and what is missing later."""

from __future__ import annotations

import queue
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

from codenav.core.errors import Unavailable, UsageError
from codenav.core.options import StoreKeywords, spelled
from codenav.core.protocols import Model
from codenav.episodes.store import EVAL_WORK
from codenav.evals.attempts import Held, Trace, World, attempt, checked_samples, session_for
from codenav.evals.results import ERROR, Result
from codenav.evals.runs import RESUME, RunFolder
from codenav.evals.settings import EvalKeywords, MakeModel, Settings, completed, in_shard
from codenav.evals.task import Mode, Sample, Setting, Task
from codenav.retrieval.source_index import SourceIndex
from codenav.session import api
from codenav.session.session import Session

ERRORS_IN_A_ROW = 30
"""Errors in a row after which a run stops: the model or the sandbox is down, and `resume` runs the rest later."""
CODE, WORK = "code", EVAL_WORK
"""Folders of a run: the adapted code base, and the work folders of samples under way."""
LOOK = 0.5
"""Seconds between looks at the results, in which a Ctrl-C is seen."""


@dataclass(frozen=True)
class Progress:
    """The state of a run when an attempt has ended."""

    done: int
    """Attempts that ended, those of earlier starts included."""
    total: int
    errors: int
    """Of this start."""
    seconds_left: float
    """By the pace of this start."""
    result: Result


@dataclass(frozen=True)
class Run:
    """The outcome of a run: its folder, and the figures of its task."""

    folder: RunFolder
    task: Task
    missing: int = 0
    """Attempts without a result; errors are among them."""
    table: Sequence[Mapping[str, float]] = field(default_factory=list)
    """`Task.aggregate` of each epoch. What ended as `error` is not among the scores."""

    @property
    def results(self) -> list[Result]:
        """Results as they are on the disk."""
        return self.folder.results()


@spelled(EvalKeywords)
def run(
    task: Task,
    *,
    out: str | Path,
    mode: Mode | str = Mode.CODE_USE,
    model: str | Model | MakeModel | None = None,
    epochs: int = 1,
    jobs: int = 1,
    limit: int | None = None,
    ids: Sequence[str] = (),
    shard: str = "",
    shows: str = "shorter",
    price: Sequence[float] | None = None,
    settings: Mapping[str, Any] | None = None,
    place: Mapping[str, Any] | None = None,
    own: bool = True,
    resume: bool = False,
    anyway: bool = False,
    finished: Callable[[Progress], None] | None = None,
    **keywords: Unpack[EvalKeywords],
) -> Run:
    """Run the samples of a task, and keep a line for each attempt in the folder `out`.

    Args:
        task: a benchmark, or a class of one's own with samples, a setting and a scorer (`Task`).
        out: folder of the run.
        mode: `code-use` or `tool-use`.
        model: as for `codenav.run`, or a function that makes the model of a sample.
        epochs: attempts at each sample.
        jobs: attempts at a time.
        limit: number of samples, from the first one. None is all.
        ids: the samples to run. Empty is all.
        shard: `2/8` runs the second of eight parts, split by a hash of the id.
        shows: content of search results, `shorter`, `code` or `prototypes`.
        price: dollars for a million input and a million output tokens.
        settings: what else belongs in the head, because scores depend on it.
        place: what else belongs in the head, and changes no score.
        own: False if `codenav eval resume` can make the task from the head.
        resume: run what is missing in an existing folder.
        anyway: resume although the model, its server, the version of codenav or a setting is another; the head says so.
        finished: gets the progress after each attempt.
        keywords: those of `codenav.run` that `EvalKeywords` names.

    Raises:
        UsageError: two samples have one id, the folder holds another run, or an option is invalid.
        Unavailable: the model, the sandbox or the index cannot be used, or attempts keep ending as errors.
        KeyboardInterrupt: Ctrl-C; finished attempts are kept, those under way are lost.
    """
    if jobs < 1:
        raise UsageError(f"{jobs} jobs at a time", hint="such as --jobs 8")
    chosen = Settings(
        mode=_mode(mode),
        model=model,
        epochs=epochs,
        limit=limit,
        ids=ids,
        shard=shard,
        shows=shows,
        price=price,
        more=settings or {},
        place={**(place or {}), "jobs": jobs},
        own=own,
        keywords=completed(keywords),
    )
    return Runner(task, chosen, Path(out).absolute(), resume=resume, anyway=anyway).run(
        jobs, finished or (lambda progress: None)
    )


class Runner:
    """One start of a run, new or resumed."""

    def __init__(self, task: Task, settings: Settings, out: Path, *, resume: bool, anyway: bool = False) -> None:
        """Write the adapted code base, and find out what is missing.

        Raises:
            UsageError, NotFound: for the reasons of `run`.
        """
        before = RunFolder.open(out) if resume else None
        if before is None and RunFolder.holds(out):
            raise UsageError(f"{out} holds a run already", hint=f"{RESUME} {out}, or another folder with --out")
        self._task, self._settings, self._out, self._before = task, settings, out, before
        samples = settings.samples(checked_samples(task.samples()))
        # Raises where there is none, before anything is written.
        model = settings.model_name
        self._setting = self._written(out)
        self._head = settings.head(task.name, samples, self._setting, model=model)
        different = before.head.differences(self._head) if before else []
        if before and different:
            fixed = (before.head.task, before.head.epochs, list(before.head.samples))
            if not anyway or fixed != (self._head.task, self._head.epochs, list(self._head.samples)):
                raise UsageError(
                    f"{out} was made with other settings: {', '.join(different)}",
                    hint="leave them as they were, start another run with --out, or mix both with --anyway",
                )
            before.mix(different)
        shard = before.head.shard if before else settings.shard
        ours = [sample for sample in samples if in_shard(sample.id, shard)]
        every = [(sample, epoch) for epoch in range(1, settings.epochs + 1) for sample in ours]
        known = before.finished() if before else set()
        self._left = [(sample, epoch) for sample, epoch in every if (sample.id, epoch) not in known]
        self._total = len(every)

    def run(self, jobs: int, finished: Callable[[Progress], None]) -> Run:
        """Run what is missing."""
        with ExitStack() as opening:
            # The lock first: a second process must not clear the work folders of the one that is at work.
            adding = self._before.adding() if self._before and self._left else None
            add = opening.enter_context(adding) if adding else None
            world = self._world(opening) if self._left else None
            if world:
                opening.callback(shutil.rmtree, world.work, ignore_errors=True)
            if world and world.model is None:
                # What is wrong with all samples stops the run before its folder is made.
                session_for(world, self._left[0][0], world.work / "first", Trace(), Held()).close()
            folder = self._before or RunFolder.make(self._out, self._head)
            if world:
                self._work(world, jobs, add or opening.enter_context(folder.adding()), finished)
        return summarised(folder, self._task)

    def _written(self, out: Path) -> Setting:
        """Write the adapted code base. A folder that stays empty is removed."""
        try:
            out.mkdir(parents=True, exist_ok=True)
            return self._task.setting(self._settings.mode, out / CODE)
        except OSError as error:
            raise UsageError(f"cannot make the run {out}: {error.strerror}", hint="another --out") from error
        finally:
            with suppress(OSError):
                out.rmdir()

    def _world(self, opening: ExitStack) -> World:
        given = dict(self._settings.keywords)
        given["notice"] = _once(given.get("notice"))
        told = {"progress": given.pop("progress", None), "notice": given["notice"]}
        python = given.get("python") or self._setting.python
        store: Any = {name: given[name] for name in StoreKeywords.__annotations__ if name in given}
        indexes: list[SourceIndex] = []
        for path in self._setting.on:
            indexes.append(opening.enter_context(api.index(path, python=python, **told, **store)))
        model = self._settings.model
        return World(
            task=self._task,
            mode=self._settings.mode,
            setting=self._setting,
            on=indexes,
            keywords={**given, "model": model or None},
            work=self._out / WORK,
            shows=self._settings.shows,
            model=model if callable(model) else None,
            price=self._settings.price,
        )

    def _work(
        self, world: World, jobs: int, add: Callable[[Result], None], finished: Callable[[Progress], None]
    ) -> None:
        before, began = self._total - len(self._left), time.monotonic()
        errors = in_a_row = 0
        with _threads(world, self._left, jobs, add) as results:
            for count, result in enumerate(results, start=1):
                failed = result.status == ERROR
                errors, in_a_row = errors + failed, in_a_row + 1 if failed else 0
                seconds_left = (time.monotonic() - began) / count * (len(self._left) - count)
                finished(Progress(before + count, self._total, errors, seconds_left, result))
                if in_a_row == ERRORS_IN_A_ROW and count < len(self._left):
                    raise Unavailable(
                        f"{in_a_row} attempts in a row ended as errors; the last: {result.reason}",
                        hint=f"when it works again: {RESUME} {self._out}",
                    )


@contextmanager
def _threads(
    world: World, left: Sequence[tuple[Sample, int]], jobs: int, add: Callable[[Result], None]
) -> Iterator[Iterable[Result]]:
    """Make attempts in threads that keep each result as it ends, yield the results, and end the threads in any case."""
    ended: queue.SimpleQueue[Result | BaseException | None] = queue.SimpleQueue()
    waiting = iter(left)
    lock, stop = threading.Lock(), threading.Event()
    active: set[Session] = set()

    def work() -> None:
        try:
            while not stop.is_set():
                with lock:
                    sample, epoch = next(waiting, (None, 0))
                if sample is None:
                    break
                result = _attempted(world, sample, epoch, active)
                if result is not None:
                    with lock:
                        add(result)
                    ended.put(result)
            ended.put(None)
        except BaseException as error:
            ended.put(error)

    def results() -> Iterator[Result]:
        living = len(threads)
        while living:
            try:
                one = ended.get(timeout=LOOK)
            except queue.Empty:
                continue
            if isinstance(one, BaseException):
                raise one
            if one is None:
                living -= 1
            else:
                yield one

    threads = [threading.Thread(target=work, name=f"eval-{number}") for number in range(min(jobs, len(left)))]
    try:
        for thread in threads:
            thread.start()
        yield results()
    finally:
        stop.set()
        while any(thread.is_alive() for thread in threads):
            # Again and again: a session that was just opened forgets it when its episode begins.
            for session in tuple(active):
                session.cancel()
            for thread in threads:
                thread.join(timeout=0.1)


def _attempted(world: World, sample: Sample, epoch: int, active: set[Session]) -> Result | None:
    mine: list[Session] = []

    def started(session: Session) -> None:
        mine.append(session)
        active.add(session)

    try:
        return attempt(world, sample, epoch, started)
    except Exception as error:
        return Result(sample.id, epoch, ERROR, request=sample.request, reason=f"a fault of codenav: {error!r}")
    finally:
        active.difference_update(mine)


def summarised(folder: RunFolder, task: Task) -> Run:
    """Return a run as it is on the disk, with the aggregates of its epochs."""
    every = folder.results()
    results = [one for one in every if one.status != ERROR]
    wanted = sum(in_shard(id, folder.head.shard) for id in folder.head.samples) * folder.head.epochs
    epochs = sorted({one.epoch for one in results})
    # An error counts as an attempt that did nothing.
    counted = [one for one in every if one.scores or one.status != ERROR]
    table = [task.aggregate([one.scores for one in counted if one.epoch == epoch]) for epoch in epochs]
    return Run(folder, task, wanted - len(results), table)


def _once(notice: Callable[[str], None] | None) -> Callable[[str], None]:
    """Return a function that passes each notice on once: every session tells the same."""
    told: set[str] = set()

    def tell(text: str) -> None:
        if notice and text not in told:
            told.add(text)
            notice(text)

    return tell


def _mode(mode: Mode | str) -> Mode:
    try:
        return Mode(mode)
    except ValueError:
        raise UsageError(f"no mode {mode!r}", hint=f"one of {', '.join(Mode)}") from None
