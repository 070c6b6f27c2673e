"""What a model reads of 500 tools: all of them, as model APIs take functions, or what search shows of them."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

import numpy as np
from retrieval_measures import MEASURES, bar, measured
from retrieval_rows import Row, functions, index_of
from retrieval_sets import Request, Split

from codenav.core.actions import Search
from codenav.core.usage import estimate_tokens
from codenav.environments.search import SearchEnvironment
from codenav.retrieval.requests import as_words

TOOLS, REQUESTS, GOLD, SEED = 500, 100, 400, 3
"""The tools of a list, the requests for them at most, the tools that these may want, and the seed of the draw."""
FEWER, APART = 10.0, 1.0
"""The bars: how many times fewer tokens at least, and points of recall@10 at most."""
ROWS: dict[str, Row] = {}
RECALL = MEASURES.index("recall@10")


def drawn(split: Split) -> Split:
    """500 of the tools of a set, with requests that want none but these."""
    draw = random.Random(SEED)
    wanted: dict[str, None] = {}
    kept: list[Request] = []
    for request in draw.sample(list(split.judged), len(split.judged)):
        if len(kept) < REQUESTS and len({*wanted, *request.gold}) <= GOLD:
            kept.append(request)
            wanted |= dict.fromkeys(request.gold)
    others = [tool.id for tool in split.tools if tool.id not in wanted]
    ids = {*wanted, *draw.sample(others, TOOLS - len(wanted))}
    return Split(f"{split.name}-{TOOLS}", [tool for tool in split.tools if tool.id in ids], (), kept)


def bars_of(sets: Sequence[Split]) -> list[str]:
    """A line for each set that has so many tools, with the requests for a part of them."""
    return [_line(drawn(split)) for split in sets if len(split.tools) >= TOOLS]


def _line(split: Split) -> str:
    index, places = index_of(split)
    every = estimate_tokens(json.dumps(functions(split.tools)))
    read, shown, ranked = [], [], []
    for request in split.judged:
        gold = {split.rows[tool] for tool in request.gold}
        observed = SearchEnvironment(index).respond(Search(as_words(request.query)))
        read.append(estimate_tokens(observed.text))
        first = [places[hit.qualname] for result in observed.results for hit in result.hits]
        whole = [places[hit.qualname] for hit in index.search(as_words(request.query), limit=TOOLS)]
        shown.append(measured(first, gold)[RECALL])
        ranked.append(measured(whole, gold)[RECALL])
    fewer, apart = every / np.mean(read), abs(float(np.mean(ranked) - np.mean(shown)))
    held = fewer >= FEWER and apart <= APART
    return bar(
        held, f"tokens of the tool list at {TOOLS} tools, {split.name}", f"{len(split.judged)} requests: {every:,} of"
        f" all tools, {np.mean(read):,.0f} of a search, {fewer:.0f} times fewer; recall@10 {np.mean(shown):.1f}, of all"
        f" ranked {np.mean(ranked):.1f}",
    )  # fmt: skip
