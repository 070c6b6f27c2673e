"""A terminal that goes away in a question: the answer is no, the record is whole, and no process stays."""

from __future__ import annotations

import fcntl
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from tool_service import ToolService

import codenav

ACTION = "<action><type>{}</type><content>\n{}\n</content></action>\n"
ORDER = (
    "from tools.shop import create_order\n"
    "try:\n    create_order(customer=7, lines=[{'product': 1, 'quantity': 2}])\n"
    "except Exception as error:\n    print('no:', error)"
)
REASON = "nobody answered"


def close_in_question(
    first: str, *options: str, on: str, until: str, folder: Path, controlling: bool
) -> tuple[int, codenav.EpisodeResult]:
    """The exit code and the record of a run whose terminal is closed once it shows a question.

    Where the terminal is its `controlling` one, the kernel sends SIGHUP; else a read fails.
    """
    script = folder / "order.actions"
    script.write_text(first + ACTION.format("done", "over"))
    ours, theirs = pty.openpty()

    def take() -> None:
        os.setsid()
        if controlling:
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    command = [sys.executable, "-m", "codenav", "run", "Order it.", "--on", on, "--sandbox", "bubblewrap", *options]
    command += ["--set=checks.types=no", "--set=checks.lint=no", "--model", f"scripted:{script}"]
    process = subprocess.Popen(command, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs, preexec_fn=take)
    os.close(theirs)
    shown = b""
    while until.encode() not in shown:
        shown += os.read(ours, 65536)
    os.close(ours)
    code = process.wait(timeout=60)
    return code, codenav.load_episode("last")


@pytest.mark.parametrize("controlling", [True, False])
def test_in_a_question_about_a_call(shop: str, service: ToolService, tmp_path: Path, controlling: bool) -> None:
    code, result = close_in_question(
        ACTION.format("code", ORDER), "--allow", "ask", "--secret", "shop_key=SHOP_KEY",
        on=shop, until="[N]: ", folder=tmp_path, controlling=controlling,
    )  # fmt: skip
    assert service.writes == []
    made = [one.call for one in result.calls] if controlling else result.steps[0].observation.calls  # type: ignore[attr-defined]
    assert [(one.tool, one.outcome) for one in made] == [("shop.create_order", "refused")]
    assert (code, result.status) == ((130, "interrupted") if controlling else (0, "done"))
    assert controlling or REASON in result.steps[0].observation.text


@pytest.mark.parametrize(
    ("kind", "content", "until", "told"),
    [("code", "print(1)", "[N]: ", REASON), ("ask", "Sure?", "Sure?: ", "Nobody is there to answer")],
)
def test_in_a_question_of_the_agent_or_about_a_step(
    shop: str, tmp_path: Path, kind: str, content: str, until: str, told: str
) -> None:
    first = ACTION.format(kind, content)
    code, result = close_in_question(
        first, "--approve", "steps", on=shop, until=until, folder=tmp_path, controlling=False
    )
    assert (code, result.status) == (0, "done") and told in result.steps[0].observation.text
