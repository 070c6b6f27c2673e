"""Servers that cannot be reached, models that are not there, keys that no message shows."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from chat_server import ChatServer, Fault

from codenav.agents.models import ChatModel
from codenav.core.actions import Done
from codenav.core.errors import ModelFailed, ModelRefused, ModelUnreachable, UsageError
from codenav.core.messages import Message

ASK = [Message("system", "You are an agent."), Message("user", "What is 6 times 7?")]
SOON = {"Retry-After": "0.02"}

Open = Callable[..., ChatModel]


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

    def test_a_refusal_says_what_the_server_said_and_suggests_no_name_that_was_given(
        self, chat_server: ChatServer, connect: Open
    ) -> None:
        text = "The model `o9` does not exist or you do not have access to it."
        chat_server.script = [Fault(404, text, "model_not_found")]
        chat_server.models = ["o9", "o9-mini"]
        with pytest.raises(ModelRefused) as caught:
            connect("o9").complete(ASK)
        assert str(caught.value) == f"{chat_server.url} has no model 'o9': 404: {text}"
        assert caught.value.hint == "the server lists that name: ask those who run it why it is refused"

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
