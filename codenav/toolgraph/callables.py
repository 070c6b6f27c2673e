"""The callables of a source: the blocks that define them, the names by which traces know them, their descriptions."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from codenav.core.blocks import CodeBlock
from codenav.core.system.atomic_files import write_whole
from codenav.core.traces import Trace, TracedCall, callable_name
from codenav.navigation.called import InCode, KnownCallables, context_of
from codenav.navigation.modules import Modules
from codenav.navigation.names import search_all
from codenav.navigation.resolve import Resolver
from codenav.navigation.verbs import indexes_of
from codenav.retrieval.query import tree
from codenav.retrieval.source_index import On, SourceIndex
from codenav.tools.naming import identifier

FILE = "links.json"
FORMAT = 1
FEW = 20
"""Files whose blocks are looked up one by one; if more changed, all blocks are read, 25,000 a second."""
MOST_UNKNOWN = 10_000
"""The most names without a callable that are remembered."""

_OF_TESTS = re.compile(r"(?:^|\.)(?:tests?|conftest|test_\w+)\.")
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
    if len(paths) > FEW:
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


class CallableNames:
    """The names of the callables of an index, and the other names by which traces may know them."""

    def __init__(self, names: Iterable[str], index: SourceIndex | None = None) -> None:
        """`index`: where names are looked up by which a callable can be imported, such as `networkx.path_graph`."""
        self._names = set(names)
        self._tails: dict[str, list[str]] = defaultdict(list)
        for name in self._names:
            self._tails[name.rpartition(".")[2]].append(name)
        self._known = KnownCallables(Resolver(Modules(index))) if index is not None else None
        sources = [index.source, *index.source.parts.values()] if index is not None else []
        self._of_tools = any(source.tools for source in sources)
        self._found: dict[str, str] = {}
        self.unknown: Counter[str] = Counter()
        """The names that stand for no callable, with the number of their calls; at most `MOST_UNKNOWN` of them."""

    def of(self, trace: Trace) -> Trace:
        """The trace with the callables by their names; calls of anything else are left out."""
        places: dict[int, int] = {}
        calls: list[TracedCall] = []
        for place, call in enumerate(trace.calls):
            name = self.name(call.name)
            if name:
                places[place] = len(calls)
                takes = {key: places[giver] for key, giver in call.takes.items() if giver in places}
                calls.append(replace(call, name=name, takes=takes))
            elif call.name in self.unknown or len(self.unknown) < MOST_UNKNOWN:
                self.unknown[call.name] += 1
        return replace(trace, calls=tuple(calls))

    def name(self, given: str) -> str:
        """The name of the callable; empty if there is none, or several are meant as well.

        Known are the whole name, the end of one, a name by which it can be imported, and for tools the name in their
        specification, such as `createOrder`.
        """
        if given in self._names:
            return given
        if given not in self._found:
            if len(self._found) > MOST_UNKNOWN:
                self._found.clear()
            self._found[given] = self._look_up(given)
        return self._found[given]

    def meant(self, given: str) -> list[str]:
        """The names of all callables that are meant: those that are or end in the given one, else as `name`."""
        return self._ending(given) or [*filter(None, [self.name(given)])]

    def _look_up(self, given: str) -> str:
        ending = self._ending(given)
        if not ending and self._of_tools:
            # The dots may be part of a tool's own name: `files.read`.
            ending = self._ending(".".join(map(identifier, given.split(".")))) or self._ending(identifier(given))
        if len(ending) == 1:
            return ending[0]
        head, *rest = given.split(".")
        if self._known is None or not all(part.isidentifier() for part in (head, *rest)):
            return ""
        # Of several with that name it is the one that the package offers: `from networkx import diameter`.
        packages = {name.partition(".")[0] for name in ending}
        imports = [f"import {head}"] if rest and not ending else [f"from {one} import {head}" for one in packages]
        found = {
            called.name
            for one in imports
            if (called := InCode(self._known, context_of([one])).function(given)) and called.name in self._names
        }
        return found.pop() if len(found) == 1 else ""

    def _ending(self, given: str) -> list[str]:
        """The names that are or end in the given one, those in tests only if there are no others."""
        ending = [name for name in self._tails.get(given.rpartition(".")[2], ()) if f".{name}".endswith(f".{given}")]
        return [name for name in ending if not _OF_TESTS.search(name)] or ending


def descriptions_of(on: On, *, python: str | Path | None = None) -> dict[str, str]:
    """The signature and the docstring of each callable of a source, by its name in the graph.

    Raises:
        NotFound, Unavailable: as `codenav.index`.
    """
    found: dict[str, str] = {}
    with indexes_of(on, {"python": python}) as indexes:
        for index in indexes:
            for block in index.whole.blocks():
                if name := callable_name(block):
                    # The first of several: the others are overloads and copies for other platforms.
                    found.setdefault(name, f"{block.signature}\n{block.docstring}".strip())
    return found
