"""Episodes as traces, and the listener by which a running one ranks its searches and teaches the graphs."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from codenav.core.actions import CodeObservation, Step
from codenav.core.blocks import CodeBlock
from codenav.core.errors import CodeNavError
from codenav.core.events import Event, RunEnded, Status, StepEnded
from codenav.core.execution.calls import ToolCall
from codenav.core.protocols import Index
from codenav.core.system.syntax import parsed
from codenav.core.traces import Trace, TracedCall
from codenav.episodes.record import EpisodeResult
from codenav.episodes.store import EpisodeStore
from codenav.navigation.call_sequences import Reader
from codenav.navigation.called import Called, InCode, KnownCallables, context_of
from codenav.navigation.imports import Import, imports_in, imports_of
from codenav.navigation.modules import Modules
from codenav.navigation.resolve import Resolver
from codenav.toolgraph.beside import Graphs
from codenav.toolgraph.data_flow import Exchange, flows

MOST_CALLS = 1_000
"""The most calls of an episode that are learnt: the first ones. A step may make 200 calls to tools."""
_TOOLS = "tools."
"""The package from which code imports tools."""


def trace_of_episode(
    result: EpisodeResult, index: Index | None = None, *, reader: EpisodeReader | None = None
) -> Trace:
    """The trace of an episode that has ended: the calls of its code steps in order, with the flow of data.

    Calls of tools are those that the broker made. `index`: where the names of other callables are looked up; without
    it only tools are in the trace. A step that raised has the calls before the line that did, and that call as failed.

    `reader` has taken the first of its steps already; without it one is made with the index.

    It is verified if the episode is done and its code summary was verified. Of an episode that was interrupted only
    calls that failed are in the trace, as nothing is known of the others.
    """
    steps = [step for step in result.steps if step.action.type == "code"]
    reader = reader or EpisodeReader(index)
    for step in steps[reader.taken :]:
        reader.take(step)
    verified = result.status is Status.DONE and result.summary.verified
    calls = reader.with_flows(result.request)
    if result.status not in (Status.DONE, Status.FAILED, Status.LIMIT):
        calls = [TracedCall(call.name, False, call.seconds) for call in calls if not call.ok]
    # A request may hold what no file can.
    request = result.request.encode("utf-8", "replace").decode()
    return Trace(result.id, tuple(calls[:MOST_CALLS]), request, verified, "episodes", _ended(result))


def _ended(result: EpisodeResult) -> float:
    try:
        return datetime.fromisoformat(result.started).timestamp() + result.seconds
    except (ValueError, OverflowError):
        return 0.0


def traces_of_store(
    store: EpisodeStore, index: Index, left_out: Callable[[str], object], *, known: Container[str] = ()
) -> Iterator[Trace]:
    """The traces of the episodes of a store that have ended, oldest first, without those whose ids are `known`.

    `left_out` gets a sentence for each whose record cannot be read.
    """
    for id in reversed(store.ids()):
        if id in known or store.status(id) is Status.RUNNING:
            continue
        try:
            yield trace_of_episode(store.load(id), index)
        except CodeNavError as error:
            left_out(f"{id} is left out: {error}")


class EpisodeReader:
    """A reader of the code steps of an episode, one after the other."""

    def __init__(self, index: Index | None, *, earlier: Iterable[Step] = ()) -> None:
        """`index`: as for `trace_of_episode`. The imports of `earlier` steps in the same interpreter hold."""
        self._known = KnownCallables(Resolver(Modules(index))) if index is not None else None
        self._imports: list[str] = []
        self._imported: dict[str, Import] = {}
        self._reader = Reader(self)
        self._places: dict[int, int] = {}
        """For each call that was read its place in the trace."""
        self.taken = 0
        """The number of steps that were taken."""
        for step in earlier:
            if step.action.type == "code" and (tree := parsed(step.action.content)) is not None:
                self._import(tree)
        self._tools: set[str] = set()
        self._calls: list[TracedCall] = []
        self._exchanges: dict[int, Exchange] = {}

    @property
    def called(self) -> list[str]:
        """The names of the callables that worked so far, in order."""
        return [call.name for call in self._calls if call.ok]

    def take(self, step: Step) -> None:
        """Read a step of code that is over."""
        self.taken += 1
        tree = parsed(step.action.content)
        before = len(self._reader.calls)
        failed = False
        if tree is not None:
            self._import(tree)
            failed = self._read_step(tree, step)
        made = step.observation.calls if isinstance(step.observation, CodeObservation) else ()
        self._join(before, made, failed)

    def _import(self, tree: ast.Module) -> None:
        self._imports = list(dict.fromkeys([*self._imports, *imports_of(tree)]))
        self._imported = imports_in("\n".join(self._imports))[0]

    def _read_step(self, tree: ast.Module, step: Step) -> bool:
        """Read a step as far as it ran. Return True if the last call that was read may be the one that raised."""
        reader, observation = self._reader, step.observation
        error = observation.execution.error if isinstance(observation, CodeObservation) else None
        if observation.ok or error is None or error.line_number is None:
            reader.read(tree.body if observation.ok else ())
            return False
        ran = [node for node in tree.body if (node.end_lineno or node.lineno) < error.line_number]
        reader.read(ran)
        before = len(reader.calls)
        reader.read(tree.body[len(ran) : len(ran) + 1])
        del reader.calls[before + 1 :]
        return len(reader.calls) > before

    def _join(self, first: int, made: Sequence[ToolCall], failed: bool) -> None:
        """Add the calls of a step: those that were read from `first` on, and for tools those that the broker made."""
        read, places = self._reader.calls, self._places
        left: dict[str, list[ToolCall]] = defaultdict(list)
        for call in made:
            left[call.tool].append(call)
            self._tools.add(call.tool)
        written = Counter(call.name for call in read[first:])
        for number in range(first, len(read)):
            one = read[number]
            takes = {name: places[place] for name, place in one.takes.items() if place in places}
            written[one.name] -= 1
            if one.name not in self._tools:
                failing = failed and number == len(read) - 1
                self._calls.append(replace(one, takes=takes, ok=not failing))
                places[number] = len(self._calls) - 1
                continue
            queue = left[one.name]
            # Of several calls to a tool in the code each was made once; one in a loop as often as the broker says.
            ours = queue[:1] if written[one.name] else queue[:]
            del queue[: len(ours)]
            for call in ours:
                self._add_tool(call, takes)
                places[number] = len(self._calls) - 1
        for call in made:
            if call in left[call.tool]:
                left[call.tool].remove(call)
                self._add_tool(call, {})

    def _add_tool(self, call: ToolCall, takes: dict[str, int]) -> None:
        self._exchanges[len(self._calls)] = Exchange(call.arguments, call.answer)
        ok = call.outcome in ("ok", "replayed")
        self._calls.append(TracedCall(call.tool, ok, call.seconds if call.outcome == "ok" else None, takes))

    def with_flows(self, request: str) -> list[TracedCall]:
        """All calls, with the flows between tools that only their values show."""
        order = list(self._exchanges)
        for place, found in zip(order, flows(list(self._exchanges.values()), request), strict=True):
            seen = {name: order[giver] for name, giver in found.items()}
            self._calls[place] = replace(self._calls[place], takes={**seen, **self._calls[place].takes})
        return self._calls

    # As `Callables`.

    def function(self, written: str) -> Called | None:
        """The callable of a dotted name in the code of the steps so far."""
        known = InCode(self._known, self._context()).function(written) if self._known else None
        head, *rest = written.split(".")
        what = self._imported.get(head)
        dotted = ".".join(filter(None, (what.module, what.name, *rest))) if what else ""
        if not dotted.startswith(_TOOLS):
            return known
        tool = dotted.removeprefix(_TOOLS)
        self._tools.add(tool)
        return replace(known, name=tool) if known else Called(tool)

    def method(self, name: str, kind: str) -> Called | None:
        """The method of an object that a call gave."""
        return InCode(self._known, self._context()).method(name, kind) if self._known else None

    def _context(self) -> CodeBlock:
        return context_of(self._imports)


class Following:
    """A listener that follows an episode: its calls so far rank its searches, and at its end they teach the graphs."""

    def __init__(
        self,
        graphs: Graphs,
        index: Index,
        *,
        earlier: Sequence[Step] = (),
        mask: Callable[[Any], Any] = lambda data: data,
    ) -> None:
        """`earlier` are steps that ran before in the same sandbox. `mask` masks secrets in the request, which is kept
        beside the graph."""
        self._graphs, self._mask = graphs, mask
        self._reader = EpisodeReader(index, earlier=earlier)
        self._steps: list[Step] = []
        self.result: Callable[[], EpisodeResult] | None = None
        """The episode that is followed."""

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, StepEnded) and event.step.action.type == "code":
            self._steps.append(event.step)
        elif isinstance(event, RunEnded) and self.result is not None:
            try:
                self._teach(self.result())
            except Exception as error:
                # The answer is there: nothing that is learnt from it may cost it.
                self._graphs.tell(f"the episode teaches nothing: {error}")

    def called(self) -> Sequence[str]:
        """The names of the callables that were called so far and worked, in order."""
        self._take()
        return tuple(self._reader.called)

    def _teach(self, result: EpisodeResult) -> None:
        self._take()
        trace = trace_of_episode(result, reader=self._reader)
        if trace.calls:
            self._graphs.learn(replace(trace, request=str(self._mask(trace.request))))

    def _take(self) -> None:
        for step in self._steps[self._reader.taken :]:
            self._reader.take(step)
