"""`codenav prompt`: the instructions to the model, and how to replace them."""

from __future__ import annotations

from pathlib import Path

import click

from codenav.cli.options import json_option, print_json, say


@click.group("prompt")
def command() -> None:
    """Show what the model is told, and copy it to change it.

    \b
    Examples:
      codenav prompt show
      codenav prompt copy my-prompts/
      codenav run "…" --on . --prompts my-prompts/
    """


@command.command("show")
@click.option(
    "--prompts",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder with prompt files of your own, which replace ours.",
)
@json_option
def show(prompts: Path | None, as_json: bool) -> None:
    """Print the system prompt. What only a run can tell stands as ${name}.

    The prompt of a run, whole, is in its record: codenav episodes show last --prompt.

    \b
    Examples:
      codenav prompt show --prompts my-prompts/
    """
    from codenav.agents.prompts import prompt_folder, template
    from codenav.core.config import load_config

    text = template(prompts or prompt_folder(load_config().prompts or None))
    if as_json:
        print_json({"prompt": text})
    else:
        say(text.rstrip("\n"))


@command.command("copy")
@click.argument("folder", type=click.Path(path_type=Path))
@json_option
def copy(folder: Path, as_json: bool) -> None:
    """Copy the prompt files into FOLDER. Those that you keep there win over ours; delete the rest.

    \b
    Examples:
      codenav prompt copy my-prompts/
    """
    from codenav.agents.prompts import copy_prompts

    copies = copy_prompts(folder)
    if as_json:
        print_json([str(path) for path in copies])
        return
    for path in copies:
        say(f"wrote {path}")
