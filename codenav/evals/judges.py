"""Judges over runs: the pass rate of one, the win rate of two, and the agreement with people."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any

from codenav.core.cancelling import CancelScope
from codenav.core.errors import ModelFailed, UsageError
from codenav.evals.figures import Figure
from codenav.evals.judge import Judge, Shown, Winner
from codenav.evals.recorded import Recorded
from codenav.evals.results import ERROR, Result
from codenav.evals.verdicts import UNREADABLE, Kept, Labels

PASS, FAIL = "pass", "fail"


@dataclass(frozen=True)
class Judged:
    """A verdict on an attempt, or on a pair of attempts."""

    id: str
    epoch: int
    verdict: str
    """`pass` or `fail`; of a pair `first`, `second` or `tie`; `unreadable` if the judge gave none."""
    reason: str = ""
    consistent: bool = True
    """False for a pair of which the two orders had different winners; it is a tie."""
    asked: bool = True
    """False where no judge was needed: an attempt that did not end with an answer has not passed."""
    tokens: int = 0
    """Of the judge's prompts and answers."""


@dataclass(frozen=True)
class Judgement:
    """All verdicts of a judge on a run, or on two."""

    judge: str
    first: str
    second: str
    """The second run of a pair; empty for one run."""
    verdicts: Sequence[Judged]
    left_out: int
    """Attempts that ended as errors, or that only one of the two runs has."""
    labels: Labels | None = None

    def counts(self) -> dict[str, int]:
        """The number of each verdict."""
        words = [*Winner] if self.second else [PASS, FAIL]
        found = Counter(one.verdict for one in self.verdicts)
        return {word: found[word] for word in (*words, UNREADABLE)}

    def rate(self) -> Figure | None:
        """The pass rate, or the rate at which the first run wins with ties as a half, in percent and per epoch.

        Verdicts that are not readable do not count. None where there is no other.
        """
        worth = {PASS: 1.0, FAIL: 0.0, Winner.FIRST: 1.0, Winner.TIE: 0.5, Winner.SECOND: 0.0}
        found: dict[int, list[float]] = {}
        for one in self.verdicts:
            if one.verdict in worth:
                found.setdefault(one.epoch, []).append(worth[one.verdict])
        if not found:
            return None
        # A tie is half of a win, so a win rate is no share.
        judged = 0 if self.second else sum(map(len, found.values()))
        return Figure([100 * sum(values) / len(values) for _, values in sorted(found.items())], judged)

    def agreement(self) -> dict[str, Any] | None:
        """The agreement with people; None without labels."""
        if self.labels is None:
            return None
        return self.labels.agreement({(one.id, one.epoch): one.verdict for one in self.verdicts})

    def beside(self, labels: Labels | None) -> Judgement:
        """The same verdicts, compared with those of people."""
        return replace(self, labels=labels)

    def to_dict(self) -> dict[str, Any]:
        """The document of `codenav eval judge --json`."""
        rate = self.rate()
        return {
            "judge": self.judge,
            "kind": "preference" if self.second else "pass",
            "first": self.first,
            "second": self.second,
            "rate": rate.to_dict() if rate else None,
            "counts": self.counts(),
            "inconsistent": sum(not one.consistent for one in self.verdicts),
            "left_out": self.left_out,
            "tokens": sum(one.tokens for one in self.verdicts),
            "agreement": self.agreement(),
            "verdicts": [asdict(one) for one in self.verdicts],
        }


def judge_run(
    judge: Judge, run: Recorded, kept: Kept, *, jobs: int = 1, done: Callable[[int, int], None] | None = None
) -> Judgement:
    """Judge each attempt of a run that did not end as an error.

    `kept` holds the verdicts of earlier calls and gets the new ones. `done` is called with the number of attempts that
    are judged, and that of all.

    Raises:
        ModelUnreachable, ModelRefused: the verdicts so far are kept.
        StorageFull: a verdict cannot be kept.
    """
    attempts = [result for result in run.results if result.status != ERROR]

    def one(result: Result) -> Judged:
        if result.status != "done":
            return Judged(result.id, result.epoch, FAIL, result.reason or result.status, asked=False)
        attempt = shown(result)
        key = _key(judge, PASS, result.request, attempt)
        return _verdict(result, kept, key, lambda: {**_about(judge, result, ""), **_passed(judge, result, attempt)})

    verdicts = _each(one, attempts, jobs, done)
    return Judgement(judge.name, run.name, "", verdicts, len(run.results) - len(attempts))


