"""Digests of whole values: what is the same, to the last element, and what is not."""

from __future__ import annotations

import pytest

from codenav.core.execution import Outcome

SETUP = """
import collections, dataclasses, datetime, decimal, enum, io
import numpy as np, pandas as pd
@dataclasses.dataclass
class Point:
    x: float
    y: float
class Plain: pass
class Shown:
    def __init__(self, n): self.n = n
    def __repr__(self): return f'Shown({self.n})'
Color = enum.Enum('Color', 'RED BLUE')
Pair = collections.namedtuple('Pair', 'a b')
def with_(value, at, new):
    value = value.copy(); value[at] = new; return value
many = np.sin(np.arange(10_000))
frame = pd.DataFrame({'x': np.arange(5000) / 7, 'name': [f'n{i}' for i in range(5000)]})
cycle = [1]; cycle.append(cycle)
other_cycle = [1]; other_cycle.append(other_cycle)
shared = [1]
for _ in range(80): shared = [shared, shared]
"""

ALIKE = [
    ("1", "1.0"), ("0.1 + 0.2", "0.3"), ("[1, 2]", "(1, 2)"), ("[1, 2]", "np.array([1, 2])"), ("5", "np.int64(5)"),
    ("{1, 'a', (2, 3)}", "{(2, 3), 'a', 1}"), ("{'a': 1, 'b': {2}}", "{'b': {2}, 'a': 1}"), ("range(3)", "[0, 1, 2]"),
    ("collections.Counter('aab')", "{'b': 1, 'a': 2}"), ("sum([.1] * 10)", "1"), ("float('nan')", "float('nan')"),
    ("many.sum()", "many[::-1].sum()"), ("many.tolist()[:5]", "many[:5]"), ("[1.0, 1e-17]", "[1.0, 0.0]"),
    ("Point(1, 2)", "Point(1.0, 2)"), ("Color.RED", "Color.RED"), ("Pair(1, 2)", "Pair(1, 2)"),
    ("cycle", "other_cycle"),
    ("shared", "[shared[0], shared[1]]"), ("frame", "frame.copy()"), ("frame.x", "frame['x']"),
    ("Shown(3)", "Shown(3)"),
    ("datetime.date(2024, 1, 2)", "datetime.date.fromisoformat('2024-01-02')"), ("decimal.Decimal('1.50')",) * 2,
    ("[Plain(), 1]", "[Plain(), 1]"), ("many", "many + 1e-16"),
]  # fmt: skip
UNLIKE = [
    ("1", "2"), ("1", "True"), ("1", "'1'"), ("0.3", "0.30001"), ("['ab', 'c']", "['a', 'bc']"), ("{1: 2}", "{2: 1}"),
    ("'a' * 500 + 'b' + 'a' * 500", "'a' * 500 + 'c' + 'a' * 500"),
    ("list(range(900))", "with_(list(range(900)), 450, 1)"),
    ("many", "with_(many, 5000, .5)"), ("many", "many.reshape(100, 100)"),
    ("frame", "frame.rename(columns={'x': 'y'})"),
    ("frame", "frame.iloc[::-1]"), ("frame", "with_(frame, 'x', frame.x.where(frame.index != 2500, 0))"),
    ("frame", "frame.set_index(frame.index + 1)"), ("Point(1, 2)", "Point(1, 3)"), ("Color.RED", "Color.BLUE"),
    ("Shown(3)", "Shown(4)"), ("[[1], [2]]", "[[1, 2]]"), ("b'a'", "'a'"), ("None", "0"), ("2 ** 70", "2 ** 70 + 1"),
    ("{'k': [1, {2: {3}}]}", "{'k': [1, {2: {4}}]}"), ("1e-20", "2e-20"), ("pd.Timestamp(0)", "pd.Timestamp(1)"),
]  # fmt: skip


def digests(box, pairs):
    lines = [f"left_{at}, right_{at} = {left}, {right}" for at, (left, right) in enumerate(pairs)]
    done = box.run(SETUP + "\n".join(lines))
    assert done.outcome is Outcome.OK, done.error
    held = box.digests().digests
    return [(held[f"left_{at}"], held[f"right_{at}"]) for at in range(len(pairs))]


def test_equal_data_have_equal_digests(contained):
    wrong = [pair for pair, (left, right) in zip(ALIKE, digests(contained(), ALIKE), strict=True)
             if not left.digest or left.digest != right.digest]  # fmt: skip
    assert not wrong


def test_other_data_have_other_digests(contained):
    wrong = [pair for pair, (left, right) in zip(UNLIKE, digests(contained(), UNLIKE), strict=True)
             if not left.digest or not right.digest or left.digest == right.digest]  # fmt: skip
    assert not wrong


def test_which_names_and_what_they_are_worth(contained):
    box = contained()
    code = (
        "import os\n_answer = 3\ndef f(): pass\nclass A: pass\nbare = A()\nfull = A(); full.x = 1\n"
        "file = open('/dev/null')\nfor i in range(300): globals()[f'v{i}'] = i"
    )
    assert box.run(code).ok
    held = box.digests().digests
    assert held["_answer"].digest and held["v200"].digest and held["v299"].digest
    assert not {"os", "f", "A", "__name__"} & set(held)
    assert [held[name].kind for name in ("bare", "full", "file", "_answer")] == ["none", "soft", "none", "firm"]


def test_what_is_in_them(contained):
    box = contained()
    assert box.run("names = ['Ada', 'Bo']\nscores = {n: n / 7 for n in range(100)}\nbest = 0.438\nbig = 2 ** 60").ok
    held = box.digests()
    assert {"Ada", "Bo", str(2**60)} <= set(held.texts)
    assert {0.438, 2.0, 100.0} <= set(held.numbers) and 50.0 not in held.numbers
    assert 50 / 7 in held.many


@pytest.mark.parametrize(
    "value",
    [
        "type('A', (), {'__repr__': lambda self: 1 / 0})()",
        "type('A', (), {'__repr__': lambda self: __import__('time').sleep(60)})()",
        "type('A', (), {'__array__': lambda self, *a: exit()})()",
        "type('D', (dict,), {'items': lambda self: exit(), '__iter__': lambda self: exit()})(a=1)",
        "type('L', (list,), {'__iter__': lambda self: exit()})([1])",
        "type('A', (), {'__getattribute__': lambda self, name: exit()})()",
    ],
)
def test_hostile_objects_cost_their_own_digest_only(contained, value):
    box = contained()
    assert box.run(f"import numpy\nhostile = {value}\nplain = 3").ok
    held = box.digests().digests
    assert held["plain"].digest and set(held) == {"hostile", "plain"}
    assert box.run("plain").stdout == "3\n"


def test_looking_changes_nothing(contained):
    box = contained()
    assert box.run("import random\nrandom.seed(1)\nit = iter([1, 2, 3])\nx = [it]").ok
    first = box.digests().digests["x"].digest
    assert box.digests().digests["x"].digest == first
    assert box.run("print(next(it), random.random())").stdout == "1 0.13436424411240122\n"
