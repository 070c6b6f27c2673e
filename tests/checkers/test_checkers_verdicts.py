"""The findings of a step, and steps without any."""

from __future__ import annotations

import sys
import venv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from codenav.core.system.interpreter import Interpreter, find_interpreter
from codenav.environments.checkers import StepChecks

Verdict = Callable[[str], dict[str, list[tuple[str, int]]]]
CLEAN: dict[str, list[tuple[str, int]]] = {"flake8": [], "mypy": []}

RIGHT = {
    "unused import, variable, redefinition": "import os, sys\nimport os\ndef ra(): return 1\ndef ra(): return 2\n",
    "style": "x=1;y =2\nif x==None: pass\nl = lambda: 0\n",
    "another type": "ta = 1\nta = 'one'\nta.upper()\nta = [ta]\nta.append('two')\n",
    "another type of element": "tb = [1]\ntb.append('one')\ntc = {'a': 1}\ntc['b'] = 'two'\ntc.update(c=None)\n",
    "list of int where floats are wanted": "def td(a: list[float]) -> float: return sum(a)\nte = [1, 2]\ntd(te)\n",
    "maybe None": "import re\ntf = re.match('a', 'abc')\ntf.group(0)\n",
    "filled later": "class Tg:\n    def __init__(self): self.a = None\n    def set(self): self.a = 'x'\n"
    "    def get(self): return self.a.upper()\n",
    "attribute set from outside": "class Th: pass\nth = Th()\nth.note = 1\nprint(th.note)\n",
    "attribute by setattr": "class Ti: pass\nti = Ti()\nsetattr(ti, 'mark', 1)\nti.mark\n",
    "global of a function": "def tj():\n    global tk\n    tk = {}\ntj()\ntk['a'] = 1\n",
    "global that starts as None": "tl = None\ndef tm():\n    global tl\n    tl = [1]\ntm()\ntl.append(2)\n",
    "walrus, match, loops": "if (tn := 3) > 2: print(tn)\nfor to, tp in [(1, 2)]: pass\nprint(to, tp)\n"
    "match [1, 2]:\n    case [tq, *tr]: print(tq, tr)\nwith open(__name__) as ts: ts.read()\n",
    "missing module": "import no_such_module\nno_such_module.f(1).g\n",
    "names of a module": "print(__name__, __file__, __builtins__, __doc__)\n",
    "globals()": "globals()['tt'] = 1\nprint(tt)\n",
    "star": "from math import *\nprint(sqrt(2), tau)\n",
    "postponed annotations": "from __future__ import annotations\ndef tu(a: Tv) -> Tv: ...\nclass Tv: ...\n",
    "private names that stubs leave out": "import statistics\nstatistics._sum\n",
    "nothing": "",
    "encoding comment": "# -*- coding: latin-1 -*-\nty = 'é'\nprint(ty.upper())\n",
    "library": "from shapes import Square, area\nimport shapes.flat\narea(Square(2), scale=3)\nshapes.flat.loose(1)\n",
    "mypy cannot parse the library's file": "import broken\nbroken.f()\n",
}

