"""The answers of tools as observations show them: bounded, by rules or with the help of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codenav.options import ToolOptions

Compress = Callable[[Any, str, Any], str]
"""Gets an operation, the request of the run and an answer; returns the answer's text."""


def shortener(options: ToolOptions) -> Compress:
    """Return the function that shortens answers as these options say."""
    from codenav.broker.compress import compressed

    def shorten(operation: Any, request: str, value: Any) -> str:
        return str(compressed(operation, {}, request, value, options.answer_characters))

    return shorten
