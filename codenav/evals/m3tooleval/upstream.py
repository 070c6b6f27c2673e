"""The tasks and tools of a checkout of M3ToolEval, as its own modules define them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codenav.core.errors import UsageError
from codenav.core.execution import Outcome
from codenav.session.api import sandbox

COMMIT = "d607f56c9cfe9e8632ebaf65dcaf2b4b7fe1c6f8"
"""The commit of code-act that the adapter was written for."""
FOLDER = "scripts/eval/m3tooleval"
"""The benchmark's folder in a checkout of code-act."""
NEEDS = (
    "tasks/__init__.py",
    "tasks/base.py",
    "tasks/impl/dna_sequencer.py",
    "tasks/impl/message_decoder.py",
    "tasks/impl/trade_calculator.py",
    "tasks/impl/travel_itinerary_planning.py",
    "tasks/impl/web_browsing/__init__.py",
    "tasks/impl/web_browsing/metadata.json",
    "tasks/impl/web_browsing/web_pages.jsonl",
)
"""Files without which a folder is not the benchmark's."""
READING_SECONDS = 60.0
"""Time for importing the benchmark's modules; a slow machine needs one second."""

ANOTHER = "use a fresh checkout of https://github.com/xingyaoww/code-act"


@dataclass(frozen=True)
class Tool:
    """A tool that a domain's tasks may use."""

    name: str
    description: str
    """Upstream's."""
    signature: str
    """Upstream's; that of `find_flights` lacks an argument."""
    kind: str
    """`function`, `method`, or `builtin` for what the domain's file does not define."""
    root: str
    """Top-level name in the domain's file that defines it: the function, or the method's class."""


@dataclass(frozen=True)
class UpstreamTask:
    """A task as upstream states it."""

    name: str
    instruction: str
    expected: str
    """`repr` of the expected result."""
    type: str
    """Name of its type."""


@dataclass(frozen=True)
class Domain:
    """One file of tools, and the tasks that need it."""

    name: str
    """Of upstream's module."""
    file: Path
    """Upstream's file."""
    tools: Sequence[Tool]
    tasks: Sequence[UpstreamTask]


def read(root: Path, *, backend: str = "", folders: Sequence[str] = ("tasks",)) -> list[Domain]:
    """The domains of the benchmark at `root`, in its order. Its modules run in a sandbox, which gets the `folders`.

    Raises:
        UsageError: they cannot be imported, or define something else.
        SandboxUnavailable: no sandbox works here.
    """
    with sandbox(backend) as box:
        for name in folders:
            box.files.upload(root / name)
        box.files.write("reader.py", Path(__file__).with_name("reader.py").read_bytes())
        done = box.run("import reader\nfound = list(reader.domains_of())", timeout=READING_SECONDS)
        if done.outcome is not Outcome.OK:
            said = f"{done.error.type}: {done.error.message}" if done.error else done.outcome.value
            raise UsageError(f"the tasks in {root} cannot be imported: {said[:300]}", hint=ANOTHER)
        return [_domain(row, root) for row in box.get("found")]


def _domain(row: dict[str, Any], root: Path) -> Domain:
    return Domain(
        name=row["name"],
        file=root / row["file"],
        tools=[Tool(**tool) for tool in row["tools"]],
        tasks=[UpstreamTask(**task) for task in row["tasks"]],
    )
