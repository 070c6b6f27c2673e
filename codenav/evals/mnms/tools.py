"""The 33 tools of m&m's, as a checkout describes them. Nothing of the checkout is imported or run."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codenav.core.errors import UsageError
from codenav.core.system.syntax import parsed

COMMIT = "89037953d58b14b126ad8679b1a5ce68e4fba21f"
"""The commit of RAIVNLab/mnms that the adapter was written for."""
FOLDER = "mnms"
"""The benchmark's folder in a checkout."""
DESCRIBED, FUNCTIONS, SETTINGS, MEDIA = (
    "constants.py",
    "execution/tool_api.py",
    "execution/config.py",
    "execution/data",
)
NEEDS = (DESCRIBED, FUNCTIONS, SETTINGS)
"""Files without which a folder is not the benchmark's."""
TABLE = "TOOL_METADATA"
"""The variable of `constants.py` that describes the tools."""

ANOTHER = "use a fresh checkout of https://github.com/RAIVNLab/mnms"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a tool's function."""

    name: str
    annotation: str = ""
    """Upstream's, as source text."""


@dataclass(frozen=True)
class Tool:
    """A tool: its function, and upstream's description of it."""

    name: str
    """Of the function: `image_captioning`. Plans write it with spaces."""
    description: str
    """One line."""
    parameters: Sequence[Parameter]
    """Of the function, in its order, without `ckpt`, which selects a model."""
    outputs: Sequence[tuple[str, str]]
    """Key of the returned dict, and its kind: `text`, `image`, `integer`, `object` or `list[dict]`."""

    @property
    def prototype(self) -> str:
        """The call as descriptions show it: `image_editing(image, prompt)`."""
        return f"{self.name}({', '.join(parameter.name for parameter in self.parameters)})"


def read_tools(root: Path) -> list[Tool]:
    """The tools of the benchmark at `root`, in its order.

    Raises:
        UsageError: a file cannot be read, or describes something else.
    """
    described = _table(root / DESCRIBED)
    functions = {node.name: node for node in _tree(root / FUNCTIONS).body if isinstance(node, ast.FunctionDef)}
    tools = []
    for title, entry in described.items():
        name = str(title).replace(" ", "_")
        if name not in functions:
            raise UsageError(f"{root / FUNCTIONS} has no function {name}", hint=ANOTHER)
        try:
            outputs = zip(entry["output"]["arg_name"], entry["output"]["modality"], strict=True)
            tools.append(
                Tool(
                    name=name,
                    description=" ".join(str(entry["description"]).split()),
                    parameters=_parameters(functions[name]),
                    outputs=[(str(key), str(kind)) for key, kind in outputs],
                )
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{root / DESCRIBED} describes {title!r} in another form", hint=ANOTHER) from error
    return tools


def _table(path: Path) -> dict[str, Any]:
    for node in _tree(path).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == TABLE:
            try:
                table = ast.literal_eval(node.value)
            except ValueError as error:
                raise UsageError(f"{TABLE} in {path} is no plain data", hint=ANOTHER) from error
            if isinstance(table, dict) and table:
                return table
    raise UsageError(f"{path} has no {TABLE}", hint=ANOTHER)


def _tree(path: Path) -> ast.Module:
    try:
        tree = parsed(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}", hint=ANOTHER) from error
    if tree is None:
        raise UsageError(f"{path} is no Python that {TABLE} could be read from", hint=ANOTHER)
    return tree


def _parameters(function: ast.FunctionDef) -> list[Parameter]:
    return [
        Parameter(argument.arg, ast.unparse(argument.annotation) if argument.annotation else "")
        for argument in function.args.args
        if argument.arg != "ckpt"
    ]
