"""Judges over runs: the pass rate of one, the win rate of two, and the agreement with people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from codenav.agents.judge import FAIL, FIRST, PASS, SECOND, TIE, UNREADABLE, Judge, Shown, log_of
from codenav.core.cancelling import CancelScope
from codenav.core.errors import ModelFailed, UsageError
from codenav.core.system.parallel import in_threads
from codenav.evals.recorded import Figure, RunRecord
from codenav.evals.results import ERROR, Result
from codenav.evals.verdicts import AttemptVerdict, Label, VerdictFile, agreement

Done = Callable[[int, int], None]
"""Called with the number of attempts that are judged, and that of all."""


@dataclass(frozen=True)
class Judgement:
    """All verdicts of a judge on a run, or on two."""

    judge: str
    first: str
    second: str
    """The second run of a pair; empty for one run."""
    verdicts: Sequence[AttemptVerdict]
    left_out: int
    """Attempts that ended as errors, or that only one of the two runs has."""
    labels: Sequence[Label] | None = None

    def counts(self) -> dict[str, int]:
        """The number of each verdict."""
        words = [FIRST, SECOND, TIE] if self.second else [PASS, FAIL]
        found = Counter(one.verdict for one in self.verdicts)
        return {word: found[word] for word in (*words, UNREADABLE)}

    def rate(self) -> Figure | None:
        """The pass rate, or the rate at which the first run wins with ties as a half, in percent and per epoch.

        Verdicts that are not readable do not count. None where there is no other.
        """
        worth = {PASS: 1.0, FAIL: 0.0, FIRST: 1.0, TIE: 0.5, SECOND: 0.0}
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
        return agreement(self.labels, {(one.id, one.epoch): one.verdict for one in self.verdicts})

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
            "verdicts": [one.to_dict() for one in self.verdicts],
        }


def judge_run(judge: Judge, run: RunRecord, kept: VerdictFile, *, jobs: int = 1, done: Done | None = None) -> Judgement:
    """Judge each attempt of a run that did not end as an error.

    `kept` holds the verdicts of earlier calls and gets the new ones.

    Raises:
        ModelUnreachable, ModelRefused: the verdicts so far are kept.
        StorageFull: a verdict cannot be kept.
    """
    attempts = [[result] for result in run.results if result.status != ERROR]
    verdicts = _judge_all(judge, kept, "", attempts, jobs, done)
    return Judgement(judge.name, run.name, "", verdicts, len(run.results) - len(attempts))


def judge_pair(
    judge: Judge, first: RunRecord, second: RunRecord, kept: VerdictFile, *, jobs: int = 1, done: Done | None = None
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
        [ours, theirs]
        for ours in first.results
        if (theirs := others.get((ours.id, ours.epoch))) and ERROR not in (ours.status, theirs.status)
    ]
    if not pairs:
        raise UsageError(f"{first.name} and {second.name} have no attempt in common", hint="judge one of them alone")
    verdicts = _judge_all(judge, kept, second.name, pairs, jobs, done)
    every = {(result.id, result.epoch) for run in (first, second) for result in run.results}
    return Judgement(judge.name, first.name, second.name, verdicts, len(every) - len(pairs))


def material_of(result: Result) -> Shown:
    """The part of an attempt that a judge sees: its answer, and its steps with output. No expected result is in it."""
    steps = [
        (step.get("action", ""), step.get("content") or "", step.get("observation") or "") for step in result.trajectory
    ]
    answer = result.answer or "The answer is empty."
    if result.status != "done":
        answer = f"There is no answer: {result.reason or result.status}"
    return Shown(answer, log_of(steps))


def _judge_all(
    judge: Judge, kept: VerdictFile, other: str, items: Sequence[Sequence[Result]], jobs: int, done: Done | None
) -> list[AttemptVerdict]:
    """The verdicts on attempts, or on pairs of them, in order. The first exception ends what has not begun."""
    scope = CancelScope()

    def judged(place: int) -> tuple[int, AttemptVerdict]:
        with scope.entered():
            return place, _verdict(judge, kept, other, items[place])

    found: dict[int, AttemptVerdict] = {}
    with in_threads(judged, range(len(items)), max(1, jobs), scope.cancel) as verdicts:
        for place, verdict in verdicts:
            found[place] = verdict
            if done:
                done(len(found), len(items))
    return [verdict for _, verdict in sorted(found.items(), key=lambda one: one[0])]


def _verdict(judge: Judge, kept: VerdictFile, other: str, attempts: Sequence[Result]) -> AttemptVerdict:
    """The kept or new verdict; a model that fails on this one question leaves it unreadable, and is asked next time."""
    first = attempts[0]
    if all(attempt.status != "done" for attempt in attempts):
        word, reason = (TIE, "neither has an answer") if other else (FAIL, first.reason or first.status)
        return AttemptVerdict(first.id, first.epoch, word, reason, asked=False)
    parts = [material_of(attempt) for attempt in attempts]

    def ask() -> AttemptVerdict:
        verdict = (judge.prefers if other else judge.passes)(first.request, *parts)
        tokens = verdict.usage.tokens
        return AttemptVerdict(first.id, first.epoch, verdict.word, verdict.reason, verdict.consistent, tokens=tokens)

    # The key of a question is a digest of all that the judge is asked.
    texts = [text for part in parts for text in (part.answer, part.record)]
    key = "\0".join([judge.name, "preference" if other else PASS, first.request, *texts])
    try:
        verdict = kept.ask_once(sha256(key.encode("utf-8", "surrogatepass")).hexdigest(), judge.name, other, ask)
    except ModelFailed as error:
        return AttemptVerdict(first.id, first.epoch, UNREADABLE, str(error))
    # Two epochs with the same steps and answer are one question.
    return replace(verdict, id=first.id, epoch=first.epoch)
