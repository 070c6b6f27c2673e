"""What snapshots may cost: the rule by itself, and that a real state is charged for what it copies."""

from __future__ import annotations

import json
import subprocess

import pytest

from codenav.core.execution import GIB, Outcome, Resources
from codenav.sandboxes.launch import GUEST

RUN = """
import json, sys
sys.path.insert(0, sys.argv[1])
from guest_budget import Budget
budget, spent, lasted, made = Budget(), 0.0, 0.0, []
for seconds, size, fork, copying in json.loads(sys.argv[2]):
    snapshot = budget.allows(size)
    cost = fork + copying if snapshot else 0.0
    if snapshot:
        budget.begin(size)
    budget.step(seconds + cost, fork if snapshot else None, copying if snapshot else 0.0)
    spent, lasted = spent + cost, lasted + seconds
    made.append(snapshot)
print(json.dumps([spent / lasted, made]))
"""


@pytest.fixture
def budget(python):
    """Plays steps (seconds, size, cost of the fork, cost of copying); the share of the snapshots, and which were."""

    def play(steps):
        command = [python.executable, "-I", "-c", RUN, str(GUEST), json.dumps(steps)]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    return play


@pytest.mark.parametrize("seconds", [1.0, 3.0, 60.0])
@pytest.mark.parametrize(
    ("size", "fork", "copying"),
    [
        (10 << 20, 0.001, 0.002),
        (100 << 20, 0.005, 0.06),
        (100 << 20, 0.024, 0.0),
        (1 << 30, 0.007, 0.7),
        (1 << 30, 0.05, 3.8),
        (16 << 30, 0.8, 11.0),
        (1 << 30, 0.2, 0.0),
    ],
)
def test_long_steps_pay_less_than_a_tenth(budget, seconds, size, fork, copying):
    share, _ = budget([(seconds, size, fork, copying)] * 200)
    assert share < 0.1


def test_cheap_snapshots_are_made_before_every_step_however_short(budget):
    _, made = budget([(0.001, 100 << 20, 0.005, 0.0)] * 50)
    assert all(made)


def test_dear_snapshots_are_made_again_when_enough_time_has_passed(budget):
    _, made = budget([(1.0, 1 << 30, 0.007, 0.7)] * 60)
    assert 2 <= sum(made) <= 8


def test_a_state_that_was_cheap_and_becomes_dear_is_paid_for_afterwards(budget):
    quick, heavy = (0.01, 1 << 30, 0.007, 0.0), (1.0, 1 << 30, 0.007, 0.7)
    share, made = budget([(5.0, 1 << 20, 0.001, 0.0)] * 4 + [quick] * 5 + [heavy] * 40)
    assert all(made[:9])
    assert share < 0.1


def test_a_large_state_that_shrinks_is_cheap_again(budget):
    _, made = budget([(0.1, 4 << 30, 0.2, 0.0)] * 10 + [(0.01, 10 << 20, 0.001, 0.0)] * 10)
    assert all(made[10:])


def test_a_state_that_is_rewritten_is_not_copied_at_every_step(fresh):
    sandbox = fresh(resources=Resources(memory_bytes=GIB))
    sandbox.run(
        "import resource\nbig = bytearray(150 << 20)\ndef write():\n    for i in range(0, len(big), 4096): big[i] = 1"
    )
    faults = "before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\nwrite()\n"
    counted = []
    for _ in range(20):
        execution = sandbox.run(faults + "resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before")
        assert execution.outcome is Outcome.OK
        counted.append(int(execution.stdout))
    copied = [count for count in counted if count > 10_000]
    assert len(copied) < 15
    sandbox.run("import os; os._exit(1)")
    assert sandbox.run("len(big), big[4096]").stdout == f"({150 << 20}, 1)\n"
