"""Options and output functions that several commands share."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast

import click

from codenav.cli import completing
from codenav.cli.sections import Decorator, section
from codenav.core.config import Config, load_config
from codenav.core.options import STORES, SandboxOptions, StoreKeywords
from codenav.core.system.terminal_text import neutral

if TYPE_CHECKING:
    from codenav.core.blocks import CodeBlock
    from codenav.core.execution import Resources


def long_option(kind: Any, name: str) -> tuple[str, str]:
    """Return the long option of a field, and the field's name: those that `click.option` begins with."""
    [found] = [item for item in fields(kind) if item.name == name]
    return f"--{found.metadata['option']}", name


json_option: Decorator = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")


def default_of(key: str) -> str:
    """Return the default of a configuration key for a help text."""
    value = getattr(Config, key)
    if isinstance(value, bool):
        return f"[default: {'yes' if value else 'no'}]"
    return f"[default: {value:g}]" if isinstance(value, float) else f"[default: {value}]"


python_option: Decorator = click.option(
    "--python",
    metavar="PATH",
    help="Interpreter or virtual environment in which packages are found and code runs.  "
    "[default: the active virtual environment, else codenav's own]",
)

on_option: Decorator = click.option(
    "--on",
    "sources",
    metavar="SOURCE",
    multiple=True,
    required=True,
    shell_complete=completing.sources,
    help="Code base: a directory, a file, pkg:NAME, git:URL@REV, or name:NAME; tools: openapi:FILE, mcp:COMMAND, "
    "tools:FILE. Repeatable.",
)

no_rerank_option: Decorator = section(
    "Ranking",
    click.option(
        "--no-rerank",
        "rerank",
        flag_value=False,
        default=None,
        type=bool,
        help="Leave hits in the order of the index: no tool graph, encoder or rerank service.",
    ),
)

_STORE = section(
    "Store of the indexes",
    click.option("--store", type=click.Choice(STORES), help=f"Store of the indexes.  {default_of('store')}"),
    click.option(
        "--elasticsearch-url",
        metavar="URL[,URL…]",
        help="Address of the server, with scheme and port; several are nodes of one cluster.",
    ),
    click.option(
        "--elasticsearch-replicas",
        type=click.IntRange(min=0),
        metavar="N",
        help=f"Copies of each shard.  {default_of('elasticsearch_replicas')}",
    ),
    click.option(
        "--elasticsearch-shards",
        type=click.IntRange(min=1),
        metavar="N",
        help=f"Shards of each index.  {default_of('elasticsearch_shards')}",
    ),
    click.option(
        "--elasticsearch-api-key", metavar="KEY", help="API key. ps shows it: prefer CODENAV_ELASTICSEARCH_API_KEY."
    ),
    click.option("--elasticsearch-user", metavar="NAME"),
    click.option(
        "--elasticsearch-password", metavar="TEXT", help="Password. ps shows it: prefer CODENAV_ELASTICSEARCH_PASSWORD."
    ),
    click.option(
        "--elasticsearch-ca-file", metavar="FILE", help="Certificate of the authority that signed the server's (PEM)."
    ),
)
_VECTORS = section(
    "Ranking",
    click.option(
        "--vectors/--no-vectors",
        default=None,
        help=f"Let plain words also find words of similar meaning.  {default_of('vectors')}",
    ),
)


def with_options(options: Sequence[Decorator], command: Callable[..., Any]) -> Callable[..., Any]:
    """Add options to a command, in the order of its help page."""
    for option in reversed(options):
        command = option(command)
    return command


def store_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the store. Their values are the keywords of `StoreOptions`, collected by `store_of`."""
    return with_options((_VECTORS, _STORE), command)


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of commands that read an index: those for `display.opening`, and `as_json`."""
    no_refresh = click.option(
        "--no-refresh", is_flag=True, help="Use the index as it is, without looking for changed files."
    )
    return no_refresh(store_options(python_option(json_option(command))))


def store_of(options: dict[str, Any]) -> StoreKeywords:
    """Remove the options of the store from a command's options, and return them as keywords."""
    keywords: dict[str, Any] = {name: options.pop(name) for name in StoreKeywords.__annotations__}
    return cast(StoreKeywords, keywords)


