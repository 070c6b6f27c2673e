"""Faults of requests to a chat server, classified by its responses and never by its name."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any

SHOWN = 400
"""The most characters of a server's own words in a message."""


SYSTEM = "system"
"""The name of the system message among refused parameters."""


class Kind(StrEnum):
    """The kinds of faults, each with its own treatment; a closed list."""

    UNREACHABLE = "unreachable"
    """No connection: refused, unknown host, TLS. Retried only if the server has answered before."""
    SILENT = "silent"
    """No answer within the time limit."""
    NO_API = "no_api"
    """An answer from something that is not a chat-completions server."""
    REFUSED = "refused"
    """Refused because of the key or the account. Never retried."""
    NO_MODEL = "no_model"
    OVERFLOW = "overflow"
    """The prompt, or the prompt together with the answer asked for, is longer than the context."""
    PARAMETER = "parameter"
    """The model does not accept a parameter, its value, or a message with the role `system`."""
    TRANSIENT = "transient"
    """A fault that may pass: worth another try."""
    LOADING = "loading"
    """The server is up, but the model is not loaded yet."""
    FAILED = "failed"


@dataclass(frozen=True)
class Fault:
    """A request that was not answered."""

    kind: Kind
    message: str
    """One line, for people."""
    status: int | None = None
    """HTTP status, or the one given in a body with status 200."""
    wait: float | None = None
    """Seconds that the server asks to wait."""
    parameter: str = ""
    """The name of the parameter, for `Kind.PARAMETER`."""
    limit: int | None = None
    """Tokens: the context length of an overflow, the largest value of a parameter."""
    prompt_tokens: int | None = None
    """Tokens of the prompt of an overflow, if the server told."""


_LOADING = re.compile(r"loading model|model is (?:currently )?loading|still loading|warming up", re.IGNORECASE)

_QUOTA = re.compile(
    r"insufficient[_ ](?:quota|balance|credits?|funds)|exceeded your current quota|billing[_ ]hard[_ ]limit"
    r"|payment required|credit balance is too low",
    re.IGNORECASE,
)
"""Words for an exhausted quota: OpenAI, DeepSeek, OpenRouter, Anthropic behind a proxy."""

_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|longer than the model'?s context length"
    r"|max_model_len|prompt is too long|input is too long|available context size"
    r"|context (?:window|size|length|limit) (?:is )?exceed|context length of only"
    r"|exceeds? the (?:model'?s )?(?:available |maximum )?context|input token count .{0,40}exceeds",
    re.IGNORECASE,
)
"""Words for an overflow: OpenAI, vLLM (three wordings), Anthropic, Bedrock, llama.cpp, LM Studio, Gemini."""

_CONTEXT_LENGTHS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"maximum context length(?: is| of|:)? *\(?([\d,]+)",
        r"max_model_len\D{0,12}([\d,]+)",
        r"tokens? > ([\d,]+)",
        r"context (?:window|size|length|limit)[^\d\n]{0,30}([\d,]+)",
        r"maximum number of tokens allowed \(?([\d,]+)",
    )
)

_PROMPT_LENGTHS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"([\d,]+) (?:tokens )?in the (?:messages|prompt)",
        r"(?:request|prompt) (?:has|contains)(?: at least)? ([\d,]+) (?:input )?tokens",
        r"prompt is too long: ([\d,]+)",
        r"input token count \(?([\d,]+)",
    )
)

_REFUSING = re.compile(
    r"unsupported|not support|does not support|not permitted|not allowed|unrecognized|unknown|unexpected|deprecated"
    r"|invalid|too large|at most|incompatible|cannot be used",
    re.IGNORECASE,
)
_AT_MOST = re.compile(
    r"(?:at most|<=|less than or equal to|up to|maximum(?: value)?(?: is| of)?) *([\d,]+)", re.IGNORECASE
)

_NO_STREAM = re.compile(
    r"\bstream(?:ing)?\b.{0,40}(?:not|n't|un)[ -]?(?:supported|allowed|implemented|enabled|available)"
    r"|(?:not|n't|cannot) (?:support|allow|do )?[^.]{0,20}\bstream(?:ing)?\b",
    re.IGNORECASE,
)
"""Words of servers that cannot stream, sent with various statuses: 400, 422, 500, 501."""

_NO_SYSTEM = re.compile(
    r"system['`\"]? (?:role|message|prompt|instruction)s?\b.{0,40}(?:not|n't|un)[ -]?(?:supported|allowed|enabled)"
    r"|(?:not|n't) support[^.]{0,30}['`\"]?system\b|developer instruction is not enabled|roles must alternate",
    re.IGNORECASE,
)
"""Refusals of a system message: chat templates of Gemma and Mistral's first models, Gemini for Gemma, o1-mini."""

_NO_TOOLS = re.compile(
    r"(?:not|n't|un) ?(?:support|allow|enable|implement|permit)[^.]{0,40}\b(?:tools?|function)\b"
    r"|\b(?:tools?|function)(?: \w+)? (?:(?:is|are) )?(?:not|un) ?(?:support|allow|enable|implement|permit|available)"
    r"|\btools?\b[^.]{0,20} requires? |no endpoints found that support|tool_use_failed",
    re.IGNORECASE,
)
"""Refusals of tools: Ollama (400), llama.cpp without --jinja (500), vLLM without a parser (400), OpenRouter (404), Groq
(400, where the model writes no call)."""

_NO_MODEL = re.compile(
    r"model_not_found|model[^.\n]{0,120}(?:not found|does not exist|not exist|is not available)|invalid model"
    r"|unknown model|no such model",
    re.IGNORECASE,
)


