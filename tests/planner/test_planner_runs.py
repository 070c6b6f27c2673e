"""The planner does plain requests in a real sandbox, on real packages and on a code base with a case for each rule."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import codenav, without_evidence
from PIL import Image

import codenav as api
from codenav.errors import SandboxUnavailable
from codenav.planner import call_search
from codenav.sandboxes import bubblewrap

SHOP = '''
"""A shop.
"""
import itertools


def review(fruit: str) -> dict:
    """A review of a fruit: what it is worth, and what to do with it."""
    return {"verdict": {"stars": len(fruit)}, "advice": f"eat the {fruit}"}


class Order:
    """What is to be delivered, to whom and in how many boxes."""

    def __init__(self, fruit: str, boxes: int) -> None:
        self.fruit, self.boxes = fruit, boxes

    def __repr__(self) -> str:
        return f"Order({self.fruit!r}, {self.boxes})"

    @classmethod
    def from_bytes(cls, told: bytes) -> "Order":
        return cls.from_string(told.decode())

    @classmethod
    def from_string(cls, told: str) -> "Order":
        boxes, fruit = told.split()
        return cls(fruit, int(boxes))

    def weight(self) -> float:
        """The weight of the order in kg."""
        return self.boxes * 2.5


class Basket:
    """What a customer takes."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.fruits = []

    def __repr__(self) -> str:
        return f"Basket({self.owner!r}, {self.fruits})"

    def add_fruit(self, fruit: str) -> None:
        """Put a fruit into the basket."""
        self.fruits.append(fruit)


def open_basket(owner: str) -> Basket:
    """Open a basket for its owner."""
    return Basket(owner)


def checksum(data: bytes) -> int:
    """The checksum of some data."""
    if not isinstance(data, bytes):
        raise TypeError("a bytes-like object is required, not 'str'")
    return sum(data) % 256


def countdown(start: int):
    """Count down from a start."""
    yield from range(start, 0, -1)


def is_ripe(fruit: str) -> bool:
    """Whether a fruit is ripe."""
    return fruit.endswith("a")


def ripe(fruit: str) -> str:
    """A riper fruit."""
    return fruit * 2


def prices(fruits: list) -> dict:
    """The prices of fruits."""
    return {fruit: len(fruit) for fruit in fruits}


def write_bill(path: str, total: float) -> None:
    """Write the bill with its total to a file."""
    with open(path, "w") as file:
        file.write(f"{total:.2f}")


class Scales:
    """Scales for fruits."""

    def __call__(self, fruits: int) -> float:
        """The weight of some fruits in kg."""
        return fruits * 0.25


def find_customer(name: str) -> list:
    """Find the customers of a name."""
    return [{"name": name, "street": f"{name} Street"}]


class Ledger:
    """What was sold, line by line."""

    def __init__(self) -> None:
        self.lines = []

    def load(self, path: str) -> "Ledger":
        """Read the lines of a file."""
        with open(path) as file:
            self.lines = file.read().splitlines()
        return self

    def best_customer(self) -> str:
        """The customer who is named most often."""
        return max(self.lines, key=self.lines.count)

    def save(self, path: str) -> None:
        """Write the lines to a file."""
        with open(path, "w") as file:
            file.write("\\n".join(self.lines))


class Shelf:
    """A shelf of a size."""

    def __init__(self, metres: float) -> None:
        self.metres = metres


def shelf_gap(one, other) -> float:
    """The gap between two shelves."""
    return abs(one.metres - other.metres)


def shout(text: str, twice: bool = False) -> str:
    """A text in capitals, for a sign on the wall."""
    return text.upper() * (2 if twice else 1)


def sell(fruit: str):
    """Sell a fruit."""
    raise RuntimeError("nothing is for sale")


def leave():
    """Leave the shop."""
    import os

    os._exit(3)
