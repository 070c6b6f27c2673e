"""Mends by rule: what is missing is added, and code that was right stays untouched."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codenav.agents.mending import (
    leaves_something,
    names_bound,
    names_left,
    with_content_printed,
    with_imports,
    with_offered_modules,
)
from codenav.core.actions import Code, CodeObservation, Draft, Offer, Step
from codenav.core.execution import Execution, ExecutionError, Outcome

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
        ("print(price(2))", names_bound("from other import *"), []),
        ("match [1]:\n    case [*price] | {**price}:\n        print(price)", (), []),
        ("[price for price in (1, 2)]", (), []),
        ("try:\n    pass\nexcept ValueError as price:\n    print(price)", (), []),
        ("print(nowhere(2))", (), []),
        ("print(price(", (), []),
    ],
)
def test_missing_imports_are_added(code: str, bound: tuple[str, ...], lines: list[str]) -> None:
    assert with_imports(code, OFFERS, bound) == ("\n".join([*lines, code]), lines)


@pytest.mark.filterwarnings("error")
def test_an_escape_that_is_none_is_no_reason_for_a_warning() -> None:
    assert with_imports("print(price('\\d'))", OFFERS, ())[1] == ["from shop.prices import price"]


def test_an_import_is_added_below_those_from_the_future() -> None:
    code = '"""Prices."""\nfrom __future__ import (\n    annotations,\n)\nprint(price(2))'
    mended, _ = with_imports(code, OFFERS, ())
    assert mended.splitlines()[3:] == [")", "from shop.prices import price", "print(price(2))"]
    compile(mended, "", "exec")


NAMES = st.sampled_from(["price", "place", "store", "total", "x"])
VALUES = st.one_of(st.integers(0, 9).map(str), NAMES)
BINDINGS = st.one_of(
    st.builds("{} = {}".format, NAMES, st.integers(0, 9)),
    st.builds("for {} in range(3): pass".format, NAMES),
    st.builds("def {}(count): return count".format, NAMES),
    st.builds("import math as {}".format, NAMES),
    st.builds("with open('f') as {}: pass".format, NAMES),
)


# The first draw imports what draws characters, which a loaded machine does in seconds.
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(BINDINGS, max_size=6), VALUES)
def test_code_whose_names_are_bound_stays_as_it_is(bindings: list[str], used: str) -> None:
    code = "\n".join([*bindings, f"print({used})"])
    mended, lines = with_imports(code, OFFERS, ())
    if used.isdigit() or used in names_bound("\n".join(bindings)):
        assert (mended, lines) == (code, [])
    assert ast.unparse(ast.parse(mended)).endswith(ast.unparse(ast.parse(code)))


@pytest.mark.parametrize(
    ("code", "line", "mended"),
    [
        ("from shop.nowhere import price\nprint(price(2))", 1, "from shop.prices import price\nprint(price(2))"),
        ("from shop.nowhere import price as p\nprint(p(2))", 1, "from shop.prices import price as p\nprint(p(2))"),
        ("import math\nfrom shop.nowhere import other, price  # é\nprint(price(2))", 2,
         "import math\nfrom shop.prices import price\nfrom shop.nowhere import other\nprint(price(2))"),
        ("from mall import place\nfrom shop.nowhere import (\n    price,\n)", 2,
         "from mall import place\nfrom shop.prices import price"),
        ("from shop.prices import price\nprint(price(2))", 1, None),
        ("from shop.nowhere import other", 1, None),
        ("from shop.nowhere import price", None, None),
        ("x = 1; from shop.nowhere import price", 1, None),
        ("from shop.nowhere import (price\n); print(price(2))", 1, None),
        ("print(1)\nfrom shop.nowhere import price", 2, None),
        ("def f():\n    from shop.nowhere import price\n    price()\nf()", 4, None),
        ("import nowhere\nfrom shop.nowhere import price", 1, None),
    ],
)  # fmt: skip
def test_an_import_that_failed_is_made_from_where_the_name_is_offered(
    code: str, line: int | None, mended: str | None
) -> None:
    error = ExecutionError("ModuleNotFoundError", "No module named 'shop.nowhere'", line_number=line)
    assert with_offered_modules(code, error, [*OFFERS, Offer("from shop.old import price", "price()")]) == (
        mended or code
    )
    assert with_offered_modules(code, replace(error, type="ValueError"), OFFERS) == code


def step(code: str, outcome: Outcome, line: int | None = None, *, drafts: Sequence[Draft] = ()) -> Step:
    error = ExecutionError("ValueError", "", line_number=line) if outcome is Outcome.ERROR else None
    return Step(1, Code(code), CodeObservation("", execution=Execution(outcome, error=error), drafts=drafts))


@pytest.mark.parametrize(
    ("ran", "names"),
    [
        (step("from shop import place\ny = 1\n", Outcome.OK), {"place", "y"}),
        (step("from mall import place\ny = 1\n1 / 0\nz = 1", Outcome.ERROR, 3), {"place", "y"}),
        (step("import math\nfrom shop import place\ny = 1", Outcome.ERROR, 2), {"math"}),
        (step("for place in (1, 2):\n    1 / 0", Outcome.ERROR, 2), {"place"}),
        (step("y = 1\n1 / 0", Outcome.ERROR, 2, drafts=[Draft("y = 1", "error", "")]), set()),
        (step("y = (", Outcome.ERROR, 1), set()),
    ],
)
def test_the_names_that_a_step_leaves(ran: Step, names: set[str]) -> None:
    assert names_left([ran]) == names


@pytest.mark.parametrize(
    ("code", "leaves"),
    [
        ("print(name_to_hex('navy'))", False),
        ("text = open('a.csv').read()", False),
        ("open('a.csv', 'r')", False),
        ("open('a.csv', 'w').write('x')", True),
        ("frame.to_csv('a.csv')", True),
        ("print('x', file=open(os.path.join('a', 'b'), 'a'))", True),
        ("print('x', file=open('a', encoding='utf-8', mode='x'))", True),
        ("print('x', file=path.open('a'))", True),
        ("print('x', file=gzip.open(name(), 'wt'))", True),
        ("print('x', file=open('a', how))", True),
        ("open(os.path.join('wax', 'a'), encoding='utf-8')", False),
        ("Image.open('wax.png')", False),
        ("json.dumps([1])", False),
        ("shutil.copytree('a', 'b')", True),
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
    assert with_content_printed(code, shown) == with_content_printed("x = iter(y); print(x)", shown) == "print(list(x))"
    assert with_content_printed("print(map(str, [1]))", "<map object at 0x7fc8>") == "print(list(map(str, [1])))"
    endless = "<itertools.count object at 0x7fc8>"
    for text, printed in ((code, "[1, 2]"), (code, ""), ("print(1, 2)", shown), ("x = 1", shown), (code, endless)):
        assert with_content_printed(text, printed) == text
