"""A command group whose modules are imported on demand."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group that imports a command when it is needed, and suggests a similar name for a typo.

    `modules` maps the name of a command to a module of this package, whose attribute `command` is the command.
    """

    def __init__(self, *arguments: Any, modules: Mapping[str, str], **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of `modules`, which puts what a new user needs first."""
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, or None."""
        if cmd_name not in self._modules:
            return None
        command: click.Command = import_module(f"codenav.cli.{self._modules[cmd_name]}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command like click, but with a suggestion in the error."""
        if args and not args[0].startswith("-") and args[0] not in self._modules:
            near = difflib.get_close_matches(args[0], self._modules, n=1)
            raise click.UsageError(f"no command {args[0]!r}." + (f" Did you mean {near[0]!r}?" if near else ""), ctx)
        return super().resolve_command(ctx, args)
