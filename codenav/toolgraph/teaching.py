"""Teaching the graph of a source on request: by files of traces, the code base itself, the episodes of the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from codenav.core.config import episodes_dir
from codenav.core.errors import NotFound, UsageError
from codenav.core.options import StoreOptions, spelled
from codenav.core.system.stored import Document
from codenav.core.traces import SAMPLES, Trace
from codenav.episodes.store import EpisodeStore
from codenav.navigation.verbs import Reading, indexes_of
from codenav.retrieval.source_index import On, SourceIndex
from codenav.toolgraph.beside import measure_votes
from codenav.toolgraph.callables import CallableNames, links_of
from codenav.toolgraph.code_traces import CodeTraces
from codenav.toolgraph.episodes import traces_of_store
from codenav.toolgraph.folders import GraphFolder, Learnt, key_of
from codenav.toolgraph.graph import ToolGraph
from codenav.toolgraph.learning import (
    CODE,
    EPISODES,
    SPECS,
    forget,
    forget_origin,
    learn,
    learn_flow,
    learn_membership,
    settle_all,
    was_read,
)
from codenav.toolgraph.spec_flows import Flow, flows_of_spec, memberships, traces_of_spec
from codenav.toolgraph.trace_files import read_traces
from codenav.tools import weights
from codenav.tools.state_files import read_spec_of, read_summary

ENDINGS = (".jsonl", ".json")
"""The endings of files of traces; another file is a source."""


@dataclass
class Taught(Document):
    """The account of what was learnt."""

    source: str = ""
    traces: int = 0
    """Traces and episodes that were new."""
    again: int = 0
    """Those that the graph had learnt before."""
    unverified: int = 0
    """Those that only lowered weights, among the new ones."""
    empty: int = 0
    """Those that call nothing of the source."""
    forgotten: int = 0
    calls: int = 0
    tests: int = 0
    """Tests of the code base with at least two calls."""
    examples: int = 0
    docs: int = 0
    specs: int = 0
    """Flows that specifications state."""
    left_out: int = 0
    """Lines that are no traces."""
    unknown: dict[str, int] = field(default_factory=dict)
    """Names in traces that stand for no callable of the source, the commonest first, with the number of their calls."""
    nodes: int = 0
    edges: int = 0


class Teacher:
    """The teacher of one graph. Traces are read one at a time, and the graph is written once, at the end."""

    def __init__(self, index: SourceIndex, *, tell: Callable[[str], None] = lambda text: None) -> None:
        """`tell` gets a sentence for each line that is left out."""
        self._index, self._tell = index, tell
        self._folder = GraphFolder.of(index.source)
        self._links = links_of(index, self._folder.path)
        self._names = CallableNames(self._links.values(), index)
        self.taught = Taught(index.source.name)

    def files(self, paths: Iterable[Path], *, forgetting: bool = False) -> None:
        """Learn the traces in files, or forget them.

        Raises:
            NotFound, UsageError: a file cannot be read, or holds no trace; nothing is learnt then.
            StorageFull: as `GraphFolder.changing`.
        """
        with self._changing() as learnt:
            for path in paths:
                read = False
                for trace in read_traces(path, self._leave_out):
                    read = True
                    if trace.origin == SAMPLES:
                        self._leave_out(
                            f"{path.name}: {trace.id} is left out: it was drawn from a graph, and teaches none"
                        )
                        continue
                    # What comes from a file is not replaced when code is read again.
                    given = replace(trace, origin="traces") if was_read(trace.origin) else trace
                    self._take(learnt, self._names.of(given), forgetting=forgetting)
                if not read:
                    raise UsageError(
                        f"no trace could be read from {path}", hint="docs/toolgraph.md shows what a line holds"
                    )

    def episodes(self, store: EpisodeStore, *, forgetting: bool = False) -> None:
        """Learn the episodes of the store that have ended, as far as they call something of the source.

        `forgetting`: take all episodes out again, also those that are no longer in the store.

        Raises:
            StorageFull: as `GraphFolder.changing`.
        """
        # Before the graph is locked: an episode that ends meanwhile need not wait.
        found = [] if forgetting else list(self._episodes(store))
        if not found and not self.taught.again and not forgetting:
            self._tell(f"no episode that has ended on this machine calls anything of {self._index.source.name}")
        with self._changing() as learnt:
            known = [trace for trace in learnt.traces.values() if trace.origin == EPISODES]
            for trace in known if forgetting else found:
                self._take(learnt, trace, forgetting=forgetting)

    def code(self, sources: Sequence[SourceIndex], *, forgetting: bool = False) -> None:
        """Learn what the code of sources shows, in place of what was read of each before, and the own specifications.

        `forgetting`: only take out again what was read before.

        Raises:
            StorageFull: as `GraphFolder.changing`.
        """
        read = ToolGraph() if forgetting else self._read(sources)
        origins = {self._origin(one) for one in sources}
        with self._changing() as learnt:
            for origin in sorted(origins | ({SPECS} if CODE in origins else set())):
                forget_origin(learnt.graph, origin)
            learnt.graph.merge(read)
            settle_all(learnt.graph)

    def _read(self, sources: Sequence[SourceIndex]) -> ToolGraph:
        """The graph of what the code of sources shows."""
        read = ToolGraph()
        code = CodeTraces(self._index, *(one for one in sources if self._origin(one) != CODE))
        for one in sources:
            for trace in code.traces(one, self._origin(one)):
                learn(read, trace)
        if CODE in map(self._origin, sources):
            self._specified(read, code)
        if not read.nodes:
            names = ", ".join(one.source.name for one in sources)
            self._tell(
                f"nothing was learnt: no test, example, notebook or documentation of {names} has two calls of "
                f"{self._index.source.name}"
            )
        for name, count in code.counts.items():
            setattr(self.taught, name, getattr(self.taught, name) + count)
        return read

    def _specified(self, graph: ToolGraph, code: CodeTraces) -> None:
        """Learn what annotations and the specifications of tools state."""
        found = [Flow(*flow) for flow in code.flows()]
        source = self._index.source
        for state in (part.tools for part in source.parts.values() or [source]):
            if state is None:
                continue
            try:
                spec, paths = read_spec_of(state), read_summary(state).operations
            except (OSError, ValueError, KeyError, TypeError) as error:
                self._tell(f"the specification in {state} is left out: {error}")
                continue
            found += flows_of_spec(spec, f"{spec.name}.")
            for trace in traces_of_spec(spec, f"{spec.name}."):
                learn(graph, trace)
                self.taught.examples += 1
            for member, group in memberships(spec, f"{spec.name}."):
                learn_membership(graph, member, group)
            checks = weights.read(state)
            for name, path in paths.items():
                if path in checks:
                    graph.node(f"{spec.name}.{name}").check = checks[path].weight
        for flow in found:
            learn_flow(graph, *flow)
        self.taught.specs += len(found)

    def _origin(self, of: SourceIndex) -> str:
        return CODE if of.source.key == self._index.source.key else f"{CODE}:{of.source.key}"

    def _episodes(self, store: EpisodeStore) -> Iterator[Trace]:
        known: set[str] = set()
        with suppress(UsageError):
            # A graph that cannot be read is begun anew.
            known = {key.partition(":")[2] for key in self._folder.read().graph.learnt if key.startswith(EPISODES)}
        self.taught.again += len(known.intersection(store.ids()))
        for trace in traces_of_store(store, self._index, self._leave_out, known=known):
            if self._names.of(trace).calls:
                yield trace
            else:
                self.taught.empty += 1

    def _take(self, learnt: Learnt, trace: Trace, *, forgetting: bool) -> None:
        if forgetting:
            known = key_of(trace) in learnt.graph.learnt
            forgotten = forget(learnt.graph, learnt.traces.pop(key_of(trace), trace))
            self.taught.forgotten += forgotten
            if known and not forgotten:
                self._tell(f"{trace.id} is not forgotten: a trace of that id was learnt, but not this one")
            return
        if not trace.calls:
            self.taught.empty += 1
            return
        if not learnt.learn(trace):
            self.taught.again += 1
            return
        self.taught.traces += 1
        self.taught.unverified += not trace.verified
        self.taught.calls += len(trace.calls)

    def _leave_out(self, why: str) -> None:
        self.taught.left_out += 1
        self._tell(why)

    @contextmanager
    def _changing(self) -> Iterator[Learnt]:
        """The graph, whose votes are measured and whose size is counted at the end."""
        with self._folder.changing(anew=self._tell) as learnt:
            yield learnt
            measure_votes(learnt, self._index, self._links)
            self.taught.nodes, self.taught.edges = len(learnt.graph.nodes), len(learnt.graph.edges)
            self.taught.unknown = dict(self._names.unknown.most_common())


@spelled(Reading, StoreOptions)
def teach(
    on: On,
    learn_from: Sequence[str | Path] = (),
    *,
    forgetting: bool = False,
    tell: Callable[[str], None] = lambda text: None,
    **reading: Any,
) -> Taught:
    """Teach the graph of a source, or with `forgetting` take the same out again; return what was learnt.

    `learn_from`: files of traces (`.jsonl`, `.json`), sources whose code calls it, and `episodes` for those on this
    machine; nothing: the code of the source itself. `tell` gets a sentence for each line or episode that is left out.

    Raises:
        NotFound: a file does not exist. Also as `codenav.index`.
        Unavailable: as `codenav.index`.
        StorageFull: the graph cannot be written; the old one stays.
    """
    names = [str(one) for one in learn_from]
    files = [Path(name) for name in names if name.lower().endswith(ENDINGS)]
    for file in files:
        if not file.is_file():
            raise NotFound(f"there is no file {file}", hint="a source that ends like one: name its folder")
    code = [name for name in names if name != EPISODES and not name.lower().endswith(ENDINGS)]
    reads_code = bool(code) or not names
    with indexes_of([on, *code], reading) as indexes:
        teacher = Teacher(indexes[0], tell=tell)
        if files:
            teacher.files(files, forgetting=forgetting)
        # A folder of that name is `./episodes`.
        if EPISODES in names:
            teacher.episodes(EpisodeStore(episodes_dir()), forgetting=forgetting)
        if reads_code:
            teacher.code(indexes[1:] or indexes, forgetting=forgetting)
        return teacher.taught
