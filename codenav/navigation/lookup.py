"""Lookup of blocks by the names that people use for them: an id, a dotted name, or a line of a file."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Sequence
from itertools import groupby

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.core.errors import Ambiguous, NotFound
from codenav.core.protocols import Index
from codenav.indexers.walk import language_of
from codenav.navigation import members
from codenav.navigation.modules import Modules
from codenav.navigation.names import dotted_path, module_of, place_of, search_all
from codenav.retrieval.aside import is_aside
from codenav.retrieval.query import tree

LISTED = 20
"""The most candidates that an error message lists."""

_LONGEST = 5_000
"""Characters of the longest name that a block may have: a path has 4,096 at most."""
_ID = re.compile(r"[0-9a-f]{16}")
_PLACE = re.compile(r"(?P<path>.+?):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?(?::\d+)?", re.DOTALL)
_PINNED = re.compile(r"(?P<path>[^:]+)::(?P<name>\S.*)", re.DOTALL)
_KIND_ORDER = (BlockKind.CLASS, BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.TOOL, BlockKind.ASSIGNMENT)

Definition = Sequence[CodeBlock]
"""The blocks of one source and file that share a qualified name: a property's getter and setter, overloads."""


def definition(index: Index, asked: str) -> Definition:
    """The definition that `asked` names, see `definitions`.

    Raises:
        Ambiguous: it names several definitions.
        NotFound: it names none; the hint has similar names.
    """
    found = definitions(index, asked)
    if not found:
        raise NotFound(f"no block {asked[:200]!r}", hint=_meant(index, asked))
    if len(found) > 1:
        found += namesakes(index, asked, found[0])
        raise Ambiguous(_ambiguity(asked, found), candidates=[blocks[0] for blocks in found])
    return found[0]


def definitions(index: Index, asked: str) -> list[Definition]:
    """All definitions that `asked` could name: public ones first, those in tests and vendored code last.

    `asked` is the id of a block, `path:line`, a dotted name (`shortest_path`, `Graph.add_node`,
    `networkx.classes.graph.Graph.add_node`, `networkx.Graph.add_node`), or one with the file or folder that it is in:
    `classes/graph.py::Graph.add_node`. A field of a class counts as a definition, in a block with the id of the class.

    Raises:
        NotFound: no block contains the line.
    """
    asked = asked.strip()
    if len(asked) > _LONGEST:
        return []
    if _ID.fullmatch(asked) and (block := index.get(asked)):
        return [[block]]
    place = _PLACE.fullmatch(asked)
    if place:
        first = int(place["first"])
        return _at(index, place["path"], first, int(place["last"] or first))
    modules = Modules(index)
    pinned = _PINNED.fullmatch(asked)
    if pinned and ("/" in pinned["path"] or language_of(pinned["path"])):
        path, dotted = pinned["path"], _dotted(pinned["name"])
        return _grouped(_in_file(index, path, dotted)) or _parts(index, modules, dotted, path)
    return _only_exported(modules, asked, _grouped(_named(index, asked))) or _parts(index, modules, _dotted(asked))


def namesakes(index: Index, asked: str, found: Definition) -> list[Definition]:
    """The other definitions whose names end in `asked`, which stands for `found` as that is the whole of its name."""
    dotted = _dotted(asked.strip())
    if not re.fullmatch(r"[\w.]+", dotted) or found[0].qualname != dotted:
        return []
    words = tuple(re.findall(r"\w+", dotted))
    named = search_all(index, *(tree.Words("name", (word,)) for word in words[:20]))
    return _grouped(block for block in named if block.qualname.endswith(f".{dotted}"))


def _in_file(index: Index, path: str, dotted: str) -> list[CodeBlock]:
    """The blocks of that name in a file, or in the files of a folder."""
    name = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    words = tuple(re.findall(r"\w+", dotted.rpartition(".")[2]))
    named = search_all(index, tree.Value("file_path", name), *(tree.Words("name", (word,)) for word in words[:20]))
    found = [block for block in named if _fits_path(block, path) or f"{_rooted(path)}/" in f"{_rooted(block.path)}/"]
    for fits in (_is_named, _ends, _is_named_case_blind):
        kept = [block for block in found if fits(block, dotted)]
        if kept:
            return _best_paths(kept, path)
    return []


