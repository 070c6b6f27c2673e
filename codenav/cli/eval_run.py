"""`codenav eval run`: the samples of a benchmark, each in a session of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codenav.cli.eval_options import factory_options, run_keywords, run_options, task_options, told
from codenav.cli.options import print_json, say
from codenav.cli.sections import SectionedCommand

if TYPE_CHECKING:
    from codenav.evals.runner import Run


@click.command("run", cls=SectionedCommand)
@click.argument("name")
@task_options
@run_options
def command(name: str, data: Path, out: Path, models: tuple[str, ...], **options: Any) -> int:
    """Run the benchmark NAME, one episode for each sample, and keep the results in RUN.

    What is finished stays whatever happens: codenav eval resume RUN runs the rest. A model or a sandbox that is down
    makes errors, which are counted apart and run again by resume.

    \b
    Examples:
      codenav eval run m3tooleval --data ~/code-act --mode code-use --model gpt-5 \\
          --epochs 3 --jobs 8 --out runs/a
      codenav eval run api-bank --data ~/DAMO-ConvAI --prepared ~/api-bank-env --model gpt-5 \\
          --jobs 6 --out runs/c
      codenav eval run mnms --data ~/mnms --tasks test_human_verified_filtered.json --sample 200 \\
          --stub-tools --model gpt-5 --out runs/b

    \b
    Exit codes: 0 every attempt has a result, 2 wrong usage, 4 some are missing (codenav eval resume),
    130 interrupted.
    """
    factory = factory_options(options)
    keywords = run_keywords(options)
    quiet, as_json = options["quiet"], options["as_json"]
    ends = []
    for model, folder in folders(models, out):
        run = carry_out(name, data, factory, {**keywords, "model": model}, folder, quiet=quiet or as_json)
        ends.append(shown(run, as_json=as_json))
    if as_json:
        print_json(ends[0] if len(ends) == 1 else ends)
    return 4 if any(end["missing"] for end in ends) else 0


def folders(models: tuple[str, ...], out: Path) -> list[tuple[str | None, Path]]:
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
    from codenav.cli.eval_progress import ProgressLine
    from codenav.evals.registry import make
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
            origin=Origin(told(factory), {"data": str(data.expanduser().absolute()), "options": options}),
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


def shown(run: Run, *, as_json: bool) -> dict[str, Any]:
    """Print the end of a run for a person, unless it is wanted as JSON, and return its document."""
    from codenav.cli.eval_progress import document, show_end

    if not as_json:
        show_end(run)
    return document(run, run.results)
