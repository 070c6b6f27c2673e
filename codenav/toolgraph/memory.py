"""Memory of solved requests: the callables that were called for those most like a new one, and after which.

It weighs the k most similar verified episodes by a ridge regression on them alone (kernel ridge regression in the
neighbourhood of the request). Ten episodes that say the same share one voice, and an episode that is hardly similar has
little of one, which a mean over the nearest does not give: see docs/retrieval.md for both as measured.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from codenav.core.traces import Trace

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

Words = Callable[[str], Sequence[str]]
"""The words of a text as a search takes them: split, in lower case, stemmed."""

NEAREST = 100
"""The episodes that vote."""
RIDGE = 0.1
"""The penalty of the regression: the weight of one episode of exactly the same request is 1 / (1 + RIDGE)."""
NEAR_ENOUGH = 1e-5
"""The relative error at which the regression is solved."""
MOST_ROUNDS = 100
"""The most rounds of its solution; it takes about 20."""
POWER = 4
"""The power of the similarity by which steps are weighed (research on tool graphs: kNN weight = similarity^4)."""
ANYWAY = 0.01
"""The weight of a step of an episode that is not similar at all."""
SAME_BEFORE = 4.0
"""The amount by which a step weighs more, times its weight, if the call before the last one was the same, too."""
DOUBT = 0.2
"""The weight of a step to somewhere else that never happened: what was seen once is not certain."""
MOST_STEPS = 1_000
"""The most steps of an episode that are remembered."""


class Share(NamedTuple):
    """The voice of the memory for a callable."""

    value: float
    """About 1 if all episodes like this one called it, 0 if none did; may be below 0."""
    episode: int
    """The place of the episode that says most of it."""


@dataclass(frozen=True, slots=True)
class Step:
    """A call that followed another in an episode."""

    episode: int
    name: str
    before: str
    """The call before the last one; empty if there was none."""


class Memory:
    """Verified episodes by their requests."""

    def __init__(self, traces: Iterable[Trace], words: Words) -> None:
        """Traces that are not verified, that have no request, or in which nothing worked, are left out."""
        self._words = words
        kept = [(trace, _worked(trace)) for trace in traces if trace.verified and trace.request.strip()]
        self.traces = [trace for trace, calls in kept if calls]
        self.called: list[tuple[str, ...]] = [tuple(dict.fromkeys(calls)) for _, calls in kept if calls]
        """For each trace what it called, each once."""
        self._paths = [calls for _, calls in kept if calls]
        self._index: _Similarity | None = None
        self._after: Mapping[str, list[Step]] | None = None
        self._last: tuple[str, Floats] | None = None
        self._answers: tuple[str, dict[str, Share]] | None = None

    def __len__(self) -> int:
        return len(self.traces)

    def similar(self, request: str) -> Floats:
        """The similarity of each episode's request to this one, 0 to 1."""
        if self._last is None or self._last[0] != request:
            if self._index is None:
                self._index = _Similarity([trace.request for trace in self.traces], self._words)
            self._last = request, self._index.of(request)
        return self._last[1]

    def answers(self, request: str) -> dict[str, Share]:
        """The callables that answered similar requests, with their shares."""
        # An episode searches often for one request.
        if self._answers is None or self._answers[0] != request:
            self._answers = request, self._answered(request) if self.traces else {}
        return self._answers[1]

    def _answered(self, request: str) -> dict[str, Share]:
        import numpy

        near = self.similar(request)
        count = min(NEAREST, len(near))
        chosen = numpy.sort(numpy.argpartition(-near, count - 1)[:count])
        chosen = chosen[near[chosen] > 0]
        if not len(chosen) or self._index is None:
            return {}
        weights = _ridge(self._index.among(chosen), near[chosen])
        voices: dict[str, list[tuple[float, int]]] = defaultdict(list)
        for place, weight in zip(chosen.tolist(), weights.tolist(), strict=True):
            for name in self.called[place]:
                voices[name].append((weight, place))
        return {name: Share(sum(weight for weight, _ in each), max(each)[1]) for name, each in voices.items()}

    def next_steps(self, request: str, calls: Sequence[str]) -> dict[str, Share]:
        """The callables called after the last of some calls, with their shares, by the similarity of the episodes."""
        calls = [name for at, name in enumerate(calls) if not at or calls[at - 1] != name]
        steps = self._followed().get(calls[-1], ()) if calls else ()
        if not steps:
            return {}
        before = calls[-2] if len(calls) > 1 else ""
        near = self.similar(request)
        whole = DOUBT
        voices: dict[str, list[tuple[float, int]]] = defaultdict(list)
        for step in steps:
            weight = ANYWAY + float(near[step.episode]) ** POWER
            if step.before == before:
                weight *= 1 + SAME_BEFORE
            whole += weight
            voices[step.name].append((weight, step.episode))
        return {name: Share(sum(weight for weight, _ in each) / whole, max(each)[1]) for name, each in voices.items()}

    def _followed(self) -> Mapping[str, list[Step]]:
        """The steps by the call that they follow."""
        if self._after is None:
            self._after = defaultdict(list)
            for place, (trace, calls) in enumerate(zip(self.traces, self._paths, strict=True)):
                if not trace.ordered:
                    continue
                for at, (last, name) in enumerate(pairwise(calls)):
                    self._after[last].append(Step(place, name, calls[at - 1] if at else ""))
        return self._after


