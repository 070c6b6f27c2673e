"""The environment of `search` actions: pages through an index and shows no block in full twice."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from codenav.core.actions import Action, Search, SearchObservation
from codenav.core.blocks import BlockKind, CodeBlock, Instance, SearchResult
from codenav.core.errors import QueryTooLarge
from codenav.core.protocols import Index
from codenav.core.usage import estimate_tokens
from codenav.environments.formatting import SHOWS, cut_middle, searched
from codenav.environments.ranking import MATCHES, Ranking

FULL = 3
"""Blocks shown in full per query (CodeNav paper, section 3.4: K = 3)."""
MORE = 10
"""Further blocks shown as signatures (CodeNav paper, section 3.4: P = 10)."""
QUERIES = 5
"""Queries of one action that are answered; the paper's prompts use one to three."""
TOKENS = 6000
"""Tokens of an observation, at most; three blocks of `formatting.FULL_TOKENS` and ten signatures fit well inside."""


class SearchEnvironment:
    """The environment of `search` actions: remembers what it showed in full, and shows the next matches instead."""

    action: type[Action] = Search

    def __init__(
        self,
        index: Index,
        *,
        tagged: bool = False,
        shows: str = SHOWS[0],
        ranking: Ranking | None = None,
        advice: Callable[[Index, SearchResult], Sequence[str]] | None = None,
        instance_of: Callable[[Index, CodeBlock], Instance] | None = None,
    ) -> None:
        """`tagged`: each hit names its source, for an index of several.

        `shows` is the content of a block shown in full: `shorter` (its code, or signature and docstring where those are
        shorter), `code`, `docstrings` (and signatures) or `prototypes` (signatures alone). `ranking` orders the next
        `MATCHES` matches, and adds to them; without it they come as the index has them. `advice` says what to ask
        instead of a query that found nothing; `instance_of` tells the class of a name at module level.
        """
        self.index = index
        self.shows = shows
        self._ranking = ranking
        self._advice = advice
        self._instance_of = partial(instance_of, index) if instance_of else None
        self._tagged = tagged
        self._seen: set[str] = set()

    def facts(self) -> Mapping[str, str]:
        """The numbers of blocks that are shown, and the kinds that exist."""
        # Kinds that few code bases have are named only where there are some.
        rare, held = (BlockKind.TOOL, BlockKind.EPISODE), self.index.stats().kinds
        kinds = [kind.value for kind in BlockKind if kind not in rare or held.get(kind.value)]
        return {"full": str(FULL), "more": str(MORE), "kinds": ", ".join(kinds)}

    def respond(self, action: Action, *, timeout: float | None = None) -> SearchObservation:
        """Run each line of the action as a query."""
        queries = [line.strip() for line in action.content.splitlines() if line.strip()]
        texts, results, left = [], [], TOKENS
        for query in queries[:QUERIES]:
            try:
                text, result = self._show(query, tokens=left)
            except QueryTooLarge as error:
                text, result = f"{error}; {error.hint}", SearchResult(query[:200])
            texts.append(text)
            results.append(result)
            left -= estimate_tokens(text)
        if len(queries) > QUERIES:
            texts.append(f"{len(queries) - QUERIES} more queries were not run: at most {QUERIES} in one action.")
        return SearchObservation(cut_middle("\n\n".join(texts), TOKENS), results=results)

    def _show(self, query: str, *, tokens: int) -> tuple[str, SearchResult]:
        wanted = MATCHES if self._ranking else FULL + MORE
        found = self.index.search(query, limit=wanted + len(self._seen))
        if self._advice:
            found = dataclasses.replace(found, advice=self._advice(self.index, found))
        unseen = [hit for hit in found if hit.id not in self._seen]
        seen = len(found) - len(unseen)
        found = dataclasses.replace(found, hits=unseen[:wanted])
        if self._ranking:
            found = self._ranking.ranked(found, self.index, shown=FULL + MORE, seen=self._seen)
        full, short = found.hits[:FULL], found.hits[FULL : FULL + MORE]
        while True:
            blocks = {"full": [hit.block for hit in full], "short": [hit.block for hit in short]}
            text = searched(
                found, **blocks, seen=seen, tagged=self._tagged, shows=self.shows, instance_of=self._instance_of
            )
            if estimate_tokens(text) <= tokens or len(full) <= 1:
                break
            full, short = full[:-1], [full[-1], *short][:MORE]
        self._seen.update(hit.id for hit in full)
        return text, dataclasses.replace(found, hits=[*full, *short])
