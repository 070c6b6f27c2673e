"""The requests of benchmarks/agent.py, and when an answer to one is right."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from agent_requests import DATA, NONE, PUT_AWAY, SOLVED, TUNED, WRONG, Request, half, read, score

REQUESTS = {one.id: one for one in read()}
GOLD = json.loads((DATA / "gold.json").read_text(encoding="utf-8"))
PAIR = Request("", "one", "demo", "How wide and high is the 3 m sheet?", "", ordered=True)
ROUNDED = Request("", "one", "demo", "How far is it from 10 to 20?", "", within=0.06)
NAMED = Request("", "one", "demo", "Which town lies at 52.4, 4.9?", "")


def spoilt(gold: Any) -> list[Any]:
    """The answer changed, and one of several."""
    if isinstance(gold, list):
        return [gold[:-1], [*gold, "quince"], [*gold[1:], spoilt(gold[0])[0]]]
    changed = f"quince{gold}" if isinstance(gold, str) else gold * 1.7 + 13
    return [changed, f"{gold} or {changed}", [gold, changed]]


def test_every_request_has_an_answer() -> None:
    assert set(GOLD) == set(REQUESTS)
    assert Counter(one.kind for one in REQUESTS.values()) == {
        "one": 40, "joined": 20, "files": 10, "service": 10, "unseen": 20,
    }  # fmt: skip
    assert len({one.on for one in REQUESTS.values()}) >= 40


@pytest.mark.parametrize("id", REQUESTS)
def test_the_right_answer_is_solved_and_spoilt_ones_are_not(id: str) -> None:
    request, gold = REQUESTS[id], GOLD[id]

    for told in (str(gold), f"The answer is {gold}.", f"  {gold}\n"):
        assert score(request, gold, told) == SOLVED, told
    for told in [*map(str, spoilt(gold)), request.text, "I do not know."]:
        assert score(request, gold, told) == WRONG, told
    assert score(request, gold, " \n") == NONE


@pytest.mark.parametrize(
    ("request_", "gold", "answer", "right"),
    [
        (ROUNDED, 12.345, "From 10 to 20 it is 12.3 km.", True),
        (ROUNDED, 12.345, "12.2", False),
        (ROUNDED, 12.345, "It is 12.3 km, or 7.7 miles.", False),
        (ROUNDED, 12.345, "{'length': 12.345, 'angle': 40.1}", False),
        (ROUNDED, 1234.5, "1,234.5m", True),
        (ROUNDED, -12, "−12", True),
        (ROUNDED, -12, "12", False),
        (PAIR, [40, 30], "(40, 30)", True),
        (PAIR, [40, 30], "Width: 40, height: 30", True),
        (PAIR, [40, 30], "(30, 40)", False),
        (NAMED, "New Haven", "It is newhaven, at 52.4, 4.9.", True),
        (NAMED, "New Haven", "Newhavenport", False),
        (NAMED, "New Haven", "New Haven, Amsterdam, Leyden", False),
        (NAMED, "New Haven", "Leyden\nNewhaven", False),
        (NAMED, "New Haven", "New Haven " + " ".join(f"word{chr(97 + at)}" for at in range(26)), False),
        (NAMED, "2029-09-10", "2029-09-10T00:00:00", True),
        (NAMED, ["b", "a"], "['a', 'b']", True),
        (NAMED, ["b", "a"], "a, b, c", False),
    ],
)
def test_how_answers_are_read(request_: Request, gold: Any, answer: str, right: bool) -> None:
    assert score(request_, gold, answer) == (SOLVED if right else WRONG)


def test_half_of_each_kind_is_put_away() -> None:
    tuned, put_away = (half(list(REQUESTS.values()), name) for name in (TUNED, PUT_AWAY))

    assert Counter(one.kind for one in tuned) == Counter(one.kind for one in put_away)
    assert {one.id for one in tuned}.isdisjoint(one.id for one in put_away)
