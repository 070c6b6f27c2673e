"""The references between the files of an index, by names only, and the centrality of files and definitions by them."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from codenav.core.blocks import BlockKind, CodeBlock, LineSpan
from codenav.core.system.stored import Document, Makers
from codenav.navigation.classes import base_names
from codenav.navigation.imports import Import, imports_in
from codenav.navigation.names import dotted_path, module_of
from codenav.navigation.resolve import COMMON_METHODS, SELF
from codenav.retrieval.aside import is_aside

WIDE = 100
"""A call of a name that more files than this define tells nothing (`forward` in a library of models)."""
LONG, LONG_FACTOR = 8, 10.0
PRIVATE_FACTOR = 0.1
COMMON, COMMON_FACTOR = 5, 0.1
"""Weights of names in references, as in aider's repository map (`get_ranked_tags` in aider/repomap.py): names of
several words and at least 8 characters count ten times, private ones a tenth, those with over 5 definers a tenth."""
ASIDE_FACTOR = 0.1
"""Factor for references from tests and vendored code: the most tested code need not be the most important."""

RECEIVER_FACTOR = 0.3
"""Factor for a method called on an object of unknown class: another method with that name may be meant."""
DAMPING = 0.85
"""Page et al., "The PageRank Citation Ranking", 1999; aider and networkx use the same value."""
CLOSE = 1e-4
"""The iteration ends when the ranks, which sum to 1, change by less in total."""
ITERATIONS = 50
OWN = 0.05
"""Share of a file's rank that its definitions get without references from another file."""

_SHOWN = (BlockKind.CLASS, BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.TOOL)


@dataclass(slots=True)
class Entry(Document):
    """A definition, or a section of a document, without its text."""

    id: str
    kind: BlockKind
    name: str
    qualname: str
    lines: LineSpan
    signature: str
    public_name: str = ""
    rank: float = 0.0

    stored: ClassVar[Sequence[str]] = ("id", "kind", "qualname", "lines", "signature", "rank")
    forms: ClassVar[Makers] = {"lines": LineSpan.to_list}
    digits: ClassVar[Mapping[str, int]] = {"rank": 6}


@dataclass(slots=True)
class File:
    """A file with its definitions and the names that it refers to."""

    source: str
    path: str
    aside: bool = False
    """True for a test or vendored code."""
    module: str = ""
    entries: list[Entry] = field(default_factory=list)
    instances: list[Entry] = field(default_factory=list)
    """Its public assignments at the top level."""
    sections: list[Entry] = field(default_factory=list)
    """The sections of a document; for code its docstring."""
    calls: Counter[str] = field(default_factory=Counter)
    """Dotted names as written, base classes included, with the number of blocks that have them."""
    bound: dict[str, Import] = field(default_factory=dict)
    rank: float = 0.0

    @property
    def is_package(self) -> bool:
        """True for an `__init__.py`."""
        return self.path.rpartition("/")[2].startswith("__init__.")


def read_files(blocks: Iterable[CodeBlock]) -> list[File]:
    """The files of a stream of blocks, in order of the stream."""
    files: dict[tuple[str, str], File] = {}
    for block in blocks:
        key = (block.source, block.path)
        file = files.get(key)
        if file is None:
            file = files[key] = File(block.source, block.path, is_aside(block))
        _take(file, block)
    for file in files.values():
        file.module = file.module or dotted_path(file.path)
        functions = {entry.qualname for entry in file.entries if entry.kind is not BlockKind.CLASS}
        file.entries = [entry for entry in file.entries if entry.qualname.rpartition(".")[0] not in functions]
    return list(files.values())


def _take(file: File, block: CodeBlock) -> None:
    if block.kind in (BlockKind.IMPORT, BlockKind.CONDITIONAL) and block.language == "python":
        file.bound.update(imports_in(block.text)[0])
    file.calls.update(block.calls)
    if block.kind is BlockKind.CLASS:
        file.calls.update(base_names(block))
    if block.kind in _SHOWN or block.kind is BlockKind.DOCUMENT:
        (file.sections if block.kind is BlockKind.DOCUMENT else file.entries).append(_entry(block))
    elif block.kind is BlockKind.ASSIGNMENT and block.public_name and "." not in block.qualname:
        file.instances.append(_entry(block))
    if not file.module and block.import_line:
        file.module = module_of(block)


def _entry(block: CodeBlock) -> Entry:
    signature = " ".join(block.signature.split())
    return Entry(block.id, block.kind, block.name, block.qualname, block.lines, signature, block.public_name)


@dataclass(frozen=True, slots=True)
class Reference:
    """A name that a file calls and other files define."""

    file: int
    name: str
    definers: tuple[int, ...]
    weight: float
    """The weight for each definer."""


