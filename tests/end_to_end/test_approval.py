"""Approval: a person sees a step before it runs, and a call that writes while its step waits."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import codenav
from pseudo_terminal import on_terminal
from tool_service import ToolService

import codenav as package
from codenav.agents.models.scripted import ScriptedModel
from codenav.core.actions import Action, Ask, Code, Done
from codenav.core.approval import Approval, Question
from codenav.core.errors import UsageError
from codenav.core.options import ToolOptions

PLAIN: dict[str, Any] = {"sandbox": "bubblewrap", "checks_lint": False, "checks_types": False}
ORDER = "from tools.shop import create_order, list_orders\n"
CREATE = "create_order(customer=7, lines=[{'product': 1, 'quantity': 2}])"
CAUGHT = f"{ORDER}try:\n    {CREATE}\nexcept Exception as error:\n    print('no:', error)\nelse:\n    print('sent')"


@pytest.fixture
def farm(tmp_path: Path) -> Path:
    (tmp_path / "farm").mkdir()
    (tmp_path / "farm" / "farm.py").write_text("def acres() -> int:\n    return 12\n")
    return tmp_path / "farm"


def run(actions: list[Action], on: str | Path, **keywords: Any) -> package.EpisodeResult:
    return package.run("Do it.", on=on, model=ScriptedModel(actions), **PLAIN, **keywords)


def test_a_step_runs_as_it_is_or_as_edited_or_not_at_all(farm: Path) -> None:
    answers = [True, Approval(True, code="y = x + 2\nprint(y)"), Approval(False, reason="too far")]
    seen: list[str] = []

    def confirm(question: Question) -> bool | Approval:
        seen.append(question.code)
        return answers[len(seen) - 1]

    steps = [Code("import farm\nx = farm.acres()"), Code("y = x + 1\nprint(y)"), Code("y = x + 99\nprint(y)")]
    result = run([*steps, Done("14")], farm, approve="steps", confirm=confirm)
    assert seen == [step.content for step in steps]
    assert [step.observation.ok for step in result.steps] == [True, True, False, True]
    assert result.steps[1].action.content == "y = x + 2\nprint(y)" and "14" in result.steps[1].observation.text
    assert "too far" in result.steps[2].observation.text
    assert result.summary.verified and "x + 2" in result.summary.code and "99" not in result.summary.code
    # The record says the same, and everything that is made of it works.
    again = package.load_episode(result.id)
    assert again.steps[2].observation.to_data() == {"rule": "not_approved"} and not again.steps[2].observation.ok
    again.to_notebook(farm.parent / "run.ipynb")
    shown = codenav("episodes", "show", "last")
    assert shown.code == 0 and "too far" in shown.out, shown.err


def test_nobody_there_means_that_nothing_begins(farm: Path) -> None:
    with pytest.raises(UsageError, match="nobody is there to approve"):
        run([Code("print(1)"), Done("1")], farm, approve="steps")
    ran = codenav("run", "Count.", "--on", farm, "--approve", "steps", "--model", "scripted:none.actions")
    assert ran.code == 2 and "nobody is there to approve the steps" in ran.err and "--approve none" in ran.err


def test_code_goes_on_in_place_after_a_call_was_let_pass_or_not(
    shop: str, service: ToolService, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[Question] = []

    def confirm(question: Question) -> bool | Approval:
        questions.append(question)
        return Approval(False, reason="not today") if len(questions) == 1 else True

    tools = {"secret": ["shop_key=SHOP_KEY"], "allow": "write", "approve": "writes", "confirm": confirm}
    result = run([Code(CAUGHT), Code(CAUGHT), Done("sent")], shop, **tools)
    first, second = (step.observation.text for step in result.steps[:2])
    assert "no:" in first and "not today" in first and "sent" in second
    assert [one.tool for one in questions] == ["shop.create_order"] * 2 and len(service.writes) == 1
    assert "the person is asked" in result.prompt


def test_a_dry_run_sends_nothing_that_writes(shop: str, service: ToolService) -> None:
    code = f"{ORDER}before = len(list_orders())\nprint(before, {CREATE})"
    result = run([Code(code), Done("planned")], shop, secret=["shop_key=SHOP_KEY"], allow="dry-run")
    assert "not sent (dry run)" in result.steps[0].observation.text and service.writes == []
    assert [(call.tool, call.outcome) for call in result.steps[0].observation.calls] == [  # type: ignore[attr-defined]
        ("shop.list_orders", "ok"),
        ("shop.create_order", "dry-run"),
    ]


def test_steps_are_approved_on_the_terminal(farm: Path, tmp_path: Path) -> None:
    script = tmp_path / "acres.actions"
    script.write_text(
        "<action><type>code</type><content>\nimport farm\nprint(farm.acres())\n</content></action>\n"
        "<action><type>code</type><content>\nprint('again')\n</content></action>\n"
        "<action><type>done</type><content>\n12\n</content></action>\n"
    )
    code, shown = on_terminal(
        "run", "How many acres?", "--on", farm, "--approve", "steps", "--sandbox", "bubblewrap",
        "--set=checks.types=no", "--model", f"scripted:{script}",
        answers={"   2 print(farm.acres())": "y\n", "   1 print('again')": "once is enough\n"},
    )  # fmt: skip
    assert code == 0, shown
    assert "once is enough" in shown and "12" in shown


@pytest.mark.parametrize("backend", ["bubblewrap", "process"])
def test_a_person_may_take_longer_than_any_limit(shop: str, service: ToolService, backend: str) -> None:
    def confirm(question: Question) -> bool:
        time.sleep(6 if question.kind == "call" else 0)
        return True

    def answer(question: str) -> str:
        time.sleep(3)
        return "yes"

    code = f"{ORDER}import time\nx = 1\n{CREATE}\ntime.sleep(0.5)\nprint('sent')"
    slow = "import time\ntime.sleep(60)"
    tools = {"secret": ["shop_key=SHOP_KEY"], "allow": "ask", "tool_timeout": 3, "confirm": confirm, "ask": answer}
    actions = [Code(code), Ask("Sure?"), Code("print(x)"), Code(slow), Done("1")]
    options = {**PLAIN, "sandbox": backend, "code_timeout": 2, "max_seconds": 8}
    result = package.run("Do it.", on=shop, model=ScriptedModel(actions), **options, **tools)
    assert len(service.writes) == 1 and "sent" in result.steps[0].observation.text, result.steps[0].observation.text
    assert result.steps[2].observation.ok and result.status == "done"
    # The next step has its limit again.
    assert "the step took over 2 s" in result.steps[3].observation.text and result.steps[3].seconds < 4


def test_a_run_that_is_cancelled_in_a_question_keeps_the_state(shop: str, service: ToolService) -> None:
    class Person:
        """A person who never answers."""

        def __init__(self) -> None:
            self.gone = threading.Event()

        def __call__(self, question: Question) -> Approval:
            threading.Timer(0.5, session.cancel).start()
            return Approval(not self.gone.wait(60))

        def cancel(self) -> None:
            self.gone.set()

    tools = ToolOptions(allow="ask", secrets={"shop_key": "SHOP_KEY"})
    model = ScriptedModel([Code(f"{ORDER}x = 41\n{CREATE}"), Code("print(x + 1)"), Done("42")])
    with package.Session(on=shop, model=model, sandbox="bubblewrap", tools=tools, confirm=Person()) as session:
        began = time.monotonic()
        assert session.run("Do it.").status == "interrupted" and time.monotonic() - began < 30
        assert "42" in session.run("And now?").steps[0].observation.text
    assert service.writes == []
