"""The adapted code base: upstream's classes as they are, in a package that knows the state of a sample."""

from __future__ import annotations

import ast
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codenav.core.errors import UsageError
from codenav.evals.api_bank.dialogues import Call
from codenav.evals.api_bank.inside import label, recording_key, sealed

LEFT_OUT = frozenset({"__init__.py", "tool_search.py"})
"""Upstream's `__init__` imports all at once, and the tool searcher, which needs a model, belongs to another level."""

RECORDED = frozenset({"Dictionary", "Translate"})
"""APIs that ask a server. Sandboxes have no network: they answer from what the dialogues recorded."""

PACKAGE = '''"""The APIs, a class each: `from apis import GetToday`, then `GetToday().call()`."""

import importlib
import importlib.util
from pathlib import Path


def _opened(path):
    spec = importlib.util.spec_from_file_location("apis_state", path / "state" / "inside.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.opened(path, Path.cwd())


_MODULES = {modules}
__all__ = sorted(_MODULES)


def __getattr__(name: str):
    if name == "API":
        return importlib.import_module("apis.api").API
    if name in _MODULES:
        return getattr(importlib.import_module("apis." + _MODULES[name]), name)
    raise AttributeError(f"there is no API {{name!r}}")


_state = _opened(Path(__file__).resolve().parent.parent)
'''


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
    arguments: Sequence[str]
    """Arguments of `call` as its signature has them, `**kwargs` among them."""


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
            raise UsageError(f"{path} is no Python: {error}", hint="git checkout that file again") from None
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
    call = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "call"), None)
    described = isinstance(values.get("description"), str) and all(
        isinstance(values.get(name), dict) for name in ("input_parameters", "output_parameters")
    )
    if call is None or not described:
        raise UsageError(f"{path}: {node.name} lacks `call` or its description", hint="git checkout that file again")
    names = [item.arg for item in call.args.args[1:]] + (["**" + call.args.kwarg.arg] if call.args.kwarg else [])
    return Api(
        node.name, path.stem, " ".join(values["description"].split()), values["input_parameters"],
        values["output_parameters"], names,
    )  # fmt: skip


def write_code_base(root: Path, out: Path, *, calls: Iterable[Call], recordings: bool = True) -> Path:
    """Write the code base of a checkout into `out`, anew, and return it.

    It holds `apis` (upstream's files), `init_database`, and `state`, which is not indexed. Of the dialogues' calls it
    has nothing but the answers of `RECORDED` APIs, each sealed with its own arguments.
    """
    modules = {api.name: api.module for api in read_apis(root)}
    fresh = out.with_name(out.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    (fresh / "apis").mkdir(parents=True)
    (fresh / "state").mkdir()
    (fresh / "init_database").mkdir()
    for path in sorted((root / "apis").glob("*.py")):
        if path.name not in LEFT_OUT:
            shutil.copyfile(path, fresh / "apis" / path.name)
    for path in sorted((root / "init_database").glob("*.json")):
        shutil.copyfile(path, fresh / "init_database" / path.name)
    lines = "".join(f"    {name!r}: {module!r},\n" for name, module in sorted(modules.items()))
    _write(fresh / "apis" / "__init__.py", PACKAGE.format(modules="{\n" + lines + "}"))
    shutil.copyfile(Path(__file__).with_name("inside.py"), fresh / "state" / "inside.py")
    recorded = _recordings(calls) if recordings else {}
    _write(fresh / "state" / "apis.json", json.dumps({"modules": modules, "recorded": recorded}))
    # Search shows the APIs, and nothing of how they are given a state.
    _write(fresh / ".gitignore", "/state/\n")
    shutil.rmtree(out, ignore_errors=True)
    fresh.rename(out)
    return out


def _recordings(calls: Iterable[Call]) -> dict[str, str]:
    found = {}
    for call in calls:
        if call.name in RECORDED and call.result.get("exception") is None:
            key = recording_key(call.name, call.arguments)
            output: Any = json.dumps(call.result.get("output")).encode()
            found[label(key)] = sealed(key, output).hex()
    return dict(sorted(found.items()))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
