"""Conversion of a file's text to blocks, by language."""

from __future__ import annotations

import re

from codenav.core.blocks import CodeBlock
from codenav.indexers.document_blocks import document_blocks, metadata_blocks
from codenav.indexers.notebooks import notebook_blocks
from codenav.indexers.place import Place
from codenav.indexers.python_blocks import cython_blocks, python_blocks
from codenav.indexers.tool_blocks import LANGUAGE, tool_blocks


def file_blocks(text: str, place: Place, language: str) -> tuple[list[CodeBlock] | None, str]:
    """The blocks of a file in order, and the reason if it was cut; None and the reason if it was left out.

    `language` is a value of `walk.LANGUAGES`, or `tool`. `text` has `\\n` line ends.
    """
    if language == "python":
        return python_blocks(text, place), ""
    if language == "cython":
        return cython_blocks(text, place), ""
    if language == "notebook":
        return notebook_blocks(text, place)
    if language == "text" and text.startswith("Metadata-Version:"):
        return metadata_blocks(text, place), ""
    if language in _DOCUMENTS:
        return document_blocks(text, place, language), ""
    if language == LANGUAGE:
        tools = tool_blocks(text, place)
        return tools, "" if tools else "no operation that codenav wrote"
    if language == "component":
        text, language = script_of(text)
    # Imported only here: the tables of ten languages are half of the start-up time of a process that parses.
    from codenav.indexers.code_blocks import code_blocks

    return code_blocks(text, place, language)


_DOCUMENTS = {"markdown", "restructuredtext", "text"}


_OPENING = re.compile(
    r"<!--|<script\b(?P<attributes>(?:[^<>\"']|\"[^\"]*\"|'[^']*')*+)>",
    re.IGNORECASE,
)
_COMMENT_END = re.compile("-->")
_SCRIPT_END = re.compile(r"</script\s*>", re.IGNORECASE)
_LANGUAGE = re.compile(r"\slang\s*=\s*[\"']?(\w+)", re.IGNORECASE)
_LANGUAGES = {"ts": "typescript", "typescript": "typescript", "tsx": "tsx"}


def script_of(text: str) -> tuple[str, str]:
    """The file with blanks for all but its scripts, and their language."""
    pieces, position, copied, language = [], 0, 0, "javascript"
    while (opening := _OPENING.search(text, position)) is not None:
        is_script = opening["attributes"] is not None
        end = (_SCRIPT_END if is_script else _COMMENT_END).search(text, opening.end())
        if end is None:
            break
        position = end.end()
        if is_script:
            pieces += [_blank(text[copied : opening.end()]), text[opening.end() : end.start()]]
            copied = end.start()
            named = _LANGUAGE.search(opening["attributes"])
            language = _LANGUAGES.get(named[1].lower(), language) if named else language
    return "".join([*pieces, _blank(text[copied:])]), language


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
