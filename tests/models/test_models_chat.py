"""The chat client against a real server, through the real `openai` package."""

from __future__ import annotations

import itertools
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from chat_server import Answer, ChatServer, Fault, Hang, stream

from codenav.actions import Code, Done, Search
from codenav.errors import CodeNavError, ContextOverflow, ModelFailed, ModelRefused, ModelUnreachable, UsageError
from codenav.messages import Message
from codenav.models import ChatModel
from codenav.models.chat import TRIES
from codenav.models.faults import Fault as Told
from codenav.models.faults import Kind

ASK = [Message("system", "You are an agent."), Message("user", "What is 6 times 7?")]
SOON = {"Retry-After": "0.02"}

Open = Callable[..., ChatModel]


@pytest.fixture
def told() -> list[str]:
    """What the model under test told its user."""
    return []


@pytest.fixture
def connect(chat_server: ChatServer, told: list[str]) -> Iterator[Open]:
    """Opens models on the chat server, each by a name that no other test has taught anything."""
    opened: list[ChatModel] = []
    numbers = itertools.count()

    def connect(name: str = "", **options: object) -> ChatModel:
        options = {"base_url": chat_server.url, "notice": told.append, **options}
        opened.append(ChatModel(name or f"model-{next(numbers)}", **options))  # type: ignore[arg-type]
        return opened[-1]

    yield connect
    for model in opened:
        model.close()


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
    }
    assert told == []


def test_text_that_is_no_utf_8_is_sent_all_the_same(chat_server: ChatServer, connect: Open) -> None:
    chat_server.script = ["é 漢 \U0001f600"]
    assert connect().complete([Message("user", "bad \udcff byte")]).text == "é 漢 \U0001f600"
    assert chat_server.chats[0]["messages"][0]["content"] == "bad ? byte"


BROKEN = {
    "cut in the body": Fault(200, body={"choices": [{"message": {"content": "half"}}]}, cut_after=30),
    "cut before the body": Fault(cut_after=0),
    "cut before the status": Fault(cut_after=-1),
    "bad JSON": Fault(200, body='{"choices": [{"mess'),
    "empty": Fault(200, body=""),
    "choices null with an error": Fault(200, body={"choices": None, "error": {"code": 503, "message": "overloaded"}}),
    "no choices": Fault(200, body={"choices": []}),
    "an error at 200": Fault(200, body={"error": {"message": "internal"}}),
    "bytes": Fault(200, body=b"\xff\xfe\x00"),
    "a stream with bad JSON": stream({"choices": [{"delta": {"content": "he"}}]}, "{bad json"),
    "a stream with an error": stream({"choices": [{"delta": {"content": "he"}}]}, {"error": {"message": "overloaded"}}),
    "a stream of lists": stream([1]),
    "a stream of numbers": stream({"choices": [3]}),
    "a stream of nothing": stream({"choices": None}),
}
"""Answers of which nothing may be used: the next one counts."""


