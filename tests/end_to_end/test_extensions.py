"""What docs/architecture.md says of adding parts, done: each is one file of `examples/`, and one line elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ROOT

import codenav


@pytest.fixture(autouse=True)
def examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "examples")])


def test_each_is_one_short_file() -> None:
    for name in ("bash_environment", "bash_language", "recent_ranker"):
        assert len((ROOT / "examples" / f"{name}.py").read_text().splitlines()) < 60


def test_an_environment(library: Path) -> None:
    from bash_environment import Bash, with_bash

    model = codenav.ScriptedModel([Bash("echo $((6 * 7)); ls nowhere"), codenav.Done("42")])
    with codenav.Session(on=library, model=model, environments=with_bash) as session:
        episode = session.episode("How much is six times seven?")
        result = episode.run()
    shown = result.steps[0].observation.text
    assert shown.startswith("exit code 2\n42\n") and "nowhere" in shown
    assert "# Action: bash" in (prompt := result.prompt) and "last 4000 characters" in prompt
    # It can be read again: the record knows actions by their type alone.
    again = codenav.load_episode(result.id)
    assert (again.steps[0].action.type, again.steps[0].action.content) == ("bash", "echo $((6 * 7)); ls nowhere")


def test_a_ranking_signal(tmp_path: Path) -> None:
    from recent_ranker import Recent

    library = tmp_path / "library"
    library.mkdir()
    for name in ("old", "new"):
        (library / f"{name}.py").write_text(f"def parse_{name}(text):\n    return text\n")
    os.utime(library / "old.py", (1, 1))

    def first(*rankers: Recent) -> str:
        model = codenav.ScriptedModel([codenav.Search("name: parse_*"), codenav.Done("seen")])
        selection = codenav.ToolSelection(rankers=rankers)
        with codenav.Session(on=library, model=model, selection=selection) as session:
            return session.run("What parses?").steps[0].observation.results[0].hits[0].block.name

    os.utime(library / "new.py", (1, 1))
    before = first(Recent(library))
    os.utime(library / ("old.py" if before == "parse_new" else "new.py"))
    assert {before, first(Recent(library))} == {"parse_old", "parse_new"}
    assert first() == before


def test_a_language(tmp_path: Path) -> None:
    package = shutil.copytree(ROOT / "codenav", tmp_path / "codenav", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "examples" / "bash_language.py", package / "indexers" / "bash.py")
    tables = package / "indexers" / "code_languages.py"
    text = tables.read_text().replace(
        "from codenav.indexers.code_rules",
        "from codenav.indexers.bash import BASH\nfrom codenav.indexers.code_rules",
        1,
    )
    tables.write_text(text.replace("LANGUAGE_RULES = {", 'LANGUAGE_RULES = {\n    "bash": BASH,'))
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "deploy.sh").write_text(
        "# Copies the site.\nupload() {\n  rsync site/ $1\n}\nrelease() {\n  upload web\n}\n"
    )
    command = [sys.executable, "-m", "codenav", "callers", "upload", "--on", "scripts"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("FUNCTION   release  deploy.sh:5\n")
