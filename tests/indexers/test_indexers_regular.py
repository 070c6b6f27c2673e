"""The reading of regular Python files against the syntax tree: one must give what the other does."""

from __future__ import annotations

import email
import importlib.util
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from codenav.core.blocks import CodeBlock
from codenav.indexers.parsing import PARSE_SECONDS
from codenav.indexers.place import Identity, Place
from codenav.indexers.python_blocks import parsed_blocks
from codenav.indexers.python_draft import finish
from codenav.indexers.python_formatted import Irregular
from codenav.indexers.python_regular_file import regular_drafts

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
import mutations

PLACE = Place("check", "a.py", "pkg.a")


def regular(text: str) -> list[CodeBlock]:
    """The blocks by the quick reading."""
    drafts, calls = regular_drafts(text, path=PLACE.path, module=PLACE.module)
    seen: Counter[Identity] = Counter()
    return [finish(draft, text, PLACE, calls, seen) for draft in drafts]


@pytest.mark.parametrize("package", ["networkx", "asyncio", "email", "matplotlib"])
def test_both_readings_agree(package: str) -> None:
    spec = importlib.util.find_spec(package)
    assert spec and spec.origin
    files = sorted(Path(spec.origin).parent.rglob("*.py"))
    regular_files = 0
    for path in files:
        text = path.read_text(encoding="utf-8")
        try:
            quick = regular(text)
        except Irregular:
            continue
        regular_files += 1
        parsed, reason = parsed_blocks(text, PLACE, 10 * PARSE_SECONDS)
        assert not reason
        assert quick == parsed, path
    assert regular_files >= 0.95 * len(files)


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n\treturn 1\n",
        "x = 1; y = 2\n",
        "x = (1,\n",
        "x = 1)\n",
        "x = 'open\n",
        'x = """open\n',
        "  def f():\n    pass\n",
        "def f(x)\n    return x\n",
        "else:\n    pass\n",
        "x = 1 \\ \n",
        "x = '\x01'\n",
        "def f():\n    match x:\n        case A(y):\n            pass\n",
        "class A:\n<<<<<<< HEAD\n    def f(self): pass\n=======\n    def g(self): pass\n>>>>>>> other\n",
        "x = f'{\n1}'\n",
        "\x0cx = 1\n",
        "ﬁle = 1\n",
        "x = 𝔘(1)\n",
        "class A:\n    pass\n\\\ndef f(): pass\n",
        "x = 1 \\\n# y\n",
        "x = a. b(c)\n",
        "x = (a().\n     b(c))\n",
        "x = f'{a['b(c)']}'\n",
        "x = f'{f\"{a(b)}\"}'\n",
        "x = f'{(lambda: a(b))}'\n",
        "if lambda: 0: f()\n",
        "def f() -> lambda: 0: pass\n",
    ],
)
def test_what_is_not_beyond_doubt_is_left_to_the_parser(source: str) -> None:
    with pytest.raises(Irregular):
        regular(source)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("x = (1,\n2)\ndef f(): pass\n", ["x", "f"]),
        ("def f(a,\nb):\n    x = [\n1,\n]\n    return x\ny = 1\n", ["f", "y"]),
        ('"""Doc\ndef no(): pass\n"""\ndef f(): pass\n', ["a", "f"]),
        ("# def no(): pass\nx = 'def no(): pass'\n", ["x"]),
        ("@a\n@b(\n  1,\n)\nasync  def f(): pass\n", ["f"]),
        ("x = (a\n@ b)\ndef f(): pass\n", ["x", "f"]),
        ("x >>= 1\ny //= 2\nz: int\nassert x == y\n", ["x", "y", "z", "statements"]),
        ("match = 1\nmatch.group()\n", ["match", "statements"]),
        ("type X[T] = list[T]\n", ["X"]),
        ("f = lambda x: x\n", ["f"]),
        ("x = 'a' \\\n    'b'\ndef f(): pass\n", ["x", "f"]),
        ("if (x := 1):\n    def f(): pass\nelse:\n    def g(): pass\n", ["if (x := 1)", "f", "g"]),
        ("x = f'{a[\"k\"]}'\n", ["x"]),
        ("", []),
        ("\n\n", []),
    ],
)
def test_statements_are_told_apart(source: str, names: list[str]) -> None:
    quick = regular(source)
    assert [block.name for block in quick] == names
    assert quick == parsed_blocks(source, PLACE, PARSE_SECONDS)[0]


@pytest.mark.parametrize(
    "source",
    [
        "x = (a\n     .b\n     .c(d))\n",
        "x = (a  # why\n     .b(c))\n",
        "x = (a\n     (b))\n",
        "x = a\n(b, c) = d\n",
        "x = a .b(c)\n",
        "x = 1 .real(a) + 1..real(b) + 1.5.hex() + .5.hex() + None(c) + (0 or(d))\n",
        "x = [*a.b(c), *map(d, e)]\n",
        "x = {**a.b(c)}\n",
        "type(a).b = c()\ntype[a] = b\ntype(a)[b] = c\ntype A = b\n",
        "lambda x=1: x\nlambda: a(b)\n(lambda: a)(b).c = 1\n",
        "x = f'{a:{b()}}' f'{{c(d)}}' f'{e(\"f(g)\")}' f'{h[1:2](i)!r:>{j}}' f'{k:%H(l)}'\n",
        'x = f"""{\n  m(n)\n}""" f"{ {o: p(q)}[r](s) }" f"{t!=u(v)}"\n',
        "x = 'a' 'b'.c(d)\n",
        'def f():\n    "a" \\\n    "b"\n',
        'def f():\n    """a\n    b """\n',
        "def f():\n    'a',\n",
        "'a',\n",
        "class A:\n    x = (a\n    @b\n    )\n    def f(self): pass\n",
        "if (a and\n        __name__ == 'b'):\n    def f(): pass\nif c == '__name__':\n    def g(): pass\n",
        "class A:\n    x = \\\n(" + "1, " * 600 + ")\n",
        "class A:\n    x = '" + "é" * 600 + "'\n",
        f"x = {'a' * 199}(b) + {'c' * 201}(d) + {'e' * 150}.{'f' * 150}(g)\n",
        "class A:\n    @a((\n        {b\n    @ c, d\n    @ (e), f\n        },\n    ))\n    def f(self): pass\n",
    ],
)
def test_both_readings_agree_on_what_is_unusual(source: str) -> None:
    assert regular(source) == parsed_blocks(source, PLACE, PARSE_SECONDS)[0]


def test_both_readings_agree_on_mutated_files() -> None:
    files = mutations.corpus([Path(email.__file__).parent])
    found = [mutations.difference(text) for _, text in islice(mutations.drawn(files, 1), 150)]
    assert not [one for one in found if one]
    assert found.count("") > 30


@pytest.mark.parametrize("prefix", ["f", "F", "fr", "fR", "Fr", "FR", "rf", "Rf", "rF", "RF", "t", "tr", "rt"])
def test_calls_in_formatted_strings_are_found(prefix: str) -> None:
    (block,) = regular(f"def shown(x):\n    return {prefix}'{{escape(x)}} '\n")
    assert block.calls == ("escape",)


@pytest.mark.parametrize("prefix", ["", "r", "b", "rb", "br", "u"])
def test_braces_of_other_strings_hold_no_calls(prefix: str) -> None:
    (block,) = regular(f"def shown(x):\n    return {prefix}'{{escape(x)}} '\n")
    assert block.calls == ()
