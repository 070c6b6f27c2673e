"""The statistics by which the server scores, and the merges by which an index forgets deleted blocks.

For a document that is not stored the server tells what its terms weigh.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from codenav.core.blocks import Frequencies
from codenav.retrieval import builds
from codenav.retrieval.elastic.connection import Connection
from codenav.retrieval.elastic.faults import part


def frequencies(ask: Callable[..., dict[str, Any]], shards: int, terms: Sequence[tuple[str, str]]) -> Frequencies:
    """The statistics of an index for these fields and tokens: the sums of its shards, as a search has them.

    `ask` asks the index for the term vectors of a document. A deleted block counts until it is merged away.
    """
    texts: dict[str, list[str]] = defaultdict(list)
    for field, token in terms:
        texts[field].append(token)
    document = {field: " ".join(tokens) for field, tokens in texts.items()}
    wanted = {"term_statistics": True, "positions": False, "offsets": False, "payloads": False}
    blocks, words, counts = Counter[str](), Counter[str](), dict.fromkeys(terms, 0)
    for shard in range(shards if document else 0):
        answer = ask(doc=document, preference=f"_shards:{shard}", **wanted)
        for field, vector in part(answer, "term_vectors").items():
            blocks[field] += vector["field_statistics"]["doc_count"]
            words[field] += vector["field_statistics"]["sum_ttf"]
            for token in texts[field]:
                counts[field, token] += vector["terms"].get(token, {}).get("doc_freq", 0)
    lengths = {field: words[field] / count for field, count in blocks.items() if count}
    return Frequencies(max(blocks.values(), default=0), counts, lengths)


LARGE = 100_000
"""Blocks from which on a first build is left in as many segments as the server likes: to merge them would take long."""
_SIZES = "indices.*.shards.*.segments.*.num_docs,indices.*.shards.*.segments.*.search"


def settle(connection: Connection, index: str, *, blocks: int, first: bool) -> None:
    """Make what was written visible, and merge it. `first`: the index is no copy of another one."""
    connection.write(lambda es: es.indices.refresh(index=index))
    answer = connection.write(lambda es: es.indices.segments(index=index, filter_path=_SIZES))
    shards = list(_shards(answer))
    if _deleted(connection, index, blocks, len(shards)) > builds.MAX_DELETED:
        # Not `only_expunge_deletes`: that keeps, for seconds after a write, what a copy might still ask for.
        _merge(connection, index, 1)
    elif first and blocks < LARGE:
        _merge(connection, index, 1)
    elif blocks < LARGE and any(map(builds.crowded, _blocks(shards, blocks))):
        # The smallest ones are merged first, so the segment of the first build stays.
        _merge(connection, index, 2)


def _merge(connection: Connection, index: str, segments: int) -> None:
    connection.write(lambda es: es.indices.forcemerge(index=index, max_num_segments=segments))
    connection.write(lambda es: es.indices.refresh(index=index))


def _shards(answer: dict[str, Any]) -> Iterator[list[int]]:
    """The documents of each segment of each shard's first copy, oldest first."""
    for index in part(answer, "indices"):
        for copies in part(answer, "indices", index, "shards").values():
            segments = part(copies[0], "segments")
            # Those that are not searched are of an earlier state that is still on disk.
            names = [name for name, state in segments.items() if state["search"]]
            yield [segments[name]["num_docs"] for name in sorted(names, key=lambda name: int(name[1:], 36))]


def _blocks(shards: list[list[int]], blocks: int) -> Iterator[list[int]]:
    """The blocks of each segment: the other documents are all in the newest one, for each build writes them again."""
    others = sum(map(sum, shards)) - blocks
    for *older, newest in filter(None, shards):
        yield [*older, *([newest - others] if newest > others else [])]


def _deleted(connection: Connection, index: str, blocks: int, shards: int) -> float:
    """The share of blocks that are deleted and still count in BM25, 0 to 1."""

    def ask(**given: Any) -> dict[str, Any]:
        return connection.write(lambda es: es.termvectors(index=index, filter_path="term_vectors", **given))

    # The server's count of deleted documents also has marks of deletion, and documents that hold no block.
    counted = frequencies(ask, shards, [("name", "any")]).blocks
    return 1 - blocks / counted if counted else 0.0
