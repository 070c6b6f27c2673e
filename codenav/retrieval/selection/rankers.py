"""Rankers (`protocols.Ranker`) made of services: reranked hits, a rewritten request, and several rankers in a row."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from codenav.core.blocks import Hit, Moved, Vote
from codenav.core.errors import Cancelled, CodeNavError, RankingFailed
from codenav.core.messages import Message
from codenav.core.protocols import Bringing, Ranker
from codenav.retrieval.selection.choosing import Scorer, ToolSelector

MOST = 50
"""Hits whose texts a search sends to a service: the first ones. Those behind stay behind."""
REMEMBERED = 10_000
"""Scores that are kept: the next page of the same search asks for new hits only."""

_TEXT = 1000


class RerankRanker:
    """An order of hits by the scores of a service. Of a hit that is sent, signature and docstring are loaded.

    Nothing is dropped: hits that the settings of the selection leave out follow the chosen ones, in the order in which
    they came.
    """

    def __init__(self, selector: ToolSelector, scorer: Scorer, *, tell: Callable[[str], None]) -> None:
        """`tell` gets a line where the service fails and the settings say `skip`."""
        self._selector, self._scorer, self._tell = selector, scorer, tell
        self._scores: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()

    def rank(self, request: str, query: str, calls: Sequence[str], hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the hits, those first that the service finds best.

        Raises:
            RankingFailed: the service failed, and the settings say `abort`.
            Cancelled: the work was cancelled meanwhile.
        """
        settings = self._selector.settings
        sent = list(hits)[:MOST]
        if len(sent) < max(2, settings.rerank_trigger):
            return hits
        asked = _asked(request, query)
        try:
            scores = self._scored(asked, sent)
        except Cancelled:
            raise
        except CodeNavError as error:
            if settings.rerank_failure == "abort":
                raise RankingFailed(str(error), hint=error.hint) from error
            self._tell(f"the search is not reranked: {error}")
            return hits
        places = sorted(range(len(sent)), key=lambda place: -scores[place])
        first = [place for place in places[: self._selector.room(len(sent))] if self._selector.passes(scores[place])]
        chosen = set(first)
        order = [*first, *(place for place in range(len(hits)) if place not in chosen)]
        because = {place: f"place {rank} of {len(sent)} by its text" for rank, place in enumerate(places, 1)}
        votes = {place: Vote("rerank", scores[place], because[place]) for place in first}
        return reordered(hits, order, votes)

    def _scored(self, asked: str, hits: Sequence[Hit]) -> list[float]:
        with self._lock:
            known = {hit.id: self._scores[asked, hit.id] for hit in hits if (asked, hit.id) in self._scores}
        new = [hit for hit in hits if hit.id not in known]
        if new:
            known |= zip((hit.id for hit in new), self._scorer.score(asked, [text_of(hit) for hit in new]), strict=True)
            with self._lock:
                if len(self._scores) > REMEMBERED:
                    self._scores.clear()
                self._scores |= {(asked, hit.id): known[hit.id] for hit in new}
        return [known[hit.id] for hit in hits]


class Rewritten:
    """A ranker that gets the request written anew from a conversation, once for each request."""

    def __init__(
        self, ranker: Ranker, selector: ToolSelector, turns: Sequence[Message], *, tell: Callable[[str], None]
    ) -> None:
        """`turns` come before the request. `tell` gets a line where the model fails and the settings say `skip`."""
        self._ranker, self._selector, self._turns, self._tell = ranker, selector, tuple(turns), tell
        self._known: dict[str, str] = {}

    def rank(self, request: str, query: str, calls: Sequence[str], hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the hits in the order of the inner ranker.

        Raises:
            RankingFailed: the model failed, and the settings say `abort`.
            Cancelled: the work was cancelled meanwhile.
        """
        return self._ranker.rank(self._written(request), query, calls, hits)

    def brings(
        self, request: str, query: str, calls: Sequence[str], known: Collection[str]
    ) -> Mapping[str, Sequence[Vote]]:
        """Return what the inner ranker brings for the request as it was written. Raises as `rank`."""
        if not isinstance(self._ranker, Bringing):
            return {}
        return self._ranker.brings(self._written(request), query, calls, known)

    def _written(self, request: str) -> str:
        if request and request not in self._known:
            try:
                written, notes = self._selector.query([*self._turns, Message("user", request)])
            except Cancelled:
                raise
            except CodeNavError as error:
                raise RankingFailed(str(error), hint=error.hint) from error
            for note in notes:
                self._tell(note)
            self._known[request] = written
        return self._known.get(request, request)


class Chain:
    """Several rankers, each of which orders what the one before left. The last word is the last one's."""

    def __init__(self, rankers: Sequence[Ranker], *, tell: Callable[[str], None]) -> None:
        """`tell` gets a line for a ranker that fails, and is left out."""
        self._rankers, self._tell = tuple(rankers), tell

    def rank(self, request: str, query: str, calls: Sequence[str], hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the hits as the last ranker leaves them.

        Raises:
            RankingFailed: a service failed, and the settings say `abort`.
            Cancelled: the work was cancelled meanwhile.
        """
        for ranker in self._rankers:
            before = [(hit, hit.moved) for hit in hits]
            with self._skipped(before):
                hits = ranker.rank(request, query, calls, hits)
        return hits

    def brings(
        self, request: str, query: str, calls: Sequence[str], known: Collection[str]
    ) -> dict[str, Sequence[Vote]]:
        """Return what each ranker brings; of one that fails nothing. Raises as `rank`."""
        found: dict[str, Sequence[Vote]] = {}
        for ranker in self._rankers:
            if isinstance(ranker, Bringing):
                with self._skipped(()):
                    found |= ranker.brings(request, query, calls, {*known, *found})
        return found

    @contextlib.contextmanager
    def _skipped(self, before: Sequence[tuple[Hit, Moved | None]]) -> Iterator[None]:
        """Leave out a ranker that fails; hits are as they were before."""
        try:
            yield
        except (Cancelled, RankingFailed):
            raise
        except Exception as error:
            self._tell(f"the search is not ranked: {error}")
            for hit, moved in before:
                hit.moved = moved


def reordered(hits: Sequence[Hit], order: Sequence[int], votes: dict[int, Vote]) -> list[Hit]:
    """Return hits in another order, each telling from which place of the first stage it came and what moved it.

    `votes` are by the places in `hits`. Votes of a ranker before stay.
    """
    found = []
    for new, place in enumerate(order, 1):
        hit = hits[place]
        origin, earlier = (hit.moved.place, hit.moved.votes) if hit.moved else (place + 1, ())
        own = (votes[place],) if place in votes else ()
        hit.moved = Moved(origin, (*own, *earlier)) if origin != new else None
        found.append(hit)
    return found


def text_of(hit: Hit) -> str:
    """Return what a service reads of a hit: name, signature and the first paragraph of the docstring."""
    block = hit.block
    summary = " ".join(block.docstring.strip().split("\n\n")[0].split())
    parts = (block.qualname or block.name, " ".join(block.signature.split()), summary)
    text = "\n".join(part for part in parts if part)
    return (text if block.signature or summary else f"{text}\n{block.text}")[:_TEXT]


def _asked(request: str, query: str) -> str:
    """The text that hits are scored by: the request, with a query that says more than its words in front."""
    words = set(request.lower().split())
    if not request:
        return query
    return request if set(query.lower().split()) <= words else f"{query}\n{request}"
