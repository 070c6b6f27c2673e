"""Vectors of words trained on requests and what answered them, by gradients that are written out.

InfoNCE (van den Oord et al. 2018): each request should be nearer to the callables that answered it than to others, as
by a softmax of cosines. Adagrad (Duchi et al. 2011), one rate for each row.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from codenav.retrieval.dense.examples import Examples
from codenav.retrieval.dense.words import Floats, Places, WordVectors, stems, unit

K1, B = 1.2, 0.75


class Lexical:
    """The stems of texts, each weighted as BM25 does (Robertson et al. 1994; Lucene's form)."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.size = len(texts)
        counts = [Counter(stems(text)) for text in texts]
        lengths = [count.total() for count in counts]
        mean = sum(lengths) / max(len(lengths), 1) or 1.0
        found: dict[str, tuple[list[int], list[float]]] = {}
        for place, (count, length) in enumerate(zip(counts, lengths, strict=True)):
            for term, number in count.items():
                places, values = found.setdefault(term, ([], []))
                places.append(place)
                values.append(number / (number + K1 * (1 - B + B * length / mean)))
        self._terms = {
            term: (
                np.array(places, dtype=np.intp),
                np.array(values, dtype=np.float32)
                * math.log(1 + (self.size - len(places) + 0.5) / (len(places) + 0.5)),
            )
            for term, (places, values) in found.items()
        }

    def scores(self, request: str) -> Floats:
        """The score of each text."""
        found: Floats = np.zeros(self.size, dtype=np.float32)
        for term, number in Counter(stems(request)).items():
            if term in self._terms:
                places, values = self._terms[term]
                found[places] += number * values
        return found

    def best(self, request: str, count: int) -> list[int]:
        """The places of the best texts; none that shares no word."""
        scores = self.scores(request)
        count = min(count, self.size)
        first = np.argpartition(-scores, count - 1)[:count] if count else np.zeros(0, dtype=np.intp)
        first = first[np.argsort(-scores[first], kind="stable")]
        return [int(place) for place in first if scores[place] > 0]


TEMPERATURE = 0.1
"""The scale of cosines in the loss. 0.05 is as good for callables that answered training requests, but vectors that it
trains are worse than untrained ones for some tools that they never saw."""
RATE = 0.08
"""The length of a row's first step, beside vectors of about 1."""
EPOCHS, FEWEST_EPOCHS, SEEN = 10, 4, 3_000
"""Times that each request is seen; of many requests fewer times, so that about as many requests are seen in all. With
650 requests 4 epochs train as well as 9."""
BATCH = 64
"""Requests of a batch, all of one source."""
EASY = 128
"""Callables drawn from all of the source for each batch, besides those of the batch and the hard ones."""
HARD = 2
"""Callables drawn for each request from the best `AMONG` that words find and that did not answer it."""
AMONG = 12
SEED = 22


@dataclass(frozen=True)
class Prepared:
    """The examples of a source as rows of vectors."""

    examples: Examples
    requests: Sequence[Places]
    texts: Sequence[Places]
    """Those of the callables, and behind them the lures."""
    lures: Sequence[Sequence[int]]
    """For each callable the places of its lures in `texts`."""
    hard: Sequence[Places]
    """For each request what words find and what did not answer it."""
    answered: Sequence[frozenset[int]]

    @classmethod
    def of(cls, examples: Examples, vectors: WordVectors) -> Prepared:
        """Look up all words; unknown ones get rows of their own."""
        lured = sorted(examples.lures)
        every = [*examples.texts, *(text for place in lured for text in examples.lures[place])]
        places: list[Sequence[int]] = [()] * len(examples.names)
        end = len(examples.texts)
        for place in lured:
            places[place] = range(end, end := end + len(examples.lures[place]))
        lexical = Lexical(examples.texts)
        answered = [frozenset(gold) for gold in examples.gold]
        hard = [
            np.array([place for place in lexical.best(request, AMONG) if place not in gold], dtype=np.intp)
            for request, gold in zip(examples.requests, answered, strict=True)
        ]
        return cls(
            examples,
            [vectors.places(request, new=True) for request in examples.requests],
            [vectors.places(text, new=True) for text in every],
            places,
            hard,
            answered,
        )


def epochs_for(requests: int) -> int:
    """The epochs for a number of requests."""
    return max(FEWEST_EPOCHS, min(EPOCHS, SEEN // max(requests, 1)))


def train(
    parts: Sequence[Prepared],
    chosen: Sequence[Places],
    rows: Floats,
    *,
    epochs: int,
    progress: Callable[[float], None] = lambda done: None,
) -> Floats:
    """The rows after training on the chosen requests of each part. `rows` stay as they are."""
    rows, squares = rows.copy(), np.zeros(len(rows), dtype=np.float32)
    drawing = np.random.default_rng(SEED)
    for epoch in range(epochs):
        batches = list(_batches(chosen, drawing))
        for number, (part, requests) in enumerate(batches):
            _step(parts[part], requests, rows, squares, drawing)
            progress((epoch + (number + 1) / len(batches)) / epochs)
    return rows


def _batches(chosen: Sequence[Places], drawing: np.random.Generator) -> Iterator[tuple[int, Places]]:
    cut = []
    for part, requests in enumerate(chosen):
        shuffled = drawing.permutation(requests)
        cut += [(part, shuffled[start : start + BATCH]) for start in range(0, len(shuffled), BATCH)]
    for place in drawing.permutation(len(cut)):
        yield cut[place]


def _step(part: Prepared, requests: Places, rows: Floats, squares: Floats, drawing: np.random.Generator) -> None:
    """Move the rows of a batch."""
    candidates = _candidates(part, requests, drawing)
    gold = np.array([[place in part.answered[at] for place in candidates] for at in requests], dtype=np.float32)
    asked, answers = Bag([part.requests[at] for at in requests]), Bag([part.texts[at] for at in candidates])
    _, gradients = loss(asked, answers, gold, rows)
    for places, grown in gradients:
        squares[places] += np.einsum("ij,ij->i", grown, grown)
        rows[places] -= RATE * grown / np.sqrt(squares[places] + 1e-10)[:, None]


def loss(asked: Bag, answers: Bag, gold: Floats, rows: Floats) -> tuple[float, list[tuple[Places, Floats]]]:
    """The mean loss of requests, and the gradients of the rows; `gold` is 1 where a text answered a request."""
    queries, query_lengths = unit(asked.sums(rows))
    texts, text_lengths = unit(answers.sums(rows))
    scores = queries @ texts.T / TEMPERATURE
    shares = np.exp(scores - scores.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    # What also answered a request is not held against what else did.
    wanted = gold / gold.sum(1, keepdims=True)
    wrong = (shares - wanted) / (TEMPERATURE * len(queries))
    grown = []
    for mine, lengths, slope in (
        (queries, query_lengths, wrong @ texts),
        (texts, text_lengths, wrong.T @ queries),
    ):
        # The gradient of a sum of length 1 has no part along the sum.
        grown.append((slope - mine * np.einsum("ij,ij->i", slope, mine)[:, None]) / lengths)
    value = float(-(wanted * np.log(shares + 1e-30)).sum() / len(queries))
    return value, _joined(asked, asked.counts.T @ grown[0], answers, answers.counts.T @ grown[1])


def _candidates(part: Prepared, requests: Places, drawing: np.random.Generator) -> list[int]:
    found = {place for request in requests for place in part.answered[request]}
    found.update(lure for place in list(found) for lure in part.lures[place])
    for request in requests:
        hard = part.hard[request]
        found.update(drawing.choice(hard, min(HARD, len(hard)), replace=False).tolist() if len(hard) else ())
    found.update(drawing.permutation(len(part.examples.names))[:EASY].tolist())
    return sorted(found)


class Bag:
    """Texts as counts of rows."""

    def __init__(self, texts: Sequence[Places]) -> None:
        self.places, columns = np.unique(np.concatenate(texts), return_inverse=True)
        number = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
        size = len(texts) * len(self.places)
        flat = np.bincount(number * len(self.places) + columns, minlength=size)
        self.counts: Floats = flat.astype(np.float32).reshape(len(texts), len(self.places))

    def sums(self, rows: Floats) -> Floats:
        """The sum of the rows of each text."""
        found: Floats = self.counts @ rows[self.places]
        return found


def _joined(asked: Bag, of_asked: Floats, answers: Bag, of_answers: Floats) -> list[tuple[Places, Floats]]:
    """The gradients by row, of a row that both have their sum; the row of unknown words never moves."""
    _, mine, theirs = np.intersect1d(asked.places, answers.places, assume_unique=True, return_indices=True)
    of_answers[theirs] += of_asked[mine]
    alone = np.ones(len(asked.places), dtype=bool)
    alone[mine] = False
    both = ((asked.places[alone], of_asked[alone]), (answers.places, of_answers))
    return [(places[places > 0], grown[places > 0]) for places, grown in both]
