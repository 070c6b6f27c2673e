"""The adapted code base: upstream's classes as they are, in a package that knows the state of a sample."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import codenav.evals.tracer as tracer
from codenav.core.errors import UsageError
from codenav.evals.api_bank.dialogues import Call
from codenav.evals.api_bank.inside import label, recording_key, seal

LEFT_OUT = frozenset({"__init__.py", "tool_search.py"})
"""Upstream's `__init__` imports all at once, and the tool searcher, which needs a model, belongs to another level."""
RECORDED = frozenset({"Dictionary", "Translate"})
"""APIs that ask a server. Sandboxes have no network: they answer from what the dialogues recorded."""
PACKAGE = '''"""The APIs, a class each: `from apis import GetToday`, then `GetToday().call()`."""

import importlib
import importlib.util
from pathlib import Path


def _open_state(path):
    spec = importlib.util.spec_from_file_location("apis_state", path / "state" / "inside.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.open_state(path, Path.cwd())


_MODULES = {modules}
__all__ = sorted(_MODULES)


def __getattr__(name: str):
    if name == "API":
        return importlib.import_module("apis.api").API
    if name in _MODULES:
        return getattr(importlib.import_module("apis." + _MODULES[name]), name)
    raise AttributeError(f"there is no API {{name!r}}")


_state = _open_state(Path(__file__).resolve().parent.parent)
'''
_AGAIN = "git checkout that file again"


@dataclass(frozen=True)
class Api:
    """An API as upstream describes it."""

    name: str
    module: str
    """Its file in `apis`, without `.py`."""
    description: str
    inputs: Mapping[str, Mapping[str, str]]
    """`type` and `description` of each argument."""
    outputs: Mapping[str, Mapping[str, str]]

    @property
    def prototype(self) -> str:
        """The call as descriptions show it: `GetToken().call(username, password)`."""
        return f"{self.name}().call({', '.join(self.inputs)})"

    def text(self, *, coded: bool = True) -> str:
        """The description in full, as figure 12 of the CodeNav paper has it; for JSON calls without `coded`."""
        arguments = [f"- {name} ({kind}): {text}" for name, (kind, text) in _described(self.inputs).items()]
        outputs = [f"type {kind} and description {text}" for kind, text in _described(self.outputs).values()]
        return "\n".join(
            [
                *([self.prototype, f"Import as: from apis import {self.name}"] if coded else [self.name]),
                f"Description: {self.description}",
                "Arguments:",
                *(arguments or ["- none"]),
                f'Returns: A dictionary whose "output" key has value of {"; ".join(outputs)}',
            ]
        )


def _described(parameters: Mapping[str, Mapping[str, str]]) -> dict[str, tuple[str, str]]:
    return {
        name: (one.get("type", "any"), " ".join(one.get("description", "").split())) for name, one in parameters.items()
    }


def read_apis(root: Path) -> list[Api]:
    """The APIs of a checkout in the order of their names. Their files are read, none is run.

    Raises:
        UsageError: a file is no Python, or its class has no description.
    """
    found = []
    for path in sorted((root / "apis").glob("*.py")):
        if path.name in LEFT_OUT or path.name == "api.py":
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError) as error:
            raise UsageError(f"{path} is no Python: {error}", hint=_AGAIN) from None
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        found += [_api(node, path) for node in classes if any("API" in ast.dump(base) for base in node.bases)]
    return sorted(found, key=lambda api: api.name)


def _api(node: ast.ClassDef, path: Path) -> Api:
    values = {}
    for item in node.body:
        if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
            try:
                values[item.targets[0].id] = ast.literal_eval(item.value)
            except ValueError:
                continue
    text, inputs, outputs = (values.get(name) for name in ("description", "input_parameters", "output_parameters"))
    has_call = any(isinstance(one, ast.FunctionDef) and one.name == "call" for one in node.body)
    if not (has_call and isinstance(text, str) and isinstance(inputs, dict) and isinstance(outputs, dict)):
        raise UsageError(f"{path}: {node.name} lacks `call` or its description", hint=_AGAIN)
    return Api(node.name, path.stem, " ".join(text.split()), inputs, outputs)


def code_base(root: Path, apis: Sequence[Api], calls: Iterable[Call]) -> dict[str, bytes]:
    """The files of the code base of a checkout, by relative path.

    They are `apis` (upstream's files), `init_database`, and `state`, which is not indexed. Of the dialogues' calls it
    has nothing but the answers of `RECORDED` APIs, each sealed with its own arguments.
    """
    kept = [*sorted((root / "apis").glob("*.py")), *sorted((root / "init_database").glob("*.json"))]
    modules = {api.name: api.module for api in apis}
    lines = "".join(f"    {name!r}: {module!r},\n" for name, module in sorted(modules.items()))
    return {
        **{f"{path.parent.name}/{path.name}": path.read_bytes() for path in kept if path.name not in LEFT_OUT},
        "apis/__init__.py": PACKAGE.format(modules="{\n" + lines + "}").encode(),
        "apis/_tracer.py": Path(tracer.__file__).read_bytes(),
        "state/inside.py": Path(__file__).with_name("inside.py").read_bytes(),
        "state/apis.json": json.dumps({"modules": modules, "recorded": _recordings(calls)}).encode(),
        # Search shows the APIs, and nothing of how they are given a state.
        ".gitignore": b"/state/\n/apis/_tracer.py\n",
    }


def _recordings(calls: Iterable[Call]) -> dict[str, str]:
    found = {}
    for call in calls:
        if call["name"] in RECORDED and call["result"].get("exception") is None:
            key = recording_key(call["name"], call["arguments"])
            output = json.dumps(call["result"].get("output")).encode()
            found[label(key)] = seal(key, output).hex()
    return dict(sorted(found.items()))
