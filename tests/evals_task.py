"""A small benchmark of our own: sums over a code base of one file, with the trace of its calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from codenav.agents.models import ScriptedModel
from codenav.core.actions import Action, Code, CodeSummary, Done, Search
from codenav.evals.task import Attempt, Column, Mode, Sample, Setting

CODE = '''
"""A shop."""

import functools
import json
import pathlib

_asked = [0]


def _traced(function):
    @functools.wraps(function)
    def wrapper(**arguments):
        if _asked[0] < 900:
            _asked[0] += 1
            try:
                call_host("eval.called", name=function.__name__, arguments=arguments)
            except Exception:
                pass
        return function(**arguments)

    return wrapper


@_traced
def price(what):
    """Price of a thing of the shop."""
    return json.loads(pathlib.Path("prices.json").read_text())[what]


@_traced
def pay(amount, to):
    """Pay an amount to somebody."""
    return f"{amount} paid to {to}"
'''


class Shop:
    """The benchmark: the answer is a price, which stands in a file of the sample."""

    name = "shop"
    columns = (Column("accuracy", "right answers in percent"),)

    def __init__(self, size: int = 4, *, score: Callable[[Attempt], dict[str, Any]] | None = None) -> None:
        self.size, self._score, self.attempts = size, score, []
        self.attempts: list[Attempt] = []

    def samples(self) -> Sequence[Sample]:
        """Samples `s0`, `s1`, …"""
        return [
            Sample(f"s{n}", f"What does tea{n} cost?", gold=n, files={"prices.json": b'{"tea%d": %d}' % (n, n)})
            for n in range(self.size)
        ]

    def setting(self, mode: Mode, out: Path) -> Setting:
        """The code base of one file."""
        (out / "shopping").mkdir(parents=True, exist_ok=True)
        (out / "shopping" / "__init__.py").write_text("")
        (out / "shopping" / "shop.py").write_text(CODE)
        return Setting([out], "A shop with prices.", read=("answer", "gone"), facts={"commit": "0" * 40})

    def score(self, attempt: Attempt) -> dict[str, Any]:
        """The answer is the price."""
        self.attempts.append(attempt)
        if self._score:
            return self._score(attempt)
        return {"correct": attempt.values.get("answer") == attempt.sample.gold, "called": len(attempt.calls)}

    def aggregate(self, scores: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """The accuracy in percent."""
        return {"accuracy": 100 * sum(bool(one["correct"]) for one in scores) / len(scores)}


def script(sample: Sample) -> list[Action | str]:
    """The answers of a model that does it right."""
    code = f"from shopping.shop import price\nanswer = price(what='tea{sample.gold}')"
    return [Search("price"), Code(code, "Look it up."), CodeSummary(code), Done(f"{sample.gold}")]


def plays(make: Callable[[Sample], Sequence[Action | str]] = script) -> Callable[[Sample], ScriptedModel]:
    """A function that makes the model of a sample from its script."""

    def model(sample: Sample) -> ScriptedModel:
        return ScriptedModel(make(sample))

    return model
