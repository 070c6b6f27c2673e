"""Answers as values: JSON, text, files, and errors of one line."""

from __future__ import annotations

import base64
import http
import json
import mimetypes
import re
from collections.abc import Callable, Mapping
from email.message import Message
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from codenav.core.system.terminal_text import flattened, neutral
from codenav.tools.broker.transport import Answer
from codenav.tools.describing import is_file
from codenav.tools.model import Operation, Schema

MESSAGE_CHARACTERS = 300
PROMISE_CHARACTERS = 120
"""Characters of the difference between an answer and its schema."""
BODY_CHARACTERS = 20_000
"""Characters of an error's body that is no JSON."""
_MESSAGES = ("message", "error_description", "detail", "error", "title", "reason", "msg", "errors", "description")
_UNSAFE = re.compile(r"[^\w.,+ ()@-]")


class Result:
    """An answer for the code that called.

    `given` is the dict that goes into the sandbox, `kept` the answer as a record has it.
    """

    def __init__(self, given: dict[str, Any], kept: Any, *, outcome: str = "ok", message: str = "") -> None:
        self.given, self.kept, self.outcome, self.message = given, kept, outcome, message
        self.odd = ""
        """A sentence on the server for the observation; usually empty."""


def read(
    tool: str,
    operation: Operation,
    schemas: Mapping[str, Schema],
    answer: Answer,
    mask: Callable[[Any], Any],
) -> Result:
    """Return an HTTP answer as a value, a file or an error. `mask` replaces secrets in JSON data."""
    kind, charset = _type(answer.headers.get("content-type", ""))
    if answer.status >= 300:
        return _error(tool, answer, kind, charset, mask)
    promised = any("json" in name for name in operation.result_types)
    if not answer.body.strip():
        if not (answer.body and is_file(operation, schemas)):
            return _value(None)
    elif kind.startswith("text/html") and promised and not any("html" in name for name in operation.result_types):
        return _odd(tool, answer, f"a web page where JSON is promised: {_page(answer, charset)}", "")
    elif _is_json(kind) or (not kind and answer.body.lstrip()[:1] in b'{["'):
        try:
            return _value(mask(_json(answer.body, charset)))
        except (ValueError, RecursionError) as problem:
            text = mask(_text(answer.body, charset))
            return _odd(tool, answer, f"JSON that cannot be read ({flattened(str(problem), 100)})", text)
    if is_file(operation, schemas) or not _is_text(kind, answer.body):
        return file_result(
            _file_name(answer.headers.get("content-disposition", ""), operation.name, kind),
            kind or "application/octet-stream",
            _without_secrets(answer.body, mask),
        )
    return _value(mask(_text(answer.body, charset)))


def file_result(name: str, kind: str, content: bytes) -> Result:
    """Return a file as a result."""
    data = base64.b64encode(content).decode("ascii")
    return Result(
        {"file": {"name": name, "type": kind, "data": data}},
        {"$file": {"name": name, "type": kind, "bytes": len(content)}},
    )


def error_result(message: str, *, status: int | None = None, body: Any = None) -> Result:
    """Return an error as a result."""
    told = flattened(neutral(message), 1000)
    return Result({"error": {"status": status, "message": told, "body": body}}, body, outcome="error", message=told)


def _value(value: Any) -> Result:
    return Result({"value": value}, value)


def _odd(tool: str, answer: Answer, what: str, body: Any) -> Result:
    return error_result(f"{tool} answered {answer.status} with {what}", status=answer.status, body=body or None)


def _error(tool: str, answer: Answer, kind: str, charset: str, mask: Callable[[Any], Any]) -> Result:
    try:
        body: Any = mask(_json(answer.body, charset)) if answer.body.strip() else None
        said = _message(body)
    except (ValueError, RecursionError):
        body = mask(_text(answer.body[:BODY_CHARACTERS], charset))
        said = _page(answer, charset) if "html" in kind or body.lstrip()[:1] == "<" else body
    try:
        reason = http.HTTPStatus(answer.status).phrase
    except ValueError:
        reason = ""
    told = f"{tool} answered {answer.status} {reason}".rstrip()
    told += f": {flattened(mask(said), MESSAGE_CHARACTERS)}" if said else ""
    if "retry-after" in answer.headers and answer.status in (429, 503):
        told += f" (to be tried again after {flattened(answer.headers['retry-after'], 40)})"
    return error_result(told, status=answer.status, body=body)


