"""API-Bank without a model: the expected calls are made, graded by upstream's own graders, and scored."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from codenav.evals.api_bank.code_base import RECORDED
from codenav.evals.api_bank.inside import SAMPLE
from codenav.evals.api_bank.replays import Replays
from codenav.evals.scores import match
from codenav.evals.task import Check, Sample

NETWORK = "needs the network"
RENAMED = "has an argument that was renamed upstream after the recording"
GRADER = "upstream's grader reads a field that is not there"
DATA = "the shipped data differs from the recording"

ACCEPTED = 200
"""Of 220 expected calls, with recorded answers off."""
ACCEPTED_UPSTREAM = 181
"""By upstream's recipe: databases as shipped for each call, and arguments as text."""
CAUSES = {NETWORK: 7, RENAMED: 8, GRADER: 1, DATA: 4}
"""Causes of the other 20."""


def cause_of(api: str, told: str) -> str:
    """The cause for which an expected call is refused, from what its replay told."""
    if api in RECORDED:
        return NETWORK
    if "unexpected keyword argument" in told:
        return RENAMED
    return GRADER if told.startswith("the grader failed: KeyError") else DATA


def checks(
    samples: Sequence[Sample], made: Callable[[Sample], Sequence[str]], plain: Replays, with_recordings: Replays
) -> list[Check]:
    """Compare what the checkout yields with what is known of the pinned commit.

    `made` makes the expected calls of a sample in a sandbox as an agent would, and returns the names that were traced;
    `plain` replays without recorded answers.
    """
    calls = sum(len(sample.gold) for sample in samples)
    verdicts = [(sample, plain.graded(state_of(sample), sample.gold, sample.gold)) for sample in samples]
    refused = [
        (sample, call["name"], verdict["cause"])
        for sample, found in verdicts
        for call, verdict in zip(sample.gold, found["ours"], strict=True)
        if not verdict["accepted"]
    ]
    causes = Counter(cause_of(name, told) for _, name, told in refused)
    lines = [f"{sample.id} ({sample.facts['file']}): {name} {cause_of(name, told)}" for sample, name, told in refused]
    recorded = sum(
        _accepted(with_recordings.graded(state_of(sample), sample.gold, sample.gold)["ours"]) for sample in samples
    )
    exact = sum(match(made(sample), [call["name"] for call in sample.gold]).f1 == 1.0 for sample in samples)
    return [
        Check("samples", 186, len(samples)),
        Check("expected calls", 220, calls),
        Check("expected calls that the APIs' own graders accept", ACCEPTED, _total(verdicts, "ours")),
        Check("causes of the others", CAUSES, dict(causes), "\n".join(lines)),
        Check("the same with recorded answers", ACCEPTED + CAUSES[NETWORK], recorded),
        Check("the same by upstream's recipe", ACCEPTED_UPSTREAM, _total(verdicts, "upstream")),
        Check("samples with F1 = 100 by name", 186, exact),
    ]


def state_of(sample: Sample) -> dict[str, Any]:
    """The state in which a sample begins, as its work folder holds it."""
    state: dict[str, Any] = json.loads(sample.files[SAMPLE])
    return state


def _accepted(verdicts: Sequence[Mapping[str, Any]]) -> int:
    return sum(bool(verdict["accepted"]) for verdict in verdicts)


def _total(verdicts: Sequence[tuple[Sample, Mapping[str, Any]]], recipe: str) -> int:
    return sum(_accepted(found[recipe]) for _, found in verdicts)
