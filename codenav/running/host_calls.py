"""Session handlers of calls from sandboxes: one masks secrets, one keeps answers for replays."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Mapping
from typing import Any

from codenav.protocols import CallHandler
from codenav.secrets.masking import masker

KEPT_BYTES = 64 << 20
"""Most bytes of answers kept for replays. A replay is refused those beyond."""
_SECRET = re.compile("KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
"""Names of environment variables whose values must not reach a sandbox in an error message."""


class MaskedCalls:
    """A handler whose errors contain no secrets.

    It masks `secrets`, and values of this process's environment whose names suggest a secret: libraries write keys into
    the messages of their errors.
    """

    def __init__(self, handler: CallHandler, secrets: Mapping[str, str]) -> None:
        self._handler, self._secrets = handler, secrets

    def __call__(self, name: str, arguments: dict[str, Any]) -> Any:
        try:
            return self._handler(name, arguments)
        except Exception as error:
            own = {key: value for key, value in os.environ.items() if _SECRET.search(key)}
            message = masker({**own, **self._secrets})(_message(error))
        raise RuntimeError(message)


class RecordedCalls:
    """A handler that keeps its answers. `again` gives them to a replay, so that no call is carried out twice."""

    def __init__(self, handler: CallHandler) -> None:
        self._handler = handler
        self._kept: dict[str, list[str]] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def __call__(self, name: str, arguments: dict[str, Any]) -> Any:
        try:
            result = self._handler(name, arguments)
            answer = json.dumps({"result": result}, allow_nan=False)
        except Exception as error:
            self._keep(name, arguments, json.dumps({"error": _message(error)}))
            raise
        self._keep(name, arguments, answer)
        return result

    def _keep(self, name: str, arguments: dict[str, Any], answer: str) -> None:
        key = _key(name, arguments)
        with self._lock:
            self._bytes += len(key) + len(answer)
            if self._bytes <= KEPT_BYTES:
                self._kept.setdefault(key, []).append(answer)

    def again(self) -> CallHandler:
        """Return a handler that gives equal calls the earlier answers, in their order, and refuses all others."""
        with self._lock:
            left = {key: list(reversed(answers)) for key, answers in self._kept.items()}

        def answer(name: str, arguments: dict[str, Any]) -> Any:
            answers = left.get(_key(name, arguments))
            if not answers:
                raise LookupError(f"a replay makes no call to {name} that the session had not made")
            found = json.loads(answers.pop())
            if "error" in found:
                raise RuntimeError(found["error"])
            return found["result"]

        return answer


def recorded(handler: CallHandler) -> RecordedCalls:
    """Return the handler, or one that keeps its answers from now on. A new one has none: replays get no answer."""
    return handler if isinstance(handler, RecordedCalls) else RecordedCalls(handler)


def _key(name: str, arguments: dict[str, Any]) -> str:
    return json.dumps([name, arguments], sort_keys=True)


def _message(error: Exception) -> str:
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__
