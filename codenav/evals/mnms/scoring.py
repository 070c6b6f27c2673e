"""Scores of a program against the plans of its sample: the paper's metric, upstream's, and ours; the self-check.

Upstream's is what `mnms/evaluation` computes at the known commit, faults included, for comparisons with published
numbers: labels are read line by line and compared as sets. It sees calls only where a line alone is
`name = function(…)`; the other scores need the syntax tree (`programs.py`).
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from codenav.core.system.syntax import parsed
from codenav.core.system.terminal_text import few
from codenav.evals.mnms.plans import Plan, PlannedTask
from codenav.evals.mnms.programs import calls_in, program_of
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
    return {
        "correct": best.precision == best.recall == 1.0,
        **match_scores(best),
        "made": made,
        "gold": task.names[place],
        "set_gold": task.names[best_set_match(task.names, made)],
        "upstream_known": [label for label in labels_of(program) if label in tools],
        "upstream_gold": labels_of(render(task.plan)),
        "summed_up": summed_up,
        "unreadable": found is None,
        "of_tools": len(tools),
    }


def aggregate(scores: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The columns, from the scores of one epoch."""
    pairs = [(row["set_gold"], row["made"]) for row in scores]
    known = [(row["upstream_gold"], row["upstream_known"]) for row in scores]
    of = max((row["of_tools"] for row in scores), default=0)
    ours = sum_scores(scores)
    figures = [
        *tool_macro(pairs, of),
        tool_macro(pairs, 0)[2],
        *tool_macro(known, of),
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


Labels = Sequence[str]
_REFERENCE = re.compile(r"<node-\d+>\.\w+")


def labels_of(code: str) -> list[str]:
    """The functions that upstream finds in a program: those of lines that assign a call's whole result to a name."""
    found = []
    for line in code.split("\n"):
        tree = parsed(line.strip())
        # Upstream takes the first assignment in the order of `ast.walk`, wherever it stands in the line.
        first = next((node for node in ast.walk(tree) if isinstance(node, ast.Assign)), None) if tree else None
        if first is None or not isinstance(first.targets[0], ast.Name) or not isinstance(first.value, ast.Call):
            continue
        if isinstance(first.value.func, ast.Name):
            found.append(first.value.func.id)
    return found


def render(plan: Plan) -> str:
    """A plan as upstream writes it down before it reads the labels: an f-string that refers to nodes has no braces.

    A text that upstream's own formatting cannot take, because it has braces of its own beside a reference, is kept as
    it is: upstream's evaluator ends there.
    """
    lines = []
    for node in plan:
        arguments = ", ".join(f"{name}={_value(value)}" for name, value in node.args.items())
        lines.append(f"output{node.id} = {node.name}({arguments})")
    return "\n".join(lines)


def _value(value: object) -> str:
    # Numbers become text, and of a text only the quotes are escaped: a line break in it loses the call.
    if not isinstance(value, str):
        return f'"{value}"'
    if value.startswith("<node-") and " " not in value and ">" in value and "." in value:
        number, key = value[6 : value.index(">")], value[value.index(".") + 1 :]
        return f"output{number}['{key}']"
    if "<node-" in value:
        value = _REFERENCE.sub(lambda found: "output{}['{}']".format(*found[0][6:].split(">.")), value)
        quoted = value.replace('"', '\\"')
        return f'f"{quoted}"'
    quoted = value.replace('"', '\\"')
    return f'"{quoted}"'


def set_f1(gold: Labels, made: Labels) -> float:
    """F1 of two lists as sets, from 0 to 1; 0 if nothing agrees."""
    both = len(set(gold) & set(made))
    return 2 * both / (len(set(gold)) + len(set(made))) if both else 0.0


def best_set_match(golds: Sequence[Labels], made: Labels) -> int:
    """The place of the ground truth with the best `set_f1`; the first of equals."""
    scores = [set_f1(gold, made) for gold in golds]
    return scores.index(max(scores))


def tool_macro(pairs: Iterable[tuple[Labels, Labels]], of: int) -> tuple[float, float, float]:
    """Precision, recall and F1 averaged over tools, in percent, from pairs of gold and made labels, all of them tools.

    `of` is the number of tools there are; 0 means those that occur. Each tool counts once a sample. A tool that nothing
    calls and nothing should call counts 0, so that the averages mean something only over samples that have all tools.
    """
    wanted: Counter[str] = Counter()
    called: Counter[str] = Counter()
    hit: Counter[str] = Counter()
    for gold, made in pairs:
        wanted.update(set(gold))
        called.update(set(made))
        hit.update(set(gold) & set(made))
    # What nothing agrees in adds 0 to the sums.
    number = of or len(wanted | called) or 1
    precision = sum(hit[tool] / called[tool] for tool in hit)
    recall = sum(hit[tool] / wanted[tool] for tool in hit)
    f1 = sum(2 * hit[tool] / (wanted[tool] + called[tool]) for tool in hit)
    return 100 * precision / number, 100 * recall / number, 100 * f1 / number