def judge_pair(
    judge: Judge,
    first: Recorded,
    second: Recorded,
    kept: Kept,
    *,
    jobs: int = 1,
    done: Callable[[int, int], None] | None = None,
) -> Judgement:
    """Judge the attempts of two runs at the same samples in the same epochs, each pair in both orders.

    A pair without an answer on either side is a tie. The rest is as in `judge_run`.

    Raises:
        UsageError: the runs are of different tasks, or have no attempt in common.
    """
    if first.head.task != second.head.task:
        raise UsageError(f"{first.name} and {second.name} are of different tasks", hint="judge runs of one task")
    others = {(result.id, result.epoch): result for result in second.results}
    pairs = [
        (ours, theirs)
        for ours in first.results
        if (theirs := others.get((ours.id, ours.epoch))) and ERROR not in (ours.status, theirs.status)
    ]
    if not pairs:
        raise UsageError(f"{first.name} and {second.name} have no attempt in common", hint="judge one of them alone")

    def one(pair: tuple[Result, Result]) -> Judged:
        ours, theirs = pair
        if "done" not in (ours.status, theirs.status):
            return Judged(ours.id, ours.epoch, Winner.TIE, "neither has an answer", asked=False)
        left, right = shown(ours), shown(theirs)
        key = _key(judge, "preference", ours.request, left, right)
        about = _about(judge, ours, second.name)
        return _verdict(ours, kept, key, lambda: {**about, **_preferred(judge, ours, left, right)})

    verdicts = _each(one, pairs, jobs, done)
    every = {(result.id, result.epoch) for run in (first, second) for result in run.results}
    return Judgement(judge.name, first.name, second.name, verdicts, len(every) - len(pairs))


def shown(result: Result) -> Shown:
    """The part of an attempt that a judge sees: its answer, and code with output. Expected results are not in it."""
    steps = [
        f"[{step.get('action')}]\n{step.get('content') or ''}\n[output]\n{step.get('observation') or ''}"
        for step in result.trajectory
        if step.get("action") in ("code", "code_summary")
    ]
    answer = result.answer or "The answer is empty."
    if result.status != "done":
        answer = f"There is no answer: {result.reason or result.status}"
    return Shown(answer, "\n\n".join(steps))


def _verdict(result: Result, kept: Kept, key: str, ask: Callable[[], dict[str, Any]]) -> Judged:
    """The kept or new verdict; a model that fails on this one question leaves it unreadable, and is asked next time."""
    try:
        line = kept.once(key, ask)
    except ModelFailed as error:
        return Judged(result.id, result.epoch, UNREADABLE, str(error))
    return Judged(result.id, result.epoch, line["verdict"], line["reason"], line["consistent"], tokens=line["tokens"])


def _about(judge: Judge, result: Result, other: str) -> dict[str, Any]:
    """The part of a kept line that names the question, for whoever reads the file or a page."""
    return {"judge": judge.name, "id": result.id, "epoch": result.epoch, "other": other}


def _passed(judge: Judge, result: Result, attempt: Shown) -> dict[str, Any]:
    verdict = judge.passes(result.request, attempt)
    word = UNREADABLE if verdict.passed is None else PASS if verdict.passed else FAIL
    return {"verdict": word, "reason": verdict.reason, "consistent": True, "tokens": verdict.usage.tokens}


def _preferred(judge: Judge, result: Result, first: Shown, second: Shown) -> dict[str, Any]:
    found = judge.prefers(result.request, first, second)
    return {
        "verdict": found.winner.value if found.winner else UNREADABLE,
        "reason": "\n".join(reason for reason in found.reasons if reason),
        "consistent": found.consistent or found.winner is None,
        "tokens": found.usage.tokens,
    }


def _key(judge: Judge, kind: str, request: str, *attempts: Shown) -> str:
    """The key of a question to a judge: a digest of all that it is asked."""
    parts = [judge.name, kind, request, *(text for attempt in attempts for text in (attempt.answer, attempt.record))]
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _each(
    function: Callable[[Any], Judged], items: Sequence[Any], jobs: int, done: Callable[[int, int], None] | None
) -> list[Judged]:
    """The function on each item, in order, some at a time. The first exception ends what has not begun."""
    count, lock = 0, threading.Lock()

    scope = CancelScope()

    def counted(item: Any) -> Judged:
        nonlocal count
        with scope.entered():
            judged = function(item)
        with lock:
            count += 1
            if done:
                done(count, len(items))
        return judged

    with ThreadPoolExecutor(max(1, jobs)) as pool:
        futures = [pool.submit(counted, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:
            scope.cancel()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
