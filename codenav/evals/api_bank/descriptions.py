"""The texts that the agent is given about API-Bank: descriptions of the library or of all APIs, and guidelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from codenav.core.errors import NotFound
from codenav.evals.api_bank.code_base import Api
from codenav.evals.task import Mode

LEVELS = ("none", "names", "descriptions", "prototypes", "library")
"""Levels of the description in code-use; anything else is the path of a file."""

_LIBRARY = (
    "The package `apis` is a library of APIs. Each API is a class in a file of its own, imported as "
    "`from apis import NAME`; an object of it, made without arguments, has the data of the conversation's service."
)

_GUIDELINES = (
    "Use an API by making an object of its class without arguments and calling its method `call`, and no other "
    "method: `GetToday().call()`. It returns a dictionary: `output` has the result, `exception` the reason of a "
    "failure.",
    "Every request can be answered with these APIs. Define no APIs of your own, and change none.",
    "Make only the calls that the last message of the user needs. What the conversation already tells, such as a "
    "token, need not be asked for again.",
)


def described(apis: Sequence[Api], mode: Mode, level: str) -> str:
    """The description without guidelines, built from upstream's own descriptions.

    In tool-use it describes every API in full, whatever the level, as figure 12 of the CodeNav paper does.
    """
    if mode is Mode.TOOL_USE:
        return "\n\n".join([_LIBRARY, *map(_in_full, apis)])
    if level not in LEVELS:
        return text_of(level, "description")
    if level == "none":
        return ""
    if level == "names":
        return f"{_LIBRARY}\nAPIs: {', '.join(api.name for api in apis)}"
    prototypes = level == "prototypes"
    lines = [f"- {_called(api) if prototypes else api.name}: {api.description}" for api in apis]
    return "\n".join([_LIBRARY, "All APIs:", *lines])


def guided(guidelines: str) -> str:
    """The guidelines for `default`, `none` or the path of a file. Ours ask what those of the CodeNav paper ask."""
    if guidelines == "none":
        return ""
    if guidelines != "default":
        return text_of(guidelines, "guidelines")
    return "\n".join(["Guidelines:", *(f"- {one}" for one in _GUIDELINES)])


def text_of(path: str, option: str) -> str:
    """The text of a file that an option names.

    Raises:
        NotFound: there is none.
    """
    try:
        return Path(path).expanduser().read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        raise NotFound(
            f"--{option} {path}: {error.strerror}", hint=f"--{option} takes one of the words in --help, or a file"
        ) from None


def _called(api: Api) -> str:
    return f"{api.name}().call({', '.join(api.inputs)})"


def _in_full(api: Api) -> str:
    lines = [_called(api), f"Import as: from apis import {api.name}", f"Description: {api.description}", "Arguments:"]
    lines += [f"- {name} ({_typed(one)}): {_told(one)}" for name, one in api.inputs.items()] or ["- none"]
    outputs = "; ".join(f"type {_typed(one)} and description {_told(one)}" for one in api.outputs.values())
    return "\n".join([*lines, f'Returns: A dictionary whose "output" key has value of {outputs}'])


def _typed(parameter: Mapping[str, str]) -> str:
    return parameter.get("type", "any")


def _told(parameter: Mapping[str, str]) -> str:
    return " ".join(parameter.get("description", "").split())
