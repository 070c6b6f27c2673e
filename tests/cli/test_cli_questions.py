"""Questions on a terminal: nothing covers them, and the end of the input is an answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pseudo_terminal import END_OF_INPUT, INTERRUPT, on_terminal, screen

CONSENT = "with your rights and your files? [y/N]: "


@pytest.fixture
def farm(tmp_path: Path) -> Path:
    folder = tmp_path / "farm"
    folder.mkdir()
    (folder / "farm.py").write_text(
        'def count_letters(text: str) -> int:\n    """How many letters a text has."""\n'
        "    return sum(map(str.isalpha, text))\n"
    )
    return folder


@pytest.fixture
def no_bubblewrap(tmp_path: Path) -> Mapping[str, str]:
    (tmp_path / "bin").mkdir()
    return {"PATH": str(tmp_path / "bin"), "DOCKER_HOST": "unix:///nowhere"}


def test_consent_is_asked_for_where_no_bar_covers_it_and_is_enough(
    farm: Path, no_bubblewrap: Mapping[str, str]
) -> None:
    script = farm / "letters.actions"
    script.write_text(
        "<action><type>code</type><content>import farm\nprint(farm.count_letters('banana'))</content></action>\n"
        "<action><type>done</type><content>6</content></action>"
    )
    request = [
        "run", "How many letters has 'banana'?", "--on", farm, "--set=checks.types=no", "--model",
        f"scripted:{script}",
    ]  # fmt: skip
    code, shown = on_terminal(*request, answers={CONSENT: "y\n"}, env=no_bubblewrap)
    assert (code, shown.count(CONSENT)) == (0, 1), shown
    lines = [line.partition(" (compared")[0] for line in screen(shown)]
    assert lines[0].endswith(f"{CONSENT}y") and "summary: reproduced" in lines, shown
    # What a person is told while the bar is there has a line of its own.
    assert [line for line in lines if "Note: the code runs without isolation" in line] == [
        "Note: the code runs without isolation: it can do all that you can do (--sandbox process)"
    ]
    after = shown.index(CONSENT) + len(CONSENT)
    assert shown[after:].startswith("y\r\n"), "something was written before the answer"


@pytest.mark.parametrize("answer", ["n\n", END_OF_INPUT])
def test_without_consent_nothing_runs(asking: list[str], no_bubblewrap: Mapping[str, str], answer: str) -> None:
    code, shown = on_terminal(*asking, answers={CONSENT: answer}, env=no_bubblewrap)
    lines = [line for line in screen(shown) if line]
    assert (code, len(lines)) == (4, 3), shown
    assert lines[1].startswith("Error: no sandbox works here") and lines[2].startswith("Try: ")


@pytest.fixture
def asking(farm: Path) -> list[str]:
    script = farm / "ask.actions"
    script.write_text(
        "<action><type>ask</type><content>Which \x1b[31mfruit?</content></action>\n"
        "<action><type>done</type><content>a fruit</content></action>"
    )
    return ["run", "What?", "--on", str(farm), "--model", f"scripted:{script}"]


def test_the_end_of_the_input_is_nobody_and_the_run_goes_on(asking: list[str]) -> None:
    code, shown = on_terminal(*asking, answers={"fruit?: ": END_OF_INPUT})
    assert code == 0 and "nobody is there to answer" in shown and "a fruit" in screen(shown), shown
    assert "Which \x1b[31m" not in shown


def test_an_interrupt_at_a_question_ends_the_run(asking: list[str]) -> None:
    code, shown = on_terminal(*asking, answers={"fruit?: ": INTERRUPT})
    assert code == 130 and "a fruit" not in shown and "Interrupted." in screen(shown), shown
