"""Precision, recall and F1 against a plain second implementation, and the rules that the numbers follow."""

from __future__ import annotations

import math

import pytest
from drawn import drawn
from hypothesis import example, given
from hypothesis import strategies as st

from codenav.evals.scores import (
    Match,
    after_last_error,
    best_match,
    match,
    match_scores,
    mcnemar,
    over_epochs,
    pool,
    sum_scores,
    wilson,
)
from codenav.evals.task import ToolCall

names = st.lists(st.sampled_from("abcde"), max_size=8)


def plainly(made: list[str], expected: list[str]) -> tuple[int, float, float, float]:
    """Matches, P, R and F1 by crossing out: no counters, no shared code."""
    left, matched = list(expected), 0
    for name in made:
        if name in left:
            left.remove(name)
            matched += 1
    p = matched / len(made) if made else 0.0
    r = matched / len(expected) if expected else 0.0
    return matched, p, r, 0.0 if p + r == 0 else 2 * p * r / (p + r)


@pytest.mark.parametrize(("first", "second", "p"), [(0, 0, 1.0), (5, 5, 1.0), (1, 9, 0.0215), (0, 10, 0.00195)])
def test_mcnemar(first: int, second: int, p: float) -> None:
    # The exact test of the binomial distribution, as in R's binom.test(first, first + second).
    assert mcnemar(first, second) == mcnemar(second, first) == pytest.approx(p, abs=5e-5)
    assert 0 < mcnemar(600, 900) < 1e-10


@drawn(300)
@given(names, names)
def test_a_match_equals_crossing_out(made: list[str], expected: list[str]) -> None:
    found = match(made, expected)
    matched, p, r, f1 = plainly(made, expected)
    assert (found.matched, found.made, found.expected) == (matched, len(made), len(expected))
    assert (found.precision, found.recall, found.f1) == pytest.approx((p, r, f1), abs=1e-12)


@drawn(300)
@given(st.lists(st.tuples(names, names), max_size=6))
def test_means_and_pooled_figures_equal_plain_sums(samples: list[tuple[list[str], list[str]]]) -> None:
    table = sum_scores([match_scores(match(*one)) for one in samples])
    rows = [plainly(*one) for one in samples]
    for place, name in enumerate(("precision", "recall", "f1"), 1):
        mean = sum(row[place] for row in rows) / len(rows) if rows else 0.0
        assert table[name] == pytest.approx(100 * mean, abs=1e-9)
    matched, made, expected = (
        sum(row[0] for row in rows), sum(len(one[0]) for one in samples), sum(len(one[1]) for one in samples)
    )  # fmt: skip
    p, r = (matched / made if made else 0.0), (matched / expected if expected else 0.0)
    assert table["precision_pooled"] == pytest.approx(100 * p, abs=1e-9)
    assert table["recall_pooled"] == pytest.approx(100 * r, abs=1e-9)
    assert table["f1_pooled"] == pytest.approx(100 * (2 * p * r / (p + r) if p + r else 0.0), abs=1e-9)


@drawn(300)
@example(["a"] * 6 + ["b"], [["a"] * 2 + ["b"] * 6, ["a", "a", "c"]])
@given(names, st.lists(names, min_size=1, max_size=4))
def test_the_best_alternative_is_the_first_of_highest_f1(made: list[str], alternatives: list[list[str]]) -> None:
    found, place = best_match(made, alternatives)
    scores = [plainly(made, one)[3] for one in alternatives]
    assert found.f1 == pytest.approx(max(scores), abs=1e-12)
    assert place == next(number for number, score in enumerate(scores) if math.isclose(score, max(scores)))


@drawn(300)
@given(st.lists(st.floats(0, 100), min_size=2, max_size=6))
def test_the_spread_is_two_standard_deviations_of_a_sample(values: list[float]) -> None:
    mean, spread = over_epochs(values)
    middle = sum(values) / len(values)
    plain = 2 * math.sqrt(sum((one - middle) ** 2 for one in values) / (len(values) - 1))
    assert mean == pytest.approx(middle, abs=1e-9)
    assert spread == pytest.approx(plain, abs=1e-6)


def test_one_epoch_has_no_spread() -> None:
    assert over_epochs([85.3]) == (85.3, None)
    with pytest.raises(ValueError):
        over_epochs([])


def test_no_calls_score_zero_and_not_an_error() -> None:
    assert match([], ["a"]) == Match(0, 0, 1)
    assert (match([], ["a"]).precision, match([], []).f1, pool([]).f1) == (0.0, 0.0, 0.0)
    assert set(sum_scores([]).values()) == {0.0}
    with pytest.raises(ValueError):
        best_match(["a"], [])


def test_calls_up_to_the_last_failed_step_are_left_out() -> None:
    calls = [
        ToolCall("a", step=1),
        ToolCall("b", step=2, failed=True),
        ToolCall("c", step=4),
        ToolCall("a", step=4, failed=True),
        ToolCall("a", step=7),
        ToolCall("b", step=8),
    ]
    assert [call.name for call in after_last_error(calls)] == ["a", "b"]
    assert after_last_error(calls[:1]) == calls[:1]
    assert after_last_error(calls[:4]) == []


def test_the_interval_of_a_rate_is_wilsons() -> None:
    # From Newcombe, Statistics in Medicine 17 (1998), table I, method 3: 81/263, 15/148, 0/20, 1/29.
    known = {(81, 263): (25.53, 36.62), (15, 148): (6.24, 16.05), (0, 20): (0.0, 16.11), (1, 29): (0.61, 17.18)}
    for (hits, trials), (low, high) in known.items():
        assert wilson(hits, trials) == pytest.approx((low, high), abs=0.006)
    assert wilson(0, 0) == (0.0, 100.0)
