"""What is heard of an answer while it arrives, and what stays of one that is cut off."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from chat_server import Answer, Begun, ChatServer, Fault, Hang, stream

from codenav.agents.models import ChatModel
from codenav.agents.models.streams import Stream
from codenav.core.actions import Code, Done
from codenav.core.errors import ModelFailed, ModelUnreachable
from codenav.core.messages import Message, ModelReply

ASK = [Message("system", "You are an agent."), Message("user", "What is 6 times 7?")]
OVER = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}

Open = Callable[..., ChatModel]


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    """One that streams."""
    with ChatServer() as server:
        yield server


@pytest.fixture
def heard() -> list[ModelReply]:
    """What the model under test let hear."""
    return []


def piece(**delta: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": delta}]}


class TestHearing:
    def test_pieces_come_as_they_are_written(
        self, chat_server: ChatServer, connect: Open, heard: list[ModelReply]
    ) -> None:
        chat_server.script = [Answer("4 2", message={"reasoning_content": "let me see"})]
        completion = connect(heard=heard.append).complete(ASK)
        assert heard[0] == ModelReply(begins=True)
        assert "".join(item.reasoning for item in heard) == completion.reasoning == "let me see"
        assert "".join(item.text for item in heard) == completion.text == "4 2"
        assert not any(item.begins for item in heard[1:])

    def test_they_are_heard_before_the_answer_is_there(self, chat_server: ChatServer, connect: Open) -> None:
        """The server ends its answer when the first words of it were heard."""
        chat_server.script = [Begun("The sum is")]

        def hear(item: ModelReply) -> None:
            if "sum" in item.text:
                chat_server.released.set()

        assert connect(heard=hear).complete(ASK).text == "The sum is"

    def test_a_second_try_begins_anew(self, chat_server: ChatServer, connect: Open, heard: list[ModelReply]) -> None:
        chat_server.script = [Begun("41", breaks=True), "42"]
        assert connect(heard=heard.append).complete(ASK).text == "42"
        assert [(item.begins, item.text) for item in heard] == [(True, ""), (False, "41"), (True, ""), (False, "42")]

    def test_a_server_that_does_not_stream_tells_that_it_was_asked(
        self, connect: Open, heard: list[ModelReply]
    ) -> None:
        with ChatServer(["42"], streams=False) as server:
            assert connect(base_url=server.url, heard=heard.append).complete(ASK).text == "42"
        assert heard == [ModelReply(begins=True)]

    def test_what_the_listener_raises_goes_up(self, chat_server: ChatServer, connect: Open) -> None:
        def hear(item: ModelReply) -> None:
            raise ValueError("mine")

        with pytest.raises(ValueError, match="mine"):
            connect(heard=hear).complete(ASK)


class TestRefusal:
    @pytest.mark.parametrize(
        ("refused", "learned", "sent"),
        [
            ("stream_options", "refuses stream_options: left out, its tokens are estimated", ["stream"]),
            ("stream", "does not stream: each answer comes as a whole", []),
        ],
    )
    def test_a_refused_parameter_is_remembered(
        self, chat_server: ChatServer, connect: Open, told: list[str], refused: str, learned: str, sent: list[str]
    ) -> None:
        chat_server.refuses = [refused]
        chat_server.script = lambda body: Done("42")
        assert connect(f"no-{refused}").complete(ASK).text == Done("42").to_xml()
        assert connect(f"no-{refused}").complete(ASK).text == Done("42").to_xml()
        assert told == [f"no-{refused}: {learned}"]
        asked = [[key for key in ("stream", "stream_options") if key in body] for body in chat_server.chats]
        assert asked == [["stream", "stream_options"], sent, sent]

    @pytest.mark.parametrize("status", [400, 422, 500, 501])
    def test_a_refusal_in_words(self, chat_server: ChatServer, connect: Open, status: int) -> None:
        fault = Fault(status, "Streaming is not supported by this deployment.")
        chat_server.script = lambda body: fault if "stream" in body else Done("42")
        completion = connect().complete(ASK)
        assert (completion.text, completion.usage.requests) == (Done("42").to_xml(), 2)

    @pytest.mark.parametrize(
        "fault",
        [
            Fault(400, "System role not supported"),
            Fault(500, "Jinja Exception: System role not supported"),
            Fault(400, "Developer instruction is not enabled for models/gemma-3-27b-it"),
            Fault(400, "Conversation roles must alternate user/assistant/user/assistant/..."),
            Fault(
                400,
                "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
                "unsupported_value",
                param="messages[0].role",
            ),
        ],
        ids=lambda fault: fault.message[:30],
    )
    def test_a_model_without_a_system_role_gets_it_in_the_first_message(
        self, chat_server: ChatServer, connect: Open, told: list[str], fault: Fault
    ) -> None:
        chat_server.script = lambda body: fault if body["messages"][0]["role"] == "system" else Done("42")
        model = connect("gemma")
        assert model.complete(ASK).text == Done("42").to_xml()
        talk = [*ASK, Message("assistant", "a"), Message("user", "go on")]
        assert model.complete(talk).text == Done("42").to_xml()
        merged = {"role": "user", "content": "You are an agent.\n\nWhat is 6 times 7?"}
        assert [body["messages"][0] for body in chat_server.chats[1:]] == [merged, merged]
        assert [message["role"] for message in chat_server.chats[2]["messages"]] == ["user", "assistant", "user"]
        assert told == ["gemma: accepts no system message: it is put into the first user message"]


class TestCutOff:
    THOUGHT = "<thought>I add them.</thought>\n<type>code</type>\n<content>\nprint(6"

    def test_by_the_time(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.script = [Begun(self.THOUGHT, reasoning="six times seven")]
        with pytest.raises(ModelUnreachable, match=r"the answer was not complete within 0\.5 s") as caught:
            connect().complete(ASK, timeout=0.5)
        partial = caught.value.partial
        assert partial is not None
        assert (partial.text, partial.reasoning, partial.truncated) == (self.THOUGHT, "six times seven", True)
        assert (partial.usage.requests, partial.usage.estimated) == (1, True)
        assert partial.usage.input_tokens == 10 and partial.usage.output_tokens > 10

    def test_with_tokens_that_were_told(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.script = [Begun("4", usage={"prompt_tokens": 21, "completion_tokens": 1})]
        with pytest.raises(ModelUnreachable) as caught:
            connect().complete(ASK, timeout=0.5)
        assert caught.value.partial is not None
        usage = caught.value.partial.usage
        assert (usage.input_tokens, usage.output_tokens, usage.estimated) == (21, 1, False)

    def test_before_a_word_came(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.script = [Hang()]
        with pytest.raises(ModelUnreachable, match="no answer from") as caught:
            connect().complete(ASK, timeout=0.3)
        partial = caught.value.partial
        assert partial is not None
        assert (partial.text, partial.usage.requests, partial.usage.input_tokens) == ("", 1, 10)

    def test_by_a_connection_that_breaks_and_a_server_that_then_refuses(
        self, chat_server: ChatServer, connect: Open
    ) -> None:
        chat_server.script = [Begun(self.THOUGHT, breaks=True), Fault(400, "no")]
        with pytest.raises(ModelFailed, match="400: no") as caught:
            connect().complete(ASK)
        partial = caught.value.partial
        assert partial is not None
        assert (partial.text, partial.usage.requests, partial.usage.input_tokens) == (self.THOUGHT, 2, 10)

    def test_a_lost_answer_counts_beside_the_one_that_came(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.script = [Begun("four", breaks=True), Answer("42", usage=OVER["usage"])]
        usage = connect().complete(ASK).usage
        assert (usage.requests, usage.input_tokens, usage.output_tokens) == (2, 10 + 7, 1 + 3)

    def test_by_ctrl_c(self, chat_server: ChatServer) -> None:
        chat_server.script = [Begun(self.THOUGHT)]
        program = (
            "import json, os\nfrom codenav.core.messages import Message\nfrom codenav.agents.models import ChatModel\n"
            f"model = ChatModel('m', base_url={chat_server.url!r}, heard=lambda heard: os.write(1, b'heard\\n'))\n"
            "try:\n    model.complete([Message('user', 'x')])\n"
            "except KeyboardInterrupt as error:\n    print(json.dumps([error.partial.text, "
            "error.partial.usage.requests]), flush=True)\n"
        )
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["heard\n"] * 2
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
        text, requests = json.loads(out.splitlines()[-1])
        assert self.THOUGHT.startswith(text) and text
        assert requests == 1


class TestPieces:
    def test_any_cut_of_the_bytes_gives_the_same_body(self) -> None:
        events = stream(piece(role="assistant", content=""), piece(content="é 漢\u2028"), piece(content=" x"), OVER)
        whole = Stream()
        whole.feed(events.payload())
        for size in (1, 2, 3, 7, 64):
            cut = Stream()
            data = b"\xef\xbb\xbf\r\n" + events.payload()
            texts = [cut.feed(data[start : start + size]).text for start in range(0, len(data), size)]
            assert "".join(texts) == "é 漢\u2028 x"
            assert cut.done and cut.whole == whole.whole

    def test_parts_and_a_function_call(self, chat_server: ChatServer, connect: Open, heard: list[ModelReply]) -> None:
        chat_server.script = [
            stream(
                piece(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "h"}]}]),
                piece(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "m"}]}]),
                piece(content=[{"type": "text", "text": "4"}]),
                piece(content="2"),
                {"choices": [{"delta": {}, "finish_reason": "stop"}]},
            ),
            stream(
                piece(function_call={"name": "code", "arguments": '{"code":'}),
                piece(function_call={"arguments": ' "x"}'}),
                {"choices": [{"delta": {}, "finish_reason": "function_call"}]},
            ),
        ]
        model = connect(heard=heard.append)
        first = model.complete(ASK)
        assert (first.text, first.reasoning) == ("42", "hm")
        assert model.complete(ASK).text == Code("x").to_xml()
        assert "".join(item.text for item in heard) == '42{"code": "x"}'

    def test_a_connection_that_stays_open_behind_the_last_event(self, chat_server: ChatServer, connect: Open) -> None:
        payload = stream(piece(content="42"), {"choices": [{"delta": {}, "finish_reason": "stop"}]}).payload()
        chat_server.script = [Fault(200, body=payload + b"\n" * 100_000, content_type="text/event-stream", drip=0.002)]
        completion = connect().complete(ASK, timeout=20)
        assert (completion.text, completion.truncated) == ("42", False)
