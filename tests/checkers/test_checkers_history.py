"""The knowledge that a step has of the steps before it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codenav.environments.checkers import StepChecks

Make = Callable[..., StepChecks]


def found(checks: StepChecks, code: str) -> list[list[str]]:
    """Codes, per tool; a tool that failed is a failure of the test."""
    reports = checks.check(code)
    assert not any(report.failure for report in reports), reports
    return [[finding.code for finding in report.findings] for report in reports]


UNKNOWN = [["F821"], ["name-defined"]]
CLEAN: list[list[str]] = [[], []]


def test_a_name_is_known_once_its_step_ran(warm: StepChecks) -> None:
    code = "def ha(a: int) -> int:\n    return a\n"
    assert found(warm, "ha(1)") == UNKNOWN
    assert found(warm, code) == CLEAN
    assert found(warm, "ha(1)") == UNKNOWN
    warm.remember(code)
    assert found(warm, "ha(1)") == CLEAN
    assert found(warm, "ha('a')") == [[], ["arg-type"]]


@pytest.mark.parametrize(
    ("binding", "name"),
    [
        ("import os.path as hb1", "hb1"),
        ("import xml.dom", "xml"),
        ("from math import tau as hb2", "hb2"),
        ("if __name__:\n    for hb3 in [1]:\n        hb4 = 1", "hb3 + hb4"),
        ("try:\n    import hb5\nexcept ImportError:\n    hb5 = None", "hb5"),
        ("with open('x') as hb6: pass", "hb6"),
        ("print(hb7 := 1, [hb8 := i for i in [1]])", "hb7 + hb8"),
        ("def hb9():\n    global hb10\n    hb10 = 1\nhb9()", "hb10"),
        ("(hb11, [hb12, *hb13]) = 1, [2, 3]", "hb11, hb12, hb13"),
        ("match {'a': [1]}:\n    case {'a': [hb14, *hb15], **hb16}: pass", "hb14, hb15, hb16"),
        ("class hb17: pass", "hb17()"),
        ("async def hb18(): pass", "hb18"),
        ("hb19: int = 1", "hb19 + 1"),
        ("_hb20 = __hb21 = 1", "_hb20 + __hb21"),
    ],
)
def test_every_way_to_bind_a_name(warm: StepChecks, binding: str, name: str) -> None:
    warm.remember(binding)
    assert found(warm, f"print({name})") == CLEAN


@pytest.mark.parametrize(
    "code",
    [
        "[hc for hc in [1]]",
        "def hcf(hc):\n    hc = 1",
        "class HC:\n    hc = 1",
        "hc: int",
        "try:\n    1 / 0\nexcept ZeroDivisionError as hc:\n    pass",
        "hc = 1\ndel hc",
        "hc = 1\nhc = = 2",
        "hc = 1\nreturn hc",
    ],
)
def test_what_does_not_outlive_its_step(warm: StepChecks, code: str) -> None:
    warm.remember(code)
    assert found(warm, "print(hc)") == UNKNOWN


def test_a_later_step_decides_on_the_type(warm: StepChecks) -> None:
    warm.remember("hd = 1\ndef hdf(a): return a\nclass HD:\n    one = 1\n")
    assert found(warm, "hd.upper()\nhdf(1, 2)\nHD.two\n") == [[], ["attr-defined", "call-arg", "attr-defined"]]
    rebound = "hd = str(hd)\nhd.upper()\ndef hdf(a, b): return a\nhdf(1, 2)\nclass HD:\n    two = 2\nHD.two\n"
    assert found(warm, rebound) == CLEAN
    warm.remember(rebound)
    assert found(warm, "hd.upper()\nhdf(1, 2)\nHD.two\n") == CLEAN
    assert found(warm, "hd.bit_length()\nhdf(1)\nHD.one\n") == [[], ["attr-defined", "call-arg", "attr-defined"]]


def test_a_step_leaves_its_variables_with_their_last_type(warm: StepChecks) -> None:
    warm.remember("import re\nhe = 1\nhe = 'one'\nhf = re.match('a', 'a')\nassert hf is not None\nhg = []\n")
    assert found(warm, "he.upper()\nhf.group(1)\nhg.append(1)\nhg.append('a')\n") == CLEAN
    assert found(warm, "he.bit_length()\nhg.push(1)\n") == [[], ["attr-defined", "attr-defined"]]


def test_two_classes_of_one_name_are_not_set_against_each_other(warm: StepChecks) -> None:
    warm.remember("class HH:\n    def f(self) -> int: return 1\nhh = HH()\n")
    assert (
        found(warm, "class HH:\n    def g(self) -> int: return 1\ndef hhf(a: HH) -> HH: return a\nhhf(hh)\n") == CLEAN
    )


def test_what_a_function_may_have_assigned_is_of_any_type(warm: StepChecks) -> None:
    warm.remember("hi = None\ndef hif():\n    global hi\n    hi = [1]\nhif()\n")
    assert found(warm, "hi.append(2)\n") == CLEAN
    assert found(warm, "hi.append(2)\ndef hig():\n    global hi\n    hi = 'a'\n    return hi.upper()\n") == CLEAN


def test_attributes_that_an_earlier_step_set_are_there(warm: StepChecks) -> None:
    warm.remember("class HJ: pass\nhj = HJ()\nhj.colour = 'red'\n")
    assert found(warm, "hj.colour\n") == CLEAN
    assert found(warm, "hj.height\n") == [[], ["attr-defined"]]


def test_a_submodule_that_an_earlier_step_loaded(warm: StepChecks) -> None:
    warm.remember("import xml.etree.ElementTree\n")
    assert found(warm, "xml.etree.ElementTree.fromstring('<a/>')\n") == CLEAN
    assert found(warm, "xml.etree.ElementTree.fromstrin('<a/>')\n") == [[], ["attr-defined"]]


def test_of_a_step_that_raised_only_what_ran_counts(warm: StepChecks) -> None:
    warm.remember("hk = [1]\nhl = 1\n")
    failing = "hm = 2\nfor hn in [1]:\n    hl = 'a'\n    hk.missing\nhk = 'text'\nho = 1\n"
    warm.remember(failing, failed_at=4)
    assert found(warm, "hk.append(hm)\nhl.upper(), hl.real, hn\n") == CLEAN
    assert found(warm, "hk.upper()\n") == [[], ["attr-defined"]]
    assert found(warm, "print(ho)\n") == UNKNOWN


@pytest.mark.parametrize("failing", ["def ht():\n    1 / 0", "class ht:\n    def __init__(self):\n        1 / 0"])
def test_of_a_step_that_raised_in_a_function_all_names_count(warm: StepChecks, failing: str) -> None:
    warm.remember("hu = [1]\n")
    warm.remember(f"{failing}\nhu = 'text'\nhv = 1\nht()\nhw = 2\n", failed_at=failing.count("\n") + 1)
    assert found(warm, "hu.append, hu.upper, hv, hw\n") == CLEAN
    assert found(warm, "ht(1)\n") == [[], ["call-arg"]]


def test_of_a_step_that_raised_in_a_lambda_all_names_count(warm: StepChecks) -> None:
    warm.remember("hx = lambda: 1 / 0\nhy = 1\nhx()\n", failed_at=1)
    assert found(warm, "hx, hy\n") == CLEAN


def test_a_step_that_failed_in_its_first_line_binds_nothing(warm: StepChecks) -> None:
    warm.remember("1 / 0\nhp = 1\n", failed_at=1)
    assert found(warm, "print(hp)\n") == UNKNOWN


@pytest.mark.parametrize(
    "code", ["from math import *", "exec('hq = 1')", "globals().update(hq=1)", "get_ipython().run_line_magic('a', 'b')"]
)
def test_after_a_step_that_may_bind_anything_no_name_is_unknown_to_flake8(fresh: Make, code: str) -> None:
    checks = fresh(types=False)
    checks.remember(code)
    assert found(checks, "print(hq)\n") == [[]]


def test_after_a_step_that_may_bind_anything_no_name_is_unknown_to_mypy(fresh: Make) -> None:
    checks = fresh(lint=False)
    checks.remember("known = 'text'\n")
    checks.remember("exec('hq = 1')")
    assert found(checks, "print(hq, known.uper())\n") == [["attr-defined"]]


def test_a_star_import_takes_the_types_of_what_it_may_have_replaced(fresh: Make) -> None:
    checks = fresh(lint=False)
    checks.remember("tau = 'text'\n")
    assert found(checks, "tau.real\n") == [["attr-defined"]]
    checks.remember("from math import *\n")
    assert found(checks, "tau.real\n") == [[]]


def test_postponed_annotations_last(fresh: Make) -> None:
    checks = fresh(types=False)
    later = "def f(a: Later): pass\nclass Later: pass\n"
    assert found(checks, later) == [["F821"]]
    checks.remember("from __future__ import annotations\n")
    assert found(checks, later) == [[]]


def test_a_step_that_mypy_cannot_read_costs_its_types_only(warm: StepChecks) -> None:
    code = "try:\n    from . import hr\nexcept ImportError:\n    hr = None\nhs = 'text'\n"
    lint, types = warm.check(code)
    assert lint.clean
    assert types.failure.startswith("mypy cannot read it") and not types.clean
    warm.remember(code)
    assert found(warm, "hr.foo, hs.foo\n") == CLEAN
    assert found(warm, "'a'.uper()\nprint(nowhere)\n") == [["F821"], ["attr-defined", "name-defined"]]


def test_forty_steps_that_build_on_each_other(fresh: Make) -> None:
    checks = fresh()
    checks.remember("v0 = 0\ndef f0(a: int) -> int: return a\n")
    for n in range(1, 41):
        code = f"v{n} = f{n - 1}(v{n - 1}) + v0\ndef f{n}(a: int) -> int: return f{n - 1}(a)\n"
        assert found(checks, code) == CLEAN
        checks.remember(code)
    assert found(checks, "v40.foo\nf40('a')\nf41\n") == [["F821"], ["attr-defined", "arg-type", "name-defined"]]


def test_libraries_that_come_one_after_another(fresh: Make) -> None:
    checks = fresh(lint=False)
    # A running mypy daemon breaks when `ctypes` or `asyncio` is added to it.
    for module in ("ctypes", "asyncio"):
        assert found(checks, f"import {module}\nprint({module}.nothing_like_it)\n") == [["attr-defined"]]
        checks.remember(f"import {module}\n")
    assert found(checks, "asyncio.run(1)\nctypes.c_int(2).value\n") == [["arg-type"]]


def test_a_line_below_the_step_or_above_it_binds_no_more_than_the_step(fresh: Make) -> None:
    checks = fresh(types=False)
    checks.remember("first = 1\nsecond = 2\n", failed_at=0)
    assert found(checks, "print(first)\n") == [["F821"]]
    checks.remember("third = 3\n", failed_at=99)
    assert found(checks, "print(third)\n") == [[]]
