"""The callers and the callees of a definition."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.core.errors import NotFound
from codenav.core.protocols import Index
from codenav.core.system.stored import Document, Makers
from codenav.navigation.local import call_lines
from codenav.navigation.lookup import Definition, definition, definitions
from codenav.navigation.modules import Modules
from codenav.navigation.names import MATCHES
from codenav.navigation.resolve import Evidence, Resolution, Resolver
from codenav.retrieval.analysis import MAX_TOKEN
from codenav.retrieval.aside import is_aside
from codenav.retrieval.query import tree

CANDIDATES = 5
"""The most blocks listed for a called name that several have."""


_REFERENCE = ("id", "kind", "qualname", "path", "lines", "signature", "source", "import_line")


def reference(block: CodeBlock) -> dict[str, Any]:
    """The JSON object of a block without its text."""
    stored = block.to_dict()
    return {name: stored[name] for name in _REFERENCE}


def references(blocks: Iterable[CodeBlock]) -> list[dict[str, Any]]:
    """The JSON objects of blocks without their texts."""
    return [reference(block) for block in blocks]


@dataclass(frozen=True, slots=True)
class Call(Document):
    """A name that a block calls."""

    name: str
    """As written: `self.add_node`."""
    lines: Sequence[int]
    """Lines of the call, 1-based; the first line of the block if its text does not show them."""
    evidence: Evidence
    """The evidence that the definition is meant."""


@dataclass(frozen=True, slots=True)
class Caller(Document):
    """A block, and the calls in it that refer, or may refer, to the definition asked for."""

    block: CodeBlock
    calls: Sequence[Call]

    stored: ClassVar[Sequence[str]] = ("block", "certain", "possible", "calls")
    forms: ClassVar[Makers] = {"block": reference}

    @property
    def certain(self) -> bool:
        """True if there is more evidence for one of the calls than its last name, and it can mean nothing else."""
        return any(call.evidence.certain for call in self.calls)

    @property
    def possible(self) -> bool:
        """True if it is not certain, and one of the calls is that of a method that heirs of its class override."""
        return not self.certain and any(call.evidence is Evidence.OVERRIDE for call in self.calls)


@dataclass(frozen=True)
class Callers(Document, Sequence[Caller]):
    """The blocks that call a name: a sequence of `Caller`, the certain ones first, then the possible ones."""

    name: str
    """The name as asked."""
    targets: Sequence[CodeBlock] = ()
    """The definitions of the name; empty if it is outside the index (`numpy.mean`)."""
    callers: Sequence[Caller] = ()
    certain: int = 0
    """Number of certain callers, those beyond `callers` included."""
    possible: int = 0
    """Number of callers of a method that may be overridden: of this one, or of one that this one overrides."""
    by_name: int = 0
    """Number of callers that only have the last name in common, those beyond `callers` included."""
    others: int = 0
    """Number of blocks left out because they call something else with that name."""

    stored: ClassVar[Sequence[str]] = (
        "name", "targets", "total", "certain", "possible", "by_name", "others", "callers",
    )  # fmt: skip
    forms: ClassVar[Makers] = {"targets": references}

    @property
    def total(self) -> int:
        """Number of all callers, those beyond `callers` included."""
        return self.certain + self.possible + self.by_name

    def __len__(self) -> int:
        return len(self.callers)

    def __getitem__(self, index: Any) -> Any:
        return self.callers[index]


@dataclass(frozen=True, slots=True)
class Callee(Document):
    """A name that a block calls, and the definitions that it refers to."""

    call: Call
    blocks: Sequence[CodeBlock] = ()
    """The definitions, at most `CANDIDATES`; empty if they are not in the index."""
    candidates: int = 0
    """Number of all blocks that it could refer to."""
    dotted: str = ""
    """Full name of something outside the index, if the imports tell it: `numpy.mean`."""

    def to_dict(self) -> dict[str, Any]:
        """The callee as JSON types."""
        return {
            **self.call.to_dict(),
            "blocks": references(self.blocks),
            "candidates": self.candidates,
            "dotted": self.dotted,
        }


@dataclass(frozen=True)
class Callees(Document, Sequence[Callee]):
    """The names that a block calls: a sequence of `Callee`, those in the index first, each group in source order."""

    name: str
    """The name as asked."""
    blocks: Sequence[CodeBlock]
    """The blocks of the definition asked for."""
    callees: Sequence[Callee] = ()
    total: int = 0
    """Number of all names that are called, those beyond `callees` included."""

    stored: ClassVar[Sequence[str]] = ("name", "blocks", "total", "callees")
    forms: ClassVar[Makers] = {"blocks": references}

    def __len__(self) -> int:
        return len(self.callees)

    def __getitem__(self, index: Any) -> Any:
        return self.callees[index]


def callers(index: Index, asked: str, *, limit: int) -> Callers:
    """The blocks that call the definition named `asked`, or any of several (see `lookup.definitions`).

    Raises:
        NotFound: nothing with that name is defined or called in the index.
    """
    meant = definitions(index, asked)
    targets = [blocks[0] for blocks in meant]
    ids = {block.id for blocks in meant for block in blocks}
    plain = asked.strip().removesuffix("()")
    last = targets[0].name if targets else plain.replace("::", ".").rpartition(".")[2]
    resolver = Resolver(Modules(index))
    found: list[Caller] = []
    others = 0
    for block in _outermost_only_where_needed(_calling(index, last), last):
        calls = []
        for name in _written(block, last):
            meaning = resolver.resolve(block, name)
            evidence = _means(meaning, ids) if targets else _means_outside(meaning, name, plain)
            if evidence:
                calls.append(Call(name, call_lines(block, name), evidence))
        found += [Caller(block, calls)] if calls else []
        others += not calls
    if not targets and not found:
        definition(index, asked)
        raise NotFound(f"nothing called {asked[:200]!r} is defined or called here")
    found.sort(key=_order)
    certain, possible = sum(caller.certain for caller in found), sum(caller.possible for caller in found)
    by_name = len(found) - certain - possible
    return Callers(asked, targets, found[: max(limit, 0)], certain, possible, by_name, others)


def callees(index: Index, asked: str, *, limit: int) -> Callees:
    """The names that the block called `asked` calls, each resolved as far as names can tell.

    Raises:
        Ambiguous: `asked` names several definitions.
        NotFound: `asked` names none.
    """
    blocks: Definition = definition(index, asked)
    resolver = Resolver(Modules(index))
    seen: dict[str, Callee] = {}
    for block in blocks:
        for name in block.calls:
            if name == "super" or name in seen:
                continue
            found = resolver.resolve(block, name)
            call = Call(name, call_lines(block, name), found.evidence)
            seen[name] = Callee(call, found.blocks[:CANDIDATES], len(found.blocks), found.dotted)
    ranked = sorted(seen.values(), key=lambda callee: _RANK[callee.call.evidence])
    return Callees(asked, blocks, ranked[: max(limit, 0)], len(ranked))


_RANK = {evidence: 0 for evidence in Evidence if evidence.certain} | {
    Evidence.OVERRIDE: 0,
    Evidence.UNIQUE: 1,
    Evidence.NAME: 2,
    Evidence.EXTERNAL: 3,
}


def _calling(index: Index, last: str) -> Iterator[CodeBlock]:
    """The blocks that call something whose last name is `last`, case-sensitive."""
    if not 0 < len(last) <= MAX_TOKEN:
        return
    found = index.search(tree.render(tree.Value("calls", last)), limit=MATCHES)
    blocks = (hit.block for hit in found) if found.total <= len(found) else index.blocks()
    for block in blocks:
        if block.kind is not BlockKind.IMPORT and _written(block, last):
            yield block


def _written(block: CodeBlock, last: str) -> list[str]:
    return [name for name in block.calls if re.split(r"\.|::|->", name)[-1] == last]


def _outermost_only_where_needed(blocks: Iterable[CodeBlock], last: str) -> list[CodeBlock]:
    """The blocks, except functions that call the name only inside nested functions that are listed too."""
    found = list(blocks)
    places = {(block.source, block.path, block.qualname): block for block in found}
    covered: dict[str, list[CodeBlock]] = {}
    for block in found:
        around = block.qualname
        while around := around.rpartition(".")[0]:
            outer = places.get((block.source, block.path, around))
            if outer and outer.kind in (BlockKind.FUNCTION, BlockKind.METHOD):
                covered.setdefault(outer.id, []).append(block)
    return [
        block
        for block in found
        if any(
            not any(inner.lines.start <= line <= inner.lines.end for inner in covered.get(block.id, ()))
            for name in _written(block, last)
            for line in call_lines(block, name)
        )
    ]


def _means(found: Resolution, ids: set[str]) -> Evidence | None:
    """The evidence that one of the targets is called; None if something else is."""
    if not any(block.id in ids for block in found.blocks):
        return None
    # Being the only candidate with the right name is no better evidence than being one of several.
    return Evidence.NAME if found.evidence is Evidence.UNIQUE else found.evidence


def _means_outside(found: Resolution, name: str, asked: str) -> Evidence | None:
    """The same for a target that is not a block: `numpy.mean`, `mean`, or a call as written: `np.mean`, `nx.Graph`."""
    if found.blocks:
        return _means(found, {found.blocks[0].id}) if name == asked else None
    if found.dotted:
        return Evidence.IMPORT if f".{found.dotted}".endswith(f".{asked}") or name == asked else None
    return Evidence.NAME if f".{name}".endswith(f".{asked}") else None


def _order(caller: Caller) -> tuple[object, ...]:
    block = caller.block
    return not caller.certain, not caller.possible, is_aside(block), block.source, block.path, block.lines.start
