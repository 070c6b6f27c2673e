"""Conversion of a file's text to blocks, by language."""

from __future__ import annotations

from codenav.core.blocks import CodeBlock
from codenav.indexers.components import script_of
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
