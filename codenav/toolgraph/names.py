"""The callables of a source that names in traces stand for."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace

from codenav.core.traces import Trace, TracedCall
from codenav.navigation.called import InCode, KnownCallables
from codenav.navigation.resolve import Resolver
from codenav.retrieval.source_index import SourceIndex
from codenav.toolgraph.episode_traces import context_of
from codenav.tools.naming import identifier


class CallableNames:
    """The names of the callables of an index, and the other names by which traces may know them."""

    def __init__(self, names: Iterable[str], index: SourceIndex | None = None) -> None:
        """`index`: where names are looked up by which a callable can be imported, such as `networkx.path_graph`."""
        self._names = set(names)
        self._tails: dict[str, list[str]] = defaultdict(list)
        for name in self._names:
            self._tails[name.rpartition(".")[2]].append(name)
        self._known = KnownCallables(Resolver(index)) if index is not None else None
        sources = [index.source, *index.source.parts.values()] if index is not None else []
        self._of_tools = any(source.tools for source in sources)
        self._found: dict[str, str] = {}
        self.unknown: Counter[str] = Counter()
        """The names that stand for no callable, with the number of their calls; at most `MOST_UNKNOWN` of them."""

    def of(self, trace: Trace) -> Trace:
        """The trace with the callables by their names; calls of anything else are left out."""
        places: dict[int, int] = {}
        calls: list[TracedCall] = []
        for place, call in enumerate(trace.calls):
            name = self.name(call.name)
            if name:
                places[place] = len(calls)
                takes = {key: places[giver] for key, giver in call.takes.items() if giver in places}
                calls.append(replace(call, name=name, takes=takes))
            elif call.name in self.unknown or len(self.unknown) < MOST_UNKNOWN:
                self.unknown[call.name] += 1
        return replace(trace, calls=tuple(calls))

    def name(self, given: str) -> str:
        """The name of the callable; empty if there is none, or several are meant as well.

        Known are the whole name, the end of one, a name by which it can be imported, and for tools the name in their
        specification, such as `createOrder`.
        """
        if given in self._names:
            return given
        if given not in self._found:
            if len(self._found) > MOST_UNKNOWN:
                self._found.clear()
            self._found[given] = self._look_up(given)
        return self._found[given]

    def _look_up(self, given: str) -> str:
        ending = self._ending(given)
        if not ending and self._of_tools:
            # The dots may be part of a tool's own name: `files.read`.
            ending = self._ending(".".join(map(identifier, given.split(".")))) or self._ending(identifier(given))
        if len(ending) == 1:
            return ending[0]
        head, *rest = given.split(".")
        if self._known is None or not all(part.isidentifier() for part in (head, *rest)):
            return ""
        # Of several with that name it is the one that the package offers: `from networkx import diameter`.
        packages = {name.partition(".")[0] for name in ending}
        imports = [f"import {head}"] if rest and not ending else [f"from {one} import {head}" for one in packages]
        found = {
            called.name
            for one in imports
            if (called := InCode(self._known, context_of([one])).function(given)) and called.name in self._names
        }
        return found.pop() if len(found) == 1 else ""

    def _ending(self, given: str) -> list[str]:
        """The names that are or end in the given one, those in tests only if there are no others."""
        ending = [name for name in self._tails.get(given.rpartition(".")[2], ()) if f".{name}".endswith(f".{given}")]
        return [name for name in ending if not _OF_TESTS.search(name)] or ending


_OF_TESTS = re.compile(r"(?:^|\.)(?:tests?|conftest|test_\w+)\.")
MOST_UNKNOWN = 10_000
"""The most names without a callable that are remembered."""