def _message(body: Any, depth: int = 0) -> str:
    """Return the words of an error's body that are for people."""
    if isinstance(body, str):
        return body
    if isinstance(body, list) and body and depth < 4:
        return _message(body[0], depth + 1)
    if isinstance(body, dict) and depth < 4:
        for name in _MESSAGES:
            said = _message(body.get(name), depth + 1)
            if said:
                return said
    return ""


def _page(answer: Answer, charset: str) -> str:
    """Return the words of a web page."""
    text = re.sub(r"(?is)<(script|style)\b.*?</\1\s*>", " ", _text(answer.body[:BODY_CHARACTERS], charset))
    return flattened(re.sub(r"<[^>]*>", " ", text), 120)


def _type(header: str) -> tuple[str, str]:
    """Return media type and charset of a Content-Type."""
    message = Message()
    message["Content-Type"] = header or "x/x"
    kind = message.get_content_type() if header else ""
    charset = message.get_content_charset("utf-8") if header else "utf-8"
    return kind, charset or "utf-8"


def _is_json(kind: str) -> bool:
    return kind.endswith(("/json", "+json"))


def _is_text(kind: str, body: bytes) -> bool:
    if kind.startswith("text/") or kind.endswith(
        ("/xml", "+xml", "+json", "/javascript", "/yaml", "/x-yaml", "ndjson")
    ):
        return True
    if kind in ("", "application/x-www-form-urlencoded"):
        try:
            body.decode("utf-8")
        except UnicodeDecodeError:
            return False
        return b"\0" not in body
    return False


def _text(body: bytes, charset: str) -> str:
    try:
        return body.decode(charset, "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def _json(body: bytes, charset: str) -> Any:
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = _text(body, charset)
    return json.loads(text, parse_constant=lambda name: None)


def _file_name(disposition: str, operation: str, kind: str) -> str:
    """Return a name without folders for an answer that is a file."""
    message = Message()
    message["Content-Disposition"] = disposition.replace("\r", " ").replace("\n", " ") or "attachment"
    try:
        name = message.get_filename() or ""
    except (LookupError, ValueError, TypeError):
        name = ""
    return safe_name(unquote(name), f"{operation}{mimetypes.guess_extension(kind) or '.bin'}")


def safe_name(name: str, otherwise: str) -> str:
    """Return the name of a file without folders, controls and leading dots."""
    name = _UNSAFE.sub("_", PurePosixPath(name.replace("\\", "/")).name).strip(" .")
    return name[:100] or otherwise


def _without_secrets(content: bytes, mask: Callable[[Any], Any]) -> bytes:
    """Return content without secrets, where it is text that has some."""
    text = content.decode("latin-1")
    found = mask(text)
    return content if found == text else found.encode("latin-1", "replace")


class Promises:
    """The schemas of the answers of one specification. Each is compiled when it is first asked for."""

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self._schemas = schemas
        self._validators: dict[str, Any] = {}

    def broken(self, operation: Operation, value: Any) -> str:
        """Return how an answer differs from its schema, in one line; empty if it does not, or there is none."""
        if not operation.result:
            return ""
        if operation.name not in self._validators:
            self._validators[operation.name] = self._validator(operation.result)
        validator = self._validators[operation.name]
        if validator is None:
            return ""
        try:
            problem = next(iter(validator.iter_errors(value)), None)
        except (ValueError, RecursionError):
            return ""
        if problem is None:
            return ""
        where = "".join(f"[{part!r}]" for part in problem.instance_path)
        told = flattened(neutral(f"{where}: {problem.message}" if where else problem.message), PROMISE_CHARACTERS)
        return f"not what the specification promises: {told}"

    def _validator(self, schema: Schema) -> Any:
        import jsonschema_rs

        try:
            return jsonschema_rs.validator_for({"schemas": dict(self._schemas), **schema})
        except (ValueError, TypeError):
            # A schema that is none promises nothing.
            return None
