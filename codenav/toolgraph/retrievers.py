"""The verb behind `codenav train-retriever`: what a retriever is trained on, found in indexes, traces and episodes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Unpack

from codenav.core.blocks import BlockKind, CodeBlock, beside_best
from codenav.core.config import episodes_dir
from codenav.core.errors import CodeNavError, NotFound, UsageError
from codenav.core.events import Status
from codenav.core.options import spelled
from codenav.core.protocols import Model
from codenav.core.system.stored import Document
from codenav.core.traces import Trace, callable_name
from codenav.episodes.store import EpisodeStore
from codenav.navigation.verbs import ReadingKeywords, indexes_of
from codenav.retrieval import requests
from codenav.retrieval.dense import files, making
from codenav.retrieval.dense.block_vectors import text_of
from codenav.retrieval.dense.examples import Examples, check, lures_of
from codenav.retrieval.encoders.tuning import TuningSettings, check_folders
from codenav.retrieval.source_index import On, SourceIndex
from codenav.toolgraph.base_encoders import tune_base
from codenav.toolgraph.callables import CallableNames
from codenav.toolgraph.episodes import trace_of_episode
from codenav.toolgraph.trace_files import read_traces

EPISODES, DOCSTRINGS = "episodes", "docstrings"
KINDS = (BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.CLASS, BlockKind.TOOL)
"""The kinds of blocks that are callables."""
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


@spelled(ReadingKeywords)
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
    **reading: Unpack[ReadingKeywords],
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
    sources = [_Source.of(index, described=name == DOCSTRINGS) for index in indexes]
    if name == DOCSTRINGS:
        parts = [source.docstrings() for source in sources]
    else:
        # Each line is left out once, not once for each source.
        reads = [source.read(_traces(name, source.index, _silent if at else tell)) for at, source in enumerate(sources)]
        parts = [_last(read.examples, tell) for read in reads]
        trained.unverified = reads[0].unverified
        trained.empty = reads[0].verified - len(set[int]().union(*(read.used for read in reads)))
        # Known is what one of the sources has.
        counts = [read.unknown for read in reads]
        trained.unknown = {
            name: count for name, count in counts[0].most_common() if all(name in other for other in counts)
        }
    # Of several sources one may have no requests; its callables then teach nothing.
    parts = [part for part in parts if part.requests] or parts
    check(parts, _left_out(trained))
    return parts


def _last(part: Examples, tell: Callable[[str], None]) -> Examples:
    """The last requests of a source."""
    if len(part.requests) <= MOST_REQUESTS:
        return part
    tell(f"of {len(part.requests):,} requests the last {MOST_REQUESTS:,} are trained on")
    return replace(part, requests=part.requests[-MOST_REQUESTS:], gold=part.gold[-MOST_REQUESTS:])


def _left_out(trained: Trained) -> str:
    """The traces and episodes that nothing is learnt from, in words."""
    unknown = ", ".join([*trained.unknown][:3]) + ", …"[: 3 * (len(trained.unknown) > 3)]
    reasons = [
        f"{trained.unverified} not verified" if trained.unverified else "",
        f"{trained.empty} without a request or a known call" if trained.empty else "",
        f"calls of {unknown}, which {'is' if len(trained.unknown) == 1 else 'are'} not there" if unknown else "",
    ]
    return ", ".join(filter(None, reasons))


def _silent(text: str) -> None:
    """A listener that tells nobody."""


def _traces(name: str, index: SourceIndex, tell: Callable[[str], None]) -> Iterator[Trace]:
    return _episodes(index, tell) if name == EPISODES else _of_file(Path(name).expanduser(), tell)


def _of_file(path: Path, tell: Callable[[str], None]) -> Iterator[Trace]:
    return read_traces(path, lambda line, why: tell(f"{path.name}, line {line}, is left out: {why}"))


def _episodes(index: SourceIndex, tell: Callable[[str], None]) -> Iterator[Trace]:
    store = EpisodeStore(episodes_dir())
    for id in reversed(store.ids()):
        if store.status(id) in (None, Status.RUNNING):
            continue
        try:
            yield trace_of_episode(store.load(id), index)
        except CodeNavError as error:
            tell(f"{id} is left out: {error}")


@dataclass(frozen=True)
class _Read:
    """The traces that were read for one source."""

    examples: Examples
    verified: int
    unverified: int
    used: set[int]
    """Places among the verified ones of those that teach something."""
    unknown: Counter[str]


@dataclass(frozen=True)
class _Source:
    """The callables of a source."""

    index: SourceIndex
    names: list[str]
    texts: list[str]
    places: Mapping[str, int]
    """The place of a callable by the id of each block that defines it."""
    described: Sequence[tuple[int, str]]
    """Places and first lines of docstrings."""

    @classmethod
    def of(cls, index: SourceIndex, *, described: bool) -> _Source:
        """Read the callables of an index. `described`: their texts are without the first lines of docstrings."""
        names: dict[str, int] = {}
        texts: list[str] = []
        places: dict[str, int] = {}
        lines: list[tuple[int, str]] = []
        for block in index.blocks():
            name = callable_name(block) if block.kind in KINDS else ""
            if not name:
                continue
            if name not in names:
                names[name] = len(texts)
                line = _first_line(block) if described else ""
                if line:
                    lines.append((names[name], line))
                texts.append(_without(line, text_of(block)) if line else text_of(block))
            places[block.id] = names[name]
        return cls(index, list(names), texts, places, lines)

    def read(self, traces: Iterator[Trace]) -> _Read:
        """The requests of verified traces that call something of the source."""
        known = CallableNames(self.names, self.index)
        row = {name: place for place, name in enumerate(self.names)}
        asked: list[str] = []
        gold: list[list[int]] = []
        used: set[int] = set()
        verified = unverified = 0
        for trace in traces:
            if not trace.verified:
                unverified += 1
                continue
            called = dict.fromkeys(row[call.name] for call in known.of(trace).calls if call.ok)
            if called and requests.as_words(trace.request):
                asked.append(trace.request)
                gold.append(list(called))
                used.add(verified)
            verified += 1
        return _Read(
            Examples(self.names, self.texts, asked, gold, self.first), verified, unverified, used, known.unknown
        )

    def docstrings(self) -> Examples:
        """The first lines of docstrings as requests for what they describe."""
        step = -(-len(self.described) // MOST_REQUESTS) or 1
        kept = self.described[::step]
        return Examples(
            self.names, self.texts, [line for _, line in kept], [[place] for place, _ in kept], self.first,
            described=True,
        )  # fmt: skip

    def first(self, request: str) -> dict[int, float]:
        """The callables that the first stage finds for a request, with their scores; that of its best hit is 1."""
        found: dict[int, float] = {}
        with suppress(UsageError):
            hits = requests.search(self.index, request, limit=LIMIT).hits
            for hit, share in zip(hits, beside_best([hit.score for hit in hits]), strict=True):
                place = self.places.get(hit.id)
                if place is not None:
                    found[place] = max(found.get(place, 0.0), min(share, 1.0))
        return found


def _first_line(block: CodeBlock) -> str:
    lines = block.docstring.strip().splitlines()
    line = lines[0].strip() if lines else ""
    return line if len(re.findall(r"[^\W\d_]{2,}", line)) >= FEWEST_WORDS else ""


def _without(line: str, text: str) -> str:
    return text.replace(line, " ", 1)
