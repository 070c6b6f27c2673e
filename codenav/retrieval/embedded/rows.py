"""Rows of the embedded engine, one per block; made in the processes that parse, which do not load the engine."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from codenav.core.blocks import BlockKind, CodeBlock, LineSpan, Packed
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

Row = tuple[tuple[str, ...], str, bytes, int, int | None, int, int, float, float]
"""The values of `SCORED`, the facts without the file, the stored form, kind, id as a number, lines, both weights."""

_NUMBER_ID = re.compile(r"[0-9a-f]{16}")
_FIELD, _ITEM = "\x1f", "\x1e"
"""ASCII's separators of units and of records; a block whose text contains one of them is stored as JSON."""


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
        stored(block),
        KINDS.index(block.kind),
        int(block.id, 16) if _NUMBER_ID.fullmatch(block.id) else None,
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


def stored(block: CodeBlock) -> bytes:
    """The stored form of a whole block."""
    values = (
        block.id, str(KINDS.index(block.kind)), block.name, block.qualname, block.path, str(block.lines.start),
        str(block.lines.end), block.text, block.signature, block.docstring, block.language, block.source,
        block.module, block.public_name, block.import_line, _ITEM.join(block.calls),
    )  # fmt: skip
    joined = _FIELD.join(values)
    if joined.count(_FIELD) == len(values) - 1 and joined.count(_ITEM) == max(len(block.calls) - 1, 0):
        return joined.encode("utf-8", "surrogatepass")
    return json.dumps(block.to_dict()).encode()


def restored(data: bytes) -> CodeBlock:
    """The block of a stored form; the inverse of `stored`."""
    if data[:1] == b"{":
        whole: dict[str, Any] = json.loads(data)
        return CodeBlock.from_dict(whole)
    values = data.decode("utf-8", "surrogatepass").split(_FIELD)
    id, kind, name, qualname, path, first, last, *others, calls = values
    text, signature, docstring, language, source, module, public_name, import_line = others
    return CodeBlock(
        id=id,
        kind=KINDS[int(kind)],
        name=name,
        qualname=qualname,
        path=path,
        lines=LineSpan(int(first), int(last)),
        text=text,
        signature=signature,
        docstring=docstring,
        language=language,
        source=source,
        module=module,
        public_name=public_name,
        import_line=import_line,
        calls=tuple(calls.split(_ITEM)) if calls else (),
    )
