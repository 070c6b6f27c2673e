"""The reasons why there is no connection, in the words of the system."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and what led to it, one after another, each once: a chain can lead back into itself."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def reason_of(error: BaseException) -> str:
    """The words of the first error of the system among its causes; empty if there is none."""
    for item in causes(error):
        if isinstance(item, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted ({item.verify_message})"
        if isinstance(item, ssl.SSLError):
            return f"TLS failed ({item.reason or item})"
        if isinstance(item, socket.gaierror):
            return f"unknown host ({item.strerror})"
        if isinstance(item, OSError) and (said := item.strerror or str(item)):
            return said.lower()
    return ""
