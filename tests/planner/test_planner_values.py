"""Values that no literal is: constants of modules, codes that words stand for, names, several as one dict."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import codenav, without_evidence
from made_up import function, needs, takes

from codenav.planner.binding_search import bindings
from codenav.planner.reading import read
from codenav.planner.values import Value
from codenav.signatures.callables import Parameter

YARD = '''
"""A yard."""
__all__ = [len, sorted]


class Holiday:
    """A day of the year."""

    def __init__(self, month: int, day: int) -> None:
        self.month, self.day = month, day

    def __call__(self, year: int) -> str:
        return f"{year}-{self.month:02}-{self.day:02}"


class Soil:
    """What grows where."""

    def __init__(self, name: str) -> None:
        self.name = name


ApplePicking = Holiday(10, 3)
HedgeCutting = Holiday(2, 28)
clay = Soil("clay")
chalk = Soil("chalk")
OPT_SORT_ROWS = 1
OPT_DROP_EMPTY = 2
OPT_UPSIDE_DOWN = 4


def plan(rows, option=None) -> list:
    """The plan of rows for a bed."""
    return sorted(rows) if option == OPT_SORT_ROWS else rows


def harvest(plant: str, soil) -> str:
    """The harvest of a plant in a soil."""
    return f"{plant} in {soil.name}"


def bed_rows(bed: str) -> tuple:
    """How many rows and columns a bed has."""
    return (len(bed), 3)


def most_popular(plants: list, count: int) -> list:
    """The most popular plants."""
    return sorted(plants, key=len, reverse=True)[:count]


def farmer(yard=None) -> str:
    """The farmer of a yard."""
    if yard is None:
        raise ValueError("a yard is required")
    return f"{yard} Ltd"


def label(plant: str) -> str:
    """The label of a plant as text."""
    return f"* {plant} *"
'''


@pytest.fixture
def yard(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "yard.py").write_text(YARD)
    return folder


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("When is apple picking in 2026?", "2026-10-03"),
        ("Plan the bed ['peas', 'beans'] with sorted rows", "['beans', 'peas']"),
        ("What is the harvest of 'peas' in the chalk soil?", "peas in chalk"),
        ("How many rows and columns does the bed 'north' have?", "(5, 3)"),
        ("Which are the 2 most popular of the plants ['fig', 'pumpkin', 'leek']?", "['pumpkin', 'leek']"),
        ("Who is the farmer of Northfield?", "Northfield Ltd"),
    ],
)
def test_values_of_each_kind_on_a_small_code_base(yard: Path, request_: str, answer: str) -> None:
    ran = codenav("run", request_, "--on", yard)
    assert (ran.code, without_evidence(ran.out)) == (0, f"{answer}\nsummary: reproduced\n"), ran.err


@pytest.mark.parametrize(
    ("request_", "parameter", "code"),
    [
        ("Count to 3 in French", "lang", "'fr'"),
        ("Cut the German text 'Haus und Hof'", "language", "'de'"),
        ("Show 3.5 in dollars", "currency", "'USD'"),
        ("List the holidays of Austria in 2024", "country_code", "'AT'"),
        ("Count to 3 in French", "style", None),
        ("Count to 3 in Klingon", "lang", "'Klingon'"),
    ],
)
def test_codes_that_words_stand_for(request_: str, parameter: str, code: str | None) -> None:
    (clause,) = read(request_)
    given = [Value.of(literal) for literal in (*clause.literals, *clause.spoken, *clause.loose)]
    item = function("f", needs("value"), takes(parameter, "None", "str"))
    found = {written for way in bindings(item, given) for one, written in way.given if one.name == parameter}
    if code is None:
        assert "'fr'" not in found
    else:
        assert code in found


def test_a_choice_is_taken_as_it_is_quoted() -> None:
    (clause,) = read("Count to 3 in French")
    given = [Value.of(literal) for literal in (*clause.literals, *clause.spoken, *clause.loose)]
    told = Parameter("lang", "KEYWORD_ONLY", False, "str", "'English'", "One of 'English' and 'French'.")
    found = {written for way in bindings(function("f", needs("value"), told), given) for _, written in way.given}
    assert "'French'" in found and "'fr'" not in found


def test_a_participle_belongs_to_what_comes_after_it() -> None:
    (clause,) = read("Average [70, 85, 90] weighted by [1, 2, 5]")
    assert [literal.after for literal in clause.literals] == ["", ""]
    mean = function("mean", needs("data", "list"), takes("weights", "None", "list"))
    assert bindings(mean, [Value.of(literal) for literal in clause.literals])[0].arguments() == (
        "[70, 85, 90], weights=[1, 2, 5]"
    )
