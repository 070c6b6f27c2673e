"""The rows of the benchmark of retrieval: the first stage of codenav, and its rivals, on the same split.

A row is a function of a split and of cases to rankings: for each case the places of tools in `split.tools`, best first.
Whatever a row learns it learns from `split.train` (and, across sets, from `split.run`), never from what is judged.
"""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import plain_packages
from retrieval_measures import RECALL, Found, bar, difference
from retrieval_sets import Case, Split, Tool

sys.path.append(str(plain_packages.rivals()))

import bm25s
import numpy as np
import Stemmer

import codenav
from codenav.core.blocks import Hit, SearchResult
from codenav.core.config import home
from codenav.core.protocols import Index
from codenav.retrieval import requests
from codenav.retrieval.source_index import SourceIndex
from codenav.tools.reading import read_spec

LOWER = 2.0
"""The bar of the first stage: the points of recall@5 by which a set may be lower than BM25."""
LIMIT = 100
"""Hits of a ranking."""
Ranking = Sequence[int]
Rank = Callable[[Split, Sequence[Case]], Sequence[Ranking]]


@dataclass(frozen=True)
class Row:
    """A row of a table."""

    rank: Rank
    trained: bool = False
    """True if it learns from `split.train`: the row is left out where there is none."""
    step: bool = False
    """True if it ranks what is called next: the cases are `split.next_cases`, a table of its own."""
    across: bool = False
    """True if it learns from `split.others` alone: the row is left out where there are none."""


OURS, WHOLE = "codenav", "codenav, all words at once"
BM25, STATIC, FUSED = "BM25 with parameters (bm25s)", "static vectors, untrained", "RRF of the two"

_SEAMS = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORDS = re.compile(r"[a-z0-9]+")
_TYPES = {
    "array": "array", "bool": "boolean", "boolean": "boolean", "dict": "object", "float": "number", "int": "integer",
    "integer": "integer", "list": "array", "number": "number", "object": "object", "str": "string", "string": "string",
}  # fmt: skip
_opened = ExitStack()
_kept: dict[str, Kept] = {}


def queries(cases: Sequence[Case]) -> list[str]:
    """The requests of cases."""
    return [case.request.query for case in cases]


def ordered(scores: np.ndarray, limit: int = LIMIT) -> Ranking:
    """The ranking of scores, without tools that have none."""
    best = np.argsort(-scores, kind="stable")[:limit]
    return [int(row) for row in best if scores[row] > 0]


def document(tool: Tool) -> str:
    """The text of a tool: name, description, names and texts of its parameters."""
    each = (f"{one['name']} {one.get('desc') or ''}" for one in tool.params)
    return " ".join((tool.name, tool.desc, *each))


def words(text: str) -> str:
    """A text with its identifiers split."""
    return _SEAMS.sub(" ", text)


class Bm25:
    """BM25 of `bm25s` over texts: identifiers split, stop words left out, stems of Snowball."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.stemmer = Stemmer.Stemmer("english")
        self.size = len(texts)
        self.retriever = bm25s.BM25()
        self.retriever.index(self._tokens(list(texts), ids=True), show_progress=False)

    def _tokens(self, texts: Sequence[str], *, ids: bool) -> object:
        split = [words(text) for text in texts]
        return bm25s.tokenize(split, stopwords="en", stemmer=self.stemmer, return_ids=ids, show_progress=False)

    def scores(self, query: str) -> np.ndarray:
        """The score of each text."""
        # Each word once, which is better on the mean of twelve sets than as often as it is there.
        asked = dict.fromkeys(self._tokens([query], ids=False)[0])
        known = [token for token in asked if token in self.retriever.vocab_dict]
        return self.retriever.get_scores(known) if known else np.zeros(self.size, dtype=np.float32)


@functools.lru_cache(maxsize=64)
def bm25_of(tools: tuple[Tool, ...] | Split) -> Bm25:
    """The index of the tools of a split; kept, since several rows ask for it."""
    return Bm25([document(tool) for tool in (tools.tools if isinstance(tools, Split) else tools)])


def bm25(split: Split, cases: Sequence[Case]) -> list[Ranking]:
    """BM25 over names, descriptions and parameters."""
    found = bm25_of(split)
    return [ordered(found.scores(query)) for query in queries(cases)]


class Vectors:
    """Texts as sums of the static vectors of a sentence encoder's vocabulary."""

    def __init__(self, texts: Sequence[str]) -> None:
        import plain_vectors

        self.encoder, self.vectors = plain_vectors.load()
        self.texts = np.stack([self.vector(text) for text in texts])

    def vector(self, text: str) -> np.ndarray:
        """The vector of a text, of length 1."""
        places = [place for word in _WORDS.findall(words(text).lower()) for place in self.encoder.pieces(word)]
        whole = self.vectors[places].sum(0) if places else np.zeros(self.vectors.shape[1], dtype=np.float32)
        return whole / (np.linalg.norm(whole) or 1)

    def scores(self, query: str) -> np.ndarray:
        """The cosine of each text."""
        return self.texts @ self.vector(query)


@functools.lru_cache(maxsize=64)
def vectors_of(split: Split) -> Vectors:
    """The vectors of the tools of a split."""
    return Vectors([document(tool) for tool in split.tools])