class TestRetries:
    @pytest.mark.parametrize(
        "fault",
        [
            Fault(500, headers=SOON),
            Fault(502, body="<html><title>Bad Gateway</title></html>", content_type="text/html", headers=SOON),
            Fault(503, "Loading model", headers=SOON),
            Fault(408, headers=SOON),
            Fault(429, "Rate limit reached", "rate_limit_exceeded", headers=SOON),
            Fault(429, "Too many tokens, please wait before trying again.", headers=SOON),
            Fault(529, "Overloaded", headers={"retry-after-ms": "20"}),
        ],
        ids=lambda fault: f"{fault.status} {fault.message}",
    )
    def test_what_passes_is_tried_again_and_told(
        self, chat_server: ChatServer, connect: Open, told: list[str], fault: Fault
    ) -> None:
        chat_server.script = [fault, fault, Done("42")]
        completion = connect("m2").complete(ASK)
        assert completion.text == Done("42").to_xml()
        assert completion.usage.requests == len(chat_server.chats) == 3
        assert len(told) == 2
        assert all(f"m2: {fault.status}: " in line and "trying again in 0.02" in line for line in told)

    def test_a_broken_answer_is_dropped_whole(self, chat_server: ChatServer, connect: Open, told: list[str]) -> None:
        """Each case is a conversation of its own; all wait at the same time."""
        for name, fault in BROKEN.items():
            chat_server.conversation(f"<{name}>", [fault, Done(name)])
        with ThreadPoolExecutor(len(BROKEN)) as pool:
            asked = {name: pool.submit(connect(name).complete, [Message("user", f"<{name}>")]) for name in BROKEN}
        assert {name: future.result().text for name, future in asked.items()} == {
            name: Done(name).to_xml() for name in BROKEN
        }
        assert all(future.result().usage.requests == 2 for future in asked.values())
        assert sorted(line.partition(":")[0] for line in told) == sorted(BROKEN)
        assert all("; trying again in 0." in line for line in told)

    def test_it_comes_back_no_earlier_than_the_server_said(
        self, chat_server: ChatServer, connect: Open, told: list[str]
    ) -> None:
        came: list[float] = []

        def answer(body: object) -> Fault | Done:
            came.append(time.monotonic())
            return Done("42") if len(came) == 2 else Fault(429, headers={"Retry-After": "0.4"})

        chat_server.script = answer
        connect().complete(ASK)
        assert came[1] - came[0] >= 0.4

    def test_a_wait_that_is_longer_than_the_time_left_ends_at_once(
        self, chat_server: ChatServer, connect: Open
    ) -> None:
        chat_server.script = [Fault(429, "slow down", headers={"Retry-After": "300"})]
        with pytest.raises(ModelFailed, match=r"in 1 try: 429: slow down \(it asks to wait 300 s\)") as caught:
            connect().complete(ASK, timeout=60)
        assert len(chat_server.chats) == 1
        assert caught.value.exit_code == 1

    def test_a_fault_that_lasts_is_given_up(self, chat_server: ChatServer, connect: Open, told: list[str]) -> None:
        chat_server.script = lambda body: Fault(503, "down", headers={"retry-after-ms": "1"})
        with pytest.raises(ModelFailed, match="gave no answer in 100 tries: 503: down"):
            connect().complete(ASK)
        assert len(chat_server.chats) == 100
        assert len(told) == 99

    def test_the_back_off_doubles_and_ends(self, connect: Open) -> None:
        model = connect()
        fault = Told(Kind.TRANSIENT, "x")
        pauses = [model._pause(fault, tries, 60) for tries in range(1, TRIES + 1)]
        assert pauses.pop() is None
        for number, pause in enumerate(pauses):
            assert pause is not None and 0.5 * 2**number <= pause <= 0.625 * 2**number

    @pytest.mark.parametrize(
        ("fault", "error", "words"),
        [
            (Fault(401, "Incorrect API key provided"), ModelRefused, "401: Incorrect"),
            (Fault(403, "not yours"), ModelRefused, "403: not yours"),
            (Fault(402, "Insufficient Balance"), ModelRefused, "402"),
            (Fault(429, "You exceeded your current quota", "insufficient_quota"), ModelRefused, "429: You exceeded"),
            (Fault(400, "messages must alternate"), ModelFailed, "400: messages must alternate"),
            (Fault(404, body="404 page not found"), ModelFailed, "answers 404: 404 page not found"),
            (Fault(200, body="<!doctype html><title>Login</title>"), ModelFailed, "a web page"),
            (Fault(200, body={"status": "ok"}), ModelFailed, "not as a chat-completions server"),
            (Fault(200, body="[1]"), ModelFailed, "not as a chat-completions server"),
            (Fault(200, body={"error": {"code": 401, "message": "no"}}), ModelRefused, "401: no"),
        ],
        ids=str,
    )
    def test_what_lasts_is_not_tried_again(
        self, chat_server: ChatServer, connect: Open, fault: Fault, error: type[CodeNavError], words: str
    ) -> None:
        chat_server.script = [fault]
        with pytest.raises(error, match=words) as caught:
            connect().complete(ASK)
        assert len(chat_server.chats) == 1
        assert chat_server.url in str(caught.value)
        assert caught.value.hint

    def test_a_path_that_is_not_there_asks_for_the_base_url(self, chat_server: ChatServer, connect: Open) -> None:
        with pytest.raises(ModelFailed) as caught:
            connect(base_url=chat_server.url.removesuffix("/v1")).complete(ASK)
        assert caught.value.hint == "is --base-url right? It usually ends in /v1"
        assert caught.value.exit_code == 1


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
            "learner: refuses stop: left out, answers are cut here",
        ]
        assert connect("learner").complete(ASK).text == Done("43").to_xml()
        assert len(told) == 3
        assert [sorted(set(body) - {"model", "messages"}) for body in chat_server.chats] == [
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
        assert sorted(chat_server.chats[-1]) == ["messages", "model", "stop", "temperature"]

    def test_a_smaller_token_limit(self, chat_server: ChatServer, connect: Open, told: list[str]) -> None:
        text = "max_tokens is too large: 8192. This model supports at most 4096 completion tokens."
        chat_server.script = [Fault(400, text, "invalid_value", param="max_tokens"), Done("1"), Done("2")]
        model = connect("small")
        model.complete(ASK)
        model.complete(ASK)
        assert [body["max_tokens"] for body in chat_server.chats] == [8192, 4096, 4096]
        assert told == ["small: takes max_tokens up to 4,096"]

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
        assert told == ["hushed: answers nothing where stop is sent: left out, answers are cut here"]

    def test_a_model_that_says_nothing_either_way_is_asked_once_more_and_not_again(
        self, chat_server: ChatServer, connect: Open, told: list[str]
    ) -> None:
        chat_server.script = lambda body: Answer(None)
        model = connect()
        assert model.complete(ASK).text == model.complete(ASK).text == ""
        assert ["stop" in body for body in chat_server.chats] == [True, False, True]
        assert told == []

    def test_an_empty_answer_is_returned_as_it_is(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.script = [""]
        completion = connect().complete(ASK)
        assert (completion.text, completion.truncated) == ("", False)
        assert len(chat_server.chats) == 1


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

    def test_a_prompt_that_was_silently_cut(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.script = [Answer("fine", usage={"prompt_tokens": 4096, "completion_tokens": 1})]
        with pytest.raises(ModelFailed, match=r"read only 4,096 tokens of a prompt of about 7,500") as caught:
            connect().complete([Message("user", "word " * 6000)])
        assert "num_ctx" in caught.value.hint

    def test_a_prompt_that_is_cut_when_it_grows(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.script = [
            Answer("a", usage={"prompt_tokens": n, "completion_tokens": 1}) for n in (3900, 4300, 4096)
        ]
        model = connect()
        talk = [Message("user", "some_long_identifier " * 800)]
        model.complete(talk)
        talk += [Message("assistant", "a"), Message("user", "word " * 300)]
        model.complete(talk)
        talk += [Message("assistant", "a"), Message("user", "word " * 300)]
        with pytest.raises(ModelFailed, match="read only 4,096 tokens"):
            model.complete(talk)

    def test_another_conversation_or_a_shorter_one_is_not_a_cut_one(
        self, chat_server: ChatServer, connect: Open
    ) -> None:
        chat_server.script = [Answer("a", usage={"prompt_tokens": n, "completion_tokens": 1}) for n in (3900, 50, 200)]
        model = connect()
        model.complete([Message("user", "x" * 8000)])
        model.complete([Message("user", "y")])
        model.complete([Message("user", "y"), Message("assistant", "a"), Message("user", "word " * 100)])
        assert len(chat_server.chats) == 3

    def test_tokens_that_the_server_had_cached_are_not_missing(self, chat_server: ChatServer, connect: Open) -> None:
        usage = {"prompt_tokens": 50, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 900}}
        chat_server.script = [Answer("fine", usage=usage)]
        assert connect().complete([Message("user", "word " * 900)]).text == "fine"

    @pytest.mark.parametrize("usage", [{}, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": "x"}])
    def test_without_usage_the_tokens_are_estimated(
        self, chat_server: ChatServer, connect: Open, usage: dict[str, object]
    ) -> None:
        chat_server.script = [Answer("four", usage=usage)]
        completion = connect().complete([Message("user", "word " * 800)])
        assert completion.usage.estimated
        assert (completion.usage.input_tokens, completion.usage.output_tokens) == (1000, 1)


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


class TestTime:
    def test_a_server_that_hangs_does_not_hang_us(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.script = [Hang()]
        with pytest.raises(ModelUnreachable, match=r"no answer from http://127.* within 0.3 s") as caught:
            connect().complete(ASK, timeout=0.3)
        assert caught.value.exit_code == 4

    def test_nor_does_one_that_drips(self, chat_server: ChatServer, connect: Open) -> None:
        slow = Fault(200, body={"choices": [{"message": {"content": "x" * 1000}}]}, drip=0.05)
        chat_server.script = [slow, Done("42")]
        model = connect()
        with pytest.raises(ModelUnreachable, match="no answer"):
            model.complete(ASK, timeout=0.4)
        assert model.complete(ASK).text == Done("42").to_xml()

    def test_a_hang_after_a_fault_names_both(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.script = [Fault(503, "busy", headers=SOON), Hang()]
        with pytest.raises(ModelUnreachable, match=r"no answer from .*; before that: 503: busy"):
            connect().complete(ASK, timeout=0.5)

    @pytest.mark.parametrize("timeout", [0, -1])
    def test_no_time_at_all(self, chat_server: ChatServer, connect: Open, timeout: float) -> None:
        chat_server.script = lambda body: Hang()
        with pytest.raises(ModelUnreachable):
            connect().complete(ASK, timeout=timeout)

    def test_an_answer_without_end_is_refused(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.script = [Fault(200, body=b" " * (33 * 2**20))]
        with pytest.raises(ModelFailed, match="an answer of over 32 MB"):
            connect().complete(ASK)

    def test_ctrl_c_while_waiting(self, chat_server: ChatServer) -> None:
        chat_server.script = [Hang()]
        _interrupted(chat_server, first="")

    def test_ctrl_c_between_two_tries(self, chat_server: ChatServer) -> None:
        chat_server.script = [Fault(429, headers={"Retry-After": "100"})]
        _interrupted(chat_server, first="m: 429")


def _interrupted(server: ChatServer, *, first: str) -> None:
    """Interrupt a process that asks `server`, after the line `first` of its output."""
    program = (
        "from codenav.messages import Message\nfrom codenav.models import ChatModel\n"
        f"model = ChatModel('m', base_url={server.url!r}, notice=lambda text: print(text, flush=True))\n"
        "try:\n    model.complete([Message('user', 'x')])\n"
        "except KeyboardInterrupt:\n    model.close()\n    print('interrupted', flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    server.wait_for(1)
    if first:
        assert process.stdout.readline().startswith(first)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (out, err, process.returncode) == ("interrupted\n", "", 0)


class TestConnection:
    def test_nothing_listens(self, connect: Open, told: list[str]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        with pytest.raises(ModelUnreachable, match=f"cannot reach http://127.0.0.1:{port}/v1: connection refused"):
            connect(base_url=f"http://127.0.0.1:{port}/v1").complete(ASK)
        assert told == []

    def test_an_unknown_host(self, connect: Open) -> None:
        with pytest.raises(
            ModelUnreachable, match=r"cannot reach http://no-such-host.invalid/v1: unknown host"
        ) as caught:
            connect(base_url="http://no-such-host.invalid/v1").complete(ASK, timeout=20)
        assert "--base-url" in caught.value.hint

    def test_tls_where_the_server_has_none(self, chat_server: ChatServer, connect: Open) -> None:
        with pytest.raises(ModelUnreachable, match=r"cannot reach https://127.*: TLS failed"):
            connect(base_url=chat_server.url.replace("http:", "https:")).complete(ASK)

    def test_a_certificate_that_nobody_signed(self, connect: Open) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(Path(__file__).with_name("unsigned.pem"))
        with ChatServer([Done("42")], tls=context) as server:
            assert server.url.startswith("https:")
            with pytest.raises(ModelUnreachable, match="its certificate is not trusted") as caught:
                connect(base_url=server.url).complete(ASK)
            assert server.url in str(caught.value)
            assert server.requests == []

    def test_a_server_that_has_answered_may_come_back(self, connect: Open, told: list[str]) -> None:
        with ChatServer([Done("1")]) as server:
            model = connect("comeback", base_url=server.url)
            model.complete(ASK)
            port = int(server.url.removesuffix("/v1").rpartition(":")[2])
        model.close()
        back = threading.Event()
        outcome: list[str] = []

        def notice(text: str) -> None:
            told.append(text)
            back.set()

        model = connect("comeback", base_url=f"http://127.0.0.1:{port}/v1", notice=notice)
        asking = threading.Thread(target=lambda: outcome.append(model.complete(ASK).text))
        asking.start()
        assert back.wait(20)
        with ChatServer([Done("2")], port=port):
            asking.join(20)
        assert outcome == [Done("2").to_xml()]
        assert "connection refused; trying again" in told[0]

    @pytest.mark.parametrize(
        "url", ["localhost:8000/v1", "/v1", "ftp://host/v1", "http://", "http://host:99999/v1", "x"]
    )
    def test_a_base_url_that_is_none(self, url: str) -> None:
        with pytest.raises(UsageError, match="is not an HTTP URL") as caught:
            ChatModel("m", base_url=url)
        assert caught.value.exit_code == 2


class TestModelNames:
    def test_an_unknown_model_gets_a_suggestion(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.strict = True
        chat_server.models = ["qwen3-coder", "llama-4"]
        with pytest.raises(ModelRefused, match="has no model 'qwen3-codr'") as caught:
            connect("qwen3-codr").complete(ASK)
        assert caught.value.hint == "did you mean 'qwen3-coder'? It has: qwen3-coder, llama-4"
        assert caught.value.exit_code == 4

    def test_many_models_are_not_all_listed(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.strict = True
        chat_server.models = [f"{number}-x" for number in range(20)]
        with pytest.raises(ModelRefused) as caught:
            connect("other").complete(ASK)
        assert caught.value.hint == "it has: 0-x, 1-x, 2-x, 3-x, 4-x, 5-x, 6-x, 7-x and 12 more"

    def test_a_server_without_a_list(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.strict = True
        chat_server.models = []
        with pytest.raises(ModelRefused) as caught:
            connect("other").complete(ASK)
        assert "--model" in caught.value.hint


class TestKeys:
    KEY = "sk-secret-0123456789"

    def test_the_key_is_the_argument_else_the_variable(
        self, connect: Open, monkeypatch: pytest.MonkeyPatch, chat_server: ChatServer
    ) -> None:
        chat_server.script = lambda body: Done("42")
        connect().complete(ASK)
        monkeypatch.setenv("OPENAI_API_KEY", self.KEY + "\n")
        connect().complete(ASK)
        connect(api_key="mine").complete(ASK)
        sent = [request.headers["authorization"] for request in chat_server.requests]
        assert sent == ["Bearer none", f"Bearer {self.KEY}", "Bearer mine"]

    def test_a_wrong_key_is_refused_once_and_never_shown(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.key = "another"
        model = connect(api_key=self.KEY)
        with pytest.raises(ModelRefused, match=r"401: Incorrect API key provided: \*\*\*") as caught:
            model.complete(ASK)
        assert caught.value.hint == "check OPENAI_API_KEY"
        assert len(chat_server.requests) == 1
        seen: BaseException | None = caught.value
        while seen is not None:
            assert self.KEY not in f"{seen} {seen!r}"
            seen = seen.__cause__ or seen.__context__
        assert self.KEY not in repr(model)

    def test_a_server_that_repeats_the_key_in_any_other_error(
        self, chat_server: ChatServer, connect: Open, told: list[str]
    ) -> None:
        chat_server.script = [Fault(500, f"bad {self.KEY}", headers=SOON), Fault(400, f"bad {self.KEY}")]
        with pytest.raises(ModelFailed, match=r"400: bad \*\*\*"):
            connect(api_key=self.KEY).complete(ASK)
        assert "500: bad ***" in told[0]

    def test_a_password_in_the_base_url_is_not_shown(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.script = [Fault(400, "no")]
        model = connect(base_url=chat_server.url.replace("//", "//me:hush@"))
        with pytest.raises(ModelFailed) as caught:
            model.complete(ASK)
        assert "hush" not in f"{caught.value} {model!r}"

    def test_openai_itself_needs_a_key(self) -> None:
        with pytest.raises(ModelRefused, match=r"no key for https://api.openai.com/v1") as caught:
            ChatModel("gpt-5")
        assert caught.value.exit_code == 4
        assert "OPENAI_API_KEY" in caught.value.hint and "--base-url" in caught.value.hint

    def test_the_variable_names_the_server_too(self, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
        assert repr(ChatModel("m")) == f"ChatModel('m', base_url={chat_server.url!r})"

    @pytest.mark.parametrize("key", ["sk-\u20ac", "sk-a\nb", "sk-\x00"])
    def test_a_key_that_no_header_can_carry(self, key: str) -> None:
        with pytest.raises(ModelRefused) as caught:
            ChatModel("m", base_url="http://localhost:1/v1", api_key=key)
        assert "sk-" not in str(caught.value)


def test_closing_twice_and_asking_again(chat_server: ChatServer, connect: Open) -> None:
    chat_server.script = [Done("1"), Done("2")]
    model = connect()
    model.complete(ASK)
    model.close()
    model.close()
    assert model.complete(ASK).text == Done("2").to_xml()