def _parts(index: Index, modules: Modules, dotted: str, path: str = "") -> list[Definition]:
    """The definitions of a name that no block has: inherited, fields, and what a statement binds among others.

    With a `path`, those whose class, or whose statement, is in that file or folder.
    """
    owner, _, name = dotted.rpartition(".")
    if not name.lstrip("$").isidentifier():
        return []
    found: list[CodeBlock] = []
    around = f"{path}::{owner}" if path else owner
    for blocks in definitions(index, around)[:LISTED] if owner else ():
        if blocks[0].kind in (BlockKind.CLASS, BlockKind.ASSIGNMENT):
            found += members.of_class(index, modules, blocks[0], name)
    return _grouped(found or (block for block in members.bound(index, dotted) if not path or _fits_path(block, path)))


def _dotted(asked: str) -> str:
    return re.sub(r"::|#", ".", asked).removesuffix("()").strip(".")


def _named(index: Index, asked: str) -> list[CodeBlock]:
    """The blocks that fit the name, by the strictest of five readings that any block fits."""
    dotted = _dotted(asked)
    # A section of a document: `Guide > Installing it`.
    last = dotted.rpartition(" > ")[2] if " " in dotted else dotted.rpartition(".")[2]
    words = tuple(re.findall(r"\w+", last))
    if not words:
        return []
    wanted = [tree.Words("name", (word,)) for word in words[:20]]
    owner = dotted.rpartition(".")[0].rpartition(".")[2] if " " not in dotted else ""
    if owner.isidentifier():
        # The text contains the owner's name: even if thousands of blocks share the last name, few are looked at.
        exact = [
            block for block in search_all(index, *wanted, tree.Words("text", (owner,))) if block.qualname == dotted
        ]
        # `axios.Axios = Axios` is no more than another name of what is offered under it.
        if any(block.kind is not BlockKind.ASSIGNMENT or block.public_name for block in exact):
            return exact
    found = list(search_all(index, *wanted))
    if not any(_is_offered(block, dotted) or _is_named(block, dotted) for block in found):
        # Its own name may be another one: the package may offer `_scan` as `scan`, a function as itself: `express`.
        found += [block for block in search_all(index, tree.Words("text", words)) if _is_offered(block, dotted)]
    for fits in (_is_offered, _is_named, _ends, _is_below, _is_named_case_blind):
        kept = [block for block in found if fits(block, dotted)]
        if kept:
            return [block for block in kept if block.kind is not BlockKind.IMPORT] or kept
    return []


def _only_exported(modules: Modules, asked: str, found: list[Definition]) -> list[Definition]:
    """If the package in `asked` exports just one of several definitions under that name, it is the only one kept."""
    package, _, name = asked.rpartition(".")
    if not package or not 1 < len(found) <= LISTED:
        return found
    exported = [blocks for blocks in found if _exports(modules, package, name, blocks[0])]
    return exported if len(exported) == 1 else found


def _exports(modules: Modules, package: str, name: str, block: CodeBlock) -> bool:
    """True if a name in a package stands for the block, or for the definition that contains it."""
    module = modules.find(package, modules.of(block))
    thing = modules.look_up(module, name) if module else None
    if not isinstance(thing, Sequence):
        return False
    top = block.qualname.partition(".")[0]
    return any((item.source, item.path, item.name) == (block.source, block.path, top) for item in thing)


def _is_offered(block: CodeBlock, dotted: str) -> bool:
    return dotted == _dotted(block.public_name)


def _is_named(block: CodeBlock, dotted: str) -> bool:
    return dotted == block.qualname


def _is_named_case_blind(block: CodeBlock, dotted: str) -> bool:
    return dotted.lower() == block.qualname.lower()


def _ends(block: CodeBlock, dotted: str) -> bool:
    """True if the dotted path and name of the block end in `dotted`, or if it is imported by that name."""
    whole = f"{dotted_path(block.path)}.{block.qualname}"
    module = module_of(block)
    return f".{whole}".endswith(f".{dotted}") or (bool(module) and dotted == f"{module}.{block.qualname}")


def _is_below(block: CodeBlock, dotted: str) -> bool:
    """True for a block below the package in `dotted`: `networkx.shortest_path` for one defined in a module of it."""
    package = dotted.removesuffix(f".{block.qualname}")
    if package == dotted:
        return False
    return any(f"{name}.".startswith(f"{package}.") for name in (dotted_path(block.path), module_of(block)))


