"""Options that several commands share, made from the settings of `codenav.core`, and functions for output."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from codenav.cli import completing
from codenav.core.config import SETTINGS, set_value
from codenav.core.setting import Setting
from codenav.core.system.terminal_text import neutral

if TYPE_CHECKING:
    from codenav.core.blocks import CodeBlock

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

_TITLE = "codenav_section"


class SectionedCommand(click.Command):
    """A command whose help lists the options of each `section` below its title, behind those of none."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, the sections in the order in which they begin."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)):
                sections.setdefault(getattr(param, _TITLE, "Options"), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def section(title: str, *options: Decorator) -> Decorator:
    """Return a decorator that adds options, in this order, to a section of a command's help."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
            # Where click keeps the options of a function that is no command yet, the last one added at the end.
            setattr(vars(command)["__click_params__"][-1], _TITLE, title)
        return command

    return add


def joined(*options: Decorator) -> Decorator:
    """Return a decorator that adds options in the order of the help page."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


class Value(click.ParamType[Any]):
    """The parameter type of a setting."""

    def __init__(self, setting: Setting) -> None:
        self.name = setting.kind
        self._setting = setting

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert the text of the command line. Raises UsageError."""
        return self._setting.parse(value, self._setting.option) if isinstance(value, str) else value


def setting_option(keyword: str, help: str = "") -> Decorator:
    """Return the option of a setting. Its value is a keyword of `codenav.run`, None where it is not given."""
    one = SETTINGS[keyword]
    several = one.kind == "list"
    kind = click.Choice(one.choices) if one.choices else None if several else Value(one)
    default = "" if one.default == "none" else f"  [default: {one.default}]"
    return click.option(
        one.option,
        keyword,
        type=kind,
        metavar=one.metavar or None,
        multiple=several,
        callback=(lambda ctx, param, values: list(values) or None) if several else None,
        help=f"{help or one.help}{default}",
    )


def setting_options(title: str, *keywords: str) -> Decorator:
    """Return the options of settings, in a section of the help."""
    return section(title, *map(setting_option, keywords))


def _set(ctx: click.Context, param: click.Parameter, pairs: tuple[str, ...]) -> None:
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals:
            raise click.BadParameter(f"{pair!r} is not KEY=VALUE.", ctx, param)
        set_value(key, text)


def _keys(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    found = [one for one in SETTINGS.values() if one.configured and one.key.startswith(incomplete)]
    return [CompletionItem(f"{one.key}=", help=one.help) for one in found]


set_option: Decorator = click.option(
    "--set",
    "pairs",
    metavar="KEY=VALUE",
    multiple=True,
    expose_value=False,
    callback=_set,
    shell_complete=_keys,
    help="Any setting of docs/reference.md for this command, such as rerank.top=10. Repeatable.",
)
json_option: Decorator = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
quiet_option: Decorator = click.option("--quiet", "-q", is_flag=True, help="Print no progress.")
no_refresh_option: Decorator = click.option(
    "--no-refresh", is_flag=True, help="Use the state that was read last, without looking for changes."
)
python_option = setting_option("python")
store_option = setting_option("store")
base_url_option = setting_option("base_url")


def on_option(required: bool = True) -> Decorator:
    """Return the option that names sources."""
    return click.option(
        "--on",
        "sources",
        metavar="SOURCE",
        multiple=True,
        required=required,
        shell_complete=completing.sources,
        help="Code base: a directory, a file, pkg:NAME, git:URL@REV, or name:NAME; tools: openapi:FILE, mcp:COMMAND, "
        "tools:FILE. Repeatable.",
    )


place_options = joined(store_option, python_option, set_option)
"""The options of commands that open a store."""
reading_options = joined(no_refresh_option, place_options)
"""The options of commands that read an index: those for `display.opening`."""
sandbox_options = setting_options(
    "Sandbox", "sandbox", "image", "network", "env", "mount", "memory", "cpus", "code_timeout"
)
tool_options = setting_options("Tools", "secret", "allow", "approve", "server")
agent_options = joined(
    setting_options("Model", "base_url", "prompts", "profile", "action_format", "tries"),
    setting_options("Limits", "max_steps", "max_seconds", "max_tokens", "max_questions"),
    sandbox_options,
    tool_options,
)
"""The options of commands that run an agent, but for its model."""


_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


class Duration(click.ParamType[float]):
    """A parameter type for durations with a unit: `30m`, `1h`, `30d`, `2w`. Without a unit they are in seconds."""

    name = "duration"

    def __init__(self, *, unit: bool = False, least: float = 0, most: float = math.inf) -> None:
        """With `unit`, a value without a unit is refused; `least` and `most` are seconds."""
        self._unit, self._least, self._most = unit, least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Convert the value to seconds."""
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?) ?([smhdw]?)", str(value).strip().lower())
        if match is None or (self._unit and not match[2]):
            self.fail(f"{value!r} is no duration such as 30m, 1h or 30d.", param, ctx)
        seconds = float(match[1]) * _UNITS[match[2]]
        if not self._least <= seconds <= self._most:
            self.fail(f"{value!r} is not from {self._least:g} to {self._most:g} seconds.", param, ctx)
        return seconds


def print_json(document: Any) -> None:
    """Print an indented JSON document on stdout."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def counted(number: int, what: str) -> str:
    """Return a number with a noun: `1 file`, `2 files`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def duration_text(seconds: float) -> str:
    """Return a time for a person: `40 s`, `12 min`, `2 h 5 min`, `3 d`."""
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f} s"
    if minutes < 100:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes < 2880 else f"{minutes / 1440:.0f} d"


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


def leave_terminal() -> None:
    """Put /dev/null in place of a terminal that is gone, since whatever is written there would be an error."""
    for number in range(3):
        if stat.S_ISCHR(os.fstat(number).st_mode) and not os.isatty(number):
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, number)
            os.close(null)


def say(text: str, *, err: bool = False) -> None:
    """Print a line for a person. Names and texts in it are data: control sequences are shown as escapes.

    Errors of stderr are ignored: they must not cost the answer on stdout.
    """
    with contextlib.suppress(*([OSError] if err else [])):
        click.echo(neutral(text), err=err)
