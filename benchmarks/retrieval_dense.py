"""Rows of the benchmark of retrieval for `codenav train-retriever`: trained on a set's own requests, and on others'."""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from retrieval_measures import GAIN, RECALL, Found, Rows, bar, difference
from retrieval_rows import (
    BM25,
    FUSED,
    LIMIT,
    STATIC,
    Rank,
    Ranking,
    Row,
    bm25,
    fused,
    index_of,
    kept_of,
    ordered,
    ours,
    queries,
)  # fmt: skip
from retrieval_sets import Case, Split
from retrieval_votes import searched

from codenav.core.config import home
from codenav.core.errors import CodeNavError
from codenav.core.protocols import Encoder, Ranker
from codenav.environments.ranking import Ranking as ProductRanking
from codenav.retrieval.dense import training
from codenav.retrieval.dense.block_vectors import text_of
from codenav.retrieval.dense.examples import Examples
from codenav.retrieval.dense.files import Retriever, read
from codenav.retrieval.dense.ranker import dense_ranker
from codenav.retrieval.dense.training import Prepared
from codenav.retrieval.dense.words import StaticEncoder, WordVectors
from codenav.retrieval.encoders import open_encoder
from codenav.toolgraph.retrievers import train_retriever

TRAINED, ALONE = "codenav with a trained retriever", "its vectors alone"
BOTH = "codenav with a trained retriever and episodes"
WITH = "codenav with its vectors, untrained"
UNTRAINED, OTHERS = "codenav's vectors, untrained", "codenav's vectors, trained on the other sets"
NINE = (
    "apibank_l1", "bfcl_mt_turn", "restbench_spotify", "restbench_tmdb", "sealtools", "stb", "traject_par_hard",
    "traject_par_simple", "traject_seq",
)  # fmt: skip
SEVEN = tuple(name for name in NINE if not name.startswith("traject_par"))
RIVALS = (BM25, STATIC, FUSED, UNTRAINED, ALONE)
"""The columns beside which the trained ones stand."""
SLOWEST = 30.0
"""The bar of the time of training, in seconds."""
_seconds: dict[tuple[str, int], tuple[float, float]] = {}
"""The time that training took, by the clock and of the processor, by set and fold."""


def traces_of(splits: Sequence[Split], path: Path) -> Path:
    """The training requests of splits as a file of traces."""
    with path.open("w", encoding="utf-8") as file:
        for split in splits:
            _, places = index_of(split)
            names = {place: f"set.{name}" for name, place in places.items()}
            for request in split.train:
                calls = [{"name": names[split.rows[tool]]} for tool in request.path or request.gold]
                file.write(json.dumps({"id": f"{split.name}/{request.id}", "request": request.query, "calls": calls}))
                file.write("\n")
    return path


@functools.lru_cache(maxsize=64)
def trained_on(split: Split) -> Retriever | None:
    """The retriever of a split; None if its training did not help."""
    folder = home("cache") / "retrievers" / f"{split.name}-{split.number}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    index, _ = index_of(split)
    began = time.monotonic(), time.process_time()
    try:
        made = train_retriever(index, traces_of([split], folder.with_suffix(".jsonl")), folder)
    except CodeNavError as error:
        print(f"{split.name} {split.number}: {error}", file=sys.stderr)
        return None
    finally:
        _seconds[split.name, split.number] = time.monotonic() - began[0], time.process_time() - began[1]
    print(
        f"{split.name} {split.number}: {made.requests} requests in {made.seconds} s, {GAIN} of {made.held_out} "
        f"{made.before[GAIN]} before and {made.after[GAIN]} after; {made.weights}",
        file=sys.stderr,
    )
    return read(folder)


def ranked(split: Split, ranker: Ranker, cases: Sequence[Case]) -> list[Ranking]:
    """codenav's search for a request with a ranker."""
    index, places = index_of(split)
    rankings = []
    for query in queries(cases):
        found = ProductRanking(ranker, request=query).ranked(kept_of(split).answering(query), index, shown=LIMIT)
        rankings.append([places[hit.qualname] for hit in found.hits[:LIMIT]])
    return rankings


def trained(split: Split, cases: Sequence[Case]) -> list[Ranking]:
    """codenav's search with the retriever that was trained on the requests of the set."""
    retriever = trained_on(split)
    if retriever is None:
        return ours(split, cases)
    return ranked(split, dense_ranker([index_of(split)[0]], retriever.encoder, retriever=retriever), cases)


