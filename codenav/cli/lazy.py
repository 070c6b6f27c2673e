"""A command group whose modules are imported on demand."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from codenav.cli.former import COMMANDS


class LazyGroup(click.Group):
    """A group that imports a command when it is needed, and suggests a similar name for a typo.

    `modules` maps the name of a command to a module of this package, whose attribute `command`, or that behind a
    colon, is the command. Commands may be added to the group itself, too.
    """

    def __init__(self, *arguments: Any, modules: Mapping[str, str] | None = None, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._modules = modules or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the definition, which puts what a new user needs first."""
        return [*self._modules, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, or None."""
        if cmd_name not in self._modules:
            return super().get_command(ctx, cmd_name)
        module, _, name = self._modules[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"codenav.cli.{module}"), name or "command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command like click, but say what took the place of a former one, or suggest a similar one."""
        known = self.list_commands(ctx)
        words = " ".join(args[:2])
        if ctx.parent is None and words in COMMANDS:
            raise click.UsageError(f"{words} is {COMMANDS[words]} now.", ctx)
        if args and not args[0].startswith("-") and args[0] not in known:
            near = difflib.get_close_matches(args[0], known, n=1)
            raise click.UsageError(f"no command {args[0]!r}." + (f" Did you mean {near[0]!r}?" if near else ""), ctx)
        return super().resolve_command(ctx, args)
