"""The folders of a tree that its files are imported from: those of its projects, and of its imports of each other."""

from __future__ import annotations

import configparser
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from codenav.indexers.editable import file_text, pyproject
from codenav.indexers.modules import import_root, is_name

_PROJECT = ("pyproject.toml", "setup.cfg", "setup.py")
_NOT_WALKED = {"node_modules", "__pycache__", "site-packages", "build", "dist", "venv", "env"}
_ASIDE = re.compile(r"tests?|testing|test_\w*|\w+_test|conftest|setup|noxfile|docs?|examples?|benchmarks?")
"""Names that many folders have, and that nobody imports from another."""
_READ = 2_000
"""The most files whose imports are read."""
_BYTES = 20_000
"""The bytes read of each: imports stand at the top."""
_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import|import[ \t]+([\w.]+))", re.MULTILINE)
_WHERE = re.compile(
    r"(?:package_dir\s*=\s*\{\s*[\"'][\"']\s*:|where\s*=|find_(?:namespace_)?packages\()\s*[\"']([\w./-]+)[\"']"
)
"""The folder of packages in a `setup.py`."""


@dataclass(frozen=True)
class Roots:
    """The folders to import the files of a tree from."""

    first: Path
    """The one that the tree as a whole is imported from."""
    others: tuple[Path, ...] = ()
    """Folders below it, in order of their paths."""
    hidden: frozenset[str] = frozenset()
    """The packages and modules, by path, that another root hides: it has one of the same name before them."""
    notice: str = ""
    """A sentence on those."""

    def of(self, path: str) -> Path:
        """The folder that dotted names start from, for a file or folder."""
        for root in sorted(self.others, key=lambda one: -len(one.parts)):
            inner = path.removeprefix(f"{root}/")
            if inner != path:
                return self.first if f"{root}/{inner.partition('/')[0]}" in self.hidden else root
        return self.first


def import_roots(path: Path) -> Roots:
    """The folders that a tree's files are imported from.

    Those that its projects state (`pyproject.toml`, `setup.cfg`, `setup.py`); then those that its files import each
    other from; then the first folder above each package.
    """
    first = import_root(path)
    if first == path.parent:
        return Roots(first)
    tree = _Tree(path)
    stated = {root for project in tree.projects for root in _stated(project, tree) if root not in tree.packages}
    stated -= {first, path}
    guessed = {package.parent for package in tree.packages if package.parent not in tree.packages}
    guessed = {root for root in (guessed | tree.folders) - tree.packages if not _within(root, stated)}
    used = tree.imports() if guessed - {first, path} else Counter()
    found = stated | {root for root in guessed - {first, path} if _is_root(root, first, tree, used)}
    others = tuple(sorted(root for root in found if not _is_aside(root.relative_to(path).parts)))
    return _with_hidden(first, others, tree)


class _Tree:
    """The Python files and projects of a tree."""

    def __init__(self, top: Path) -> None:
        self.projects: list[Path] = []
        self.packages: set[Path] = set()
        self.tops: dict[Path, set[str]] = defaultdict(set)
        """The names that can be imported from each folder."""
        self._top = top
        self._files: list[Path] = []
        for folder, folders, files in os.walk(top):
            folders[:] = sorted(
                name
                for name in folders
                if name not in _NOT_WALKED and name[0] != "." and not os.path.exists(f"{folder}/{name}/pyvenv.cfg")
            )
            self._take(Path(folder), files)

    def _take(self, folder: Path, files: list[str]) -> None:
        modules = [name.removesuffix(".py") for name in sorted(files) if name.endswith(".py")]
        if "__init__" in modules:
            self.packages.add(folder)
        if any(name in files for name in _PROJECT):
            self.projects.append(folder)
        self.tops[folder].update(filter(is_name, modules))
        self._files += [folder / f"{name}.py" for name in modules]
        while modules and folder != self._top and is_name(folder.name) and folder.name not in self.tops[folder.parent]:
            self.tops[folder.parent].add(folder.name)
            folder = folder.parent

    @property
    def folders(self) -> set[Path]:
        """The folders that directly hold modules or packages."""
        return {folder for folder, names in self.tops.items() if names}

    def imports(self) -> Counter[tuple[Path, str]]:
        """Count the imports of names that a folder above the file has; of several such folders the nearest counts."""
        found: Counter[tuple[Path, str]] = Counter()
        for file in self._files[:_READ]:
            try:
                with open(file, "rb") as opened:
                    text = opened.read(_BYTES).decode("utf-8", "replace")
            except OSError:
                continue
            names = {(one or other).partition(".")[0] for one, other in _IMPORT.findall(text)}
            for name in names - sys.stdlib_module_names - {file.stem}:
                if home := self._above(file, name):
                    found[home, name] += 1
        return found

    def _above(self, file: Path, name: str) -> Path | None:
        folder = file.parent
        while folder.is_relative_to(self._top):
            for home in (folder, folder / "src"):
                if name in self.tops.get(home, ()):
                    return home
            folder = folder.parent
        return None


