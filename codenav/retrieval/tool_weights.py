"""Weights of tools in search results: they are shown, and they order hits of equal score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from codenav.core.blocks import CodeBlock, SearchResult
from codenav.indexers.sources import Source
from codenav.tools import weights
from codenav.tools.weights import Checked

AHEAD = 16
"""Hits fetched beyond a limit at first, to see whether many share the last score."""


class ToolWeights:
    """The weights of the tools of a source, read when their files change."""

    def __init__(self, states: Mapping[str, Path]) -> None:
        """`states`: folders of states by the text before the paths of their blocks."""
        self._states = states
        self._times: list[int] = []
        self._checks: Mapping[str, Checked] = {}

    @classmethod
    def of(cls, source: Source) -> ToolWeights | None:
        """The weights of a source's tools; None if it has none."""
        parts = {f"{label}/": part for label, part in source.parts.items()} or {"": source}
        states = {before: part.tools for before, part in parts.items() if part.tools}
        return cls(states) if states else None

    def checks(self) -> Mapping[str, Checked]:
        """The checks of tools in which something was found, by the path of their block."""
        times = [_time(state / weights.FILE) for state in self._states.values()]
        if times != self._times:
            self._checks = {
                f"{before}{path}": checked
                for before, state in self._states.items()
                for path, checked in weights.read(state).items()
            }
            self._times = times
        return self._checks

    def remark(self) -> str:
        """A sentence on tools that checks found wanting; empty if there are none."""
        found = sum(checked.weight < 1 for checked in self.checks().values())
        tools = f"{found} tool{'s' * (found > 1)}"
        return f"checks found {tools} wanting: codenav tools check SOURCE names them" if found else ""

    def search(self, search: Callable[[int], SearchResult], limit: int, *, strict: bool) -> SearchResult:
        """The hits of a search up to a limit with their weights, those of equal score by weight.

        `strict` leaves out tools that a check found wanting.
        """
        checks = self.checks()
        if not checks or limit < 1:
            return search(limit)
        asked = limit + AHEAD
        result = search(asked)
        # The heaviest of equal score may be beyond the limit; in a strict search so may be all that stay.
        while len(result.hits) == asked and (strict or result.hits[-1].score == result.hits[limit - 1].score):
            asked = result.total if strict else asked * 8
            if asked <= len(result.hits):
                break
            result = search(asked)
        hits = [hit for hit in result.hits if not (strict and _wanting(checks, hit.path))]
        for hit in hits:
            if _wanting(checks, hit.path):
                hit.weight, hit.remark = checks[hit.path].weight, _remark(checks[hit.path])
        hits.sort(key=lambda hit: (-hit.score, -hit.weight))
        return replace(result, hits=hits[:limit], total=result.total - (len(result.hits) - len(hits)))

    def blocks(self, blocks: Iterable[CodeBlock], *, strict: bool) -> Iterator[CodeBlock]:
        """Blocks, without those of tools that a check found wanting if `strict` is set."""
        checks = self.checks() if strict else {}
        return (block for block in blocks if not _wanting(checks, block.path))


def _remark(checked: Checked) -> str:
    """The weight of a tool with what lowers it."""
    reasons = "; ".join(checked.reasons[:2])
    return f"; weight {checked.weight:g}" + (f" ({reasons})" if reasons else "")


def _wanting(checks: Mapping[str, Checked], path: str) -> bool:
    return path in checks and checks[path].weight < 1


def _time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return -1
