"""A run as reports and judges read it: its settings, and one result for each attempt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codenav.core.errors import UsageError
from codenav.evals.results import ERROR, Result
from codenav.evals.runs import Head, RunFolder
from codenav.evals.scores import wilson
from codenav.evals.verdicts import Kept

OUTCOMES = ("correct", "wrong", "failed", "limit", ERROR)
"""The outcomes of an attempt. An `error` counts as not solved, and is run again by `resume`."""


@dataclass(frozen=True)
class Recorded:
    """A run that is read, not made."""

    name: str
    """The folder as it was named, for headings."""
    head: Head
    results: Sequence[Result]
    notices: Sequence[str] = ()
    """Lines on damage that was passed over."""
    judged: Mapping[tuple[str, int], Sequence[str]] = field(default_factory=dict)
    """The verdicts of judges by sample and epoch, a line each."""

    @classmethod
    def read(cls, folder: Path) -> Recorded:
        """Read the folder of a run.

        Raises:
            NotFound: there is no run in it.
            UsageError: its head is damaged.
        """
        run = RunFolder.open(folder)
        try:
            found = run.results()
        except OSError as error:
            raise UsageError(f"{folder} cannot be read: {error.strerror}", hint="check who may read it") from error
        results = [result for result in found if _sound(result)]
        notices = list(run.notices)
        if len(results) < len(found):
            notices.append(f"{len(found) - len(results)} results of {folder} have another shape and are left out")
        kept = Kept(folder)
        judged = kept.told() if len(kept) else {}
        return cls(str(folder), run.head, results, notices, judged)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The version of codenav, all facts and all settings by name; a setting counts before a fact of its name."""
        return {"codenav": self.head.codenav, **self.head.facts, **self.head.settings}

    @property
    def epochs(self) -> Sequence[int]:
        """The numbers of the epochs that have a result."""
        return sorted({result.epoch for result in self.results})

    def counts(self) -> dict[str, int]:
        """The number of attempts of each outcome, in the order of `OUTCOMES`."""
        found = Counter(outcome_of(result) for result in self.results)
        return {outcome: found[outcome] for outcome in OUTCOMES}

    def solved(self) -> dict[str, float]:
        """Attempts, errors included, the correct ones of them, and their rate in percent with its 95 % interval."""
        correct, attempts = self.counts()["correct"], len(self.results)
        low, high = wilson(correct, attempts)
        rate = 100 * correct / attempts if attempts else 0.0
        return {"attempts": attempts, "correct": correct, "percent": rate, "low": low, "high": high}

    def missing(self) -> int:
        """The number of attempts of this run or shard that have no result yet."""
        return max(0, self.expected() - len(self.results))

    def expected(self) -> int:
        """The number of attempts of this run or shard."""
        ids = self.head.samples
        if self.head.shard:
            from codenav.evals.settings import in_shard

            ids = [id for id in ids if in_shard(id, self.head.shard)]
        return self.head.epochs * len(ids)


def outcome_of(result: Result) -> str:
    """The outcome of an attempt, one of `OUTCOMES`. Only a `done` may be correct or wrong."""
    if result.status == "done":
        return "correct" if result.scores.get("correct") is True else "wrong"
    return result.status if result.status in OUTCOMES else ERROR


def _sound(result: Result) -> bool:
    """True if the parts of a result have the shapes that a reader relies on."""
    lists = (result.trajectory, result.calls)
    texts = (result.request, result.group, result.answer, result.program, result.reason, result.episode)
    numbers = (result.steps, result.seconds, result.prompt_tokens, result.completion_tokens)
    return (
        isinstance(result.scores, dict)
        and isinstance(result.values, dict)
        and all(isinstance(one, list) and all(isinstance(item, dict) for item in one) for one in lists)
        and all(isinstance(one, str) for one in texts)
        and all(isinstance(one, int | float) for one in numbers)
        and isinstance(result.dollars, int | float | None)
    )
