"""The description of a code base, as text or as the name of a file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from codenav.core.errors import NotFound, UsageError

HINT = "--description takes text or the path of a file"
DOCUMENTS = (".md", ".rst", ".txt")
"""Endings of documents. A description that is one word with such an ending was meant as a file."""


def text_of(description: str | Path | None) -> str:
    """Return a description as text. If it names a file, return the content.

    Raises:
        NotFound: it names a file that does not exist.
        UsageError: it is a folder.
    """
    if not description:
        return ""
    text = str(description)
    with suppress(OSError, ValueError):
        if Path(text).expanduser().is_file():
            return Path(text).expanduser().read_text(encoding="utf-8", errors="replace")
        if Path(text).expanduser().is_dir():
            raise UsageError(f"the description {text} is a folder", hint=HINT)
    if isinstance(description, Path) or (text.endswith(DOCUMENTS) and not any(map(str.isspace, text))):
        raise NotFound(f"no such file: {text}", hint=HINT)
    return text
