"""Broken and hostile Python files: what can be read is, and no file stops or holds up a build."""

from __future__ import annotations

import ast
import importlib.util
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from codenav.core.blocks import BlockKind
from codenav.indexers.place import Place
from codenav.indexers.python_blocks import python_blocks

PLACE = Place("s", "m.py", "m")
DEFINITIONS = {BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.CLASS}
Damage = Callable[[list[str], random.Random], list[str]]


def without_a_bracket(lines: list[str], chance: random.Random) -> list[str]:
    row = chance.choice([row for row, line in enumerate(lines) if ")" in line] or [0])
    return [*lines[:row], lines[row].replace(")", "", 1), *lines[row + 1 :]]


def with_conflict_markers(lines: list[str], chance: random.Random) -> list[str]:
    first = chance.randrange(len(lines))
    last = first + chance.randrange(1, 12)
    return [*lines[:first], "<<<<<<< HEAD", *lines[first:last], "=======", "    pass", ">>>>>>> other", *lines[last:]]


def truncated(lines: list[str], chance: random.Random) -> list[str]:
    last = chance.randrange(len(lines) // 2, len(lines))
    return [*lines[:last], lines[last][: len(lines[last]) // 2]]


def with_an_unclosed_string(lines: list[str], chance: random.Random) -> list[str]:
    quoted = re.compile(r"""(?<!["'])["'](?!["'])""")
    row = chance.choice([row for row, line in enumerate(lines) if quoted.search(line)] or [0])
    return [*lines[:row], quoted.sub("", lines[row], count=1), *lines[row + 1 :]]


def with_an_unclosed_docstring(lines: list[str], chance: random.Random) -> list[str]:
    row = chance.choice([row for row, line in enumerate(lines) if '"""' in line] or [0])
    return [*lines[:row], lines[row].replace('"""', "", 1), *lines[row + 1 :]]


def with_a_python_2_print(lines: list[str], chance: random.Random) -> list[str]:
    row = chance.choice([row for row, line in enumerate(lines) if line.lstrip().startswith("return")] or [0])
    indent = re.match(r"\s*", lines[row])
    assert indent
    return [*lines[:row], f'{indent.group()}print "value of %s" % name', *lines[row:]]


def definitions(text: str, before: int) -> Counter[str]:
    """Count the definitions of each qualified name above a line."""
    blocks = python_blocks(text, PLACE)
    return Counter(block.qualname for block in blocks if block.kind in DEFINITIONS and block.lines.start < before)


@pytest.mark.parametrize(
    "damage",
    [
        without_a_bracket,
        with_conflict_markers,
        truncated,
        with_an_unclosed_string,
        with_an_unclosed_docstring,
        with_a_python_2_print,
    ],
)
def test_a_damaged_file_keeps_its_definitions(damage: Damage) -> None:
    """At least 97 % with their full names."""
    spec = importlib.util.find_spec("networkx")
    assert spec and spec.origin
    chance = random.Random(7)
    files = chance.sample(sorted(Path(spec.origin).parent.rglob("*.py")), 60)
    total = kept = broken = 0
    for path in files:
        text = path.read_text(encoding="utf-8")
        lines = text.split("\n")
        if len(lines) < 20:
            continue
        damaged = damage(lines, chance)
        try:
            ast.parse("\n".join(damaged))
            continue
        except SyntaxError:
            broken += 1
        before = len(damaged) - 1 if damage is truncated else len(lines) + 1
        wanted = definitions(text, before)
        total += wanted.total()
        kept += (wanted & definitions("\n".join(damaged), len(damaged) + 1)).total()
    assert broken >= 20 and total >= 200
    assert kept / total >= 0.97


def test_a_class_around_the_damage_keeps_its_methods() -> None:
    source = (
        "class A:\n    def f(self):\n        call(a, b\n\n"
        "    def g(self):\n        return 1\n\n    async def h(self): pass\n"
    )
    blocks = {block.qualname: block for block in python_blocks(source, PLACE)}
    assert {"A", "A.f", "A.g", "A.h"} <= set(blocks)
    assert blocks["A.g"].kind is BlockKind.METHOD
    assert blocks["A.g"].import_line == "from m import A"


MID_EDIT = {
    "an argument": "def f(a):\n    x = call(a, [1, 2\n    return x\n",
    "a header": "def f(a, b:\n    return 1\n",
    "a class": "class f(Base:\n    x = 1\n",
    "a table": 'f = {\n    "a": 1,\n',
    "an import": "import os\nfrom a import (f,\n    g\n",
    "a decorated call": '@route("/x"\ndef f():\n    pass\n',
    "the wrong bracket": "f = call([1, 2)\n",
    "a comment": "f = call(a  # ([\n",
    "a string": 'def f():\n    x = """abc\n',
    "a bracket too much": "f = call(1))\n",
    "no colon": "def f(a)\n    return 1\n",
    "a line of Python 2": "def f(a):\n    print 'a', `a`\n",
}
AFTER = '''
LIMIT = call("é", (3,))

@cached(1)
class A:
    """The class."""

    def g(self):
        """The method."""
        return call(1)
'''


@pytest.mark.parametrize("opened", MID_EDIT.values(), ids=MID_EDIT)
def test_an_open_bracket_costs_nothing_after_its_statement(opened: str) -> None:
    def after(text: str, first: int) -> list[tuple[object, ...]]:
        return [
            (block.kind, block.qualname, block.text, block.docstring, block.calls, block.lines.start - first)
            for block in python_blocks(text, PLACE)
            if block.lines.start > first
        ]

    wanted = after(AFTER, 0)
    assert len(wanted) == 3
    assert after(opened + AFTER, opened.count("\n")) == wanted


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def a():\n    pass\nx = " + "[" * 200_000 + "\ndef b(): pass\n", {"a", "b"}),
        ("x = " + "(" * 20_000 + ")" * 20_000 + "\ndef b(): pass\n", {"b"}),
        ("def a(): pass\nx = " + "a+" * 100_000 + "a\ndef b(): pass\n", {"a", "b"}),
        ("def a(): pass\nx = a" + ".f(x)" * 100_000 + "\ndef b(): pass\n", {"a", "b"}),
        ("def a(): pass\nx = [" + "1, " * 100_000 + "]\ndef b(): pass\n", {"a", "b"}),
        ("def a(): pass\n" + "\0" * 1000 + "\ndef b(): pass\n", {"a", "b"}),
        ("def a(): pass\n" + "if __name__:\n" * 20_000 + "\ndef b(): pass\n", {"a", "b"}),
        ("def a(): pass\n" + "match x:\n case (\n" * 10_000 + "\ndef b(): pass\n", {"a", "b"}),
        ("def a(): pass\n" + "x = 1)\n" * 40_000 + "\ndef b(): pass\n", {"a", "b"}),
        ("def a(): pass\n" + "\t\tx\n \tx\n" * 40_000 + "\ndef b(): pass\n", {"a", "b"}),
        ("def a(): pass\nx = (\n" + "__name__,\n" * 20_000 + ")\ndef b(): pass\n", {"a", "b"}),
        ("def a(): pass\nx = f'" + "{f(" * 40_000 + "'\ndef b(): pass\n", {"a", "b"}),
    ],
    ids=range(12),
)
def test_hostile_files_give_the_definitions_around(source: str, found: set[str]) -> None:
    started = time.process_time()
    blocks = python_blocks(source, PLACE)
    assert found <= {block.qualname for block in blocks}
    assert time.process_time() - started < 5


def test_definitions_below_a_hundred_levels_are_left_out() -> None:
    source = "".join(" " * depth + f"def f{depth}():\n" for depth in range(300)) + " " * 300 + "pass\n"
    names = [block.name for block in python_blocks(source, PLACE)]
    assert names == [f"f{depth}" for depth in range(100)]


@pytest.mark.parametrize("seed", range(20))
def test_any_text_is_survived(seed: int) -> None:
    chance = random.Random(seed)
    pieces = ["def ", "class ", "f", "(", ")", ":", "\n", "    ", "\t", '"""', "'", "#", "@", "=", ",", "async ",
              "\\", "if ", "try", "é", "\x0c", "{", "}", "[", "lambda", "\U0001f389", "try:"]  # fmt: skip
    source = "".join(chance.choices(pieces, k=3000))
    blocks = python_blocks(source, PLACE)
    lines = source.count("\n") + 1
    assert len({block.id for block in blocks}) == len(blocks)
    assert all(block.text.strip() and 1 <= block.lines.start <= block.lines.end <= lines for block in blocks)
