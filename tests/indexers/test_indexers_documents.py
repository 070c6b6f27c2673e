"""Markdown, reStructuredText and plain text: sections, and not a character lost."""

from __future__ import annotations

import random

import pytest
from drawn import drawn
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from codenav.core.blocks import BlockKind, CodeBlock, LineSpan
from codenav.core.usage import estimate_tokens
from codenav.indexers.document_blocks import SECTION_TOKENS, document_blocks, markdown_headings
from codenav.indexers.place import Place
from codenav.indexers.walk import language_of

GUIDE = """Preamble.

# Guide

Text.

## Install

```bash
# not a heading
pip install x
```

Setext title
over two lines
-----
- item
---

### Deep ###
# Other
"""


def sections(text: str, language: str = "markdown") -> list[CodeBlock]:
    return document_blocks(text, Place("/docs", "docs/guide.md"), language)


def test_sections_of_markdown() -> None:
    blocks = sections(GUIDE)
    assert [(block.qualname, block.lines) for block in blocks] == [
        ("guide", LineSpan(1, 2)),
        ("Guide", LineSpan(3, 6)),
        ("Guide > Install", LineSpan(7, 13)),
        ("Guide > Setext title over two lines", LineSpan(14, 19)),
        ("Guide > Setext title over two lines > Deep", LineSpan(20, 20)),
        ("Other", LineSpan(21, 21)),
    ]
    assert blocks[2].signature == "## Install"
    assert blocks[4].name == "Deep"
    assert {(block.kind, block.language, block.source) for block in blocks} == {
        (BlockKind.DOCUMENT, "markdown", "/docs")
    }
    assert "".join(block.text for block in blocks) == GUIDE


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("---\ntitle: x\n---\n# A\n", ["A"]),
        ("<!--\n# no\n-->\n# A\n", ["A"]),
        ("<pre>\n# no\n</pre>\n# A\n", ["A"]),
        ("~~~\n# no\n```\n# no\n~~~\n# A\n", ["A"]),
        ("- item\n  ```\n  # no\n  ```\n# A\n", ["A"]),
        ("```\nunclosed\n# no\n", []),
        ("#hashtag\n#  A  #\n    # code\n", ["A"]),
        ("####### seven\n#\n", [""]),
        ("# a#\n## b # c ##  \n### ###\n# \\#\n#\t#d\n", ["a#", "b # c", "", "\\#", "#d"]),
        (f"# a{' ' * 500_000}b\n#{' #' * 200_000}\n", [f"a{' ' * 500_000}b", " ".join("#" * 199_999)]),
        ("| a | b |\n|---|---|\n", []),
        ("> quote\n---\n", []),
        ("text\n\n---\n", []),
        ("Title\n===\nTitle\n---\n", ["Title", "Title"]),
        ("`` ` `` not a fence\n# A\n", ["A"]),
    ],
)
def test_headings_of_markdown(text: str, titles: list[str]) -> None:
    assert [heading.title for heading in markdown_headings(text.split("\n"))] == titles
    blocks = sections(text)
    assert "".join(block.text for block in blocks) == text


def test_headings_of_generated_markdown_are_those_of_markdown_it() -> None:
    reader = MarkdownIt("commonmark")
    chance = random.Random(5)
    pieces = ["# A", "## B #", "text", "", "", "===", "---", "```", "~~~", "- item", "  more", "#no", "<!-- x", "-->",
              "> q", "1. one", "    code"]  # fmt: skip
    for _ in range(2000):
        text = "\n".join(["intro", "", *chance.choices(pieces, k=6)])
        rows = [token.map for token in reader.parse(text) if token.type == "heading_open" and token.level == 0]
        mine = {heading.row for heading in markdown_headings(text.split("\n"))}
        assert mine == {row[0] for row in rows if row}, text


def test_sections_of_restructuredtext() -> None:
    text = """==========
The Title
==========

Intro.

.. _label:

Part one
--------
.. code-block:: text

   Not a title
   -----------

====  ====
a     b
====  ====

Deeper
~~~~
text
more
....

Part two
--------
"""
    blocks = sections(text, "restructuredtext")
    assert [(block.qualname, block.lines.start) for block in blocks] == [
        ("The Title", 1),
        ("The Title > Part one", 9),
        ("The Title > Part one > Deeper", 20),
        ("The Title > Part two", 26),
    ]
    assert "".join(block.text for block in blocks) == text