def _at(index: Index, path: str, first: int, last: int) -> list[Definition]:
    """The innermost block that contains the lines, in each file that `path` could name.

    Raises:
        NotFound: the file has no block there.
    """
    name = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    in_file = tree.Value("file_path", name)
    found = [block for block in search_all(index, in_file, tree.Lines(first, last)) if _fits_path(block, path)]
    inside = [block for block in found if block.lines.start <= first and last <= block.lines.end] or found
    inside = _best_paths(inside, path)
    if inside:
        inside.sort(key=lambda block: (block.source, block.path))
        files = groupby(inside, key=lambda block: (block.source, block.path))
        return [[min(blocks, key=_innermost)] for _, blocks in files]
    others = [block for block in search_all(index, in_file) if _fits_path(block, path)]
    if not others:
        return []
    near = min(others, key=lambda block: min(abs(block.lines.start - first), abs(block.lines.end - first)))
    command = shlex.join(["codenav", "show", place_of(near), "--on", near.source])
    raise NotFound(f"no block holds line {first} of {near.path}", hint=f"the nearest: {command}")


def _fits_path(block: CodeBlock, path: str) -> bool:
    """True if one path is the end of the other: `io.py` or `/home/me/repo/lib/io.py` for `lib/io.py`."""
    typed, own = _rooted(path), _rooted(block.path)
    return typed.endswith(own) or own.endswith(typed)


def _best_paths(blocks: list[CodeBlock], path: str) -> list[CodeBlock]:
    """The blocks with exactly that path; else those with the longest path that it ends in; else all."""
    exact = [block for block in blocks if _rooted(block.path) == _rooted(path)]
    if exact:
        return exact
    ends = [block for block in blocks if _rooted(path).endswith(_rooted(block.path))]
    longest = max((len(block.path) for block in ends), default=0)
    return [block for block in ends if len(block.path) == longest] or blocks


def _rooted(path: str) -> str:
    return "/" + path.replace("\\", "/").removeprefix("./").strip("/")


def _innermost(block: CodeBlock) -> tuple[int, int]:
    return block.lines.end - block.lines.start, -block.qualname.count(".")


def _grouped(blocks: Iterable[CodeBlock]) -> list[Definition]:
    groups: dict[tuple[str, str, str], list[CodeBlock]] = {}
    for block in blocks:
        groups.setdefault((block.source, block.path, block.qualname), []).append(block)
    for group in groups.values():
        group.sort(key=lambda block: block.lines.start)
    return sorted(groups.values(), key=lambda group: _order(group[0]))


def _order(block: CodeBlock) -> tuple[object, ...]:
    private = any(part.startswith("_") for part in block.qualname.split("."))
    kind = _KIND_ORDER.index(block.kind) if block.kind in _KIND_ORDER else len(_KIND_ORDER)
    shortest = len(re.findall(r"[./]|::", block.public_name)) if block.public_name else LISTED
    return is_aside(block), private, shortest, kind, block.path.count("/"), block.path, block.lines.start


def _ambiguity(asked: str, found: Sequence[Definition]) -> str:
    rows = [
        f"  {blocks[0].id}  {blocks[0].kind.value:<10} {blocks[0].qualname}  {blocks[0].path}:{blocks[0].lines.start}"
        for blocks in found[:LISTED]
    ]
    if len(found) > LISTED:
        rows.append(f"  … {len(found) - LISTED} more")
    return "\n".join([f"{asked[:200]} names {len(found)} blocks:", *rows])


def _meant(index: Index, asked: str) -> str:
    """A hint: similar names, or a command that finds some."""
    if len(asked) > _LONGEST:
        return "codenav search WORDS --on SOURCE"
    if _PLACE.fullmatch(asked.strip()):
        return "codenav search 'file_path: *NAME*' finds files"
    near = near_names(index, _dotted(asked.strip()))
    return f"did you mean {' or '.join(near)}?" if near else "codenav search WORDS --on SOURCE"


def near_names(index: Index, dotted: str) -> list[str]:
    """The names most like a dotted one, at most three."""
    words = re.findall(r"\w+", dotted)[-1:]
    if not words:
        return []
    parts = tuple(part for part in re.split(r"_+|(?<=[a-z0-9])(?=[A-Z])", words[0]) if part)[:8]
    nodes: list[tree.Node] = [tree.Fuzzy("name", words[0][:100], 2), *(tree.Words("name", (p,)) for p in parts)]
    hits = index.search(tree.render(tree.any_of(nodes)), limit=200)
    names = {name: None for hit in hits for name in (hit.block.qualname, hit.block.name) if " " not in name}
    near = difflib.get_close_matches(dotted[:100], names, n=3, cutoff=0.6)
    return near or difflib.get_close_matches(words[0][:100], names, n=3, cutoff=0.7)
