"""Verification: what counts as the same result, and the sentence that says why not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from codenav.actions import Code, CodeObservation, Search, SearchObservation, Step
from codenav.episodes.verify import script_from_steps, verify
from codenav.errors import SandboxUnavailable
from codenav.execution import Execution, ExecutionError, Outcome, SandboxInfo, SandboxSpec, Variable, Verdict
from codenav.interpreter import find_interpreter
from codenav.protocols import Sandbox
from codenav.sandboxes import start


@dataclass
class Replayed:
    """A sandbox whose one step gives what the test says."""

    execution: Execution
    left: Mapping[str, Variable] = field(default_factory=dict)
    info: SandboxInfo = SandboxInfo("process", False, "3.11.7", "/work", "none")
    ran: list[tuple[str, float | None]] = field(default_factory=list)
    closed: int = 0

    def run(self, code: str, *, timeout: float | None = None) -> Execution:
        self.ran.append((code, timeout))
        return self.execution

    def variables(self) -> Mapping[str, Variable]:
        return self.left

    def interrupt(self) -> None:
        raise KeyboardInterrupt

    def close(self) -> None:
        self.closed += 1


def variables(**values: tuple[str, str]) -> dict[str, Variable]:
    return {name: Variable(name, type, repr) for name, (type, repr) in values.items()}


def compared(
    here: Mapping[str, Variable], there: Mapping[str, Variable], *, printed: str = "", expected: str = ""
) -> Verdict:
    """The verdict where the replay leaves `here` and prints `printed`."""
    sandbox = Replayed(Execution(Outcome.OK, stdout=printed), here)
    verdict = verify("x", start=lambda inputs: sandbox, inputs=None, expected=there, stdout=expected, timeout=5)
    assert sandbox.closed == 1
    return verdict


FUNCTION = ("function", "<function f at 0x7f0011223344>")


@pytest.mark.parametrize(
    ("here", "there"),
    [
        (("int", "4"), ("int", "4")),
        (("Thing", "<Thing at 0x7f00aa> of 3"), ("Thing", "<Thing at 0x55bb>  of 3".replace("  ", " "))),
        (("list", "[<object object at 0x7f11>, 1]"), ("list", "[<object object at 0x7f22>, 1]")),
        (("Lib", "Lib(handle=0x7f3c11223344)"), ("Lib", "Lib(handle=0x7f3c55667788)")),
        (("set", "{'a', 'b'}"), ("set", "{'b', 'a'}")),
        (("dict", "{'k': {'a', 'b'}}"), ("dict", "{'k': {'b', 'a'}}")),
        (("str", "a" * 40 + " … " + "b" * 40), ("str", "a" * 90 + "c" + "b" * 90)),
    ],
)
def test_the_same(here: tuple[str, str], there: tuple[str, str]) -> None:
    assert compared(variables(x=here), variables(x=there)) == Verdict(True)


@pytest.mark.parametrize(
    ("here", "there", "reason"),
    [
        (("int", "4"), ("int", "5"), "x is 4 in the replay and 5 in the episode"),
        (("int", "4"), ("str", "'4'"), "x has type int in the replay and str in the episode"),
        (
            ("list", "['ab', 'c']"),
            ("list", "['a', 'bc']"),
            "x is ['ab', 'c'] in the replay and ['a', 'bc'] in the episode",
        ),
        (("dict", "{1: 2}"), ("dict", "{2: 1}"), "x is {1: 2} in the replay and {2: 1} in the episode"),
        (("set", "{((((("), ("set", "(((((({"[1:]), "x is {((((( in the replay and ((((({ in the episode"),
        (("str", "'a … b'"), ("str", "'a c b'"), "x is 'a … b' in the replay and 'a c b' in the episode"),
        (("str", "'0xff'"), ("str", "'0xfe'"), "x is '0xff' in the replay and '0xfe' in the episode"),
    ],
)
def test_not_the_same(here: tuple[str, str], there: tuple[str, str], reason: str) -> None:
    assert compared(variables(x=here), variables(x=there)) == Verdict(False, reason)


def test_long_values_are_cut_where_they_differ() -> None:
    here, there = "[" + "0, " * 500 + "1]", "[" + "0, " * 500 + "2]"
    reason = compared(variables(x=("list", here)), variables(x=("list", there))).reason
    assert len(reason) < 240
    assert reason.startswith("x is …") and "1] in the replay" in reason and reason.endswith("2] in the episode")
    lines = compared(variables(x=("str", "a\nb")), variables(x=("str", "a\nc"))).reason
    assert "\n" not in lines


def test_a_value_that_one_side_does_not_show_is_passed_over() -> None:
    here, there = variables(t=("Table", "<Table>"), x=("int", "1")), variables(t=("Table", "a  b"), x=("int", "1"))
    assert compared(here, there).verified and compared(there, here).verified
    here["x"] = Variable("x", "int", "2")
    assert compared(here, there).reason == "x is 2 in the replay and 1 in the episode"


def test_every_common_variable_counts_and_others_do_not() -> None:
    here = variables(x=("int", "1"), y=("int", "2"), mine=("int", "3"))
    there = variables(x=("int", "1"), y=("int", "3"), theirs=("int", "4"))
    assert compared(here, there).reason == "y is 2 in the replay and 3 in the episode"
    assert compared(here, variables(x=("int", "1"), theirs=("int", "4")), printed="a", expected="b").verified


@pytest.mark.parametrize(
    "thing",
    [
        FUNCTION,
        ("type", "<class '__main__.A'>"),
        ("ABCMeta", "<class '__main__.A'>"),
        ("EnumType", "<enum 'Color'>"),
        ("module", "<module 'os' from '/usr/lib/os.py'>"),
        ("Thing", "<__main__.Thing object at 0x7f0011>"),
        ("Table", "<Table>"),
        ("Table", "<Table: its repr takes too long>"),
    ],
)
def test_only_data_counts(thing: tuple[str, str]) -> None:
    """A function, a class, or an object without a repr says nothing of the result: the output decides."""
    both = variables(f=thing)
    assert compared(both, both, printed="4\n", expected="4").verified
    assert compared(both, both, printed="4\n", expected="5") == Verdict(
        False, "line 1 of the output is '4' in the replay and '5' in the episode"
    )
    assert compared(variables(x=("int", "1")), variables(x=thing)).reason.startswith(
        "x has type int in the replay and "
    )


@pytest.mark.parametrize(
    ("here", "there", "reason"),
    [
        ("a\nb\n", "a\nb", ""),
        ("a  \nb\t\n\n", "a\nb", ""),
        ("<f at 0x7f01>", "<f at 0x7f02>", ""),
        ("a\nb", "a\nc", "line 2 of the output is 'b' in the replay and 'c' in the episode"),
        ("a", "a\nc", "line 2 of the output is missing in the replay and 'c' in the episode"),
        ("a\nb", "a", "line 2 of the output is 'b' in the replay and missing in the episode"),
        ("", "c", "line 1 of the output is '' in the replay and 'c' in the episode"),
    ],
)
def test_without_common_variables_the_output_decides(here: str, there: str, reason: str) -> None:
    verdict = compared(variables(a=("int", "1")), variables(b=("int", "1")), printed=here, expected=there)
    assert verdict == Verdict(not reason, reason)


def test_a_script_that_does_nothing_is_not_the_result() -> None:
    verdict = compared({}, variables(x=("int", "1")))
    assert verdict == Verdict(False, "the script sets none of the episode's variables and prints nothing")
    assert compared({}, {}).verified, "an episode that only wrote files leaves nothing to compare"


@pytest.mark.parametrize(
    ("execution", "reason"),
    [
        (
            Execution(Outcome.ERROR, error=ExecutionError("NameError", "name 'y' is not defined", "print(y)", 3)),
            "the script raised NameError: name 'y' is not defined (line 3: print(y))",
        ),
        (Execution(Outcome.ERROR, error=ExecutionError("SystemExit", "")), "the script raised SystemExit"),
        (Execution(Outcome.TIMEOUT), "the script did not end within 5 seconds"),
        (Execution(Outcome.OUT_OF_MEMORY), "the script used more memory than it may"),
        (Execution(Outcome.CRASHED), "the script ended its process"),
        (Execution(Outcome.PROTOCOL_VIOLATION), "the script broke the sandbox's protocol"),
    ],
)
def test_a_script_that_fails(execution: Execution, reason: str) -> None:
    sandbox = Replayed(execution, variables(x=("int", "1")))
    there = variables(x=("int", "1"))
    verdict = verify("x", start=lambda inputs: sandbox, inputs=None, expected=there, stdout="", timeout=5)
    assert verdict == Verdict(False, reason)
    assert sandbox.closed == 1


def test_the_script_gets_the_inputs_and_the_time(tmp_path: Path) -> None:
    seen: list[Path | None] = []
    sandbox = Replayed(Execution(Outcome.OK))

    def start(inputs: Path | None) -> Sandbox:
        seen.append(inputs)
        return sandbox

    assert verify("y = 1", start=start, inputs=tmp_path, expected={}, stdout="", timeout=7).verified
    assert seen == [tmp_path] and sandbox.ran == [("y = 1", 7)]


def test_without_code_or_sandbox_there_is_a_reason() -> None:
    def start(inputs: Path | None) -> Sandbox:
        raise SandboxUnavailable("user namespaces are switched off")

    def never(inputs: Path | None) -> Sandbox:
        raise KeyboardInterrupt

    def check(script: str, starter: Callable[[Path | None], Sandbox]) -> Verdict:
        return verify(script, start=starter, inputs=None, expected={}, stdout="", timeout=5)

    assert check("x", start).reason == "it could not be replayed: user namespaces are switched off"
    assert check(" \n", never).reason == "there is no code"


@pytest.mark.parametrize(
    ("steps", "script", "reason"),
    [
        (["x = 5", "y = [object(), {str(i) for i in range(300)}, x]"], "", ""),
        (["text = open('in.txt').read()", "open('in.txt', 'w').write('changed')"], "", ""),
        (["class A: pass", "a = A()", "print(A.__name__)"], "print('A ')", ""),
        (["class A: pass", "a = A()", "print(A.__name__)"], "print('B')", "line 1 of the output is 'B' in the replay"),
        (["import random", "x = random.random()"], "", "x is 0."),
        (
            ["x = 1"],
            "x = 1\nundefined",
            "the script raised NameError: name 'undefined' is not defined (line 2: undefined)",
        ),
        (["x = 1"], "import os; os._exit(1)", "the script ended its process"),
        (["x = 1"], "raise SystemExit", "the script raised SystemExit"),
        (["x = 1"], "def f(:", "the script raised SyntaxError"),
    ],
)
def test_in_a_real_sandbox(tmp_path: Path, steps: list[str], script: str, reason: str) -> None:
    (tmp_path / "in.txt").write_text("in")
    python = find_interpreter()

    def fresh(inputs: Path | None) -> Sandbox:
        return start("process", SandboxSpec(python=python, work_dir=inputs, copy_out=False))

    episode = fresh(tmp_path)
    try:
        ran = [episode.run(code, timeout=20) for code in steps]
        expected = dict(episode.variables())
    finally:
        episode.close()
    verdict = verify(
        script or "\n".join(steps),
        start=fresh,
        inputs=tmp_path,
        expected=expected,
        stdout="".join(execution.stdout for execution in ran),
        timeout=20,
    )
    assert verdict.verified == (not reason)
    assert verdict.reason.startswith(reason)
    assert (tmp_path / "in.txt").read_text() == "in"


def step(number: int, code: str, outcome: Outcome = Outcome.OK) -> Step:
    return Step(number, Code(code), CodeObservation("", execution=Execution(outcome)))


def test_a_script_is_the_code_that_ran_to_its_end() -> None:
    steps = [
        Step(1, Search("x"), SearchObservation("")),
        step(2, "\nx = 1\n"),
        step(3, "x = 1 / 0", Outcome.ERROR),
        step(4, "while True: pass", Outcome.TIMEOUT),
        step(5, "def f():\n    return x\n\n"),
        step(6, "\n"),
        step(7, "print(f())"),
    ]
    assert script_from_steps(steps) == "x = 1\n\ndef f():\n    return x\n\nprint(f())\n"
    assert script_from_steps([]) == script_from_steps(steps[:1]) == script_from_steps([step(1, " \n")]) == ""


def test_future_imports_come_first() -> None:
    steps = [
        step(1, 'x = "from __future__ import annotations"'),
        step(
            2, '"""Doc."""\nfrom __future__ import annotations\n\f\nfrom __future__ import (\n    division,\n)\ny = 1'
        ),
        step(3, "from __future__ import annotations\r\nz = 1"),
    ]
    script = script_from_steps(steps)
    assert script.startswith("from __future__ import annotations\nfrom __future__ import division\n\nx = ")
    held: dict[str, object] = {}
    exec(compile(script, "script", "exec"), held)
    assert (held["x"], held["y"], held["z"]) == ("from __future__ import annotations", 1, 1)
    odd = "from __future__ import annotations; a = 1"
    assert script_from_steps([step(1, odd)]) == odd + "\n"
    unparsable = "from __future__ import x\n???"
    assert script_from_steps([step(1, unparsable)]) == unparsable + "\n"
