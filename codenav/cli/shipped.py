"""`codenav prompt`, `schema`, `completion`: what ships with codenav, printed."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import get_completion_class

from codenav.cli import completing
from codenav.cli.options import json_option, print_json, say, set_option, setting_option

SHELLS = ("bash", "zsh", "fish")


@click.command("prompt")
@click.option(
    "--copy",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Copy the prompt files there. Those that you keep in it win over ours; delete the rest.",
)
@setting_option("prompts")
@set_option
@json_option
def prompt(folder: Path | None, prompts: str | None, as_json: bool) -> None:
    """Print the system prompt, or copy its files to change them. What only a run can tell stands as ${name}.

    The prompt of a run, whole, is in its record: codenav episodes show last --prompt.

    \b
    Examples:
      codenav prompt
      codenav prompt --copy my-prompts/
      codenav run "…" --on . --prompts my-prompts/
    """
    from codenav.agents.prompts import copy_prompts, prompt_folder, template
    from codenav.core.config import load_config

    if folder is not None:
        copies = copy_prompts(folder)
        if as_json:
            print_json([str(path) for path in copies])
        for path in [] if as_json else copies:
            say(f"wrote {path}")
        return
    text = template(prompt_folder(prompts or load_config().model.prompts or None))
    if as_json:
        print_json({"prompt": text})
    else:
        say(text.rstrip("\n"))


@click.command("schema")
@click.argument("name", required=False, shell_complete=completing.schemas)
def schema(name: str | None) -> None:
    """Print the JSON Schema NAME; without NAME, the names.

    They describe what --json prints, and the tool set files that tools:FILE reads (toolset).

    \b
    Examples:
      codenav schema
      codenav schema episode
      codenav schema toolset
    """
    from codenav.core import schemas

    if name is None:
        click.echo("\n".join(schemas.names()))
    else:
        print_json(schemas.load(name))


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
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
