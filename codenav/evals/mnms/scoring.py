"""Scores of a program against the plans of its sample: the paper's metric, upstream's, and ours; the self-check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from codenav.core.system.terminal_text import few
from codenav.evals.mnms.plans import PlannedTask
from codenav.evals.mnms.programs import calls_in, program_of
from codenav.evals.mnms.upstream import best_match as best_set_match
from codenav.evals.mnms.upstream import (
    edges,
    edit_distance,
    labels_of,
    plan_accuracy,
    pooled_f1,
    render,
    tool_macro,
)
from codenav.evals.scores import best_match, match_scores, mean_percent, sum_scores
from codenav.evals.task import Check, Column

COLUMNS = (
    Column(
        "P",
        "tool-macro precision in percent, as upstream defines it: sets of names, averaged over all tools; calls from "
        "the program's syntax tree, the best of several ground truths",
        "P",
    ),
    Column("R", "tool-macro recall, likewise", "R"),
    Column("F1", "tool-macro F1, likewise", "F1"),
    Column("F1 of tools that occur", "F1 averaged over the tools that a ground truth or a program has, in percent"),
    Column("upstream P", "tool-macro precision in percent, bug for bug: labels read line by line, the main plan only"),
    Column("upstream R", "tool-macro recall, likewise"),
    Column("upstream F1", "tool-macro F1, likewise"),
    Column("upstream edge F1", "F1 in percent of consecutive pairs of labels, all samples pooled"),
    Column("upstream argument F1", "F1 in percent of labels with the names of their arguments, all samples pooled"),
    Column(
        "upstream plan accuracy", "percent of samples with exactly the labels of the main plan, in order", share=True
    ),
    Column("upstream edit distance", "normalised edit distance of the labels in percent; 0 is best"),
    Column("ours P", "precision in percent, counted duplicates, mean over samples; the best of several ground truths"),
    Column("ours R", "recall, likewise"),
    Column("ours F1", "F1, likewise"),
    Column("ours F1 pooled", "F1 in percent, all calls of all samples pooled"),
    Column("correct", "percent of samples whose calls are those of a ground truth, in any order", share=True),
    Column("no summary", "percent of samples without a code summary, which score 0", share=True),
    Column("tools", "number of tools that the ground truths have"),
)
"""The columns of m&m's, in the order of the table."""


def score(task: PlannedTask, program: str, tools: Sequence[str], *, summed_up: bool = True) -> dict[str, Any]:
    """Scores of one program, in JSON types."""
    found = calls_in(program, tools) if program.strip() else []
    made = found or []
    best, place = best_match(made, task.names)
    labels = labels_of(program)
    plan = labels_of(render(task.plan))
    made_labels, gold_labels = [label for label, _ in labels], [label for label, _ in plan]
    return {
        "correct": best.precision == best.recall == 1.0,
        **match_scores(best),
        "made": made,
        "gold": task.names[place],
        "set_gold": task.names[best_set_match(task.names, made)],
        "upstream_made": made_labels,
        "upstream_gold": gold_labels,
        "upstream_known": [label for label in made_labels if label in tools],
        "upstream_edit_distance": edit_distance(gold_labels, made_labels, tools),
        "upstream_made_arguments": ["--".join([label, *names]) for label, names in labels],
        "upstream_gold_arguments": ["--".join([label, *names]) for label, names in plan],
        "summed_up": summed_up,
        "unreadable": found is None,
        "of_tools": len(tools),
    }


def aggregate(scores: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The columns, from the scores of one epoch."""
    pairs = [(row["set_gold"], row["made"]) for row in scores]
    theirs = [(row["upstream_gold"], row["upstream_made"]) for row in scores]
    known = [(row["upstream_gold"], row["upstream_known"]) for row in scores]
    arguments = [(row["upstream_gold_arguments"], row["upstream_made_arguments"]) for row in scores]
    of = max((row["of_tools"] for row in scores), default=0)
    ours = sum_scores(scores)
    figures = [
        *tool_macro(pairs, of),
        tool_macro(pairs, 0)[2],
        *tool_macro(known, of),
        pooled_f1([(edges(gold), edges(made)) for gold, made in theirs]),
        pooled_f1(arguments),
        plan_accuracy(theirs),
        mean_percent(row["upstream_edit_distance"] for row in scores),
        ours["precision"],
        ours["recall"],
        ours["f1"],
        ours["f1_pooled"],
        mean_percent(float(row["correct"]) for row in scores),
        mean_percent(float(not row["summed_up"]) for row in scores),
        float(len({name for gold, _ in pairs for name in gold})),
    ]
    return dict(zip((column.name for column in COLUMNS), figures, strict=True))


def checks(tasks: Sequence[PlannedTask], tools: Sequence[str], notice: Callable[[str], None]) -> list[Check]:
    """Checks of all plans and alternatives, as programs in upstream's form and in ours.

    Averages over all tools can only reach the share of tools that the file has.
    """
    notice(f"{len(tasks)} tasks, {sum(len(task.plans) for task in tasks)} plans")
    theirs = [score(task, render(task.plan), tools) for task in tasks]
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
