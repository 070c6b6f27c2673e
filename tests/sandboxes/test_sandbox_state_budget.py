"""What snapshots may cost: the rule by itself, and that a real state is charged for what it copies."""

from __future__ import annotations

import itertools
import runpy

from codenav.core.execution import GIB, Outcome, Resources
from codenav.sandboxes.launch import GUEST

TRIED_ON = ("bubblewrap",)
"""What runs inside is the same in all of them."""


def play(steps):
    """Plays steps (seconds, size, cost of the fork, cost of copying); the share of the snapshots, and which were."""
    budget = runpy.run_path(str(GUEST / "guest_budget.py"))["Budget"]()
    spent, lasted, made = 0.0, 0.0, []
    for seconds, size, fork, copying in steps:
        snapshot = budget.allows(size)
        cost = fork + copying if snapshot else 0.0
        if snapshot:
            budget.begin(size)
        budget.step(seconds + cost, cost)
        spent, lasted = spent + cost, lasted + seconds
        made.append(snapshot)
    return spent / lasted, made


def test_long_steps_pay_less_than_a_tenth():
    states = [
        (10 << 20, 0.001, 0.002),
        (100 << 20, 0.005, 0.06),
        (100 << 20, 0.024, 0.0),
        (1 << 30, 0.007, 0.7),
        (1 << 30, 0.05, 3.8),
        (16 << 30, 0.8, 11.0),
        (1 << 30, 0.2, 0.0),
    ]
    for seconds, state in itertools.product([1.0, 3.0, 60.0], states):
        assert play([(seconds, *state)] * 200)[0] < 0.1, (seconds, state)


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
