"""The mapping and settings of an index."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

from codenav.core.blocks import BlockKind, CodeBlock, LineSpan
from codenav.core.config import StoreOptions
from codenav.retrieval import documents
from codenav.retrieval.elastic.lines import BLOCK, FIRST, KIND, LAST, NUMBER, PRIOR, ROLE, WORTH

FORMAT = 6
"""The version of what is stored in and beside the fields: tokens, ids, states of files, what `_meta` holds."""
SORTED = "path"
"""The keyword field that orders hits."""
LONGEST_REGEX = 100_000
"""Maximum characters of a regular expression, as our wildcards become; the engine's own limit on states stays."""
WINDOW = 100_000
"""Maximum number of hits of one search; more are fetched in pages."""

SCORED = {"similarity": "BM25"}
"""The part of a scored field that a template of the cluster might set otherwise."""
OWN = {"index.hidden": True, "index.default_pipeline": "_none", "index.final_pipeline": "_none"}
"""Settings of a new index against templates of the cluster, of which those for `*` apply to no hidden index."""
WHOLE: dict[str, Any] = {"dynamic": "strict", "_source": {"enabled": True}}
"""The part of every mapping that is not a field, nor our mark."""


@functools.cache
def fields() -> dict[str, Any]:
    """The fields of a document, taken from what `documents` makes of a block."""
    example = CodeBlock("", BlockKind.FUNCTION, "", "", "", LineSpan(1, 1), "")
    found: dict[str, Any] = {}
    for name in documents.text_fields(example):
        options = "positions" if name in documents.PHRASES else "docs"
        found[name] = {"type": "text", "analyzer": "whitespace", "index_options": options, **SCORED}
    for name in documents.keyword_fields(example):
        found[name] = {"type": "keyword", "doc_values": name == SORTED}
    found[BLOCK] = {"type": "keyword", "index": False, "doc_values": False}
    found[ROLE] = {"type": "keyword", "doc_values": False}
    for name in (WORTH, PRIOR):
        found[name] = {"type": "float", "index": False}
    for name in (FIRST, LAST):
        found[name] = {"type": "integer"}
    found[NUMBER] = {"type": "long", "index": False}
    found[KIND] = {"type": "short", "index": False}
    return found


@functools.cache
def version() -> str:
    """The version of an index, which changes with the fields and `FORMAT`; one of another version counts as absent."""
    return f"{FORMAT}-{hashlib.blake2b(documents.dumps(fields()), digest_size=6).hexdigest()}"


def mark(key: str, source: str) -> dict[str, Any]:
    """The mark that makes an index ours, as `_meta` of its mapping."""
    return {"codenav": {"format": version(), "key": key, "source": source}}


def body(options: StoreOptions, *, key: str, source: str, alias: str) -> dict[str, Any]:
    """The body of the request that makes an index for a first build."""
    return {
        "settings": {**OWN, **building(options), "index.number_of_shards": options.elasticsearch_shards},
        "mappings": {**WHOLE, "_meta": mark(key, source), "properties": fields()},
        "aliases": {alias: {}},
    }


def building(options: StoreOptions) -> dict[str, Any]:
    """The settings of an index while it is written: what the server holds is safe only with those of `PUBLISHED`."""
    return {
        "index.number_of_replicas": options.elasticsearch_replicas,
        "index.refresh_interval": "-1",
        "index.translog.durability": "async",
        "index.blocks.write": False,
        "index.max_regex_length": LONGEST_REGEX,
        "index.max_result_window": WINDOW,
    }


def cloned(options: StoreOptions) -> dict[str, Any]:
    """The settings of a copy while it is written: it does not merge on its own.

    A merge drops deleted blocks from the statistics of scores, and when it happens is chance. So an index is the same
    after the same builds, until it has that many segments.
    """
    merges = {"index.merge.policy.segments_per_tier": 40, "index.merge.policy.deletes_pct_allowed": 50}
    return {**building(options), **merges}


PUBLISHED = {"index.hidden": False, "index.translog.durability": "request", "index.blocks.write": True}
"""The settings of an index that answers: it is never written again, and only such an index can be cloned."""
