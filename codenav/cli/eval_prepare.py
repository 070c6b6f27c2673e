"""`codenav eval prepare`: the benchmarks, and what each needs before it can run."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click

from codenav.cli import display
from codenav.cli.eval import FOLDER, checked_data, factory_options, task_options
from codenav.cli.options import SectionedCommand, json_option, print_json, python_option, say
from codenav.core.errors import UsageError


@click.command("prepare", cls=SectionedCommand)
@click.argument("name", required=False)
@task_options
@click.option("--out", metavar="DIR", type=FOLDER, help="New folder, or one that this command made before.")
@click.option("--selfcheck", is_flag=True, help="Replay the expected answers, which needs no model.")
@python_option
@json_option
def command(
    name: str | None,
    data: Path | None,
    out: Path | None,
    selfcheck: bool,
    python: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Write the adapted code base of the benchmark NAME, and make the environment that it needs.

    Without NAME the benchmarks are listed, each with the repository that --data names a checkout of.

    Below DIR are code-use, tool-use and no-search, the folders that the agent would be given, each with its description
    in a text file beside it, and the environment of benchmarks that need one: --prepared DIR names it to the other
    commands. Expected answers are not in it.

    --selfcheck compares the figures of the expected answers with those that are known. One that differs means that the
    checkout, the environment or the scorers are not those that the known scores belong to.

    \b
    Examples:
      codenav eval prepare
      codenav eval prepare m3tooleval --data ~/code-act --out m3
      codenav eval prepare api-bank --data ~/DAMO-ConvAI --out ~/api-bank-env
      codenav eval prepare m3tooleval --data ~/code-act --selfcheck

    \b
    Exit codes: 0 done, 1 a figure differs, 2 wrong usage, 4 something is missing.
    """
    if name is None:
        _list(as_json)
        return 0
    if (out is None) != selfcheck:
        raise click.UsageError("name a folder with --out, or --selfcheck.")
    data = checked_data(data)
    factory = factory_options(options)
    if out is None:
        return _selfcheck(name, data, factory, python, as_json)
    if as_json:
        raise click.UsageError("--json goes with --selfcheck, or without a NAME.")
    _prepare(name, data, factory, python, out.expanduser().absolute())
    return 0


def _list(as_json: bool) -> None:
    from codenav.evals.benchmark import BENCHMARKS

    if as_json:
        rows = [{"name": name, "about": one.about, "checkout": one.checkout} for name, one in BENCHMARKS.items()]
        print_json({"benchmarks": rows})
        return
    for name, one in BENCHMARKS.items():
        say(f"{name:<12} {one.about}")
        say(f"{'':<12} {one.checkout}")


def _prepare(name: str, data: Path, factory: dict[str, Any], python: str | None, out: Path) -> None:
    from codenav.evals.benchmark import make
    from codenav.evals.task import Mode

    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is not a folder", hint="name another one with --out")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make {out}: {error.strerror}", hint="name another folder with --out") from None
    task = make(name, data, factory, python=python)
    prepared = task.prepare(out, notice=display.notice)
    if prepared:
        task = make(name, data, {**factory, "prepared": out}, python=python)
    for mode in Mode:
        setting = task.setting(mode, out / mode.value)
        (out / f"{mode.value}.txt").write_text(setting.description, encoding="utf-8")
        say(f"{mode.value}: {', '.join(str(path) for path in setting.on)}")
    if prepared:
        say(f"Run it: codenav eval run {name} --data {data} --prepared {out} --out RUN", err=True)


def _selfcheck(name: str, data: Path, factory: dict[str, Any], python: str | None, as_json: bool) -> int:
    from codenav.evals.benchmark import make

    task = make(name, data, factory, python=python)
    with tempfile.TemporaryDirectory(prefix="codenav-selfcheck-") as folder:
        checks = task.selfcheck(Path(folder), notice=display.notice)
    if as_json:
        rows = [one.to_dict() for one in checks]
        print_json({"task": name, "ok": all(one.ok for one in checks), "checks": rows})
    else:
        for one in checks:
            known = "" if one.ok else f", not {_figure_text(one.expected)}"
            say(f"{'ok  ' if one.ok else 'FAIL'}  {one.name}: {_figure_text(one.found)}{known}")
            for line in one.detail.splitlines():
                say(f"      {line}")
    return 0 if all(one.ok for one in checks) else 1


def _figure_text(figure: Any) -> str:
    """A figure for a person; of counts by name a list."""
    return "; ".join(f"{count} {name}" for name, count in figure.items()) if isinstance(figure, dict) else str(figure)
