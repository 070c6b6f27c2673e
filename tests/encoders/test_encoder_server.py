"""The encoder on a server of embeddings, against a real one on loopback, with what servers do wrong."""

from __future__ import annotations

import base64
import contextlib
import math
import socket
import threading
import time
from typing import Any

import numpy as np
import pytest
from ranking_servers import Change, RankingServer, Reply

from codenav.core.errors import Unavailable, UsageError
from codenav.core.system.json_service import JsonService
from codenav.retrieval.encoders import open_encoder
from codenav.retrieval.encoders.server import BATCH, EmbeddingServer

TEXTS = ["order two mugs", "list the products", "delete a user", "mugs to order"]


def test_rows_are_of_length_one_in_the_order_of_the_texts() -> None:
    with RankingServer() as server:
        encoder = open_encoder(f"{server.url}/v1")
        rows = encoder.encode([*TEXTS, "  "])
        near = rows @ encoder.encode(["order mugs"], query=True)[0]
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 1, 1, 1, 0])
    assert sorted(range(5), key=lambda place: -near[place])[:2] in ([0, 3], [3, 0])
    assert [request.body["input"] for request in server.requests if request.body] == [TEXTS, ["order mugs"]]


@pytest.mark.parametrize("path", ["", "/v1", "/v1/", "/v1/embeddings"])
def test_the_base_and_the_route_are_the_same(path: str) -> None:
    with RankingServer() as server:
        EmbeddingServer(server.url + path, model="named").encode(["text"])
    assert [(request.path, request.body["model"]) for request in server.requests] == [("/v1/embeddings", "named")]


def test_long_lists_go_in_parts() -> None:
    with RankingServer() as server:
        rows = EmbeddingServer(server.url, model="m").encode([f"word{number}" for number in range(2 * BATCH + 1)])
        alone = EmbeddingServer(server.url, model="m").encode([f"word{BATCH}"])
    assert len(server.requests) == 4 and np.array_equal(rows[BATCH], alone[0])


@pytest.mark.parametrize("most", [1, 10])
def test_a_server_that_takes_few_texts_gets_fewer(most: int) -> None:
    texts = [f"word{number}" for number in range(BATCH + 5)]
    with RankingServer(most=most) as server:
        encoder = EmbeddingServer(server.url, model="m")
        rows = encoder.encode(texts)
        before = len(server.requests)
        alone = np.concatenate([encoder.encode([text]) for text in texts[-7:]])
    assert len(rows) == len(texts) and np.array_equal(rows[-7:], alone)
    taken = [len(request.body["input"]) for request in server.requests[:before] if len(request.body["input"]) <= most]
    assert sum(taken) == len(texts)


def test_the_only_model_of_the_server_is_asked_for_and_named() -> None:
    with RankingServer(models=["one"]) as server:
        encoder = EmbeddingServer(server.url)
        encoder.encode(["text"])
    assert server.requests[-1].body["model"] == "one" and encoder.name.endswith("/v1 one")
    with RankingServer(models=["one", "two"]) as server:
        EmbeddingServer(server.url).encode(["text"])
    assert "model" not in server.requests[-1].body


def test_a_text_that_is_too_long_for_the_server_is_cut() -> None:
    with RankingServer(longest=1500) as server:
        encoder = EmbeddingServer(server.url, model="m")
        assert np.linalg.norm(encoder.encode(["mug " * 2000])[0]) == pytest.approx(1)
        before = len(server.requests)
        encoder.encode(["mug " * 2000])
    assert len(server.requests) == before + 1


def data(change: Any) -> Change:
    def changed(answer: Any) -> Any:
        return {"data": change(answer["data"])}

    return changed


def vector(value: Any) -> Change:
    return data(lambda items: [{**item, "embedding": [value, *item["embedding"][1:]]} for item in items])


