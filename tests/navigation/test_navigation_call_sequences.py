"""The calls of code in order, with whose result goes into which, and the traces of a code base and of episodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import codenav
from codenav.core.actions import Code, CodeObservation, Step, Summary
from codenav.core.events import Status
from codenav.core.execution import Execution, Outcome
from codenav.core.execution.calls import ToolCall
from codenav.core.execution.results import ExecutionError
from codenav.core.system.syntax import parsed
from codenav.core.traces import Trace
from codenav.episodes.record import EpisodeResult
from codenav.navigation.call_sequences import MOST_CALLS, Reader
from codenav.navigation.called import Called
from codenav.navigation.code_snippets import examples_in, snippets_in
from codenav.toolgraph.code_traces import CodeTraces
from codenav.toolgraph.episodes import trace_of_episode


class Shelf:
    """Callables of which each name is one: `make` gives a box, and a box has `put`."""

    def function(self, written: str) -> Called | None:
        known = {
            "make": Called("make", ("size",), gives="box"),
            "use": Called("use", ("box", "times")),
            "k.load": Called("k.load", ("path",)),
        }
        return known.get(written)

    def method(self, name: str, kind: str) -> Called | None:
        return Called(f"box.{name}", ("thing",), "self") if kind == "box" and name in ("put", "copy") else None


def read(code: str) -> list[tuple[str, dict[str, int]]]:
    tree = parsed(code)
    assert tree is not None
    return [(call.name, dict(call.takes)) for call in Reader(Shelf()).read(tree.body)]


@pytest.mark.parametrize(
    ("code", "calls"),
    [
        ("b = make(3)\nuse(b)", [("make", {}), ("use", {"box": 0})]),
        ("use(make(3), times=k.load('x'))", [("make", {}), ("k.load", {}), ("use", {"box": 0, "times": 1})]),
        ("b = make(3)\nb.put(make(1))", [("make", {}), ("make", {}), ("box.put", {"self": 0, "thing": 1})]),
        ("make(make(1)).put(2)", [("make", {}), ("make", {"size": 0}), ("box.put", {"self": 1})]),
        # What is not of the code base makes no call, and what it was given may be in its result or not.
        ("b = make(3)\nuse(sorted(b))", [("make", {}), ("use", {"box": 0})]),
        ("b = make(3)\nuse(len(b))", [("make", {}), ("use", {})]),
        ("b = make(3)\nuse(b.size)", [("make", {}), ("use", {"box": 0})]),
        ("b = make(3)\nuse(b['x'][0])", [("make", {}), ("use", {"box": 0})]),
        ("a, b = make(3)\nuse(b)", [("make", {}), ("use", {"box": 0})]),
        ("for b in make(3):\n    use(b)", [("make", {}), ("use", {"box": 0})]),
        ("x = [use(b) for b in make(3)]", [("make", {}), ("use", {"box": 0})]),
        ("with make(3) as b:\n    b.put(1)", [("make", {}), ("box.put", {"self": 0})]),
        ("b = make(1)\nb = 2\nuse(b)", [("make", {}), ("use", {})]),
        # A name that the code binds itself is not the callable of that name.
        ("def use(x): ...\nuse(make(1))", [("make", {})]),
        ("make = len\nuse(make(1))", [("use", {})]),
        # What is expected to fail did not work.
        ("with pytest.raises(ValueError):\n    make(-1)\nuse(1)", [("use", {})]),
        ("if x:\n    make(1)\n    make(2)\nelse:\n    use(1)", [("make", {}), ("make", {})]),
        ("try:\n    make(1)\nexcept E:\n    use(2)\n", [("make", {})]),
        ("f = lambda: make(1)\nuse(2)", [("use", {})]),
        ("use(*make(1))", [("make", {}), ("use", {"box": 0})]),
    ],
)
def test_calls_come_in_the_order_in_which_they_run_with_what_they_take(
    code: str, calls: list[tuple[str, dict[str, int]]]
) -> None:
    assert read(code) == calls


def test_endless_code_is_cut() -> None:
    assert len(read("make(1)\n" * (MOST_CALLS + 10))) == MOST_CALLS
    assert read("use(" + "+".join(["make(1)"] * 1_000) + ")")


RST = """
Guide
=====

>>> a = 1
>>> a + 1
2
>>> a.b
Traceback (most recent call last):
AttributeError: b

.. code-block:: python
   :linenos:

   b = make(2)
   %matplotlib inline

.. code-block:: json

   {"c": 1}

.. ipython:: python

   In [1]: d = 1

   In [2]: for x in d:
      ...:     print(x)
"""
MARKDOWN = """
```python
a = 1
```

```
$ pip install x
```

``` {code-cell} ipython3
b = 2
```

~~~pycon
>>> c = 3
3
~~~

