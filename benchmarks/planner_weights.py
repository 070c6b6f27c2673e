"""The fit of the planner's weights (`codenav/planner/weights.json`) to requests whose answers are known.

    python benchmarks/planner_weights.py              # print how the weights do, fitted without the package asked
    python benchmarks/planner_weights.py --write      # and write those that are fitted to all

Takes the development half and the tuning requests of `planner.py`, never the half that is put away. The planner runs
each request and tries far more than it does for a user; every result that it judges is a row: the evidence, and whether
the answer's pattern accepts it. Two models are fitted. The first ranks: a softmax over the results of a request
(Cao et al. 2007, Learning to rank, ListNet's top-one loss) and, weighed by it, a logistic loss, so that its value is a
chance as well. The second says whether the best is claimed: a logistic model over its log odds, its share among
all that read otherwise (`scoring.crowd`), and how many there are. The table is cross-validated in ten folds by package.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from planner import HALVES, Request, environment, read, variables

from codenav.config import home

WEIGHTS = Path(__file__).parents[1] / "codenav" / "planner" / "weights.json"
SETS = ("development", "tuning")
FOLDS, INNER = 10, 8
SHRINK = {"evidence": 0.5, "claim": 0.1}
"""The weights of the squared coefficients in the losses."""
STEPS, RATE = 1_500, 0.05
"""Steps and learning rate of Adam (Kingma and Ba 2015, the constants of its section 2)."""
IMPOSSIBLE = 0.3
"""The weight of an impossible request, relative to a possible one."""
BOUNDS = (0.3, 0.4, 0.5, 0.6, 0.7)
TRIES = 60
"""Calls per clause."""


@dataclass(frozen=True)
class Asked:
    """The results of one request."""

    package: str
    evidence: np.ndarray
    """Results x features; the last feature is 1."""
    right: np.ndarray
    seen: Sequence[Any]
    """`goal.Seen` of each."""
    weight: float = 1.0

    def impossible(self) -> Asked | None:
        """The same request, as if to a package that cannot do it: without the right results."""
        wrong = self.right == 0
        if not wrong.any() or wrong.all():
            return None
        seen = [one for one, kept in zip(self.seen, wrong, strict=True) if kept]
        return Asked(self.package, self.evidence[wrong], self.right[wrong], seen, IMPOSSIBLE)


def judged(job: tuple[Request, Path, Mapping[str, str]]) -> list[tuple[dict[str, float], bool, Any]]:
    """Evidence, correctness, and the key of comparison of each result for the last clause of a request."""
    request, venv, env = job
    os.environ.update(env)
    import codenav
    from codenav import errors
    from codenav.planner import call_search, goal, plan, scoring
    from codenav.planner.language import language

    found: dict[tuple[str, ...], tuple[dict[str, float], bool, Any]] = {}
    plain = scoring.features

    def watch(result: Any, of: Any) -> dict[str, float]:
        told = plain(result, of)
        asks = language().asks(of.clause.bare)
        if of.last and not (asks and result.type not in ("int", "float", "str", "bool", "complex")):
            # What is still to be counted is not what the pattern is for.
            found[result.lines] = told, accepts(request, (result.repr, result.printed)), goal.Seen.of(result)
        return told

    scoring.features, call_search.TRIES = watch, TRIES
    scoring.SURE, plan.GOOD, plan.FAR = 2.0, 2.0, 0.6
    with tempfile.TemporaryDirectory() as name:
        request.prepare(Path(name))
        with suppress(errors.UsageError):
            # A package without any source cannot be indexed.
            codenav.run(
                request.request,
                on=request.source,
                python=venv,
                work_dir=name,
                model="planner",
                code_timeout=5,
                rerank=False,
            )
    return list(found.values())


def accepts(request: Request, shown: Sequence[str]) -> bool:
    """True if the pattern accepts one of the ways to print the result."""
    texts = list(shown)
    try:
        texts.append(str(ast.literal_eval(shown[0])))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        texts.append(shown[0].strip("'\""))
    return any(re.search(request.answer, text, re.MULTILINE) for text in texts if text)


def collect(cache: Path) -> tuple[list[str], list[Asked]]:
    """The names of the features, and all requests with results; those that make files have no pattern to learn."""
    jobs = []
    for half in SETS:
        requests = read(half)
        beside = [one for other in HALVES for one in read(other)] if half in HALVES else requests
        venv = environment(sorted({request.package for request in beside}), cache)
        jobs += [(one, venv, variables(cache, half)) for one in requests if one.answer and not one.file]
    names: list[str] = []
    asked = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for number, ((request, *_), rows) in enumerate(zip(jobs, pool.map(judged, jobs), strict=True), 1):
            print(f"\r{number}/{len(jobs)} requests", end="", file=sys.stderr)
            if rows:
                names = names or list(rows[0][0])
                table = np.array([[*(row[0][name] for name in names), 1.0] for row in rows])
                right = np.array([float(row[1]) for row in rows])
                asked.append(Asked(request.package, table, right, [row[2] for row in rows]))
    print(file=sys.stderr)
    return names, asked


def descend(loss: Any, size: int) -> np.ndarray:
    """The weights that minimise a loss, given its gradient."""
    weights, mean, spread = np.zeros(size), np.zeros(size), np.zeros(size)
    for step in range(1, STEPS + 1):
        slope = loss(weights)
        mean, spread = 0.9 * mean + 0.1 * slope, 0.999 * spread + 0.001 * slope**2
        weights = weights - RATE * (mean / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.999**step)) + 1e-8)
    return weights


def ranking(asked: Sequence[Asked]) -> np.ndarray:
    """The first model: a weight for each feature, and the bias."""
    rows = np.vstack([one.evidence for one in asked])
    right = np.concatenate([one.right for one in asked])
    group = np.repeat(np.arange(len(asked)), [len(one.right) for one in asked])
    starts = np.searchsorted(group, np.arange(len(asked)))
    weight = np.array([one.weight for one in asked])[group]
    solvable = np.array([one.right.any() for one in asked])[group]
    features = rows[:, :-1]

    def slope(weights: np.ndarray) -> np.ndarray:
        scores = features @ weights[:-1]
        raised = np.exp(scores - np.maximum.reduceat(scores, starts)[group])
        share = raised / np.add.reduceat(raised, starts)[group]
        hits = raised * right
        hit = hits / np.maximum(np.add.reduceat(hits, starts)[group], 1e-12)
        ranked = features.T @ ((share - hit) * solvable)
        chance = 1 / (1 + np.exp(-(scores + weights[-1])))
        both = rows.T @ (weight * share * (chance - right))
        both[:-1] += ranked + SHRINK["evidence"] * weights[:-1]
        return both

    return descend(slope, rows.shape[1])


def best(weights: np.ndarray, one: Asked) -> tuple[np.ndarray, float]:
    """What the second model sees of a request, and whether the best result is right."""
    from codenav.planner.scoring import MANY, crowd

    scores = one.evidence @ weights
    first = int(scores.argmax())
    rivals = crowd(one.seen[first], scores[first], zip(one.seen, scores, strict=True))
    return np.array([scores[first], rivals, len({seen.shown for seen in one.seen}) / MANY, 1.0]), one.right[first]


def claiming(asked: Sequence[Asked]) -> np.ndarray:
    """The second model, from rankings that were fitted without the package in question."""
    seen = [(*best(weights, one), one.weight) for weights, held in folds(asked, INNER) for one in held]
    table, right, weight = (np.array(column) for column in zip(*seen, strict=True))

    def slope(weights: np.ndarray) -> np.ndarray:
        return table.T @ (weight * (1 / (1 + np.exp(-table @ weights)) - right)) + SHRINK["claim"] * weights

    return descend(slope, table.shape[1])


def folds(asked: Sequence[Asked], count: int) -> Iterator[tuple[np.ndarray, list[Asked]]]:
    """Rankings, each fitted to all but some packages, with the requests on those packages."""
    packages = sorted({one.package for one in asked})
    random.Random(1).shuffle(packages)
    for number in range(count):
        held = set(packages[number::count])
        yield ranking([one for one in asked if one.package not in held]), [one for one in asked if one.package in held]


def report(asked: Sequence[Asked]) -> None:
    """Print the table: solved and wrongly claimed requests at each bound, cross-validated."""
    seen: list[tuple[float, float, float]] = []
    packages = sorted({one.package for one in asked})
    random.Random(2).shuffle(packages)
    for number in range(FOLDS):
        held = set(packages[number::FOLDS])
        known = [one for one in asked if one.package not in held]
        first, second = ranking(known), claiming(known)
        for one in asked:
            if one.package in held:
                row, right = best(first, one)
                seen.append((1 / (1 + np.exp(-row @ second)), right, one.weight))
    real = [(chance, right) for chance, right, weight in seen if weight == 1.0]
    print(f"{len(real)} requests, {sum(one.right.any() for one in asked)} with a right result, the best one right in "
          f"{int(sum(right for _, right in real))}")  # fmt: skip
    print(f"{'claimed from':>12} {'solved':>8} {'wrong':>8} {'claimed, the right results taken away':>40}")
    others = [chance for chance, _, weight in seen if weight < 1.0]
    for bound in BOUNDS:
        claimed = [right for chance, right in real if chance >= bound]
        shares = (sum(claimed) / len(real), 1 - sum(claimed) / len(real) - (len(real) - len(claimed)) / len(real))
        lost = sum(chance >= bound for chance in others) / len(others)
        print(f"{bound:>12} {100 * shares[0]:>6.0f} % {100 * shares[1]:>6.0f} % {100 * lost:>38.0f} %")


def main() -> None:
    """Print the table; with `--write`, write the weights."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"write {WEIGHTS.name} for the planner")
    options = parser.parse_args()
    names, real = collect(home("cache") / "benchmarks" / "planner")
    asked = [*real, *(other for one in real if (other := one.impossible()) is not None)]
    report(asked)
    if options.write:
        first, second = ranking(asked), claiming(asked)
        told = {
            "evidence": {name: round(float(value), 2) for name, value in zip([*names, "bias"], first, strict=True)},
            "claim": {
                name: round(float(value), 2)
                for name, value in zip(("worth", "crowd", "tried", "bias"), second, strict=True)
            },
        }
        WEIGHTS.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
