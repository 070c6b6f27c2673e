"""The chat: several requests in one state, on a terminal and in a pipe."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import codenav
from pseudo_terminal import END_OF_INPUT, INTERRUPT, on_terminal

ACTION = "<action><type>{}</type><content>\n{}\n</content></action>\n"
OPTIONS = ("--sandbox", "bubblewrap", "--set=checks.types=no", "--set=checks.lint=no")


@pytest.fixture
def chat(tmp_path: Path) -> list[str]:
    (tmp_path / "farm").mkdir()
    (tmp_path / "farm" / "farm.py").write_text("def acres() -> int:\n    return 12\n")
    script = tmp_path / "chat.actions"
    steps = [("code", "import farm\nx = farm.acres()\nprint(x)"), ("done", "12"),
             ("code", "x = x + 1\nopen('c.txt', 'w').write('c')\nprint(x)"), ("done", "13"),
             ("code", "print(x * 2)"), ("done", "24")]  # fmt: skip
    script.write_text("".join(ACTION.format(*step) for step in steps))
    return ["chat", "--on", str(tmp_path / "farm"), "--model", f"scripted:{script}", *OPTIONS]


def test_requests_share_a_state_that_can_be_taken_back_and_saved(chat: list[str], tmp_path: Path) -> None:
    saved = tmp_path / "out.py"
    lines = ["/undo", "how many", "/show", "/nope", "one more", "/undo", "twice", "/save", f"/save {saved}", "/quit"]
    program = [sys.executable, "-m", "codenav", *chat]
    ran = subprocess.run(program, input="\n".join([*lines, "not reached"]), capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    answers = [line for line in ran.stdout.splitlines() if line in ("12", "13", "24")]
    assert answers == ["12", "13", "24"]
    for told in ("there is no request to take back", "there is no /nope", "Taken back.", "/save needs the name"):
        assert told in ran.stderr, ran.stderr
    assert "c.txt stays as it was written" in ran.stderr and "Request  how many" in ran.stdout
    script = saved.read_text()
    assert "x = farm.acres()" in script and "print(x * 2)" in script and "x + 1" not in script
    rows = codenav("episodes", "list", "--json").document
    assert [row["request"] for row in rows] == ["twice", "one more", "how many"]


def test_an_interrupt_stops_a_step_and_keeps_the_state(tmp_path: Path) -> None:
    (tmp_path / "farm").mkdir()
    (tmp_path / "farm" / "farm.py").write_text("def acres() -> int:\n    return 12\n")
    script = tmp_path / "chat.actions"
    steps = [("code", "import farm\nx = farm.acres()\nprint('x is', x)"), ("done", "x is 12"),
             ("code", "import time\ntime.sleep(60)"), ("code", "print('still', x)"), ("done", "12")]  # fmt: skip
    script.write_text("".join(ACTION.format(*step) for step in steps))
    code, shown = on_terminal(
        "chat", "--on", tmp_path / "farm", "--model", f"scripted:{script}", *OPTIONS,
        answers={"> ": "how many\n", "summary: ": "wait\n", "running the code  2 s": INTERRUPT,
                 "Interrupted. The": "again\n", "still 12": "/quit\n"},
    )  # fmt: skip
    assert code == 0, shown
    assert "still 12" in shown


def test_the_end_of_the_input_ends_it(chat: list[str]) -> None:
    code, shown = on_terminal(*chat, answers={"> ": END_OF_INPUT})
    assert code == 0 and "Traceback" not in shown


def test_wrong_usage(chat: list[str]) -> None:
    for arguments, told in ((["chat", "--model", "x"], "name a source with --on"), ([*chat, "--json"], "codenav run")):
        ran = codenav(*arguments)
        assert ran.code == 2 and told in ran.err
