"""Descriptions by rule: of real packages, and of code bases that hold little."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest
from command_line import codenav

import codenav as api
from codenav.core.config import home
from codenav.navigation.description import CHARACTERS

PACKAGES = {
    "click": ("click.echo(", "click.option(", "click.group("),
    "networkx": ("networkx.Graph:", "networkx.DiGraph:", "networkx.path_graph("),
    "pytest": ("pytest.raises(", "pytest.fixture(", "pytest.approx("),
    "rich": ("rich.print(", "rich.console.Console:"),
}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_by_purpose_layout_and_entry_points(package: str) -> None:
    text = api.describe(f"pkg:{package}")
    assert len(text) <= CHARACTERS
    purpose, rest = text.split("\nLayout:\n")
    assert re.match(rf"{package} \d[\w.]*: \w", purpose)
    layout, points = rest.split("\nEntry points, most used first:\n")
    assert f"  {package}" in layout
    for wanted in PACKAGES[package]:
        assert f"  {wanted}" in points
    # Each can be imported as it is named.
    assert len(points.splitlines()) >= 8
    for line in points.splitlines():
        module, _, name = re.split(r"[(:]", line.strip())[0].rpartition(".")
        assert hasattr(importlib.import_module(module), name), line


def test_a_repository_says_what_its_readme_says(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Farm\n\nKeeps fields and what grows on them.\n\n## More\n\nOther.\n")
    (tmp_path / "farm").mkdir()
    (tmp_path / "farm" / "__init__.py").write_text('"""Fields."""\n\nfrom farm.fields import *\n')
    (tmp_path / "farm" / "fields.py").write_text(
        '"""What is ploughed."""\n__all__ = ["plough", "FieldError"]\n'
        'def plough(field: str, *, deep: bool = False) -> str:\n    """Turn a field over. Slow."""\n    hidden()\n\n'
        "def hidden():\n    pass\n\nclass FieldError(Exception):\n    pass\n\ndef _secret():\n    hidden()\n"
    )
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_fields.py").write_text("def test_it():\n    plough('a')\n")
    assert api.describe(tmp_path) == (
        f"{tmp_path.name}: Keeps fields and what grows on them.\n"
        "Layout:\n"
        "  farm: Fields\n"
        "  farm.fields: What is ploughed\n"
        "Entry points, most used first:\n"
        "  farm.plough(field, *, deep=False): Turn a field over\n"
        "  farm.FieldError"
    )


def test_code_of_other_languages_and_documents_alone(tmp_path: Path) -> None:
    go, notes = tmp_path / "go", tmp_path / "notes"
    (go / "cmd").mkdir(parents=True)
    (go / "cmd" / "run.go").write_text("package main\n\n// Run runs it.\nfunc Run(times int) int { return times }\n")
    assert api.describe(go) == (
        "go\nLayout:\n  cmd/: 1 file\nEntry points, most used first:\n  cmd/run.go: Run(times int): Run runs it"
    )
    notes.mkdir()
    (notes / "todo.md").write_text("# Things\n\nBuy milk.\n")
    assert api.describe(notes) == "notes\nLayout:\n  todo.md"


def test_several_sources_are_described_one_after_another(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.py").write_text(f'"""The {name}."""\ndef use_{name}(): pass\n')
    sources = [tmp_path / "a", tmp_path / "b"]
    assert api.describe(sources) == "\n\n".join(map(api.describe, sources))
    with api.index(sources, name="both") as index:
        together = api.describe(index)
    assert len(together) <= CHARACTERS and "use_a()" in together and "use_b()" in together


def test_it_is_made_again_when_the_index_changes(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("def before(): pass\n")
    assert "before()" in api.describe(tmp_path)
    (cached,) = (home("cache") / "descriptions").iterdir()
    kept = json.loads(cached.read_text())
    cached.write_text(json.dumps({**kept, "text": "from the cache"}))
    assert api.describe(tmp_path) == "from the cache"
    file.write_text("def after(): pass\n")
    assert "after()" in api.describe(tmp_path)
    cached.write_text("{ broken")
    assert "after()" in api.describe(tmp_path)


def test_a_file_is_written_to_be_edited(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(): pass\n")
    ran = codenav("describe", tmp_path, "--out", tmp_path / "said.txt")
    assert (ran.code, ran.out, ran.err) == (0, "", f"written to {tmp_path / 'said.txt'}\n")
    printed = codenav("describe", tmp_path / "a.py")
    assert (tmp_path / "said.txt").read_text().endswith("  a.f()\n") and "a.f()" in printed.out
    ran = codenav("describe", tmp_path, "--out", tmp_path / "nowhere" / "x")
    assert ran.code == 2 and "there is no folder" in ran.err
    ran = codenav("describe", tmp_path, "--out", tmp_path)
    assert ran.code == 2 and "is a directory" in ran.err


def test_hostile_names_steer_no_terminal(tmp_path: Path) -> None:
    (tmp_path / "a\x1b[2J.py").write_text('"""\x1b]0;title\x07 Words of a module."""\ndef f(x="\x1b[2J"): pass\n')
    ran = codenav("describe", tmp_path)
    assert ran.code == 0 and "\x1b" not in ran.out and "\x07" not in ran.out


def test_what_examples_call_comes_first_and_helpers_are_none(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# web\n\n```go\nroot := &web.Server{Port: 1}\n```\n")
    code = "package web\n\nfunc Aid() {}\n\nfunc trim() { Aid(); Aid() }\n\ntype Server struct {}\n"
    (tmp_path / "web.go").write_text(code)
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples/main.go").write_text("package main\n\nfunc Handle() { web.Aid() }\n")
    (tmp_path / "examples/two.go").write_text("package main\n\nfunc Two() { x := web.Server{} }\n")
    points = api.describe(tmp_path).split("first:\n")[1]
    assert points == "  web.go: Server\n  web.go: Aid()"


def test_entry_points_are_what_a_package_offers(tmp_path: Path) -> None:
    hidden = "macro_rules! each { () => {} }\n\nfn trim() {}\n\n"
    (tmp_path / "lib.rs").write_text(
        f"{hidden}#[macro_export]\nmacro_rules! json {{ () => {{}} }}\n\npub fn serve() {{}}\n"
    )
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks/__init__.py").write_text("class Bench: ...\n")
    points = api.describe(tmp_path).split("first:\n")[1]
    assert sorted(line.split(": ")[1] for line in points.splitlines()) == ["json()", "serve()"]


def test_entry_points_of_a_package_with_instances(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p/__init__.py").write_text("from p.core import Depot, Near, helper, near, SIZE\n")
    (tmp_path / "p/core.py").write_text(
        "__all__ = ['Depot', 'Near', 'helper', 'near', 'SIZE']\nSIZE = 3\n\n\ndef helper(): ...\n\n\n"
        "def hidden(): ...\n\n\nclass Depot: ...\n\n\nclass Near:\n    def run(self):\n"
        "        hidden(), hidden()\n\n\nnear = Near()\n"
    )
    (tmp_path / "README.md").write_text("```python\nimport p\np.near.run(1)\np.near(2)\n```\n")
    lines = api.describe(tmp_path).split("first:\n")[1].splitlines()
    assert lines[0] == "  p.near"
    assert {line.strip() for line in lines} == {"p.near", "p.Depot", "p.Near", "p.helper()"}


def test_entry_points_of_a_package_of_scripts(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "web"}')
    (tmp_path / "index.js").write_text(
        "module.exports = createApp\nexports.Router = require('router')\nfunction createApp() {}\n"
    )
    (tmp_path / "utils.js").write_text("exports.trim = function trim() {}\n")
    (tmp_path / "README.md").write_text("```js\nconst app = web()\n```\n")
    assert api.describe(tmp_path).split("first:\n")[1] == "  web()\n  web.Router"
