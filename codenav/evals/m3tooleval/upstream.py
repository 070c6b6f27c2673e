"""The tasks and tools of a checkout of M3ToolEval, as its own modules define them."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codenav.errors import UsageError

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


def read(root: Path) -> list[Domain]:
    """The domains of the benchmark at `root`, in its order.

    Its modules run in a child process without the caller's environment, in an empty folder.

    Raises:
        UsageError: they cannot be imported, or define something else.
    """
    with tempfile.TemporaryDirectory() as empty:
        try:
            ended = subprocess.run(
                [sys.executable, "-I", "-B", str(Path(__file__).with_name("reader.py")), str(root.resolve())],
                cwd=empty,
                env={},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=READING_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise UsageError(
                f"importing the tasks in {root} took more than {READING_SECONDS:.0f} s", hint=ANOTHER
            ) from None
    if ended.returncode:
        said = ended.stderr.decode(errors="replace").strip().splitlines()
        raise UsageError(f"the tasks in {root} cannot be imported: {said[-1] if said else 'no message'}", hint=ANOTHER)
    return [_domain(row, root) for row in json.loads(ended.stdout)]


def _domain(row: dict[str, Any], root: Path) -> Domain:
    return Domain(
        name=row["name"],
        file=root / row["file"],
        tools=[Tool(**tool) for tool in row["tools"]],
        tasks=[UpstreamTask(**task) for task in row["tasks"]],
    )
