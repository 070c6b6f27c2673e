"""Session handlers of calls from sandboxes: one masks secrets, one keeps answers for replays."""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from codenav.core.protocols import CallHandler, StepHandler
from codenav.core.secrets.masking import masker

KEPT_BYTES = 64 << 20
"""Most bytes of answers kept for replays. A replay is refused those beyond."""
_SECRET = re.compile("KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
"""Names of environment variables whose values must not reach a sandbox in an error message."""


class _Around:
    """Base class of handlers around another one, which is told of the steps if it wants to be."""

    def __init__(self, handler: CallHandler) -> None:
        self._handler = handler

    def begin(self, seconds: float) -> None:
        """Pass on that a step begins. See `StepHandler`."""
        if isinstance(self._handler, StepHandler):
            self._handler.begin(seconds)

    def end(self) -> None:
        """Pass on that the step is over."""
        if isinstance(self._handler, StepHandler):
            self._handler.end()


class MaskedCalls(_Around):
    """A handler whose errors contain no secrets.

    It masks `secrets`, and values of this process's environment whose names suggest a secret: libraries write keys into
    the messages of their errors.
    """

    def __init__(self, handler: CallHandler, secrets: Mapping[str, str]) -> None:
        super().__init__(handler)
        self._secrets = secrets

    def __call__(self, name: str, arguments: dict[str, Any], /) -> Any:
        try:
            return self._handler(name, arguments)
        except Exception as error:
            own = {key: value for key, value in os.environ.items() if _SECRET.search(key)}
            message = masker({**own, **self._secrets})(_message(error))
        raise RuntimeError(message)


class _Answer(NamedTuple):
    """A call that was made."""

    key: bytes
    text: str | None
    """The answer as JSON; None if it was too much to keep."""


class RecordedCalls(_Around):
    """A handler that keeps its answers. `again` gives them to a replay, so that no call is carried out twice."""

    def __init__(self, handler: CallHandler) -> None:
        super().__init__(handler)
        self._kept: list[_Answer] = []
        self._bytes = 0
        self._lock = threading.Lock()

    def __call__(self, name: str, arguments: dict[str, Any], /) -> Any:
        # Before the call: a handler may change what it was given.
        key = _key(name, arguments)
        try:
            result = self._handler(name, arguments)
            answer = json.dumps({"result": result}, allow_nan=False)
        except Exception as error:
            self._keep(key, json.dumps({"error": _message(error)}))
            raise
        self._keep(key, answer)
        return result

    @contextmanager
    def answered_by(self, handler: CallHandler) -> Iterator[None]:
        """Let another handler answer meanwhile. Its answers are kept, too."""
        before, self._handler = self._handler, handler
        try:
            yield
        finally:
            self._handler = before

    def _keep(self, key: bytes, answer: str) -> None:
        with self._lock:
            self._bytes += len(answer)
            self._kept.append(_Answer(key, answer if self._bytes <= KEPT_BYTES else None))

    def again(self, unrecorded: CallHandler | None = None) -> CallHandler:
        """Return a handler that gives equal calls the earlier answers, in their order.

        `unrecorded` answers all others; without it they are refused.
        """
        with self._lock:
            return _Again(self._handler, list(self._kept), unrecorded)


class _Again(_Around):
    """The answers of earlier calls, one after another."""

    def __init__(self, handler: CallHandler, kept: list[_Answer], unrecorded: CallHandler | None) -> None:
        super().__init__(handler)
        self._kept, self._unrecorded = kept, unrecorded
        self._used: set[int] = set()
        self._last = -1

    def __call__(self, name: str, arguments: dict[str, Any], /) -> Any:
        number = self._next(_key(name, arguments))
        if number is None:
            if self._unrecorded is not None:
                return self._unrecorded(name, arguments)
            raise LookupError(f"a replay makes no call to {name} that the session had not made")
        self._used.add(number)
        self._last = number
        text = self._kept[number].text
        if text is None:
            raise LookupError(f"the answer of {name} is not kept: the session got over {KEPT_BYTES >> 20} MiB of them")
        found = json.loads(text)
        if "error" in found:
            raise RuntimeError(found["error"])
        return found["result"]

    def _next(self, key: bytes) -> int | None:
        """Return the number of the next equal call: one after the last answer, so that what was read after a write is
        not what was read before it; else the first one that is left."""
        left = [number for number, kept in enumerate(self._kept) if kept.key == key and number not in self._used]
        return next((number for number in left if number > self._last), left[0] if left else None)


def recorded(handler: CallHandler) -> RecordedCalls:
    """Return the handler, or one that keeps its answers from now on. A new one has none: replays get no answer."""
    return handler if isinstance(handler, RecordedCalls) else RecordedCalls(handler)


def _key(name: str, arguments: dict[str, Any]) -> bytes:
    return hashlib.blake2b(json.dumps([name, arguments], sort_keys=True).encode(), digest_size=16).digest()


def _message(error: Exception) -> str:
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__
