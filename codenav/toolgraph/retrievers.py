"""The verb behind `codenav train-retriever`: what a retriever is trained on, found in indexes, traces and episodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codenav.core.blocks import CodeBlock, beside_best
from codenav.core.config import episodes_dir
from codenav.core.errors import NotFound, UsageError
from codenav.core.options import StoreOptions, spelled
from codenav.core.protocols import Index, Model
from codenav.core.system.stored import Document
from codenav.core.traces import Trace, callable_name
from codenav.episodes.store import EpisodeStore
from codenav.navigation.verbs import Reading, indexes_of
from codenav.retrieval import requests
from codenav.retrieval.dense import files, making
from codenav.retrieval.dense.block_vectors import text_of
from codenav.retrieval.dense.examples import Examples, check, lures_of
from codenav.retrieval.encoders.tuning import TuningSettings, check_folders
from codenav.retrieval.source_index import On, SourceIndex, as_index
from codenav.toolgraph.base_encoders import tune_base
from codenav.toolgraph.callables import CallableNames
from codenav.toolgraph.episodes import traces_of_store
from codenav.toolgraph.trace_files import read_traces

EPISODES, DOCSTRINGS = "episodes", "docstrings"
LIMIT = 100
"""Hits of the first stage that a held-out request is judged by."""
MOST_REQUESTS = 20_000
"""Requests of a source that are trained on: the last ones; of docstrings every second or third. They take a minute."""
FEWEST_WORDS = 4
"""Words of a docstring's first line that make it a description."""


@dataclass
class Trained(Document):
    """The report of `train_retriever`."""

    out: str = ""
    sources: list[str] = field(default_factory=list)
    requests: int = 0
    callables: int = 0
    unverified: int = 0
    """Traces and episodes that were left out since nobody checked their result."""
    empty: int = 0
    """Those without a request, and those that call nothing of the sources."""
    unknown: dict[str, int] = field(default_factory=dict)
    """Names in traces that stand for no callable of the sources, with the number of their calls."""
    lures: int = 0
    """Descriptions that a model wrote."""
    held_out: int = 0
    before: dict[str, float] = field(default_factory=dict)
    """Recall and NDCG on the held-out requests, in per cent."""
    after: dict[str, float] = field(default_factory=dict)
    weights: dict[str, float] | None = None
    """The shares of words, meaning and memory in a score; None if they could not be fitted."""
    seconds: float = 0.0


@spelled(Reading, StoreOptions)
def train_retriever(
    on: On | Sequence[On],
    learn_from: str | Path,
    out: str | Path,
    *,
    base: str | Path | None = None,
    epochs: int = 0,
    tuning: TuningSettings | None = None,
    negatives: Model | None = None,
    tell: Callable[[str], None] = lambda text: None,
    done: Callable[[float], None] = lambda share: None,
    **reading: Any,
) -> Trained:
    """Train a retriever for one source or several, and write it to the directory `out`.

    `learn_from`: `episodes` for those on this machine, `docstrings` for those of the sources, or a file of traces.
    `epochs`: times that each request is seen; 0 means 10, or fewer for many requests, or 2 with `base`. With `base`, a
    directory of sentence-transformers, its encoder is tuned as `tuning` says, and `out` becomes such a directory, which
    must be new. `negatives` writes descriptions that look like those of callables and are not. `tell` gets a sentence
    for each line or episode that is left out, `done` the share of the training that is over.

    Raises:
        NotFound: a file does not exist. Also as `codenav.index`.
        UsageError: there is too little to train on, or `out` holds something else.
        NoBetter: held-out requests are answered no better than before; nothing is written.
        Unavailable, StorageFull: as `codenav.index`; or the retriever cannot be written, or `base` is not whole.
        MissingExtra: with `base`, a package of the extra `train` is not installed.
    """
    name, folder = str(learn_from), Path(out).expanduser()
    if base is None:
        files.check_free(folder)
    else:
        check_folders(Path(base).expanduser(), folder)
    if name not in (EPISODES, DOCSTRINGS) and not Path(name).expanduser().is_file():
        raise NotFound(f"there is no file {name}", hint=f"{EPISODES}, {DOCSTRINGS}, or a file of traces")
    trained = Trained(str(folder))
    with indexes_of(on, reading) as indexes:
        trained.sources = [index.source.name for index in indexes]
        parts = _parts(name, indexes, trained, tell)
        if negatives is not None:
            parts = [lures_of(part, negatives, tell=tell) for part in parts]
            trained.lures = sum(len(texts) for part in parts for texts in part.lures.values())
        if base is not None:
            report, weights = tune_base(
                parts, Path(base).expanduser(), folder, epochs=epochs, settings=tuning, progress=done
            )
        else:
            made = making.make(parts, epochs=epochs, progress=done)
            files.write(made, folder, trained={"from": name, "sources": trained.sources})
            report, weights = made.report, made.weights
    trained.requests, trained.callables, trained.held_out = report.requests, report.callables, report.held_out
    trained.before, trained.after, trained.seconds = dict(report.before), dict(report.after), report.seconds
    trained.weights = vars(weights) if weights else None
    return trained


