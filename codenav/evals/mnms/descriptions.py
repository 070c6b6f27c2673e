"""The texts that tell the agent about the tools, at each level; and the guidelines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from codenav.core.errors import NotFound, UsageError
from codenav.evals.mnms.programs import MODULE, PACKAGE
from codenav.evals.mnms.tools import Tool
from codenav.evals.task import Mode

LEVELS = ("none", "names", "descriptions", "prototypes", "library")
"""CodeNav paper, table 2. Any other word is the path of a file."""
FILES = Path(__file__).parent
IMPORTED = f"from {PACKAGE}.{MODULE} import …"


def description(mode: Mode, level: str, guidelines: str, tools: Sequence[Tool]) -> str:
    """The text for the prompt: the description for a mode, with the guidelines after it.

    In the mode `tool-use` every tool is described in full, whatever the level. `guidelines` is `default`, `none`, or
    the path of a file.

    Raises:
        NotFound, UsageError: a file that is named cannot be read.
    """
    told = full(tools) if mode is Mode.TOOL_USE else _at_level(level, tools)
    return "\n\n".join(part.strip() for part in (told, _guidelines(mode, guidelines)) if part.strip())


def full(tools: Sequence[Tool]) -> str:
    """Full descriptions, one line a tool (CodeNav paper, figure 10)."""
    lines = [f"{tool.prototype} -> {', '.join(key for key, _ in tool.outputs)}: {tool.description}" for tool in tools]
    example = next((tool for tool in tools if len(tool.parameters) == len(tool.outputs) == 1), tools[0])
    key = example.outputs[0][0]
    return "\n".join(
        [
            f"These functions are there (`{IMPORTED}`):",
            *lines,
            "",
            "Each function returns a dict. Its keys are the names after `->`:",
            f"output = {example.prototype}",
            f"{key} = output[{key!r}]",
        ]
    )


def _at_level(level: str, tools: Sequence[Tool]) -> str:
    if level == "none":
        return ""
    if level == "library":
        return (FILES / "library.md").read_text(encoding="utf-8")
    lines = {
        "names": [tool.name for tool in tools],
        "descriptions": [f"{tool.name}: {tool.description}" for tool in tools],
        "prototypes": [f"{tool.prototype}: {tool.description}" for tool in tools],
    }
    return (
        "\n".join(lines[level]) if level in lines else _file(level, f"--description is {', '.join(LEVELS)} or a file")
    )


def _guidelines(mode: Mode, named: str) -> str:
    if named == "none":
        return ""
    if named != "default":
        return _file(named, "--guidelines is default, none or a file")
    names = ["guidelines.md", *(["guidelines_search.md"] if mode is Mode.CODE_USE else [])]
    return "\n".join((FILES / name).read_text(encoding="utf-8") for name in names)


def _file(named: str, hint: str) -> str:
    path = Path(named).expanduser()
    if not path.is_file():
        raise NotFound(f"no such file: {named}", hint=hint)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}", hint="a description is plain UTF-8 text") from error
