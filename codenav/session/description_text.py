"""The description of a code base: as text, as the name of a file, and after earlier requests."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from codenav.core.errors import NotFound, SandboxUnavailable, UsageError
from codenav.core.protocols import Sandbox
from codenav.session.episode import Episode
from codenav.session.questions import with_answers

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


def following_text(description: str, episodes: Sequence[Episode], sandbox: Sandbox) -> str:
    """Return the description, followed in later requests by what is left of the earlier ones."""
    if not episodes:
        return description
    requests = "\n".join(f"- {with_answers(episode.result)} → {episode.result.answer}" for episode in episodes)
    try:
        held = ", ".join(f"{item.name}: {item.type}" for item in sandbox.variables().values()) or "none"
    except SandboxUnavailable:
        held = "unknown"
    return f"{description}\n\nEarlier in this session:\n{requests}\nVariables that are still there: {held}"