def trained_and_taught(split: Split, cases: Sequence[Case]) -> list[Ranking]:
    """The search of the product with the retriever, and with the graph that the same requests taught."""
    retriever = trained_on(split)
    if retriever is None:
        return searched(split, cases)
    return searched(split, cases, dense_ranker([index_of(split)[0]], retriever.encoder, retriever=retriever))


def with_encoder(encoder: Encoder) -> Rank:
    """A row: codenav's search with an encoder that was not trained here."""
    return lambda split, cases: ranked(split, dense_ranker([index_of(split)[0]], encoder), cases)


def by(encoder: Encoder, split: Split, cases: Sequence[Case]) -> list[Ranking]:
    """An encoder's order alone."""
    index, places = index_of(split)
    blocks = list(index.blocks())
    vectors = np.zeros((len(split.tools), encoder.encode([""]).shape[1]), dtype=np.float32)
    vectors[[places[block.qualname] for block in blocks]] = encoder.encode([text_of(block) for block in blocks])
    return [ordered(vectors @ row) for row in encoder.encode(queries(cases), query=True)]


def alone(split: Split, cases: Sequence[Case]) -> list[Ranking]:
    """The trained vectors alone; the untrained ones where training did not help."""
    retriever = trained_on(split)
    return by(retriever.encoder if retriever else StaticEncoder(), split, cases)


def encoder_alone(encoder: Encoder) -> Rank:
    """A row: an encoder alone."""
    return lambda split, cases: by(encoder, split, cases)


def fused_with(encoder: Encoder) -> Rank:
    """A row: RRF of BM25 and an encoder."""
    return lambda split, cases: fused((bm25(split, cases), by(encoder, split, cases)))


@functools.lru_cache(maxsize=16)
def prepared(number: int, splits: tuple[Split, ...]) -> tuple[WordVectors, list[Prepared]]:
    """The requests and the tools of all sets of a run, as training takes them: they are looked up once."""
    vectors = WordVectors()
    return vectors, [Prepared.of(examples_of(split), vectors) for split in splits]


def examples_of(split: Split) -> Examples:
    """What a set teaches vectors."""
    index, places = index_of(split)
    texts = [""] * len(split.tools)
    for block in index.blocks():
        texts[places[block.qualname]] = text_of(block)
    gold = [[split.rows[tool] for tool in request.gold] for request in split.train]
    return Examples([tool.id for tool in split.tools], texts, [one.query for one in split.train], gold, lambda _: {})


@functools.lru_cache(maxsize=64)
def trained_without(split: Split, others: tuple[Split, ...]) -> Encoder:
    """The vectors that `train_retriever` makes of other sets, without fitting weights that nothing here needs."""
    run = tuple(one for one in split.run if one.train)
    vectors, parts = prepared(split.number, run)
    chosen = [np.arange(len(one.train) if one in others else 0) for one in run]
    epochs = training.epochs_for(max(map(len, chosen)))
    rows = training.train(parts, chosen, vectors.rows, epochs=epochs)
    return StaticEncoder(WordVectors(vectors.tokens, rows[1:]), name=f"without {split.name}")


def elsewhere(split: Split, cases: Sequence[Case]) -> list[Ranking]:
    """The vectors that were trained on the other sets, alone."""
    return by(trained_without(split, tuple(split.others)), split, cases)


ROWS: dict[str, Row] = {
    TRAINED: Row(trained, trained=True),
    BOTH: Row(trained_and_taught, trained=True),
    ALONE: Row(alone, trained=True),
    WITH: Row(with_encoder(StaticEncoder())),
    UNTRAINED: Row(encoder_alone(StaticEncoder())),
    OTHERS: Row(elsewhere, trained=True, across=True),
}
ENCODERS = {WITH: FUSED}
"""For each row with an untrained encoder that of its rival, the fusion of BM25 and this encoder by ranks."""


def add_encoder(folder: Path) -> None:
    """Add the rows of a sentence encoder: a directory as for `codenav search --embeddings`."""
    encoder, name = open_encoder(str(folder)), folder.name
    ours, rival = f"codenav with {name}, untrained", f"RRF of BM25 and {name}"
    ROWS[ours], ROWS[rival] = Row(with_encoder(encoder)), Row(fused_with(encoder))
    ROWS[f"{name} alone"] = Row(encoder_alone(encoder))
    ENCODERS[ours] = rival


