"""A value that a script computes, and one that is only written down in it."""

from __future__ import annotations

import pytest

from codenav.episodes.written_down import Code, Given


def lacking(script: str, session: str = "", request: str = "") -> list[str] | None:
    """The literals in `x` that were not given; None where it is computed."""
    made = Code([script]).name("x")
    return None if made.computed else Given.of(request, Code([session])).lacks(made)


@pytest.mark.parametrize(
    "script",
    [
        "x = 0.438",
        "x = float('0.438')",
        "x = round(0.438, 3)",
        "x = max([0.438])",
        "y = 0.438\nx = y",
        "def f():\n    return 0.438\nx = f()",
        "import json\nx = json.loads('0.438')",
        "x, y = 0.438, open('f')",
        "x = [0.438]\nx.sort()",
    ],
)
def test_written_down(script: str) -> None:
    assert lacking(script) in (["0.438"], ["'0.438'"])
    assert lacking(script, session="scores = [0.438]") == [] or "'" in script


@pytest.mark.parametrize(
    "script",
    [
        "import a\nx = a.f(0.438)",
        "x = open('f').read()",
        "x = 0\nfor line in open('f'):\n    x += 1",
        "import a\nx = []\na.fill(x)\nx.append(a.y)",
        "import a\nx = 'high' if a.f() else 'low'",
        "import a\nif a.f():\n    x = 1\nelse:\n    x = 2",
        "def f(y):\n    return y\nx = f(open('f'))",
        "import a\nx = {}\nfor n in a.names:\n    x[n] = 1",
    ],
)
def test_computed(script: str) -> None:
    assert lacking(script) is None


def test_what_the_request_gave_may_be_written() -> None:
    assert lacking("x = 1 + 2 + 6", request="the sum of 1, 2 and 6") == []
