"""The runner: samples in bounded jobs, each result on the disk at once, and what is missing later."""

from __future__ import annotations

import inspect
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from codenav.core.errors import Unavailable, UsageError
from codenav.core.events import Status
from codenav.core.options import check_keywords
from codenav.core.system.parallel import in_threads
from codenav.episodes.store import EVAL_WORK
from codenav.evals.attempts import Trace, World, attempt, check_samples, error_result, session_for
from codenav.evals.recorded import scores_by_epoch
from codenav.evals.results import ERROR, Result
from codenav.evals.runs import RESUME, Head, RunFolder
from codenav.evals.settings import SESSIONS, Origin, Settings, in_draw
from codenav.evals.task import Sample, Setting, Task
from codenav.retrieval.source_index import Notify
from codenav.session.session import Session

IN_A_ROW = 10
"""Errors, or attempts without time left, in a row after which a run stops: `resume` runs the rest later."""
CODE, WORK = "code", EVAL_WORK
"""Folders of a run: the adapted code base, and the work folders of samples under way."""


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


Finished = Callable[[Progress], None]


@dataclass(frozen=True)
class Run:
    """The outcome of a run: its folder, and the figures of its task."""

    folder: RunFolder
    task: Task
    over: bool = False
    """The hours were over before all attempts had begun."""

    @property
    def results(self) -> list[Result]:
        """Results as they are on the disk."""
        return self.folder.results()

    @cached_property
    def missing(self) -> int:
        """Attempts without a result; errors are among them."""
        return len(self.folder.head.attempts) - len(self.folder.finished())

    @cached_property
    def table(self) -> list[Mapping[str, float]]:
        """`Task.aggregate` of each epoch, with errors as attempts that did nothing."""
        return [self.task.aggregate(scores) for scores in scores_by_epoch(self.results).values()]

    def to_dict(self) -> dict[str, Any]:
        """The document of `codenav eval run --json`."""
        head, results = self.folder.head, self.results
        return {
            "run": str(self.folder.path),
            **{name: getattr(head, name) for name in ("task", "mode", "model", "epochs", "shard")},
            "statuses": dict(sorted(Counter(one.status for one in results).items())),
            "correct": sum(bool(one.scores.get("correct")) for one in results),
            "missing": self.missing,
            "table": [dict(row) for row in self.table],
        }


def run(
    task: Task,
    *,
    out: str | Path,
    jobs: int = 1,
    resume: bool = False,
    anyway: bool = False,
    hours: float | None = None,
    origin: Origin | None = None,
    finished: Finished | None = None,
    **keywords: Any,
) -> Run:
    """Run the samples of a task, and keep a line for each attempt in the folder `out`.

    Args:
        task: a benchmark, or a class of one's own with samples, a setting and a scorer (`Task`).
        out: folder of the run.
        jobs: attempts at a time.
        resume: run what is missing in an existing folder.
        anyway: resume although the model, its server, the version of codenav or a setting is another; the head says so.
        hours: time after which no further attempt begins. The samples come in a fixed random order, so that those which
            were run are a fair sample of all.
        origin: for `codenav eval run --resume`, which can make the task again; None for a task of one's own.
        finished: gets the progress after each attempt.
        keywords: which attempts, with which model (the fields of `Settings`), and keywords of `codenav.run`.

    Raises:
        UsageError: two samples have one id, the folder holds another run, or an option is invalid.
        Unavailable: the model, the sandbox or the index cannot be used, or attempts keep ending as errors.
        KeyboardInterrupt: Ctrl-C; finished attempts are kept, those under way are lost.
    """
    own = [item.name for item in fields(Settings) if item.name != "sessions"]
    check_keywords(keywords, [*inspect.signature(run).parameters, *own, *SESSIONS])
    if jobs < 1:
        raise UsageError(f"{jobs} jobs at a time", hint="such as --jobs 8")
    if hours is not None and not 0 < hours < 10_000:
        raise UsageError(f"{hours:g} hours for a run", hint="such as --hours 3")
    keywords["notice"] = _once(keywords.get("notice"))
    settings, folder = Settings.of(keywords), Path(out).absolute()
    before = RunFolder.open(folder) if resume else None
    if before is None and RunFolder.holds(folder):
        raise UsageError(f"{folder} holds a run already", hint=f"{RESUME} {folder}, or another folder with --out")
    samples = settings.samples(check_samples(task.samples()))
    # Raises where there is none, before anything is written.
    model = settings.model_name
    setting = _write_setting(task, settings, folder)
    head = settings.head(task.name, samples, setting, origin, model=model, jobs=jobs)
    if before:
        kept = {name: value for name, value in before.head.facts.items() if name == "profile"}
        _check_same(before, replace(head, facts={**head.facts, **kept}), anyway=anyway)
        head = before.head
    else:
        head = replace(head, facts={**head.facts, "profile": settings.profile})
    known, by_id = before.finished() if before else set(), {sample.id: sample for sample in samples}
    left = [(by_id[id], epoch) for id, epoch in head.attempts if (id, epoch) not in known]
    left.sort(key=lambda one: (one[1], in_draw(one[0].id)))
    with ExitStack() as opening:
        if not left:
            return Run(before or RunFolder.make(folder, head), task)
        # The lock first: a second process must not clear the work folders of the one that is at work.
        add = opening.enter_context(before.adding()) if before else None
        world = World.open(task, settings, setting, folder / WORK, opening)
        opening.callback(shutil.rmtree, world.work, ignore_errors=True)
        if not callable(settings.model):
            # What is wrong with all samples stops the run before its folder is made.
            with session_for(world, left[0][0], 1, world.work / "first", Trace()):
                pass
        made = before or RunFolder.make(folder, head)
        add = add or opening.enter_context(made.adding())
        end = float("inf") if hours is None else time.monotonic() + 3600 * hours
        over = _work(world, left, len(head.attempts), jobs, add, finished or (lambda progress: None), end)
    return Run(made, task, over)


