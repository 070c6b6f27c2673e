"""The names under which the modules of a source offer what is defined in them, re-exports resolved."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from codenav.indexers.javascript_names import JavaScriptNames
from codenav.indexers.place import Home, Offer, Place
from codenav.indexers.python_exports import Exports, Origin, is_facade, own_names, read_exports
from codenav.indexers.read import text_of
from codenav.indexers.rust_names import RustNames
from codenav.indexers.walk import Found

_ASIDE = re.compile(
    r"(?:^|\.)(?:tests|test_\w*|\w+_tests?|conftest|vendor(?:ed)?|externals?|third_party)(?:\.|$)|^test(?:\.|$)"
)
"""The modules of tests and vendored code: nobody is meant to import them."""


@dataclass(frozen=True)
class File:
    """A Python file of a source."""

    path: str
    module: str
    text: str

    @property
    def is_package(self) -> bool:
        """True for an `__init__` file."""
        return self.path.rpartition("/")[2].startswith("__init__.")

    @cached_property
    def exports(self) -> Exports:
        """The names that the file offers; of most files only what it defines itself is read."""
        if self.is_package or is_facade(self.text):
            return self.whole
        return own_names(self.text)

    @cached_property
    def whole(self) -> Exports:
        """The names that the file offers, imports included."""
        return read_exports(self.text, self.module, is_package=self.is_package) or own_names(self.text)


class PublicNames:
    """The public names of one source."""

    def __init__(self, files: Iterable[File]) -> None:
        self._modules: dict[str, list[File]] = {}
        for file in sorted(files, key=lambda file: file.path.endswith(".pyi")):
            self._modules.setdefault(file.module, []).append(file)
        self._found: dict[tuple[str, str], list[Home]] = {}
        """The definitions of a name, by module and name."""
        self._behind: set[Home] = set()
        """Definitions that a stub stands for."""
        self._offered: dict[str, set[str]] = {}
        self._stars: dict[str, set[str]] = {}

    def offers(self) -> Iterator[Offer]:
        """Each definition at the top level of a file that is public, by the shortest name to import it.

        Of names of as many parts, the one in the module that defines it comes first: a script beside a module may
        import all of it.
        """
        best: dict[Home, tuple[tuple[object, ...], str]] = {}
        for module in self._modules:
            if not _is_public(module):
                continue
            for name in self._names(module):
                dotted = f"{module}.{name}"
                for home in self._homes(module, name):
                    elsewhere = all(file.path != home[0] for file in self._modules[module])
                    rank = dotted.count("."), name != home[1], elsewhere, len(dotted), dotted
                    if home not in best or rank < best[home][0]:
                        best[home] = rank, dotted
        yield from (Offer(home, dotted) for home, (_, dotted) in best.items() if home not in self._behind)

    def module_of(self, path: str) -> str:
        """Nothing: a file of Python has the module that its place says."""
        return ""

    def _names(self, module: str) -> list[str]:
        """The names that a module offers; some may not be found anywhere."""
        names: dict[str, None] = {}
        for file in self._modules.get(module, ()):
            exports = file.exports
            listed = self._listed(file)
            if listed is None:
                own = [*(exports.own - exports.unlisted), *exports.again, *self._starred(file)]
                taken = [*exports.bound, *exports.lazy] if file.is_package else ()
                listed = {name for name in [*own, *taken] if not name.startswith("_")}
            names.update(dict.fromkeys(sorted(listed)))
        return list(names)

    def _listed(self, file: File, above: frozenset[str] = frozenset()) -> set[str] | None:
        """The names in `__all__`, with those of other modules that it includes; None without a readable `__all__`."""
        exports = file.exports
        if exports.all is None or file.path in above:
            return None
        names = set(exports.all)
        for dotted in exports.all_of:
            for inner in self._modules.get(self._module_of(file, dotted), ()):
                names |= self._listed(inner, above | {file.path}) or set()
        return names

    def _module_of(self, file: File, dotted: str) -> str:
        """The module that a name bound in a file stands for; empty if it is none of the source."""
        head, _, rest = dotted.partition(".")
        for origin in [*file.exports.bound.get(head, ()), Origin(f"{file.module}.{head}")]:
            module = ".".join(filter(None, [origin.module, origin.name, rest]))
            if module in self._modules:
                return module
        return ""

    def _starred(self, file: File) -> set[str]:
        """The names that the star imports of a file bring."""
        if file.path not in self._stars:
            names = self._stars[file.path] = set()
            for star in file.exports.stars:
                names |= self._brought(star)
        return self._stars[file.path]

    def _brought(self, module: str) -> set[str]:
        """The names that `from MODULE import *` brings."""
        if module not in self._offered:
            names = self._offered[module] = set()
            for file in self._modules.get(module, ()):
                listed = self._listed(file)
                if listed is None:
                    whole = file.whole
                    taken = () if whole.is_dynamic else whole.bound
                    listed = {name for name in [*(whole.own - whole.unlisted), *taken] if not name.startswith("_")}
                    listed |= self._starred(file)
                names |= listed
        return self._offered[module]

    def _homes(self, module: str, name: str) -> list[Home]:
        """The definitions that a name in a module stands for."""
        key = module, name
        if key not in self._found:
            # What leads back to itself leads nowhere.
            self._found[key] = []
            self._found[key] = self._look_up(self._modules.get(module, ()), name)
        return self._found[key]

    def _look_up(self, files: Sequence[File], name: str) -> list[Home]:
        owner = next((file for file in files if name in file.exports.own), None)
        if owner is None:
            return next(filter(None, (self._taken(file, name) for file in files)), [])
        for file in files[: files.index(owner)]:
            # A stub stands for what the module takes from compiled code, and for what it takes where that is missing.
            if found := self._taken(file, name, first=True):
                return found
            self._behind.update(self._taken(file, name))
        return [(owner.path, name), *self._taken(owner, name)]

    def _taken(self, file: File, name: str, *, first: bool = False) -> list[Home]:
        """The definitions that a file takes over under that name; `first`: from the best of its origins."""
        if name not in file.text and "*" not in file.text:
            return []
        exports = file.exports if name in file.exports.own else file.whole
        origins = [*exports.bound.get(name, ()), *exports.lazy.get(name, ())]
        for origin in origins[:1] if first else origins:
            if found := self._from(file, origin):
                return found
        if name not in exports.own and not origins and not name.startswith("_"):
            for star in reversed(exports.stars):
                if name in self._brought(star) and (found := self._homes(star, name)):
                    return found
        return []

    def _from(self, file: File, origin: Origin) -> list[Home]:
        if not origin.module.startswith("="):
            return self._homes(origin.module, origin.name) if origin.name else []
        owner = origin.module.removeprefix("=")
        return self._homes(self._module_of(file, owner) if owner else file.module, origin.name)


def places_in(files: Iterable[tuple[Found, Place]]) -> dict[str, Place]:
    """The places of the files of an index with the public names of what they define."""
    by_source: dict[str, list[tuple[Found, Place]]] = {}
    for found, place in files:
        by_source.setdefault(place.source, []).append((found, place))
    return {place.path: place for each in by_source.values() for place in _named(each)}


def _named(files: Sequence[tuple[Found, Place]]) -> Iterator[Place]:
    """The places of the files of one source."""
    public: dict[str, dict[str, tuple[str, str]]] = {}
    within: dict[str, str] = {}
    for names, paths in _readers(files):
        offered: dict[str, dict[str, tuple[str, str]]] = {}
        for offer in names.offers():
            path, name = offer.home
            if path in paths:
                offered.setdefault(path, {}).setdefault(name, (offer.public, offer.import_line))
        public.update(offered)
        within.update((path, names.module_of(path)) for path in paths if offered)
    for _, place in files:
        yield replace(place, public=public.get(place.path, {}), within=within.get(place.path, ""))


def _readers(
    files: Sequence[tuple[Found, Place]],
) -> Iterator[tuple[PublicNames | JavaScriptNames | RustNames, Collection[str]]]:
    """The readers of what packages of each language offer, with the paths of the files in it."""
    texts = {place.path: (place, text_of(found)) for found, place in files if place.module}
    yield PublicNames(File(path, place.module, text) for path, (place, text) in texts.items() if text), texts
    for languages, manifest, kind in _PACKAGES:
        found = {place.path: found for found, place in files if found.language in languages}
        if packages := _manifests(found.values(), manifest):
            yield kind(found, lambda path, found=found: text_of(found[path]), packages), found  # type: ignore[misc]


def _manifests(files: Iterable[Found], name: str) -> dict[str, str]:
    """The texts of the files of that name beside or above others, by folder."""
    folders: dict[str, str] = {}
    for found in files:
        folder, location = posixpath.dirname(found.path), posixpath.dirname(found.location)
        while folder not in folders:
            folders[folder] = location
            folder, location = posixpath.dirname(folder), posixpath.dirname(location)
    texts = {
        folder: text_of(Found(f"{folder}/{name}", f"{location}/{name}", 0, 0, "text"))
        for folder, location in folders.items()
    }
    return {folder: text for folder, text in texts.items() if text}


_PACKAGES = (
    (("javascript", "typescript", "tsx"), "package.json", JavaScriptNames),
    (("rust",), "Cargo.toml", RustNames),
)


def _is_public(module: str) -> bool:
    return not any(part.startswith("_") for part in module.split(".")) and not _ASIDE.search(module)
