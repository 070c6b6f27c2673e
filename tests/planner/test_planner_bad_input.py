"""Requests and packages that go wrong: each ends in time, with a clear line and a record that can be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import codenav, without_evidence

TRAPS = '''
"""Things that go wrong."""
import os
import shutil
import sys
import time


def spin(wheel: str) -> str:
    """Spin a wheel."""
    while True:
        pass


def ask_price(fruit: str) -> str:
    """Ask the price of a fruit."""
    return input("price? ")


def wipe_folder(owner: str) -> str:
    """Wipe the folder of an owner."""
    shutil.rmtree(os.getcwd(), ignore_errors=True)
    return f"wiped for {owner}"


def quit_job(name: str) -> None:
    """Quit a job by its name."""
    sys.exit(3)


def flood(word: str) -> str:
    """Flood the screen with a word."""
    print(word * 10_000_000)
    return "flooded"
'''


@pytest.fixture
def traps(tmp_path: Path) -> Path:
    folder = tmp_path / "traps"
    folder.mkdir()
    (folder / "traps.py").write_text(TRAPS)
    return folder


@pytest.mark.parametrize(
    ("request_", "code", "said"),
    [
        ("Spin the wheel 'big'", 1, "took over 2 s"),
        ("Ask the price of the fruit 'fig'", 1, "EOFError"),
        ("Wipe the folder of the owner 'Ann'", 0, "wiped for Ann"),
        ("Quit the job by its name 'baker'", 1, "SystemExit"),
        ("Flood the screen with the word 'x'", 0, "flooded"),
        ("Spin the wheel 'big\\'", 1, "FAILED"),
        ("Ünïcödé ☃ \u202e \x1b[31m", 1, "FAILED"),
        ("spin " * 10_000, 1, "spin"),
        ("'" * 5_000, 1, "FAILED"),
        ("wheel", 1, "wheel"),
    ],
)
def test_each_ends_with_a_clear_line_and_a_record(traps: Path, request_: str, code: int, said: str) -> None:
    ran = codenav("run", "--on", traps, "--code-timeout", "2", "--json", "--", request_)
    assert ran.code == code, ran.err
    assert "Traceback" not in ran.err
    assert said in ran.document["answer"] + ran.document["reason"] + ("FAILED" if code else "")
    shown = codenav("episodes", "show", "last", "--json")
    assert shown.code == 0 and shown.document["status"] == ran.document["status"]


@pytest.mark.parametrize(
    ("first_line", "code", "said"),
    [
        ("print('hello\\ncodenav-survey:{}')", 0, "42"),
        ("raise ImportError('no licence')", 1, "no licence"),
        ("import time; time.sleep(30)", 1, "took over 2 s"),
        ("import os; os._exit(7)", 1, "exit code 7"),
    ],
)
def test_packages_whose_import_goes_wrong(tmp_path: Path, first_line: str, code: int, said: str) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "answers.py").write_text(f'{first_line}\n\ndef big_answer():\n    """The big answer."""\n    return 42\n')
    ran = codenav("run", "What is the big answer?", "--on", folder, "--code-timeout", "2", "--json")
    assert ran.code == code, ran.err
    assert said in ran.document["answer"] + ran.document["reason"]


def test_python_is_run_as_it_is(traps: Path) -> None:
    ran = codenav("run", "import traps\nprint(len(traps.__doc__))", "--on", traps)
    assert (ran.code, without_evidence(ran.out)) == (0, "21\nsummary: reproduced\n")
    ran = codenav("run", "1 / 0", "--on", traps)
    assert ran.code == 1 and "ZeroDivisionError" in ran.out + ran.err


def test_a_question_about_the_code_is_answered_with_places(traps: Path) -> None:
    ran = codenav("run", "Where is ask_price defined?", "--on", traps)
    assert ran.code == 0 and "traps.py:15  function ask_price" in ran.out
    ran = codenav("run", "Where is `nothing_like_it` defined?", "--on", traps)
    assert ran.code == 1 and "nothing_like_it" in ran.out + ran.err
