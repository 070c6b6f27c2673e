"""What the planner tries leaves the work folder and the package as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import codenav as api
from codenav.planner import write_guard

DIARY = '''
"""Diaries, in files of one page a line."""
_open = []


def rub_out_pages(file: str) -> str:
    """Rub out the pages of a diary."""
    with open(file, "w") as diary:
        diary.write("")
    return "rubbed out"


def sort_pages(file: str) -> str:
    """Sort the pages of a diary."""
    with open(file) as diary:
        pages = sorted(diary.read().splitlines())
    with open(file, "w") as diary:
        diary.write("\\n".join(pages))
    return pages[0]


def first_page(file: str, words: str = "") -> str:
    """The first page of a diary; with other words it is written anew."""
    with open(file) as diary:
        pages = diary.read().splitlines()
    with open(file, "w") as diary:
        diary.write("\\n".join([words or "blank", *pages[1:]]))
    return pages[0]


class Diary:
    """A diary in a file."""

    def __init__(self, file: str) -> None:
        self.file = file

    def rub_out(self) -> int:
        """The lines of the diary, for the last time."""
        open(self.file, "w").close()
        return 0

    def lines(self) -> int:
        """How many lines the diary has."""
        with open(self.file) as diary:
            return len(diary.read().splitlines())


def open_shelves() -> int:
    """How many shelves for diaries are open: each look at them closes one."""
    _open.append(1)
    return 8 - len(_open)


def shelf_label(shelves: str = "") -> str:
    """The label on the shelves."""
    open_shelves()
    return ""
'''


@pytest.fixture
def diary(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "diary.py").write_text(DIARY)
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "may.txt").write_text("sun\nrain\n")
    (folder / "june.txt").write_text("hail\n")
    return folder


def run(request: str, on: Path, work: Path) -> api.EpisodeResult:
    return api.run(request, on=on, model="planner", lint=False, types=False, work_dir=work)


def test_a_file_that_a_call_changes_unasked_is_put_back(diary: Path, work: Path) -> None:
    result = run("Rub out the pages of may.txt", diary, work)
    assert any("rubbed" in (step.observation.text or "") for step in result.steps), "it was tried"
    assert result.status == "failed", result.answer
    assert (work / "may.txt").read_text() == "sun\nrain\n"
    assert (work / "june.txt").read_text() == "hail\n"


def test_what_is_tried_on_an_object_spoils_nothing_for_the_next_try(diary: Path, work: Path) -> None:
    result = run("How many lines does the diary in may.txt have?", diary, work)
    assert (result.status, result.answer) == ("done", "2"), result.reason
    assert (work / "may.txt").read_text() == "sun\nrain\n"


def test_a_change_that_is_asked_for_is_made(diary: Path, work: Path) -> None:
    result = run("Save the sorted pages of may.txt", diary, work)
    assert (work / "may.txt").read_text() == "rain\nsun", result.reason
    assert result.status == "done"
    assert (work / "june.txt").read_text() == "hail\n"


def test_a_change_is_asked_for_by_a_word_of_the_clause(diary: Path, work: Path) -> None:
    run("Make a copy of the first page of may.txt", diary, work)
    assert (work / "may.txt").read_text() == "sun\nrain\n", "to make something is not to write over something"
    result = run("Change the first page of may.txt to 'fog'", diary, work)
    assert (work / "may.txt").read_text() == "fog\nrain", result.reason


def test_a_package_that_tries_have_changed_is_loaded_anew(diary: Path, work: Path) -> None:
    result = run("How many shelves are open?", diary, work)
    assert (result.status, result.answer) == ("done", "7"), result.reason
    assert result.summary is not None and result.summary.verified


def test_files_are_kept_and_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.bin", "c.txt"):
        (tmp_path / name).write_bytes(name.encode() * 10)
    (tmp_path / "large.bin").write_bytes(b"x" * 200)
    names = ["a.txt", "b.bin", "c.txt", "large.bin", "missing.txt"]
    kept: dict[str, Any] = {"names": names, "room": 101}
    exec(write_guard.SCRIPT, kept)
    (tmp_path / "a.txt").write_text("other")
    (tmp_path / "b.bin").unlink()
    (tmp_path / "large.bin").write_bytes(b"")
    kept["put_back"]()
    told = capsys.readouterr().out
    assert json.loads(told.removeprefix(write_guard.MARK)) == ["a.txt", "b.bin"]
    assert (tmp_path / "a.txt").read_bytes() == b"a.txt" * 10
    assert (tmp_path / "b.bin").read_bytes() == b"b.bin" * 10
    assert (tmp_path / "large.bin").read_bytes() == b"", "what has no room is not kept"
    kept["put_back"]()
    assert capsys.readouterr().out == f"{write_guard.MARK}[]\n"
