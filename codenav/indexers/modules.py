"""The importable modules of a folder, and its description of itself."""

from __future__ import annotations

import keyword
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from codenav.indexers.decode import decode
from codenav.indexers.editable import pyproject
from codenav.indexers.packages import Package

_MARKUP = re.compile(
    r"<!--.*?-->|</?[A-Za-z][^<>]*>|!\[[^\[\]]*\](?:\([^()]*\)|\[[^\]]*\])?"
    r"|\[\s*\](?:\([^()]*\)|\[[^\]]*\])",
    re.DOTALL,
)
"""HTML, pictures, and what linked them: badges."""
_FENCED = re.compile(r"^[ \t]*(```|~~~).*?^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE)
_WORDS = 3
"""Words of the shortest paragraph that says what a code base is for."""

_MODULES = 100
"""The most names of modules kept; the prompt shows fewer."""


def import_root(path: Path) -> Path:
    """The folder to import from: `src/` if it holds the packages, the parent of a package, else `path` itself."""
    inner = path / "src"
    layouts = ("*.py", "*/__init__.py", "*/*/__init__.py")
    if not (inner / "__init__.py").exists() and any(next(inner.glob(layout), None) for layout in layouts):
        return inner
    # Whoever names one package in a home or temporary folder does not mean all that lie there.
    shared = {Path("/"), Path.home(), *Path.home().parents, Path(tempfile.gettempdir())}
    root = path
    while (root / "__init__.py").is_file() and is_name(root.name) and root.parent not in shared:
        root = root.parent
    return root


def modules_of(package: Package) -> tuple[str, ...]:
    """The dotted names of a package's modules, two levels deep, by its list of files and folders."""
    found = []
    for member in package.members:
        stem, suffix = os.path.splitext(package.imported.get(member, member))
        path = package.root / member
        if suffix in (".py", ".pyi") or (not suffix and path.is_dir()):
            found.append((stem.removesuffix("/__init__").split("/"), path))
    return _two_levels(found)


def modules_in(folder: Path, tops: tuple[str, ...] | None) -> tuple[str, ...]:
    """The dotted names of the packages and modules in a folder, and of those inside them."""
    return _two_levels(
        ([name], path)
        for name, path in _python_in(folder)
        if (path.name in tops if tops is not None else path.is_file() or (path / "__init__.py").is_file())
    )


def _two_levels(found: Iterable[tuple[list[str], Path]]) -> tuple[str, ...]:
    """The dotted names of modules and packages, of which the parts of their names are given, and of those inside."""
    names: dict[str, None] = {}
    for parts, path in found:
        if all(map(is_name, parts)):
            names.update({parts[0]: None, ".".join(parts[:2]): None})
            if len(parts) == 1 and path.is_dir():
                names.update((f"{parts[0]}.{inner}", None) for inner, _ in _python_in(path))
    return _public(names)


def _python_in(folder: Path) -> list[tuple[str, Path]]:
    """Name and path of each module and each folder with modules."""
    try:
        inside = sorted(folder.iterdir())
        return [
            (path.stem, path)
            for path in inside
            if is_name(path.stem)
            and (path.suffix in (".py", ".pyi") if path.suffix else path.is_dir() and _holds_python(path))
        ]
    except OSError:
        return []


def is_name(part: str) -> bool:
    """True if `part` can be a name in an import statement."""
    return part.isidentifier() and not keyword.iskeyword(part)


def _holds_python(folder: Path) -> bool:
    """True if a folder contains modules, or packages as a namespace package does."""
    try:
        return any(path.suffix in (".py", ".pyi") or (path / "__init__.py").is_file() for path in folder.iterdir())
    except OSError:
        return False


def _public(names: Mapping[str, None]) -> tuple[str, ...]:
    """At most `_MODULES` names, packages before their parts, without private names, tests and `setup`."""
    left_out = {"tests", "test", "setup", "conftest", "noxfile"}
    kept = [name for name in names if name and not any(p.startswith("_") or p in left_out for p in name.split("."))]
    return tuple(sorted(kept, key=lambda name: (name.count("."), name))[:_MODULES])


def summary(path: Path) -> str:
    """The description of a folder: that in `pyproject.toml`, else the first paragraph of the README."""
    project = pyproject(path).get("project")
    described = project.get("description") if isinstance(project, dict) else None
    if isinstance(described, str) and described.strip():
        return described.strip()
    return readme_paragraph(path)


def readme_paragraph(path: Path) -> str:
    """The first paragraph of the README in a folder, whose name may be in any case."""
    try:
        there = {entry.name.lower(): entry for entry in sorted(path.iterdir(), reverse=True) if entry.is_file()}
    except OSError:
        return ""
    readme = next((there[name] for name in ("readme.md", "readme.rst", "readme.txt", "readme") if name in there), None)
    return first_paragraph(readme) if readme else ""


def first_paragraph(path: Path) -> str:
    """The first paragraph of prose, without its markup; not a title, badge or directive. At most 500 characters."""
    try:
        with open(path, "rb") as file:
            text = decode(file.read(20_000))
    except OSError:
        return ""
    for paragraph in re.split(r"\n\s*\n", _FENCED.sub("", _MARKUP.sub("", _MARKUP.sub("", text)))):
        lines = [line.strip() for line in paragraph.split("\n") if line.strip()]
        prose = " ".join(lines).replace("**", "")
        underlined = any(re.fullmatch(r"(\W)\1{2,}", line) for line in lines)
        if re.match(r"[^\W_]|[`\"'_@]\w", prose) and len(prose.split()) >= _WORDS and not underlined:
            return prose[:500]
    return ""
