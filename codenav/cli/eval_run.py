"""`codenav eval run`: the samples of a benchmark, each in a session of its own."""

from __future__ import annotations

import contextlib
import inspect
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codenav.cli.eval import checked_data, factory_options, head_options, run_keywords, run_options, task_options
from codenav.cli.options import SectionedCommand, counted, duration_text, print_json, say
from codenav.core.errors import NotFound, UsageError
from codenav.core.system.terminal_text import flattened
from codenav.evals.ablations import ABLATIONS
from codenav.evals.results import ERROR

if TYPE_CHECKING:
    from codenav.evals.runner import Progress, Run

EVERY = 10.0
"""Seconds between two lines of progress where stderr is no terminal."""
RESUMED = ("data", "out", "resume", "anyway", "models", "base_url", "jobs", "seeds", "hours", "quiet", "as_json")
"""The options that may go with --resume: all others stay as they were."""


@click.command("run", cls=SectionedCommand)
@click.argument("name", required=False)
@click.option("--resume", is_flag=True, help="Run what has no result in RUN, with its settings; NAME is not needed.")
@click.option("--anyway", is_flag=True, help="Resume with another version, model or server: the report names both.")
@task_options
@run_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    name: str | None,
    resume: bool,
    anyway: bool,
    data: Path | None,
    out: Path,
    models: tuple[str, ...],
    ablations: tuple[str, ...],
    **options: Any,
) -> int:
    """Run the benchmark NAME, one episode for each sample, and keep the results in RUN.

    What is finished stays whatever happens: --resume runs the rest. A model or a sandbox that is down makes errors,
    which are counted apart and run again by it, nothing else twice.

    Several of --model or --ablation run one after another, each in a folder below RUN; started again, they go on. The
    ablations are those of the CodeNav paper, which are of the full profile, then ours:

    \b
    ABLATIONS

    \b
    Examples:
      codenav eval run m3tooleval --data ~/code-act --use code --model gpt-5 \\
          --seeds 3 --jobs 8 --out runs/a
      codenav eval run m3tooleval --data ~/code-act --use tools --model local --hours 3 --out runs/b
      codenav eval run --resume --out runs/a
      codenav eval run api-bank --data ~/DAMO-ConvAI --prepared ~/api-bank-env --model gpt-5 \\
          --jobs 6 --out runs/c
      codenav eval run mnms --data ~/mnms --tasks tasks.json --stub-tools --model gpt-5 \\
          --ablation profile-full --ablation description-none --out runs/table2

    \b
    Exit codes: 0 every attempt has a result, 2 wrong usage, 3 the hours are over (--resume),
    4 some are missing (--resume), 130 interrupted.
    """
    given = [param.name for param in ctx.command.params if param.name and _is_given(ctx, param.name)]
    if resume:
        alien = [one for one in given if one not in RESUMED]
        if alien:
            raise click.UsageError(f"--resume keeps the settings of the run: leave out {_option(alien[0])}.")
        changes: dict[str, Any] = {one: options[one] for one in ("base_url", "jobs", "hours") if one in given}
        changes |= {"epochs": options["seeds"]} if "seeds" in given else {}
        changes |= {"model": models[0]} if models else {}
        runs: Iterable[Run] = [_resumed(out, data, changes, anyway, quiet=options["quiet"] or options["as_json"])]
    elif anyway or not name:
        raise click.UsageError("name a benchmark; --anyway goes with --resume.")
    else:
        runs = _benchmark(name, checked_data(data), models, ablations, out, options)
    ends, over = [], False
    for run in runs:
        over |= run.over
        if not options["as_json"]:
            show_end(run)
        ends.append(run.to_dict())
    if options["as_json"]:
        print_json(ends if len(ends) > 1 else ends[0])
    return 3 if over else 4 if any(end["missing"] for end in ends) else 0


