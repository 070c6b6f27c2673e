"""API-Bank without a model: the expected calls are made, graded by upstream's own graders, and scored."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
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

CAUSES = "causes of the others"
KNOWN: Mapping[str, Any] = {
    "samples": 186,
    "expected calls": 220,
    "earlier calls": 113,
    "expected calls that the APIs' own graders accept": 200,
    CAUSES: {NETWORK: 7, RENAMED: 8, GRADER: 1, DATA: 4},
    "accepted by upstream's recipe": 181,
}
"""Figures of the pinned commit, with recorded answers off."""


def cause_of(api: str, message: str) -> str:
    """The cause for which an expected call is refused, from the message of its replay."""
    if api in RECORDED:
        return NETWORK
    if "unexpected keyword argument" in message:
        return RENAMED
    return GRADER if message.startswith("the grader failed: KeyError") else DATA


def checks(samples: Sequence[Sample], bare: Replays, recorded: Replays, *, known: bool) -> list[Check]:
    """Compare what a checkout yields with what is `known` of it: of another commit only what must hold.

    `bare` replays without recorded answers.
    """
    traced = [recorded.traced(state_of(sample), sample.gold) for sample in samples]
    exact = [
        match(made, [call["name"] for call in one.gold]).f1 == 1.0 for made, one in zip(traced, samples, strict=True)
    ]
    whole = [recorded.graded(state_of(sample), sample.gold, sample.gold) for sample in samples]
    plain = [bare.graded(state_of(sample), sample.gold, sample.gold) for sample in samples]
    earlier = [verdict for sample in samples for verdict in _earlier(sample, recorded)]
    refused = [
        (sample, call["name"], cause_of(call["name"], verdict["cause"]))
        for sample, found in zip(samples, plain, strict=True)
        for call, verdict in zip(sample.gold, found["ours"], strict=True)
        if not verdict["accepted"]
    ]
    causes = dict(Counter(cause for _, _, cause in refused))
    accepted = sum(_accepted(found["ours"]) for found in plain)
    found = {
        "samples": len(samples),
        "expected calls": sum(len(sample.gold) for sample in samples),
        "earlier calls": len(earlier),
        "earlier calls that the APIs accept": _accepted(earlier),
        "expected calls that the APIs' own graders accept": accepted,
        CAUSES: causes,
        "accepted with recorded answers": sum(_accepted(found["ours"]) for found in whole),
        "accepted by upstream's recipe": sum(_accepted(found["upstream"]) for found in plain),
        "samples with F1 = 100 by name": sum(exact),
    }
    expected = {
        **found,
        **(KNOWN if known else {}),
        "earlier calls that the APIs accept": len(earlier),
        "accepted with recorded answers": accepted + causes.get(NETWORK, 0),
        "samples with F1 = 100 by name": len(samples),
    }
    lines = "\n".join(f"{sample.id} ({sample.facts['file']}): {name}: {cause}" for sample, name, cause in refused)
    return [Check(name, expected[name], value, lines if name == CAUSES else "") for name, value in found.items()]


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
