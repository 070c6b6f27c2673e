"""Options in sections: the help of a command of many options has a title for each group of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

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
