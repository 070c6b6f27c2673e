"""Operations of tool sources as blocks: one `.tool` file is one block of kind TOOL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from codenav.core.blocks import BlockKind, CodeBlock, FileSkip, LineSpan
from codenav.core.errors import UsageError
from codenav.indexers.place import Place, numbered
from codenav.indexers.walk import Found, max_bytes, reason_of, too_large
from codenav.tools.state_files import ENDING, OPERATIONS

LANGUAGE = "tool"
"""The language of `.tool` files. Only a source of tools has them: elsewhere a file of that name is no code."""


def tool_blocks(text: str, place: Place) -> list[CodeBlock] | None:
    """The block of a `.tool` file; None if it is not one that `tools.state_files` wrote."""
    try:
        data = json.loads(text)
        name = str(data["operation"]["name"])
        source, signature, docstring = str(data["text"]), str(data["signature"]), str(data["docstring"])
        import_line = str(data["import_line"])
    except (ValueError, KeyError, TypeError):
        return None
    block = CodeBlock(
        id="",
        kind=BlockKind.TOOL,
        name=name,
        qualname=name,
        path=place.path,
        lines=LineSpan(1, source.rstrip("\n").count("\n") + 1),
        text=source,
        signature=signature,
        docstring=docstring,
        language="python",
        source=place.source,
        import_line=import_line,
    )
    return numbered([block])


def tool_files(state: Path) -> Iterator[Found | FileSkip]:
    """The operations of a state of a tool source, in order.

    Raises:
        UsageError: its folder is gone, or cannot be listed.
    """
    top = state / OPERATIONS
    try:
        listed = sorted(path for path in top.rglob(f"*{ENDING}"))
        if not listed:
            top.stat()
    except OSError as error:
        raise UsageError(f"cannot read {top}: {error.strerror}", hint="codenav index SOURCE makes it again") from error
    for path in listed:
        inner = path.relative_to(top).as_posix()
        try:
            found = path.lstat()
        except OSError as error:
            yield FileSkip(inner, reason_of(error))
            continue
        if found.st_size > max_bytes(LANGUAGE):
            yield FileSkip(inner, too_large(LANGUAGE))
            continue
        yield Found.of(inner, str(path), found, LANGUAGE)
