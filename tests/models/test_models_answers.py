"""What is read from a body: reasoning apart, one action, tool calls as text."""

from __future__ import annotations

import pytest

from codenav.agents.models.answers import STOP, read_answer, split_reasoning

ACTION = "<thought>t</thought>\n<type>code</type>\n<content>\nprint(1)\n</content>"


def body(content: object, *, finish: object = "stop", usage: object = None, **message: object) -> dict[str, object]:
    return {"choices": [{"message": {"content": content, **message}, "finish_reason": finish}], "usage": usage}


@pytest.mark.parametrize(
    ("text", "answer", "reasoning"),
    [
        ("<think>a</think>b", "b", "a"),
        ("\n<think>\na\n</think>\n\nb", "b", "\na\n"),
        ("<think>a</think><think>c</think>b", "b", "a\nc"),
        ("<thinking>a</thinking>b", "b", "a"),
        ("<think>never closed", "", "never closed"),
        ("<think></think>b", "b", ""),
        ("opened in the prompt</think>" + ACTION, ACTION, "opened in the prompt"),
        ("opened in the prompt</think>prose", "prose", "opened in the prompt"),
        ("no reasoning", "no reasoning", ""),
        ("  kept as it is ", "  kept as it is ", ""),
    ],
)
def test_reasoning_in_tags_is_taken_out(text: str, answer: str, reasoning: str) -> None:
    assert split_reasoning(text) == (answer, reasoning)


def test_a_fake_action_in_the_reasoning_is_not_the_action() -> None:
    fake = "<type>done</type>\n<content>fake</content>"
    for text in (f"<think>{fake}</think>{ACTION}", f"{fake} no, wait</think>{ACTION}"):
        answer = read_answer(body(text))
        assert answer.text == ACTION
        assert "fake" in answer.reasoning


def test_code_that_mentions_the_tags_stays_whole() -> None:
    code = '<type>code</type>\n<content>\nre.sub("<think>.*?</think>", "", text)\n</content>'
    assert read_answer(body(code)).text == code


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_in_a_field_of_its_own(field: str) -> None:
    answer = read_answer(body(ACTION, **{field: "because"}))
    assert (answer.text, answer.reasoning) == (ACTION, "because")


def test_content_in_parts() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": ACTION}]
    answer = read_answer(body(parts))
    assert (answer.text, answer.reasoning) == (ACTION, "hm")


@pytest.mark.parametrize("end", ["", "<", "</", "</cont", "</content"])
def test_the_tag_that_the_stop_sequence_took_is_put_back(end: str) -> None:
    expected = ACTION.removesuffix("</content>")
    answer = read_answer(body(expected + end))
    assert answer.text == expected + "</content>"
    assert not answer.truncated


@pytest.mark.parametrize("stop", STOP)
def test_each_stop_sequence_leaves_the_same_action(stop: str) -> None:
    stopped, found, _ = f"{ACTION}\n</action>".partition(stop)
    assert found
    assert read_answer(body(stopped)).text == ACTION


def test_code_that_handles_a_content_tag_of_its_own_stays_whole() -> None:
    code = '<type>code</type>\n<content>\nentry.split("</content>")\nprint(entry)\n</content>'
    assert read_answer(body(code + "\nObservation: none")).text == code
    inline = "<type>search</type><content>betweenness</content>"
    assert read_answer(body(inline + "\nObservation: none")).text == inline
    assert read_answer(body(f"<action>{inline}</action> and on")).text == f"<action>{inline}"


def test_what_follows_the_first_action_is_cut_off() -> None:
    assert read_answer(body(ACTION + "\nObservation: 1\n" + ACTION)).text == ACTION
    wrapped = f"<action>{ACTION}</action>"
    assert read_answer(body(wrapped)).text == f"<action>{ACTION}"


