"""Whether an answer stands in what the replay left: numbers however they are written, and names."""

from __future__ import annotations

import pytest

from codenav.core.execution import Held, Replayed
from codenav.episodes.figures import Pool, numbers_in
from codenav.episodes.supported import unsupported

LEFT = Replayed(
    "0 0.43763528138528146\nOslo 1234567\n",
    Held({}, (34.0, 0.125, -2.6016, 41.7), (0.30407, 0.14524, 0.13828), ("Mr. Hi", "Officer")),
    ("chart.png",),
)


@pytest.mark.parametrize(
    "answer",
    [
        "Node 0 has the highest betweenness, 0.438.",
        "0.44", "43.8%", "43.76 percent", "1,234,567", "1 234 567".replace(" ", "\u202f"), "1.2 million", "1.23e6",
        "12.5 %", "about 1,200,000", "-2.60", "\u22122.6", "42 of them", "34 nodes, 0.3041 for one",
        "1. Oslo\n2. 'Officer'", "The city is Oslo.", "`chart.png` shows it", "networkx 3.3 on Python 3.11.4",
        "\"Mr. Hi\"", "`max(scores)`", "Done.", "x_12 and the 3rd",
    ],
)  # fmt: skip
def test_held(answer: str) -> None:
    assert not unsupported(answer, LEFT, script="best = max(scores)", request="q", known=["pkg:networkx@3.3"])


@pytest.mark.parametrize(
    ("answer", "lacking"),
    [
        ("42.5", ["42.5"]),
        ("Node 5 has 0.438", ["5"]),
        ("0.439", ["0.439"]),
        ("1.3 million", ["1.3 million"]),
        ("100 thousand", ["100 thousand"]),
        ("13.5%", ["13.5%"]),
        ("It is 'Bergen'.", ["Bergen"]),
        ("The city is Bergen.", ["Bergen"]),
        ("Bergen", ["Bergen"]),
        ("0.304", ["0.304"]),
    ],
)
def test_not_held(answer: str, lacking: list[str]) -> None:
    """0.304 is in a long list only, where three digits are there by chance: see `Pool.holds`."""
    many = Replayed(LEFT.output, Held({}, LEFT.held.numbers, (*LEFT.held.many, *(i / 997 for i in range(997)))))
    assert unsupported(answer, many, script="best = max(scores)", request="q") == lacking


def test_what_the_request_gave_is_held() -> None:
    assert not unsupported("Of 1, 2 and 6: 34", LEFT, script="", request="the mean of 1, 2 and 6")


def test_a_yes_that_the_replay_denies() -> None:
    assert unsupported("Yes, it is", Replayed("True\nFalse\n"), script="", request="") == ["Yes"]
    assert not unsupported("No", Replayed("False\n"), script="", request="")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,234.5 and 2e-3, 5 k", [1234.5, 0.002, 5]),
        ("v1.2.3 x1 a_2 1st 2D 0x7f3c11223344", []),
        ("from 3-5 or -5", [3, 5, -5]),
        ("… 500 bytes left out …", []),
        ("12kg", [12]),
    ],
)
def test_numbers(text: str, values: list[float]) -> None:
    assert [one.value for one in numbers_in(text)] == values


def test_small_whole_numbers_are_not_rounded() -> None:
    pool = Pool().add([0.438, 5.6])
    assert not any(pool.holds(one) for text in ("0", "6", "5") for one in numbers_in(text))


def test_another_name_of_the_data_than_the_one_that_was_printed() -> None:
    left = Replayed("Oslo\n", Held({}, texts=("Oslo", "Rome", "has")))
    assert unsupported("Rome has most.", left, script="", request="Which city?") == ["Rome"]
    assert not unsupported("Oslo has more than Rome.", left, script="", request="Which city?")


def test_further_outputs_count_one_by_one() -> None:
    """A long list among them does not make the few numbers of another one a matter of chance."""
    listed = " ".join(str(number) for number in range(1000, 1300))
    assert not unsupported("It has 42.", Replayed(""), script="", request="", outputs=["42 rows", listed])
    assert unsupported("It has 42.", Replayed(""), script="", request="", outputs=[f"42 {listed}"]) == ["42"]


def test_names_without_quotes_are_left_out_on_demand() -> None:
    answer = "Das Ergebnis: Nordfeld, nicht 'West'."
    assert unsupported(answer, Replayed(""), script="", request="") == ["West", "Nordfeld"]
    assert unsupported(answer, Replayed(""), script="", request="", unmarked=False) == ["West"]
