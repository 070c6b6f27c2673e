"""What the chat client tries again, what it does not, and when it stops."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from chat_server import ChatServer, Fault, Hang, stream

from codenav.agents.models import ChatModel
from codenav.agents.models.chat import TRIES
from codenav.agents.models.faults import Fault as Told
from codenav.agents.models.faults import Kind
from codenav.core.actions import Done
from codenav.core.errors import CodeNavError, ModelFailed, ModelRefused, ModelUnreachable
from codenav.core.messages import Message

ASK = [Message("system", "You are an agent."), Message("user", "What is 6 times 7?")]
SOON = {"Retry-After": "0.02"}

Open = Callable[..., ChatModel]


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

    def test_a_long_wait_is_spelled_out(self, chat_server: ChatServer, connect: Open) -> None:
        chat_server.script = [Fault(429, "slow down", headers={"Retry-After": "3600"})]
        with pytest.raises(ModelFailed, match=r"\(it asks to wait 3,600 s\)"):
            connect().complete(ASK)

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
            connect().complete(ASK, timeout=4)

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
        "from codenav.core.messages import Message\nfrom codenav.agents.models import ChatModel\n"
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
    try:
        out, err = process.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        # An interrupt that meets a finalizer is lost in it, as Python has it.
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
    assert (out, err, process.returncode) == ("interrupted\n", "", 0)