WRONG = {
    "undefined": ("print(1)\nprint(nowhere)\n", [("F821", 2)], [("name-defined", 2)]),
    "undefined in a function": ("def wa():\n    return nowhere\n", [("F821", 2)], [("name-defined", 2)]),
    "annotated only": ("wb: int\nprint(1)\nprint(wc)\n", [("F821", 3)], [("name-defined", 3)]),
    "arguments": ("def wd(a: int) -> int:\n    return a\nwd()\nwd('a')\n", [], [("call-arg", 3), ("arg-type", 4)]),
    "keyword": ("def wo(*, a=1): pass\nwo(b=2)\n", [], [("call-arg", 2)]),
    "attribute": ("'a'.uper()\n", [], [("attr-defined", 1)]),
    "attribute of a module": ("import math\nmath.sqr(2)\n", [], [("attr-defined", 2)]),
    "name of a module": ("from math import sqr\n", [], [("attr-defined", 1)]),
    "operator": ("1 + 'a'\n", [], [("operator", 1)]),
    "index": ("we = 5\nwe[0]\n", [], [("index", 2)]),
    "unannotated function": ("def wf():\n    return 'a'.uper()\n", [], [("attr-defined", 2)]),
    "return value": ("def wg() -> int:\n    return 'a'\n", [], [("return-value", 2)]),
    "nothing returned": ("def wp() -> None: pass\nwq = wp()\n", [], [("func-returns-value", 2)]),
    "format": ("print('%d %d' % (1,))\n", [("F507", 1)], [("str-format", 1)]),
    "not awaited": ("import asyncio\nasync def wj():\n    asyncio.sleep(1)\n", [], [("unused-coroutine", 3)]),
    "is": ("wk = 'a'\nprint(wk is 'a')\n", [("F632", 2)], []),
    "raise NotImplemented": ("def wl():\n    raise NotImplemented\n", [("F901", 2)], []),
    "local before assignment": (
        "wm = 1\ndef wn():\n    print(wm)\n    wm = 2\n",
        [("F823", 3)],
        [("used-before-def", 3)],
    ),
    "syntax": ("x = 1\ndef f(:\n    pass\n", [("E999", 2)], [("syntax", 2)]),
    "return outside": ("x = 1\nreturn x\n", [("E999", 2)], [("syntax", 2)]),
    "await outside": ("import asyncio\ndef f():\n    await asyncio.sleep(1)\n", [("E999", 3)], [("syntax", 3)]),
    "null byte": ("x = 1\ny = '\0'\n", [("E999", 2)], [("syntax", 2)]),
    "lone surrogate": ("x = 1\ny = '\ud800'\n", [("E999", 2)], [("syntax", 2)]),
    "library": (
        "from shapes import Square, area\narea(2)\narea(Square())\nSquare(1).edge\n",
        [],
        [("arg-type", 2), ("call-arg", 3), ("attr-defined", 4)],
    ),
    "untyped library": ("from shapes.flat import loose\nloose()\n", [], [("call-arg", 2)]),
    "typed package": ("import click\nclick.echo(text='a')\n", [], [("call-arg", 2)]),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_runs_is_clean(verdict: Verdict, name: str) -> None:
    assert verdict(RIGHT[name]) == CLEAN


@pytest.mark.parametrize("name", WRONG)
def test_a_fault_is_reported_with_its_line(verdict: Verdict, name: str) -> None:
    code, lint, types = WRONG[name]
    assert verdict(code) == {"flake8": lint, "mypy": types}


def test_two_hundred_checks_in_turn_give_no_wrong_verdict(warm: StepChecks) -> None:
    for turn in range(100):
        right = f"def alternate(a: int) -> int:\n    return a + {turn}\nprint(alternate({turn}))\n"
        wrong = f"def alternate(a: int) -> int:\n    return a + {turn}\nprint(alternate('{turn}'), missing{turn})\n"
        assert [list(r.findings) for r in warm.check(right)] == [[], []], turn
        lint, types = warm.check(wrong)
        assert [f.code for f in lint.findings] == ["F821"], turn
        assert [f.code for f in types.findings] == ["arg-type", "name-defined"], turn
        # The very same again: mypy sees no change and must still say what is wrong.
        assert warm.check(wrong)[1].findings == types.findings, turn


def test_the_messages_speak_of_the_step_alone(warm: StepChecks) -> None:
    warm.remember("class Own:\n    def f(self, a: int) -> int:\n        return a\nown = Own()\n")
    found = [f.message for f in warm.check("own.g()\nown.f('a')\nOwn.h\n")[1].findings]
    assert len(found) == 3
    assert not [message for message in found if "codenav" in message]


def test_black_returns_the_step_as_it_would_write_it(fresh: Callable[..., StepChecks]) -> None:
    checks = fresh(formatting=True, lint=False, types=False)
    (report,) = checks.check("x = [1,2]")
    assert report.formatted == "x = [1, 2]\n" and not report.clean and report.tool == "black"
    (report,) = checks.check("x = [1, 2]")
    assert report.formatted is None and report.clean
    (report,) = checks.check("x = [")
    assert report.failure and not report.clean


def test_each_tool_has_its_own_switch(python: Interpreter) -> None:
    none = StepChecks(python=python, lint=False, types=False)
    assert list(none.check("nowhere")) == []
    none.remember("x = 1")
    none.close()


def test_syntax_newer_than_this_interpreter_is_not_called_a_fault(python: Interpreter) -> None:
    checks = StepChecks(python=replace(python, version="3.99.0"), types=False)
    (report,) = checks.check("x = 1 +\n")
    assert report.failure and not report.findings
    assert f"Python {sys.version_info[0]}.{sys.version_info[1]}" in report.failure
    (report,) = checks.check("def f(a: Later): ...\nclass Later: ...\nprint(nowhere)\n")
    assert [f.message for f in report.findings] == ["undefined name 'nowhere'"]
    checks.close()


def test_an_old_interpreter_is_checked_as_the_oldest_that_the_tools_know(python: Interpreter) -> None:
    checks = StepChecks(python=replace(python, version="3.8.18"), seconds=60)
    lint, types = checks.check("if True:\n    match 1:\n        case 1: pass\n")
    assert [f.code for f in lint.findings] == ["E999"]
    assert [f.code for f in types.findings] == ["syntax"]
    assert [list(r.findings) for r in checks.check("print(len('a'))\n")] == [[], []]
    checks.close()


def test_where_another_interpreter_runs_the_steps_its_version_and_packages_count(tmp_path: Path) -> None:
    venv.create(tmp_path, symlinks=True)
    site = next(tmp_path.glob("lib/python3.*/site-packages"))
    for name in ("alike", "unlike"):
        facts, package = site / f"{name}-1.0.dist-info", site / name
        for folder in (package, facts):
            folder.mkdir()
        (package / "__init__.py").write_text("def one(a: int) -> int:\n    return a\n")
        (package / "deep.py").write_text("def two(a: int) -> int:\n    return a\n")
        (package / "py.typed").touch()
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (facts / "RECORD").write_text(f"{name}/__init__.py,,\n{name}/deep.py,,\n{name}-1.0.dist-info/METADATA,,\n")
    inside = [("Alike", "1.0"), ("unlike", "2.0"), ("more", "1.0")]
    checks = StepChecks(python=find_interpreter(tmp_path), version="3.9.2", packages=inside, seconds=60)
    lint, types = checks.check(
        "import alike, alike.deep, unlike, unlike.deep, unlike.deeper\nfrom unlike.deep import three\n"
        "alike.one('a')\nalike.deep.two('a')\nunlike.one('a')\nunlike.deep.two('a')\nthree(1)\n"
    )
    assert not lint.failure and not lint.findings and not types.failure
    assert [(f.code, f.line_number) for f in types.findings] == [("arg-type", 3), ("arg-type", 4)]
    # `match` came with 3.10.
    assert [f.code for f in checks.check("match 1:\n    case 1: pass\n")[0].findings] == ["E999"]
    checks.close()


def test_what_a_sandbox_gives_to_steps_is_no_fault(fresh):
    from tests.checkers.conftest import codes

    checks = fresh()
    code = "import asyncio\nawait asyncio.sleep(0)\nasync for n in count():\n    display(n, _)\n"
    checks.remember("async def count():\n    yield 1\n")
    found = codes(checks.check(code))
    assert {tool: remarks for tool, remarks in found.items() if remarks} == {}
    assert codes(checks.check("yield 1\n"))["flake8"]
