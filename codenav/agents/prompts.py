"""The system prompt, composed from an overview and one file per action."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from codenav.core.errors import NotFound, StorageFull, UsageError
from codenav.core.protocols import Environment

FILES = Path(__file__).with_name("prompts")
OVERVIEW = "overview"
TYPES = ("search", "code", "code_summary", "ask", "done")
"""The actions with a built-in prompt file, in the order in which a session offers them."""
NATIVE = """
# Tools

Where actions are offered to you as tools, call exactly one in each answer and leave out the tags: the name of the tool
is TYPE, its arguments are the thought and the content. Your earlier actions are shown to you in tags.
"""
"""The end of the prompt of those who may be offered native tools. It also holds where they are not."""
NO_DESCRIPTION = "No description was given. Search to see what is there."

_VARIABLE = re.compile(r"(?P<escape>\$)?\$\{(?P<name>\w+)\}")


def compose(*, description: str, environments: Sequence[Environment], folder: Path | None = None) -> str:
    """The system prompt for the given environments, in their order.

    Each action type has one file, `<type>.md`; a file in `folder` takes precedence over the built-in one of that name,
    and over the attribute `prompt` of an environment that brings its own text.
    An action's file may use the facts of its environment as `${name}`; `overview.md` may use `${description}`,
    `${types}` (the names of the types) and `${actions}` (the sections of all actions). `$${name}` stands for `${name}`
    itself.

    Raises:
        NotFound: `folder` does not exist.
        UsageError: an action has no file, or a file cannot be read or uses an unknown variable.
    """
    folder = prompt_folder(folder)
    variables = {
        "description": description.strip() or NO_DESCRIPTION,
        "types": ", ".join(item.action.type for item in environments),
        "actions": "\n\n".join(section_of(item, folder) for item in environments),
    }
    return _filled(OVERVIEW, variables, folder) + "\n"


def section_of(environment: Environment, folder: Path | None) -> str:
    """The section of an action: its prompt with the facts of its environment; raises as `compose`."""
    own = getattr(environment, "prompt", "")
    return _filled(environment.action.type, environment.facts(), folder, own=own)


def template(folder: Path | None = None) -> str:
    """The system prompt with its files joined; values that only a run knows stay `${name}`.

    Raises:
        NotFound: `folder` does not exist.
        UsageError: a file cannot be read.
    """
    folder = prompt_folder(folder)
    known = {"types": ", ".join(TYPES), "actions": "\n\n".join(_text(name, folder).strip() for name in TYPES)}
    overview = _text(OVERVIEW, folder).strip()
    return _VARIABLE.sub(lambda match: known.get(match["name"], match[0]), overview) + "\n"


def copy_prompts(folder: Path) -> list[Path]:
    """Copy the built-in prompt files into a folder for editing; return the copies.

    Raises:
        UsageError: files with these names are there already; none was written.
        StorageFull: the folder cannot be written.
    """
    copies = {source: folder / source.name for source in sorted(FILES.glob("*.md"))}
    there = [copy.name for copy in copies.values() if copy.exists()]
    if there:
        raise UsageError(
            f"{folder} already has {', '.join(there)}", hint="name another folder, or move those files away"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source, copy in copies.items():
            with copy.open("xb") as file:
                file.write(source.read_bytes())
    except OSError as error:
        raise StorageFull(
            f"cannot write prompts to {folder}: {error.strerror}", hint="name a folder that can be written"
        ) from error
    return list(copies.values())


def prompt_folder(named: str | Path | None) -> Path | None:
    """The folder of a user's prompt files, `~` expanded; None stays None.

    Raises:
        NotFound: there is no such folder.
    """
    folder = None if named is None else Path(named).expanduser()
    if folder is not None and not folder.is_dir():
        raise NotFound(f"no such prompt folder: {folder}", hint=f"codenav prompt --copy {folder}")
    return folder


def _text(name: str, folder: Path | None, own: str = "") -> str:
    if own and not (folder and (folder / f"{name}.md").is_file()):
        return own
    path = _path(name, folder)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}", hint="a prompt file is plain UTF-8 text") from error


def _filled(action: str, variables: Mapping[str, str], folder: Path | None, own: str = "") -> str:
    text = _text(action, folder, own)

    def value(match: re.Match[str]) -> str:
        name = match["name"]
        if match["escape"]:
            return f"${{{name}}}"
        if name not in variables:
            known = ", ".join(f"${{{variable}}}" for variable in variables) or "none"
            path = f"the prompt of {action!r}" if own else _path(action, folder)
            raise UsageError(
                f"{path} uses ${{{name}}}, which is not known there",
                hint=f"variables of {action}.md: {known}; for the text itself write $${{{name}}}",
            )
        return variables[name]

    return _VARIABLE.sub(value, text).strip()


def _path(name: str, folder: Path | None) -> Path:
    for place in (folder, FILES):
        if place is not None and (place / f"{name}.md").is_file():
            return place / f"{name}.md"
    raise UsageError(
        f"no prompt file for actions of type {name!r}",
        hint=f"write {name}.md into {folder or 'a folder and name it with --prompts'}",
    )
