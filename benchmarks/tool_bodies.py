"""Bodies of requests in a form that can be compared: JSON, forms and multipart."""

from __future__ import annotations

import email.parser
import email.policy
import json
from typing import Any
from urllib.parse import parse_qsl


def read_body(content_type: str, body: bytes) -> Any:
    """A body as data: JSON, pairs of a form, parts of a multipart body by name, else its bytes."""
    kind = content_type.partition(";")[0].strip().lower()
    if not body:
        return None
    if kind.endswith("json"):
        return json.loads(body)
    if kind == "application/x-www-form-urlencoded":
        return sorted(parse_qsl(body.decode(), keep_blank_values=True), key=lambda pair: pair[0])
    if kind == "multipart/form-data":
        return _parts(content_type, body)
    return body


def _parts(content_type: str, body: bytes) -> list[tuple[str, Any]]:
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
        b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body
    )
    found = []
    for part in message.iter_parts():
        content = part.get_payload(decode=True)
        data: Any = content
        if part.get_content_type() == "application/json":
            data = json.loads(content)
        elif isinstance(content, bytes):
            try:
                data = content.decode()
            except UnicodeDecodeError:
                data = content
        found.append((str(part.get_param("name", header="content-disposition")), data))
    return sorted(found, key=lambda pair: pair[0])
