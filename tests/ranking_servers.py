"""Real HTTP servers on loopback: `/v1/embeddings`, and rerank services of each shape, with faults on demand.

    with RankingServer(rerank="tei") as server:
        RerankServer(f"{server.url}/rerank").score("mugs", ["a mug", "a chair"])

A text scores by the words that it shares with the query; its vector counts its words. By hand:
`python tests/ranking_servers.py --port 8080`.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

WIDTH = 64


@dataclass(frozen=True)
class Reply:
    """Any answer; a mapping or a list is sent as JSON, a text as it is."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0.0
    """Seconds before the answer."""
    breaks: bool = False
    """The connection breaks off in the middle of the body."""


@dataclass(frozen=True)
class Received:
    """A request."""

    path: str
    body: dict[str, Any]
    headers: Mapping[str, str]


Change = Callable[[Any], Any]
"""A function that spoils a right answer."""


class RankingServer:
    """A server of `/v1/embeddings`, `/v1/models` and one shape of rerank.

    `replies` are given first, one a request; `change` then spoils each right answer. `most` is the largest number of
    texts of a request, `longest` the most characters of a text, `key` the only key that is accepted, `wait` the seconds
    before each answer.
    """

    def __init__(
        self,
        *,
        rerank: str = "cohere",
        replies: Sequence[Reply] = (),
        change: Change = lambda answer: answer,
        most: int = 1000,
        longest: int = 100_000,
        key: str = "",
        models: Sequence[str] = ("test-encoder",),
        wait: float = 0.0,
        port: int = 0,
    ) -> None:
        self.rerank, self.replies, self.change = rerank, list(replies), change
        self.most, self.longest, self.key, self.models = most, longest, key, list(models)
        self.wait = wait
        self.requests: list[Received] = []
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), name="ranking-server")

    @property
    def url(self) -> str:
        """The base, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, received: Received) -> Reply:
        """The answer to a request."""
        with self._lock:
            self.requests.append(received)
            if self.replies:
                return self.replies.pop(0)
        if self.key and received.headers.get("authorization") != f"Bearer {self.key}":
            return Reply(401, {"error": {"message": f"wrong key {received.headers.get('authorization')}"}})
        if received.path == "/v1/models":
            return Reply(body={"data": [{"id": name} for name in self.models]})
        if received.path == "/v1/embeddings":
            texts = received.body["input"]
            made = [_vector(text, WIDTH) for text in texts]
            data = [{"object": "embedding", "index": place, "embedding": made[place]} for place in _mixed(len(texts))]
            return self._limited(texts) or Reply(body=self.change({"object": "list", "data": data}))
        return self._reranked(received)

    def _reranked(self, received: Received) -> Reply:
        paths, key, found, score = {
            "cohere": (("/v1/rerank", "/rerank", "/v2/rerank"), "documents", "results", "relevance_score"),
            "tei": (("/rerank",), "texts", "", "score"),
            "mixedbread": (("/v1/reranking",), "input", "data", "score"),
        }[self.rerank]
        if received.path not in paths:
            return Reply(404, {"detail": "Not Found"})
        if key not in received.body:
            return Reply(422, {"error": f"Failed to deserialize the JSON body: missing field `{key}`"})
        texts = received.body[key]
        scores = [_score(received.body["query"], text) for text in texts]
        order = sorted(range(len(texts)), key=lambda place: -scores[place])
        listed: Any = [{"index": place, score: scores[place]} for place in order]
        whole = {found: listed, "usage": {"total_tokens": 1}} if found else listed
        return self._limited(texts) or Reply(body=self.change(whole))

    def _limited(self, texts: Sequence[str]) -> Reply | None:
        if len(texts) > self.most:
            told = f"batch size {len(texts)} > maximum allowed batch size {self.most}"
            return Reply(422, {"error": told, "error_type": "Validation"})
        if max(map(len, texts)) > self.longest:
            return Reply(
                413, {"error": f"`inputs` must have less than {self.longest} tokens", "error_type": "Validation"}
            )
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], owner: RankingServer) -> None:
        super().__init__(address, _Handler)
        self.owner = owner

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing."""

    def _answer(self, body: dict[str, Any]) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.owner.answer(Received(self.path, body, headers))
        time.sleep(reply.wait or self.server.owner.wait)
        data = reply.body.encode() if isinstance(reply.body, str) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if reply.breaks else data)


def _mixed(count: int) -> list[int]:
    """Places in an order that is not theirs."""
    return [*range(1, count, 2), *range(0, count, 2)]


def _words(text: str) -> list[str]:
    return [word.strip(".,?!()").lower().removesuffix("s") for word in text.replace("_", " ").split()]


def _score(query: str, text: str) -> float:
    asked, held = set(_words(query)), set(_words(text))
    return round(len(asked & held) / max(1, len(asked)), 4)


def _vector(text: str, width: int) -> list[float]:
    vector = [0.0] * width
    for word in _words(text):
        vector[zlib.crc32(word.encode()) % width] += 1.0
    return vector


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--rerank", default="cohere")
    given = parser.parse_args()
    with RankingServer(rerank=given.rerank, port=given.port) as running:
        print(running.url, flush=True)
        threading.Event().wait()
