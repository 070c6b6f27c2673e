"""The folder of a tool graph: beside the indexes of its source, whatever store they are in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from codenav.core.config import home
from codenav.core.errors import NotFound, StorageFull, UsageError
from codenav.core.system.atomic_files import write_whole
from codenav.core.system.locks import held
from codenav.core.traces import Trace
from codenav.indexers.sources import Source
from codenav.toolgraph.gate import Gate
from codenav.toolgraph.graph import ToolGraph
from codenav.toolgraph.learning import EPISODES, forget, learn
from codenav.toolgraph.storage import AGAIN, LARGEST, document_of, graph_of, read_document
from codenav.toolgraph.trace_files import trace_of
from codenav.toolgraph.votes import Weights

FILE = "graph.json"
MOST_KEPT = 10_000
"""The number of kept traces from which on those of files are only counted."""
LOCK = ".lock"


@dataclass
class Learnt:
    """A graph, and the traces that taught it: what remembers requests reads them, and forgetting needs them."""

    graph: ToolGraph = field(default_factory=ToolGraph)
    traces: dict[str, Trace] = field(default_factory=dict)
    """By `key_of`, as they were counted: all episodes, and traces of files that have a request."""
    gate: Gate = field(default_factory=Gate)
    """The shares that votes have, as measured on these traces."""
    measured: int = 0
    """The number of requests when that was; 0: it was not."""

    def learn(self, trace: Trace) -> bool:
        """Count a trace, and keep it if it is an episode or has a request. Return False if it was learnt before."""
        if not learn(self.graph, trace):
            return False
        if trace.origin == EPISODES or (trace.request and len(self.traces) < MOST_KEPT):
            self.traces[key_of(trace)] = trace
        return True

    def forget(self, key: str) -> None:
        """Take the trace with that key out again, if it is there."""
        trace = self.traces.pop(key, None)
        if trace is not None:
            forget(self.graph, trace)


def key_of(trace: Trace) -> str:
    """The key of a trace: `episodes:20261123-101500-0a1b2c`."""
    return f"{trace.origin}:{trace.id}"


class GraphFolder:
    """The folder of a graph. The graph and its traces are one file, which is swapped whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of(cls, source: Source) -> GraphFolder:
        """The folder of the graph of a source; it need not exist."""
        return cls(graphs_dir() / source.key)

    @property
    def file(self) -> Path:
        """The file of the graph, which need not exist."""
        return self.path / FILE

    @property
    def state(self) -> tuple[int, int, int]:
        """A value that changes with the graph; zeros if there is none."""
        try:
            found = self.file.stat()
        except OSError:
            return (0, 0, 0)
        return found.st_mtime_ns, found.st_ino, found.st_size

    def read(self) -> Learnt:
        """The graph and its traces; empty if there is none.

        Raises:
            UsageError: the file is no graph, or of a newer format.
        """
        try:
            document = read_document(self.file)
        except NotFound:
            return Learnt()
        graph = graph_of(document, str(self.file))
        try:
            traces = {key_of(trace): trace for trace in map(trace_of, document.get("traces", ()))}
        except (TypeError, ValueError) as error:
            raise UsageError(f"{self.file}: its traces are damaged", hint=AGAIN) from error
        try:
            gate, measured = Gate.from_dict(document.get("gate", {})), int(document.get("measured", 0))
            if not 0 <= measured < LARGEST:
                raise ValueError(measured)
            Weights().times(gate.requests).times(gate.steps)
        except (TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"{self.file}: its votes are damaged", hint=AGAIN) from error
        return Learnt(graph, traces, gate, measured)

    @contextmanager
    def changing(self, *, anew: Callable[[str], None] | None = None) -> Iterator[Learnt]:
        """Change the graph: what is yielded is written at the end, unless the block raises. One writer at a time.

        `anew`: a damaged file, or one of a newer format, is moved aside, and a new graph begun; it gets a sentence on
        that. Without it nothing is changed then.

        Raises:
            UsageError: as `read`; with `anew` only if access is denied.
            StorageFull: it cannot be written; the old one stays.
        """
        with held(self.path, LOCK, making=_storing):
            try:
                learnt = self.read()
            except UsageError as error:
                if anew is None or isinstance(error.__cause__, PermissionError):
                    raise
                aside = self._aside()
                with _storing():
                    self.file.rename(aside)
                anew(f"{error}: it is kept as {aside.name}, and a new graph is begun")
                learnt = Learnt()
            yield learnt
            document = {
                **document_of(learnt.graph),
                "traces": [one.to_dict() for one in learnt.traces.values()],
                "gate": learnt.gate.to_dict(),
                "measured": learnt.measured,
            }
            with _storing():
                write_whole(self.file, orjson.dumps(document))

    def _aside(self) -> Path:
        """A new name for a file that cannot be read."""
        names = (f"{FILE}.unread{number}" for number in ("", *map(str, range(2, 1_000))))
        return next(path for name in names if not os.path.lexists(path := self.path / name))


def graphs_dir() -> Path:
    """The folder of all graphs, which has a folder for each source, by the key of its index."""
    return home("data") / "graphs"


def every_folder() -> list[GraphFolder]:
    """The folders of all graphs that there are."""
    return [GraphFolder(file.parent) for file in sorted(graphs_dir().glob(f"*/{FILE}"))]


@contextmanager
def _storing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageFull(f"the tool graph cannot be written: {error.strerror}", cause=error) from error
