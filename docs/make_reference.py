"""Writes docs/reference.md from the settings and the commands of codenav: python docs/make_reference.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from codenav.cli.main import cli
from codenav.core.config import PARTS
from codenav.core.named_models import NamedModel
from codenav.core.setting import Setting, settings_of

PAGE = Path(__file__).parent / "reference.md"
TITLES = {
    "model": "The model",
    "limits": "Limits of a run",
    "sandbox": "The sandbox",
    "resources": "Limits of the code",
    "tools": "Tools",
    "review": "Judges",
    "checks": "Checks of each step",
    "store": "The store of the indexes",
    "selection": "Order of hits",
    "graph": "Part of a tool graph",
}
HEAD = """# Reference

Every setting and every command. `docs/make_reference.py` writes this page from the code.

## Settings

Each setting has one name. `max_steps` is `max_steps = 10` in the configuration file, `CODENAV_MAX_STEPS=10` in the
environment, `--set max_steps=10` on the command line, and `codenav.run(…, max_steps=10)` in Python. A name with a dot
stands below its section in the file (`[rerank]`, `top = 10`), and has `_` for the dot elsewhere: `CODENAV_RERANK_TOP`,
`rerank_top=10`; only `--set rerank.top=10` keeps it. Some settings also have an option of `codenav run`, in brackets.

The file is `config.toml` in the user's configuration directory (`codenav doctor` says where), or
`CODENAV_HOME/config.toml`. An option wins over `--set`, that over the variable, that over the file, that over the
default. An unknown key is an error. Switches are yes or no on the command line and in variables, true or false in the
file; lists are separated by commas; a time is at most one day. Keys and passwords of servers stand in the file or a
variable, never on the command line. Settings without a key belong to one run.
"""
MODELS = """### Models of your own

A table `[models.NAME]` makes NAME a model for `--model` and for every other setting that names one. An unknown key is
an error here, too.
"""
VARIABLES = """## Variables without a key

| variable | meaning |
|---|---|
| `CODENAV_HOME` | the folder for everything that codenav writes: indexes, records, `config.toml` |
| `OPENAI_API_KEY` | the key of the model's server; masked in every record |
| `OPENAI_BASE_URL` | the server, where neither `--base-url` nor `base_url` names one |
"""
FORMER = """## Former names

The command line answers an option or command of the version before with its successor; [the
changelog](../CHANGELOG.md#taken-out-and-renamed) gives the reasons. Former keys and variables are still read.
"""


def page() -> str:
    """The text of the page."""
    commands = dict(leaves(cli, "codenav"))
    run = {option for one in commands["codenav run"].params for option in one.opts}
    parts = [HEAD]
    for name, kind in PARTS.items():
        rows = "\n".join(row(one, run) for one in settings_of(kind).values())
        parts.append(f"### {TITLES[name]}\n\n| key | default | meaning |\n|---|---|---|\n{rows}\n")
    rows = "\n".join(row(one, set()) for one in settings_of(NamedModel).values())
    parts.append(f"{MODELS}\n| key | default | meaning |\n|---|---|---|\n{rows}\n")
    parts.append(VARIABLES)
    lines = "\n".join(f"| `{name}` | {cell(one.get_short_help_str(300))} |" for name, one in commands.items())
    parts.append(f"## Commands\n\n`--on` names sources; an argument without an option is the thing itself.\n\n"
                 f"| command | purpose |\n|---|---|\n{lines}\n")  # fmt: skip
    parts.append(FORMER)
    return "\n".join(parts)


def row(one: Setting, run: set[str]) -> str:
    """A row of the table of settings."""
    name = f"`{one.key}`" + (f" (`{one.option}`)" if one.option in run else "")
    default = f"{one.default} {one.unit}".strip() if one.default[:1].isdigit() else one.default
    meaning = f"{one.help} {bounds(one)}".strip()
    return f"| {name}{'' if one.configured else ', no key'} | {cell(default)} | {cell(meaning)} |"


def bounds(one: Setting) -> str:
    """The choices, the meaning of 0 and the upper bound, where the help does not say them."""
    if one.choices:
        return f"One of {', '.join(f'`{choice}`' for choice in one.choices)}."
    zero = f"0 is {one.zero}." if one.zero and "0 is" not in one.help else ""
    most = "" if one.most is None or one.unit == "seconds" else f"At most {one.most:.0f}."
    return f"{zero} {most}".strip()


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


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
