"""An encoder on a server that speaks OpenAI's `/v1/embeddings`."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from codenav.core.errors import CodeNavError
from codenav.core.system.json_service import JsonService, Refused
from codenav.core.system.terminal_text import shown_url

BATCH = 32
"""Texts of one request: as many as text-embeddings-inference takes where nothing is configured. A server that finds
these too many gets half, and so on."""
CHARACTERS = 8000
"""Most characters of a text that are sent at first; a server that finds it too long gets half, down to `_LEAST`."""
SECONDS = 30.0
"""Default time limit of one request with its retries."""

_LEAST = 250
_TOO_LONG = re.compile(r"token|length|long|large|exceed|context|size", re.IGNORECASE)


class EmbeddingServer:
    """An encoder (`protocols.Encoder`) on a server. Usable from several threads."""

    def __init__(self, url: str, *, model: str = "", key: str = "", seconds: float = SECONDS) -> None:
        """Check the address; nothing is sent yet.

        Args:
            url: the base (`http://localhost:8080/v1`) or the route itself (`…/v1/embeddings`).
            model: the name to ask for. "" asks for the only model that the server lists, else for none.
            key: sent as `Authorization: Bearer`; "" sends none.
            seconds: time limit of one request with its retries.

        Raises:
            UsageError: it is no HTTP address.
        """
        path = urlsplit(url).path.rstrip("/")
        base = url.rstrip("/").removesuffix("/embeddings")
        self._service = JsonService(
            base if path else f"{base}/v1", key=key, seconds=seconds, what="the server of embeddings"
        )
        self._model = model
        self._characters, self._size = CHARACTERS, BATCH
        self._width = 0
        self._asked = bool(model)
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The address and the model."""
        return f"{shown_url(self._service.url)} {self._named()}".strip()

    def encode(self, texts: Sequence[str], *, query: bool = False) -> npt.NDArray[np.float32]:
        """Return a row of length 1 for each text, zeros for an empty one.

        Raises:
            Unavailable: the server is down or slow, or its answer makes no sense.
        """
        held = [place for place, text in enumerate(texts) if text.strip()]
        rows: list[npt.NDArray[np.float32]] = []
        while len(rows) < len(held):
            rows += self._batch([texts[place] for place in held[len(rows) : len(rows) + self._size]])
        if not held and not self._width:
            self._batch(["text"])
        found = np.zeros((len(texts), self._width), np.float32)
        if held:
            found[held] = np.array(rows, np.float32)
        sizes = np.linalg.norm(found, axis=1, keepdims=True)
        np.divide(found, sizes, out=found, where=sizes > 0)
        return found

    def _batch(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        """The vectors of the first texts: of all of them, unless the server finds these too many."""
        while True:
            cut = [text[: self._characters] for text in texts]
            body: dict[str, Any] = {"input": cut, "encoding_format": "float"}
            if named := self._named():
                body["model"] = named
            try:
                return self._read(self._service.post(body, path="/embeddings"), len(cut))
            except Refused as refused:
                if refused.too_many and len(texts) > 1:
                    texts = texts[: len(texts) // 2]
                    self._size = len(texts)
                    continue
                longest = max(map(len, cut))
                if refused.status in (400, 413, 422) and longest > _LEAST and _TOO_LONG.search(refused.told):
                    self._characters = max(_LEAST, min(self._characters, longest) // 2)
                    continue
                raise self._service.fault(
                    f"refuses with {refused.status}{': ' if refused.told else ''}{refused.told}",
                    hint="--embeddings URL with /v1 at its end, and --set embeddings_model=NAME",
                ) from None

    def _read(self, answer: Any, count: int) -> list[npt.NDArray[np.float32]]:
        """The vectors of an answer in the order of the texts."""
        listed = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
            raise self._service.fault("answers, but not with embeddings", hint="name the route of embeddings")
        if len(listed) != count:
            raise self._service.fault(f"gave {len(listed)} vectors for {count} texts")
        # Servers without `index` answer in order.
        places = [item.get("index", place) for place, item in enumerate(listed)]
        if any(type(place) is not int for place in places) or sorted(places) != list(range(count)):
            raise self._service.fault("gave vectors whose indices are doubled or out of range")
        rows: list[Any] = [None] * count
        for place, item in zip(places, listed, strict=True):
            vector = item.get("embedding")
            if not isinstance(vector, list) or not vector or not all(map(_is_number, vector)):
                raise self._service.fault("gave a vector that is not a list of finite numbers")
            if self._width and len(vector) != self._width:
                raise self._service.fault(f"gave vectors of {self._width} and of {len(vector)} numbers")
            self._width = len(vector)
            rows[place] = np.array(vector, np.float32)
        return rows

    def _named(self) -> str:
        """The name of the model: the given one, else the only one that the server lists."""
        with self._lock:
            if not self._asked:
                self._asked = True
                try:
                    listed = self._service.get("/models")["data"]
                    names = [item["id"] for item in listed]
                except (CodeNavError, Refused, KeyError, TypeError):
                    names = []
                if len(names) == 1 and isinstance(names[0], str):
                    self._model = names[0]
            return self._model


def _is_number(value: object) -> bool:
    """True for a finite number whose square is finite as float32."""
    return type(value) in (int, float) and abs(value) < 1e15  # type: ignore[arg-type]
