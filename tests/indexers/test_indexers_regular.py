"""The reading of regular Python files against the syntax tree: one must give what the other does."""

from __future__ import annotations

import importlib.util
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from codenav.blocks import CodeBlock
from codenav.indexers.parsing import PARSE_SECONDS
from codenav.indexers.place import Identity, Place
from codenav.indexers.python_blocks import parsed_blocks
from codenav.indexers.python_draft import finish
from codenav.indexers.python_lexer import Irregular
from codenav.indexers.python_regular_file import regular_drafts

PLACE = Place("check", "a.py", "pkg.a")


def regular(text: str) -> list[CodeBlock]:
    """The blocks by the quick reading."""
    drafts, calls = regular_drafts(text, path=PLACE.path, module=PLACE.module)
    seen: Counter[Identity] = Counter()
    return [finish(draft, text, PLACE, calls, seen) for draft in drafts]


def without_calls(block: CodeBlock) -> CodeBlock:
    return replace(block, calls=())


@pytest.mark.parametrize("package", ["networkx", "asyncio", "email", "matplotlib"])
def test_both_readings_agree(package: str) -> None:
    spec = importlib.util.find_spec(package)
    assert spec and spec.origin
    files = sorted(Path(spec.origin).parent.rglob("*.py"))
    regular_files = blocks = other_calls = 0
    for path in files:
        text = path.read_text(encoding="utf-8")
        try:
            quick = regular(text)
        except Irregular:
            continue
        regular_files += 1
        blocks += len(quick)
        parsed, reason = parsed_blocks(text, PLACE, 10 * PARSE_SECONDS)
        assert not reason
        assert list(map(without_calls, quick)) == list(map(without_calls, parsed)), path
        other_calls += sum(one.calls != other.calls for one, other in zip(quick, parsed, strict=True))
    assert regular_files >= 0.97 * len(files)
    # Calls inside of nested quotes of f-strings are told apart from their text only by the parser.
    assert other_calls <= 0.005 * blocks


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


@pytest.mark.parametrize("prefix", ["f", "F", "fr", "fR", "Fr", "FR", "rf", "Rf", "rF", "RF", "t", "tr", "rt"])
def test_calls_in_formatted_strings_are_found(prefix: str) -> None:
    (block,) = regular(f"def shown(x):\n    return {prefix}'{{escape(x)}} '\n")
    assert block.calls == ("escape",)


@pytest.mark.parametrize("prefix", ["", "r", "b", "rb", "br", "u"])
def test_braces_of_other_strings_hold_no_calls(prefix: str) -> None:
    (block,) = regular(f"def shown(x):\n    return {prefix}'{{escape(x)}} '\n")
    assert block.calls == ()
