"""Modules whose version in one interpreter differs from the version in the interpreter that runs the steps."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata

from codenav.core.system.interpreter import Interpreter, normalise


def unlike(python: Interpreter, packages: Sequence[tuple[str, str]]) -> list[str]:
    """All modules of the distributions that `packages` lists with another version than `python` has."""
    inside = {normalise(name): version for name, version in packages}
    strange = {
        normalise(name) for name, version in python.distributions if inside.get(normalise(name), version) != version
    }
    if not strange:
        return []
    found: set[str] = set()
    for distribution in metadata.distributions(path=[str(path) for path in python.paths]):
        if normalise(str(distribution.metadata["Name"])) in strange:
            found.update(filter(None, map(_module, distribution.files or ())))
    return sorted(found)


def _module(file: metadata.PackagePath) -> str:
    """The dotted name of the module in a file; empty for other files and for names of the standard library."""
    if file.suffix not in (".py", ".pyi", ".so"):
        return ""
    parts = [*file.parts[:-1], file.name.partition(".")[0]]
    if parts[-1] == "__init__":
        parts.pop()
    fit = parts and parts[0] not in sys.stdlib_module_names and all(part.isidentifier() for part in parts)
    return ".".join(parts) if fit else ""
