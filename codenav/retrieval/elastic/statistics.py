"""The statistics by which the server scores: for a document that is not stored it tells what its terms weigh."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from codenav.core.blocks import Frequencies
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
        for field, told in part(answer, "term_vectors").items():
            blocks[field] += told["field_statistics"]["doc_count"]
            words[field] += told["field_statistics"]["sum_ttf"]
            for token in texts[field]:
                counts[field, token] += told["terms"].get(token, {}).get("doc_freq", 0)
    lengths = {field: words[field] / count for field, count in blocks.items() if count}
    return Frequencies(max(blocks.values(), default=0), counts, lengths)