class _Similarity:
    """The similarity of texts to each other: the cosine of their words, weighed by how rare they are."""

    def __init__(self, texts: Sequence[str], words: Words) -> None:
        import numpy

        self._np = numpy
        self._words = words
        each = [sorted(set(words(text))) for text in texts]
        counts = Counter(word for text in each for word in text)
        self._rows = {word: row for row, word in enumerate(counts)}
        self._weights = numpy.log(1 + len(texts) / numpy.array([*counts.values()], dtype=numpy.float64))
        self._unknown = float(numpy.log(1 + len(texts)))
        self._texts = [numpy.array([self._rows[word] for word in text], dtype=numpy.intp) for text in each]
        self._lengths = numpy.array([float((self._weights[rows] ** 2).sum()) ** 0.5 or 1.0 for rows in self._texts])
        ends = numpy.cumsum([0, *map(len, self._texts)])
        every = numpy.concatenate(self._texts) if self._texts else numpy.empty(0, dtype=numpy.intp)
        order = numpy.argsort(every, kind="stable")
        self._holders = numpy.searchsorted(ends, order, side="right") - 1
        self._starts = numpy.searchsorted(every[order], numpy.arange(len(counts) + 1))

    def of(self, text: str) -> Floats:
        """The similarity of each text to this one."""
        np = self._np
        words = set(self._words(text))
        rows = sorted(self._rows[word] for word in words & self._rows.keys())
        shared = np.zeros(len(self._texts))
        for row in rows:
            shared[self._holders[self._starts[row] : self._starts[row + 1]]] += self._weights[row] ** 2
        length = (float((self._weights[rows] ** 2).sum()) + (len(words) - len(rows)) * self._unknown**2) ** 0.5
        found: Floats = shared / (self._lengths * (length or 1.0))
        return found

    def among(self, chosen: npt.NDArray[np.intp]) -> Callable[[Floats], Floats]:
        """The product of the similarities of some of the texts to each other with numbers, one for each of them.

        Without BLAS, whose threads cost ten times the work where other processes want the processors.
        """
        np = self._np
        texts = [self._texts[place] for place in chosen.tolist()]
        rows = np.repeat(np.arange(len(texts)), [*map(len, texts)])
        words, columns = np.unique(np.concatenate(texts), return_inverse=True)
        values = self._weights[words[columns]] / self._lengths[chosen][rows]

        def product(numbers: Floats) -> Floats:
            of_words = np.bincount(columns, values * numbers[rows], minlength=len(words))
            found: Floats = np.bincount(rows, values * of_words[columns], minlength=len(texts))
            return found

        return product


def _ridge(product: Callable[[Floats], Floats], right: Floats) -> Floats:
    """The weights with `product(weights) + RIDGE * weights == right`, by conjugate gradients."""
    weights = right * 0
    rest = right.copy()
    way = rest.copy()
    size = float((rest * rest).sum())
    least = size * NEAR_ENOUGH**2
    for _ in range(MOST_ROUNDS):
        if size <= least:
            break
        bent = product(way) + RIDGE * way
        step = size / float((way * bent).sum())
        weights += step * way
        rest -= step * bent
        size, before = float((rest * rest).sum()), size
        way = rest + size / before * way
    return weights


def _worked(trace: Trace) -> list[str]:
    """The names of the calls that worked, those right after each other once."""
    names: list[str] = []
    for call in trace.calls:
        if call.ok and (not names or names[-1] != call.name):
            names.append(call.name)
        if len(names) >= MOST_STEPS:
            break
    return names