def classify(status: int, body: str, *, headers: Mapping[str, str] | None = None, sent: Collection[str] = ()) -> Fault:
    """Classify an HTTP error, or an error reported with status 200.

    `sent` names the optional parameters of the request: only one of those can have been refused.
    """
    told = _told(body)
    text = f"{told['code']} {told['type']} {told['message']}"
    message = _line(f"{status}: {told['message']}" if told["message"] else f"status {status}")
    fault = Fault(Kind.FAILED, message, status, wait=retry_after(headers or {}))
    kind = _kind(status, text, body)
    if kind is Kind.OVERFLOW:
        limit, prompt = told["n_ctx"], told["n_prompt_tokens"]
        return replace(
            fault,
            kind=kind,
            limit=limit if isinstance(limit, int) else _first_number(_CONTEXT_LENGTHS, text),
            prompt_tokens=prompt if isinstance(prompt, int) else _first_number(_PROMPT_LENGTHS, text),
        )
    if kind in (Kind.FAILED, Kind.TRANSIENT, Kind.NO_API) and status != 429:
        for name, pattern in (("stream", _NO_STREAM), (SYSTEM, _NO_SYSTEM), ("tools", _NO_TOOLS)):
            if name in (*sent, SYSTEM) and told["param"] not in sent and pattern.search(text):
                return replace(fault, kind=Kind.PARAMETER, parameter=name)
    if kind is Kind.FAILED and status in (400, 422) and _REFUSING.search(text):
        name = told["param"] if told["param"] in sent else _first_mentioned(told["message"], sent)
        if name:
            return replace(fault, kind=Kind.PARAMETER, parameter=name, limit=_first_number((_AT_MOST,), text))
    return replace(fault, kind=kind)


def _kind(status: int, text: str, body: str) -> Kind:
    if _QUOTA.search(text) or status in (401, 402, 403):
        return Kind.REFUSED
    # Bedrock's "Too many tokens, please wait" is a rate limit that reads like an overflow.
    if status == 429:
        return Kind.TRANSIENT
    if _OVERFLOW.search(text) or status == 413:
        return Kind.OVERFLOW
    if _NO_MODEL.search(text) and status in (400, 404):
        return Kind.NO_MODEL
    if status in (404, 405) or 300 <= status < 400:
        return Kind.NO_API
    if _LOADING.search(text):
        return Kind.LOADING
    if status in (408, 409, 425) or status >= 500:
        return Kind.TRANSIENT
    return Kind.FAILED


def classify_told(error: object, *, sent: Collection[str] = ()) -> Fault:
    """Classify an `error` in a body with status 200 or in a stream."""
    told = _told(json.dumps({"error": error}))
    code = told["code"]
    status = int(code) if code.isdecimal() and 400 <= int(code) < 600 else 0
    if not status:
        text = f"{code} {told['type']} {told['message']}".lower()
        if ("rate" in text and "limit" in text) or "too many requests" in text:
            status = 429
        elif "invalid_request" in text or "context_length" in text:
            status = 400
        elif "authentication" in text or "invalid_api_key" in text or "permission" in text:
            status = 401
        else:
            status = 500
    return classify(status, json.dumps({"error": error}), sent=sent)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds to wait by `Retry-After-Ms` or `Retry-After` (seconds or a date, RFC 9110 section 10.2.3)."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("retry-after")
    seconds = _number(said)
    if seconds is not None or said is None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except ValueError:
        return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value < float("inf") else None


def spelled(seconds: float) -> str:
    """A duration as text: `0.52 s`, `3,600 s`."""
    return f"{seconds:,.0f} s" if seconds >= 10 else f"{seconds:.2g} s"


def _told(body: str) -> dict[str, Any]:
    """The message, code, type and parameter in an error body, in any of the forms that servers use."""
    told: dict[str, Any] = {"message": "", "code": "", "type": "", "param": "", "n_ctx": None, "n_prompt_tokens": None}
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        told["message"] = _plain(body)
        return told
    error = data.get("error", data) if isinstance(data, dict) else data
    if not isinstance(error, dict):
        told["message"] = error if isinstance(error, str) else json.dumps(error)
        return told
    message = error.get("message") or error.get("detail") or error.get("error") or ""
    told["message"] = message if isinstance(message, str) else json.dumps(message)
    for key in ("code", "type", "param"):
        told[key] = "" if error.get(key) is None else str(error[key])
    told["n_ctx"], told["n_prompt_tokens"] = error.get("n_ctx"), error.get("n_prompt_tokens")
    return told


def _plain(body: str) -> str:
    """The body as text; for a web page, its title."""
    if not is_page(body):
        return body
    title = re.search(r"<title[^>]*>(.*?)</title>", body, re.IGNORECASE | re.DOTALL)
    return f"a web page: {title.group(1).strip()}" if title else "a web page"


def is_page(body: str) -> bool:
    """True if a body is HTML."""
    return body.lstrip("\ufeff \t\r\n")[:15].lower().startswith(("<!doctype html", "<html"))


def _line(text: str) -> str:
    """The text on one line of bounded length, without characters that move a terminal's cursor."""
    flat = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * SHOWN]).split())
    return flat if len(flat) <= SHOWN else flat[: SHOWN - 1] + "…"


def _first_number(patterns: Collection[re.Pattern[str]], text: str) -> int | None:
    for pattern in patterns:
        match = pattern.search(text)
        if match:
            return int(match.group(1).replace(",", "") or 0) or None
    return None


def _first_mentioned(text: str, names: Collection[str]) -> str:
    found = [(match.start(), name) for name in names if (match := re.search(rf"\b{name}\b", text))]
    return min(found)[1] if found else ""
