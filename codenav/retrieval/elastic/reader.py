"""The reader of one index: ranking first, blocks when they are asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

from codenav.core.blocks import BlockKind, CodeBlock, Frequencies, Hit, IndexStats
from codenav.core.errors import IndexUnavailable
from codenav.retrieval import analysis, documents, plan
from codenav.retrieval.builds import FileEntry
from codenav.retrieval.elastic import faults, lines, queries, schema, statistics
from codenav.retrieval.elastic.connection import Ask, Connection
from codenav.retrieval.elastic.faults import Refused, part
from codenav.retrieval.elastic.lines import BLOCK, FIRST, NUMBER, id_and_kind
from codenav.retrieval.plan import Plan
from codenav.retrieval.planning import Term
from codenav.retrieval.query.tree import Node
from codenav.retrieval.reasons import why

PAGE = 500
"""Blocks per request where all are read."""
FIRST_TEXTS = 13
"""Blocks loaded with the first one of a result: an observation shows 3 in full and up to 10 as signatures."""
NEAR_TIES = 20
"""Hits beyond the limit that are looked at, as rounding may part equal scores at the limit."""
SAME_SCORE = 1.3e-7
"""The relative difference of scores that is rounding: one step of the 24 bits of a score. The server adds the parts of
a score in an order that may differ from segment to segment."""
_FEWEST_CLAUSES = 64


Load = Callable[[Sequence[str]], dict[str, CodeBlock]]
"""A function that gives the blocks with these ids, those that are there."""


class IndexReplaced(Exception):
    """The index has been replaced. Never leaves this package."""


class Row(NamedTuple):
    """A hit as ranking knows it."""

    score: float
    path: str
    line: int
    id: str
    kind: BlockKind
    sort: Sequence[Any]
    """The values by which the server sorted it."""


@dataclass(frozen=True)
class Ranking:
    """The result of a search."""

    rows: Sequence[Row]
    """Best first."""
    total: int
    notes: Sequence[str] = field(default=())
    """Notes on what could not be looked for, one sentence each."""


class Reader:
    """A reader of one index, which never changes; safe to use from several threads."""

    def __init__(self, connection: Connection, index: str) -> None:
        self.index = index
        self._connection = connection
        self._frequencies: tuple[Sequence[Term], Frequencies] | None = None

    def frequencies(self, terms: Sequence[Term]) -> Frequencies:
        """The statistics by which these terms are scored; the last ones are kept. Raises as `load`."""
        kept = self._frequencies
        if kept is None or kept[0] != terms:
            kept = self._frequencies = (terms, statistics.frequencies(self._term_vectors, self._shards, terms))
        return kept[1]

    @cached_property
    def _shards(self) -> int:
        return int(part(self._ask("_shards.total", query=queries.NOTHING, size=0), "_shards").get("total", 1))

    def stats(self) -> IndexStats:
        """The statistics of the last build.

        Raises:
            IndexReplaced: the index has been replaced.
            IndexUnavailable: what it remembers is damaged.
        """
        roles = [lines.HEADER, lines.SKIPS]
        try:
            parts = list(self._state_parts(roles))
            headers = [part for part in parts if isinstance(part, dict)]
            return lines.read_stats(headers[0], [part for part in parts if isinstance(part, list)])
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise self._damaged() from error

    def files(self) -> dict[str, FileEntry]:
        """The files of the index as it remembers them. Raises as `stats`."""
        try:
            return lines.read_files(self._state_parts([lines.FILES]))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise self._damaged() from error

    def search(self, what: Plan, limit: int, *, described: bool = False) -> Ranking:
        """The best `limit` hits, and the number of all that match; `described`: with the factors for descriptions.

        What the server refuses (a pattern that is too big, too many clauses) is left out and told.

        Raises:
            IndexReplaced: the index has been replaced.
        """
        notes: list[str] = []
        refused: frozenset[str] = frozenset()
        wanted = limit + NEAR_TIES if limit > 0 else 0
        while True:
            query = queries.ranked(what, refused=refused, described=described)
            try:
                answer = self._page(query, min(wanted, schema.WINDOW))
                break
            except Refused as error:
                if error.status != 400 or error.kind == faults.CLOSED:
                    raise
                wrong = frozenset(self._refused(what)) - refused
                if not wrong:
                    what = _fewer(what, error)
                    notes = [
                        *(text for text in notes if not text.startswith(_TOO_MANY)),
                        f"{_TOO_MANY} {_count(what)} of them were used",
                    ]
                refused |= wrong
                notes += [f"the pattern {regex[:60]} is {_TOO_BIG}" for regex in sorted(wrong)]
        rows, total = self._rest(query, answer, wanted)
        return Ranking(settled(rows)[: max(limit, 0)], total, tuple(notes))

    def check(self) -> None:
        """Check that the index is still there. Raises as `load`."""
        self._ask("took", query=queries.NOTHING, size=0)

    def hits(self, found: Ranking, query: Node, load: Load, *, first: int = FIRST_TEXTS) -> list[Hit]:
        """The hits of a ranking, which load their block on first access, `first` of them together."""
        texts = _Texts([row.id for row in found.rows], load, first)
        return [
            Hit(
                row.id,
                kind=row.kind,
                path=row.path,
                score=row.score / documents.WEIGHT_SCALE,
                why=partial(why, query),
                load=partial(texts.block, place),
            )
            for place, row in enumerate(found.rows)
        ]

    def load(self, ids: Sequence[str]) -> dict[str, CodeBlock]:
        """The blocks with these ids; one that is not there is left out.

        Raises:
            IndexReplaced: the index has been replaced.
        """
        query = {"terms": {"id": [analysis.encodable(id) for id in ids]}}
        hits = self._hits("hits.hits._source", query=query, size=len(ids), source=[BLOCK], track_total_hits=False)
        blocks = [documents.restored(hit["_source"][BLOCK]) for hit in hits]
        return {block.id: block for block in blocks}

    def blocks(self) -> Iterator[CodeBlock]:
        """Every block, by path and first line. Raises as `load`."""
        given: dict[str, Any] = {
            "query": queries.EVERY_BLOCK, "size": PAGE, "source": [BLOCK], "sort": ["path", FIRST, NUMBER],
            "track_total_hits": False,
        }  # fmt: skip
        while True:
            hits = self._hits("hits.hits._source,hits.hits.sort", **given)
            for hit in hits:
                yield documents.restored(hit["_source"][BLOCK])
            if len(hits) < PAGE:
                return
            given["search_after"] = hits[-1]["sort"]

    def _page(self, query: dict[str, Any], size: int, after: Sequence[Any] | None = None) -> dict[str, Any]:
        return self._ask(
            "hits.total.value,hits.hits.sort", query=query, size=size, sort=queries.ORDER, track_total_hits=True,
            search_after=after, search_type="dfs_query_then_fetch", source=False, stored_fields="_none_",
        )  # fmt: skip

    def _rest(self, query: dict[str, Any], answer: dict[str, Any], wanted: int) -> tuple[list[Row], int]:
        """The rows of a page and of those after it, until there are as many as are wanted."""
        rows, total = _rows(answer)
        while 0 < len(rows) < min(wanted, total):
            size = min(wanted - len(rows), schema.WINDOW)
            more, _ = _rows(self._page(query, size, after=rows[-1].sort))
            if not more:
                break
            rows += more
        return rows, total

    def _hits(self, parts: str, **given: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = part(self._ask(parts, **given), "hits").get("hits", [])
        return found

    def _state_parts(self, roles: list[str]) -> Iterator[Any]:
        query = {"terms": {lines.ROLE: roles}}
        for hit in self._hits("hits.hits._source", query=query, size=schema.WINDOW, source=[BLOCK]):
            yield documents.loads(hit["_source"][BLOCK])

    def _ask(self, parts: str, **given: Any) -> dict[str, Any]:
        return self._read(
            lambda es: es.search(
                index=self.index, filter_path=parts, allow_partial_search_results=False,
                preference=f"codenav-{self.index}"[:64], **given,
            )
        )  # fmt: skip

    def _term_vectors(self, **given: Any) -> dict[str, Any]:
        return self._read(lambda es: es.termvectors(index=self.index, filter_path="term_vectors", **given))

    def _read(self, ask: Ask) -> dict[str, Any]:
        try:
            return self._connection.read(ask)
        except Refused as error:
            if error.status == 404:
                raise IndexReplaced(self.index) from error
            raise

    def _refused(self, what: Plan) -> Iterator[str]:
        """The patterns of a plan that the server does not take."""
        found = {part.regex: part.field for part in plan.leaves(what) if isinstance(part, plan.Pattern)}
        for regex, name in found.items():
            try:
                self._ask("took", query=queries.pattern(name, regex), size=0)
            except Refused as error:
                if error.status != 400 or error.kind == faults.CLOSED:
                    raise
                yield regex

    def _damaged(self) -> IndexUnavailable:
        return IndexUnavailable(
            f"the index {self.index} is damaged: what it remembers of its files is not complete",
            hint="codenav sources remove SOURCE",
        )


_TOO_BIG = "too big for this index and matched nothing"
_TOO_MANY = "the query has more clauses than the server takes:"


def settled(rows: list[Row]) -> list[Row]:
    """The rows, with scores that differ by rounding alone as ties: ordered by path, line and id."""
    found: list[Row] = []
    run: list[Row] = []
    for row in rows:
        if run and run[-1].score - row.score > SAME_SCORE * abs(row.score):
            found += sorted(run, key=_place) if len(run) > 1 else run
            run = []
        run.append(row)
    return found + sorted(run, key=_place)


def _place(row: Row) -> tuple[str, int, str]:
    return row.path, row.line, row.id


def _rows(answer: dict[str, Any]) -> tuple[list[Row], int]:
    found = part(answer, "hits")
    rows = []
    for hit in found.get("hits", ()):
        score, path, line, number, kind = hit["sort"]
        rows.append(Row(score, path, line, *id_and_kind(number, kind), hit["sort"]))
    return rows, int(part(found, "total").get("value", 0))


def _count(what: Plan) -> int:
    return sum(1 for _ in plan.leaves(what))


def _fewer(what: Plan, error: Refused) -> Plan:
    """A plan with half of its clauses, or the error where it has few already."""
    count = _count(what)
    if count < _FEWEST_CLAUSES:
        raise error
    return cut(what, count // 2)[0]


def cut(what: Plan, budget: int) -> tuple[Plan, int]:
    """A plan with its first `budget` clauses, and what is left of the budget. What is required or excluded stays."""
    match what:
        case plan.Weighted(part, factor):
            part, budget = cut(part, budget)
            return plan.Weighted(part, factor), budget
        case plan.Constant(part, score):
            part, budget = cut(part, budget)
            return plan.Constant(part, score), budget
        case plan.Join(required, optional, excluded):
            kept: list[tuple[Plan, ...]] = []
            for parts, needed in ((required, True), (excluded, True), (optional, False)):
                own: list[Plan] = []
                for part in parts:
                    if budget > 0 or needed:
                        part, budget = cut(part, budget)
                        own.append(part)
                kept.append(tuple(own))
            return plan.Join(kept[0], kept[2], kept[1]), budget
    return what, budget - 1


class _Texts:
    """The blocks of one result: the first that is asked for brings its neighbours, the next one all others."""

    def __init__(self, ids: Sequence[str], load: Load, first: int) -> None:
        self._ids = ids
        self._first = first
        self._load = load
        self._blocks: dict[str, CodeBlock] = {}
        self._lock = threading.Lock()

    def block(self, place: int) -> CodeBlock:
        """The block of the hit at that place.

        Raises:
            IndexUnavailable: it left the index meanwhile.
        """
        with self._lock:
            id = self._ids[place]
            if id not in self._blocks:
                size = PAGE if self._blocks else self._first
                wanted = [id for id in self._ids[place : place + size] if id not in self._blocks]
                self._blocks.update(self._load(wanted))
            if id not in self._blocks:
                raise IndexUnavailable(
                    "the index was rebuilt meanwhile, and this block is not in it any more", hint="search again"
                )
            return self._blocks[id]
