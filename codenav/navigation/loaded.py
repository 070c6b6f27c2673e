"""The modules of a whole code base, with all definitions in memory: for what asks of every file."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.navigation.classes import base_names
from codenav.navigation.imports import Import
from codenav.navigation.modules import DEFINED, Module, Modules, read_module
from codenav.retrieval.aside import is_aside

_KEPT = 400
"""Characters kept of the text of a definition: enough to see decorators, and a body that only declares."""
_NEEDED = DEFINED | {BlockKind.IMPORT, BlockKind.CONDITIONAL}


class LoadedModules(Modules):
    """All modules of an index. Definitions keep little of their text, as their number has no limit."""

    def __init__(self, blocks: Iterable[CodeBlock]) -> None:
        files: dict[tuple[str, str], list[CodeBlock]] = defaultdict(list)
        named: dict[str, list[CodeBlock]] = defaultdict(list)
        self._heirs: dict[str, list[CodeBlock]] = defaultdict(list)
        """Classes by the last names of their bases."""
        for block in blocks:
            if block.language not in ("python", "") and block.kind is not BlockKind.TOOL:
                continue
            if block.kind not in _NEEDED:
                continue
            kept = _short(block)
            files[block.source, block.path].append(kept)
            if block.kind in DEFINED:
                named[block.name].append(kept)
            if block.kind is BlockKind.CLASS:
                for base in dict.fromkeys(name.rpartition(".")[2] for name in base_names(block)):
                    self._heirs[base].append(kept)
        self._files = {key: read_module(*key, blocks) for key, blocks in files.items()}
        self._by_name = {}
        self._named = dict(named)
        self._packages: dict[str, tuple[str, str]] = {}
        self._dotted: dict[str, list[Module]] = defaultdict(list)
        for module in self.all():
            self._dotted[module.name].append(module)
            parts = module.name.split(".")
            for length in range(1, len(parts)):
                self._packages.setdefault(".".join(parts[:length]), (module.source, module.path))

    def all(self) -> list[Module]:
        """Every module."""
        return [module for module in self._files.values() if module is not None]

    def named(self, name: str) -> list[CodeBlock]:
        """Every definition whose last name is `name`."""
        return self._named.get(name, [])

    def classes_with(self, word: str) -> list[CodeBlock]:
        """The classes that have a base of that name."""
        return self._heirs.get(word, [])

    def usual(self) -> dict[str, Import]:
        """The meaning that most files of the code base give a name that they import: `nx` is networkx."""
        counts: dict[str, Counter[Import]] = defaultdict(Counter)
        for module in self.all():
            for name, what in module.bound.items():
                if not what.level:
                    counts[name][what] += 1
        return {name: found.most_common(1)[0][0] for name, found in counts.items()}

    def _find(self, name: str, near: Module) -> Module | None:
        found = self._dotted.get(name, [])
        return next((module for module in found if module.source == near.source), found[0] if found else None)

    def _file(self, source: str, path: str) -> Module | None:
        return self._files.get((source, path))

    def _package(self, dotted: str, near: Module) -> Module | None:
        place = self._packages.get(dotted)
        return Module(place[0], f"{dotted.replace('.', '/')}/__init__.py", dotted) if place else None


def _short(block: CodeBlock) -> CodeBlock:
    """The block without what no resolution reads."""
    if block.kind in (BlockKind.IMPORT, BlockKind.CONDITIONAL, BlockKind.ASSIGNMENT):
        return block
    text = block.text if len(block.text) <= _KEPT else block.text.partition("\ndef ")[0][:_KEPT]
    return replace(block, text=text, docstring=block.docstring[:_KEPT] if not is_aside(block) else "", calls=())