def _write_setting(task: Task, settings: Settings, out: Path) -> Setting:
    """Write the adapted code base. A folder that stays empty is removed."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        return task.setting(settings.mode, out / CODE)
    except OSError as error:
        raise UsageError(f"cannot make the run {out}: {error.strerror}", hint="another --out") from error
    finally:
        with suppress(OSError):
            out.rmdir()


def _check_same(before: RunFolder, head: Head, *, anyway: bool) -> None:
    """Refuse to go on with other settings, or note them in the head."""
    different = before.head.differences(head)
    if different and not (anyway and before.head.has_samples_of(head)):
        raise UsageError(
            f"{before.path} was made with other settings: {', '.join(different)}",
            hint="leave them as they were, start another run with --out, or mix both with --anyway",
        )
    if different:
        before.mix(different)


def _work(
    world: World,
    left: Sequence[tuple[Sample, int]],
    total: int,
    jobs: int,
    add: Callable[[Result], None],
    finished: Finished,
    end: float,
) -> bool:
    """Make the attempts that are left of all in threads, which keep each result as it ends. True if time ran out."""
    lock = threading.Lock()
    active: set[Session] = set()

    def made(one: tuple[Sample, int]) -> Result | None:
        result = _attempt(world, *one, active) if time.monotonic() < end else None
        if result is not None:
            with lock:
                add(result)
        return result

    def cancel() -> None:
        # Called until all have ended: a session that was just opened forgets it when its episode begins.
        for session in tuple(active):
            session.cancel()

    began, count, errors, in_a_row, timed_out = time.monotonic(), 0, 0, 0, 0
    longest = world.settings.sessions["limits"].seconds or float("inf")
    with in_threads(made, left, jobs, cancel) as results:
        for result in results:
            if result is None:
                continue
            is_error = result.status == ERROR
            count, errors, in_a_row = count + 1, errors + is_error, in_a_row + 1 if is_error else 0
            timed_out = timed_out + 1 if result.status == Status.LIMIT and result.seconds >= longest else 0
            pace = (time.monotonic() - began) / count
            seconds_left = min(pace * (len(left) - count), max(0.0, end - time.monotonic()))
            finished(Progress(total - len(left) + count, total, errors, seconds_left, result))
            again = f"{RESUME} {world.work.parent}"
            if in_a_row == IN_A_ROW and count < len(left):
                raise Unavailable(
                    f"{in_a_row} attempts in a row ended as errors; the last: {result.reason}",
                    hint=f"when it works again: {again}",
                )
            if timed_out == IN_A_ROW and count < len(left):
                raise Unavailable(
                    f"{timed_out} attempts in a row used up their {longest:g} s",
                    hint=f"another run with --max-seconds, or go on all the same: {again}",
                )
    return count < len(left) and time.monotonic() >= end


def _attempt(world: World, sample: Sample, epoch: int, active: set[Session]) -> Result | None:
    mine: list[Session] = []

    def started(session: Session) -> None:
        mine.append(session)
        active.add(session)

    try:
        return attempt(world, sample, epoch, started)
    except Exception as error:
        return error_result(world, sample, epoch, f"a fault of codenav: {error!r}")
    finally:
        active.difference_update(mine)


def _once(notice: Notify | None) -> Notify:
    """Return a function that passes each notice on once: every session has the same."""
    passed: set[str] = set()

    def tell(text: str) -> None:
        if notice and text not in passed:
            passed.add(text)
            notice(text)

    return tell
