"""The 33 tools of m&m's as a checkout describes them, and the adapted code base, in which placeholders may stand in.

Nothing of the checkout is imported or run.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codenav.core.errors import Unavailable, UsageError
from codenav.core.system.interpreter import find_interpreter
from codenav.core.system.syntax import parsed
from codenav.evals.benchmark import docstring, with_docstrings
from codenav.evals.mnms.programs import MODULE, PACKAGE

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


PROBE_SECONDS = 60.0
"""Time for an interpreter to look for the packages; it imports none of them."""
_MEDIA_KINDS = (".jpg", ".jpeg", ".png", ".flac", ".wav", ".txt", ".doc", ".docx")
_PROBE = """
import importlib.util, sys
print(" ".join(name for name in sys.argv[1:] if importlib.util.find_spec(name) is None))
"""
_TYPES = {"Dict": "dict", "List": "list", "Image.Image": "str"}
_KEY = re.compile(r"os\.environ\[([^]]+)\]")


def real_files(root: Path, tools: Sequence[Tool]) -> dict[str, bytes]:
    """Upstream's functions and settings, and the media that requests name.

    Raises:
        UsageError: a file of the checkout is not as expected.
    """
    try:
        source = (root / FUNCTIONS).read_text(encoding="utf-8")
        settings = (root / SETTINGS).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read the functions in {root}: {error}", hint=ANOTHER) from error
    # Importing the functions must not need keys that most of them never use.
    settings = _KEY.sub(r'os.environ.get(\1, "")', settings)
    media = "\nDATA_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data')\n"
    data = [path for path in sorted((root / MEDIA).glob("*")) if path.suffix.lower() in _MEDIA_KINDS and path.is_file()]
    return {
        f"{PACKAGE}/__init__.py": b"",
        f"{PACKAGE}/{MODULE}.py": with_docstrings(source, {tool.name: tool.description for tool in tools}).encode(),
        f"{PACKAGE}/config.py": (settings.rstrip() + "\n" + media).encode(),
        **{f"{PACKAGE}/data/{path.name}": path.read_bytes() for path in data},
    }


def placeholder_files(tools: Sequence[Tool]) -> dict[str, bytes]:
    """Functions with upstream's signatures that return placeholders."""
    lines = [
        '"""Functions for images, text and audio."""',
        "",
        "from typing import Dict, List, Union",
        "",
        f"from {PACKAGE}.placeholders import results",
        *(line for tool in tools for line in ["", "", *_placeholder(tool)]),
    ]
    return {
        f"{PACKAGE}/__init__.py": b"",
        f"{PACKAGE}/{MODULE}.py": ("\n".join(lines) + "\n").encode(),
        f"{PACKAGE}/placeholders.py": Path(__file__).with_name("placeholders.py").read_bytes(),
    }


def missing_packages(root: Path, python: Path | None) -> list[str]:
    """The packages that upstream's functions import and an interpreter lacks. None is imported.

    Raises:
        NotFound, UsageError: there is no such interpreter.
    """
    tree = parsed((root / FUNCTIONS).read_text(encoding="utf-8"))
    names: list[str] = []
    for node in tree.body if tree else ():
        if isinstance(node, ast.Import):
            names += [alias.name.split(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.append(node.module.split(".")[0])
    found = find_interpreter(python)
    try:
        done = subprocess.run(
            [str(found.executable), "-I", "-c", _PROBE, *dict.fromkeys(names)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            check=True,
            cwd="/",
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise Unavailable(f"cannot ask {found.executable} for its packages: {error}", hint="--python PATH") from error
    return done.stdout.split()


def _placeholder(tool: Tool) -> list[str]:
    parameters = ", ".join(_declaration(parameter) for parameter in tool.parameters)
    outputs = ", ".join(f'"{key}": "{kind}"' for key, kind in tool.outputs)
    checked = [f"{one.name}=({one.name}, {types})" for one in tool.parameters if (types := _types(one.annotation))]
    return [
        f"def {tool.name}({parameters}) -> Dict:",
        *docstring(tool.description, "    "),
        f"    return results({', '.join([f'{{{outputs}}}', *checked])})",
    ]


def _declaration(parameter: Parameter) -> str:
    # An image is the name of a file here; upstream's functions also take one that is loaded.
    plain = parameter.annotation.replace("Union[str, Image.Image]", "str")
    return f"{parameter.name}: {plain}" if plain else parameter.name


def _types(annotation: str) -> str:
    """The types that `isinstance` compares with, as source text; empty for none."""
    inside = annotation.removeprefix("Union[").removesuffix("]") if annotation.startswith("Union[") else annotation
    names = [part.strip().split("[")[0] for part in inside.split(", ")] if inside else []
    # A whole number is a float to a type checker, and none to `isinstance`.
    names += ["int"] if "float" in names else []
    names = list(dict.fromkeys(_TYPES.get(name, name) for name in names))
    return names[0] if len(names) == 1 else f"({', '.join(names)})" if names else ""