@pytest.mark.parametrize(
    "text",
    ["", "\n", "  \n\t\n"],
)
def test_a_document_of_white_space_gives_no_block(text: str) -> None:
    assert sections(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "x\n",
        "\n\nx\n\n",
        "# A",
        "\n# A\n\n\n",
        "# A\n# A\n# A\n",
        "\n" * 50 + "x" + "\n" * 50,
        "a\x0c\x0b\u2028b\n",
    ],
)
def test_short_documents_are_kept_whole(text: str) -> None:
    blocks = sections(text)
    assert "".join(block.text for block in blocks) == text
    assert len({block.id for block in blocks}) == len(blocks)


def test_a_long_section_is_cut_at_paragraphs_into_numbered_parts() -> None:
    paragraphs = [f"Paragraph {number}. " + "word " * 150 + "\n\n" for number in range(30)]
    text = "# Long\n\n" + "".join(paragraphs) + "## Short\n"
    blocks = sections(text)
    assert "".join(block.text for block in blocks) == text
    assert [block.name for block in blocks[:2]] == ["Long (part 1)", "Long (part 2)"]
    assert blocks[-1].qualname == "Long > Short"
    assert all(block.text.startswith("Paragraph") for block in blocks[1:-1])
    assert all(estimate_tokens(block.text) <= SECTION_TOKENS for block in blocks)
    lines = text.split("\n")
    for block in blocks:
        assert block.text.rstrip("\n") == "\n".join(lines[block.lines.start - 1 : block.lines.end]).rstrip("\n")


@pytest.mark.parametrize(
    "text", ["x" * 100_000, "é漢🎉" * 30_000, "word " * 30_000, "line\n" * 30_000, "```\n" + "code\n" * 20_000]
)
def test_what_has_no_paragraphs_is_cut_all_the_same(text: str) -> None:
    blocks = sections(text)
    assert "".join(block.text for block in blocks) == text
    assert max(estimate_tokens(block.text) for block in blocks) <= SECTION_TOKENS
    assert blocks[-1].lines.end <= text.count("\n") + 1


def test_plain_text_has_titles_and_parts() -> None:
    text = "Intro.\n\nUsage\n=====\n\nCall it.\n\nNotes\n-----\nNone.\n"
    blocks = document_blocks(text, Place("/docs", "docs/README"), "text")
    assert [(block.qualname, block.lines.start) for block in blocks] == [
        ("README", 1),
        ("Usage", 3),
        ("Usage > Notes", 8),
    ]
    words = document_blocks("word\n" * 20_000, Place("/docs", "words.txt"), "text")
    assert [block.name for block in words[:2]] == ["words (part 1)", "words (part 2)"]
    assert "".join(block.text for block in words) == "word\n" * 20_000


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("README", "text"),
        ("docs/ChangeLog", "text"),
        ("notes.TXT", "text"),
        ("page.mdx", "markdown"),
        ("LICENSE", ""),
        ("Makefile", ""),
        ("README.png", ""),
    ],
)
def test_which_files_are_documents(name: str, language: str) -> None:
    assert language_of(name) == language


DOCUMENTS = st.lists(
    st.one_of(
        st.text(max_size=40),
        st.sampled_from(["# A\n", "Title\n===\n", "-" * 5 + "\n", "```\n", "\n\n", "<!--", "word " * 400, "- x\n",
                         "\x0c", "\u2028", "\x85", ".. note::\n", "\n---\n", "é" * 3000]),
    ),
    max_size=25,
).map("".join)  # fmt: skip


@pytest.mark.parametrize("language", ["markdown", "restructuredtext", "text"])
@drawn(150)
@given(text=DOCUMENTS)
def test_the_blocks_of_any_text_joined_are_the_text(language: str, text: str) -> None:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    blocks = sections(text, language)
    assert "".join(block.text for block in blocks) == (text if text.strip() else "")
    row = 1
    for block in blocks:
        assert block.lines.start == row
        row += block.text.count("\n")
        assert estimate_tokens(block.text) <= SECTION_TOKENS
