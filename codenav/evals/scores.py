"""Precision, recall and F1 of calls, with counted duplicates; means over samples, pooled, and over epochs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean, stdev
from typing import Any

from codenav.evals.task import ToolCall


@dataclass(frozen=True)
class Match:
    """The calls that were made against the expected ones, each list taken as a multiset."""

    matched: int
    made: int
    expected: int

    @property
    def precision(self) -> float:
        """Matches per call made, from 0 to 1; 0 where none was made (CodeNav paper, appendix of API-Bank)."""
        return self.matched / self.made if self.made else 0.0

    @property
    def recall(self) -> float:
        """Matches per expected call, from 0 to 1; 0 where none was expected."""
        return self.matched / self.expected if self.expected else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0 where both are 0."""
        # Of whole numbers, so that equal ones are equal to the last bit: `best_match` compares them.
        total = self.made + self.expected
        return 2 * self.matched / total if total else 0.0


def match(made: Iterable[Hashable], expected: Iterable[Hashable]) -> Match:
    """Count the matches of two lists: a name that occurs twice on both sides matches twice, in any order."""
    ours, theirs = Counter(made), Counter(expected)
    return Match((ours & theirs).total(), ours.total(), theirs.total())


def best_match(made: Iterable[Hashable], alternatives: Sequence[Iterable[Hashable]]) -> tuple[Match, int]:
    """The match with the alternative that scores the highest F1, and its place; the first of several that do.

    Raises:
        ValueError: there is no alternative.
    """
    if not alternatives:
        raise ValueError("no expected calls to match with")
    ours = list(made)
    matches = [match(ours, one) for one in alternatives]
    place = max(range(len(matches)), key=lambda number: (matches[number].f1, -number))
    return matches[place], place


def pool(matches: Iterable[Match]) -> Match:
    """All matches as one: every call weighs the same, whatever its sample (micro average)."""
    found = list(matches)
    return Match(sum(m.matched for m in found), sum(m.made for m in found), sum(m.expected for m in found))


def after_last_error(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls of the steps after the last one that failed with a call in it: what is left of trial and error."""
    last = max((call.step for call in calls if call.failed), default=0)
    return [call for call in calls if call.step > last]


def mean_percent(values: Iterable[float]) -> float:
    """Mean of shares in percent; 0 where there are none."""
    found = list(values)
    return 100 * fmean(found) if found else 0.0


def percent_of(flags: Iterable[Any]) -> float:
    """Percent of flags that are set; 0 where there are none."""
    found = list(map(bool, flags))
    return 100.0 * sum(found) / len(found) if found else 0.0


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of a rate in percent, by the score of Wilson (1927, J. Am. Stat. Assoc. 22, 209-212).

    It holds for few trials and for rates near 0 and 100, where that of the normal distribution does not.
    """
    if not trials:
        return 0.0, 100.0
    z, rate = 1.959964, hits / trials
    middle, width = rate + z * z / (2 * trials), z * math.sqrt((rate * (1 - rate) + z * z / (4 * trials)) / trials)
    whole = 1 + z * z / trials
    return 100 * max(0.0, (middle - width) / whole), 100 * min(1.0, (middle + width) / whole)


def mcnemar(first: int, second: int) -> float:
    """The probability of pairs as uneven as these, if neither side is better: the exact test of McNemar (1947).

    `first` and `second` count the pairs that one side alone has solved.
    """
    pairs, fewer = first + second, min(first, second)
    # Of whole numbers: 2 to the power of a thousand pairs is no float.
    return min(1.0, float(Fraction(2 * sum(math.comb(pairs, number) for number in range(fewer + 1)), 2**pairs)))


def over_epochs(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean over epochs, and two standard deviations; None for the latter where there is one epoch.

    The paper prints two standard deviations over three runs and does not say which; this is that of a sample (n - 1).

    Raises:
        ValueError: there are no epochs.
    """
    if not values:
        raise ValueError("no epochs")
    return fmean(values), 2 * stdev(values) if len(values) > 1 else None


def match_scores(found: Match, prefix: str = "") -> dict[str, Any]:
    """A match as entries of `Task.score`, from which `sum_scores` can pool."""
    return {
        f"{prefix}precision": found.precision,
        f"{prefix}recall": found.recall,
        f"{prefix}f1": found.f1,
        f"{prefix}counts": [found.matched, found.made, found.expected],
    }


def sum_scores(scores: Iterable[Mapping[str, Any]], prefix: str = "") -> dict[str, float]:
    """Means over samples and pooled figures in percent, from the entries that `match_scores` made."""
    rows = [score for score in scores if f"{prefix}counts" in score]
    whole = pool(Match(*row[f"{prefix}counts"]) for row in rows)
    means = {f"{prefix}{name}": mean_percent(row[f"{prefix}{name}"] for row in rows) for name in _SHARES}
    return {**means, **{f"{prefix}{name}_pooled": 100 * getattr(whole, name) for name in _SHARES}}


_SHARES = ("precision", "recall", "f1")
