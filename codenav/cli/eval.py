"""`codenav eval`: benchmarks, their runs, and reports; and the options that its commands share."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import click

from codenav.cli.lazy import LazyGroup
from codenav.cli.options import Decorator, agent_options, joined, json_option, place_options, quiet_option, section
from codenav.core.config import given_values
from codenav.core.errors import UsageError

COMMANDS: dict[str, str] = {
    "prepare": "eval_prepare",
    "run": "eval_run",
    "table": "eval_table:table",
    "merge": "eval_table:merge",
}
"""Command name to module of this package, whose attribute `command` is the command."""


@click.group("eval", cls=LazyGroup, modules=COMMANDS)
def command() -> None:
    """Run benchmarks, and report their scores beside those of the CodeNav paper.

    A benchmark's code and data are not part of codenav: --data names a checkout of its repository.

    \b
    Examples:
      codenav eval prepare
      codenav eval run m3tooleval --data ~/code-act --model gpt-5 --jobs 8 --out runs/a
      codenav eval run --resume --out runs/a
      codenav eval table runs/a --paper --html a.html
    """


FOLDER = click.Path(path_type=Path)
USES = {"code": "code-use", "tools": "tool-use"}
"""The modes that --use names."""
NAMED_LEVELS = {
    "description": ("none", "names", "descriptions", "prototypes", "library"),
    "guidelines": ("default", "none"),
}
"""Values of options that are no files."""

task_options = section(
    "Benchmark",
    click.option("--data", metavar="DIR", type=FOLDER, help="Checkout of the benchmark's repository."),
    click.option("--any-commit", is_flag=True, help="Accept a checkout of any commit."),
    click.option("--prepared", metavar="DIR", type=FOLDER, help="Folder that codenav eval prepare made."),
    click.option(
        "--description",
        metavar="LEVEL|FILE",
        help="none, names, descriptions, prototypes, library, or a file with a description of your own.  "
        "[default: library]",
    ),
    click.option(
        "--guidelines",
        metavar="none|FILE",
        help="none, or a file with guidelines of your own.  [default: ours, after the paper's]",
    ),
    click.option("--paths-only", is_flag=True, help="Describe the library by its file paths alone (m3tooleval)."),
    click.option(
        "--docstrings", is_flag=True, help="Give functions upstream's descriptions as docstrings (m3tooleval)."
    ),
    click.option("--tasks", metavar="FILE", help="Task file (mnms)."),
    click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Draw N tasks (mnms).  [default: all]"),
    click.option("--seed", type=int, metavar="N", help="Seed of the draw (mnms).  [default: 0]"),
    click.option("--stub-tools", is_flag=True, help="Use typed placeholders instead of upstream's functions (mnms)."),
)
TASK_OPTIONS = ("any_commit", "prepared", "description", "guidelines", "paths_only", "docstrings", "tasks", "sample",
                "seed", "stub_tools")  # fmt: skip
"""Keywords of a benchmark's factory, beside `data` and `python`."""

run_options: Decorator = joined(
    click.option("--out", metavar="RUN", required=True, type=FOLDER, help="Folder of the run."),
    click.option(
        "--use",
        type=click.Choice(list(USES)),
        default="code",
        show_default=True,
        help="The agent searches and writes code, or has descriptions of all tools and makes a JSON call a turn.",
    ),
    click.option(
        "--ablation",
        "ablations",
        metavar="NAME",
        multiple=True,
        help="Settings that belong together, by the names above. Repeatable: a run for each.",
    ),
    click.option(
        "--model",
        "models",
        metavar="NAME",
        multiple=True,
        help="Model name, as for codenav run. Repeatable: a run for each.",
    ),
    click.option("--price", metavar="IN/OUT", help="Dollars for a million input and output tokens, such as 2.5/10."),
    click.option(
        "--seeds",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Attempts at each sample; several are drawn warm, each with a seed of its own.",
    ),
    click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Attempts at a time."),
    click.option(
        "--limit", type=click.IntRange(min=1), metavar="N", help="Run only N samples, drawn in a fixed random order."
    ),
    click.option("--ids", metavar="ID[,ID…]", help="Run only these samples."),
    click.option(
        "--shard",
        metavar="I/N",
        default="",
        help="Run part I of N, split by a hash of the id; see codenav eval merge.",
    ),
    click.option(
        "--hours", type=click.FloatRange(min=0, min_open=True), metavar="H", help="Begin no attempt after H hours."
    ),
    click.option(
        "--shows",
        type=click.Choice(["prototypes", "docstrings", "code", "shorter"]),
        default="shorter",
        show_default=True,
        help="Form of search results.",
    ),
    agent_options,
    quiet_option,
    place_options,
    json_option,
)
"""The options of a run, collected by `run_keywords`."""


def checked_data(data: Path | None) -> Path:
    """The checkout of a benchmark. Raises UsageError where none is named."""
    if data is None:
        raise click.UsageError("Missing option '--data'.")
    return data


def factory_options(options: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of the factory from a command's options; return those that were given, files made absolute."""
    given = {name: options.pop(name) for name in TASK_OPTIONS}
    given = {name: value for name, value in given.items() if value is not None and value is not False}
    for name, levels in NAMED_LEVELS.items():
        if name in given and given[name] not in levels:
            given[name] = str(Path(given[name]).expanduser().absolute())
    if "tasks" in given and Path(given["tasks"]).expanduser().is_file():
        given["tasks"] = str(Path(given["tasks"]).expanduser().absolute())
    if "prepared" in given:
        given["prepared"] = given["prepared"].absolute()
    return given


def head_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a factory for the head of a run: of files their hash, nothing of the machine's paths."""
    found: dict[str, Any] = {"description": "library", "guidelines": "default"}
    for name, value in options.items():
        if name in NAMED_LEVELS and value not in NAMED_LEVELS[name]:
            value = f"sha256:{sha256(Path(value).read_bytes()).hexdigest()}"
        if name == "tasks":
            value = Path(value).name
        if name != "prepared":
            found[name] = value
    return found


def run_keywords(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a command's options and those of --set as keywords of `codenav.evals.run`, but `model` and `out`."""
    from codenav.evals.settings import SESSIONS

    named = {name: value for name, value in options.items() if value is not None}
    given = {name: value for name, value in {**given_values(), **named}.items() if name in SESSIONS}
    own = {name: options[name] for name in ("jobs", "limit", "shard", "shows", "hours")}
    own |= {"mode": USES[options["use"]], "epochs": options["seeds"]}
    ids = [id.strip() for id in (options["ids"] or "").split(",") if id.strip()]
    return {**given, **own, "ids": ids, "price": price_of(options["price"])}


def price_of(text: str | None) -> list[float] | None:
    """Return the dollars for a million input and output tokens.

    Raises:
        UsageError: it is not two numbers.
    """
    if text is None:
        return None
    try:
        asked, written = (float(part) for part in text.split("/"))
        if not (0 <= asked < 1e6 and 0 <= written < 1e6):
            raise ValueError
    except ValueError:
        raise UsageError(f"{text!r} is no price", hint="dollars for a million tokens in and out: 2.5/10") from None
    return [asked, written]
