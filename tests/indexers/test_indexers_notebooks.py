"""Jupyter notebooks: text by heading, code by cell, and what the cells define."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest
from drawn import drawn
from hypothesis import given
from hypothesis import strategies as st

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.indexers.notebooks import BROKEN, notebook_blocks
from codenav.indexers.place import Place
from codenav.indexers.read import Task, read
from codenav.indexers.walk import FileSkip, Found, walk

Tree = Callable[[Mapping[str, str | bytes]], Path]
PLACE = Place("/books", "books/tour.ipynb")
V4 = nbformat.v4


def notebook(*cells: Any, language: str = "") -> str:
    book = V4.new_notebook(cells=list(cells))
    if language:
        book.metadata["kernelspec"] = {"name": language, "display_name": language, "language": language}
    return nbformat.writes(book)


def blocks_of(text: str) -> list[CodeBlock]:
    blocks, reason = notebook_blocks(text, PLACE)
    assert blocks is not None and not reason
    assert len({block.id for block in blocks}) == len(blocks)
    return blocks


def test_cells_become_sections_cells_and_definitions() -> None:
    output = V4.new_output("stream", text="not indexed")
    text = notebook(
        V4.new_markdown_cell("# Tour\nWelcome.\n## Load\nFirst load."),
        V4.new_code_cell("%matplotlib inline\nimport numpy as np\ndata = np.load('x')\n!ls", outputs=[output]),
        V4.new_markdown_cell("Then look."),
        V4.new_code_cell('def shown(data: list) -> None:\n    """Show it."""\n    plot(data)\n'),
        V4.new_code_cell("class A:\n    def f(self): pass\nshown(data)"),
        V4.new_raw_cell("raw text"),
    )
    blocks = blocks_of(text)
    assert [(block.kind.value, block.qualname, block.lines.to_list()) for block in blocks] == [
        ("DOCUMENT", "Tour", [1, 2]),
        ("DOCUMENT", "Tour > Load", [3, 4]),
        ("DOCUMENT", "Tour > Load > cell 2", [6, 9]),
        ("DOCUMENT", "Tour > Load", [11, 11]),
        ("FUNCTION", "shown", [13, 15]),
        ("DOCUMENT", "Tour > Load > cell 5", [17, 19]),
        ("CLASS", "A", [17, 18]),
        ("METHOD", "A.f", [18, 18]),
        ("DOCUMENT", "Tour > Load", [21, 21]),
    ]
    cell = blocks[2]
    assert (cell.language, cell.calls, cell.signature) == ("python", ("np.load",), "%matplotlib inline")
    assert cell.text == "%matplotlib inline\nimport numpy as np\ndata = np.load('x')\n!ls"
    assert (blocks[4].signature, blocks[4].docstring) == ("def shown(data: list) -> None", "Show it.")
    assert not any("not indexed" in block.text for block in blocks)


def test_cells_of_other_languages_are_kept_whole() -> None:
    (block,) = blocks_of(notebook(V4.new_code_cell("x <- c(1, 2)\nplot(x)"), language="R"))
    assert (block.kind, block.language, block.name) == (BlockKind.DOCUMENT, "r", "cell 1")
    script, magic = blocks_of(notebook(V4.new_code_cell("%%bash\nls (\n"), V4.new_code_cell("x = %timeit f()\ng()")))
    assert (script.text, script.calls) == ("%%bash\nls (\n", ())
    assert magic.calls == ("g",)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "3", '{"cells": 3}', '{"cells": [1]}', '{"cells": [{"source": 3}]}', "[" * 100_000,
     '{"worksheets": [{}]}', '{"cells": [{"source": [1]}]}'],
)  # fmt: skip
def test_what_is_no_notebook_is_told(text: str) -> None:
    assert notebook_blocks(text, PLACE) == (None, BROKEN)


def test_an_empty_notebook_gives_nothing() -> None:
    assert notebook_blocks(notebook(), PLACE) == ([], "")
    assert blocks_of('{"cells": [], "metadata": 3}') == []


def test_pictures_do_not_make_a_notebook_too_large(tree: Tree) -> None:
    picture = V4.new_output("display_data", {"image/png": "A" * 3_000_000})
    root = tree(
        {
            "a.ipynb": notebook(V4.new_code_cell("draw()", outputs=[picture])),
            "b.ipynb": b" " * 10_000_001,
            "c.ipynb": "no notebook",
        }
    )
    found = {item.path: item for item in walk(root)}
    assert found["b.ipynb"] == FileSkip("b.ipynb", "larger than 10 MB")
    first, last = found["a.ipynb"], found["c.ipynb"]
    assert isinstance(first, Found) and isinstance(last, Found)
    (block,) = read(Task(first, PLACE)).blocks or ()
    assert block.text == "draw()"
    reading = read(Task(last, PLACE))
    assert (reading.state, reading.reason) == (None, BROKEN)


PIECES = ["# A\n", "## B\n", "text ", "\n", "\n\n", "def f():\n    pass\n", "x = g(1)\n", "%magic\n", "!ls\n", "?x\n",
          "é漢", "class A:\n", "    y = 1\n", "```\n", "\r\n", "\x0c", "import os\n", "%%html\n", '"""']  # fmt: skip
CELLS = st.lists(
    st.tuples(st.sampled_from(["markdown", "code", "raw"]), st.lists(st.sampled_from(PIECES), max_size=8).map("".join)),
    max_size=6,
)


@drawn(150)
@given(cells=CELLS)
def test_no_character_of_a_cell_is_lost(cells: list[tuple[str, str]]) -> None:
    text = json.dumps({"cells": [{"cell_type": kind, "source": source} for kind, source in cells]})
    blocks = blocks_of(text)
    written = "\n".join(source.replace("\r\n", "\n") + ("" if source.endswith("\n") else "\n") for _, source in cells)
    lines = written.split("\n")
    covered = {row for block in blocks for row in range(block.lines.start, block.lines.end + 1)}
    assert [row for row, line in enumerate(lines, 1) if line.strip() and row not in covered] == []
    for block in blocks:
        held = "".join("\n".join(lines[block.lines.start - 1 : block.lines.end]).split())
        assert "".join(block.text.split()) in held or block.kind is BlockKind.CLASS


@drawn(100)
@given(data=st.binary(max_size=200), cut=st.integers(0, 400), put=st.binary(max_size=5))
def test_no_bytes_raise(data: bytes, cut: int, put: bytes) -> None:
    whole = notebook(V4.new_markdown_cell("# A"), V4.new_code_cell("def f(): pass")).encode()
    for content in (data, whole[:cut] + put + whole[cut + 3 :]):
        blocks, reason = notebook_blocks(content.decode("utf-8", "replace"), PLACE)
        assert (blocks is None) == (reason == BROKEN)
