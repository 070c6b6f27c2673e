"""What a person sees of a run fits on a screen; what is left out there can be asked for."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from chat_server import ChatServer, Fault
from command_line import ROOT, Ran, codenav, start, without_evidence

from codenav.core.actions import Action, Code, CodeSummary, Done, Search

Run = Callable[..., Ran]


def test_the_demo_where_no_model_can_be_fetched_plays_a_script_says_so_and_fits_on_a_screen() -> None:
    away = {"HF_ENDPOINT": "http://127.0.0.1:9", "PIP_NO_INDEX": "1"}
    ran = subprocess.run(
        ["make", "--silent", "demo"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, env={**os.environ, **away},
    )  # fmt: skip
    lines = without_evidence(ran.stdout).splitlines()
    answer = "Node 0 has the highest betweenness centrality, 0.438."
    assert (ran.returncode, lines[-2:]) == (0, [answer, "summary: reproduced"]), ran.stdout
    told = "No model can be fetched here: the demo plays a script in its place"
    assert told in lines and len(lines) - lines.index(told) <= 50, ran.stdout


def test_episodes_show_is_short_and_all_leaves_nothing_out(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Search("circular_area\nharvest"), Code(f"{LONG}raise ValueError"), Code(LONG), Done("a line")]
    ran = run("Print.", "--on", library)
    searches = [line for line in ran.err.splitlines() if ". search  " in line]
    assert len(searches) == 1 and " → circular_area" in searches[0], ran.err
    shown = codenav("episodes", "show", "last").out
    assert len(shown.splitlines()) <= 80, shown
    whole = codenav("episodes", "show", "last", "--all").out
    assert whole.count("print('a line')") > 100
    for step in codenav("episodes", "show", "last", "--json").document["steps"]:
        assert step["shown"].splitlines()[0] in whole


LONG = "print('a line')\n" * 50


@pytest.mark.parametrize("columns", [60, 100])
def test_no_line_is_wider_than_the_terminal(run: Run, chat_server: ChatServer, library: Path, columns: int) -> None:
    chat_server.script = [
        Search("name: circular_area AND type: FUNCTION\nharvest of a field AND doc: kilograms"),
        Code(f"x = {'1 + ' * 100}1\nprint('=' * 500, '界' * 90)", thought="I think that " * 40),
        Code(f"{LONG}raise ValueError('what went wrong ' * 30)"),
        Done("301"),
    ]
    ran = run("Add " + "many " * 60 + "ones.", "--on", library, env={"COLUMNS": str(columns)})
    assert ran.code == 0, ran.err
    from rich.cells import cell_len

    wide = [line for line in ran.err.splitlines() if cell_len(line) > columns]
    assert wide == []
    assert "\n   → error" in ran.err and "ValueError: what went wrong" in ran.err
    shown = codenav("episodes", "show", "last", env={"COLUMNS": str(columns)}).out
    whole = ("work folder", "Summary  ")
    wide = [line for line in shown.splitlines() if cell_len(line) > columns]
    assert [line for line in wide if not any(words in line for words in whole)] == []


def test_verbose_leaves_nothing_out(run: Run, chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Search("circular_area"), Code(LONG), Done("done")]
    ran = run("Print.", "--on", library, "--verbose")
    assert ran.err.count("print('a line')") == 50
    assert "return math.pi * radius**2" in ran.err


def test_an_invalid_answer_shows_what_the_model_wrote(run: Run, chat_server: ChatServer, library: Path) -> None:
    wrote = ["I would rather talk about the weather.", *(f"Cloud {number}." for number in range(30))]
    chat_server.script = ["\n".join(wrote)] * 5
    ran = run("Do it.", "--on", library)
    assert ran.code == 1
    assert ran.err.count("I would rather") == 1, ran.err
    assert "… 4 more failed steps: codenav episodes show last" in ran.err
    assert "Write exactly one action" not in ran.err and "Cloud 29." not in ran.err
    shown = codenav("episodes", "show", "last")
    assert "I would rather talk about the weather." in shown.out and "Write exactly one action" not in shown.out


LINES = [*(f"x{n} = {n}" for n in range(20)), "for n in range(60): print('a line', n)"]
RAISES = "\n".join([*LINES, "raise ValueError(x9)"])


@pytest.mark.parametrize(
    "answer",
    [
        Code(f"import time\n{RAISES}"),
        Code("\n".join([*LINES, "def f(n):", "    return f(n + 1)", "f(0)"])),
        Code("raise ValueError('\\n'.join(['what went wrong'] * 150))"),
        CodeSummary(f"print(1)\n{RAISES}"),
        "I do not know.\n" * 40,
    ],
    ids=["output", "traceback", "message", "summary", "nonsense"],
)
def test_a_run_that_fails_takes_ten_lines(
    run: Run, chat_server: ChatServer, library: Path, answer: Action | str
) -> None:
    # The same code again would be drawn anew.
    answers = [
        answer if isinstance(answer, str) else replace(answer, content=f"{answer.content}  # {n}") for n in range(5)
    ]
    chat_server.script = answers
    ran = run("Do it.", "--on", library, "--max-steps", "5" if isinstance(answer, str) else "3")
    assert ran.code == 3 - 2 * isinstance(answer, str) and not ran.out, ran.err
    lines = ran.err.splitlines()
    assert len(lines) <= 10 and lines[0] == "Do it." and " on " in lines[1], ran.err
    assert any(line.startswith("Record: codenav episodes show ") for line in lines), ran.err


def test_a_run_that_fails_after_steps_that_went_well_takes_ten_lines(
    run: Run, chat_server: ChatServer, library: Path
) -> None:
    chat_server.script = [
        *[Code(f"for n in range(9): print(n)  # {step}") for step in range(4)],
        Fault(400, "no " * 999),
    ]
    ran = run("Do it.", "--on", library)
    rows = [row for line in ran.err.splitlines() for row in range(0, max(len(line), 1), 80)]
    assert ran.code and len(rows) <= 10 and "lines of steps\n   → ok" in ran.err, ran.err


def test_code_that_goes_well_after_failures_is_shown_whole(run: Run, chat_server: ChatServer, library: Path) -> None:
    good = "\n".join(f"y{n} = {n}" for n in range(10))
    chat_server.script = [
        *[Code(f"{RAISES}  # {number}") for number in range(3)], Search("area"), Code(good), Code(RAISES), Done("done")
    ]  # fmt: skip
    ran = run("Do it.", "--on", library)
    assert good.replace("\n", "\n   ") in ran.err
    assert ran.err.index("… 2 more failed steps: codenav") < ran.err.index("y0 = 0")
    assert "code\n   → error" in ran.err


def test_the_action_in_flight_of_a_killed_run_is_shown(chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Code("x = 1"), Code("import time\nprint('began')\ntime.sleep(1000)")]
    run = [
        "run", "Do it.", "--verbose", "--on", library, "--set=checks.types=no", "--model", "m", "--base-url",
        chat_server.url,
    ]  # fmt: skip
    process = start(*run)
    assert process.stderr is not None
    next(line for line in process.stderr if "time.sleep(1000)" in line)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    shown = codenav("episodes", "show", "last").out
    assert "2. code" in shown and "time.sleep(1000)" in shown and "interrupted during this step" in shown


def test_an_export_without_a_script_says_so(run: Run, chat_server: ChatServer, library: Path, tmp_path: Path) -> None:
    chat_server.script = [Done("FAILED: no function here sends e-mails")]
    failed = run("Send an e-mail to 'ann@example.org'", "--on", library)
    assert failed.code == 1
    ran = codenav("episodes", "show", "last", "--script", tmp_path / "run.py")
    assert (ran.code, (tmp_path / "run.py").exists()) == (2, False), ran.err
    assert "no step of code" in ran.err and "Try: " in ran.err
