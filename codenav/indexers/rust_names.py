"""The names under which crates of Rust offer what is defined in them, `pub use` resolved."""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from codenav.indexers.place import Home, Offer

_ITEM = re.compile(
    r"^(?P<indent>[ \t]*)(?P<attributes>(?:#\[(?:[^\[\]]|\[[^\[\]]*\])*+\]\s*+(?://[^\n]*\s*+)?)*+)"
    r"(?:(?P<pub>pub(?P<limited>\s*\([^)]*\))?\s+)?(?:use\s+(?P<use>[^;]+);|mod\s+(?P<mod>\w+)\s*(?P<body>[;{])"
    r"|macro_rules!\s*(?P<macro>\w+)|(?:(?:async|unsafe|const|extern(?:\s*\"[^\"]*\")?)\s+)*"
    r"(?:impl\b|(?:fn|struct|enum|union|trait|type|const|static)\s+(?:mut\s+)?(?P<item>\w+)))"
    r"|(?P<invoked>\w+!\s*[{(]\s*$)|///)",
    re.MULTILINE,
)
"""The beginning of a line with an item. Items of a module have the indentation of its first one, as rustfmt and
everybody writes them: to read brackets, strings and comments takes ten times as long."""
_PLACED = re.compile(r"#\[path\s*=\s*\"([^\"]+)\"\]")


@dataclass
class Module:
    """A module: a file, or `mod name { … }` in one."""

    name: str
    """`tokio::runtime`."""
    path: str
    folder: str
    """Where the files of its own modules are."""
    inner: str = ""
    """Its dotted name in the file, with a dot behind."""
    parent: Module | None = None
    items: dict[str, bool] = field(default_factory=dict)
    """The names that it defines, and True for public ones."""
    mods: dict[str, list[tuple[bool, Module]]] = field(default_factory=dict)
    uses: dict[str, list[tuple[bool, str]]] = field(default_factory=dict)
    """The paths that names stand for."""
    globs: list[tuple[bool, str]] = field(default_factory=list)
    macros: dict[str, Home] = field(default_factory=dict)
    """Of the top of a crate: the macros that are offered there, wherever they are defined."""

    @property
    def root(self) -> Module:
        """The top of the crate."""
        return self.parent.root if self.parent else self


Thing = Home | Module
Above = frozenset[tuple[int, str]]


