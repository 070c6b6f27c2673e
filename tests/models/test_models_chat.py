"""The chat client against a real server, through the real `openai` package: what it sends and learns."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from chat_server import Answer, ChatServer, Fault, stream

from codenav.agents.models import ChatModel
from codenav.core.actions import Code, Done, Search
from codenav.core.errors import ContextOverflow, ModelFailed
from codenav.core.messages import Message

ASK = [Message("system", "You are an agent."), Message("user", "What is 6 times 7?")]

Open = Callable[..., ChatModel]


def test_a_conversation(chat_server: ChatServer, connect: Open, told: list[str]) -> None:
    chat_server.script = [Search("six"), Done("42")]
    model = connect("m")
    first = model.complete(ASK)
    assert first.text == Search("six").to_xml()
    assert not first.truncated
    assert not first.usage.estimated
    assert first.usage.requests == 1
    assert first.usage.input_tokens > 0 and first.usage.output_tokens > 0 and first.usage.seconds > 0
    assert model.complete([*ASK, Message("assistant", first.text), Message("user", "hits")]).text == Done("42").to_xml()
    sent = chat_server.chats[1]
    assert sent["messages"][0] == {"role": "system", "content": "You are an agent."}
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant", "user"]
    assert {key: sent[key] for key in sent if key != "messages"} == {
        "model": "m",
        "max_tokens": 8192,
        "temperature": 0,
        "stop": ["\n</content>", "</content>\n", "</action>"],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert told == []


def test_text_that_is_no_utf_8_is_sent_all_the_same(chat_server: ChatServer, connect: Open) -> None:
    chat_server.script = ["é 漢 \U0001f600"]
    assert connect().complete([Message("user", "bad \udcff byte")]).text == "é 漢 \U0001f600"
    assert chat_server.chats[0]["messages"][0]["content"] == "bad ? byte"


class TestLearning:
    def test_refused_parameters_are_left_out_renamed_and_remembered(
        self, chat_server: ChatServer, connect: Open, told: list[str]
    ) -> None:
        chat_server.refuses = ["max_tokens", "temperature", "stop"]
        chat_server.script = [Done("42").to_xml() + "\nObservation: made up", Done("43")]
        model = connect("learner")
        assert model.complete(ASK).text == Done("42").to_xml()
        assert told == [
            "learner: refuses max_tokens: sent as max_completion_tokens",
            "learner: refuses temperature 0: left out",
            "learner: refuses stop: left out, answers are cut off here",
        ]
        assert connect("learner").complete(ASK).text == Done("43").to_xml()
        assert len(told) == 3
        assert [
            sorted(set(body) & {"max_tokens", "max_completion_tokens", "stop", "temperature"})
            for body in chat_server.chats
        ] == [
            ["max_tokens", "stop", "temperature"],
            ["max_completion_tokens", "stop", "temperature"],
            ["max_completion_tokens", "stop"],
            ["max_completion_tokens"],
            ["max_completion_tokens"],
        ]

    def test_a_server_that_takes_neither_name_of_the_token_limit(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.refuses = ["max_tokens", "max_completion_tokens"]
        chat_server.script = [Done("42")]
        connect().complete(ASK)
        assert sorted(chat_server.chats[-1]) == ["messages", "model", "stop", "stream", "stream_options", "temperature"]

    def test_a_smaller_token_limit(self, chat_server: ChatServer, connect: Open, told: list[str]) -> None:
        text = "max_tokens is too large: 8192. This model supports at most 4096 completion tokens."
        chat_server.script = [Fault(400, text, "invalid_value", param="max_tokens"), Done("1"), Done("2")]
        model = connect("small")
        model.complete(ASK)
        model.complete(ASK)
        assert [body["max_tokens"] for body in chat_server.chats] == [8192, 4096, 4096]
        assert told == ["small: accepts max_tokens only up to 4,096"]

    def test_a_parameter_that_is_refused_again_ends_it(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.script = lambda body: Fault(400, "Unsupported parameter: 'max_tokens' max_completion_tokens stop")
        with pytest.raises(ModelFailed, match="Unsupported parameter"):
            connect().complete(ASK)
        assert len(chat_server.chats) == 4

    def test_several_threads_learn_the_same_at_once(
        self, chat_server: ChatServer, connect: Open, told: list[str]
    ) -> None:
        chat_server.refuses = ["max_tokens", "temperature"]
        chat_server.script = lambda body: Done("42")
        model = connect()
        texts: list[str] = []
        threads = [threading.Thread(target=lambda: texts.append(model.complete(ASK).text)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert texts == [Done("42").to_xml()] * 8
        assert len(told) == 2

    def test_an_answer_that_reasoning_used_up_gets_twice_the_tokens_once(
        self, chat_server: ChatServer, connect: Open, told: list[str]
    ) -> None:
        empty = Answer("", "length", {"reasoning_content": "hm"})
        chat_server.script = [empty, Done("42"), empty]
        model = connect("thinker", max_tokens=100)
        completion = model.complete(ASK)
        assert completion.text == Done("42").to_xml()
        assert completion.usage.requests == 2
        assert told == ["thinker: spent all its tokens on reasoning: allowed 200 from now on"]
        again = model.complete(ASK)
        assert (again.text, again.truncated, again.reasoning) == ("", True, "hm")
        assert [body["max_tokens"] for body in chat_server.chats] == [100, 200, 200]

    @pytest.mark.parametrize(
        "empty",
        [
            Answer(None),
            Answer("<think>perhaps <type>done</type>\n<content>\n41\n</content> or not</think>"),
            Answer("", message={"reasoning": "hm"}),
        ],
    )
    def test_a_model_that_stop_silences_is_asked_without_it(
        self, chat_server: ChatServer, connect: Open, told: list[str], empty: Answer
    ) -> None:
        chat_server.script = lambda body: empty if "stop" in body else Done("42")
        model = connect("hushed")
        assert model.complete(ASK).text == Done("42").to_xml()
        assert model.complete(ASK).text == Done("42").to_xml()
        assert ["stop" in body for body in chat_server.chats] == [True, False, False]
        assert told == ["hushed: answers nothing if stop is sent: left out, answers are cut off here"]

    def test_a_model_that_says_nothing_either_way_is_asked_once_more_and_not_again(
        self, chat_server: ChatServer, connect: Open, told: list[str]
    ) -> None:
        chat_server.script = lambda body: Answer(None)
        model = connect()
        assert model.complete(ASK).text == model.complete(ASK).text == ""
        assert ["stop" in body for body in chat_server.chats] == [True, False, True]
        assert told == []

    def test_an_empty_answer_is_returned_as_it_is(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.script = ["", ""]
        completion = connect().complete(ASK)
        assert (completion.text, completion.truncated) == ("", False)
        # Whether a server that streams meant "" or nothing cannot be told: without stop it is asked once more.
        assert len(chat_server.chats) == (2 if chat_server.streams else 1)


class TestContext:
    @pytest.mark.parametrize(
        ("fault", "limit"),
        [
            (Fault(400, "maximum context length is 8192 tokens, you sent 9000", "context_length_exceeded"), 8192),
            (Fault(400, "The prompt is longer than the model's context length of 10.", 400), 10),
            (Fault(200, body={"error": {"code": "context_length_exceeded", "message": "too long"}}), None),
        ],
    )
    def test_a_prompt_that_is_too_long(
        self, chat_server: ChatServer, connect: Open, fault: Fault, limit: int | None
    ) -> None:
        chat_server.script = lambda body: fault
        with pytest.raises(ContextOverflow) as caught:
            connect().complete([Message("user", "word " * 9000)])
        assert caught.value.limit == limit
        assert len(chat_server.chats) == 1

    def test_an_answer_that_is_too_long_is_fitted_into_the_context(
        self, chat_server: ChatServer, connect: Open
    ) -> None:
        text = (
            "This model's maximum context length is 4096 tokens. You requested 9012 tokens (820 in the messages, 8192)"
        )
        chat_server.script = [Fault(400, text), Done("42")]
        assert connect().complete(ASK).text == Done("42").to_xml()
        assert [body["max_tokens"] for body in chat_server.chats] == [8192, 4096 - 820 - 64]

    def test_it_is_fitted_only_once(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.script = lambda body: Fault(400, "maximum context length is 4096 tokens (820 in the messages)")
        with pytest.raises(ContextOverflow):
            connect().complete(ASK)
        assert len(chat_server.chats) == 2

    def test_a_prompt_that_was_silently_cut(self, chat_server: ChatServer, connect: Open, told: list[str]) -> None:
        chat_server.script = [Answer("fine", usage={"prompt_tokens": 4096, "completion_tokens": 1})] * 2
        model = connect("short")
        first, second = (model.complete([Message("user", "word " * 6000)]) for _ in range(2))
        says = f"{chat_server.url} says that it read 4,096 tokens of a prompt of about 7,500"
        assert (first.text, first.doubt, second.doubt) == ("fine", says, says)
        assert told == [f"short: {says}: it counts in its own way, or cuts long prompts (docs/models.md)"]

    @pytest.mark.parametrize("placeholder", [1, 10])
    def test_a_server_that_counts_nothing_is_told_once(
        self, chat_server: ChatServer, connect: Open, told: list[str], placeholder: int
    ) -> None:
        usage = {"prompt_tokens": placeholder, "completion_tokens": placeholder}
        chat_server.script = lambda body: Answer(Done("42").to_xml(), usage=usage)
        model = connect()
        talk = [Message("user", "word " * 900)]
        for _ in range(3):
            completion = model.complete(talk)
            assert completion.text == Done("42").to_xml()
            talk += [Message("assistant", "a"), Message("user", "word " * 100)]
        assert len(told) == 1

    def test_a_prompt_that_is_cut_when_it_grows(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.script = [
            Answer("a", usage={"prompt_tokens": n, "completion_tokens": 1}) for n in (3900, 4300, 4096)
        ]
        model = connect()
        talk = [Message("user", "some_long_identifier " * 800)]
        assert model.complete(talk).doubt == ""
        talk += [Message("assistant", "a"), Message("user", "word " * 300)]
        assert model.complete(talk).doubt == ""
        talk += [Message("assistant", "a"), Message("user", "word " * 300)]
        assert "read 4,096 tokens" in model.complete(talk).doubt

    def test_another_conversation_or_a_shorter_one_is_not_a_cut_one(
        self, chat_server: ChatServer, connect: Open
    ) -> None:
        chat_server.script = [Answer("a", usage={"prompt_tokens": n, "completion_tokens": 1}) for n in (3900, 50, 200)]
        model = connect()
        model.complete([Message("user", "x" * 8000)])
        model.complete([Message("user", "y")])
        model.complete([Message("user", "y"), Message("assistant", "a"), Message("user", "word " * 100)])
        assert len(chat_server.chats) == 3

    @pytest.mark.parametrize(
        "cached",
        [
            {"prompt_tokens_details": {"cached_tokens": 900}},
            {"cache_read_input_tokens": 900},
            {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 900},
        ],
    )
    def test_tokens_that_the_server_had_cached_are_not_missing(
        self, chat_server: ChatServer, connect: Open, cached: dict[str, object]
    ) -> None:
        chat_server.script = [Answer("fine", usage={"prompt_tokens": 50, "completion_tokens": 1, **cached})]
        completion = connect().complete([Message("user", "word " * 900)])
        assert (completion.text, completion.doubt) == ("fine", "")

    @pytest.mark.parametrize("usage", [{}, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": "x"}])
    def test_without_usage_the_tokens_are_estimated(
        self, chat_server: ChatServer, connect: Open, usage: dict[str, object]
    ) -> None:
        chat_server.script = [Answer("four", usage=usage)]
        completion = connect().complete([Message("user", "word " * 800)])
        assert completion.usage.estimated
        assert (completion.usage.input_tokens, completion.usage.output_tokens) == (1000, 1)

    @pytest.mark.parametrize(
        ("usage", "told_of"),
        [
            ({"prompt_tokens": -1000, "completion_tokens": 3}, "prompt_tokens: -1000"),
            ({"prompt_tokens": "1000", "completion_tokens": 45}, "prompt_tokens: 1000"),
            ({"prompt_tokens": True, "completion_tokens": True}, "prompt_tokens: True"),
            ({"prompt_tokens": 1000, "completion_tokens": 10**15}, "completion_tokens: 1000000000000000"),
            ({"prompt_tokens": 1000, "completion_tokens": 1e999}, "completion_tokens: inf"),
            ({"prompt_tokens": [1000], "completion_tokens": 45}, "prompt_tokens: [1000]"),
            ({"prompt_tokens": 1000, "completion_tokens": 3}, "completion_tokens: 3, for 40 words"),
            ({"prompt_tokens": 1000, "completion_tokens": 45, "total_tokens": 50}, "total_tokens: 50, of 1000 and 45"),
        ],
    )
    def test_what_cannot_be_true_is_told_once_and_estimated(
        self, chat_server: ChatServer, connect: Open, told: list[str], usage: dict[str, object], told_of: str
    ) -> None:
        chat_server.script = lambda body: Answer("word " * 40, usage=usage)
        model = connect("odd")
        for _ in range(2):
            counted = model.complete([Message("user", "word " * 800)]).usage
            assert (counted.input_tokens, counted.output_tokens, counted.estimated) == (1000, 50, True)
        assert told == [f"odd: reports tokens that cannot be true ({told_of}): they are estimated"]

    @pytest.mark.parametrize(
        "usage",
        [
            {"prompt_tokens": None, "completion_tokens": None, "total_tokens": None},
            {"completion_tokens": 45},
            {"total_tokens": 1045},
            {"prompt_tokens": 1000, "completion_tokens": 45, "total_tokens": 1100, "cost": "free"},
        ],
    )
    def test_what_is_not_told_is_estimated_without_a_word(
        self, chat_server: ChatServer, connect: Open, told: list[str], usage: dict[str, object]
    ) -> None:
        chat_server.script = [Answer("word " * 40, usage=usage)]
        counted = connect().complete([Message("user", "word " * 800)]).usage
        assert counted.input_tokens == 1000 and counted.output_tokens in (45, 50) and told == []


class TestStreams:
    """Servers and proxies that stream although they were not asked to."""

    def test_the_pieces_are_joined(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.script = [
            stream(
                {"choices": [{"delta": {"role": "assistant", "reasoning_content": "h"}}]},
                {"choices": [{"delta": {"reasoning_content": "m", "content": None}}]},
                '{"choices": [{"delta": {"content": "4\u2028"}}]}',
                {"choices": [{"delta": {"content": "2"}, "finish_reason": "stop"}]},
                {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}},
            )
        ]
        completion = connect().complete(ASK)
        assert (completion.text, completion.reasoning, completion.truncated) == ("4\u2028" + "2", "hm", False)
        assert (completion.usage.input_tokens, completion.usage.output_tokens) == (7, 3)

    def test_the_pieces_of_a_tool_call_are_joined(self, chat_server: ChatServer, connect: Open) -> None:
        def piece(index: int, **function: str) -> dict[str, object]:
            return {"choices": [{"delta": {"tool_calls": [{"index": index, "function": function}]}}]}

        chat_server.script = [
            stream(
                piece(0, name="code", arguments='{"code":'),
                piece(0, arguments=' "x"}'),
                piece(1, name="done", arguments="{}"),
                {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
            )
        ]
        assert connect().complete(ASK).text == Code("x").to_xml()

    def test_a_stream_that_just_ends_is_truncated(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.script = [stream({"choices": [{"delta": {"content": "he"}}]}, done=False)]
        completion = connect().complete(ASK)
        assert (completion.text, completion.truncated) == ("he", True)

    def test_an_odd_piece_is_left_out(self, chat_server: ChatServer, connect: Open) -> None:
        events = [
            {"choices": [{"delta": delta}]} for delta in (4, {"content": 5}, {"tool_calls": [7]}, {"content": "x"})
        ]
        chat_server.script = [stream(*events)]
        assert connect().complete(ASK).text == "x"


def test_closing_twice_and_asking_again(chat_server: ChatServer, connect: Open) -> None:
    chat_server.script = [Done("1"), Done("2")]
    model = connect()
    model.complete(ASK)
    model.close()
    model.close()
    assert model.complete(ASK).text == Done("2").to_xml()
