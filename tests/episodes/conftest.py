"""Real events of a small run, and a store to write them to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from codenav.core.actions import (
    Action,
    Ask,
    AskObservation,
    Code,
    CodeObservation,
    CodeSummary,
    Done,
    DoneObservation,
    InvalidAction,
    Observation,
    Search,
    SearchObservation,
    Step,
    Summary,
    SummaryObservation,
    Unreadable,
)
from codenav.core.blocks import BlockKind, CodeBlock, Hit, LineSpan, SearchResult, block_id
from codenav.core.events import ActionTaken, Event, Notice, RunEnded, RunStarted, Status, StepEnded
from codenav.core.execution import CheckReport, Display, Execution, ExecutionError, Finding, Outcome, Variable, Verdict
from codenav.core.usage import Usage
from codenav.episodes.record import EpisodeResult
from codenav.episodes.store import EpisodeStore

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c63f8ffff3f0005fe02fea1399c2b0000000049454e44ae426082"
)
"""A picture of one pixel."""

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


def block() -> CodeBlock:
    text = "def betweenness_centrality(G, k=None):\n    return _rescale(G)"
    kind = BlockKind.FUNCTION
    return CodeBlock(
        id=block_id("pkg:networkx@3.6.1", "networkx/centrality.py", "betweenness_centrality", kind, text),
        kind=kind,
        name="betweenness_centrality",
        qualname="betweenness_centrality",
        path="networkx/centrality.py",
        lines=LineSpan(20, 21),
        text=text,
        signature="def betweenness_centrality(G, k=None)",
        language="python",
        source="pkg:networkx@3.6.1",
        import_line="from networkx.centrality import betweenness_centrality",
        calls=("_rescale",),
    )


def actions() -> Sequence[tuple[Action, Observation]]:
    """One of each kind, as a run gives them."""
    result = SearchResult(
        "betweenness(", [Hit.of(block(), score=7.25, why="name")], 4, "betweenness", ["( was left out"]
    )
    failed = Execution(
        Outcome.ERROR,
        stderr="warning: old\n",
        error=ExecutionError("ZeroDivisionError", "division by zero", "x = 1 / 0", 1, "Traceback …\nZeroDivisionError"),
        seconds=0.01,
        notice="state kept",
    )
    worked = Execution(
        Outcome.OK,
        stdout="node 0\n",
        stdout_bytes=7,
        late_output="late\n",
        changed=[Variable("best", "int", "0")],
        displays=[
            Display("image/png", PNG),
            Display("image/svg+xml", SVG.encode()),
            Display("text/html", b"<table><tr><td>0</td></tr></table>"),
        ],
        seconds=0.02,
        files=["plot.png"],
    )
    lost = Execution(Outcome.CRASHED, notice="state kept: the step ended its process")
    checks = [CheckReport("flake8", [Finding("F821", "undefined name 'y'", 1)]), CheckReport("mypy", failure="killed")]
    summary = "import networkx as nx\n\nbest = 0\nprint('node', best)\n"
    return [
        (Search("betweenness(", "look for it"), SearchObservation("3 more…", results=[result])),
        (Unreadable("I think that…"), InvalidAction("no action found", "no_action")),
        (Code("x = 1 / 0", "try"), CodeObservation("failed", execution=failed, checks=checks)),
        (Code("import os\nos._exit(3)"), CodeObservation("crashed", execution=lost)),
        (Code("best = 0\nprint('node', best)", "again"), CodeObservation("node 0", execution=worked)),
        (Ask("Which graph?"), AskObservation("the karate club", answered=True)),
        (CodeSummary(summary), SummaryObservation("replayed", code=summary, verdict=Verdict(True))),
        (Done("Node 0"), DoneObservation("Node 0")),
    ]


def step_of(number: int, action: Action, observation: Observation) -> Step:
    usage = Usage(1, 100 * number, 10, 0.25)
    return Step(number, action, observation, seconds=0.5, usage=usage, response=action.to_xml(), reasoning="hm")


def head(id: str, request: str) -> RunStarted:
    return RunStarted(
        id=id,
        request=request,
        started="2026-03-01T12:00:00+00:00",
        model="scripted",
        sources=[{"source": "pkg:networkx@3.6.1", "files": 2, "blocks": 3, "versions": {"networkx": "3.6.1"}}],
        description="graphs",
        prompt="You are…",
        sandbox={
            "backend": "process",
            "isolated": False,
            "python_version": "3.11.7",
            "work_dir": "/work",
            "network": "none",
        },
        work_dir="/somewhere/work",
        codenav="0.1.0",
    )


@pytest.fixture
def store(tmp_path: Path) -> EpisodeStore:
    return EpisodeStore(tmp_path / "episodes")


@pytest.fixture
def events() -> Callable[..., list[Event]]:
    """The events of a run; `upto` steps of it (None: all, and the end), with other actions where they are given."""

    def make(
        id: str = "20260301-120000-abcdef",
        *,
        request: str = "Which node has the highest betweenness?",
        upto: int | None = None,
        taken: Sequence[tuple[Action, Observation]] | None = None,
    ) -> list[Event]:
        pairs = list(actions() if taken is None else taken)
        made: list[Event] = [head(id, request), Notice("retried once")]
        for number, pair in enumerate(pairs[:upto], start=1):
            made += [ActionTaken(number, pair[0]), StepEnded(step_of(number, *pair))]
        if upto is None:
            summary = Summary(True, code="import networkx as nx\n\nbest = 0\nprint('node', best)\n")
            made.append(RunEnded(Status.DONE, "Node 0", summary, Usage(8, 3600, 80, 2.0), 4.0))
        return made

    return make


@pytest.fixture
def recorded(store: EpisodeStore, events: Callable[..., list[Event]]) -> Callable[..., EpisodeResult]:
    """Writes a run down for real and reads it back."""

    def write(**options: object) -> EpisodeResult:
        id, _ = store.create()
        with store.recorder(id) as record:
            for event in events(id, **options):
                record(event)
        return store.load(id)

    return write
