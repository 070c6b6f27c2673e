"""The options for a tool graph, that in a file or that beside the index of a source, and its content."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codenav.cli import completing
from codenav.cli.options import python_option, with_options
from codenav.core.errors import NotFound, UsageError

if TYPE_CHECKING:
    from codenav.toolgraph.graph import ToolGraph

_OPTIONS = (
    click.option(
        "--on", "source", metavar="SOURCE", shell_complete=completing.sources, help="Source whose graph is meant."
    ),
    click.option(
        "--graph",
        "path",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="File with a graph: JSON that codenav wrote, or actions and tools by hand, in YAML.",
    ),
    python_option,
)


def graph_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name a graph: the arguments of `graph_of`."""
    return with_options(_OPTIONS, command)


def graph_of(source: str | None, path: Path | None, python: str | None) -> tuple[ToolGraph, str]:
    """The graph that the options name, and a name for it.

    Raises:
        UsageError: neither or both are named, or what is there is no graph.
        NotFound: there is no such source or file, or the source has no graph.
    """
    if (source is None) == (path is None):
        raise UsageError("name one graph", hint="--on SOURCE for the one of a source, or --graph FILE")
    if path is not None:
        from codenav.toolgraph import storage

        return storage.read(path), path.stem
    from codenav.core.config import load_config
    from codenav.core.system.interpreter import find_interpreter
    from codenav.indexers.sources import key_of
    from codenav.toolgraph.folders import GraphFolder, graphs_dir

    assert source is not None
    key = key_of(source, find_interpreter(python or load_config().python or None))
    folder = GraphFolder(graphs_dir() / key)
    if not folder.file.exists():
        raise NotFound(f"{source} has no tool graph", hint=f"codenav graph learn --on {source}")
    return folder.read().graph, source


def node_of(graph: ToolGraph, name: str, source: str | None, python: str | None) -> str:
    """The id of a node that is named as for `codenav show`; else the name itself.

    Only the graph of a source has the code beside it that such a name leads to.
    """
    if not name or source is None or any(f".{id}".endswith(f".{name}") for id in graph.nodes):
        return name
    from codenav.core.errors import CodeNavError
    from codenav.core.traces import callable_name
    from codenav.navigation import verbs

    try:
        found = verbs.show(name, on=source, python=python)
    except CodeNavError:
        return name
    return callable_name(found[0]) or name
