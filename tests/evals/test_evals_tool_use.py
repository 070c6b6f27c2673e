"""Tool-use: one JSON call a turn, what becomes of it in the sandbox, and the scores of each benchmark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from evals_task import Shop

import codenav.evals
from codenav.agents.models import FunctionModel, ScriptedModel
from codenav.core.errors import ContextOverflow, UsageError
from codenav.core.messages import Completion, Message, Sampling
from codenav.core.usage import Usage
from codenav.evals import Mode, Setting, Tool
from codenav.evals.calling import read, written_value
from codenav.evals.m3tooleval import M3ToolEval
from codenav.evals.mnms import Mnms
from codenav.session.api import load_episode

DATA = Path(__file__).parents[1] / "data" / "evals"
PLAIN: Any = {"checks_lint": False, "checks_types": False, "mode": "tool-use"}


class Counter(Shop):
    """The shop with its two functions registered, and the answer in the text of the result."""

    def setting(self, mode: Mode, out: Path) -> Setting:
        found = super().setting(mode, out)
        tools = [Tool(name, f"from shopping.shop import {name}", name) for name in ("price", "pay")]
        return Setting(found.on, "price(what): the price of a thing.\npay(amount, to): pay.", tools=tools)

    def score(self, attempt: Any) -> dict[str, Any]:
        return {"correct": attempt.result.answer == str(attempt.sample.gold)}


def played(task: Any, out: Path, *answers: str, **more: Any) -> Any:
    """The only result of a run that plays these answers."""
    (result,) = codenav.evals.run(
        task, out=out, model=lambda sample: ScriptedModel(answers), **{**PLAIN, **more}
    ).results
    return result


def call(tool: str, *listed: Any, **named: Any) -> str:
    return json.dumps({"tool": tool, "arguments": list(listed) or named})


def answer(value: Any) -> str:
    return json.dumps({"answer": value})


def test_a_call_runs_in_the_sandbox_is_traced_and_its_result_comes_back(tmp_path: Path) -> None:
    seen: list[Sequence[Message]] = []
    answers = iter([call("price", what="tea0"), "Sure: " + answer(0)])

    def model(messages: Sequence[Message]) -> str:
        seen.append(list(messages))
        return next(answers)

    (result,) = codenav.evals.run(Counter(1), out=tmp_path, model=lambda sample: FunctionModel(model), **PLAIN).results
    assert (result.status, result.answer, result.scores) == ("done", "0", {"correct": True})
    assert result.calls == [{"name": "price", "arguments": {"what": "tea0"}, "step": 1, "failed": False}]
    assert seen[1][-1] == Message("user", "Result 1:\n0")
    assert "price(what): the price" in seen[0][0].content and "<type>" not in seen[0][0].content
    assert result.trajectory[0]["content"].endswith("result_1 = price(what='tea0')\nprint(result_1)")
    # It replays like any other episode.
    assert load_episode(result.episode).summary.verified


def test_what_is_no_call_is_told_and_a_failed_call_says_why(tmp_path: Path) -> None:
    result = played(
        Counter(1), tmp_path, "Let me think.", call("prize", what="tea0"), call("price", what="coffee"),
        call("price", what="tea0"), answer(0),
    )  # fmt: skip
    said = [step["observation"] for step in result.trajectory]
    assert "no JSON object of the two forms" in said[0] and "no tool 'prize': did you mean 'price'?" in said[1]
    assert "KeyError" in said[2] and result.scores["correct"]
    assert [one["failed"] for one in result.calls] == [True, False]


def test_a_small_model_has_the_turns_of_the_small_profile_and_its_last_result_is_the_answer(tmp_path: Path) -> None:
    result = played(
        Counter(1), tmp_path, *[call("price", what="tea0"), call("pay", 1, "me")] * 4, profile="small", max_steps=20
    )
    assert (result.status, result.steps) == ("done", 7)
    assert [one["name"] for one in result.calls] == ["price", "price", "price"]
    assert "pay() takes" in result.trajectory[1]["observation"] and result.answer == "0"


def test_a_grammar_holds_the_names_of_the_tools_and_no_answer_comes_before_a_result(tmp_path: Path) -> None:
    with ChatServer([call("price", what="tea0"), answer(0)]) as server:
        ended = codenav.evals.run(Counter(1), out=tmp_path, model="any", base_url=server.url, **PLAIN)
        forms = [request["grammar"] for request in server.chats if "grammar" in request]
    assert ended.results[0].scores["correct"]
    assert forms[0].startswith("root ::= call\n") and forms[1].startswith("root ::= call | answer\n")
    assert 'tool ::= "price" | "pay"' in forms[0]


def test_seeds_are_drawn_each_with_its_own(tmp_path: Path) -> None:
    asked: list[Sampling | None] = []

    class Watched(ScriptedModel):
        def complete(self, messages: Any, *, timeout: Any = None, sampling: Sampling | None = None) -> Completion:
            asked.append(sampling)
            return super().complete(messages, timeout=timeout)

    codenav.evals.run(
        Counter(1),
        out=tmp_path,
        epochs=2,
        model=lambda sample: Watched([call("price", what="tea0"), answer(0)]),
        **PLAIN,
    )
    assert [(one.temperature, one.seed) for one in asked if one] == [(0.8, 1000), (0.8, 1000), (0.8, 2000), (0.8, 2000)]


def test_a_conversation_that_no_longer_fits_goes_on_with_its_newest_results(tmp_path: Path) -> None:
    sizes: list[int] = []

    def model(messages: Sequence[Message]) -> Completion:
        sizes.append(len(messages))
        if len(messages) > 12:
            raise ContextOverflow("the conversation is too long", limit=10, prompt_tokens=11)
        text = answer(0) if len(sizes) > 6 else call("price", what="tea0") if len(sizes) % 2 else call("pay", 1, "me")
        return Completion(text, usage=Usage(requests=1, input_tokens=9, output_tokens=9))

    (result,) = codenav.evals.run(Counter(1), out=tmp_path, model=lambda sample: FunctionModel(model), **PLAIN).results
    assert result.scores["correct"] and max(sizes) == 14 and sizes[-1] == 10


def test_a_task_without_tools_has_no_tool_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="shop registers no tools"):
        played(Shop(1), tmp_path / "a", answer(0))
    assert not (tmp_path / "a" / "head.json").exists()


def test_browsing_keeps_one_browser_and_python_s_own_functions_are_tools(tmp_path: Path) -> None:
    task = M3ToolEval(DATA / "m3tooleval", any_commit=True)
    result = played(
        task, tmp_path, call("browser.click_url", "/kettles"), call("browser.go_to_previous_page"), answer("$24.37"),
        ids=["web_browsing:price_of_blue_kettle"],
    )  # fmt: skip
    assert result.scores["correct"] and [one["name"] for one in result.calls] == ["click_url", "go_to_previous_page"]
    assert "WebBrowser()" in result.trajectory[0]["content"] and "WebBrowser" not in result.trajectory[1]["content"]
    setting = task.setting(Mode.TOOL_USE, tmp_path / "setting")
    names = [tool.name for tool in setting.tools]
    assert "browser.view" in names and "min" in names and "import" not in setting.description
    assert all(name in setting.description for name in names) and "named `answer`" not in setting.description


def test_an_answer_in_json_is_graded_as_the_value_that_it_is(tmp_path: Path) -> None:
    task = M3ToolEval(DATA / "m3tooleval", any_commit=True)
    right = played(task, tmp_path, call("min", 110, 220), answer([110.0, 220.0]), ids=["trade_calculator:list"])
    assert right.scores["correct"] and right.scores["graded"] == "text" and right.answer == "[110.0, 220.0]"
    assert [one["name"] for one in right.calls] == []  # Python's own is no tool of the library


def test_calls_are_the_program_of_mnms_and_refer_to_earlier_results(tmp_path: Path) -> None:
    task = Mnms(DATA / "mnms" / "checkout", tasks=DATA / "mnms" / "plans.json", any_commit=True, stub_tools=True)
    result = played(
        task, tmp_path, call("object_detection", image="dog.jpg"),
        call("select_object", objects="<result-1>.objects", object_name="dog"),
        call("image_crop", image="<result-1>.image", object="<result-2>.object"), answer("done"), ids=["28"],
    )  # fmt: skip
    assert result.scores["correct"] and result.scores["summed_up"]
    assert "select_object(objects=result_1['objects'], object_name='dog')" in result.program
    assert "code_summary" not in task.setting(Mode.TOOL_USE, tmp_path / "setting").description


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("<result-1>", "result_1"),
        ("<result-2>.text.0", "result_2['text']['0']"),
        ("a drawing of <result-1>.text!", "'a drawing of ' + str(result_1['text']) + '!'"),
        (["<result-1>", 1, None, True], "[result_1, 1, None, True]"),
        ({"a'b": {"c": "__import__('os')"}}, "{\"a'b\": {'c': \"__import__('os')\"}}"),
    ],
)
def test_values_are_written_as_python_writes_them(value: Any, code: str) -> None:
    assert written_value(value) == code


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('```json\n{"tool": "f", "arguments": {}}\n```', {"tool": "f", "arguments": {}}),
        ('I take {x}: {"a": 1} {"answer": [1]}', {"answer": [1]}),
        ('{"tool": "f", "arguments": {', None),
        ("", None),
    ],
)
def test_the_first_object_that_is_a_call_or_an_answer_counts(text: str, found: Any) -> None:
    assert read(text) == found
