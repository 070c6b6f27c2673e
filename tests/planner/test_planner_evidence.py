"""What speaks for and against a result."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from made_up import function, meaning, needs, values

from codenav.planner.calls import Fit, Result
from codenav.planner.features import makes_files, meets_criterion, unused
from codenav.planner.file_writing import spoils
from codenav.planner.goal import Goal, Seen
from codenav.planner.reading import read
from codenav.planner.scoring import crowd
from codenav.planner.values import Value
from codenav.signatures.callables import CallableSignature


def goal(request: str, *files: str) -> Goal:
    (clause,) = read(request, files=files)
    told = tuple(values(request, *files))
    return Goal(clause, meaning(*clause.words), told, frozenset(value for value in told if not value.is_word))


def result(
    of: CallableSignature, asked: Goal, shown: str = "1", used: frozenset[Value] | None = None, *files: str
) -> Result:
    fit = Fit((of,), asked.wanted if used is None else used, ("result_1 = …",))
    return Result("result_1", "int", shown, fit, files)


def test_the_same_call_with_less_is_no_rival() -> None:
    asked = goal("Rate [1, 2] as 'nominal'")
    call = function("rate", needs("data"), needs("level"))
    one = frozenset(value for value in asked.wanted if value.type == "list")
    best, less = Seen.of(result(call, asked, "0.5")), Seen.of(result(call, asked, "0.7", one))
    other = Seen.of(result(function("weigh", needs("data")), asked, "0.7", one))
    assert not less.is_rival(best) and other.is_rival(best)
    assert not Seen.of(result(other_name(), asked, "np.float64(0.5)")).is_rival(best)


def test_what_is_as_likely_speaks_against_the_best() -> None:
    asked = goal("Rate [1, 2]")
    best = Seen.of(result(function("rate"), asked, "1"))
    same, other = (Seen.of(result(other_name(), asked, shown)) for shown in ("1.0", "2"))
    assert crowd(best, 0.5, [(best, 0.5), (same, 0.5)]) == 0.0, "what shows the same is one"
    assert crowd(best, 0.5, [(other, 0.5)]) == pytest.approx(math.log(2))
    assert 0 < crowd(best, 0.5, [(other, -3.0)]) < 0.1


@pytest.mark.parametrize(
    ("one", "other"),
    [("-3", "np.float64(-3.0)"), ("'a\\nb'", "b'a\\nb'"), ("'+--+\\n|  |'", "+--+\n|  |")],
)
def test_what_shows_the_same_is_no_rival(one: str, other: str) -> None:
    asked = goal("Rate [1, 2]")
    text = replace(result(other_name(), asked, one), type="str" if one.startswith("'") else "int")
    kind = "bytes" if other.startswith("b") else "float" if other.startswith("np") else "Table"
    assert not Seen.of(replace(result(function("rate"), asked, other), type=kind)).is_rival(Seen.of(text))


def test_how_many_of_a_unit_asks_for_a_measure() -> None:
    asked = goal("How many seconds long is 'a.wav'?")
    measure, other = function("extent", needs("path")), function("get", needs("path"))
    tally = replace(result(function("size", needs("path")), asked, "3"), type="int")
    assert meets_criterion(tally, asked) == 0
    assert -1 < meets_criterion(replace(result(measure, asked, "0.375"), type="float"), asked) < 0
    assert meets_criterion(replace(result(other, asked, "'long'"), type="str"), asked) == -1


def other_name() -> CallableSignature:
    return function("weigh", needs("data"))


def test_a_number_in_a_name_counts_as_used() -> None:
    asked = goal("What is the 32 bit hash of 'hello'?")
    text = frozenset(value for value in asked.wanted if value.type == "str")
    assert not unused(result(function("hash32", needs("text")), asked, used=text), asked)
    assert unused(result(function("hash", needs("text")), asked, used=text), asked)


def test_a_file_that_was_to_be_made() -> None:
    asked = goal("Save 7 as seven.txt")
    call = function("save", needs("number"), needs("path"))
    assert makes_files(result(call, asked, "None", None, "seven.txt"), asked) == 1
    assert makes_files(result(call, asked, "None"), asked) == -1
    there = goal("Read seven.txt", "seven.txt")
    assert makes_files(result(call, there), there) == 0


@pytest.mark.parametrize(
    ("name", "request_", "spoilt"),
    [
        ("save", "Show the size of a.txt", True),
        ("save", "Save a.txt", False),
        ("size", "Show the size of a.txt", False),
        ("Writer", "Show the size of a.txt", True),
        ("register_size", "Show the size of 3", True),
        ("register_size", "Register the size 3", False),
    ],
)
def test_what_would_spoil_a_file_or_the_package_is_not_tried_unasked(name: str, request_: str, spoilt: bool) -> None:
    asked = goal(request_, "a.txt")
    assert spoils(function(name, needs("path")), asked.wanted, asked) is spoilt
