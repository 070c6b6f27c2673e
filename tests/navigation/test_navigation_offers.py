"""Offers: what a small model is shown of a code base, with public names and ready instances; hints on errors."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import codenav
from codenav.core.execution import ExecutionError
from codenav.navigation.hints import Hints
from codenav.navigation.offers import KINDS, MOST, Offers
from codenav.retrieval import requests
from codenav.retrieval.source_index import SourceIndex

FILES = {
    "README.md": "# Bank\n\n```python\nfrom bank import rates\n\nrates.of('EUR', year=2024)\n```\n",
    "bank/__init__.py": "from bank._rates import rates, Loan, convert\nfrom bank._errors import RateError\n",
    "bank/_errors.py": 'class RateError(ValueError):\n    """Raised when there is no rate."""\n',
    "bank/_rates.py": '''
class _Table:
    """Exchange rates by currency."""

    def __init__(self, path):
        self.path = path

    def of(self, currency, *, year=None):
        """The exchange rate of a currency.

        currency: three letters, such as EUR
        year: of the rate; the newest without it
        """
        return 1.5

    def all(self):
        """All rates."""
        return {}

    def _read(self):
        return self.path


class Loan:
    """A loan that is paid back in rates.

    amount: the sum that is lent
    """

    def __init__(self, amount, months=12):
        self.amount = amount

    def interest(self, percent):
        """The interest of the whole loan."""
        return self.amount * percent

    @property
    def months(self):
        """How many rates there are."""

    @classmethod
    def of(cls, text):
        """Read a loan."""


def convert(amount: float, currency: str) -> float:
    """Convert an amount to another currency."""
    return amount


rates = _Table("rates.csv")
''',
    "tests/test_bank.py": "def convert_everything():\n    '''Convert each amount to each currency.'''\n",
}


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[SourceIndex]:
    for name, text in FILES.items():
        (tmp_path / "code" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "code" / name).write_text(text.lstrip("\n"))
    with codenav.index(tmp_path / "code") as index:
        yield index


def offered(index: SourceIndex, request: str) -> list[str]:
    hits = requests.search(index, request, kinds=KINDS)
    return [str(offer) for offer in Offers(index).of([hit.block for hit in hits], request)]


def test_a_function_has_its_public_name_and_its_parameters(bank: SourceIndex) -> None:
    first = offered(bank, "Convert 20 to the currency USD")[0]
    assert first == (
        "from bank import convert\n# convert(amount: float, currency: str) -> float\n"
        "#   Convert an amount to another currency."
    )


def test_a_ready_instance_stands_for_its_class_with_a_real_call_without_values(bank: SourceIndex) -> None:
    first = offered(bank, "What is the exchange rate of the currency EUR?")[0]
    assert first.splitlines() == [
        "from bank import rates  # a ready _Table",
        "#   Exchange rates by currency.",
        "#   .of(currency, …): The exchange rate of a currency.",
        "#   .all(): All rates.",
        "#   as in: rates.of(..., year=...)",
    ]


def test_a_class_is_shown_as_it_is_made_with_its_methods(bank: SourceIndex) -> None:
    first = offered(bank, "interest of a loan")[0]
    assert first.splitlines() == [
        "from bank import Loan",
        "# Loan(amount, months=12)",
        "#   A loan that is paid back in rates.",
        "#   .interest(percent): The interest of the whole loan.",
        "#   Loan.of(text): Read a loan.",
        "#   .months: How many rates there are.",
    ]


def test_what_classes_of_one_family_have_alike_is_shown_once(tmp_path: Path) -> None:
    one = "class {0}:\n    @classmethod\n    def calc(cls, data): ...\n\n    def final(self): ...\n\n\n"
    (tmp_path / "made.py").write_text("".join(one.format(f"Sum{number}") for number in (8, 16)))
    with codenav.index(tmp_path) as index:
        first, second = offered(index, "sum8 sum16 sum")
    assert ".calc(data)" in first and "calc" not in second and "final" not in second


def test_a_data_class_is_made_of_its_fields_and_an_enumeration_has_members(tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text(
        "from dataclasses import dataclass\nfrom enum import Enum\n\n\n@dataclass\nclass Parcel:\n    name: str\n"
        "    grams: int = 0\n\n\nclass Size(Enum):\n    SMALL = 1\n    LARGE = 2\n"
    )
    with codenav.index(tmp_path) as index:
        assert offered(index, "parcel") == ["from made import Parcel\n# Parcel(name, grams)"]
        assert offered(index, "size") == ["from made import Size\n# Size(…)\n#   has: SMALL, LARGE"]


def test_parameters_that_fit_the_request_stay_in_a_long_signature(tmp_path: Path) -> None:
    others = ", ".join(f"option_{number}: str | None = None" for number in range(20))
    (tmp_path / "made.py").write_text(f"def trim(text: str, {others}, word_limit: int = 3) -> str:\n    return text\n")
    with codenav.index(tmp_path) as index:
        (first,) = offered(index, "trim the text to a limit of five words")
    assert "word_limit=3" in first and "…" in first and len(first) < 250


@pytest.mark.parametrize(
    ("signature", "request_", "shown"),
    [
        ("latitude, longitude, zone=None, band=None", "the easting of a point", "place(latitude, longitude, …)"),
        ("latitude, zone=None, band=None", "the easting in zone 31", "place(latitude, zone=None, …)"),
        ("name, *, strict=True, zone=None", "where is it", "place(name, *, strict=True, …)"),
        ("zone=None", "where is it", "place(zone=None)"),
        (f"name: {'Annotated[' * 15}str{', 1]' * 15}, zone=None", "where is it", "place(name, …)"),
        ("first, /, *others, zone=None, **more", "where is it", "place(first, /, *others, **more, …)"),
    ],
)
def test_optional_parameters_that_are_none_are_shown_where_they_fit(
    tmp_path: Path, signature: str, request_: str, shown: str
) -> None:
    (tmp_path / "made.py").write_text(f"def place({signature}): ...\n")
    with codenav.index(tmp_path) as index:
        assert offered(index, f"place: {request_}") == [f"from made import place\n# {shown}"]


def test_errors_tests_and_private_names_are_not_offered(bank: SourceIndex) -> None:
    shown = "\n".join(offered(bank, "convert everything, raise when there is no rate, read the table"))
    assert "RateError" not in shown and "convert_everything" not in shown and "import _" not in shown


def test_there_are_at_most_eight(networkx: SourceIndex) -> None:
    found = offered(networkx, "Which node of the karate club graph has the highest betweenness?")
    assert len(found) == MOST and any("from networkx import karate_club_graph" in offer for offer in found)


@pytest.mark.parametrize("kind", ["AttributeError", "TypeError", "NameError"])
def test_a_long_message_is_read_at_once(bank: SourceIndex, kind: str) -> None:
    began = time.thread_time()
    assert Hints(bank).on(ExecutionError(kind, "a" * 20_000), lambda value: []) == ""
    assert time.thread_time() - began < 1


@pytest.mark.parametrize(
    ("kind", "message", "line", "told"),
    [
        ("NameError", "name 'convert' is not defined", "", "from bank import convert"),
        ("NameError", "name 'convrt' is not defined", "", "from bank import convert"),
        ("ImportError", "cannot import name 'Loan' from 'bank.loans' (x)", "", "from bank import Loan"),
        ("ModuleNotFoundError", "No module named 'bank.convert'", "", "from bank import convert"),
        ("AttributeError", "module 'bank' has no attribute 'interest'", "", ".interest(percent)"),
        ("TypeError", "Loan.interest() missing 1 required positional argument: 'self'", "", "make an instance first"),
        ("TypeError", "convert() got an unexpected keyword argument 'to'", "", "convert(amount: float, currency"),
        (
            "TypeError",
            "Loan.__init__() missing 1 required positional argument: 'amount'",
            "",
            "Loan(amount, months=12)",
        ),
        ("AttributeError", "'Loan' object has no attribute 'intrest'", "loan.intrest(3)", "it has: interest, amount"),
        ("AttributeError", "'str' object has no attribute 'lowercase'", "x()['a'].lowercase()", "lower"),
        (
            "AttributeError",
            "'str' object has no attribute 'year'",
            "convert('a')",
            "another type:\nfrom bank",
        ),
        ("ZeroDivisionError", "division by zero", "", ""),
        ("NameError", "name 'zzqqy' is not defined", "", ""),
    ],
)
def test_a_hint_on_an_error(bank: SourceIndex, kind: str, message: str, line: str, told: str) -> None:
    names = {"loan": ["amount", "interest", "_secret"]}
    hint = Hints(bank).on(ExecutionError(kind, message, line), lambda value: names.get(value, []))
    assert told in hint and bool(told) == bool(hint) and "_secret" not in hint
