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


@pytest.mark.parametrize("half", [summaries.HALVES[0], pytest.param(summaries.HALVES[1], marks=pytest.mark.nightly)])
def test_wrong_ones_do_not_pass_and_right_ones_do(half: str) -> None:
    cases = summaries.cases(half)
    assert [sum(bool(case.get("wrong")) == wrong for case in cases) for wrong in (True, False)] == [20, 20]
    passed, refused = summaries.figures(results(half))
    told = "\n".join(f"{one.name}: {one.summary.told} {one.summary.unsupported}" for one in results(half)
                     if not one.as_it_should)  # fmt: skip
    assert passed <= summaries.MOST_WRONG and refused <= summaries.MOST_REFUSED, told


def test_what_is_another_one_each_time_is_left_out_and_nothing_else() -> None:
    told = [f"{one.name}: {one.summary.told}" for one in results("varying") if not one.as_it_should]
    assert not told
    summaries = {one.name: one.summary for one in results("varying")}
    assert summaries["no seed"].incidental == ("r", "part of the last output")
    assert summaries["no seed"].compared == ("n", "the last output")
    assert summaries["nothing but a UUID"].outcome == "not compared"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("only an input is set", "not compared: nothing that it computes could be compared; it does not make answer"),
        ("the file that was asked for is missing",
         "reproduced in part (compared: rows): the script does not make squares.csv"),
        ("the result is written down", "not compared: best is written down, not computed: 0"),
        ("only _answer differs", "differs: _answer is 31 in the replay and 115 in the episode"),
        ("42 where the replay has 3.0", "reproduced (compared: the last output), but the answer is not in its output"),
        ("another answer is printed while a variable agrees",
         "differs: the output is '7' in the replay and '0' in the episode"),
    ],
)  # fmt: skip
def test_what_is_told(name: str, told: str) -> None:
    [result] = [one for one in results("first_half") if one.name == name]
    assert result.summary.told == told
