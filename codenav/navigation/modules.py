"""The files of an index as modules, with their definitions and imports; each is read on first use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.core.protocols import Index
from codenav.navigation.imports import Import, imports_in
from codenav.navigation.names import dotted_path, module_of, search_all
from codenav.retrieval.query import tree

DEFINED = frozenset({BlockKind.FUNCTION, BlockKind.METHOD, BlockKind.CLASS, BlockKind.ASSIGNMENT, BlockKind.TOOL})
"""Kinds of blocks that a name can stand for."""
_WITH_IMPORTS = (BlockKind.IMPORT, BlockKind.CONDITIONAL)
_ASSIGNED = re.compile(r"^[ \t]+([^\W\d]\w*)[ \t]*(?::[^=\n]*)?=(?!=)", re.MULTILINE)
HOPS = 12
"""The most imports followed from a name to its definition; the longest chain in networkx has four."""


@dataclass(slots=True)
class Module:
    """A file as a module."""

    source: str
    path: str
    name: str = ""
    """Dotted name; empty if unknown."""
    definitions: dict[str, list[CodeBlock]] = field(default_factory=dict)
    """Definitions by qualified name, in order of the file."""
    bound: dict[str, Import] = field(default_factory=dict)
    """Module-level names that its imports bind."""
    stars: list[Import] = field(default_factory=list)
    rebound: set[str] = field(default_factory=set)
    """Names that a condition at module level may bind to something else than their definition."""

    @property
    def is_package(self) -> bool:
        """True for an `__init__.py`."""
        return self.path.rpartition("/")[2].startswith("__init__.")

    def take(self, block: CodeBlock) -> None:
        """Add one of its blocks."""
        if block.kind in DEFINED:
            self.definitions.setdefault(block.qualname, []).append(block)
        if block.kind in _WITH_IMPORTS and block.language == "python":
            bound, stars = imports_in(block.text)
            self.bound.update(bound)
            self.stars += stars
        if block.kind is BlockKind.CONDITIONAL and block.language == "python":
            self.rebound.update(_ASSIGNED.findall(block.text))
        self.name = self.name or module_of(block)

    def is_settled(self, name: str) -> bool:
        """True if a module-level name can mean nothing but its definition."""
        return name not in self.rebound and name not in self.bound


@dataclass(frozen=True, slots=True)
class Outside:
    """A module, or a name in a module, that is not in the index, by its dotted name."""

    name: str


Thing = Sequence[CodeBlock] | Module | Outside
"""The meaning of a name: a definition, a module of the index, or something outside of it."""


class Modules:
    """The modules of an index."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._files: dict[tuple[str, str], Module | None] = {}
        self._by_name: dict[tuple[str, str], Module | None] = {}
        self._named: dict[str, list[CodeBlock]] = {}

    def of(self, block: CodeBlock) -> Module:
        """The module that contains a block."""
        return self._file(block.source, block.path) or Module(block.source, block.path)

    def named(self, name: str) -> list[CodeBlock]:
        """Every definition whose last name is `name`."""
        if name not in self._named:
            found = search_all(self._index, tree.Words("name", (name,))) if name.isidentifier() else ()
            self._named[name] = [block for block in found if block.name == name and block.kind in DEFINED]
        return self._named[name]

    def classes_with(self, word: str) -> Iterable[CodeBlock]:
        """The classes whose header has a word."""
        parts = (tree.Value("type", BlockKind.CLASS.value), tree.Words("signature", (word,)))
        return search_all(self._index, *parts)

    def find(self, name: str, near: Module) -> Module | None:
        """The module with that dotted name, preferably in the source of `near`."""
        key = (name, near.source)
        if key not in self._by_name:
            self._by_name[key] = self._find(name, near) if name else None
        return self._by_name[key]

    def look_up(self, module: Module, name: str, hops: int = HOPS) -> Thing | None:
        """The meaning of a name in a module: defined there, imported, or a submodule; None if unknown."""
        if name in module.definitions:
            return module.definitions[name]
        if hops and name in module.bound:
            return self.imported(module.bound[name], module, hops - 1)
        found = self._through_stars(module, name, hops) if hops else None
        if found is None and module.is_package and module.name:
            found = self.find(f"{module.name}.{name}", module)
        return found

    def imported(self, what: Import, module: Module, hops: int = HOPS) -> Thing | None:
        """The meaning of an import in a module."""
        dotted = what.absolute(module.name or dotted_path(module.path), is_package=module.is_package)
        target = self.find(dotted, module)
        if not what.name:
            return target or self._package(dotted, module) or Outside(dotted)
        if target:
            found = self.look_up(target, what.name, hops)
            # The package may make the name at run time: then the only clue is a single definition below the package.
            return found if found is not None else self.lazy(dotted, what.name)
        inner = self.find(f"{dotted}.{what.name}", module)
        return inner or self.lazy(dotted, what.name) or Outside(f"{dotted}.{what.name}")

    def _package(self, dotted: str, near: Module) -> Module | None:
        """A package without blocks of its own: with an empty `__init__.py`, or a namespace package."""
        path = dotted.replace(".", "/")
        inside = self._index.search(tree.render(tree.Value("file_path", path)), limit=1) if dotted else ()
        for hit in inside:
            if f"/{hit.path}".startswith(f"/{path}/"):
                return Module(hit.block.source, f"{path}/__init__.py", dotted)
        return None

    def lazy(self, package: str, name: str) -> Thing | None:
        """The only top-level definition of that name below a package, which it may export at run time."""
        below = [
            block
            for block in self.named(name)
            if block.qualname == name and f"{module_of(block)}.".startswith(f"{package}.")
        ]
        return below if len({(block.source, block.path) for block in below}) == 1 else None

    def _through_stars(self, module: Module, name: str, hops: int) -> Thing | None:
        if name.startswith("_"):
            return None
        targets = [
            target
            for star in module.stars
            if (dotted := star.absolute(module.name or dotted_path(module.path), is_package=module.is_package))
            and (target := self.find(dotted, module))
        ]
        if not targets:
            return None
        # Only star imports that lead towards a definition of the name are followed: a package may have hundreds.
        homes = [block for block in self.named(name) if block.qualname == name]
        for target in reversed(targets):
            if any(block.source == target.source and _leads(target, block) for block in homes):
                found = self.look_up(target, name, hops - 1)
                if found is not None:
                    return found
        # A star import also binds the modules inside a package.
        inner = (self.find(f"{target.name}.{name}", target) for target in targets if target.is_package)
        return next(filter(None, inner), None)

    def _find(self, name: str, near: Module) -> Module | None:
        path = name.replace(".", "/")
        for source, front in self._fronts(name, near):
            rest = path.removeprefix(front[0]).strip("/")
            ends = (f"{rest}.py", f"{rest}/__init__.py", f"{rest}.pyi") if rest else ("__init__.py",)
            for end in ends:
                found = self._file(source, "/".join(filter(None, (front[1], end))))
                if found:
                    return found
        for end in (f"{path}.py", f"{path}/__init__.py"):
            hits = self._index.search(tree.render(tree.Value("file_path", end)), limit=50)
            for hit in hits:
                if f"/{hit.path}".endswith(f"/{end}"):
                    module = self.of(hit.block)
                    if module.name == name:
                        return module
        return None

    @staticmethod
    def _fronts(name: str, near: Module) -> Iterator[tuple[str, tuple[str, str]]]:
        """The source of `near`, and the prefixes that turn dotted names into paths there: one to drop, one to add."""
        dotted, path = near.name.split("."), dotted_path(near.path).split(".")
        if near.is_package and path[-1:] == ["__init__"]:
            path.pop()
        while dotted and path and dotted[-1] == path[-1]:
            dotted.pop()
            path.pop()
        front = "/".join(filter(None, dotted))
        if near.name and f"{name}.".startswith(f"{'.'.join(dotted)}." if front else ""):
            yield near.source, (front, "/".join(path))

    def _file(self, source: str, path: str) -> Module | None:
        key = (source, path)
        if key not in self._files:
            in_file = (tree.Value("file_path", path),)
            blocks = [b for b in search_all(self._index, *in_file) if b.path == path and b.source == source]
            self._files[key] = read_module(source, path, blocks)
        return self._files[key]


def read_module(source: str, path: str, blocks: Iterable[CodeBlock]) -> Module | None:
    """Make a module from its blocks; None if there are none."""
    module = Module(source, path)
    some = False
    for block in sorted(blocks, key=lambda block: block.lines.start):
        module.take(block)
        some = True
    module.name = module.name or dotted_path(path)
    return module if some else None


def _leads(target: Module, block: CodeBlock) -> bool:
    """True if a module may lead to a block: it contains it, or its package does, or it imports that name."""
    if target.path == block.path or block.name in target.bound:
        return True
    folder = target.path.rpartition("/")[0]
    return target.is_package and block.path.startswith(f"{folder}/" if folder else "")