>>> d = 4
"""


def test_the_python_of_documents_is_found() -> None:
    assert snippets_in(RST, "restructuredtext") == [
        "a = 1\na + 1\n", "b = make(2)\n# %matplotlib inline\n\n", "d = 1\nfor x in d:\n    print(x)\n",
    ]  # fmt: skip
    assert snippets_in(MARKDOWN, "markdown") == ["a = 1\n", "b = 2\n", "c = 3\n", "d = 4\n"]
    assert examples_in("Text.\n\n  >>> a\n >>> b\n c") == ["a\n", "b\n"]


FILES: dict[str, Any] = {
    "boxes/__init__.py": "from boxes.store import Box, fill\n",
    "boxes/store.py": '''
"""Boxes.

>>> import boxes
>>> b = boxes.Box(1)
>>> b.put(2)
"""

class Box:
    def __init__(self, size):
        self.size = size

    def put(self, thing) -> "Box":
        """Put something in.

        >>> Box(1).put(2)
        """

    def _check(self): ...


class Lid:
    def __init__(self, box: Box): ...


def fill(box: Box, things) -> Box:
    """Fill a box.

    >>> bx.fill(bx.Box(3), [1])
    """
    return box


def assert_full(box): ...
''',
    "tests/test_store.py": """
import boxes as bx
from boxes.store import assert_full


def helper():
    return bx.Box(1)


class TestFill:
    def test_fill(self):
        box = bx.Box(1)
        full = bx.fill(box, [helper()])
        full.put(3)._check()
        assert_full(full)

    def test_one(self):
        bx.Box(1)


class TestLid:
    @classmethod
    def setup_class(cls):
        box = bx.Box(1)
        cls.unused = bx.Box(2)
        cls.full = bx.fill(box, [])

    def test_put(self):
        self.full.put(bx.boxes)
""",
    "examples/first.py": """
import boxes

box = boxes.Box(2)
boxes.fill(box, [])


def main():
    boxes.fill(box.put(1))
""",
    "README.md": """
# Boxes

```python
from boxes import *
b = Box(1)
```

## More

