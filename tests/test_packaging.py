"""The wheel holds what the package needs at run time, and works where the repository is not."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from command_line import ROOT

DATA = (".md", ".json", ".py")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (built,) = folder.glob("codenav_agent-*.whl")
    return built


def test_prompts_schemas_and_the_guest_are_in_the_wheel(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    needed = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "codenav").rglob("*")
        if path.suffix in DATA and "__pycache__" not in path.parts
    }
    assert needed - held == set()
    assert {name for name in held if name.startswith("codenav/") and not name.endswith(DATA)} <= {"codenav/py.typed"}


def test_the_wheel_runs_a_request_outside_the_repository(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "one.py").write_text("ONE = 1\n")
    (tmp_path / "script").write_text(
        "<action><type>code</type><content>from one import ONE\nprint(ONE + 1)</content></action>\n"
        "<action><type>done</type><content>2</content></action>"
    )
    ran = subprocess.run(
        [sys.executable, "-c", "import codenav.cli.main as m, codenav; print(codenav.__file__, flush=True); m.main()",
         "run", "One and one?", "--on", "code", "--model", "scripted:script", "--no-types"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")}, capture_output=True, text=True,
    )  # fmt: skip
    where, *answer = ran.stdout.splitlines()
    assert where.startswith(str(tmp_path)), ran.stderr
    assert answer == ["2", "summary: verified"], ran.stderr
