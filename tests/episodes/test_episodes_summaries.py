"""Forty wrong summaries and answers and forty right ones, through the real loop and bubblewrap: the bars."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
import summaries


@functools.cache
def results(half: str) -> list[summaries.Result]:
    """What came of the cases of a half, which are played once."""
    return summaries.run_all(summaries.cases(half))


@pytest.mark.parametrize("half", summaries.HALVES)
def test_wrong_ones_do_not_pass_and_right_ones_do(half: str) -> None:
    cases = summaries.cases(half)
    assert [sum(bool(case.get("wrong")) == wrong for case in cases) for wrong in (True, False)] == [20, 20]
    passed, refused = summaries.figures(results(half))
    told = "\n".join(f"{one.name}: {one.summary.told} {one.summary.unsupported}" for one in results(half)
                     if not one.as_it_should)  # fmt: skip
    assert passed <= summaries.MOST_WRONG and refused <= summaries.MOST_REFUSED, told


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("only an input is set", "not verified: nothing that it computes could be compared; it does not make answer"),
        ("the file that was asked for is missing", "partly: the script does not make squares.csv"),
        ("the result is written down", "not verified: best is written down, not computed: 0"),
        ("only _answer differs", "not verified: _answer is 31 in the replay and 115 in the episode"),
        ("42 where the replay has 3.0", "verified, but the answer is not in its output"),
        ("another answer is printed while a variable agrees",
         "not verified: the output is '7' in the replay and '0' in the episode"),
    ],
)  # fmt: skip
def test_what_is_told(name: str, told: str) -> None:
    [result] = [one for one in results("first_half") if one.name == name]
    assert result.summary.told == told