@pytest.mark.parametrize("finish", ["length", "abort", "content_filter", None, 7])
def test_an_answer_that_the_model_did_not_end_is_truncated_and_stays_open(finish: object) -> None:
    cut = "<type>code</type>\n<content>\nprint("
    answer = read_answer(body(cut, finish=finish))
    assert (answer.text, answer.truncated) == (cut, True)


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("search", '{"query": "a b"}', "<type>search</type>\n<content>\na b\n</content>"),
        ("search", '{"queries": ["a", "b"]}', "<type>search</type>\n<content>\na\nb\n</content>"),
        ("execute", '{"code": "print(1)"}', "<type>execute</type>\n<content>\nprint(1)\n</content>"),
        ("python", "print(1)", "<type>python</type>\n<content>\nprint(1)\n</content>"),
        ("code", "6 * 7", "<type>code</type>\n<content>\n6 * 7\n</content>"),
        ("code", '{"content": "a\nb"}', "<type>code</type>\n<content>\na\nb\n</content>"),
        ("code", '{"content": "x"}{"content": "y"}', "<type>code</type>\n<content>\nx\n</content>"),
        ("done", None, "<type>done</type>\n<content>\n\n</content>"),
        ("code", '{"code": "print(1', 'code({"code": "print(1)'),
        ("code_summary", '{"content": "x = 1"}', "<type>code_summary</type>\n<content>\nx = 1\n</content>"),
        ("final_answer", '{"answer": 42}', "<type>final_answer</type>\n<content>\n42\n</content>"),
        ("done", '"42"', "<type>done</type>\n<content>\n42\n</content>"),
        (
            "done",
            '{"thought": "t", "answer": "42"}',
            "<thought>t</thought>\n<type>done</type>\n<content>\n42\n</content>",
        ),
        ("get_weather", '{"city": "Rome"}', "<type>get_weather</type>\n<content>\nRome\n</content>"),
    ],
)
def test_a_native_tool_call_becomes_text(name: str, arguments: str | None, text: str) -> None:
    call = {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}
    assert read_answer(body(None, finish="tool_calls", tool_calls=[call])).text == text
    assert read_answer(body(None, finish="function_call", function_call=call["function"])).text == text


def test_text_beside_a_call_is_its_thought_and_an_action_in_the_text_wins() -> None:
    call = {"function": {"name": "code", "arguments": '{"code": "x"}'}}
    assert read_answer(body("why", tool_calls=[call])).text.startswith("<thought>why</thought>\n<type>code</type>")
    assert read_answer(body(ACTION, tool_calls=[call])).text == ACTION


def test_a_finish_of_tool_calls_without_any_call_is_an_empty_answer() -> None:
    answer = read_answer(body("", finish="tool_calls", tool_calls=[]))
    assert (answer.text, answer.truncated, answer.cut_by_stop) == ("", False, False)


def test_a_refusal_is_the_text() -> None:
    assert read_answer(body(None, refusal="I cannot")).text == "I cannot"


def test_an_empty_answer_whose_tokens_went_into_reasoning() -> None:
    assert read_answer(body("", finish="length", reasoning="…")).spent_on_reasoning
    assert not read_answer(body("x", finish="length")).spent_on_reasoning


@pytest.mark.parametrize("content", [None, "", 5, {"a": 1}, [], [None], ["a"]])
@pytest.mark.parametrize("message", [{"tool_calls": "x"}, {"tool_calls": [None]}, {"tool_calls": [{"function": 3}]}])
@pytest.mark.parametrize(
    "usage", [None, [], {"prompt_tokens": "many"}, {"prompt_tokens": -3, "completion_tokens": None}]
)
def test_wrong_types_count_as_not_said(content: object, message: dict[str, object], usage: object) -> None:
    answer = read_answer(body(content, usage=usage, **message))
    assert (answer.text, answer.input_tokens, answer.output_tokens) == ("", 0, 0)


@pytest.mark.parametrize("choice", [None, "x", {}, {"message": None}, {"message": "x"}])
def test_a_choice_without_a_message_is_empty(choice: object) -> None:
    assert read_answer({"choices": [choice]}).text == ""


def test_lone_surrogates_do_not_leave_the_reader() -> None:
    answer = read_answer(body("a\ud800b", reasoning="\udfff"))
    assert (answer.text, answer.reasoning) == ("a?b", "?")
