"""The time of a verification: linear in what is compared, and never longer than its budget."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from codenav.core.execution import Execution, Held, Outcome, Ran, Replayed, Verdict
from codenav.core.options import SandboxOptions
from codenav.core.system.bounded import OutOfTime, within
from codenav.episodes.compared import Comparison, Left
from codenav.episodes.figures import numbers_in
from codenav.episodes.objects import Objects
from codenav.episodes.repeats import Results
from codenav.episodes.supported import unsupported
from codenav.session.replaying import Beginning, Replay
from codenav.session.sandbox_factory import SandboxFactory

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
import summaries

LONG = {
    "numbers": "\n".join(map(str, range(20_000))),
    "one line": str(list(range(20_000))),
    "floats": " ".join(str(one / 7) for one in range(20_000)),
    "words": " ".join(f"word{one}x" for one in range(20_000)),
    "names in quotes": str([f"name {one}" for one in range(5000)]),
    "digits": "1" * 200_000,
    "odd numbers": f"0e400 1e{'9' * 5000} 0e{'9' * 5000} 1.{'0' * 400} 0.{'0' * 400}1 {'9' * 5000}",
}


def comparison(code: str, output: str, steps: int = 1) -> Verdict:
    ran = [Ran(code, Execution(Outcome.OK, stdout=output))] * steps
    return Comparison(code, Left(Held(), ran=ran), Results(Replayed(output), {})).verdict()


@pytest.mark.parametrize("kind", LONG)
def test_a_long_output_is_compared_in_seconds(kind: str) -> None:
    """The numbers took minutes."""
    code = "import data\nprint(data.read())"
    began = time.monotonic()
    assert comparison(code, LONG[kind]).compared == ("the last output",)
    unsupported(LONG[kind], Replayed(LONG[kind]), script=code, request="")
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    "code",
    [
        "x0 = len('abc')\n" + "".join(f"x{at + 1} = x{at} + x{at}\n" for at in range(80)) + "print(x80)",
        "def f0(x): return x\n"
        + "".join(f"def f{at + 1}(x): return f{at}(x) + f{at}(x)\n" for at in range(80))
        + "print(f80(2))",
    ],
    ids=["names", "functions"],
)
def test_code_that_uses_names_twice_is_read_once(code: str) -> None:
    """Each further line took twice as long."""
    assert within(20, lambda: comparison(code, "4\n")).compared == ("the last output",)


def test_an_int_of_more_digits_than_python_writes_is_compared() -> None:
    code = f"x = 0x{'f' * 5000}\nprint(x % 97)"
    assert comparison(code, "4\n").verified


def test_work_that_takes_too_long_is_stopped() -> None:
    ended: list[int] = []

    def work() -> None:
        try:
            while True:
                sum(one.value for one in numbers_in("1 2 3"))
        finally:
            ended.append(1)

    began = time.monotonic()
    with pytest.raises(OutOfTime):
        within(0.2, work)
    while not ended and time.monotonic() - began < 10:
        time.sleep(0.01)
    assert ended and time.monotonic() - began < 5
    assert within(5, lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        within(5, lambda: 1 // 0)


def test_a_step_that_prints_100_000_numbers(tmp_path: Path) -> None:
    case = {
        "name": "many numbers",
        "request": "What is the last of them?",
        "steps": ["many = list(range(100_000))\nfor one in many:\n    print(one)", "x = 10**5000\ny = [x] * 5000;"],
        "answer": "99999",
    }
    summary = summaries.run(case, tmp_path).summary
    assert summary.outcome == "reproduced" and summary.answer_supported, summary.told


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("import time\ntime.sleep(60)", "not run: the script did not end within"),
        (
            "import time\nclass Slow:\n    def __repr__(self):\n        time.sleep(60)\n        return ''\n"
            "slow = [Slow() for _ in range(50)]\nn = sum(range(10))",
            "reproduced (compared: n)",
        ),
    ],
)
def test_the_budget_holds_whatever_runs(tmp_path: Path, script: str, told: str) -> None:
    factory = SandboxFactory.of(SandboxOptions("bubblewrap"))
    beginning = Beginning.keep(None, tmp_path, factory, Objects(tmp_path / "objects"))
    with factory.start(None) as sandbox:
        ran = [Ran("n = sum(range(10))", sandbox.run("n = sum(range(10))"))]
        began = time.monotonic()
        verdict = Replay(sandbox, factory, beginning, ran, [""])(script, timeout=6)
    assert time.monotonic() - began < 12
    assert verdict.told.startswith(told), verdict.told
