"""A hundred steps in a context that holds ten: a server that refuses more, and one that cuts without a word."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chat_server import Answer, ChatServer, Fault
from command_line import Ran, codenav

import codenav as api
from codenav.core.errors import ContextOverflow, ModelFailed
from codenav.core.usage import estimate_tokens

Run = Callable[..., Ran]

CONTEXT = 16_000
LAST = 100
FINDING = "Field {} is the one with the well."
STEPS = {
    2: "<type>ask</type><content>\nWhich unit?\n</content>",
    3: "<type>search</type><content>\nharvest\n</content>",
    4: "<type>code</type><content>\nfrom farm.fields import Field, harvest\nplot = Field(3, 4)\n"
    "kilograms = harvest(plot, per_square_metre=2.0)\nopen('plan.txt', 'w').write('x' * 10)\n</content>",
}


class Played:
    """A model that takes a hundred steps with 1,500 tokens of output each, on a server with a bound."""

    def __init__(self, *, cuts: bool) -> None:
        self.cuts, self.step, self.handovers = cuts, 0, 0
        self.sent: list[list[dict[str, str]]] = []

    def __call__(self, body: dict[str, Any]) -> Answer | Fault:
        messages = body["messages"]
        size = sum(estimate_tokens(message["content"]) for message in messages)
        if size > CONTEXT and not self.cuts:
            return Fault(400, f"This model's maximum context length is {CONTEXT} tokens, however you requested {size}.")
        if size > CONTEXT:
            # As Ollama does: the beginning is gone, and with it the instructions.
            return Answer("Which of them?", usage={"prompt_tokens": CONTEXT // 8, "completion_tokens": 4})
        if "will no longer be shown" in messages[-1]["content"]:
            self.handovers += 1
            return Answer(FINDING.format(self.handovers))
        self.step += 1
        self.sent.append(messages)
        code = f"row_{self.step} = {self.step}\nprint(('{self.step} ' + 'lorem ipsum ' * 12 + '\\n') * 38)"
        done = "<type>done</type><content>\nall done\n</content>"
        other = STEPS.get(self.step, f"<type>code</type><content>\n{code}\n</content>")
        return Answer(done if self.step > LAST else other)


@pytest.mark.parametrize("cuts", [False, True])
def test_nothing_that_belongs_into_a_hand_over_is_lost(
    run: Run, chat_server: ChatServer, library: Path, cuts: bool
) -> None:
    played = Played(cuts=cuts)
    chat_server.script = played
    ran = run("Count the rows.", "--on", library, "--max-steps", 120)
    assert ran.code == 0 and ran.out.startswith("all done"), ran.err
    assert ran.err.count("the conversation is too long for test-model") == 1
    shown = played.sent[-1][1]["content"]
    assert "plot: Field" in shown and "kilograms: float" in shown, shown
    handed = int(re.search(r"Steps 1 to (\d+)", shown)[1])  # type: ignore[index]
    assert handed > 80 and all(f"row_{number}: int" in shown for number in range(5, handed))
    assert "harvest(plot, per_square_metre=2.0)" in shown
    assert "from farm.fields import harvest # def harvest(field: Field" in shown
    assert "plan.txt" in shown and "Which unit? → Nobody is there" in shown
    assert all(FINDING.format(number) in shown for number in range(1, played.handovers + 1))
    assert played.handovers > 5
    prefixes = [after[: len(before)] == before for before, after in zip(played.sent, played.sent[1:], strict=False)]
    assert prefixes.count(False) == played.handovers
    record = codenav("episodes", "show", "last", "--json").document
    assert len(record["steps"]) == LAST + 1 and "lorem ipsum" in record["steps"][20]["shown"]
    assert sum("handover" in step for step in record["steps"]) == played.handovers
    assert "Steps 1 to" in next(step["handover"] for step in record["steps"] if "handover" in step)


def test_a_model_that_gives_no_findings_is_gone_on_without(library: Path) -> None:
    def answer(messages: Any) -> str:
        if "will no longer be shown" in messages[-1].content:
            raise ModelFailed("no")
        if sum(estimate_tokens(message.content) for message in messages) > 8000:
            raise ContextOverflow("too long", limit=8000)
        step = sum(message.role == "assistant" for message in messages)
        last = re.search(r"Steps 1 to (\d+)", messages[1].content)
        number = step + (int(last[1]) if last else 0)
        return "done: 12" if number > 12 else f"```python\nx{number} = 1\nprint('lorem ' * 600)\n```"

    def model(messages: Any) -> str | api.Action:
        text = answer(messages)
        return api.Done("12") if text.startswith("done") else text

    result = api.run("Go.", on=library, model=api.FunctionModel(model), checks_types=False)
    assert result.answer == "12", result.reason
    assert any("x1: int" in step.handover and "What you found out" not in step.handover for step in result.steps)
