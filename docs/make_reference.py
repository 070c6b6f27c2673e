"""Writes docs/reference.md from the settings and the commands of codenav: python docs/make_reference.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from codenav.cli import former
from codenav.cli.main import cli
from codenav.core.config import PARTS, SETTINGS
from codenav.core.named_models import NamedModel
from codenav.core.options import FORMER
from codenav.core.setting import Setting, settings_of

PAGE = Path(__file__).parent / "reference.md"
TITLES = {
    "model": "The model",
    "limits": "Limits of a run",
    "sandbox": "The sandbox",
    "resources": "Limits of the code",
    "tools": "Tools",
    "checks": "Checks of each step",
    "store": "The store of the indexes",
    "selection": "Order of hits",
    "graph": "Part of a tool graph",
}
HEAD = """# Reference

Written by `docs/make_reference.py`; a test compares it with the code.

## Settings

Each setting has one name. `max_steps` is `max_steps = 10` in the configuration file, `CODENAV_MAX_STEPS=10` in the
environment, `--set max_steps=10` on the command line, and `codenav.run(…, max_steps=10)` in Python. A name with a dot
stands below its section in the file (`[rerank]`, `top = 10`), and has `_` for the dot elsewhere: `--set rerank.top=10`,
`CODENAV_RERANK_TOP`, `rerank_top=10`. What few people change has no long option of its own; `--set` gives it.

The file is `config.toml` in the user's configuration directory (`codenav doctor` says where), or
`CODENAV_HOME/config.toml`. A long option wins over `--set`, that over the variable, that over the file, that over the
default. An unknown key is an error. Switches are yes or no on the command line and in variables, true or false in the
file; lists are separated by commas. What has no key belongs to one run.
"""
MODELS = """### Models of your own

A table `[models.NAME]` makes NAME a model for `--model` and for every other setting that names one. An unknown key is
an error here, too.
"""
VARIABLES = """## Variables without a key

| variable | what it is |
|---|---|
| `CODENAV_HOME` | the folder for everything that codenav writes: indexes, records, `config.toml` |
| `OPENAI_API_KEY` | the key of the model's server; masked in every record |
| `OPENAI_BASE_URL` | the server, where neither `--base-url` nor `base_url` names one |
"""


def page() -> str:
    """The text of the page."""
    commands = dict(leaves(cli, "codenav"))
    run = {option for one in commands["codenav run"].params for option in one.opts}
    parts = [HEAD]
    for name, kind in PARTS.items():
        rows = "\n".join(row(one, run) for one in settings_of(kind).values())
        parts.append(
            f"### {TITLES[name]}\n\n| key | option of run | default | what it is |\n|---|---|---|---|\n{rows}\n"
        )
    rows = "\n".join(row(one, set()).replace("`--set`", "–") for one in settings_of(NamedModel).values())
    parts.append(f"{MODELS}\n| key | option of run | default | what it is |\n|---|---|---|---|\n{rows}\n")
    parts.append(VARIABLES)
    lines = "\n".join(f"| `{name}` | {cell(one.get_short_help_str(300))} |" for name, one in commands.items())
    parts.append(f"## Commands\n\n`--on` names sources, what stands without an option is the thing itself.\n\n"
                 f"| command | what it does |\n|---|---|\n{lines}\n")  # fmt: skip
    parts.append("## Former names\n\nOptions and commands of the version before are answered with these; keys and "
                 "variables are still read.\n\n| before | now |\n|---|---|\n"
                 + "\n".join(f"| `{before}` | {cell(now)} |" for before, now in former_names()) + "\n")  # fmt: skip
    return "\n".join(parts)


def row(one: Setting, run: set[str]) -> str:
    """A row of the table of settings."""
    name = f"`{one.key}`" + ("" if one.configured else " (no key)")
    option = f"`{one.option}`" if one.option in run else "–" if one.secret else "`--set`"
    default = f"{one.default} {one.unit}".strip() if one.default[:1].isdigit() else one.default
    most = f" Values: {one.range}." if one.range and not one.choices else ""
    most = f" One of {', '.join(f'`{choice}`' for choice in one.choices)}." if one.choices else most
    return f"| {name} | {option} | {cell(default)} | {cell(one.help + most)} |"


def cell(text: str) -> str:
    """A text inside a table."""
    return text.replace("|", "\\|")


def leaves(group: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """The commands of a group and of the groups below it, by their whole names."""
    if not isinstance(group, click.Group):
        yield name, group
        return
    context = click.Context(group)
    for child in group.list_commands(context):
        found = group.get_command(context, child)
        assert found
        yield from leaves(found, f"{name} {child}")


def former_names() -> Iterator[tuple[str, str]]:
    """Names of the version before, with those of today."""
    yield from ((f"codenav {name}", f"`{now}`") for name, now in former.COMMANDS.items())
    yield from ((name, f"`{now}`") for name, now in former.OPTIONS.items())
    yield from ((name, f"`{SETTINGS[now].key}`") for name, now in FORMER.items())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