def _parts(
    name: str, indexes: Sequence[SourceIndex], trained: Trained, tell: Callable[[str], None]
) -> Sequence[Examples]:
    """The requests of each source to train on; those left out are noted in `trained`.

    Raises:
        UsageError: there is too little to train on.
    """
    sources = [_Source(index, described=name == DOCSTRINGS) for index in indexes]
    for trace in () if name == DOCSTRINGS else _traces(name, as_index(indexes), tell):
        if not trace.verified:
            trained.unverified += 1
        elif not [source for source in sources if source.take(trace)]:
            trained.empty += 1
    # Known is what one of the sources has.
    first, *others = [source.known.unknown for source in sources]
    trained.unknown = {name: count for name, count in first.most_common() if all(name in other for other in others)}
    parts = [source.examples(tell) for source in sources]
    # Of several sources one may have no requests; its callables then teach nothing.
    parts = [part for part in parts if part.requests] or parts
    check(parts, _left_out(trained))
    return parts


def _left_out(trained: Trained) -> str:
    """The traces and episodes that nothing is learnt from, in words."""
    unknown = ", ".join([*trained.unknown][:3]) + ", …"[: 3 * (len(trained.unknown) > 3)]
    reasons = [
        f"{trained.unverified} not verified" if trained.unverified else "",
        f"{trained.empty} without a request or a known call" if trained.empty else "",
        f"calls of {unknown}, which {'is' if len(trained.unknown) == 1 else 'are'} not there" if unknown else "",
    ]
    return ", ".join(filter(None, reasons))


def _traces(name: str, index: Index, tell: Callable[[str], None]) -> Iterator[Trace]:
    """The traces in a file, or those of the episodes on this machine."""
    if name == EPISODES:
        return traces_of_store(EpisodeStore(episodes_dir()), index, tell)
    return read_traces(Path(name).expanduser(), tell)


class _Source:
    """The callables of a source, and the requests that they answered."""

    def __init__(self, index: SourceIndex, *, described: bool) -> None:
        """`described`: the requests are the first lines of docstrings, which the texts are without."""
        self._index, self._described = index, described
        self._names: dict[str, int] = {}
        self._texts: list[str] = []
        self._places: dict[str, int] = {}
        """The place of a callable by the id of each block that defines it."""
        self._requests: list[str] = []
        self._gold: list[list[int]] = []
        for block in index.blocks():
            name = callable_name(block)
            if name and name not in self._names:
                place = self._names[name] = len(self._texts)
                line = _first_line(block) if described else ""
                self._texts.append(text_of(block).replace(line, " ", 1) if line else text_of(block))
                if line:
                    self._requests.append(line)
                    self._gold.append([place])
            if name:
                self._places[block.id] = self._names[name]
        self.known = CallableNames(self._names, index)

    def take(self, trace: Trace) -> bool:
        """Take the request of a verified trace. Return False if it has none, or calls nothing of the source."""
        called = dict.fromkeys(self._names[call.name] for call in self.known.of(trace).calls if call.ok)
        if not called or not requests.as_words(trace.request):
            return False
        self._requests.append(trace.request)
        self._gold.append(list(called))
        return True

    def examples(self, tell: Callable[[str], None]) -> Examples:
        """The requests to train on, `MOST_REQUESTS` at most."""
        asked, gold = self._requests, self._gold
        if self._described:
            step = -(-len(asked) // MOST_REQUESTS) or 1
            asked, gold = asked[::step], gold[::step]
        elif len(asked) > MOST_REQUESTS:
            tell(f"of {len(asked):,} requests the last {MOST_REQUESTS:,} are trained on")
            asked, gold = asked[-MOST_REQUESTS:], gold[-MOST_REQUESTS:]
        return Examples(list(self._names), self._texts, asked, gold, self._first, described=self._described)

    def _first(self, request: str) -> dict[int, float]:
        """The callables that the first stage finds for a request, with their scores; that of its best hit is 1."""
        found: dict[int, float] = {}
        with suppress(UsageError):
            hits = requests.search(self._index, request, limit=LIMIT).hits
            for hit, share in zip(hits, beside_best([hit.score for hit in hits]), strict=True):
                place = self._places.get(hit.id)
                if place is not None:
                    found[place] = max(found.get(place, 0.0), min(share, 1.0))
        return found


def _first_line(block: CodeBlock) -> str:
    line = block.docstring.strip().partition("\n")[0].strip()
    return line if len(re.findall(r"[^\W\d_]{2,}", line)) >= FEWEST_WORDS else ""
