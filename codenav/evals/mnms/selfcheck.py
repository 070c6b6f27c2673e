"""The self-check: gold plans, scored as if an agent had written them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from codenav.core.system.terminal_text import few
from codenav.evals.mnms.plans import PlannedTask
from codenav.evals.mnms.programs import program_of
from codenav.evals.mnms.scoring import aggregate, score
from codenav.evals.mnms.upstream import rendered
from codenav.evals.task import Check


def checks(tasks: Sequence[PlannedTask], tools: Sequence[str], notice: Callable[[str], None]) -> list[Check]:
    """Checks of all plans and alternatives, as programs in upstream's form and in ours.

    Averages over all tools can only reach the share of tools that the file has.
    """
    notice(f"{len(tasks)} tasks, {sum(len(task.plans) for task in tasks)} plans")
    theirs = [score(task, rendered(task.plan), tools) for task in tasks]
    ours = [score(task, program_of(task.plan), tools) for task in tasks]
    others = [score(task, program_of(plan), tools) for task in tasks for plan in task.alternatives]
    spoilt = [score(task, program_of(task.plan[:-1]), tools) for task in tasks if _shorter_is_wrong(task)]
    occur = {name for task in tasks for name in task.names[0]}
    lost = [task.id for task, row in zip(tasks, theirs, strict=True) if row["upstream_gold"] != task.names[0]]
    read = {label for row in theirs for label in row["upstream_gold"]} & set(tools)
    upstream_table, our_table = aggregate(theirs), aggregate(ours)
    best = round(100 * len(occur) / len(tools), 6)
    unlike = [task.id for task, row in zip(tasks, ours, strict=True) if not row["correct"]]
    return [
        Check(
            "upstream's tool F1 of the plans, over the tools that its labels have",
            100.0,
            round(upstream_table["upstream F1"] * len(tools) / max(len(read), 1), 6),
            f"calls lost to its reading line by line in {len(lost)} plans: {few(lost, 20)}" if lost else "",
        ),
        Check("upstream's plan accuracy of the plans", 100.0, round(upstream_table["upstream plan accuracy"], 6)),
        Check(
            "tool F1 of the plans by syntax tree",
            best,
            round(our_table["F1"], 6),
            f"{len(occur)} of {len(tools)} tools occur",
        ),
        Check("counted F1 of the plans, mean over samples", 100.0, round(our_table["ours F1"], 6), few(unlike, 20)),
        Check("counted F1 of the plans, pooled", 100.0, round(our_table["ours F1 pooled"], 6)),
        Check("plans that are correct", len(tasks), sum(row["correct"] for row in ours), few(unlike, 20)),
        Check("alternative plans that are correct", len(others), sum(row["correct"] for row in others)),
        Check("plans without their last call that are correct", 0, sum(row["correct"] for row in spoilt)),
    ]


def _shorter_is_wrong(task: PlannedTask) -> bool:
    """True if no alternative of the task is its plan without the last call."""
    return sorted(task.names[0][:-1]) not in [sorted(names) for names in task.names] and len(task.plan) > 1
