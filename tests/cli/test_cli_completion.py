"""The offers of a shell at Tab, asked for as the shell does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import codenav, offered

from codenav.core import schemas

ONE = "<action><type>done</type><content>one</content></action>"


@pytest.fixture
def code(tmp_path: Path) -> Path:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "one.py").write_text("ONE = 1\n")
    (tmp_path / "one.actions").write_text(ONE)
    return tmp_path / "code"


@pytest.mark.parametrize("before", [["search", "x", "--on"], ["run", "x", "--on"], ["index"], ["describe"]])
def test_sources_are_what_is_indexed_and_what_is_installed(code: Path, before: list[str]) -> None:
    assert codenav("index", code).code == 0
    assert offered(*before, str(code)[:-1]) == {str(code): "_"}
    assert "pkg:networkx" in offered(*before, "pkg:net")
    assert not any(value.startswith("pkg:") for value in offered(*before, "/"))


def test_an_index_that_is_removed_is_one_that_is_there(code: Path) -> None:
    assert codenav("index", code).code == 0
    assert list(offered("sources", "remove", "/")) == [str(code)]
    assert offered("sources", "list", "pkg:net") == {}


def test_an_episode_is_offered_with_its_request(code: Path) -> None:
    model = f"scripted:{code.parent / 'one.actions'}"
    ran = codenav("run", "Is one\n\x1b[31mone?", "--on", code, "--model", model, "--sandbox", "process", "--json")
    assert ran.code == 0, ran.err
    assert offered("episodes", "show", ran.document["id"][:8]) == {ran.document["id"]: "Is one [31mone?"}
    assert list(offered("episodes", "show", "la")) == ["last"]


def test_schemas_are_offered() -> None:
    assert list(offered("schema", "e")) == [name for name in schemas.names() if name.startswith("e")]


def test_nothing_is_offered_where_the_home_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CODENAV_HOME", str(tmp_path / "file"))
    assert offered("search", "x", "--on", "/") == {}
    assert list(offered("episodes", "show", "")) == ["last"]


def test_bash_takes_a_source_for_one_word() -> None:
    script = codenav("completion", "bash").out
    program = (
        "compopt() { :; }\nCOMP_WORDS=(codenav search x --on pkg:networ); COMP_CWORD=4\n_codenav_completion codenav\n"
    )
    shown = 'echo "${COMPREPLY[@]} ${COMP_WORDBREAKS//[!:]/}"'
    place = Path(sys.executable).parent
    ran = subprocess.run(
        ["bash", "-c", f"{script}\n{program}{shown}"],
        env={**os.environ, "PATH": f"{place}:{os.environ['PATH']}"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout == "pkg:networkx \n"


@pytest.mark.parametrize(("text", "request_read"), [(b"Is one\none?\n", "Is one\none?"), (b"caf\xe9?", "caf\ufffd?")])
def test_a_request_of_a_dash_is_read_from_stdin(code: Path, text: bytes, request_read: str) -> None:
    command = [
        sys.executable, "-m", "codenav", "run", "-", "--on", str(code), "--model",
        f"scripted:{code.parent / 'one.actions'}", "--sandbox", "process", "-q",
    ]  # fmt: skip
    assert subprocess.run(command, input=text, capture_output=True, check=True).stdout == b"one\n"
    assert codenav("episodes", "show", "last", "--json").document["request"] == request_read
    empty = subprocess.run(command, input=b" \n", capture_output=True)
    assert (empty.returncode, empty.stdout) == (2, b"")
    assert empty.stderr.startswith(b"Error: there is no request on stdin\nTry: ")
