"""Options that the commands of `codenav eval` share, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import click

from codenav.cli.agent_options import agent_options, limits_of
from codenav.cli.options import (
    json_option,
    python_option,
    resources_of,
    store_options,
    with_options,
)
from codenav.cli.sections import Decorator
from codenav.core.errors import NotFound, UsageError

FOLDER = click.Path(path_type=Path)
NAMED_LEVELS = {
    "description": ("none", "names", "descriptions", "prototypes", "library"),
    "guidelines": ("default", "none"),
}
"""Values of options that are no files."""

data_option: Decorator = click.option(
    "--data", metavar="DIR", required=True, type=FOLDER, help="Checkout of the benchmark's repository."
)

_TASK_OPTIONS: tuple[Decorator, ...] = (
    data_option,
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

_RUN_OPTIONS: tuple[Decorator, ...] = (
    click.option("--out", metavar="RUN", required=True, type=FOLDER, help="Folder of the run."),
    click.option(
        "--mode",
        type=click.Choice(["code-use", "tool-use"]),
        default="code-use",
        show_default=True,
        help="Give the agent a library description and search, or full descriptions of all tools and no search.",
    ),
    click.option(
        "--model",
        "models",
        metavar="NAME",
        multiple=True,
        help="Model name, as for codenav run. Repeatable: a run for each.",
    ),
    click.option("--price", metavar="IN/OUT", help="Dollars for a million input and output tokens, such as 2.5/10."),
    click.option("--epochs", type=click.IntRange(min=1), default=1, show_default=True, help="Attempts at each sample."),
    click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Attempts at a time."),
    click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Run only the first N samples."),
    click.option("--ids", metavar="ID[,ID…]", help="Run only these samples."),
    click.option(
        "--shard", metavar="I/N", default="", help="Run part I of N, split by a hash of the id; see codenav eval merge."
    ),
    click.option(
        "--shows",
        type=click.Choice(["prototypes", "code", "shorter"]),
        default="shorter",
        show_default=True,
        help="Form of search results.",
    ),
    agent_options,
    click.option("--quiet", "-q", is_flag=True, help="Print no progress."),
    store_options,
    python_option,
    json_option,
)


def task_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a benchmark's factory."""
    return with_options(_TASK_OPTIONS, command)


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a run, collected by `run_keywords`."""
    return with_options(_RUN_OPTIONS, command)


def factory_options(options: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of the factory from a command's options; return those that were given, files made absolute.

    Raises:
        NotFound: a file that is named does not exist.
    """
    given = {name: options.pop(name) for name in TASK_OPTIONS}
    given = {name: value for name, value in given.items() if value is not None and value is not False}
    for name, levels in NAMED_LEVELS.items():
        if name in given and given[name] not in levels:
            path = Path(given[name]).expanduser().absolute()
            if not path.is_file():
                raise NotFound(
                    f"--{name} {given[name]}: there is no such file", hint=f"a file, or one of {', '.join(levels)}"
                )
            given[name] = str(path)
    if "tasks" in given and Path(given["tasks"]).expanduser().is_file():
        given["tasks"] = str(Path(given["tasks"]).expanduser().absolute())
    if "prepared" in given:
        given["prepared"] = given["prepared"].absolute()
    return given


def told(options: Mapping[str, Any]) -> dict[str, Any]:
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


def run_keywords(options: dict[str, Any]) -> dict[str, Any]:
    """Return a command's options as keywords of `codenav.evals.run`, but `model` and `out`."""
    from codenav.evals.settings import SessionKeywords

    resources = resources_of(options)
    plain = {name: options[name] for name in SessionKeywords.__annotations__ if options.get(name) is not None}
    plain = {name: value for name, value in plain.items() if value != ()}
    own = {name: options[name] for name in ("mode", "epochs", "jobs", "limit", "shard", "shows")}
    ids = [id.strip() for id in (options["ids"] or "").split(",") if id.strip()]
    return {
        **plain,
        **own,
        "ids": ids,
        "price": price_of(options["price"]),
        "limits": limits_of(options),
        "resources": resources,
    }


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