command.help = inspect.cleandoc(str(command.help)).replace(
    "ABLATIONS", "\n".join(f"{own:<23}{one.about}" for own, one in ABLATIONS.items())
)


def _is_given(ctx: click.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _benchmark(
    name: str, data: Path, models: Sequence[str], ablations: Sequence[str], out: Path, options: dict[str, Any]
) -> Iterator[Run]:
    """Run a benchmark with each model and ablation; of several, those that were begun go on."""
    from codenav.evals.ablations import ablation
    from codenav.evals.runs import RunFolder

    factory, keywords = factory_options(options), run_keywords(options)
    rows = [(own, ablation(own)) for own in dict.fromkeys(ablations)] or [("", ablation(""))]
    for own, row in rows:
        if clash := [one for one in row.options if one in factory]:
            raise UsageError(f"the ablation {own} sets {_option(clash[0])} itself", hint="leave it out")
    for model, folder in folders(models, out):
        for own, row in rows:
            place = folder / own if len(rows) > 1 else folder
            if len(rows) > 1 and not options["as_json"]:
                say(f"{name}: {own}", err=True)
            yield carry_out(
                name,
                data,
                {**factory, **row.options},
                {**keywords, **row.keywords, "ablation": own, "model": model},
                place,
                quiet=options["quiet"] or options["as_json"],
                resume=place != out and RunFolder.holds(place),
            )


def _resumed(out: Path, data: Path | None, changes: Mapping[str, Any], anyway: bool, *, quiet: bool) -> Run:
    """Run the attempts of a run that have no result."""
    from codenav.evals.runs import RunFolder

    head = RunFolder.open(out).head
    if head.own:
        raise UsageError(
            f"{out} is of a task of your own, {head.task}", hint="codenav.evals.run(task, out=…, resume=True) in Python"
        )
    if changes.get("epochs", head.epochs) != head.epochs:
        raise UsageError(
            f"{out} was made with {counted(head.epochs, 'seed')}, not {changes['epochs']}",
            hint="leave --seeds out, or begin a new run",
        )
    place: dict[str, Any] = dict(head.place)
    keywords = {
        **_settings_of(head.settings, place),
        "mode": head.mode,
        "model": head.model,
        "epochs": head.epochs,
        "shard": head.shard,
        "ids": list(head.samples),
        "shows": head.settings.get("shows"),
        "price": head.settings.get("price"),
        "ablation": head.settings.get("ablation", ""),
        "anyway": anyway,
        **changes,
    }
    folder = data or Path(place.get("data", ""))
    if not folder.is_dir():
        raise NotFound(f"the checkout of {out} is gone: {folder}", hint="--data names it where it has moved")
    return carry_out(head.task, folder, place.get("options", {}), keywords, out, quiet=quiet, resume=True)


def _settings_of(settings: Any, place: Any) -> dict[str, Any]:
    """Return the keywords of a session that the head of a run holds."""
    from codenav.core.execution import Resources
    from codenav.core.limits import Limits
    from codenav.evals.settings import PLACE, SESSIONS

    names = [name for name in SESSIONS if name not in PLACE]
    kept = {name: settings[name] for name in names if settings.get(name) is not None}
    kept |= {name: place[name] for name in PLACE if place.get(name) is not None}
    resources = Resources(**settings["resources"])
    return {
        **kept,
        "limits": Limits.from_dict(settings["limits"]),
        "resources": resources,
        "jobs": place.get("jobs", 1),
    }


def folders(models: Sequence[str], out: Path) -> list[tuple[str | None, Path]]:
    """Return the models with the folders of their runs: below `out` for several."""
    from codenav.evals.paper import folder_of

    named = list(dict.fromkeys(models))
    if len(named) < 2:
        return [(named[0] if named else None, out)]
    return [(model, out / folder_of(model)) for model in named]


def carry_out(
    name: str,
    data: Path,
    factory: Mapping[str, Any],
    keywords: Mapping[str, Any],
    out: Path,
    *,
    quiet: bool = False,
    resume: bool = False,
) -> Run:
    """Make the task of a benchmark, and run it with progress on stderr. `keywords` are those of `runner.run`."""
    from codenav.cli import display
    from codenav.evals.benchmark import make
    from codenav.evals.runner import run
    from codenav.evals.runs import RESUME, RunFolder
    from codenav.evals.settings import Origin

    task = make(name, data, factory, python=keywords.get("python"), sandbox=keywords.get("sandbox"))
    line = ProgressLine(quiet=quiet)
    options = {key: str(value) if isinstance(value, Path) else value for key, value in factory.items()}

    def notice(text: str) -> None:
        line.rest()
        display.notice(text)

    # No bar for the index: the adapted code bases are read in a moment, and a bar would write over the line.
    try:
        return run(
            task,
            out=out,
            origin=Origin(head_options(factory), {"data": str(data.expanduser().absolute()), "options": options}),
            resume=resume,
            finished=line,
            notice=notice,
            **keywords,
        )
    except KeyboardInterrupt:
        line.rest()
        if RunFolder.holds(out):
            say(f"Finished attempts are kept. Try: {RESUME} {out}", err=True)
        raise
    finally:
        line.rest()


class ProgressLine:
    """A line with the attempts that ended and the time left: rewritten on a terminal, else one every 10 seconds."""

    def __init__(self, *, quiet: bool = False) -> None:
        """With `quiet` nothing is shown."""
        self._quiet, self._terminal = quiet, sys.stderr.isatty()
        self._last = time.monotonic()
        self._wide = 0
        self._correct = self._count = 0

    def __call__(self, progress: Progress) -> None:
        """Show the state of a run."""
        self._count += progress.result.status != ERROR
        self._correct += bool(progress.result.scores.get("correct"))
        now = time.monotonic()
        last = progress.done == progress.total
        if self._quiet or not (self._terminal or last or now - self._last >= EVERY):
            return
        self._last = now
        text = f"{progress.done} of {counted(progress.total, 'attempt')}, {self._correct} of {self._count} correct"
        text += f", {counted(progress.errors, 'error')}" if progress.errors else ""
        text += "" if last else f", {duration_text(progress.seconds_left)} left"
        if not self._terminal:
            say(text, err=True)
            return
        with contextlib.suppress(OSError):
            click.echo(f"\r{text:<{self._wide}}", nl=False, err=True)
        self._wide = len(text)

    def rest(self) -> None:
        """End the line."""
        if self._wide:
            self._wide = 0
            say("", err=True)


def show_end(run: Run) -> None:
    """Print how a run ended: statuses, the columns of each epoch, and what to do next."""
    results, head = run.results, run.folder.head
    for notice in run.folder.notices:
        say(f"Note: {notice}", err=True)
    of = run.to_dict()
    ends = ", ".join(f"{count} {status}" for status, count in of["statuses"].items()) or "none"
    say(f"{head.task}, {head.mode}, {head.model}: {counted(len(results), 'attempt')} ({ends}), {of['correct']} correct")
    for number, row in enumerate(run.table, start=1):
        cells = ", ".join(f"{column.name} {row[column.name]:.1f}" for column in run.task.columns if column.name in row)
        say(f"epoch {number}: {cells}" if len(run.table) > 1 else cells)
    reasons = Counter(flattened(one.reason, 200) for one in results if one.status == ERROR)
    for reason, count in reasons.most_common(3):
        say(f"Error: {counted(count, 'attempt')}: {reason}", err=True)
    if run.over:
        done = counted(len(run.folder.head.attempts) - run.missing, "attempt")
        say(f"The hours are over: {done} of {len(run.folder.head.attempts)}, in a fixed random order.", err=True)
    if run.missing:
        say(f"Try: codenav eval run --resume --out {run.folder.path}", err=True)
    else:
        say(f"Table: codenav eval table {run.folder.path}", err=True)
