"""The metric of m&m's own evaluator, faults included: labels read line by line, compared as sets.

An implementation of what `mnms/evaluation` computes at the known commit, for comparisons with published numbers. It
sees calls only where a line alone is `name = function(…)`; scores of programs need the syntax tree (`programs.py`).
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from codenav.core.system.syntax import parsed
from codenav.evals.mnms.plans import Plan
from codenav.evals.scores import mean_percent

Labels = Sequence[str]
_REFERENCE = re.compile(r"<node-\d+>\.\w+")


def labels_of(code: str) -> list[tuple[str, tuple[str, ...]]]:
    """The functions that upstream finds in a program, each with the sorted names of its keyword arguments.

    They are those of lines that assign a call's whole result to a name.
    """
    found = []
    for line in code.split("\n"):
        tree = parsed(line.strip())
        # Upstream takes the first assignment in the order of `ast.walk`, wherever it stands in the line.
        first = next((node for node in ast.walk(tree) if isinstance(node, ast.Assign)), None) if tree else None
        if first is None or not isinstance(first.targets[0], ast.Name) or not isinstance(first.value, ast.Call):
            continue
        function = first.value.func
        if isinstance(function, ast.Name):
            names = {str(keyword.arg) for keyword in first.value.keywords}
            found.append((function.id, tuple(sorted(names))))
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


def best_match(golds: Sequence[Labels], made: Labels) -> int:
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


def edges(labels: Labels) -> list[str]:
    """Pairs of consecutive labels, as upstream's metric `edge` names them."""
    return [f"{first}--{second}" for first, second in pairwise(labels)]


def pooled_f1(pairs: Iterable[tuple[Labels, Labels]]) -> float:
    """F1 in percent of labels as sets, all samples pooled: upstream's `edge` and `argname`."""
    hit = total = 0
    for gold, made in pairs:
        hit += len(set(gold) & set(made))
        total += len(set(gold)) + len(set(made))
    return 200 * hit / total if hit else 0.0


def plan_accuracy(pairs: Iterable[tuple[Labels, Labels]]) -> float:
    """Percent of samples whose lists of labels are the same."""
    return mean_percent(list(gold) == list(made) for gold, made in pairs)


def edit_distance(gold: Labels, made: Labels, tools: Sequence[str]) -> float:
    """Upstream's normalised edit distance, from 0 to 1: insertions and deletions, over the lengths. 0 is the same.

    All labels that are no tools are one and the same.
    """
    known = {tool: place for place, tool in enumerate(tools, 1)}
    return 1 - _ratio([known.get(one, 0) for one in gold], [known.get(one, 0) for one in made])


def _ratio(one: Sequence[int], other: Sequence[int]) -> float:
    if not one and not other:
        return 1.0
    row = [0] * (len(other) + 1)
    for left in one:
        before = row
        row = [0]
        for place, right in enumerate(other):
            row.append(before[place] + 1 if left == right else max(before[place + 1], row[place]))
    return 2 * row[-1] / (len(one) + len(other))
