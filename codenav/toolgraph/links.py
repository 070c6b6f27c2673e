"""Links from the blocks of an index to the callables that they define, kept beside the graph of its source."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from codenav.core.blocks import CodeBlock
from codenav.core.system.atomic_files import write_whole
from codenav.core.traces import callable_name
from codenav.navigation.names import search_all
from codenav.retrieval.query import tree
from codenav.retrieval.source_index import SourceIndex

FILE = "links.json"
FORMAT = 1
FEW = 20
"""Files whose blocks are looked up one by one; if more changed, all blocks are read, 25,000 a second."""

_PLAIN = re.compile(r"[\w./-]+")
"""A path that a query holds as it is."""
_OfFiles = dict[str, tuple[str, dict[str, str]]]
"""For each file its digest, and the names of its callables by block id."""


def links_of(index: SourceIndex, folder: Path) -> dict[str, str]:
    """The names of callables, as by `traces.callable_name`, by the ids of the blocks that define them.

    They are read from the file in `folder`, and what changed since is read from the index and saved there.

    Raises:
        IndexUnavailable: the index cannot be read.
    """
    digests = {file: state.digest for file, state in index.whole.files().items()}
    known = _read(folder / FILE)
    changed = [path for path, digest in digests.items() if known.get(path, ("", {}))[0] != digest]
    if changed or known.keys() != digests.keys():
        known = {path: of for path, of in known.items() if path in digests}
        for path in changed:
            known[path] = (digests[path], {})
        for block in _blocks(index, changed):
            if block.path in known and (name := callable_name(block)):
                known[block.path][1][block.id] = name
        _write(folder, known)
    return {id: name for _, names in known.values() for id, name in names.items()}


def _blocks(index: SourceIndex, paths: list[str]) -> Iterable[CodeBlock]:
    if len(paths) > FEW or not all(map(_PLAIN.fullmatch, paths)):
        yield from index.whole.blocks()
        return
    for path in paths:
        for block in search_all(index.whole, tree.Value("file_path", path)):
            if block.path == path:
                yield block


def _read(path: Path) -> _OfFiles:
    """The content of a file of links; empty if there is none that can be read, since it is only a shortcut."""
    try:
        document: Any = json.loads(path.read_bytes())
        if document["format"] != FORMAT:
            return {}
        return {str(path): (str(of[0]), dict(of[1])) for path, of in document["files"].items()}
    except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError):
        return {}


def _write(folder: Path, known: Mapping[str, tuple[str, dict[str, str]]]) -> None:
    text = json.dumps({"format": FORMAT, "files": known}, separators=(",", ":"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / FILE, text, errors="surrogatepass")
    except OSError:
        # Made again next time.
        return
