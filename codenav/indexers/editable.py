"""Editable installs: the modules that one makes importable, and the places where they are written."""

from __future__ import annotations

import ast
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from codenav.core.system.interpreter import normalise
from codenav.core.system.syntax import parsed
from codenav.indexers.walk import language_of

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_NOT_MODULES = {"tests", "test", "docs", "doc", "examples", "benchmarks", "build", "dist", "scripts"}
"""Folders of a project that are not installed, for one that does not list its modules."""
_DECLARING = {"packages", "include", "includes", "only-include", "module", "module-name", "name"}
"""Keys under which build backends list what they install."""
_PATTERN = re.compile(r"/[^/]*[*?[].*", re.DOTALL)
"""The rest after the folder in a pattern such as `demo/**/*.py`."""
_DEEPEST = ("*.py", "*/*.py", "*/*/*.py", "*/*/*/*.py")
"""Where the first module of a namespace package is looked for."""


@dataclass(frozen=True)
class Part:
    """A package or a module of an installed distribution."""

    imported: str
    """Its path below a folder to import from: `acme/tools`, `six.py`."""
    place: Path

    @property
    def root(self) -> Path | None:
        """The folder to import it from; None if it is imported by another name than that of its place."""
        place, tail = str(self.place), f"/{self.imported}"
        return Path(place.removesuffix(tail) or "/") if place.endswith(tail) else None


def project_folder(found: Distribution) -> Path | None:
    """The folder that `direct_url.json` names for an editable install (PEP 610); None for any other."""
    try:
        url = json.loads(found.read_text("direct_url.json") or "{}")
        if not url.get("dir_info", {}).get("editable"):
            return None
        folder = Path(unquote(urlsplit(url["url"]).path))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return folder if folder.is_dir() else None


def parts_of(found: Distribution, project: Path, names: Sequence[str], others: Iterable[Distribution]) -> list[Part]:
    """The parts of an editable install of a project, as its `.pth` files and its import finder say.

    `names`: those that the distribution lists, if any. `others`: distributions that may share a folder with it.
    """
    folders, parts = _importing(found)
    if not folders and not parts:
        inner = project / "src"
        folders = [inner if inner.is_dir() else project]
    for folder in folders:
        tops = tops_in(folder, names, found.metadata["Name"], project=project)
        tops = _unshared(folder, tops, found, others)
        for top in tops:
            parts += _linked(folder, top) or [Part(top, folder / top)]
    return _outermost(parts)


def tops_in(root: Path, names: Sequence[str], distribution: str, *, project: Path | None = None) -> list[str]:
    """The packages and modules in a folder that belong to a distribution: those of these names and of its own.

    If it has none and is installed from a `project`: those that the project declares; else all in its folder.
    """
    own = normalise(distribution).replace("-", "_")
    if project is not None and root != project and project.is_relative_to(root):
        # The project is the package.
        return [str(project.relative_to(root))]
    if project is None or names or root == project:
        tops = [top for name in (*names, own) if (top := _module(root, name))]
        if project is not None and not names:
            tops += [top for said in _declared(project) if (top := _module(root, said))]
        if tops or project is None:
            return list(dict.fromkeys(tops))
    inside = sorted(root.iterdir()) if root.is_dir() else []
    found = [path.name for path in inside if _importable(path) and path.name not in _NOT_MODULES]
    packages = [name for name in found if (root / name / "__init__.py").is_file()]
    return packages or [name for name in found if root != project or (root / name).is_dir()]


def _importing(found: Distribution) -> tuple[list[Path], list[Part]]:
    """The folders that an install adds to `sys.path`, and the parts that its import finder maps."""
    folders: list[Path] = []
    parts: list[Part] = []
    for file in found.files or ():
        if len(file.parts) > 1 or file.suffix not in (".pth", ".py"):
            continue
        text = file_text(Path(str(found.locate_file(file))))
        if file.suffix == ".pth":
            lines = (Path(line.strip()) for line in text.splitlines())
            folders += [line for line in lines if line.is_absolute() and line.is_dir()]
        elif file.name.startswith("_"):
            parts += [part for name, place in _pairs(text) if (part := _mapped(name, place))]
    return list(dict.fromkeys(folders)), parts


def _pairs(source: str) -> Iterator[tuple[str, str]]:
    """The names and places in an import finder: `{"pkg": "/folder/pkg"}` and `map_module("pkg", "/folder/pkg")`.

    The first is how setuptools and scikit-build-core write it, the second how hatch does.
    """
    for node in ast.walk(parsed(source) or ast.Module([], [])):
        if isinstance(node, ast.Dict):
            pairs = list(zip(node.keys, node.values, strict=True))
        elif isinstance(node, ast.Call) and len(node.args) == 2:
            pairs = [(node.args[0], node.args[1])]
        else:
            continue
        for name, place in pairs:
            said = [part.value for part in (name, place) if isinstance(part, ast.Constant)]
            if len(said) == 2 and isinstance(said[0], str) and isinstance(said[1], str):
                yield said[0], said[1]


