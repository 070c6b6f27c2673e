"""The fields of a block that every store indexes, and the factor that its score is multiplied by in every query."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import orjson

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.retrieval import analysis, stems
from codenav.retrieval.aside import is_aside, is_example

KIND_WORTH = {
    BlockKind.CONDITIONAL: 0.8,
    BlockKind.ASSIGNMENT: 0.7,
    BlockKind.IMPORT: 0.5,
}
"""Factors of the score by kind; 1 for the others. The order is that of the CodeNav paper, section 3.4; the factors are
mild, so that a name that was asked for comes first, of whatever kind."""
TEST_WORTH = 0.6
"""Factor of the score for blocks in tests and in vendored code."""


def worth(block: CodeBlock) -> float:
    """The factor of a block's score where names are asked for, from its kind and its path; at most 1."""
    return KIND_WORTH.get(block.kind, 1.0) * (TEST_WORTH if is_aside(block) else 1.0)


ASIDE, PRIVATE, SECTION, MODULE = 0.4, 0.7, 0.4, 0.5
"""Factors of the prior for tests, examples and vendored code, for what only its own file uses, for sections of
documents, and for what a module says of itself: both of these have the words of all that they are about, and who
describes something means the thing. So a section counts less than code without a docstring, whose prior is 0.5."""
OFFERED = 0.75
"""The prior of tools and episodes: that of code with 400 characters of docstring. Each is there to be used, and the
length of its text tells the number of its parameters: what has many is not asked for more often."""
DESCRIBED = 0.2
"""The growth of the prior with each doubling of the docstring's length."""
SHORT, LONG = 100, 3_000
"""Characters of a docstring from which the prior grows, and beyond which it does not."""
_PRIVATE = re.compile(r"(?:^|\.)_(?!_\w+__(?:\.|$))")


def prior(block: CodeBlock) -> float:
    """The factor of a block's score where a description is asked for: how likely anybody means it; at most 1.

    Code that is written for others to use is public, and is described at length.
    """
    if block.kind in (BlockKind.TOOL, BlockKind.EPISODE):
        return OFFERED
    aside = is_aside(block) or (is_example(block.path) and block.kind is not BlockKind.DOCUMENT)
    known = KIND_WORTH.get(block.kind, 1.0) * (ASIDE if aside else 1.0)
    if block.kind is BlockKind.DOCUMENT:
        return known * (MODULE if block.docstring else SECTION)
    # What no public module offers is as private as what is named so.
    if (block.module and not block.public_name) or ("_" in block.qualname and _PRIVATE.search(block.qualname)):
        known *= PRIVATE
    return known * _growth(len(block.docstring))


@lru_cache(maxsize=LONG + 1)
def _growth(length: int) -> float:
    whole, own = (1 + DESCRIBED * math.log2(1 + min(size, LONG) / SHORT) for size in (LONG, length))
    return own / whole


WEIGHT_SCALE = 16.0
"""log2(2 + weight) is a factor times this. tantivy multiplies scores by it (Elasticsearch: `ln2p`) and treats a
negative weight as 0, so the smallest factor is 1/16."""


def weight(factor: float) -> float:
    """A factor of the score in the form that engines multiply by."""
    return max(0.0, math.exp2(WEIGHT_SCALE * factor) - 2.0)


PHRASES = frozenset({"name_parts", "signature_parts", "text_parts", "doc_parts", "path_parts"})
"""The scored fields that keep the order of tokens, with positions and frequencies.

The others only tell which tokens are there: phrases are matched against the parts of identifiers, and positions of
whole identifiers as well would cost a fifth of a build."""

COMPOUNDS = frozenset({"signature", "text"})
"""The fields of whole identifiers without those that are their own only part (two in three in code), which the fields
of parts contain."""


def text_fields(block: CodeBlock) -> dict[str, str]:
    """The scored fields of a block, each as tokens joined by white space, none empty."""
    name, name_parts, name_prefixes, name_words, name_stems = _name_fields(block.name)
    signature, signature_parts = analysis.analysed(block.signature)
    other = "" if block.public_name.endswith(block.qualname) else block.public_name
    text, text_parts = analysis.analysed(f"{block.qualname}{other and ' '}{other}\n{block.text}")
    doc_parts, summary_stems = _doc_fields(block.docstring)
    return {
        "name": name,
        "name_parts": name_parts,
        "name_prefixes": name_prefixes,
        "signature": signature,
        "signature_parts": signature_parts,
        "text": text,
        "text_parts": text_parts,
        "doc_parts": doc_parts,
        "path_parts": _path_parts(block.path),
        "name_words": name_words,
        "name_stems": name_stems,
        "owner_stems": _owner_stems(block.path, block.qualname.removesuffix(block.name)),
        "summary_stems": summary_stems,
        "calls": _calls(block.calls),
        "source": _source(block.source),
    }


