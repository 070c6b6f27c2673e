"""Import roots: the folders that the files of a tree are imported from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from codenav.core.system.interpreter import Interpreter
from codenav.indexers.sources import resolve

Tree = Callable[[Mapping[str, str | bytes]], Path]

PROJECT = "[project]\nname = 'x'\n"
TEST = "from app.pricing import price\n"
CASES: dict[str, tuple[Mapping[str, str | bytes], Mapping[str, str]]] = {
    "a project below": (
        {"services/backend/pyproject.toml": PROJECT, "services/backend/app/pricing.py": ""},
        {"services/backend/app/pricing.py": "app.pricing"},
    ),
    "files that import each other": (
        {"services/backend/app/pricing.py": "", "services/backend/test_pricing.py": TEST},
        {"services/backend/app/pricing.py": "app.pricing", "services/backend/test_pricing.py": "test_pricing"},
    ),
    "the first folder without __init__.py": (
        {"services/backend/app/__init__.py": "", "services/backend/app/pricing.py": ""},
        {"services/backend/app/pricing.py": "app.pricing"},
    ),
    "scripts that import each other": (
        {"scripts/run.py": "from helper import f", "scripts/helper.py": "", "app/main.py": "import app.core"},
        {"scripts/helper.py": "helper", "app/main.py": "app.main"},
    ),
    "packages in a folder of the project": (
        {"a/setup.cfg": "[options.packages.find]\nwhere = lib\n", "a/lib/one/__init__.py": "",
         "b/setup.py": "setup(package_dir={'': 'python'})", "b/python/two.py": "",
         "c/pyproject.toml": "[tool.setuptools.packages.find]\nwhere = ['code']\n", "c/code/three.py": "",
         "d/pyproject.toml": PROJECT, "d/src/four/__init__.py": ""},
        {"a/lib/one/__init__.py": "one", "b/python/two.py": "two", "c/code/three.py": "three",
         "d/src/four/__init__.py": "four"},
    ),
    "a namespace package": (
        {"google/cloud/st/__init__.py": "", "main.py": "from google.cloud.st import s"},
        {"google/cloud/st/__init__.py": "google.cloud.st"},
    ),
    "a module that has the name of one of Python's": (
        {"tools/json.py": "", "tools/run.py": "import json\nimport helper\n", "tools/helper.py": ""},
        {"tools/helper.py": "tools.helper"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES)
def test_modules_by_the_folder_that_they_are_imported_from(kind: str, tree: Tree, interpreter: Interpreter) -> None:
    files, modules = CASES[kind]
    source = resolve(str(tree(files)), interpreter)
    assert {path: source.module_of(path) for path in modules} == modules
    assert source.notice == ""
    for path, module in modules.items():
        place = module.replace(".", "/")
        inside = path.removesuffix("/__init__.py").removesuffix(".py")
        assert Path(source.root, inside.removesuffix(place)) in source.import_paths


def test_two_roots_with_one_name(tree: Tree, interpreter: Interpreter) -> None:
    files = {
        f"{one}/{name}": text for one in ("x", "y") for name, text in (("pyproject.toml", PROJECT), ("app/m.py", ""))
    }
    source = resolve(str(tree(files)), interpreter)
    assert [source.module_of(f"{one}/app/m.py") for one in ("x", "y")] == ["app.m", "y.app.m"]
    assert source.notice == "app is in x and in y: code imports the first of each by that name"