class RustNames:
    """The public names of one source."""

    def __init__(self, paths: Collection[str], read: Callable[[str], str], packages: Mapping[str, str]) -> None:
        """`packages`: the text of each `Cargo.toml`, by its folder."""
        self._paths, self._read = set(paths), read
        self._crates: dict[str, Module] = {}
        self._files: dict[str, Module] = {}
        for folder, text in sorted(packages.items()):
            name, library = _crate(text)
            path = posixpath.join(folder, library)
            if name and path in self._paths and name not in self._crates:
                self._crates[name] = self._file(Module(name, path, posixpath.dirname(path)))

    def offers(self) -> Iterator[Offer]:
        """The names that the crates offer; the shortest of a definition first."""
        for crate, root in self._crates.items():
            waiting, seen = [(root, crate)], {id(root)}
            for module, front in waiting:
                for name, thing in self._offered(module, frozenset()):
                    dotted = f"{front}::{name}"
                    if name.startswith("_"):
                        continue
                    if not isinstance(thing, Module):
                        yield Offer(thing, dotted, f"use {dotted};")
                    elif id(thing) not in seen:
                        seen.add(id(thing))
                        waiting.append((thing, dotted))

    def module_of(self, path: str) -> str:
        """The module that a file is; empty outside of any crate with a library."""
        return self._files[path].name if path in self._files else ""

    def _file(self, module: Module) -> Module:
        if module.path not in self._files:
            self._files[module.path] = module
            self._take(module, self._read(module.path))
        return self._files[module.path]

    def _take(self, module: Module, text: str) -> None:
        """Read the items of a file; those in functions, types and macro definitions are none of its own."""
        # The modules that a line may be in, each with the indentation of what opened it and of its first item.
        around: list[list[Any]] = [[module, -1, 0]]
        for found in _ITEM.finditer(text):
            indent = len(found["indent"])
            while indent <= around[-1][1]:
                around.pop()
            here, _, expected = around[-1]
            if expected is None:
                around[-1][2] = expected = indent
            if indent != expected:
                continue
            hidden = "doc(hidden)" in found["attributes"]
            public = bool(found["pub"]) and not found["limited"] and not hidden
            for path, name in _expanded(re.sub(r"//[^\n]*", "", found["use"] or "")):
                if name == "*":
                    here.globs.append((public, path.removesuffix("::*")))
                else:
                    here.uses.setdefault(name, []).append((public, path))
            if found["item"]:
                here.items[found["item"]] = public or here.items.get(found["item"], False)
            if found["macro"] and "macro_export" in found["attributes"] and not hidden:
                module.root.macros[found["macro"]] = module.path, found["macro"]
            if found["invoked"]:
                around.append([here, indent, None])
            if found["mod"] and (inner := self._mod(here, found)):
                here.mods.setdefault(found["mod"], []).append((public, inner))
                if found["body"] == "{":
                    around.append([inner, indent, None])

    def _mod(self, here: Module, found: re.Match[str]) -> Module | None:
        dotted, folder = f"{here.name}::{found['mod']}", posixpath.join(here.folder, found["mod"])
        if found["body"] == "{":
            return Module(dotted, here.path, folder, f"{here.inner}{found['mod']}.", here)
        tries = [(f"{folder}.rs", folder), (f"{folder}/mod.rs", folder)]
        if at := _PLACED.search(found["attributes"]):
            placed = posixpath.normpath(posixpath.join(posixpath.dirname(here.path), at[1]))
            tries = [(placed, posixpath.dirname(placed))]
        for path, below in tries:
            if path in self._paths:
                return self._file(Module(dotted, path, below, parent=here))
        return None

    def _offered(self, module: Module, above: Above) -> Iterator[tuple[str, Thing]]:
        """The public names of a module, with what they stand for."""
        yield from module.macros.items()
        for name in [*module.items, *module.mods, *module.uses]:
            yield from ((name, thing) for thing in self._members(module, name, None, above))
        for path in dict.fromkeys(path for public, path in module.globs if public):
            for other in self._meant(module, path, above):
                if isinstance(other, Module) and (id(other), "*") not in above:
                    yield from self._offered(other, above | {(id(other), "*")})

    def _members(self, module: Module, name: str, asking: Module | None, above: Above) -> list[Thing]:
        """The things that a name in a module stands for; private ones only for `asking` modules inside it."""
        inside = asking is not None and f"{asking.name}::".startswith(f"{module.name}::")
        found: list[Thing] = []
        if module.items.get(name) or (inside and name in module.items):
            found.append((module.path, f"{module.inner}{name}"))
        found += [inner for public, inner in module.mods.get(name, ()) if public or inside]
        if (id(module), name) in above:
            # In `pub use spawn::spawn` the first is a module.
            return found
        above |= {(id(module), name)}
        for public, path in module.uses.get(name, ()):
            found += self._meant(module, path, above) if public or inside else []
        for public, path in module.globs if not found else ():
            for other in self._meant(module, path, above) if public or inside else ():
                found += self._members(other, name, module, above) if isinstance(other, Module) else []
        return found or ([module.macros[name]] if name in module.macros else [])

    def _meant(self, module: Module, path: str, above: Above) -> Iterable[Thing]:
        """The things that a path in a module stands for."""
        first, *rest = path.split("::")
        found: Iterable[Thing]
        match first:
            case "crate" | "$crate":
                found = [module.root]
            case "self":
                found = [module]
            case "super":
                found = [module.parent] if module.parent else []
            case _:
                found = self._members(module, first, module, above)
                found = found or [self._crates[name] for name in (first or rest.pop(0),) if name in self._crates]
        for part in rest:
            if part == "super":
                found = [thing.parent for thing in found if isinstance(thing, Module) and thing.parent]
                continue
            inner = (self._members(thing, part, module, above) for thing in found if isinstance(thing, Module))
            found = [thing for things in inner for thing in things]
        return found


def _expanded(tree: str, front: str = "") -> Iterator[tuple[str, str]]:
    """The paths in `a::{b, c as d, e::*}`, each with the name that it binds."""
    head, brace, rest = tree.strip().partition("{")
    if brace:
        depth, piece = 0, ""
        for character in rest.rpartition("}")[0] + ",":
            depth += (character == "{") - (character == "}")
            if character == "," and not depth:
                yield from _expanded(piece, front + head.strip())
                piece = ""
            else:
                piece += character
        return
    path, *alias = re.split(r"\s+as\s+", head.strip())
    path = f"{front}{path}".removesuffix("::self")
    if path:
        yield path, alias[0] if alias else path.rpartition("::")[2]


def _crate(text: str) -> tuple[str, str]:
    """The name of a crate's library, and its file."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return "", ""
    package, library = data.get("package"), data.get("lib")
    library = library if isinstance(library, dict) else {}
    name = library.get("name") or (package.get("name") if isinstance(package, dict) else "")
    return str(name or "").replace("-", "_"), str(library.get("path") or "src/lib.rs")
