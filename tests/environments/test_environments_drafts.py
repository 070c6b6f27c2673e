"""The choice among drafts: the result that most give, and nothing of those that failed."""

from __future__ import annotations

import pytest

from codenav.core.execution import Execution, Outcome
from codenav.environments.drafts import Choice, choose


def gave(text: str) -> Execution:
    return Execution(Outcome.OK, stdout=text)


FAILED = Execution(Outcome.ERROR)


@pytest.mark.parametrize(
    ("results", "choice"),
    [
        ([gave("1"), gave("2"), gave("2")], Choice(1, 2)),
        ([gave("1"), gave("2"), gave("3")], Choice(0, 1)),
        ([FAILED, gave("2"), FAILED], Choice(1, 1)),
        ([FAILED, FAILED], Choice(0, 0)),
        ([gave("<generator object f at 0x7f>"), gave("[1]")], Choice(1, 1)),
        ([gave(""), gave("5")], Choice(1, 1)),
        ([FAILED, gave(""), None], Choice(1, 0)),
        ([gave("distance: 3.0"), gave("3"), gave("4")], Choice(0, 2)),
        ([gave("0.30000000000000004"), gave("0.3")], Choice(0, 2)),
        ([gave("Red Box"), gave("red box\n"), gave("blue box")], Choice(0, 2)),
        ([gave("loading\n1,000"), gave("1000")], Choice(0, 2)),
        ([gave("1.2.3"), gave("1.2.4"), gave("'1.2.4'")], Choice(1, 2)),
        ([gave("#00ff00"), gave("#00ffff")], Choice(0, 1)),
        ([gave("('Ada', 3)"), gave("('Bob', 3)"), gave("('Bob', 3.0)")], Choice(1, 2)),
        ([gave("9" * 400), gave("8" * 400)], Choice(0, 1)),
        ([gave("It's 3."), gave("3"), gave("-1e-3 and .5")], Choice(0, 2)),
        ([gave("2024-05-01"), gave("2024-05-02")], Choice(0, 1)),
    ],
)
def test_what_most_give_is_kept(results: list[Execution | None], choice: Choice) -> None:
    assert choose(results) == choice
