"""`codenav eval run`: the samples of a benchmark, each in a session of its own."""

from __future__ import annotations

import contextlib
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
from codenav.evals.results import ERROR

if TYPE_CHECKING:
    from codenav.evals.runner import Progress, Run

EVERY = 10.0
"""Seconds between two lines of progress where stderr is no terminal."""
RESUMED = ("data", "out", "resume", "anyway", "models", "base_url", "jobs", "epochs", "quiet", "as_json")
"""The options that may go with --resume: all others stay as they were."""


@click.command("run", cls=SectionedCommand)
@click.argument("name", required=False)
@click.option("--resume", is_flag=True, help="Run what has no result in RUN, with its settings; NAME is not needed.")
@click.option("--anyway", is_flag=True, help="Resume with another version, model or server: the report names both.")
@click.option("--table", type=click.Choice(["2", "3", "4", "5"]), help="Run the rows of a table of the CodeNav paper.")
@task_options
@run_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    name: str | None,
    resume: bool,
    anyway: bool,
    table: str | None,
    data: Path | None,
    out: Path,
    models: tuple[str, ...],
    **options: Any,
) -> int:
    """Run the benchmark NAME, one episode for each sample, and keep the results in RUN.

    What is finished stays whatever happens: --resume runs the rest. A model or a sandbox that is down makes errors,
    which are counted apart and run again by it, nothing else twice.

    \b
    --table runs one row after another, each in a folder below RUN; started again, it goes on:
    2  m&m's by level of description: none, names, descriptions, prototypes, library
    3  m&m's by content of search results: prototypes, code, shorter
    4  M3ToolEval by library description: paths, and paths with a line each
    5  m&m's by model: each of --model is a row

    \b
    Examples:
      codenav eval run m3tooleval --data ~/code-act --mode code-use --model gpt-5 \\
          --epochs 3 --jobs 8 --out runs/a
      codenav eval run --resume --out runs/a
      codenav eval run api-bank --data ~/DAMO-ConvAI --prepared ~/api-bank-env --model gpt-5 \\
          --jobs 6 --out runs/c
      codenav eval run --table 2 --data ~/mnms --tasks tasks.json --sample 200 \\
          --stub-tools --model gpt-5 --out runs/table2

    \b
    Exit codes: 0 every attempt has a result, 2 wrong usage, 4 some are missing (--resume),
    130 interrupted.
    """
    given = [param.name for param in ctx.command.params if param.name and _is_given(ctx, param.name)]
    if resume:
        alien = [one for one in given if one not in RESUMED]
        if alien:
            raise click.UsageError(f"--resume keeps the settings of the run: leave out {_option(alien[0])}.")
        changes: dict[str, Any] = {one: options[one] for one in ("base_url", "jobs", "epochs") if one in given}
        changes |= {"model": models[0]} if models else {}
        runs: Iterable[Run] = [_resumed(out, data, changes, anyway, quiet=options["quiet"] or options["as_json"])]
    elif anyway or bool(name) == bool(table):
        raise click.UsageError("name a benchmark, or --table; --anyway goes with --resume.")
    elif table:
        runs = _table(table, checked_data(data), models, out, options)
    else:
        runs = _benchmark(str(name), checked_data(data), models, out, options)
    ends = []
    for run in runs:
        if not options["as_json"]:
            show_end(run)
        ends.append(run.to_dict())
    if options["as_json"]:
        print_json(ends if table or len(ends) > 1 else ends[0])
    return 4 if any(end["missing"] for end in ends) else 0


def _is_given(ctx: click.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _benchmark(name: str, data: Path, models: Sequence[str], out: Path, options: dict[str, Any]) -> Iterator[Run]:
    """Run a benchmark with each model."""
    factory, keywords = factory_options(options), run_keywords(options)
    for model, folder in folders(models, out):
        quiet = options["quiet"] or options["as_json"]
        yield carry_out(name, data, factory, {**keywords, "model": model}, folder, quiet=quiet)


def _table(table: str, data: Path, models: Sequence[str], out: Path, options: dict[str, Any]) -> Iterator[Run]:
    """Run the rows of a table of the paper that have no result yet."""
    from codenav.evals.paper import grid
    from codenav.evals.runs import RunFolder

    found = grid(table, models)
    factory = factory_options(options)
    keywords = {**run_keywords(options), "model": models[0] if models else None}
    option = found.option
    if option in factory or (option == "shows" and keywords["shows"] != "shorter"):
        raise UsageError(f"table {table} sets --{option.replace('_', '-')} itself", hint="leave it out")
    for name, value in found.rows.items():
        varied = {} if value is None else {option: value}
        of_run = option in ("shows", "model")
        folder = out / name
        if not options["as_json"]:
            say(f"{found.benchmark}: {name}", err=True)
        yield carry_out(
            found.benchmark,
            data,
            factory if of_run else {**factory, **varied},
            {**keywords, **varied} if of_run else keywords,
            folder,
            quiet=options["quiet"] or options["as_json"],
            resume=RunFolder.holds(folder),
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
            f"{out} was made with {counted(head.epochs, 'epoch')}, not {changes['epochs']}",
            hint="leave --epochs out, or begin a new run",
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
    if run.missing:
        say(f"Try: codenav eval run --resume --out {run.folder.path}", err=True)
    else:
        say(f"Report: codenav eval report {run.folder.path}", err=True)
