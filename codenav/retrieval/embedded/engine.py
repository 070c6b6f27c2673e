"""The embedded engine, tantivy: translation of plans and blocks, in the only module that knows it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from codenav.core.blocks import CodeBlock, Frequencies, Hit
from codenav.core.errors import IndexUnavailable
from codenav.retrieval import analysis, documents, plan
from codenav.retrieval.embedded import rows
from codenav.retrieval.embedded.rows import Row
from codenav.retrieval.plan import Plan
from codenav.retrieval.query.tree import Node
from codenav.retrieval.reasons import why

WRITER_BYTES = 64_000_000
"""Memory of the writer before it starts a new segment; 128 MB are no faster and take twice the memory."""


_FILES_AT_ONCE = 64
"""Number of files whose blocks `Reader.blocks` reads and sorts together."""
_BEGINNING = re.compile(r"[^*?\\]+\*")
"""A pattern that is just a prefix."""
WORTH, PRIOR = "weight", "prior"
"""The fields of the factors of a block's score, for names and for descriptions."""
TIES = 400
"""Hits fetched beyond the limit at first, since many may share the last score."""


def version() -> str:
    """The engine's index format; an index in another format cannot be opened."""
    import tantivy

    named: str = vars(tantivy)["__version__"]
    return named.rpartition(", ")[2]


def schema() -> Any:
    """The fields of a block."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    for name in (*rows.SCORED, rows.FACTS):
        option: Any = "position" if name in documents.PHRASES else "basic"
        builder.add_text_field(name, tokenizer_name="whitespace", index_option=option)
    builder.add_bytes_field("block", stored=True)
    for name in ("file", "kind", "id_number", "first_line", "last_line"):
        builder.add_unsigned_field(name, fast=True)
    for name in (WORTH, PRIOR):
        builder.add_float_field(name, fast=True)
    return builder.build()


def sizes(place: Path) -> tuple[list[int], int]:
    """The blocks of each segment, and the number of all that are deleted but still count in BM25."""
    segments = _segments(place)
    gone = [(segment["deletes"] or {}).get("num_deleted_docs", 0) for segment in segments]
    return [segment["max_doc"] - deleted for segment, deleted in zip(segments, gone, strict=True)], sum(gone)


def _segments(place: Path) -> list[dict[str, Any]]:
    """The engine's own account of an index, read from its files."""
    found: list[dict[str, Any]] = json.loads((place / "meta.json").read_text(encoding="utf-8"))["segments"]
    return found


class Writer:
    """A writer to the index in a folder; its changes are invisible before `commit`."""

    def __init__(self, place: Path, *, fresh: bool) -> None:
        import tantivy

        with translated():
            self._index = tantivy.Index(schema(), path=str(place)) if fresh else tantivy.Index.open(str(place))
            self._writer = self._index.writer(WRITER_BYTES, 1)

    def remove(self, file: int) -> None:
        """Drop all blocks of the file with that number."""
        with translated():
            self._writer.delete_documents_by_term(rows.FACTS, f"{rows.FILE_MARK}{file}")

    def add(self, block_rows: Sequence[Row], *, file: int) -> None:
        """Index the blocks of the file with that number."""
        mark = f" {rows.FILE_MARK}{file}"
        try:
            with translated():
                for row in block_rows:
                    self._writer.add_document(_document(row, file, mark))
        except ValueError:
            # The engine's own thread has died, perhaps because the disk is full: only a commit tells the reason.
            with translated():
                self._writer.commit()
            raise

    def commit(self) -> None:
        """Write, and wait until the engine's own threads have ended, after which no file changes any more."""
        with translated():
            self._writer.commit()
            self._writer.wait_merging_threads()


def _document(row: Row, file: int, mark: str) -> Any:
    import tantivy

    texts, facts, stored, kind, id_number, first_line, last_line, worth, prior = row
    document = tantivy.Document()
    for name, text in zip(rows.SCORED, texts, strict=True):
        document.add_text(name, text)
    document.add_text(rows.FACTS, facts + mark)
    document.add_bytes("block", stored)
    document.add_unsigned("file", file)
    document.add_unsigned("kind", kind)
    document.add_unsigned("id_number", id_number)
    document.add_unsigned("first_line", first_line)
    document.add_unsigned("last_line", last_line)
    document.add_float(WORTH, worth)
    document.add_float(PRIOR, prior)
    return document


@dataclass(frozen=True)
class Ranking:
    """The result of a search."""

    found: Sequence[tuple[float, Any]]
    """Score and the engine's address of each hit, best first."""
    total: int
    refused: Sequence[str]
    """Regular expressions that were too large for the engine."""


