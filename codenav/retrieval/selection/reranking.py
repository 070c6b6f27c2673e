"""The order of hits by a rerank service."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence

from codenav.core.blocks import Hit, Moved, Vote
from codenav.core.errors import Cancelled, CodeNavError, IndexUnavailable, RankingFailed
from codenav.core.tool_selection import ToolSelection
from codenav.retrieval.selection.rerank_server import RerankServer

MOST = 50
"""Hits whose texts a search sends to a service: the first ones. Those behind stay behind."""
REMEMBERED = 10_000
"""Scores that are kept: the next page of the same search asks for new hits only."""

_TEXT = 1000


class RerankRanker:
    """A `protocols.Ranker` by the scores of a service. Of a hit that is sent, signature and docstring are loaded.

    Nothing is dropped: hits that the settings leave out follow the chosen ones, in the order in which they came.
    """

    def __init__(self, settings: ToolSelection, server: RerankServer, *, tell: Callable[[str], None]) -> None:
        """`tell` gets a line where the service fails and the settings say `skip`."""
        self._settings, self._server, self._tell = settings, server, tell
        self._scores: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()

    def rank(self, request: str, query: str, calls: Sequence[str], hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the hits, those first that the service finds best.

        Raises:
            RankingFailed: the service failed, and the settings say `abort`.
            Cancelled: the work was cancelled meanwhile.
        """
        if len(hits[:MOST]) < max(2, self._settings.rerank_trigger):
            return hits
        texts = {place: text for place, hit in enumerate(hits[:MOST]) if (text := text_of(hit))}
        try:
            scores = self._scored(_asked(request, query), {hits[place].id: text for place, text in texts.items()})
        except Cancelled:
            raise
        except CodeNavError as error:
            if self._settings.rerank_failure == "abort":
                raise RankingFailed(str(error), hint=error.hint) from error
            self._tell(f"the search is not reranked: {error}")
            return hits
        places = sorted(texts, key=lambda place: -scores[hits[place].id])
        first = [place for place in places[: self._room(len(places))] if self._passes(scores[hits[place].id])]
        for place in first:
            because = f"place {places.index(place) + 1} of {len(places)} by its text"
            hits[place].moved = Moved(place + 1, (Vote("rerank", scores[hits[place].id], because),))
        chosen = set(first)
        return [hits[place] for place in (*first, *(place for place in range(len(hits)) if place not in chosen))]

    def _room(self, count: int) -> int:
        """The most of a number of hits that are chosen."""
        share = max(1, math.ceil(count * self._settings.rerank_percent / 100 - 1e-9))
        return min(count, share, self._settings.rerank_top or count)

    def _passes(self, score: float) -> bool:
        return not self._settings.rerank_threshold or score >= self._settings.rerank_threshold

    def _scored(self, asked: str, texts: dict[str, str]) -> dict[str, float]:
        """The scores of texts by the ids of their hits."""
        with self._lock:
            known = {id: self._scores[asked, id] for id in texts if (asked, id) in self._scores}
        new = [id for id in texts if id not in known]
        if new:
            known |= zip(new, self._server.score(asked, [texts[id] for id in new]), strict=True)
            with self._lock:
                if len(self._scores) > REMEMBERED:
                    self._scores.clear()
                self._scores |= {(asked, id): known[id] for id in new}
        return known


def text_of(hit: Hit) -> str:
    """Return what a service reads of a hit: name, signature and the first paragraph of the docstring.

    It is empty for one that was brought and cannot be had.
    """
    try:
        block = hit.block
    except IndexUnavailable:
        raise
    except CodeNavError:
        return ""
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