'''


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "shop.py").write_text(SHOP)
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """An empty work folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def run(request: str, on: str | Path, **options: object) -> api.EpisodeResult:
    return api.run(request, on=on, model="planner", lint=False, types=False, **options)


REAL = {
    "How many connected components does the path graph with 5 nodes have?": ("pkg:networkx", r"1"),
    "What is the diameter of the cycle graph with 10 nodes?": ("pkg:networkx", r"5"),
    "Which date is Easter in 2024?": ("pkg:python-dateutil", r"2024-03-31"),
    "Canonicalize the name 'Foo.Bar_baz'": ("pkg:packaging", r"foo-bar-baz"),
    "Is '1.0rc1' a pre-release version?": ("pkg:packaging", r"True"),
    "Parse '3rd of March 2021 at 5:30 pm' and give the year": ("pkg:python-dateutil", r"2021"),
    "Is the complete graph with 4 nodes planar?": ("pkg:networkx", r"True"),
    # Nothing but a compiled module.
    "Dump {'a': [1, 2]} as JSON": ("pkg:orjson", r"""b'{"a":\[1,2\]}'"""),
    "Encode the domain 'bücher.de'": ("pkg:idna", r"b'xn--bcher-kva.de'"),
    "Make a sorted list of [3, 1, 2]": ("pkg:sortedcontainers", r"SortedList\(\[1, 2, 3\]\)"),
    "Render '# Title' as HTML": ("pkg:markdown-it-py", r"<h1>Title</h1>"),
    "Parse the TOML 'a = 1'": ("pkg:tomlkit", r"\{'a': 1\}"),
}


@pytest.mark.parametrize("request_", REAL)
def test_plain_requests_on_real_packages(request_: str, request: pytest.FixtureRequest) -> None:
    package, expected = REAL[request_]
    if package == "pkg:networkx":
        request.getfixturevalue("with_networkx")
    ran = codenav("run", request_, "--on", package, "--json")
    assert (ran.code, ran.document["status"], ran.document["model"]) == (0, "done", "planner"), ran.out
    assert re.fullmatch(expected, ran.document["answer"])
    assert ran.document["summary"]["verified"]


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("Compute the checksum of 'abc'", "38"),
        ("Count down from 3", "[3, 2, 1]"),
        ("Is 'banana' ripe?", "True"),
        ("What are the prices of ['kiwi', 'fig']?", "{'kiwi': 4, 'fig': 3}"),
        ("Which of the prices of ['kiwi', 'fig'] is highest?", "kiwi"),
        ("Open a basket for 'Ann' and add the fruit 'fig'", "Basket('Ann', ['fig'])"),
        ("How many stars does the review of the fruit 'fig' give?", "3"),
        ("What is the weight of the order '4 figs'?", "10.0"),
        ("What is the weight of 8 fruits on the scales?", "2.0"),
        ("What is the checksum of 'abc' and is 'banana' ripe?", "38\nTrue"),
    ],
)
def test_each_rule_on_a_small_code_base(shop: Path, request_: str, answer: str) -> None:
    ran = codenav("run", request_, "--on", shop)
    assert (ran.code, without_evidence(ran.out)) == (0, f"{answer}\nsummary: reproduced\n"), ran.err


def test_plain_values_become_the_objects_that_a_call_asks_for(shop: Path) -> None:
    result = run("What is the gap between the shelves 2.5 and 4?", shop)
    assert (result.status, result.answer) == ("done", "1.5"), result.reason


def test_a_text_is_read_from_its_file(shop: Path, work: Path) -> None:
    (work / "sale.txt").write_text("sale ")
    result = run("Shout the text in sale.txt", shop, work_dir=work)
    assert (result.status, result.answer) == ("done", "SALE"), result.reason


def test_a_text_that_came_out_is_kept_in_a_new_file(shop: Path, work: Path) -> None:
    (work / "sale.txt").write_text("sale")
    request = "Shout the text in 'sale.txt' and save it to 'sign.txt'"
    ran = codenav("run", request, "--on", shop, "--work-dir", work)
    assert (ran.code, without_evidence(ran.out)) == (0, "wrote sign.txt\nSALE\nsummary: reproduced\n"), ran.err
    assert (work / "sign.txt").read_text() == "SALE"
    assert (work / "sale.txt").read_text() == "sale"
    assert run("Shout 'x' and save it to 'sign.txt'", shop, work_dir=work).answer == "wrote sign.txt\nX"
    assert (work / "sign.txt").read_text() == "X", "what is there is written over where that is said"


def test_an_object_that_only_has_a_text_is_replayed_as_that(with_networkx: Path) -> None:
    ran = codenav("run", "Make the path graph with 5 nodes", "--on", "pkg:networkx")
    assert (ran.code, without_evidence(ran.out)) == (0, "Graph with 5 nodes and 4 edges\nsummary: reproduced\n"), (
        ran.err
    )


def test_the_name_of_a_file_that_is_not_there_is_no_text(shop: Path, work: Path) -> None:
    result = run("Read missing.txt and shout it", shop, work_dir=work)
    assert result.status == "failed", result.answer
    assert not (work / "missing.txt").exists()


def test_a_picture_is_resized_into_the_work_folder(work: Path) -> None:
    Image.new("RGB", (40, 30)).save(work / "photo.jpg")
    request = "Resize photo.jpg to 200 by 100 and save it as small.jpg"
    ran = codenav("run", request, "--on", "pkg:pillow", "--work-dir", work)
    assert (ran.code, without_evidence(ran.out)) == (0, "wrote small.jpg\nsummary: reproduced\n"), ran.err
    with Image.open(work / "small.jpg") as small:
        assert small.size == (200, 100)


def test_files_are_written_into_the_work_folder(shop: Path, tmp_path: Path) -> None:
    result = run("Write the bill with the total 7.5 to bill.txt", shop, work_dir=tmp_path / "work")
    assert result.status == "done" and "wrote bill.txt" in result.answer, result.reason
    assert (tmp_path / "work" / "bill.txt").read_text() == "7.50"


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ("Sell the fruit 'fig'", "RuntimeError: nothing is for sale"),
        ("Leave the shop", "ended with exit code 3"),
        ("Paint the ceiling with 'lime'", "no callable"),
        ("Open a basket", "needs owner"),
        ("Multiply the checksum of 'abc' by 12", "12"),
        ("¿Cuánto cuesta?", "“¿Cuánto cuesta?”"),
        ("!?", "says nothing"),
    ],
)
def test_what_it_cannot_do_is_told_with_the_reason(shop: Path, request_: str, why: str) -> None:
    result = run(request_, shop)
    assert result.status == "failed" and result.exit_code == 1
    assert why in result.reason + result.answer


def test_the_command_line_says_that_it_is_no_model(shop: Path) -> None:
    ran = codenav("run", "Is 'banana' ripe?", "--on", shop, "--model", "planner", "--no-lint", "--no-types")
    assert ran.code == 0 and without_evidence(ran.out).startswith("True\nsummary: reproduced")
    assert "a planner does this, no language model" in ran.err
    ran = codenav("run", "Sell the fruit 'fig'", "--on", shop, "--model", "planner", "--json")
    assert ran.code == 1 and "sell(fruit)" in ran.document["hint"]


def test_it_is_the_default_where_no_model_and_no_server_is_named(shop: Path) -> None:
    ran = codenav("run", "Is 'banana' ripe?", "--on", shop)
    assert (ran.code, without_evidence(ran.out)) == (0, "True\nsummary: reproduced\n")
    assert "a planner does this, no language model" in ran.err
    ran = codenav("run", "Is 'banana' ripe?", "--on", shop, "--base-url", "http://127.0.0.1:9/v1")
    assert ran.code == 4 and "--model" in ran.err


def test_consent_to_run_without_isolation_is_enough(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(shop))
    bubblewrap.trouble.cache_clear()
    asked: list[str] = []
    try:
        result = run("Is 'banana' ripe?", shop, confirm=lambda question: not asked.append(question))
        assert (result.status, result.answer, len(asked)) == ("done", "True", 1)
        with pytest.raises(SandboxUnavailable, match="no sandbox works here"):
            run("Is 'banana' ripe?", shop, confirm=lambda question: False)
    finally:
        bubblewrap.trouble.cache_clear()


def test_a_bound_on_calls_ends_with_the_reason(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_search, "ALL", 0)
    result = run("Compute the checksum of 'abc'", shop)
    assert (result.status, result.exit_code) == ("failed", 1) and "checksum(data)" in result.hint


def test_a_bound_on_steps_ends_it(shop: Path) -> None:
    result = run("Compute the checksum of 'abc'", shop, limits=api.Limits(steps=2))
    assert (result.status, result.exit_code) == ("limit", 3)