def keyword_fields(block: CodeBlock) -> dict[str, str]:
    """The fields of a block that hold one token each and are never scored."""
    return {
        "id": analysis.encodable(block.id),
        "path": analysis.encodable(block.path),
        "file_path": _path_token(block.path),
        "type": block.kind.value,
        "language": _keyword(block.language),
    }


_path_parts = lru_cache(maxsize=64)(analysis.path_parts)
_path_token = lru_cache(maxsize=64)(analysis.path_token)
_keyword = lru_cache(maxsize=64)(analysis.keyword)


def _calls(names: Iterable[str]) -> str:
    """The field of called names: each as written, without the dot of a call on an expression, and its last part."""
    tokens: dict[str, None] = {}
    for name in names:
        tokens.update(_call(name))
    return " ".join(tokens) or analysis.SENTINEL


_JOINT = re.compile(r"\.|::|->")
"""The separators between the parts of a called name in the various languages."""


@lru_cache(maxsize=10_000)
def _call(name: str) -> dict[str, None]:
    whole = analysis.keyword(name.lstrip("."))
    return dict.fromkeys((whole, _JOINT.split(whole)[-1]))


@lru_cache(maxsize=1_000)
def _owner_stems(path: str, owner: str) -> str:
    """The field of what a block belongs to: the classes around it, the modules and folders of its file."""
    return _stems(analysis.parts(f"{path.rpartition('.')[0]} {owner}"))


def _doc_fields(docstring: str) -> tuple[str, str]:
    """The parts of a docstring and the stems of its summary."""
    if not docstring:
        return analysis.SENTINEL, analysis.SENTINEL
    first, parts = summary(docstring), analysis.parts(docstring)
    return parts, _stems(parts if first == docstring else analysis.parts(first))


def _stems(parts: str) -> str:
    return " ".join(stems.of_parts(parts)) or analysis.SENTINEL


LONGEST_SUMMARY = 500
"""The most characters of a summary."""
_BLANK_LINE = re.compile(r"\n\s*\n")


def summary(docstring: str) -> str:
    """The first paragraph of a docstring."""
    text = docstring.lstrip()
    end = _BLANK_LINE.search(text, 0, LONGEST_SUMMARY)
    return text[: end.start() if end else LONGEST_SUMMARY]


@lru_cache(maxsize=1_000)
def _name_fields(name: str) -> tuple[str, str, str, str, str]:
    wholes, parts = analysis.named(name)
    return wholes, parts, analysis.prefixes(wholes), analysis.as_set(parts.split()), _stems(parts)


@lru_cache(maxsize=64)
def _source(source: str) -> str:
    """The field of the source: its full name, the name without its version, and the bare name."""
    whole = analysis.keyword(source)
    versionless = whole.rpartition("@")[0] or whole
    bare = versionless.rpartition("/")[2].rpartition(":")[2] or versionless
    return " ".join(dict.fromkeys((whole, versionless, bare)))


def id_number(block: CodeBlock) -> int:
    """The id as a number, which engines sort by and show in a third of the time of texts.

    Raises:
        ValueError: it is not of `block_id`.
    """
    if len(block.id) != 16:
        raise ValueError(f"{block.id[:40]!r} is no id of a block: block_id makes one")
    return int(block.id, 16)


def stored(block: CodeBlock) -> bytes:
    """A whole block as JSON."""
    return dumps(block.to_dict())


def restored(data: bytes | str) -> CodeBlock:
    """The block of its JSON; the inverse of `stored`."""
    return CodeBlock.from_dict(loads(data))


def dumps(value: Any) -> bytes:
    """A value as one line of JSON. A lone surrogate, which orjson refuses, is written as an escape."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode()


def loads(text: bytes | str) -> Any:
    """The value of a text in JSON; the inverse of `dumps`.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return orjson.loads(text)
    except ValueError:
        return json.loads(text)
