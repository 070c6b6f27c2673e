"""Tool graphs that a person names: a file that codenav wrote, or one that was written by hand."""

from __future__ import annotations

from pathlib import Path

from codenav.core.errors import MissingExtra, NotFound, UsageError
from codenav.toolgraph import by_hand, storage
from codenav.toolgraph.graph import ToolGraph

YAML = (".yaml", ".yml")


def read_graph(path: Path) -> ToolGraph:
    """The graph in a file: JSON that codenav wrote, or actions and tools by hand, in YAML or JSON.

    Raises:
        NotFound: there is no such file.
        UsageError: it holds no graph.
        MissingExtra: it is YAML, and the extra `tools` is not installed.
    """
    if path.suffix.lower() not in YAML:
        document = storage.read_document(path)
        if not by_hand.looks_made_by_hand(document):
            return storage.graph_of(document, str(path))
        return by_hand.graph_of(document, str(path))
    from codenav.tools import documents

    try:
        document = documents.read_file(path)
    except ModuleNotFoundError as error:
        raise MissingExtra("PyYAML", "tools") from error
    except (NotFound, UsageError) as error:
        raise type(error)(str(error), hint=error.hint or by_hand.SEE) from error
    if isinstance(document, dict) and "nodes" in document:
        raise UsageError(f"{path} holds a graph as codenav writes it", hint="name it with .json")
    return by_hand.graph_of(document, str(path))
