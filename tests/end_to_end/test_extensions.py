"""What docs/architecture.md says of adding parts, done: each is one file of `examples/`, and one line elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from command_line import ROOT

import codenav


@pytest.fixture(autouse=True)
def examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "examples")])


def test_each_is_one_short_file() -> None:
    assert all(len((ROOT / "examples" / f"{name}.py").read_text().splitlines()) < 60 for name in ("bash_environment",))


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