def _is_root(root: Path, first: Path, tree: _Tree, used: Counter[tuple[Path, str]]) -> bool:
    """True if files are imported from that folder rather than by a longer name from the first root."""
    if not root.is_relative_to(first) or tree.tops[root] & sys.stdlib_module_names:
        return False
    own = sum(used[root, name] for name in tree.tops[root])
    longer = used[first, root.relative_to(first).parts[0]]
    has_package = any(root / name in tree.packages for name in tree.tops[root])
    return own > longer or (has_package and not longer)


def _within(folder: Path, roots: Iterable[Path]) -> bool:
    return any(folder.is_relative_to(root) for root in roots)


def _is_aside(parts: Iterable[str]) -> bool:
    return any(_ASIDE.fullmatch(part) for part in parts)


def _with_hidden(first: Path, others: tuple[Path, ...], tree: _Tree) -> Roots:
    """The roots, with what one of them hides of another."""
    homes: dict[str, Path] = {}
    hidden: list[str] = []
    said: list[str] = []
    for root in (first, *others):
        for name in sorted(tree.tops[root]):
            inside = root / name
            if _ASIDE.fullmatch(name) or any(one == inside or one.is_relative_to(inside) for one in others):
                continue
            if name in homes:
                hidden += [f"{root}/{name}", f"{root}/{name}.py"]
                said.append(f"{name} is in {_short(homes[name], first)} and in {_short(root, first)}")
            homes.setdefault(name, root)
    text = f"{'; '.join(said[:5])}: code imports the first of each by that name" if said else ""
    return Roots(first, others, frozenset(hidden), text)


def _short(root: Path, first: Path) -> str:
    return str(root.relative_to(first)) if root != first else "the top folder"


def _stated(project: Path, tree: _Tree) -> Iterator[Path]:
    """The folders that a project's packages are installed from."""
    where = [*_in_pyproject(project), *_in_setup(project)]
    folders = [folder for text in where if (folder := Path(os.path.normpath(project / text))).is_relative_to(project)]
    if not folders and tree.folders & {project / "src"}:
        folders = [project / "src"]
    yield from folders or [project]


def _in_pyproject(project: Path) -> Iterator[str]:
    try:
        tools = pyproject(project).get("tool", {})
        setuptools = tools.get("setuptools", {})
        yield from map(str, setuptools.get("package-dir", {}).values())
        packages = setuptools.get("packages", {})
        yield from map(str, packages.get("find", {}).get("where", ()) if isinstance(packages, dict) else ())
        for package in tools.get("poetry", {}).get("packages", ()):
            yield from filter(None, [package.get("from")])
    except (AttributeError, TypeError):
        return


def _in_setup(project: Path) -> Iterator[str]:
    yield from _WHERE.findall(file_text(project / "setup.py"))
    settings = configparser.RawConfigParser()
    try:
        settings.read_string(file_text(project / "setup.cfg"))
    except configparser.Error:
        return
    for line in settings.get("options", "package_dir", fallback="").splitlines():
        name, equals, folder = line.partition("=")
        if equals and not name.strip():
            yield folder.strip()
    yield from settings.get("options.packages.find", "where", fallback="").split()
