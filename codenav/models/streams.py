"""Servers and proxies that stream although nobody asked them to: the events joined into one ordinary body."""

from __future__ import annotations

import json
from typing import Any


def is_stream(text: str) -> bool:
    """Whether a body is a stream of server-sent events."""
    return text.lstrip("\ufeff \t\r\n").startswith(("data:", "event:", ": ", "id:"))


def joined(text: str) -> dict[str, Any]:
    """The body that the events of a stream add up to.

    Without a finish reason in any event the result has none: the stream was cut. An event that holds an error
    makes the whole an error.

    Raises:
        ValueError: an event is not JSON.
    """
    message: dict[str, Any] = {}
    choice: dict[str, Any] = {"message": message, "finish_reason": None}
    body: dict[str, Any] = {"choices": []}
    for line in text.split("\n"):
        data = line.removeprefix("data:").strip()
        if not line.startswith("data:") or data in ("", "[DONE]"):
            continue
        event = json.loads(data)
        if not isinstance(event, dict):
            raise ValueError("an event is not an object")
        if event.get("error"):
            return {"error": event["error"]}
        if event.get("usage"):
            body["usage"] = event["usage"]
        choices = event.get("choices")
        # The event that carries the usage has no choices.
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            body["choices"] = [choice]
            choice["finish_reason"] = choices[0].get("finish_reason") or choice["finish_reason"]
            _add(message, choices[0].get("delta") or choices[0].get("message"))
    return body


def _add(message: dict[str, Any], delta: object) -> None:
    for key, value in delta.items() if isinstance(delta, dict) else ():
        if isinstance(value, str) and key != "role":
            message[key] = (message.get(key) or "") + value
        elif key == "tool_calls" and isinstance(value, list):
            _add_first_call(message.setdefault("tool_calls", [{"function": {}}])[0]["function"], value)


def _add_first_call(function: dict[str, str], deltas: list[Any]) -> None:
    """Calls arrive in pieces that say by `index` which call they belong to; one step has one action."""
    for delta in deltas:
        piece = delta.get("function") if isinstance(delta, dict) and not delta.get("index") else None
        for key, value in piece.items() if isinstance(piece, dict) else ():
            if isinstance(value, str):
                function[key] = function.get(key, "") + value
