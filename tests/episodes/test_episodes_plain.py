"""Code of steps as a script for Python itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from codenav.core.actions import Code, CodeObservation, Step
from codenav.core.execution import Execution, Outcome, Value
from codenav.episodes.plain import as_script
from codenav.episodes.verify import script_from_steps

AWAITS = '''"""What it does."""
from __future__ import annotations
import asyncio
async def later(value: int) -> int:
    await asyncio.sleep(0)
    return value
total: int = 1
total += await later(2)  # a comment
def more():
    global total
    total += 10
more()
task = asyncio.create_task(later(5))
print(total, await task)
async def count():
    yield 7
async for n in count():
    print(n)
text = """
two lines
"""
from math import *
print([await later(x) for x in range(2)], text.count("\\n"), floor(1.5))
display([1])
'''


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        (AWAITS, "13 5\n7\n[0, 1] 2 1\n[1]\n"),
        ("display(1, 'a')\n", "1\n'a'\n"),
        ("from __future__ import annotations\ndisplay(1)\n", "1\n"),
        ("def display(x): print('own', x)\ndisplay(1)\n", "own 1\n"),
        ("print(1)\n", "1\n"),
    ],
)
def test_it_runs_as_plain_python(tmp_path, code, printed):
    path = tmp_path / "script.py"
    path.write_text(as_script(code), encoding="utf-8")
    done = subprocess.run([sys.executable, "-I", str(path)], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == (printed, "")


def test_code_that_needs_nothing_stays_as_it_is():
    for code in ("x = 1  # as it is\n", "async def f():\n    await g()\n", "not python", ""):
        assert as_script(code) == code


def step(code: str, value: Value | None = None) -> Step:
    done = Execution(Outcome.OK, value=value)
    return Step(1, Code(thought="", content=code), CodeObservation("", execution=done))


def test_the_last_value_has_its_name_in_the_script():
    seven = Value("int", "7", 7)
    steps = [step("x = 3; x + 4", seven), step("print('ü'); None"), step("y = _ + 1")]
    assert script_from_steps(steps) == "x = 3; _ = x + 4\n\nprint('ü'); None\n\ny = _ + 1\n"
    plain = [step("x + 4", seven), step("for _ in range(2): pass\n_")]
    assert script_from_steps(plain) == "x + 4\n\nfor _ in range(2): pass\n_\n"
