"""A retriever made from examples: trained, weighted and judged on requests that were held out, then trained on all."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from codenav.core.errors import CodeNavError
from codenav.retrieval.dense import fitting, training
from codenav.retrieval.dense.examples import Examples, check
from codenav.retrieval.dense.fitting import Held, Weights
from codenav.retrieval.dense.memory import Memory
from codenav.retrieval.dense.training import Prepared
from codenav.retrieval.dense.words import Floats, Places, WordVectors, encoded

PARTS = 5
"""Parts of the requests; those of one are held out while vectors are trained on the others."""
ENOUGH = 120
"""Held-out requests of a source by which weights and vectors are judged: as many rounds are made as give these."""
MOST_HELD = 150
"""Requests of a source in a round that are asked of the first stage, which takes some milliseconds each."""
JUDGED = ("recall@5", "ndcg@5")


class NoBetter(CodeNavError):
    """A training that finds no more than was found before."""

    hint = "train on more requests; what is there stays in use"


@dataclass(frozen=True)
class Report:
    """The report of a training."""

    requests: int
    callables: int
    held_out: int
    before: Mapping[str, float]
    """Recall and NDCG on the held-out requests: of the first stage, or of untrained vectors if they are described."""
    after: Mapping[str, float]
    seconds: float


@dataclass(frozen=True)
class Made:
    """The parts that a training made."""

    vectors: WordVectors
    memory: Memory | None
    weights: Weights | None
    """None if nothing could be said about them: the requests were docstrings."""
    report: Report


def make(
    parts: Sequence[Examples],
    *,
    epochs: int = 0,
    progress: Callable[[float], None] = lambda done: None,
) -> Made:
    """Train on the requests of one source or several.

    `epochs`: 0 means `training.epochs_for` the number of requests. `progress` gets the share that is done.

    Raises:
        UsageError: there is too little to train on.
        NoBetter: held-out requests are answered no better than before.
    """
    began = time.monotonic()
    check(parts)
    described = any(examples.described for examples in parts)
    vectors = WordVectors()
    prepared = [Prepared.of(examples, vectors) for examples in parts]
    count = sum(len(examples.requests) for examples in parts)
    epochs = epochs or training.epochs_for(max(len(examples.requests) for examples in parts))
    rounds = 1 if described else min(PARTS, max(1, math.ceil(ENOUGH * PARTS * len(parts) / count)))
    cut = [examples.parts(PARTS) for examples in parts]
    held: list[Held] = []
    for number in range(rounds):
        kept = [np.flatnonzero(part != number) for part in cut]
        rows = training.train(prepared, kept, vectors.rows, epochs=epochs, progress=_share(progress, number, rounds))
        memory = None if described else _memory(parts, kept)
        for which, part in enumerate(prepared):
            held += _held(part, np.flatnonzero(cut[which] == number)[:MOST_HELD], rows, vectors.rows, memory)
    gold = [one.gold for one in held]
    before = fitting.measured([one.features[:, 0] for one in held], gold)
    if described:
        weights, after = None, fitting.measured([one.features[:, 1] for one in held], gold)
    else:
        weights, after = fitting.fit(held), fitting.measured(_crossed(held), gold)
    check_better(before, after, len(held))
    everything = [np.arange(len(examples.requests)) for examples in parts]
    rows = training.train(prepared, everything, vectors.rows, epochs=epochs, progress=_share(progress, rounds, rounds))
    report = Report(
        count, len({name for examples in parts for name in examples.names}), len(held), before, after,
        round(time.monotonic() - began, 1),
    )  # fmt: skip
    return Made(
        WordVectors(vectors.tokens, rows[1:]), None if described else _memory(parts, everything), weights, report
    )


def check_better(before: Mapping[str, float], after: Mapping[str, float], held_out: int) -> None:
    """Check that training helps, by what was `fitting.measured` on held-out requests.

    Raises:
        NoBetter: it does not.
    """
    if sum(after[name] for name in JUDGED) <= sum(before[name] for name in JUDGED):
        compared = ", ".join(f"{name} {before[name]} before and {after[name]} after" for name in JUDGED)
        raise NoBetter(f"training does not help on {held_out} held-out requests ({compared}): nothing is written")


def _share(progress: Callable[[float], None], number: int, rounds: int) -> Callable[[float], None]:
    return lambda done: progress((number + done) / (rounds + 1))


def _memory(parts: Sequence[Examples], chosen: Sequence[Places]) -> Memory:
    requests: list[str] = []
    names: list[str] = []
    gold: list[Sequence[int]] = []
    for examples, places in zip(parts, chosen, strict=True):
        requests += [examples.requests[place] for place in places]
        gold += [[len(names) + answer for answer in examples.gold[place]] for place in places]
        names += examples.names
    return Memory.of(requests, names, gold)


def _held(part: Prepared, requests: Places, rows: Floats, untrained: Floats, memory: Memory | None) -> Iterator[Held]:
    """Words, meaning and memory of each callable for held-out requests; of docstrings both meanings alone."""
    examples = part.examples
    cosines = _cosines(part, requests, rows)
    others = _cosines(part, requests, untrained) if memory is None else cosines
    for request, meant, other in zip(requests, cosines, others, strict=True):
        found: Floats = np.zeros((len(examples.names), 3), dtype=np.float32)
        found[:, 1] = meant
        if memory is None:
            found[:, 0] = other
        else:
            for place, score in examples.first(examples.requests[request]).items():
                found[place, 0] = score
            known = dict(zip(memory.names, memory.scores(examples.requests[request]), strict=True))
            found[:, 2] = [known.get(name, 0.0) for name in examples.names]
        yield Held(found, examples.gold[request])


def _cosines(part: Prepared, requests: Places, rows: Floats) -> Floats:
    texts = encoded(rows, part.texts[: len(part.examples.names)])
    found: Floats = encoded(rows, [part.requests[request] for request in requests]) @ texts.T
    return found


def _crossed(held: Sequence[Held]) -> list[Floats]:
    """The scores of held-out requests by weights that were fitted on the other half of them."""
    halves = held[::2], held[1::2]
    fitted = [fitting.fit(half) for half in halves]
    return [fitted[1 - number % 2].sum(one.features) for number, one in enumerate(held)]