def bars(tables: Mapping[bool, Mapping[str, Mapping[str, Found]]]) -> list[str]:
    """The bars of the dense stage and of training, as far as their sets were judged."""
    sets = tables[False]
    told = []
    for row, rival in ENCODERS.items():
        both = [rows for rows in sets.values() if row in rows and rival in rows]
        if both:
            more, low, high = difference([rows[row] for rows in both], [rows[rival] for rows in both], RECALL)
            told.append(
                bar(more >= 0, "with the untrained encoder", f"{row} against {rival}, {RECALL}, mean of {len(both)}"
                f" sets {more:+.1f} [{low:+.1f}, {high:+.1f}], not lower")
            )  # fmt: skip
    return [*told, *_bars_of_training(sets), *_bar_of_others(sets)]


def _bars_of_training(sets: Mapping[str, Rows]) -> list[str]:
    told = []
    for title, label, names, recall, gain in (
        ("trained on dev halves, seven sets", TRAINED, SEVEN, 80.0, 77.5),
        ("trained on dev halves, seven sets", BOTH, SEVEN, 80.0, 77.5),
        ("static vectors trained on dev halves, nine sets", TRAINED, NINE, 71.0, 73.0),
    ):
        rows = [sets[name] for name in names if label in sets.get(name, {})]
        if len(rows) < len(names):
            continue
        found = [_mean([row[label] for row in rows], one) for one in (RECALL, GAIN)]
        rivals = {one: [_mean([row[one] for row in rows], each) for each in (RECALL, GAIN)] for one in RIVALS
                  if all(one in row for row in rows)}  # fmt: skip
        best = [float(np.mean([max(row[one].mean(each) for one in rivals) for row in rows])) for each in (RECALL, GAIN)]
        each = ", ".join(f"{one} {values[0]:.1f} / {values[1]:.1f}" for one, values in rivals.items())
        told.append(
            bar(found[0] >= recall and found[1] >= gain, title, f"{label}, {RECALL} / {GAIN} {found[0]:.1f} /"
            f" {found[1]:.1f}, to be {recall} / {gain}; rivals here: {each};"
            f" the best column of each set {best[0]:.1f} / {best[1]:.1f}")
        )  # fmt: skip
    gains = {
        name: min(rows[TRAINED].mean(one) - rows[BM25].mean(one) for one in (RECALL, GAIN))
        for name, rows in sets.items()
        if name in NINE and TRAINED in rows and BM25 in rows
    }
    title = "static vectors trained on dev halves"
    if gains:
        worst = min(gains, key=lambda name: gains[name])
        told.append(
            bar(gains[worst] >= -1, title, f"lowest of {len(gains)} sets against BM25, {RECALL} or {GAIN}: {worst}"
            f" {gains[worst]:+.1f}, not under -1")
        )  # fmt: skip
    if _seconds:
        # Other processes make the clock slow, threads that wait the processor busy: the smaller of both is of training.
        longest = max(_seconds, key=lambda one: min(_seconds[one]))
        clock, processor = _seconds[longest]
        every = [sum(each) / len(_seconds) for each in zip(*_seconds.values(), strict=True)]
        told.append(
            bar(min(clock, processor) <= SLOWEST, f"{title}, time", f"the longest, {longest[0]}, {clock:.1f} s by the"
            f" clock and {processor:.1f} s of the processor, to be {SLOWEST:.0f}; the mean of {len(_seconds)},"
            f" {every[0]:.1f} s and {every[1]:.1f} s")
        )  # fmt: skip
    return told


def _bar_of_others(sets: Mapping[str, Rows]) -> list[str]:
    gains = {
        name: [rows[OTHERS].mean(one) - rows[UNTRAINED].mean(one) for one in (RECALL, GAIN)]
        for name, rows in sets.items()
        if OTHERS in rows and UNTRAINED in rows
    }
    if not gains:
        return []
    means = {name: (recall + gain) / 2 for name, (recall, gain) in gains.items()}
    worst = min(means, key=lambda name: means[name])
    return [
        bar(means[worst] > 0, "the same encoder on sets that it never saw", f"{OTHERS}, against untrained: the mean of"
        f" {RECALL} and {GAIN} better on {sum(mean > 0 for mean in means.values())} of {len(gains)} sets, both on"
        f" {sum(min(each) > 0 for each in gains.values())}; lowest {worst}"
            f" {gains[worst][0]:+.1f} / {gains[worst][1]:+.1f}")
    ]  # fmt: skip


def _mean(found: Sequence[Found], measure: str) -> float:
    return sum(one.mean(measure) for one in found) / len(found)
