"""A rerank service, in any of the shapes that are in use."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from codenav.core.system.json_service import JsonService, Refused

PART = 100
"""Texts of one request at first. A service that finds these too many gets `_SMALL_PART`, then half of it and so on."""
CHARACTERS = 4000
"""Most characters of a text that are sent: cross-encoders read 512 tokens as a rule."""

_SMALL_PART = 32
"""As many as text-embeddings-inference takes where nothing is configured."""

Shape = Callable[[str, str, Sequence[str]], dict[str, Any]]


def _cohere(model: str, query: str, texts: Sequence[str]) -> dict[str, Any]:
    named = {"model": model} if model else {}
    return {**named, "query": query, "documents": list(texts), "top_n": len(texts), "return_documents": False}


def _tei(model: str, query: str, texts: Sequence[str]) -> dict[str, Any]:
    return {"query": query, "texts": list(texts), "raw_scores": False, "return_text": False, "truncate": True}


def _mixedbread(model: str, query: str, texts: Sequence[str]) -> dict[str, Any]:
    named = {"model": model} if model else {}
    return {**named, "query": query, "input": list(texts), "top_k": len(texts), "return_input": False}


SHAPES: Mapping[str, Shape] = {"cohere": _cohere, "tei": _tei, "mixedbread": _mixedbread}
"""Requests: of Cohere, Jina, vLLM, LiteLLM, llama.cpp; of text-embeddings-inference; of Mixedbread."""


class RerankServer:
    """A service that scores texts against a query. Usable from several threads.

    Its shape is found by asking: the first that it does not refuse is kept.
    """

    def __init__(self, url: str, *, model: str = "", key: str = "", seconds: float = 10.0) -> None:
        """Check the address; nothing is sent yet.

        Args:
            url: the route (`http://localhost:8080/rerank`, `…/v1/reranking`), or a base, to which `/rerank` is added.
            model: the name to ask for; "" asks for none.
            key: sent as `Authorization: Bearer`; "" sends none.
            seconds: time limit of one `score`, with all its parts and retries.

        Raises:
            UsageError: it is no HTTP address.
        """
        path = urlsplit(url).path.rstrip("/")
        route = path.rpartition("/")[2] in ("rerank", "reranking")
        base = url.rstrip("/")
        address = base if route else f"{base}/rerank" if path else f"{base}/v1/rerank"
        self._service = JsonService(address, key=key, seconds=seconds, what="the rerank service")
        self._model = model
        order = ("mixedbread", "cohere", "tei") if path.endswith("/reranking") else ("cohere", "tei", "mixedbread")
        self._shapes = list(order)
        self._part = PART
        self._lock = threading.Lock()

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return a score for each text, higher for a better one. A threshold means what the service means by it.

        Raises:
            Unavailable: the service is down or slow, or its answer makes no sense.
        """
        deadline = time.monotonic() + self._service.seconds
        scores: list[float] = []
        while len(scores) < len(texts):
            part = [text[:CHARACTERS] or " " for text in texts[len(scores) : len(scores) + self._part]]
            scores += self._asked(query, part, deadline)
        return scores

    def _asked(self, query: str, part: Sequence[str], deadline: float) -> list[float]:
        with self._lock:
            shapes = list(self._shapes)
        refused: list[Refused] = []
        for name in shapes:
            try:
                answer = self._service.post(SHAPES[name](self._model, query, part), deadline=deadline)
            except Refused as error:
                refused.append(error)
                continue
            scores = self._read(answer, len(part))
            with self._lock:
                self._shapes = [name]
            return scores
        # Asked for last: a refusal of a shape may repeat the request, whatever words that has.
        refusal = next((error for error in refused if error.too_many or error.status == 413), None)
        if refusal and len(part) > 1:
            size = self._part = _SMALL_PART if len(part) > _SMALL_PART else len(part) // 2
            return [
                score
                for start in range(0, len(part), size)
                for score in self._asked(query, part[start : start + size], deadline)
            ]
        refusal = refusal or refused[0]
        raise self._service.fault(
            f"refuses with {refusal.status}{': ' if refusal.told else ''}{refusal.told}",
            hint="--set rerank.url=URL with the whole route, such as http://localhost:8080/v1/rerank",
        ) from None

    def _read(self, answer: Any, count: int) -> list[float]:
        """The scores of an answer in the order of the texts."""
        listed = answer
        if isinstance(answer, dict):
            listed = next((answer[key] for key in ("results", "data") if isinstance(answer.get(key), list)), None)
        if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
            text = "answers, but not with results of a rerank service"
            raise self._service.fault(text, hint="name the route of rerank")
        found: dict[int, float] = {}
        for item in listed:
            place = item.get("index")
            score = item.get("relevance_score", item.get("score"))
            if type(place) is not int or not 0 <= place < count:
                raise self._service.fault(f"gave the index {str(place)[:40]!r} for {count} texts")
            if place in found:
                raise self._service.fault(f"gave the index {place} twice")
            if type(score) not in (int, float) or not abs(score) < 1e30:
                raise self._service.fault(f"gave {str(score)[:40]!r} for a score")
            found[place] = float(score)
        if len(found) < count:
            raise self._service.fault(f"gave {len(found)} scores for {count} texts")
        return [found[place] for place in range(count)]
