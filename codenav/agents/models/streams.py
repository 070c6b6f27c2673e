"""Streams of server-sent events, joined into one ordinary body as they arrive."""

from __future__ import annotations

import codecs
import json
from typing import Any

from codenav.agents.models.answers import parts
from codenav.core.messages import ModelReply

SURE, BLANK = 6, 1024
"""Characters after which it is known if a body is a stream: of its text, and of white space before it."""


class Stream:
    """A body that arrives in pieces: events if the server streams, or anything else."""

    def __init__(self) -> None:
        self.is_stream = False
        """True if the data so far is a stream of events."""
        self.done = False
        """True if no more data follows."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._decided = False
        self._pieces: list[str] = []
        """The data so far; for a stream, only the pieces of the incomplete last line."""
        self._error: object = None
        self._message: dict[str, Any] = {}
        self._choice: dict[str, Any] = {"message": self._message, "finish_reason": None}
        self._body: dict[str, Any] = {"choices": []}

    def feed(self, data: bytes | None) -> ModelReply:
        """Read data, None for the end; return the text that it adds to the answer.

        Raises:
            ValueError: an event is not JSON.
        """
        last = data is None
        self.done |= last
        new = self._decoder.decode(data or b"", last)
        self._pieces.append(new)
        if not self._decided:
            head = self.text.lstrip("\ufeff \t\r\n")
            self._decided = last or len(head) >= SURE or len(self.text) > BLANK
            self.is_stream = self._decided and head.startswith(("data:", "event:", ": ", ":\n", "id:"))
            if self.is_stream:
                self._pieces = [new := head]
        if not self.is_stream or not (last or "\n" in new):
            return ModelReply()
        text = self.text
        end = len(text) if last else text.rfind("\n") + 1
        self._pieces = [text[end:]]
        heard = [self._event(line) for line in text[:end].split("\n") if line.startswith("data:")]
        return ModelReply("".join(item.text for item in heard), "".join(item.reasoning for item in heard))

    @property
    def text(self) -> str:
        """All data so far, as received; for a stream, only the part that is not read yet."""
        return "".join(self._pieces)

    @property
    def began(self) -> bool:
        """True if a part of an answer has arrived."""
        return any(self._message.values())

    @property
    def whole(self) -> dict[str, Any]:
        """The body that all events together make.

        If no event has a finish reason the body has none, as the stream was cut off. An event with an error makes the
        body an error.
        """
        return {"error": self._error} if self._error else self._body

    @property
    def so_far(self) -> dict[str, Any]:
        """The body as in `whole`, for a stream that was cut off; an error at its end does not count."""
        return {**self._body, "choices": [self._choice]}

    def _event(self, line: str) -> ModelReply:
        data = line.removeprefix("data:").strip()
        self.done |= data == "[DONE]"
        if data in ("", "[DONE]") or self._error:
            return ModelReply()
        event = json.loads(data)
        if not isinstance(event, dict):
            raise ValueError("an event is not an object")
        if event.get("error"):
            self._error = event["error"]
            return ModelReply()
        if event.get("usage"):
            self._body["usage"] = event["usage"]
        choices = event.get("choices")
        # The event that carries the usage has no choices.
        if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)):
            return ModelReply()
        self._body["choices"] = [self._choice]
        self._choice["finish_reason"] = choices[0].get("finish_reason") or self._choice["finish_reason"]
        return _add(self._message, choices[0].get("delta") or choices[0].get("message"))


def _add(message: dict[str, Any], delta: object) -> ModelReply:
    heard = {"text": "", "reasoning": ""}
    for key, value in delta.items() if isinstance(delta, dict) else ():
        if key == "content" and isinstance(value, list):
            value, aside = parts(value)
            _append(message, "reasoning_content", aside)
            heard["reasoning"] += aside
        # Many servers send a first event with empty content, whatever follows: it means nothing.
        if isinstance(value, str) and value and key != "role":
            _append(message, key, value)
            heard["text" if key == "content" else "reasoning"] += value if key in _READ else ""
        elif key == "tool_calls" and isinstance(value, list):
            heard["text"] += _add_first_call(message.setdefault("tool_calls", [{"function": {}}])[0]["function"], value)
        elif key == "function_call" and isinstance(value, dict):
            heard["text"] += _add_first_call(message.setdefault(key, {}), [{"function": value}])
    return ModelReply(heard["text"], heard["reasoning"])


_READ = ("content", "reasoning_content", "reasoning")


def _append(message: dict[str, Any], key: str, text: str) -> None:
    message[key] = (message.get(key) or "") + text


def _add_first_call(function: dict[str, str], deltas: list[Any]) -> str:
    """Add the pieces of the first call, told apart by `index`: a step has only one action. Return the text added."""
    heard = ""
    for delta in deltas:
        piece = delta.get("function") if isinstance(delta, dict) and not delta.get("index") else None
        for key, value in piece.items() if isinstance(piece, dict) else ():
            # Some servers repeat the name in each piece, or number a second call 0 too.
            again = key == "name" and (value == function.get(key) or function.get("arguments"))
            if isinstance(value, str) and not again:
                function[key] = function.get(key, "") + value
                heard += value if key == "arguments" else ""
    return heard
