"""Masking of secrets in what tools answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from codenav.core.secrets.masking import masker


class Mask:
    """A function that replaces secrets in JSON data: in every text, and in every key.

    `masker` alone spares the words of the record format, which an answer may choose as it likes.
    """

    def __init__(self, secrets: Callable[[], Mapping[str, str]]) -> None:
        self._secrets = secrets
        self.renew()

    def renew(self) -> None:
        """Take the secrets of now: a token may have been fetched."""
        found = self._secrets()
        self._text = masker(found) if found else None

    def __call__(self, data: Any) -> Any:
        if self._text is None:
            return data
        if isinstance(data, str):
            return self._text(data)
        if isinstance(data, dict):
            return {self(key): self(value) for key, value in data.items()}
        return [self(item) for item in data] if isinstance(data, list) else data
