"""Mends by rule: what is missing is added, and code that was right stays untouched."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codenav.actions import Offer
from codenav.agents.mending import (
    leaves_something,
    names_bound,
    with_content_printed,
    with_imports,
    with_offered_modules,
)
from codenav.execution import ExecutionError

OFFERS = [
    Offer("from shop import place", "place(store, count=1)"),
    Offer("from shop.prices import price", "price(count)"),
    Offer("from shop import shelves as store", "store.get(key)", note="a ready Store"),
]


@pytest.mark.parametrize(
    ("code", "bound", "lines"),
    [
        ("print(price(2))", (), ["from shop.prices import price"]),
        ("print(price(2))", ("price",), []),
        ("print(store.get(1))", (), ["from shop import shelves as store"]),
        ("print(shop.place(1))", (), ["import shop"]),
        ("from other import price\nprint(price(2))", (), []),
        ("def f(price): return price", (), []),
        ("from shop.prices import *\nprint(price(2))", (), []),
        ("[price for price in (1, 2)]", (), []),
        ("try:\n    pass\nexcept ValueError as price:\n    print(price)", (), []),
        ("print(nowhere(2))", (), []),
        ("print(price(", (), []),
    ],
)
def test_missing_imports_are_added(code: str, bound: tuple[str, ...], lines: list[str]) -> None:
    assert with_imports(code, OFFERS, bound) == ("\n".join([*lines, code]), lines)


NAMES = st.sampled_from(["price", "place", "store", "total", "x"])
VALUES = st.one_of(st.integers(0, 9).map(str), NAMES)
BINDINGS = st.one_of(
    st.builds("{} = {}".format, NAMES, st.integers(0, 9)),
    st.builds("for {} in range(3): pass".format, NAMES),
    st.builds("def {}(count): return count".format, NAMES),
    st.builds("import math as {}".format, NAMES),
    st.builds("with open('f') as {}: pass".format, NAMES),
)


@given(st.lists(BINDINGS, max_size=6), VALUES)
def test_code_whose_names_are_bound_stays_as_it_is(bindings: list[str], used: str) -> None:
    code = "\n".join([*bindings, f"print({used})"])
    mended, lines = with_imports(code, OFFERS, ())
    if used.isdigit() or used in names_bound("\n".join(bindings)):
        assert (mended, lines) == (code, [])
    assert ast.unparse(ast.parse(mended)).endswith(ast.unparse(ast.parse(code)))


@pytest.mark.parametrize(
    ("code", "mended"),
    [
        ("from shop.nowhere import price\nprint(price(2))", "from shop.prices import price\nprint(price(2))"),
        ("from shop.nowhere import price as p\nprint(p(2))", "from shop.prices import price as p\nprint(p(2))"),
        ("import math\nfrom shop.nowhere import other, price\nprint(price(2))",
         "import math\nfrom shop.prices import price\nfrom shop.nowhere import other\nprint(price(2))"),
        ("from shop.prices import price\nprint(price(2))", "from shop.prices import price\nprint(price(2))"),
        ("from shop.nowhere import other", "from shop.nowhere import other"),
    ],
)  # fmt: skip
def test_an_import_that_failed_is_made_from_where_the_name_is_offered(code: str, mended: str) -> None:
    error = ExecutionError("ModuleNotFoundError", "No module named 'shop.nowhere'")
    assert with_offered_modules(code, error, OFFERS) == mended
    assert with_offered_modules(code, ExecutionError("ValueError", "no"), OFFERS) == code


@pytest.mark.parametrize(
    ("code", "leaves"),
    [
        ("print(name_to_hex('navy'))", False),
        ("text = open('a.csv').read()", False),
        ("open('a.csv', 'r')", False),
        ("open('a.csv', 'w').write('x')", True),
        ("frame.to_csv('a.csv')", True),
        ("image.save('a.png')", True),
        ("os.remove('a.csv')", True),
        ("print(1", False),
    ],
)
def test_code_that_may_write_a_file_is_known(code: str, leaves: bool) -> None:
    assert leaves_something(code) == leaves


def test_the_content_of_an_iterator_is_printed() -> None:
    code = "x = (n for n in (1, 2))\nprint(x)"
    shown = "<generator object <genexpr> at 0x7fc88a946430>\n"
    assert with_content_printed(code, shown) == "x = (n for n in (1, 2))\nprint(list(x))"
    assert with_content_printed("print(map(str, [1]))", "<map object at 0x7fc8>") == "print(list(map(str, [1])))"
    for text, printed in ((code, "[1, 2]"), (code, ""), ("print(1, 2)", shown), ("x = 1", shown)):
        assert with_content_printed(text, printed) == text
