"""Rows of the embedded engine, one per block; made in the processes that parse, which do not load the engine."""

from __future__ import annotations

import re
from collections.abc import Sequence

from codenav.core.blocks import BlockKind, CodeBlock, Packed
from codenav.retrieval import analysis, documents

KINDS = tuple(BlockKind)
"""The kinds in the order of the numbers that they are stored as, which is part of the format."""
FACTS = "facts"
"""The field of all values that only narrow a search. Separate fields for them would cost a tenth of a build."""
MARKS = {
    "id": "i:", "file_path": "f:", "type": "t:", "language": "l:", "name_words": "w:", "source": "s:", "calls": "c:",
}  # fmt: skip
"""The prefixes of tokens in `FACTS`, by the field of a plan that they belong to."""
FILE_MARK = "n:"
"""The prefix of the number of a block's file."""
SCORED = (
    "name", "name_parts", "name_prefixes", "signature", "signature_parts", "text", "text_parts", "doc_parts",
    "path_parts", "name_stems", "owner_stems", "summary_stems",
)  # fmt: skip
"""The scored fields, in the order of a row."""

Row = tuple[tuple[str, ...], str, bytes, int, int, int, int, float, float]
"""The values of `SCORED`, the facts without the file, the stored form, kind, id as a number, lines, both weights."""


def pack(blocks: Sequence[CodeBlock]) -> Packed:
    """The blocks of a file as rows."""
    return Packed.of(blocks, list(map(_row, blocks)))


def _row(block: CodeBlock) -> Row:
    texts = documents.text_fields(block)
    keywords = documents.keyword_fields(block)
    facts = [
        f"i:{_SPACE.sub(analysis.SPACE, keywords['id'])}",
        f"f:{keywords['file_path']}",
        f"t:{keywords['type']}",
        f"l:{keywords['language']}",
        f"w:{texts['name_words']}",
        _marked("s:", texts["source"]),
        _marked("c:", texts["calls"]),
    ]
    return (
        tuple([texts[name] for name in SCORED]),
        " ".join(facts),
        documents.stored(block),
        KINDS.index(block.kind),
        documents.id_number(block),
        max(block.lines.start, 0),
        max(block.lines.end, 0),
        documents.weight(documents.worth(block)),
        documents.weight(documents.prior(block)),
    )


_SPACE = re.compile(r"\s")


def _marked(mark: str, tokens: str) -> str:
    return mark + tokens.replace(" ", f" {mark}")


def fact(field: str, token: str) -> str:
    """A token of a field, in the form that it has among the facts."""
    return MARKS[field] + _SPACE.sub(analysis.SPACE, token)
