"""Error bodies of real servers, and what we make of them."""

from __future__ import annotations

import json
import time
from email.utils import formatdate

import pytest

from codenav.agents.models.faults import Kind, classify, classify_told, retry_after

SENT = ("max_tokens", "temperature", "stop")


def error(message: str, **keys: object) -> str:
    return json.dumps({"error": {"message": message, **keys}})


OVERFLOWS = {
    "OpenAI": (
        400,
        error(
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9102 tokens. "
            "Please reduce the length of the messages.",
            type="invalid_request_error",
            param="messages",
            code="context_length_exceeded",
        ),
        8192,
        None,
    ),
    "vLLM, old form": (
        400,
        json.dumps(
            {
                "object": "error",
                "message": "This model's maximum context length is 4096 tokens. However, you requested 9012 tokens "
                "(820 in the messages, 8192 in the completion). Please reduce the length.",
                "type": "BadRequestError",
                "param": None,
                "code": 400,
            }
        ),
        4096,
        820,
    ),
    "vLLM, answer too long": (
        400,
        error(
            "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is "
            "4096 tokens and your request has 300 input tokens (8192 > 4096 - 300).",
            type="BadRequestError",
            code=400,
        ),
        4096,
        300,
    ),
    "vLLM, prompt too long": (
        400,
        error("The decoder prompt (length 5000) is longer than the model's context length of 4,096."),
        4096,
        None,
    ),
    "vLLM, max_model_len": (400, error("max_tokens=9000 cannot be greater than max_model_len=4096."), 4096, None),
    "Anthropic behind a proxy": (400, error("prompt is too long: 210012 tokens > 200000 maximum"), 200000, 210012),
    "llama.cpp": (
        400,
        error(
            "the request exceeds the available context size, try increasing it",
            code=400,
            type="exceed_context_size_error",
            n_prompt_tokens=5000,
            n_ctx=2048,
        ),
        2048,
        5000,
    ),
    "Gemini": (
        400,
        error("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
        1048576,
        1200000,
    ),
    "a body too large for a proxy": (413, "Request Entity Too Large", None, None),
}


@pytest.mark.parametrize("server", OVERFLOWS)
def test_an_overflow_is_read_with_its_numbers(server: str) -> None:
    status, body, limit, prompt = OVERFLOWS[server]
    fault = classify(status, body, sent=SENT)
    assert (fault.kind, fault.limit, fault.prompt_tokens) == (Kind.OVERFLOW, limit, prompt)


KINDS = {
    "wrong key": (401, error("Incorrect API key", code="invalid_api_key"), Kind.REFUSED),
    "forbidden by a proxy": (403, "<html><head><title>Forbidden</title></head></html>", Kind.REFUSED),
    "quota": (429, error("You exceeded your current quota", code="insufficient_quota"), Kind.REFUSED),
    "balance": (402, error("Insufficient Balance"), Kind.REFUSED),
    "rate limit": (429, error("Rate limit reached", code="rate_limit_exceeded"), Kind.TRANSIENT),
    "rate limit that reads like an overflow": (
        429,
        error("Too many tokens, please wait before trying again. maximum context length"),
        Kind.TRANSIENT,
    ),
    "overloaded": (529, error("Overloaded"), Kind.TRANSIENT),
    "proxy": (502, "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>", Kind.TRANSIENT),
    "request timeout": (408, "", Kind.TRANSIENT),
    "llama.cpp starts": (503, error("Loading model", code=503, type="unavailable_error"), Kind.LOADING),
    "OpenAI has no such model": (404, error("The model `x` does not exist", code="model_not_found"), Kind.NO_MODEL),
    "Ollama has no such model": (
        404,
        json.dumps({"error": 'model "x" not found, try pulling it first'}),
        Kind.NO_MODEL,
    ),
    "LiteLLM has no such model": (400, error("Invalid model name passed in model=x"), Kind.NO_MODEL),
    "wrong path": (404, "404 page not found", Kind.NO_API),
    "wrong path, FastAPI": (404, json.dumps({"detail": "Not Found"}), Kind.NO_API),
    "method": (405, json.dumps({"detail": "Method Not Allowed"}), Kind.NO_API),
    "something else": (400, error("messages must alternate"), Kind.FAILED),
    "nothing at all": (400, "", Kind.FAILED),
}


@pytest.mark.parametrize("case", KINDS)
def test_errors_are_told_apart(case: str) -> None:
    status, body, kind = KINDS[case]
    assert classify(status, body, sent=SENT).kind is kind


PARAMETERS = {
    "OpenAI": (
        error(
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            type="invalid_request_error",
            param="max_tokens",
            code="unsupported_parameter",
        ),
        "max_tokens",
        None,
    ),
    "a proxy that loses code and param": (
        error("Unsupported parameter: 'max_tokens' is not supported with this model."),
        "max_tokens",
        None,
    ),
    "OpenAI, value": (
        error(
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is "
            "supported.",
            param="temperature",
            code="unsupported_value",
        ),
        "temperature",
        None,
    ),
    "LiteLLM": (error("gpt-5 does not support parameters: ['stop'], for model=gpt-5"), "stop", None),
    "FastAPI": (
        json.dumps({"detail": [{"loc": ["body", "stop"], "msg": "Extra inputs are not permitted"}]}),
        "stop",
        None,
    ),
    "a smaller limit": (
        error(
            "max_tokens is too large: 8192. This model supports at most 4096 completion tokens, whereas you provided "
            "8192.",
            param="max_tokens",
            code="invalid_value",
        ),
        "max_tokens",
        4096,
    ),
}


@pytest.mark.parametrize("case", PARAMETERS)
@pytest.mark.parametrize("status", [400, 422])
def test_a_refused_parameter_is_found(case: str, status: int) -> None:
    body, name, limit = PARAMETERS[case]
    fault = classify(status, body, sent=SENT)
    assert (fault.kind, fault.parameter, fault.limit) == (Kind.PARAMETER, name, limit)


def test_a_parameter_that_was_not_sent_cannot_be_what_was_refused() -> None:
    body = error("Unsupported parameter: 'stop' is not supported", param="stop")
    assert classify(400, body, sent=("temperature",)).kind is Kind.FAILED


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ({"code": 429, "message": "slow down"}, Kind.TRANSIENT),
        ({"code": "502", "message": "upstream"}, Kind.TRANSIENT),
        ({"message": "internal"}, Kind.TRANSIENT),
        ("overloaded", Kind.TRANSIENT),
        ({"type": "rate_limit_error", "message": "x"}, Kind.TRANSIENT),
        ({"type": "authentication_error", "message": "x"}, Kind.REFUSED),
        ({"code": "insufficient_quota", "message": "x"}, Kind.REFUSED),
        ({"code": "context_length_exceeded", "message": "x"}, Kind.OVERFLOW),
        ({"type": "invalid_request_error", "message": "bad role"}, Kind.FAILED),
        ([1, 2], Kind.TRANSIENT),
    ],
)
def test_an_error_at_status_200_counts_as_what_it_says(told: object, kind: Kind) -> None:
    assert classify_told(told, sent=SENT).kind is kind


def test_a_message_is_one_bounded_line_without_control_characters() -> None:
    fault = classify(400, error("a\x1b[31m\nb\r" + "c" * 10_000))
    assert fault.message.startswith("400: a [31m b c")
    assert len(fault.message) <= 400
    assert fault.message.isprintable()


def test_of_a_web_page_only_the_title_is_shown() -> None:
    assert classify(502, "<!DOCTYPE html><title>Bad\nGateway</title>").message == "502: a web page: Bad Gateway"


def test_a_deeply_nested_body_is_survived() -> None:
    assert classify(500, "[" * 100_000).kind is Kind.TRANSIENT


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_retry_after_may_be_a_date() -> None:
    assert 3590 < (retry_after({"retry-after": formatdate(time.time() + 3600, usegmt=True)}) or 0) <= 3600
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
