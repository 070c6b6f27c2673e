"""M3ToolEval from a real checkout, where CODENAV_EVAL_DATA names one: self-check, upstream's grader, hand solutions."""

from __future__ import annotations

import ast
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from m3_solutions import SOLUTIONS, Solution

import codenav
from codenav.core.protocols import Sandbox
from codenav.evals.m3tooleval import M3ToolEval
from codenav.evals.m3tooleval.grading import accepts, upstream_accepts
from codenav.evals.m3tooleval.selfcheck import spoil
from codenav.evals.task import Mode

CHECKOUTS = os.environ.get("CODENAV_EVAL_DATA")
"""A folder with a checkout of code-act in it, read before the tests clear the environment."""
pytestmark = pytest.mark.skipif(not CHECKOUTS, reason="CODENAV_EVAL_DATA names no checkouts")


@pytest.fixture(scope="module")
def upstream() -> M3ToolEval:
    return M3ToolEval(Path(str(CHECKOUTS)) / "code-act")


def test_the_real_tasks_are_built_and_pass_their_self_check(upstream: M3ToolEval, tmp_path: Path) -> None:
    samples = upstream.samples()
    assert len(samples) == 82 and len({sample.id for sample in samples}) == 82
    assert [len(list(group)) for _, group in itertools.groupby(samples, key=lambda sample: sample.group)] == [
        8,
        8,
        17,
        15,
        34,
    ]
    checks = upstream.selfcheck(tmp_path, notice=print)
    assert len(checks) == 9 and all(check.ok for check in checks), checks


def test_upstreams_grader_is_ours_of_that_name(upstream: M3ToolEval, tmp_path: Path) -> None:
    golds = [ast.literal_eval(sample.gold["value"]) for sample in upstream.samples()]
    answers = sorted(
        {text for gold in golds for one in (gold, spoil(gold)) for text in (str(one), repr(one), f"{one}.", f" {one}")}
        | {str(int(gold)) for gold in golds if isinstance(gold, float)}
        | {f"{gold:.2f}" for gold in golds if isinstance(gold, float)}
        | {"", "true", "false", "0", "1", "None", "nan", "inf", "[", "1e3", "0x10", "1_000", "('A',3)", "9" * 5000}
    )
    script = f"""
import json, sys
sys.path[:0] = [{str(Path(str(CHECKOUTS)) / "code-act/scripts/eval/m3tooleval")!r}]
class Blank:
    def __getattr__(self, name): return Blank
    def __init__(self, *a, **k): pass
for name in ("tqdm", "IPython", "IPython.core", "IPython.core.interactiveshell", "IPython.utils"):
    sys.modules[name] = Blank()
import io, contextlib
with contextlib.redirect_stdout(io.StringIO()):
    from tasks.base import get_task_iterator, task_iterators
    import tasks
golds = [task for tasks_, _ in task_iterators for task in tasks_]
print(json.dumps([[task.check_answer(answer) for answer in {answers!r}] for task in golds]))
"""
    theirs = subprocess.run([sys.executable, "-I", "-B", "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert theirs.returncode == 0, theirs.stderr
    assert json.loads(theirs.stdout) == [[upstream_accepts(answer, gold) for answer in answers] for gold in golds]


@pytest.fixture(scope="module")
def box(upstream: M3ToolEval, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    [folder] = upstream.setting(Mode.CODE_USE, tmp_path_factory.mktemp("m3")).on
    with codenav.sandbox(on=folder, calls=lambda name, arguments: None) as box:
        yield box


@pytest.mark.parametrize("solution", SOLUTIONS, ids=lambda solution: solution.id)
def test_hand_solutions_are_accepted_and_spoilt_ones_refused(
    solution: Solution, upstream: M3ToolEval, box: Sandbox
) -> None:
    [sample] = [sample for sample in upstream.samples() if sample.id == solution.id]
    gold = ast.literal_eval(sample.gold["value"])
    stated = [node.value for node in ast.walk(ast.parse("\n".join(solution.steps))) if isinstance(node, ast.Constant)]
    assert gold not in stated
    for steps, right in ((solution.steps, True), (solution.spoilt(), False)):
        box.run("answer = None")
        for step in steps:
            assert box.run(step).outcome == "ok"
        answer = box.get("answer")
        assert accepts(answer, gold) is right, answer
        assert not right or upstream_accepts(str(answer), gold), answer
