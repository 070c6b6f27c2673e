"""What objects offer beside their methods: what is inherited, gone through, looked up, turned into a number."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import codenav, without_evidence

STALL = '''
"""A stall."""
import itertools


class Scale:
    """Weighs things."""

    factor = 1

    @classmethod
    def weigh(cls, thing: str) -> str:
        """The weight of a thing."""
        return f"{thing}: {cls.factor * len(thing)} g"


class TroyScale(Scale):
    """A scale for silver."""

    factor = 31


class KitchenScale(Scale):
    """A scale for flour."""

    factor = 5


class Rows:
    """What is gone through."""

    def __init__(self, rows):
        self._rows = rows

    def __iter__(self):
        return iter(self._rows)


class Till:
    """Money."""

    @property
    def sales(self):
        return Rows(["fig 3", "leek 2"])


class Tickets:
    """Numbers of a queue."""

    def __init__(self, start: int) -> None:
        self._numbers = itertools.count(start * 100)
        self.colour = "red"

    def __iter__(self):
        return self

    def __next__(self) -> int:
        return next(self._numbers)


class Ledger:
    """What was sold, and who wrote it down."""

    def __init__(self) -> None:
        self.clerk = "Ann"

    def __iter__(self):
        return iter(["fig", "plum"])


class Price:
    """A price as people write it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"<Price {self.text}>"

    def __float__(self) -> float:
        return float(self.text.strip("k")) * 1000


def load_prices() -> dict:
    """The prices of all fruit."""
    return {"fig": {"price": 3}, "plum": {"price": 2}}


def crate(label, contents):
    """A crate with a label."""
    return f"{label.upper()}: {sorted(contents)}"
'''


@pytest.fixture
def stall(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "stall.py").write_text(STALL)
    return folder


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("Show the ledger", "['fig', 'plum']"),
        ("Weigh the thing 'ring' on the troy scale", "ring: 124 g"),
        ("List the sales of the till", "['fig 3', 'leek 2']"),
        ("Give the next of the tickets that start at 7", "700"),
        ("Which plain number is the price '1.5k'?", "1500.0"),
        ("Load the price of the fruit 'plum'", "{'price': 2}"),
        ("Make a crate of the contents ['b', 'a'] with the label 'x'", "X: ['a', 'b']"),
    ],
)
def test_what_objects_offer(stall: Path, request_: str, answer: str) -> None:
    ran = codenav("run", request_, "--on", stall)
    assert (ran.code, without_evidence(ran.out)) == (0, f"{answer}\nsummary: reproduced\n"), ran.err


def test_a_number_is_asked_for_as_one_would_write_it(stall: Path) -> None:
    ran = codenav("run", "Which plain number is the price '1.5k'?", "--on", stall, "--json")
    assert "= float(result_1)" in json.loads(ran.out)["summary"]["code"]