def static(split: Split, cases: Sequence[Case]) -> list[Ranking]:
    """Static vectors that were trained on nothing."""
    found = vectors_of(split)
    return [ordered(found.scores(query)) for query in queries(cases)]


def fused(rankings: Sequence[Sequence[Ranking]]) -> list[Ranking]:
    """Reciprocal rank fusion (Cormack et al. 2009, k = 60) of several rankings of the same cases."""
    found = []
    for each in zip(*rankings, strict=True):
        scores: dict[int, float] = {}
        for ranking in each:
            for place, row in enumerate(ranking, 1):
                scores[row] = scores.get(row, 0.0) + 1 / (60 + place)
        found.append(sorted(scores, key=lambda row: (-scores[row], row))[:LIMIT])
    return found


def both(split: Split, cases: Sequence[Case]) -> list[Ranking]:
    """RRF of BM25 and static vectors."""
    return fused((bm25(split, cases), static(split, cases)))


def functions(tools: Sequence[Tool]) -> list[dict[str, object]]:
    """The tools as model APIs take functions: name, description, JSON Schema of the arguments. Names are unique."""
    names: dict[str, int] = {}
    for tool in tools:
        names[tool.name] = names.get(tool.name, 0) + 1
    return [
        {
            "name": tool.name if names[tool.name] == 1 else tool.id,
            "description": tool.desc,
            "parameters": {
                "type": "object",
                "properties": {str(one["name"]): _schema(one) for one in tool.params},
                "required": [str(one["name"]) for one in tool.params if one.get("required")],
            },
        }
        for tool in tools
    ]


def _schema(parameter: Mapping[str, object]) -> dict[str, object]:
    kind = _TYPES.get(str(parameter.get("type") or "").lower())
    text = str(parameter.get("desc") or "")
    return {**({"type": kind} if kind else {}), **({"description": text} if text else {})}


@functools.lru_cache(maxsize=64)
def index_of(split: Split) -> tuple[SourceIndex, Mapping[str, int]]:
    """A real index of the tools of a split, as a source `tools:FILE`, and the places of tools by the names there."""
    folder = home("cache") / "retrieval" / split.name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "set.json"
    listed = functions(split.tools)
    path.write_text(json.dumps(listed), encoding="utf-8")
    source = f"tools:{path}"
    rows = {str(one["name"]): row for row, one in enumerate(listed)}
    places = {operation.name: rows[operation.id] for operation in read_spec(source).operations}
    return _opened.enter_context(codenav.index(source)), places


class Kept:
    """What an index found for requests, kept since many rows and folds ask for the same."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._found: dict[str, SearchResult] = {}

    def answering(self, request: str) -> SearchResult:
        """The best hits for a request, each a new object: whoever asks may change its score."""
        if request not in self._found:
            self._found[request] = requests.search(self._index, request, limit=LIMIT)
        found = self._found[request]
        return replace(found, hits=[_again(hit) for hit in found.hits])


def _again(hit: Hit) -> Hit:
    again = Hit(hit.id, kind=hit.kind, path=hit.path, score=hit.score, why="", load=lambda: hit.block)
    again.weight = hit.weight
    return again


def kept_of(split: Split) -> Kept:
    """The index of a set; one for all folds."""
    name = f"{split.name}, {len(split.tools)} tools"
    if name not in _kept:
        _kept[name] = Kept(index_of(split)[0])
    return _kept[name]


def ours(split: Split, cases: Sequence[Case]) -> list[Ranking]:
    """codenav's search for a request, in a real index: its words and its parts."""
    _, places = index_of(split)
    each = (kept_of(split).answering(query) for query in queries(cases))
    return [[places[hit.qualname] for hit in found] for found in each]


def whole(split: Split, cases: Sequence[Case]) -> list[Ranking]:
    """codenav's search for all words of a request at once."""
    index, places = index_of(split)
    each = (index.search(requests.as_words(query), limit=LIMIT) for query in queries(cases))
    return [[places[hit.qualname] for hit in found] for found in each]


ROWS: dict[str, Row] = {OURS: Row(ours), WHOLE: Row(whole), BM25: Row(bm25), STATIC: Row(static), FUSED: Row(both)}
"""The rows without training; others add theirs in modules named in `retrieval.PARTS`."""


def bars(tables: Mapping[bool, Mapping[str, Mapping[str, Found]]]) -> list[str]:
    """The bar of the first stage: on the mean of the sets not lower than BM25, and no set lower by over 2 points."""
    sets = {name: rows for name, rows in tables[False].items() if OURS in rows and BM25 in rows}
    if not sets:
        return []
    more, low, high = difference([rows[OURS] for rows in sets.values()], [rows[BM25] for rows in sets.values()], RECALL)
    each = {name: rows[OURS].mean(RECALL) - rows[BM25].mean(RECALL) for name, rows in sets.items()}
    worst = min(each, key=lambda name: each[name])
    title = "first stage, no training, no embeddings"
    return [
        bar(more >= 0, title, f"{RECALL} against BM25, mean of {len(sets)} sets {more:+.1f} [{low:+.1f}, {high:+.1f}],"
        " not lower"),
        bar(each[worst] >= -LOWER, title, f"the lowest set, {worst}: {each[worst]:+.1f}, not under -{LOWER}"),
    ]  # fmt: skip