class Reader:
    """A reader of one state of an index; safe to use from several threads."""

    def __init__(self, place: Path, paths: Mapping[int, str]) -> None:
        """`paths`: paths by file number."""
        import tantivy

        with translated(), _lockable(place) as folder:
            index = tantivy.Index.open(str(folder))
            # Without a watcher: a generation never changes.
            index.config_reader(reload_policy="manual")
            self._searcher = index.searcher()
            self._schema = index.schema
        self._size = sum(segment["max_doc"] for segment in _segments(place))
        self._paths = paths
        self._rank = {number: rank for rank, (number, _) in enumerate(sorted(paths.items(), key=lambda item: item[1]))}

    def search(self, what: Plan, limit: int, *, described: bool = False) -> Ranking:
        """Find the best `limit` hits and the total number; `described`: with the factors for descriptions.

        Equal scores are ordered by path, first line and id; for that, all blocks that share the last score are fetched.
        """
        translation = _Translation(self._schema)
        with translated():
            query = translation.query(what)
        factor = PRIOR if described else WORTH
        fetch = max(limit, 1) + TIES
        while True:
            with translated():
                found: Any = self._searcher.search(query, fetch, count=True, weight_by_field=factor)
            hits = found.hits
            if len(hits) < fetch or limit < 1 or hits[-1][0] < hits[limit - 1][0]:
                break
            fetch = min(found.count + 1, fetch * 100)
        best = self._ordered(hits, limit)
        return Ranking([hits[at] for at in best], found.count, tuple(translation.refused))

    def frequencies(self, terms: Iterable[tuple[str, str]]) -> Frequencies:
        """The statistics by which the engine scores: deleted blocks count until they are merged away."""
        with translated():
            counts = {(field, token): self._searcher.doc_freq(*_term(field, token)) for field, token in terms}
            return Frequencies(self._size, counts, self._lengths)

    @cached_property
    def _lengths(self) -> Mapping[str, float]:
        """The mean length of each scored field, which the engine tells where it explains the score of some block."""
        from tantivy import Query

        lengths: dict[str, float] = {}
        for _, address in self._searcher.search(Query.all_query(), 1).hits:
            texts = documents.text_fields(self.block(address))
            for name in rows.SCORED:
                # A token that is not in this block's field is one of an older analysis: its length stays unknown.
                with contextlib.suppress(ValueError):
                    term = Query.term_query(self._schema, name, texts[name].partition(" ")[0])
                    lengths[name] = _length(term.explain(self._searcher, address).to_json())
        return lengths

    def _ordered(self, hits: list[tuple[float, Any]], limit: int) -> list[int]:
        """Indices of the first `limit` hits by score, path, first line and id."""
        if limit < 1 or not hits:
            return []
        cut = hits[min(limit, len(hits)) - 1][0]
        scores = [score for score, _ in hits if score >= cut]
        order = list(range(len(scores)))
        tied = [at for at in order if scores[at] in (scores[at - 1] if at else None, *scores[at + 1 : at + 2])]
        if tied:
            keys = dict(zip(tied, self._keys([hits[at][1] for at in tied]), strict=True))
            order.sort(key=lambda at: (-scores[at], keys.get(at, ())))
        return order[:limit]

    def _keys(self, addresses: list[Any]) -> list[tuple[Any, ...]]:
        """The sort keys for equal scores: path, first line, id."""
        ranks = [self._rank.get(file, 0) for file in self._numbers("file", addresses)]
        lines, ids = self._numbers("first_line", addresses), self._numbers("id_number", addresses)
        return list(zip(ranks, lines, ids, strict=True))

    def _numbers(self, field: str, addresses: list[Any]) -> list[Any]:
        if not addresses:
            return []
        with translated():
            return list(self._searcher.fast_field_values(field, addresses))

    def hits(self, found: Sequence[tuple[float, Any]], query: Node) -> list[Hit]:
        """The hits of a ranking, which load their block on first access."""
        addresses = [address for _, address in found]
        ids, kinds, files = (self._numbers(name, addresses) for name in ("id_number", "kind", "file"))
        return [
            Hit(
                f"{id:016x}",
                kind=rows.KINDS[kind],
                path=self._paths.get(file, ""),
                score=score / documents.WEIGHT_SCALE,
                why=partial(why, query),
                load=partial(self.block, address),
            )
            for id, kind, file, (score, address) in zip(ids, kinds, files, found, strict=True)
        ]

    def block(self, address: Any) -> CodeBlock:
        """Load a block."""
        with translated():
            stored: Any = self._searcher.doc(address).get_first("block")
        return documents.restored(stored)

    def find(self, id: str) -> CodeBlock | None:
        """The block with that id."""
        found = self.search(plan.Match("id", analysis.encodable(id)), 1).found
        return self.block(found[0][1]) if found else None

    def blocks(self) -> Iterator[CodeBlock]:
        """Every block, by path and first line; read a few files at a time."""
        import tantivy

        numbers = [f"{rows.FILE_MARK}{number}" for number in self._rank]
        for at in range(0, len(numbers), _FILES_AT_ONCE):
            query = tantivy.Query.term_set_query(self._schema, rows.FACTS, numbers[at : at + _FILES_AT_ONCE])
            with translated():
                counted: Any = self._searcher.search(query, 1, count=True)
                found: Any = self._searcher.search(query, max(counted.count, 1), count=False)
            hits = [(0.0, address) for _, address in found.hits]
            for place in self._ordered(hits, len(hits)):
                yield self.block(hits[place][1])


