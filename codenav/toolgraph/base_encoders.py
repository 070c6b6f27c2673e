"""The tuning of an encoder on the requests of sources, and the weights that go with it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from codenav.retrieval.dense.examples import Examples
from codenav.retrieval.dense.fitting import Held, Weights, fit, measured
from codenav.retrieval.dense.making import MOST_HELD, PARTS, Report, check_better
from codenav.retrieval.encoders.directory import DESCRIPTION
from codenav.retrieval.encoders.tuning import Pair, TuningSettings, tune

Cosines = npt.NDArray[np.float32]

HARD = 4
"""The best hits of the first stage that answered nothing: negatives of a request."""


def tune_base(
    parts: Sequence[Examples],
    base: Path,
    out: Path,
    *,
    epochs: int = 0,
    settings: TuningSettings | None = None,
    progress: Callable[[float], None] = lambda done: None,
) -> tuple[Report, Weights | None]:
    """Tune the encoder in `base` on the requests of one source or several, and write it to `out`.

    `epochs` go before those of the settings; 0 leaves them.

    Raises:
        UsageError: there is too little to train on.
        NoBetter: held-out requests are answered no better than before; nothing is written.
        Unavailable, MissingExtra, StorageFull: for the reasons of `encoders.tuning.tune`.
    """
    began, settings = time.monotonic(), settings or TuningSettings()
    pairs, texts, groups, lures = _joined(parts)
    drawn = [int(number) for part in parts for number in part.parts(PARTS)]
    places = [at for at, number in enumerate(drawn) if number == min(drawn)]
    held = [pairs[at] for at in places]
    starts = [sum(len(part.names) for part in parts[:at]) for at in range(len(parts) + 1)]

    def judge(before: Cosines, after: Cosines) -> Mapping[str, Any]:
        found = {
            name: measured(list(cosines), [pair.gold for pair in held])
            for name, cosines in (("before", before), ("after", after))
        }
        check_better(found["before"], found["after"], len(held))
        # Of docstrings the first stage has seen what is asked: no weights can be fitted.
        described = any(part.described for part in parts)
        return {**found, "weights": None if described else asdict(_fitted(parts, starts, held, after))}

    done = tune(
        base, out, pairs, texts, held_out=places, judge=judge, groups=groups, lures=lures,
        settings=replace(settings, epochs=epochs or settings.epochs), progress=progress,
    )  # fmt: skip
    report = Report(
        len(pairs), starts[-1], len(held), done["before"], done["after"], round(time.monotonic() - began, 1)
    )
    return report, Weights(**done["weights"]) if done["weights"] else None


def tuned_weights(folder: Path) -> Weights | None:
    """Return the weights of words and meaning that were fitted with an encoder; None if there are none."""
    try:
        return Weights.read(json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))["weights"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _joined(parts: Sequence[Examples]) -> tuple[list[Pair], list[str], list[str], int]:
    """The requests of all parts, their texts with the lures at the end, the groups of these, the number of lures."""
    texts = [text for part in parts for text in part.texts]
    groups = [name.rpartition(".")[0] for part in parts for name in part.names]
    if len(set(groups)) < 2:
        groups = []
    count, pairs = len(texts), []
    for part in parts:
        start = sum(len(other.names) for other in parts[: parts.index(part)])
        lured: dict[int, list[int]] = {}
        for place, written in part.lures.items():
            lured[place] = list(range(len(texts), len(texts) + len(written)))
            texts += written
        for request, gold in zip(part.requests, part.gold, strict=True):
            found = part.first(request)
            hard = [place for place in sorted(found, key=lambda place: -found[place]) if place not in set(gold)][:HARD]
            others = [start + place for place in hard] + [text for place in gold for text in lured.get(place, ())]
            pairs.append(Pair(request, tuple(start + place for place in gold), tuple(others)))
    return pairs, texts, groups, len(texts) - count


def _fitted(parts: Sequence[Examples], starts: Sequence[int], held: Sequence[Pair], cosines: Cosines) -> Weights:
    """The weights of the first stage and of the cosines, on requests that were held out."""
    found = []
    for pair, row in zip(held[:MOST_HELD], cosines[:MOST_HELD], strict=True):
        at = next(at for at in range(len(parts)) if pair.gold[0] < starts[at + 1])
        features = np.zeros((len(parts[at].names), 3), np.float32)
        for place, score in parts[at].first(pair.request).items():
            features[place, 0] = score
        features[:, 1] = row[starts[at] : starts[at + 1]]
        found.append(Held(features, [place - starts[at] for place in pair.gold]))
    return fit(found, used=(True, True, False))
