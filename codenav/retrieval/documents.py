"""The fields of a block that every store indexes, and the factor that its score is multiplied by in every query."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import lru_cache

from codenav.blocks import BlockKind, CodeBlock
from codenav.retrieval import analysis

KIND_WORTH = {
    BlockKind.CONDITIONAL: 0.8,
    BlockKind.ASSIGNMENT: 0.7,
    BlockKind.IMPORT: 0.5,
}
"""Factors of the score by kind; 1 for the others. The order is that of the CodeNav paper, section 3.4; the factors are
mild, so that a name that was asked for comes first, of whatever kind."""
TEST_WORTH = 0.6
"""Factor of the score for blocks in tests and in vendored code."""
_ASIDE = re.compile(
    r"(?:^|/)(?:tests?|testing|_?vendor(?:ed)?|third_party|node_modules)/|(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$"
)


def worth(block: CodeBlock) -> float:
    """The factor of a block's score, from its kind and its path; at most 1."""
    return _worth(block.kind, block.path)


@lru_cache(maxsize=256)
def _worth(kind: BlockKind, path: str) -> float:
    return KIND_WORTH.get(kind, 1.0) * (TEST_WORTH if _ASIDE.search(path.lower()) else 1.0)


WEIGHT_SCALE = 4.0
"""log2(2 + weight) is the worth times this. tantivy multiplies scores by it (Elasticsearch: `ln2p`) and treats a
negative weight as 0, so the smallest worth is 1/4."""


def weight(block: CodeBlock) -> float:
    """The worth of a block in the form that engines multiply by."""
    return max(0.0, math.exp2(WEIGHT_SCALE * worth(block)) - 2.0)


PHRASES = frozenset({"name_parts", "signature_parts", "text_parts", "doc_parts", "path_parts"})
"""The scored fields that keep the order of tokens, with positions and frequencies.

The others only tell which tokens are there: phrases are matched against the parts of identifiers, and positions of
whole identifiers as well would cost a fifth of a build."""

COMPOUNDS = frozenset({"signature", "text"})
"""The fields of whole identifiers without those that are their own only part (two in three in code), which the fields
of parts contain."""


def text_fields(block: CodeBlock) -> dict[str, str]:
    """The scored fields of a block, each as tokens joined by white space, none empty."""
    name, name_parts, name_prefixes = _name_fields(block.name)
    signature, signature_parts = analysis.analysed(block.signature)
    text, text_parts = analysis.analysed(f"{block.qualname}\n{block.text}")
    _, doc_parts = analysis.analysed(block.docstring)
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


@lru_cache(maxsize=50_000)
def _name_fields(name: str) -> tuple[str, str, str]:
    return (*analysis.named(name), analysis.prefixes(name))


@lru_cache(maxsize=64)
def _source(source: str) -> str:
    """The field of the source: its full name, the name without its version, and the bare name."""
    whole = analysis.keyword(source)
    versionless = whole.rpartition("@")[0] or whole
    bare = versionless.rpartition("/")[2].rpartition(":")[2] or versionless
    return " ".join(dict.fromkeys((whole, versionless, bare)))
