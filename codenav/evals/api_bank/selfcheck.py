"""API-Bank without a model: the expected calls are made, graded by upstream's own graders, and scored."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Known:
    """The figures of a commit."""

    samples: int
    calls: int
    """Expected ones."""
    accepted: int
    """By the APIs' own graders, with recorded answers off."""
    causes: Mapping[str, int]
    """Of the others."""
    upstream: int
    """Accepted by upstream's recipe: databases as shipped for each call, and arguments as text."""
    earlier: int
    """Calls before the last message of the user, all accepted."""


KNOWN = Known(186, 220, 200, {NETWORK: 7, RENAMED: 8, GRADER: 1, DATA: 4}, 181, 113)
"""Of the pinned commit."""


def cause_of(api: str, told: str) -> str:
    """The cause for which an expected call is refused, from what its replay told."""
    if api in RECORDED:
        return NETWORK
    if "unexpected keyword argument" in told:
        return RENAMED
    return GRADER if told.startswith("the grader failed: KeyError") else DATA


def checks(
    samples: Sequence[Sample],
    known: Known | None,
    *,
    made: Callable[[Sample], Sequence[str]],
    bare: Replays,
    recorded: Replays,
) -> list[Check]:
    """Compare what a checkout yields with what is known of it: of a commit that is not `known`, only what must hold.

    `made` makes the expected calls of a sample in a sandbox as an agent would, and returns the names that were traced;
    `bare` replays without recorded answers.
    """
    exact = sum(match(made(sample), [call["name"] for call in sample.gold]).f1 == 1.0 for sample in samples)
    verdicts = [(sample, recorded.graded(state_of(sample), sample.gold, sample.gold)) for sample in samples]
    earlier = [call for sample in samples for call in _earlier(sample, recorded)]
    plain = [(sample, bare.graded(state_of(sample), sample.gold, sample.gold)) for sample in samples]
    refused = [
        (sample, call["name"], cause_of(call["name"], verdict["cause"]))
        for sample, found in plain
        for call, verdict in zip(sample.gold, found["ours"], strict=True)
        if not verdict["accepted"]
    ]
    causes = Counter(cause for _, _, cause in refused)
    lines = "\n".join(f"{sample.id} ({sample.facts['file']}): {name}: {cause}" for sample, name, cause in refused)
    accepted = sum(_accepted(found["ours"]) for _, found in plain)
    more = sum(_accepted(found["ours"]) for _, found in verdicts)
    upstream = sum(_accepted(found["upstream"]) for _, found in plain)
    calls = sum(len(sample.gold) for sample in samples)
    if known is None:
        known = Known(len(samples), calls, accepted, dict(causes), upstream, len(earlier))
    return [
        Check("samples", known.samples, len(samples)),
        Check("expected calls", known.calls, calls),
        Check("earlier calls", known.earlier, len(earlier)),
        Check("earlier calls that the APIs accept", known.earlier, _accepted(earlier)),
        Check("expected calls that the APIs' own graders accept", known.accepted, accepted),
        Check("causes of the others", dict(known.causes), dict(causes), lines),
        Check("accepted with recorded answers", known.accepted + known.causes.get(NETWORK, 0), more),
        Check("accepted by upstream's recipe", known.upstream, upstream),
        Check("samples with F1 = 100 by name", known.samples, exact),
    ]


def _earlier(sample: Sample, replays: Replays) -> Sequence[Mapping[str, Any]]:
    state = state_of(sample)
    calls = state.pop("earlier")
    verdicts: Sequence[Mapping[str, Any]] = replays.graded(state, calls, calls)["ours"] if calls else ()
    return verdicts


def state_of(sample: Sample) -> dict[str, Any]:
    """The state in which a sample begins, as its work folder holds it."""
    state: dict[str, Any] = json.loads(sample.files[SAMPLE])
    return state


def _accepted(verdicts: Sequence[Mapping[str, Any]]) -> int:
    return sum(bool(verdict["accepted"]) for verdict in verdicts)