def references(files: list[File]) -> Iterator[Reference]:
    """All references between files, by names and imports; a name that the file defines itself is not a reference."""
    definers: dict[str, list[int]] = defaultdict(list)
    members: dict[str, list[int]] = defaultdict(list)
    for number, file in enumerate(files):
        for name in {entry.name for entry in file.entries if "." not in entry.qualname}:
            definers[name].append(number)
        for name in {entry.name for entry in file.entries if "." in entry.qualname}:
            members[name].append(number)
    for number, file in enumerate(files):
        for (name, found), count in _by_name(file, number, files, definers, members).items():
            weight = worth(name, len(definers[name]) + len(members[name])) * math.sqrt(count) / len(found)
            yield Reference(number, name, found, weight * (ASIDE_FACTOR if file.aside else 1.0))


def worth(name: str, definers: int) -> float:
    """The weight of a reference by that name."""
    words = "_" in name.strip("_") or (not name.islower() and not name.isupper())
    factor = LONG_FACTOR if words and len(name) >= LONG else 1.0
    factor *= PRIVATE_FACTOR if name.startswith("_") else 1.0
    return factor * (COMMON_FACTOR if definers > COMMON else 1.0)


def _by_name(
    file: File, number: int, files: list[File], definers: dict[str, list[int]], members: dict[str, list[int]]
) -> dict[tuple[str, tuple[int, ...]], float]:
    """The weighted count of the file's references, by name and the files that define it."""
    found: dict[tuple[str, tuple[int, ...]], float] = defaultdict(float)
    for call, count in file.calls.items():
        head, *rest = re.split(r"\.|::|->", call)
        name = rest[-1] if rest else head
        imported = file.bound.get(head)
        factor = 1.0
        if imported is not None:
            name = name if rest else imported.name or name
            homes = _imported(imported, file, name, files, definers, members)
        elif rest and head in SELF:
            homes = members.get(name, []) if name not in COMMON_METHODS else []
        elif rest:
            homes = members.get(name, []) if name not in COMMON_METHODS else []
            factor = RECEIVER_FACTOR
        else:
            homes = definers.get(name, [])
            if not homes and not file.path.endswith(".py"):
                homes = members.get(name, [])
        if number in homes or not homes or len(homes) > WIDE:
            continue
        found[name, tuple(homes)] += count * factor
    return found


def _imported(
    what: Import, file: File, name: str, files: list[File],
    definers: dict[str, list[int]], members: dict[str, list[int]],
) -> list[int]:  # fmt: skip
    """The files that define a name and are the module that it is imported from, or below it."""
    module = what.absolute(file.module, is_package=file.is_package)
    for homes in (definers.get(name, ()), members.get(name, ())):
        if what.name and what.name != "*":
            inner = f"{module}.{what.name}."
            found = [home for home in homes if f"{files[home].module}.".startswith(inner)]
            if found:
                return found
        found = [home for home in homes if f"{files[home].module}.".startswith(f"{module}.")]
        if found:
            exact = [home for home in found if files[home].module == module]
            return exact or found
    return []


def rank(files: Sequence[File]) -> None:
    """Set `rank` of every file and of its entries: the ranks of all files sum to 1, entries get a share of them."""
    if not files:
        return
    edges: list[dict[int, float]] = [defaultdict(float) for _ in files]
    found = list(references(list(files)))
    for reference in found:
        for definer in reference.definers:
            edges[reference.file][definer] += reference.weight
    ranks = pagerank(edges, [0.1 if file.aside else 1.0 for file in files])
    shares: dict[tuple[int, str], float] = defaultdict(float)
    totals = [sum(targets.values()) for targets in edges]
    for reference in found:
        share = DAMPING * ranks[reference.file] * reference.weight / totals[reference.file]
        for definer in reference.definers:
            shares[definer, reference.name] += share
    for number, file in enumerate(files):
        file.rank = ranks[number]
        same: dict[str, int] = defaultdict(int)
        for entry in file.entries:
            same[entry.name] += 1
        inside = {call.rpartition(".")[2] for call in file.calls}
        for entry in file.entries:
            own = OWN * file.rank / len(file.entries)
            own *= (0.1 if entry.name.startswith("_") else 1.0) * (2.0 if entry.name in inside else 1.0)
            entry.rank = shares.get((number, entry.name), 0.0) / same[entry.name] + own


def pagerank(edges: Sequence[Mapping[int, float]], start: Sequence[float]) -> list[float]:
    """PageRank by power iteration.

    `edges[a][b]` is the weight of the edge from a to b. `start` gives the weight of each node as the start of a walk,
    in any unit. Nodes without an edge hand their rank back to `start`.
    """
    whole = sum(start)
    base = [value / whole for value in start]
    ranks = base
    totals = [sum(targets.values()) for targets in edges]
    for _ in range(ITERATIONS):
        fresh = [0.0] * len(ranks)
        loose = 0.0
        for node, targets in enumerate(edges):
            if not totals[node]:
                loose += ranks[node]
                continue
            part = DAMPING * ranks[node] / totals[node]
            for target, weight in targets.items():
                fresh[target] += part * weight
        rest = 1.0 - DAMPING + DAMPING * loose
        fresh = [value + rest * own for value, own in zip(fresh, base, strict=True)]
        change = sum(abs(new - old) for new, old in zip(fresh, ranks, strict=True))
        ranks = fresh
        if change < CLOSE:
            break
    return ranks
