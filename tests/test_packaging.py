"""The wheel contains everything that the package needs at run time, and works away from the repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from command_line import ROOT

import codenav

DATA = (".html", ".md", ".json", ".npy", ".py", ".txt", ".js")


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


def test_the_vectors_of_words_are_in_the_wheel_with_their_origin_and_stay_small(wheel: Path) -> None:
    sizes = {item.filename: item.file_size for item in zipfile.ZipFile(wheel).infolist()}
    vectors = {name: size for name, size in sizes.items() if name.startswith("codenav/retrieval/data/")}
    assert {name.rpartition("/")[2] for name in vectors} == {"ORIGIN.md", "word_vectors.npy", "words.txt"}
    assert sum(vectors.values()) <= 8_000_000


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
         "run", "One and one?", "--on", "code", "--model", "scripted:script", "--set", "checks.types=no"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")}, capture_output=True, text=True,
    )  # fmt: skip
    where, *answer = ran.stdout.splitlines()
    assert where.startswith(str(tmp_path)), ran.stderr
    assert answer == ["2", "summary: reproduced (compared: ONE, the last output)"], ran.stderr


def test_extras_are_for_what_not_everybody_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(project["optional-dependencies"]) == {
        "languages", "inspect", "tools", "embeddings", "local", "train", "all", "test",
    }  # fmt: skip
    core = {re.split(r"[<>=~! ]", requirement)[0] for requirement in project["dependencies"]}
    assert {"pandas", "docker", "elasticsearch", "orjson"} <= core


def test_what_can_be_installed_is_named_as_the_package_index_has_it() -> None:
    """On the package index, `codenav` is a foreign project, and so is any extra that is not defined here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "codenav").rglob("*.py"), ROOT / "Makefile"]
    for path in texts:
        for asked in re.findall(r"(?:pip|pipx|uv pip|uv tool) install ([^`\n]*)", path.read_text()):
            for extras in re.findall(r"codenav(?!-agent)[\w-]*|codenav-agent\[([^\]{]*)\]", asked):
                assert extras in project["optional-dependencies"], f"{path}: {asked}"


@pytest.mark.parametrize("program", ["import codenav", "import codenav.cli.main"])
def test_nothing_heavy_is_imported_before_it_is_used(program: str) -> None:
    heavy = (
        "{'pandas', 'numpy', 'docker', 'elasticsearch', 'elastic_transport', 'orjson', 'openai', 'nbformat', 'rich', "
        "'tantivy'}"
    )
    ran = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys; print(sorted({heavy} & set(sys.modules)))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout == "[]\n"


def test_a_folder_in_a_language_without_its_parser_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "one.rs").write_text("fn one() -> i32 { 1 }\n")
    code = (
        "import sys; sys.modules['tree_sitter_rust'] = None\n"
        f"from codenav.cli.main import main; main(['index', {str(tmp_path)!r}])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (4, "")
    assert ran.stderr == "Error: the parser for rust is not installed\nTry: pip install 'codenav-agent[languages]'\n"


def test_former_public_names_lead_to_those_of_today() -> None:
    for former, today in codenav._FORMER.items():
        with pytest.warns(DeprecationWarning, match=f"codenav.{former} is now codenav.{today}"):
            assert getattr(codenav, former) is getattr(codenav, today)
