"""`codenav completion`: shell completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    Examples:
      eval "$(codenav completion bash)"
      codenav completion fish > ~/.config/fish/completions/codenav.fish
    """
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"no completion for {shell}.")
    root = ctx.find_root().command
    if shell == "bash":
        # Bash must not end a word at the colon of `pkg:NAME`.
        click.echo("COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}")
    click.echo(found(root, {}, "codenav", "_CODENAV_COMPLETE").source())