```python
fill(b, [1]).put(2)
```
""",
    "docs/tour.ipynb": json.dumps(
        {
            "cells": [
                {"cell_type": "code", "source": "%pylab\nimport boxes\nb = boxes.Box(1)", "metadata": {}},
                {"cell_type": "code", "source": "b.put(2)", "metadata": {}},
            ],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    ),
    "broken/test_broken.py": "def test_x(:\n    pass\n",
}


@pytest.fixture
def boxes(tmp_path: Path) -> Path:
    root = tmp_path / "code"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text.lstrip("\n"))
    return root


def short(trace: Trace) -> list[tuple[str, dict[str, int]]]:
    return [(call.name.removeprefix("boxes.store."), dict(call.takes)) for call in trace.calls]


def test_tests_examples_and_documents_become_traces(boxes: Path) -> None:
    with codenav.index(boxes) as index:
        code = CodeTraces(index)
        found = {trace.id: short(trace) for trace in code.traces(index)}
        flows = set(code.flows())
    put = [("Box", {}), ("Box.put", {"self": 0})]
    assert found == {
        # The helper of the tests, what is private and what is there for tests alone are no calls.
        "tests/test_store.py::TestFill.test_fill": [
            ("Box", {}), ("fill", {"box": 0}), ("Box.put", {"self": 1}),
        ],
        # Of what ran before the test that which it takes.
        "tests/test_store.py::TestLid.test_put": [("Box", {}), ("fill", {"box": 0}), ("Box.put", {"self": 1})],
        "boxes/store.py::boxes.store": put,
        "boxes/store.py::Box.put": put,
        # `bx` is what most files of the code base call the package.
        "boxes/store.py::fill": [("Box", {}), ("fill", {"box": 0})],
        "examples/first.py::examples/first.py": [("Box", {}), ("fill", {"box": 0})],
        "examples/first.py::main": [("Box.put", {}), ("fill", {"box": 0})],
        # What the section before made is known, but it is no call of this one.
        "README.md::Boxes > More": [("fill", {}), ("Box.put", {"self": 0})],
        "docs/tour.ipynb::docs/tour.ipynb": put,
    }  # fmt: skip
    assert [code.counts[kind] for kind in ("tests", "examples", "docs")] == [2, 3, 4]
    # `put` is no flow into itself; a class gives its objects.
    names: dict[tuple[str, str], set[str]] = {
        (taker.rpartition(".")[2], parameter): set() for _, taker, parameter in flows
    }
    for giver, taker, parameter in flows:
        names[taker.rpartition(".")[2], parameter].add(giver.rpartition(".")[2])
    assert names == {("Lid", "box"): {"Box", "put", "fill"}, ("fill", "box"): {"Box", "put"}}


def test_what_fixtures_give_to_a_test_is_known_in_it(boxes: Path) -> None:
    (boxes / "tests/conftest.py").write_text(
        "import pytest\nfrom boxes import Box, fill\n\n\n"
        "@pytest.fixture\ndef box():\n    fill(Box(1), [1])\n    yield Box(2)\n\n\n"
        "@pytest.fixture(name='full')\ndef make_full(box, size):\n    return fill(box, [2])\n\n\n"
        "@pytest.fixture\ndef size(full):\n    return 3\n\n\n"
        "def plain():\n    return Box(1)\n"
    )
    (boxes / "tests/deep").mkdir()
    (boxes / "tests/deep/test_given.py").write_text(
        "from boxes import fill\n\n\ndef test_one(full, plain):\n    full.put(1)\n    fill(plain, 2)\n\n\n"
        "class TestTwo:\n    def test_two(self, size, box):\n        box.put(size)\n"
    )
    with codenav.index(boxes) as index:
        found = {trace.id.partition("::")[2]: short(trace) for trace in CodeTraces(index).traces(index)}
    assert found["test_one"] == [("Box", {}), ("fill", {"box": 0}), ("Box.put", {"self": 1}), ("fill", {})]
    assert found["TestTwo.test_two"] == [("Box", {}), ("Box.put", {"self": 0})]


def step(number: int, code: str, *calls: ToolCall, line: int = 0) -> Step:
    error = ExecutionError("ValueError", "no", line_number=line) if line else None
    execution = Execution(Outcome.ERROR if line else Outcome.OK, error=error)
    return Step(number, Code(code), CodeObservation("", execution=execution, calls=calls))


def episode(
    *steps: Step, status: Status = Status.DONE, verified: bool = True, request: str = "Buy it"
) -> EpisodeResult:
    started = "2026-11-23T10:00:00+00:00"
    return EpisodeResult(
        "e1", request, status, summary=Summary(verified, code="x"), steps=steps, started=started, seconds=5
    )


def test_an_episode_becomes_a_trace_of_its_steps_in_order(boxes: Path) -> None:
    steps = (
        step(1, "import boxes\nb = boxes.Box(1)"),
        step(2, "f = boxes.fill(b, [])\nf.nothing()\nf.put(1)", line=2),
        step(3, "boxes.fill(b, [])\nf.put(2)", line=2),
        step(4, "not python"),
    )
    with codenav.index(boxes) as index:
        trace = trace_of_episode(episode(*steps), index)
    assert short(trace) == [("Box", {}), ("fill", {"box": 0}), ("fill", {"box": 0}), ("Box.put", {"self": 1})]
    assert [call.ok for call in trace.calls] == [True, True, True, False]
    assert (trace.id, trace.request, trace.origin, trace.verified) == ("e1", "Buy it", "episodes", True)
    assert trace.ended == 1795428005.0


LISTED = ToolCall("shop.list", {"text": "mug"}, answer=[{"id": "mug-0001"}, {"id": "mug-0002"}], seconds=0.25)
ORDERS = [
    ToolCall("shop.order", {"product": "mug-0001"}, answer={"order": "o-98765"}, seconds=0.5),
    ToolCall("shop.order", {"product": "mug-0002"}, answer={}, outcome="error", seconds=0.5),
]
SHOPPING = "from tools.shop import list, order\nfor one in list('mug'):\n    order(product=one['id'])"


def test_the_calls_of_tools_are_those_that_the_broker_made() -> None:
    shown = ToolCall("shop.show", {"id": "o-98765"}, answer={}, outcome="replayed")
    trace = trace_of_episode(episode(step(1, SHOPPING, LISTED, *ORDERS), step(2, "print(run('tool'))", shown)))
    assert [(call.name, call.ok, call.seconds, dict(call.takes)) for call in trace.calls] == [
        ("shop.list", True, 0.25, {}),
        ("shop.order", True, 0.5, {"product": 0}),
        ("shop.order", False, None, {"product": 0}),
        # No code shows where this came from, but its value does.
        ("shop.show", True, None, {"id": 1}),
    ]


def test_what_is_not_done_or_not_verified_is_not_verified_and_what_was_interrupted_tells_of_failures_only() -> None:
    steps = (step(1, SHOPPING, LISTED, *ORDERS),)
    for status, verified in ((Status.DONE, False), (Status.FAILED, True), (Status.LIMIT, True)):
        trace = trace_of_episode(episode(*steps, status=status, verified=verified))
        assert (len(trace.calls), trace.verified) == (3, False)
    trace = trace_of_episode(episode(*steps, status=Status.INTERRUPTED))
    assert [(call.name, call.ok) for call in trace.calls] == [("shop.order", False)]
    assert not trace.verified
