"""`codenav show`, `callers`, `callees` and `outline` as a user meets them."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
from command_line import codenav

from codenav.core import schemas
from codenav.core.usage import estimate_tokens


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "shapes"
    root.mkdir()
    (root / "shapes.py").write_text(
        "class Shape:\n    def area(self):\n        return 1\n\n    def double(self):\n        return 2 * self.area()\n"
        "\n\nclass Circle(Shape):\n    def area(self):\n        return 3\n"
    )
    (root / "use.py").write_text(
        "import math\n\nfrom shapes import Circle\n\n\ndef total(shapes):\n"
        "    return math.fsum(shape.area() for shape in shapes) + Circle().area()\n\n\n"
        "def one():\n    circle = Circle()\n    return circle.area()\n"
    )
    return root


def test_show_prints_a_heading_and_the_source(repository: Path) -> None:
    ran = codenav("show", "Shape.double", "--on", repository)
    assert (ran.code, ran.err) == (0, "")
    heading, blank, *source = ran.out.splitlines()
    assert heading == f"METHOD Shape.double  shapes.py:5-6  {repository}  from shapes import Shape"
    assert (blank, source) == ("", ["def double(self):", "    return 2 * self.area()"])
    document = codenav("show", "shapes.py:6", "--on", repository, "--json").document
    jsonschema.validate(document, schemas.load("show"))
    assert document["name"] == "shapes.py:6"
    assert [block["qualname"] for block in document["blocks"]] == ["Shape.double"]
    by_id = codenav("show", document["blocks"][0]["id"], "--on", repository, "--json").document
    assert by_id["blocks"] == document["blocks"]


def test_a_name_of_several_and_a_name_of_none(repository: Path) -> None:
    ran = codenav("show", "area", "--on", repository)
    assert (ran.code, ran.out) == (2, "")
    first, *rows, hint = ran.err.splitlines()
    assert first == "Error: area names 2 blocks:"
    assert [row.split()[1:] for row in rows] == [
        ["METHOD", "Shape.area", "shapes.py:2"], ["METHOD", "Circle.area", "shapes.py:10"],
    ]  # fmt: skip
    assert hint.startswith("Try: ")
    for row in rows:
        assert codenav("show", row.split()[0], "--on", repository).code == 0
    ran = codenav("show", "Circle.aera", "--on", repository)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[1].startswith("Try: did you mean Circle.area")


def test_callers_are_listed_with_their_evidence(repository: Path) -> None:
    ran = codenav("callers", "Circle.area", "--on", repository)
    assert ran.code == 0
    assert ran.out.splitlines()[:2] == ["FUNCTION   one  use.py:12", "           circle.area (assignment)"]
    assert "FUNCTION   total  use.py:7" in ran.out
    assert "METHOD     Shape.double  shapes.py:6\n           self.area (may be overridden)" in ran.out
    assert ran.err == "3 callers: 1 certain, 1 of a method that may be overridden, 1 by name only\n"
    assert codenav("callers", "one", "--on", repository).err == "0 callers: 0 certain, 0 by name only\n"
    ran = codenav("callers", "Circle.area", "--on", repository, "--limit", "1", "--json")
    jsonschema.validate(ran.document, schemas.load("callers"))
    assert (ran.document["total"], len(ran.document["callers"])) == (3, 1)
    assert ran.document["targets"][0]["qualname"] == "Circle.area"


def test_callees_are_listed_with_signature_and_place(repository: Path) -> None:
    ran = codenav("callees", "total", "--on", repository)
    assert ran.code == 0
    assert ran.out.splitlines()[:3] == [
        "Circle (import)",
        "  CLASS      Circle  shapes.py:9",
        "             class Circle(Shape)",
    ]
    assert ran.out.splitlines()[-1] == "external: math.fsum"
    document = codenav("callees", "total", "--on", repository, "--json").document
    jsonschema.validate(document, schemas.load("callees"))
    assert document["total"] == len(document["callees"])
    assert codenav("callees", "area", "--on", repository).code == 2


def test_an_outline_fits_its_budget(repository: Path) -> None:
    ran = codenav("outline", repository)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[:4] == ["shapes.py", "  class Shape", "    def area(self)", "    def double(self)"]
    document = codenav("outline", repository, "--tokens", "32", "--json").document
    jsonschema.validate(document, schemas.load("outline"))
    assert document["used_tokens"] == estimate_tokens(document["text"]) <= 32
    only = codenav("outline", repository, "--path", "use.py", "--json").document
    assert [file["path"] for file in only["files"]] == ["use.py"]
    assert only["files"][0]["definitions"][0]["qualname"] == "total"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "x"), "--on"),
        (("show", "x", "--on", "no/such/folder"), "no such file or folder"),
        (("show", "", "--on", "."), "no block ''"),
        (("show", "shapes.py:99", "--on", "."), "no block holds line 99 of shapes.py"),
        (("callers", "nothing_at_all", "--on", "."), "no block 'nothing_at_all'"),
        (("callers", "one", "--on", ".", "--limit", "-1"), "--limit"),
        (("callees", "nothing_at_all", "--on", "."), "no block 'nothing_at_all'"),
        (("outline",), "SOURCE"),
        (("outline", ".", "--tokens", "31"), "--tokens"),
        (("outline", ".", "--path", "shape.py"), "nothing in the index lies at 'shape.py'"),
        (("show", "x", "--on", ".", "--no-refresh"), "has not been indexed"),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_usage_is_one_clear_line_and_exit_2(repository: Path, arguments: tuple[str, ...], said: str) -> None:
    ran = codenav(*arguments, cwd=repository)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_escapes_in_code_stay_inert(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def f():\n    return '\x1b[2J'\n\n\ndef g():\n    f()\n")
    for arguments in (("show", "f", "--on"), ("callers", "f", "--on"), ("callees", "g", "--on"), ("outline",)):
        ran = codenav(*arguments, tmp_path)
        assert ran.code == 0
        assert "\x1b" not in ran.out + ran.err
