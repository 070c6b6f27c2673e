"""An episode as it runs: what it has called so far, and what it leaves to the tool graphs of its sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from codenav.core.actions import Step
from codenav.core.events import Event, Observed, RunEnded
from codenav.core.protocols import Index
from codenav.episodes.record import EpisodeResult
from codenav.toolgraph.beside import Graphs
from codenav.toolgraph.episode_traces import EpisodeReader, trace_of_episode


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
        if isinstance(event, Observed) and event.step.action.type == "code":
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
