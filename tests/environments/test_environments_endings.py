"""The marks by which an answer says that there is none."""

from __future__ import annotations

import pytest

from codenav.core.actions import Done
from codenav.environments.endings import DoneEnvironment


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("FAILED: no data for 2024", "no data for 2024"),
        ("**Failed**: no data", "no data"),
        ("> failed: no data", "no data"),
        ("Échec : pas de données", "pas de données"),
        ("Gescheitert: keine Daten", "keine Daten"),
        ("\u5931\u6557\uff1a\u6ca1\u6709\u6570\u636e", "\u6ca1\u6709\u6570\u636e"),
    ],
)
def test_an_answer_that_gives_up(answer: str, reason: str) -> None:
    seen = DoneEnvironment().respond(Done(answer))
    assert (seen.gave_up, seen.text) == (True, reason)


@pytest.mark.parametrize("answer", ["Two tests failed: a and b", "Failed 3, passed 4", "- Failed: 3\n- Passed: 4"])
def test_an_answer_that_speaks_of_failures(answer: str) -> None:
    assert not DoneEnvironment().respond(Done(answer)).gave_up