WRONG = {
    "too few": (data(lambda items: items[1:]), "3 vectors for 4 texts"),
    "too many": (data(lambda items: [*items, items[0]]), "5 vectors for 4 texts"),
    "doubled": (data(lambda items: [{**item, "index": 1} for item in items]), "doubled or out of range"),
    "out of range": (data(lambda items: [{**item, "index": item["index"] + 1} for item in items]), "out of range"),
    "nan": (vector(math.nan), "not a list of finite numbers"),
    "infinite": (vector(math.inf), "not a list of finite numbers"),
    "too large": (vector(10**400), "not a list of finite numbers"),
    "large": (vector(1e25), "not a list of finite numbers"),
    "text": (vector("0.1"), "not a list of finite numbers"),
    "base64": (data(lambda items: [{**item, "embedding": "AACAPw=="} for item in items]), "not a list of finite"),
    "another width": (data(lambda items: [items[0], *({**i, "embedding": [1.0]} for i in items[1:])]), "and of"),
    "no data": (lambda answer: {"results": []}, "not with embeddings"),
    "a list": (lambda answer: [1, 2], "not with embeddings"),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_answer_that_makes_no_sense_is_one_clear_line(case: str) -> None:
    change, told = WRONG[case]
    with RankingServer(change=change) as server, pytest.raises(Unavailable, match=told) as raised:
        EmbeddingServer(server.url, model="m").encode(TEXTS)
    assert "\n" not in str(raised.value) and server.url in str(raised.value) and raised.value.hint


HTML = "<!DOCTYPE html><html><body>Welcome</body></html>"
REPLIES = {
    "html": ([Reply(body=HTML)], "answers with a web page"),
    "html error": ([Reply(404, HTML)], "refuses with 404"),
    "not json": ([Reply(body="hello")], "not JSON"),
    "empty": ([Reply(body="")], "empty answer"),
    "no route": ([Reply(404, {"detail": "Not Found"})], "refuses with 404: Not Found"),
    "elsewhere": ([Reply(301, "", {"Location": "http://127.0.0.1:9/"})], "sends to another address"),
    "down inside": ([Reply(500, {"error": "out of memory"})] * 3, "answers with 500: out of memory"),
}


@pytest.mark.parametrize("case", REPLIES)
def test_another_answer_is_one_clear_line(case: str) -> None:
    replies, told = REPLIES[case]
    with RankingServer(replies=replies) as server, pytest.raises(Unavailable, match=told) as raised:
        EmbeddingServer(server.url, model="m").encode(["text"])
    assert "\n" not in str(raised.value)


def test_a_server_that_is_busy_or_breaks_off_is_asked_again() -> None:
    busy = [Reply(503, {"error": "loading"}), Reply(body={"data": []}, breaks=True)]
    with RankingServer(replies=busy) as server:
        assert EmbeddingServer(server.url, model="m").encode(["text"]).shape == (1, 64)
    assert len(server.requests) == 3


def test_a_slow_server_costs_the_time_limit_and_no_more() -> None:
    with RankingServer(replies=[Reply(wait=1.0)]) as server:
        encoder, began = EmbeddingServer(server.url, model="m", seconds=0.2), time.monotonic()
        for _ in range(20):
            with pytest.raises(Unavailable, match=r"no answer within 0\.2 s"):
                encoder.encode(["text"])
        assert time.monotonic() - began < 3
    assert len(server.requests) == 1, "it is left alone for a while"


@pytest.mark.parametrize("chunked", [False, True])
def test_a_server_that_sends_byte_after_byte_costs_no_more_and_leaves_no_thread(chunked: bool) -> None:
    head = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: 1000"
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n")
                for _ in range(100):
                    connection.sendall(b"1\r\n \r\n" if chunked else b" ")
                    time.sleep(0.05)

        serving = threading.Thread(target=serve)
        serving.start()
        encoder = EmbeddingServer(f"http://127.0.0.1:{server.getsockname()[1]}", model="m", seconds=0.2)
        with pytest.raises(Unavailable, match=r"no answer within 0\.2 s"):
            encoder.encode(["text"])
        serving.join(timeout=2)
        assert not serving.is_alive(), "the connection was closed"


def test_an_answer_that_the_deadline_cuts_is_a_late_one_and_no_empty_one() -> None:
    with RankingServer() as server:
        for _ in range(10):
            service = JsonService(server.url, what="the service")
            with pytest.raises(Unavailable, match="gave no answer within"):
                service.post({"input": ["text"]}, path="/v1/embeddings", deadline=time.monotonic())


def test_a_server_that_is_down_is_told_at_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(Unavailable, match=f"cannot reach the server of embeddings at {url}/v1: connection refused"):
        EmbeddingServer(url, model="m").encode(["text"])


def test_a_key_is_sent_and_never_shown() -> None:
    with RankingServer(key="secret-1") as server:
        EmbeddingServer(server.url, model="m", key="secret-1").encode(["text"])
        with pytest.raises(Unavailable, match=r"refuses with 401: wrong key Bearer \*\*\*") as raised:
            EmbeddingServer(server.url, model="m", key="secret-2").encode(["text"])
    assert "secret" not in str(raised.value)


def test_a_name_and_a_password_in_the_address_are_sent_and_never_shown() -> None:
    with RankingServer() as server:
        url = server.url.replace("http://", "http://me:secret%201@")
        encoder = EmbeddingServer(url, model="m")
        encoder.encode(["text"])
        server.replies = [Reply(418, {})]
        with pytest.raises(Unavailable, match="answers with 418") as raised:
            encoder.encode(["text"])
    assert server.requests[0].headers["authorization"] == f"Basic {base64.b64encode(b'me:secret 1').decode()}"
    assert "secret" not in str(raised.value) + encoder.name


@pytest.mark.parametrize("url", ["ftp://host/v1", "http://", "http://a b"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="has no address"):
        open_encoder(url)
