"""Scores beside the best: what a query names in full is apart from the rest."""

from __future__ import annotations

import pytest

from codenav.core.blocks import beside_best, named


@pytest.mark.parametrize(
    ("scores", "count", "beside"),
    [
        ([], 0, []),
        ([0.0, 0.0], 0, [0.0, 0.0]),
        ([8.0, 4.0], 0, [1.0, 0.5]),
        ([1008.0, 4.0, 2.0], 1, [2.0, 1.0, 0.5]),
        ([808.0, 404.0, 8.0, 4.0], 2, [2.0, 1.5, 1.0, 0.5]),
        ([80.0, 60.0, 50.0, 2.0], 0, [1.0, 0.75, 0.625, 0.025]),
        ([500.0, 400.0], 0, [1.0, 0.8]),
        ([1008.0, 0.0], 1, [2.0, 0.0]),
    ],
)
def test_what_is_named_in_full_does_not_make_the_rest_alike(
    scores: list[float], count: int, beside: list[float]
) -> None:
    assert named(scores) == count
    assert beside_best(scores) == pytest.approx(beside)