_SANDBOX = section(
    "Sandbox",
    click.option("--image", metavar="NAME", help="Docker image.  [default: the one built for the sources]"),
    click.option(
        "--network",
        type=click.Choice(["none", "host", "bridge"]),
        help="Network of the code: host with bubblewrap or process, bridge with docker.  "
        "[default: none; process cannot cut it off]",
    ),
    click.option("--env", metavar="NAME", multiple=True, help="Environment variable passed to the code. Repeatable."),
    click.option(
        *long_option(SandboxOptions, "mounts"),
        metavar="DIR[:rw]",
        multiple=True,
        help="Folder that the code sees live, at the same path; read-only without :rw. Repeatable.",
    ),
    click.option("--memory", metavar="SIZE", help=f"Memory of the whole sandbox.  {default_of('memory')}"),
    click.option("--cpus", type=float, metavar="N", help=f"Processors.  {default_of('cpus')}"),
    click.option(
        "--pids", type=click.IntRange(min=1), metavar="N", help=f"Most processes and threads.  {default_of('pids')}"
    ),
    click.option("--gpus", metavar="all|N|ID[,ID…]", help="GPUs, with docker."),
    click.option(
        "--runtime",
        metavar="NAME",
        help="Runtime of the Docker engine, such as runsc for gVisor.  [default: the engine's]",
    ),
)


def sandbox_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of commands that start a sandbox: fields of `SandboxOptions`, and those of `resources_of`."""
    code_timeout = click.option(
        "--code-timeout",
        type=Seconds(min=0, min_open=True),
        metavar="SECONDS",
        help=f"Time limit of one step of code.  {default_of('code_timeout')}",
    )
    return with_options((_SANDBOX, section("Sandbox", code_timeout)), command)


def resources_of(options: dict[str, Any]) -> Resources:
    """Remove the limits of a sandbox from a command's options, and return them with configured values for the rest.

    Raises:
        UsageError: a limit is invalid.
    """
    return load_config().resources(
        memory=options.pop("memory"),
        cpus=options.pop("cpus"),
        pids=options.pop("pids"),
        code_timeout=options.pop("code_timeout"),
    )


class Seconds(click.FloatRange):
    """A parameter type for seconds: a number, not `inf` or `nan`, of at most a day."""

    name = "seconds"

    def __init__(self, *, min: float, min_open: bool = False) -> None:
        super().__init__(min=min, max=86_400, min_open=min_open)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert the value like click, and refuse `nan`, which would pass every comparison of the range."""
        seconds = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return seconds


_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


class Duration(click.ParamType[float]):
    """A parameter type for durations with a unit: `30m`, `1h`, `30d`, `2w`. Without a unit they are in seconds."""

    name = "duration"

    def __init__(self, *, unit: bool = False) -> None:
        """With `unit`, a value without a unit is refused."""
        self._unit = unit

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Convert the value to seconds."""
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?) ?([smhdw]?)", str(value).strip().lower())
        if match is None or (self._unit and not match[2]):
            self.fail(f"{value!r} is no duration such as 30m, 1h or 30d.", param, ctx)
        return float(match[1]) * _UNITS[match[2]]


def print_json(document: Any) -> None:
    """Print an indented JSON document on stdout."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def counted(number: int, what: str) -> str:
    """Return a number with a noun: `1 file`, `2 files`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def sized(size: int) -> str:
    """Return a size for a person: `12 KiB`, `3.4 MiB`, `1.2 GiB`."""
    if size < 1 << 20:
        return f"{-(-size // 1024)} KiB"
    return f"{size / (1 << 20):.1f} MiB" if size < 1 << 30 else f"{size / (1 << 30):.1f} GiB"


def one_line(name: str) -> str:
    """Return a name from outside for a line of output, with line ends and tabs escaped."""
    return name.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def block_line(block: CodeBlock, line: int, *, tagged: bool = False, imported: bool = False) -> str:
    """Return kind, name and place of a block in one line; `tagged` adds its source, `imported` its import line."""
    place = one_line(f"{block.path}:{line}") + (f"  {one_line(block.source)}" if tagged else "")
    if imported and block.import_line:
        place = f"{one_line(block.import_line)}  {place}"
    return f"{block.kind.value:<10} {one_line(block.qualname or block.name)}  {place}"


def signature_line(block: CodeBlock) -> str:
    """Return the signature in one line of bounded length."""
    return " ".join(block.signature.split())[:160]


def say(text: str, *, err: bool = False) -> None:
    """Print a line for a person. Names and texts in it are data: control sequences are shown as escapes.

    Errors of stderr are ignored: they must not cost the answer on stdout.
    """
    with contextlib.suppress(*([OSError] if err else [])):
        click.echo(neutral(text), err=err)
