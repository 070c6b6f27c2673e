"""The public names of the modules of a code base: own definitions, imports, and names from star imports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from codenav.blocks import BlockKind, CodeBlock
from codenav.navigation.imports import Import, imports_in
from codenav.navigation.names import dotted_path, is_aside, module_of

_QUOTED = re.compile(r"[\"'](\w+)[\"']")


@dataclass
class _Module:
    is_package: bool = False
    own: set[str] = field(default_factory=set)
    bound: dict[str, Import] = field(default_factory=dict)
    stars: list[Import] = field(default_factory=list)
    all: set[str] | None = None
    """The strings in `__all__`; None if the module has none."""


class Exports:
    """The exports of the modules of a code base: first `take` all of its blocks, then ask."""

    def __init__(self) -> None:
        self._modules: dict[str, _Module] = {}
        self._named: dict[str, str] = {}
        """Module name by path, from the import lines of the blocks."""
        self._known: dict[str, dict[str, str]] = {}

    def take(self, block: CodeBlock) -> None:
        """Add a block, in any order; tests and vendored code export nothing."""
        if block.language != "python" or is_aside(block):
            return
        name = self._named.get(block.path) or module_of(block)
        if name:
            self._named[block.path] = name
        module = self._modules.setdefault(block.path, _Module("/__init__." in f"/{block.path}"))
        if block.kind in (BlockKind.IMPORT, BlockKind.CONDITIONAL):
            bound, stars = imports_in(block.text)
            module.bound.update(bound)
            module.stars += stars
        elif block.kind is BlockKind.ASSIGNMENT and block.name == "__all__":
            module.all = {*(module.all or ()), *_QUOTED.findall(block.text)}
        elif block.kind is not BlockKind.DOCUMENT and "." not in block.qualname and block.name:
            module.own.add(block.name)

    def tops(self) -> list[str]:
        """The top-level packages and modules."""
        names = self._by_name()
        return sorted(name for name in names if name and names.keys().isdisjoint(_above(name)))

    def of(self, module: str) -> Mapping[str, str]:
        """The public names that `module` exports, each with the module that defines it."""
        return self._offered(module, self._by_name(), frozenset())

    def _by_name(self) -> dict[str, _Module]:
        return {self._named.get(path) or dotted_path(path): module for path, module in self._modules.items()}

    def _offered(self, name: str, modules: Mapping[str, _Module], above: frozenset[str]) -> dict[str, str]:
        if name in self._known:
            return self._known[name]
        module = modules.get(name)
        if module is None or name in above:
            return {}
        above |= {name}
        found: dict[str, str] = {}
        for star in module.stars:
            found.update(self._offered(star.absolute(name, is_package=module.is_package), modules, above))
        for bound, item in module.bound.items():
            origin = item.absolute(name, is_package=module.is_package)
            if item.name and origin in modules:
                home = self._offered(origin, modules, above).get(item.name)
                if home:
                    found[bound] = home
        found.update((own, name) for own in module.own)
        if module.all is not None:
            found = {key: home for key, home in found.items() if key in module.all}
        found = {key: home for key, home in found.items() if not key.startswith("_")}
        self._known[name] = found
        return found


def _above(module: str) -> list[str]:
    """The packages that contain a module."""
    parts = module.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


def shortest_names(exports: Exports, wanted: Iterable[str]) -> dict[tuple[str, str], str]:
    """The shortest of the `wanted` modules that exports each (name, defining module)."""
    found: dict[tuple[str, str], str] = {}
    for module in sorted(wanted, key=lambda name: (name.count("."), name)):
        for name, home in exports.of(module).items():
            found.setdefault((name, home), module)
    return found
