"""`codenav eval resume`: what is missing in a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from codenav.cli.eval_options import FOLDER
from codenav.cli.options import counted, json_option, print_json
from codenav.core.errors import NotFound, UsageError


@click.command("resume")
@click.argument("run", metavar="RUN", type=FOLDER)
@click.option("--data", metavar="DIR", type=FOLDER, help="New place of the checkout, if it has moved.")
@click.option("--base-url", metavar="URL", help="New address of the model's server, if it has moved.")
@click.option("--jobs", type=click.IntRange(min=1), help="Attempts at a time.  [default: as before]")
@click.option("--epochs", type=click.IntRange(min=1), help="As before: another number is refused.")
@click.option("--model", metavar="NAME", help="Another model, with --anyway.")
@click.option("--anyway", is_flag=True, help="Go on with another version, model or server: the report names both.")
@click.option("--quiet", "-q", is_flag=True, help="Print no progress.")
@json_option
def command(
    run: Path,
    data: Path | None,
    base_url: str | None,
    jobs: int | None,
    epochs: int | None,
    model: str | None,
    anyway: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Run the attempts of RUN that have no result, with its settings. Errors are run again, nothing else twice.

    \b
    Examples:
      codenav eval resume runs/a
      codenav eval resume runs/a --jobs 16

    \b
    Exit codes: 0 every attempt has a result, 2 wrong usage, 4 some are missing, 130 interrupted.
    """
    from codenav.cli.eval_run import carry_out, shown
    from codenav.evals.runs import RunFolder

    head = RunFolder.open(run).head
    if head.own:
        raise UsageError(
            f"{run} is of a task of your own, {head.task}", hint="codenav.evals.run(task, out=…, resume=True) in Python"
        )
    if epochs not in (None, head.epochs):
        raise UsageError(
            f"{run} was made with {counted(head.epochs, 'epoch')}, not {epochs}",
            hint="leave --epochs out, or begin a new run",
        )
    place: dict[str, Any] = dict(head.place)
    given = {"base_url": base_url, "jobs": jobs}
    keywords = {**resumed(head.settings, place), **{name: value for name, value in given.items() if value}}
    keywords |= {"mode": head.mode, "model": model or head.model, "epochs": head.epochs, "shard": head.shard}
    keywords |= {
        "anyway": anyway,
        "ids": list(head.samples),
        "shows": head.settings.get("shows"),
        "price": head.settings.get("price"),
    }
    folder = data or Path(place.get("data", ""))
    if not folder.is_dir():
        raise NotFound(f"the checkout of {run} is gone: {folder}", hint="--data names it where it has moved")
    ended = carry_out(head.task, folder, place.get("options", {}), keywords, run, quiet=quiet or as_json, resume=True)
    end = shown(ended, as_json=as_json)
    if as_json:
        print_json(end)
    return 4 if end["missing"] else 0


def resumed(settings: Any, place: Any) -> dict[str, Any]:
    """Return the keywords of a session that the head of a run holds."""
    from codenav.core.execution import Resources
    from codenav.core.limits import Limits
    from codenav.evals.settings import PLACE, SessionKeywords

    names = [name for name in SessionKeywords.__annotations__ if name not in PLACE]
    kept = {name: settings[name] for name in names if settings.get(name) is not None}
    kept |= {name: place[name] for name in PLACE if place.get(name) is not None}
    resources = Resources(**settings["resources"])
    return {
        **kept,
        "limits": Limits.from_dict(settings["limits"]),
        "resources": resources,
        "jobs": place.get("jobs", 1),
    }
