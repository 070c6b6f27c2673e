"""Verification: how a replay ends, and the script that is made of steps. What counts as the same: the summaries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from codenav.core.actions import Code, CodeObservation, Search, SearchObservation, Step
from codenav.core.errors import SandboxUnavailable
from codenav.core.execution import DIFFERS, Digest, Execution, ExecutionError, Held, Outcome, Ran, SandboxInfo, Verdict
from codenav.core.protocols import Sandbox
from codenav.episodes.code import printed
from codenav.episodes.compared import Left
from codenav.episodes.verify import script_from_steps, verify


@dataclass
class Played:
    """A sandbox whose one step gives what the test says."""

    execution: Execution
    held: Held = Held()
    info: SandboxInfo = SandboxInfo("process", False, "3.11.7", "/work", "none")
    ran: list[tuple[str, float | None]] = field(default_factory=list)
    closed: int = 0

    def run(self, code: str, *, timeout: float | None = None) -> Execution:
        if code.startswith("assert False, "):
            # The witness's own step.
            error = ExecutionError("AssertionError", code.split("'")[1])
            return Execution(Outcome.ERROR, error=error)
        self.ran.append((code, timeout))
        return self.execution

    def digests(self, first: Sequence[str] = ()) -> Held:
        return self.held

    def artifacts(self) -> list[str]:
        return []

    def close(self) -> None:
        self.closed += 1


def held(**values: tuple[str, str]) -> Held:
    """Variables by type and repr; equal reprs have equal digests."""
    items = {name: Digest(name, of, repr.encode().hex().ljust(32, "0")[:32], "firm", False, repr)
             for name, (of, repr) in values.items()}  # fmt: skip
    return Held(items)


def compared(script: str, here: Held, there: Held, *, steps: Sequence[str] = (), printed: str = "") -> Verdict:
    """The verdict where the replay leaves `here` and the session has left `there`."""
    sandboxes = [Played(Execution(Outcome.OK, stdout=printed), here), Played(Execution(Outcome.OK), there)]
    ran = [Ran(code, Execution(Outcome.OK)) for code in steps]
    started = iter(sandboxes)
    verdict = verify(script, start=lambda inputs: next(started), inputs=None, left=Left(there, ran=ran), timeout=5)
    # The second one is for the steps of the session, which give the same again.
    assert [one.closed for one in sandboxes] == [1, 0 if verdict.verified else 1]
    return verdict


def test_what_was_compared_is_listed() -> None:
    both = held(x=("int", "4"), y=("int", "5"))
    verdict = compared("import a\nx = a.f()\ny = a.g()", both, both, steps=["import a\nx = a.f()\ny = a.g()"])
    assert verdict.verified and set(verdict.compared) == {"x", "y"}


@pytest.mark.parametrize(
    ("here", "there", "reason"),
    [
        (("int", "4"), ("int", "5"), "x is 4 in the replay and 5 in the episode"),
        (("int", "4"), ("str", "'4'"), "x has type int in the replay and str in the episode"),
        (("dict", "{1: 2}"), ("dict", "{2: 1}"), "x is {1: 2} in the replay and {2: 1} in the episode"),
    ],
)
def test_both_values_are_told(here: tuple[str, str], there: tuple[str, str], reason: str) -> None:
    assert compared("x = f()", held(x=here), held(x=there)) == Verdict(False, reason, outcome=DIFFERS)


def test_long_values_are_cut_where_they_differ() -> None:
    here, there = "[" + "0, " * 500 + "1]", "[" + "0, " * 500 + "2]"
    reason = compared(
        "x = f()", held(x=("list", here)), Held({"x": Digest("x", "list", "1" * 32, "firm", True, there)})
    )
    assert len(reason.reason) < 240
    assert reason.reason.startswith("x is …") and reason.reason.endswith("2] in the episode")


def test_a_value_that_one_side_cannot_compare_is_passed_over() -> None:
    unseen = Held({"t": Digest("t", "Table", "", "none", False, "<Table>"), **held(x=("int", "1")).digests})
    seen = Held({"t": Digest("t", "Table", "2" * 32, "firm", True, "a"), **held(x=("int", "1")).digests})
    assert compared("t = f()\nx = g()", unseen, seen).compared == ("x",)
    assert compared("t = f()\nx = g()", seen, unseen).compared == ("x",)


@pytest.mark.parametrize(
    ("execution", "reason"),
    [
        (
            Execution(Outcome.ERROR, error=ExecutionError("NameError", "name 'y' is not defined", "print(y)", 3)),
            "the script raised NameError: name 'y' is not defined (line 3: print(y))",
        ),
        (Execution(Outcome.ERROR, error=ExecutionError("SystemExit", "")), "the script raised SystemExit"),
        (Execution(Outcome.TIMEOUT), "the script did not end within 5 seconds"),
        (Execution(Outcome.OUT_OF_MEMORY), "the script used more memory than allowed"),
        (Execution(Outcome.CRASHED), "the script ended its process"),
        (Execution(Outcome.PROTOCOL_VIOLATION), "the script broke the sandbox's protocol"),
    ],
)
def test_a_script_that_fails(execution: Execution, reason: str) -> None:
    sandbox = Played(execution, held(x=("int", "1")))
    left = Left(held(x=("int", "1")))
    verdict = verify("x", start=lambda inputs: sandbox, inputs=None, left=left, timeout=5)
    assert verdict == Verdict(False, reason)
    assert sandbox.closed == 1


def test_the_script_gets_the_inputs_and_the_time(tmp_path: Path) -> None:
    seen: list[Path | None] = []
    sandbox = Played(Execution(Outcome.OK))

    def start(inputs: Path | None) -> Sandbox:
        seen.append(inputs)
        return sandbox  # type: ignore[return-value]

    verify("y = 1", start=start, inputs=tmp_path, left=Left(), timeout=7)
    assert set(seen) == {tmp_path} and sandbox.ran[0] == ("y = 1", 7)


def test_without_code_or_sandbox_there_is_a_reason() -> None:
    def start(inputs: Path | None) -> Sandbox:
        raise SandboxUnavailable("user namespaces are switched off")

    def never(inputs: Path | None) -> Sandbox:
        raise KeyboardInterrupt

    def check(script: str, starter: Callable[[Path | None], Sandbox]) -> Verdict:
        return verify(script, start=starter, inputs=None, left=Left(), timeout=5)

    assert check("x", start).reason == "it could not be replayed: user namespaces are switched off"
    assert check(" \n", never).reason == "there is no code"


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


@pytest.mark.parametrize(
    ("code", "stdout", "said"),
    [
        ("x = 3\nopen('a', 'w').write('12')", "2\n", ""),
        ("print('done')\nPath('a').write_text('12')", "done\n2\n", "done"),
        ("print('done')\nPath('a').write_text('12')", "done\n", "done\n"),
        ("count", "34\n", "34\n"),
        ("area()", "2\n", "2\n"),
        ("def f(:", "2\n", "2\n"),
    ],
)
def test_how_much_a_call_has_written_is_no_result(code: str, stdout: str, said: str) -> None:
    assert printed(code, stdout) == said