def _mapped(name: str, place: str) -> Part | None:
    """The part of that dotted name; None if there is nothing in that place."""
    if not os.path.isabs(place) or not all(part.isidentifier() for part in name.split(".")):
        return None
    imported, path = name.replace(".", "/"), Path(place)
    if path.name == "__init__.py":
        path = path.parent
    if path.is_dir():
        return Part(imported, path)
    for suffix in ("", ".py"):
        file = path.with_name(path.name + suffix)
        if file.is_file() and file.suffix == ".py":
            return Part(f"{imported}.py", file)
    return None


def _linked(folder: Path, top: str) -> list[Part]:
    """The files of a package that stands in a folder as links to its files, as in setuptools' strict mode."""
    parts = []
    walked = os.walk(folder / top) if (folder / top).is_dir() else [(str(folder), [], [top])]
    for location, _, names in walked:
        for name in names:
            path = Path(location, name)
            real = Path(os.path.realpath(path))
            if language_of(name) and path.is_symlink() and not real.is_relative_to(folder):
                parts.append(Part(str(path.relative_to(folder)), real))
    return parts


def _unshared(folder: Path, tops: list[str], found: Distribution, others: Iterable[Distribution]) -> list[str]:
    """Those of the parts in a folder that no other editable install in the same folder has by its name."""
    own = _named(folder, normalise(found.metadata["Name"]))
    claimed = set()
    for other in others:
        name = normalise(other.metadata["Name"])
        if name != normalise(found.metadata["Name"]) and project_folder(other) and folder in _importing(other)[0]:
            claimed.add(_named(folder, name))
    if not claimed - {""}:
        return tops
    if own:
        return [own]
    kept = []
    for top in tops:
        inner = [f"{top}/{path.name}" for path in sorted((folder / top).iterdir())] if (folder / top).is_dir() else []
        shared = any(claim.startswith(f"{top}/") for claim in claimed)
        kept += [each for each in (inner if shared else [top]) if each not in claimed]
    return kept


def _named(folder: Path, name: str) -> str:
    """The package or module in a folder that a normalised name names: `acme/tools` for `acme-tools`; "" if none."""
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return ""
    for path in inside:
        own = normalise(path.name.removesuffix(".py"))
        if own == name and _importable(path):
            return path.name
        if name.startswith(f"{own}-") and path.is_dir() and (inner := _named(path, name.removeprefix(f"{own}-"))):
            return f"{path.name}/{inner}"
    return ""


def _outermost(parts: Iterable[Part]) -> list[Part]:
    """The parts, without those that another one holds under the same name."""
    kept: dict[str, Part] = {}
    for part in sorted(parts, key=lambda part: part.imported):
        above = part.imported.rpartition("/")[0]
        while above and above not in kept:
            above = above.rpartition("/")[0]
        if not above or kept[above].place / part.imported.removeprefix(f"{above}/") != part.place:
            kept.setdefault(part.imported, part)
    return list(kept.values())


def _module(root: Path, name: str) -> str:
    """The package or module of that path or dotted name in a folder, relative to it; "" if there is none."""
    if not re.fullmatch(r"[\w./-]+", name) or ".." in name:
        return ""
    relative = name.removeprefix("./").strip("/")
    for top in (relative, f"{relative}.py", f"{relative}.pyi", relative.replace(".", "/")):
        path = root / top
        if path != root and (path.is_file() if path.suffix else path.is_dir()):
            return top
    return ""


def _importable(path: Path) -> bool:
    """True for a module, and for a folder that holds modules, as a package or in namespace packages."""
    if not path.stem.isidentifier():
        return False
    if path.suffix:
        return path.suffix in (".py", ".pyi") and path.is_file()
    return path.is_dir() and any(next(path.glob(pattern), None) for pattern in _DEEPEST)


def _declared(project: Path) -> list[str]:
    """The paths that a project's build backend installs by its settings."""
    settings = pyproject(project)
    try:
        backend = settings["build-system"]["build-backend"]
        tables = [table for name, table in settings["tool"].items() if backend.startswith(name)]
    except (KeyError, TypeError, AttributeError):
        return []
    return [_PATTERN.sub("", said) for said in _strings(tables)]


def _strings(value: object, *, counts: bool = False) -> Iterator[str]:
    if isinstance(value, str):
        if counts:
            yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, counts=counts)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key != "sdist":
                yield from _strings(item, counts=key in _DECLARING)


def pyproject(project: Path) -> dict[str, Any]:
    """The settings in a project's `pyproject.toml`; none if it has no valid one."""
    try:
        return tomllib.loads(file_text(project / "pyproject.toml"))
    except ValueError:
        return {}


def file_text(path: Path) -> str:
    """The text of a file; empty if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
