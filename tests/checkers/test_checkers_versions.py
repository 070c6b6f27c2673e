"""The versions of mypy that pyproject.toml allows: both ends work, and another one is told and worked around."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from command_line import ROOT

from codenav.environments.checkers.mypy_runs import TRIED, bounds, installed, untried

SCRIPT = """
import json, sys
from pathlib import Path
mypy, folder, library, kind = sys.argv[1:]
if mypy:
    sys.path.insert(0, mypy)
from mypy.version import __version__
from codenav.environments.checkers import mypy_runs
from codenav.environments.checkers.answers import Loading, Past
from codenav.environments.checkers.typecheck import Types

if kind == "renamed":
    from mypy import dmypy_server
    del dmypy_server.process_start_options
elif kind == "other arguments":
    from mypy import dmypy_server
    class Server:
        fine_grained_manager = None
        def __init__(self, options, status_file): pass
        def check(self, sources): raise AssertionError("it is called in another way")
    dmypy_server.Server = Server

made, load, past, answers = [], [], [], []
def begin():
    while True:
        place = Path(folder, str(len(made)))
        place.mkdir()
        settings = {"folder": str(place), "version": list(sys.version_info[:2]), "python": sys.executable,
                    "unlike": [], "import_paths": [library], "load": load, "skip": []}
        made.append(Types(settings, run=mypy_runs.Anew if kind == "anew" else mypy_runs.Mypy))
        loading = made[-1].remember(past)
        if loading is None:
            return made[-1]
        load.extend(loading.modules)

types = begin()
for step in json.load(sys.stdin):
    answer = types.check(step)
    if isinstance(answer, Loading):
        load.extend(answer.modules)
        types = begin()
        answer = types.check(step)
    answers.append([[remark.code, remark.line] for remark in answer.remarks] or answer.failure)
    past.append(Past(step))
    assert types.remember(past[-1:]) is None
run = type(getattr(types._mypy, "_run", types._mypy)).__name__
json.dump({"version": __version__, "answers": answers, "run": run, "starts": len(made)}, sys.stdout)
"""
STEPS = {
    "import math\nx = 1\nx.upper()": [["attr-defined", 3]],
    "x = 'one'\nx.upper()": "",
    "math.sqr(2)": [["attr-defined", 1]],
    "x.uper()": [["attr-defined", 1]],
    "from shapes import area\narea('a')": [["arg-type", 2]],
    "import ctypes, decimal\ndecimal.Decimal(1).no_such()": [["attr-defined", 2]],
    "area(2.0)\nnowhere": [["name-defined", 2]],
}


def played(folder: Path, *, mypy: str = "", kind: str = "") -> dict[str, object]:
    """The answers to `STEPS` of a process of its own; `mypy` is a folder to import it from."""
    library, place = folder / "library", folder / "place"
    library.mkdir()
    place.mkdir()
    (library / "shapes.py").write_text("def area(side: float) -> float:\n    return side**2\n")
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, mypy, str(place), str(library), kind],
        input=json.dumps(list(STEPS)), capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    answers: dict[str, object] = json.loads(ran.stdout)
    assert answers["answers"] == list(STEPS.values()), answers
    return answers


def test_the_bounds_of_the_package_are_what_was_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert bounds() in project["dependencies"]


def test_the_highest_that_is_allowed_is_the_one_of_the_tests(tmp_path: Path) -> None:
    assert installed() == TRIED[1], f"pip install --upgrade '{bounds()}'"
    answers = played(tmp_path)
    assert (answers["run"], answers["starts"]) == ("Daemon", 3)


@pytest.mark.nightly
def test_the_lowest_that_is_allowed(tmp_path: Path) -> None:
    lowest = ".".join(map(str, TRIED[0]))
    target = tmp_path / "mypy"
    # What it needs beside itself is there.
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--target", str(target)]
    subprocess.run([*pip, f"mypy=={lowest}.0"], check=True)
    answers = played(tmp_path, mypy=str(target))
    assert str(answers["version"]).startswith(lowest)
    assert (answers["run"], answers["starts"]) == ("Daemon", 3)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["anew", "renamed", "other arguments"])
def test_where_the_daemon_is_another_one_the_verdicts_are_the_same(tmp_path: Path, kind: str) -> None:
    answers = played(tmp_path, kind=kind)
    assert (answers["run"], answers["starts"]) == ("Anew", 1)


@pytest.mark.parametrize("found", [(1, 15), (TRIED[1][0], TRIED[1][1] + 1), (9, 0)])
def test_another_version_is_told(found: tuple[int, int]) -> None:
    assert f"mypy {found[0]}.{found[1]} is none that codenav was tried with" in untried(found)
    assert not untried(TRIED[0]) and not untried(TRIED[1])
