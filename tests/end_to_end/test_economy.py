"""What a person sees of a run fits on a screen; what is left out there can be asked for."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from chat_server import ChatServer
from command_line import ROOT, Ran, codenav, start, without_evidence

import codenav as api
from codenav.actions import Action, Code, CodeSummary, Done, Search

Run = Callable[..., Ran]

REQUEST = "Which node of the karate club graph has the highest betweenness?"
SURVEY = "_codenav"
"""Stands in all code with which the planner asks the interpreter."""


pytestmark = pytest.mark.xdist_group("economy")
"""One process, which runs the planner once for most of them."""


@pytest.fixture(scope="module")
def planned_once(networkx_home: Path, code_copies: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Ran, Path]:
    """A run of the planner on a real package, and the CODENAV_HOME with its record."""
    home = tmp_path_factory.mktemp("planned") / "home"
    shutil.copytree(networkx_home, home)
    (home / "code").symlink_to(code_copies)
    ran = codenav("run", REQUEST, "--on", "pkg:networkx", "--model", "planner", env={"CODENAV_HOME": str(home)})
    return ran, home


@pytest.fixture
def planned(planned_once: tuple[Ran, Path], codenav_home: Path) -> Ran:
    """That run, its record in this test's CODENAV_HOME."""
    ran, home = planned_once
    shutil.copytree(home, codenav_home, ignore=shutil.ignore_patterns("code"), dirs_exist_ok=True)
    return ran


def test_the_demo_fits_on_a_screen() -> None:
    ran = subprocess.run(
        ["make", "--silent", "demo"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300
    )
    lines = without_evidence(ran.stdout).splitlines()
    assert (ran.returncode, lines[-2:]) == (0, ["0", "summary: reproduced"]), ran.stdout
    assert len(lines) <= 25, ran.stdout
    for told in (REQUEST, "→ karate_club_graph", "betweenness_centrality(", "codenav episodes show"):
        assert told in ran.stdout


def test_a_run_of_the_planner_is_a_block_a_step_and_a_line_for_all_tries(planned: Ran) -> None:
    searches = [line for line in planned.err.splitlines() if ". search  " in line]
    tries = [line for line in planned.err.splitlines() if "tried " in line]
    assert searches and all(" → " in line for line in searches), planned.err
    assert len(tries) == 1 and " calls, " in tries[0] and " raised" in tries[0], planned.err
    assert len(planned.err.splitlines()) <= 23, planned.err
    assert SURVEY not in planned.err


def test_tries_are_no_part_of_what_is_kept_to_be_used(planned: Ran, tmp_path: Path) -> None:
    document = codenav("episodes", "show", "last", "--json")
    assert {step["action"]["type"] for step in document.document["steps"]} <= {"search", "code_summary", "done"}
    kinds = {one["action"]["type"] for one in document.document["tries"]}
    assert kinds == {"try", "question"}
    assert all(len(one["action"]["content"]) <= 500 >= len(one["shown"]) for one in document.document["tries"])
    assert SURVEY not in document.out
    notebook, script = tmp_path / "run.ipynb", tmp_path / "run.py"
    assert codenav("episodes", "export", "last", "--notebook", notebook, "--script", script).code == 0
    cells = [cell["source"] for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    tried = [one["action"]["content"] for one in document.document["tries"] if one["outcome"] != "ok"]
    assert tried and not any(code in "".join(cell) for cell in cells for code in tried)
    assert len(cells) <= 2
    assert "betweenness_centrality(" in script.read_text()


def test_episodes_show_is_as_short_and_all_leaves_nothing_out(planned: Ran) -> None:
    shown = codenav("episodes", "show", "last").out
    assert len(shown.splitlines()) <= 40, shown
    whole = codenav("episodes", "show", "last", "--all").out
    document = codenav("episodes", "show", "last", "--json").document
    for one in document["tries"]:
        assert one["action"]["content"].splitlines()[0] in whole
        assert one["action"]["type"] == "question" or one["outcome"] in whole
    assert document["steps"][0]["shown"].splitlines()[0] in whole


def test_the_planner_spends_steps_as_a_model_does(planned: Ran) -> None:
    result = api.load_episode("last")
    assert (result.answer, len(result.tries) > api.Limits.steps) == ("0", True)
    ran = codenav("run", REQUEST, "--on", "pkg:networkx", "--model", "planner", "--max-steps", "1")
    assert ran.code == 3, ran.err


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
    assert "   …\n   → error" in ran.err and "ValueError: what went wrong" in ran.err
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
    assert ran.err.count("I would rather") == 3, ran.err
    assert "… 2 more failed steps: codenav episodes show last" in ran.err
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
def test_steps_that_fail_take_ten_lines(run: Run, chat_server: ChatServer, library: Path, answer: Action | str) -> None:
    chat_server.script = [answer] * 5
    ran = run("Do it.", "--on", library, "--max-steps", "5")
    head, _, steps = ran.err.partition(" on ")
    steps, more, closing = steps.partition("… 2 more failed steps: codenav episodes show last\n")
    assert more and len(head.splitlines()) == 2, ran.err
    assert (len(steps.splitlines()[1:]) <= 10, len(closing.splitlines()) <= 4) == (True, True), ran.err


def test_code_that_goes_well_after_failures_is_shown_whole(run: Run, chat_server: ChatServer, library: Path) -> None:
    good = "\n".join(f"y{n} = {n}" for n in range(10))
    chat_server.script = [*[Code(RAISES)] * 4, Search("area"), Code(good), Code(RAISES), Done("done")]
    ran = run("Do it.", "--on", library)
    assert good.replace("\n", "\n   ") in ran.err
    assert ran.err.index("… 1 more failed step: codenav") < ran.err.index("y0 = 0")
    assert "   x2 = 2\n   …\n   → error" in ran.err


def test_the_action_in_flight_of_a_killed_run_is_shown(chat_server: ChatServer, library: Path) -> None:
    chat_server.script = [Code("x = 1"), Code("import time\nprint('began')\ntime.sleep(1000)")]
    process = start("run", "Do it.", "--on", library, "--no-types", "--model", "m", "--base-url", chat_server.url)
    assert process.stderr is not None
    next(line for line in process.stderr if "time.sleep(1000)" in line)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    shown = codenav("episodes", "show", "last").out
    assert "2. code" in shown and "time.sleep(1000)" in shown and "interrupted during this code" in shown


def test_the_try_in_flight_of_a_killed_planner_is_shown(tmp_path: Path, codenav_home: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "shop.py").write_text(
        'import time\n\n\ndef ripen(fruit: str) -> str:\n    """Ripen a fruit."""\n    time.sleep(1000)\n'
    )
    process = start("run", "Ripen the fruit 'banana'", "--on", shop, "--model", "planner")
    deadline = time.monotonic() + 60
    while "ripen('banana')" not in _record_of(codenav_home):
        assert time.monotonic() < deadline, _record_of(codenav_home)
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    shown = codenav("episodes", "show", "last").out
    assert "ripen('banana')" in shown and "interrupted during this try" in shown, shown


def _record_of(folder: Path) -> str:
    return "".join(path.read_text() for path in (folder / "episodes").glob("*/events.jsonl"))


def test_an_export_without_a_script_says_so(library: Path, tmp_path: Path) -> None:
    failed = codenav("run", "Send an e-mail to 'ann@example.org'", "--on", library, "--model", "planner")
    assert failed.code == 1
    ran = codenav("episodes", "export", "last", "--script", tmp_path / "run.py")
    assert (ran.code, (tmp_path / "run.py").exists()) == (2, False), ran.err
    assert "no step of code" in ran.err and "Try: " in ran.err