def _place(field: str) -> tuple[str, str]:
    """The engine's field for a field of a plan, and the prefix of its tokens there."""
    mark = rows.MARKS.get(field, "")
    return (rows.FACTS if mark else field), mark


def _term(field: str, token: str) -> tuple[str, str]:
    """The engine's field and token for those of a plan."""
    return (rows.FACTS, rows.fact(field, token)) if field in rows.MARKS else (field, token)


class _Translation:
    """A translation of a plan into the engine's queries."""

    def __init__(self, schema: Any) -> None:
        import tantivy

        # One of these statements in each call of `query` would take as long as the calls: a search has hundreds.
        self._query, self._occur, self._unsigned = tantivy.Query, tantivy.Occur, tantivy.FieldType.Unsigned
        self._schema = schema
        self.refused: list[str] = []
        """Regular expressions that are too large for the engine; they match nothing."""

    def query(self, what: Plan) -> Any:
        """The engine's query for a plan."""
        Query, Occur, schema = self._query, self._occur, self._schema
        match what:
            case plan.Match(field, token):
                return Query.term_query(schema, *_term(field, token))
            case plan.Sequence(field, tokens, slop):
                return Query.phrase_query(schema, field, list(tokens), slop)
            case plan.Pattern(field, regex, wildcard):
                stands, mark = _place(field)
                if _BEGINNING.fullmatch(wildcard):
                    # The same walk as with a regular expression, without the 0.25 ms that one takes to compile.
                    return Query.fuzzy_term_query(schema, stands, mark + wildcard[:-1], 0, prefix=True)
                return self._pattern(stands, f"{mark}({regex})" if mark else regex)
            case plan.Near(field, token, distance):
                return Query.fuzzy_term_query(schema, field, token, distance)
            case plan.Between(field, low, high):
                bounds = (max(low or 0, 0), None if high is None else max(high, 0))
                return Query.range_query(schema, field, self._unsigned, *bounds)
            case plan.Everything():
                return Query.const_score_query(Query.all_query(), 1.0)
            case plan.Best(parts, share):
                return Query.disjunction_max_query([self.query(part) for part in parts], share)
            case plan.Weighted(part, factor):
                return Query.boost_query(self.query(part), factor)
            case plan.Constant(part, score):
                return Query.const_score_query(self.query(part), score)
            case plan.Join(required, optional, excluded):
                clauses = [(Occur.Must, self.query(part)) for part in required]
                clauses += [(Occur.Should, self.query(part)) for part in optional]
                clauses += [(Occur.MustNot, self.query(part)) for part in excluded]
                return Query.boolean_query(clauses) if clauses else Query.empty_query()

    def _pattern(self, field: str, regex: str) -> Any:
        if regex not in self.refused:
            try:
                return self._query.regex_query(self._schema, field, regex)
            except ValueError:
                self.refused.append(regex)
        return self._query.empty_query()


_MEAN_LENGTH = re.compile(r'"value":\s*([0-9.e+-]+),\s*"description":\s*"avgdl,')


def _length(explanation: str) -> float:
    found = _MEAN_LENGTH.search(explanation)
    if not found:
        raise ValueError("the engine does not tell the mean length of a field")
    return float(found[1])


@contextlib.contextmanager
def _lockable(place: Path) -> Iterator[Path]:
    """A folder that the engine can lock: `place`, or one of links to its files if `place` is read-only."""
    if os.access(place, os.W_OK):
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="codenav-") as links:
        for item in place.iterdir():
            if not item.name.endswith(".lock"):
                Path(links, item.name).symlink_to(item.resolve())
        yield Path(links)


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Turn a Rust panic into IndexUnavailable; the engine's other errors, OSError and ValueError, pass unchanged.

    Raises:
        IndexUnavailable: the index is damaged.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise IndexUnavailable(
            f"the index is damaged: {str(error)[:200]}", hint="codenav sources remove SOURCE"
        ) from error
