"""Installed distributions of an interpreter, and the files that belong to each."""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import shutil
import sys
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from codenav.core.config import home
from codenav.core.errors import NotFound, StorageFull, UsageError
from codenav.core.system.atomic_files import whole_folder
from codenav.core.system.interpreter import Interpreter, normalise
from codenav.indexers.editable import parts_of, project_folder, tops_in
from codenav.indexers.walk import language_of, max_bytes, unread

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_SPEC = re.compile(r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:(?:==|@)\s*(?P<version>[\w.!+-]+))?")
"""A name as defined in PEP 508, and an optional version."""


@dataclass(frozen=True)
class Package:
    """An installed distribution."""

    name: str
    """Normalised (PEP 503)."""
    version: str
    summary: str
    root: Path
    """The folder that contains its modules: `site-packages`, or the project's for an editable install."""
    members: tuple[str, ...]
    """Its files, or its top-level folders and files if it has no list of files; relative to `root`."""
    editable: bool = False
    imported: Mapping[str, str] = field(default_factory=dict)
    """The paths that members are imported by, such as `gadgets` for `lib/widgets`, if any differs from its own."""
    import_paths: tuple[Path, ...] = ()
    """Folders that must be importable in the sandbox, because the interpreter does not find them by itself."""


def find_package(name: str, interpreter: Interpreter) -> Package:
    """The installed distribution of that name; `name` may end in `==VERSION` or, as in the list of indexes, `@VERSION`.

    Raises:
        UsageError: `name` has another form, such as `NAME>=1`.
        NotFound: it is not installed, or in another version; the hint has the most likely correction.
    """
    said = _SPEC.fullmatch(name.strip())
    if said is None:
        raise UsageError(f"pkg:{name} does not name a package", hint="pkg:NAME or pkg:NAME==VERSION")
    wanted, version = said["name"], said["version"] or ""
    for found in _installed(interpreter.paths):
        if normalise(found.metadata["Name"]) != normalise(wanted):
            continue
        if version and found.version != version:
            raise NotFound(
                f"{wanted} {version} is not installed in {interpreter.executable}, but {found.version} is",
                hint=f"codenav index pkg:{wanted}, or name another environment with --python",
            )
        return _package(found, interpreter)
    raise NotFound(f"no package {wanted!r} in {interpreter.executable}", hint=_hint(wanted, interpreter))


def is_installed(name: str, interpreter: Interpreter) -> bool:
    """True if a distribution of that name is installed."""
    return interpreter.version_of(name) is not None


def _installed(paths: Iterable[Path]) -> Iterable[Distribution]:
    """The distributions found in `paths`; of those with the same name Python imports the first."""
    from importlib.metadata import distributions

    for found in distributions(path=[str(path) for path in paths]):
        # Leftovers of an interrupted pip have no name.
        if found.metadata["Name"]:
            yield found


_CLOSE = 0.75
"""Least ratio of `difflib`: two swapped letters in a name of eight give 0.88, `nope` for `openai` 0.6."""


def _hint(wanted: str, interpreter: Interpreter) -> str:
    """A hint for a name that is not installed: the distribution of a module with that name, or similar names."""
    if wanted in sys.stdlib_module_names:
        return f"{wanted} is part of Python's standard library: name its folder or file instead"
    holders = []
    names: dict[str, None] = {}
    for found in _installed(interpreter.paths):
        name = normalise(found.metadata["Name"])
        names[name] = None
        if wanted.casefold() in (module.casefold() for module in _top_names(found)):
            holders.append(name)
    close = holders or difflib.get_close_matches(normalise(wanted), names, n=3, cutoff=_CLOSE)
    if close:
        return "did you mean " + " or ".join(f"pkg:{name}" for name in dict.fromkeys(close)) + "?"
    if normalise(wanted) == "codenav":
        return "pkg:codenav-agent: the package index has another project under the name codenav"
    pip = f"{interpreter.executable} -m pip"
    return f"{pip} list shows the installed packages; if the package index has this one: {pip} install {wanted}"


def _package(found: Distribution, interpreter: Interpreter) -> Package:
    name = normalise(found.metadata["Name"])
    summary = str(found.metadata["Summary"] or "").strip()
    summary = "" if summary == "UNKNOWN" else summary
    project = project_folder(found)
    if project:
        return _editable(Package(name, found.version, summary, project, (), editable=True), found, interpreter)
    root = Path(str(found.locate_file("")))
    if root.is_file():
        # An egg that is a zip archive.
        root = unpacked(root)
    listed = _record_files(found)
    if found.read_text("RECORD") is None:
        # Debian and `setup.py develop` leave no list, or that of the source archive.
        listed = tuple(tops_in(root, _top_names(found), name)) or listed
    return Package(name, found.version, summary, root, listed)


def _editable(package: Package, found: Distribution, interpreter: Interpreter) -> Package:
    """Complete a package that is installed from a project, `package.root`."""
    project = package.root
    parts = parts_of(found, project, _top_names(found), _installed(interpreter.paths))
    roots = {part.root for part in parts}
    if len(roots) == 1 and (root := roots.pop()):
        return replace(
            package,
            root=root,
            members=tuple(part.imported for part in parts),
            import_paths=() if root in interpreter.paths else (root,),
        )
    root = Path(os.path.commonpath([project, *(part.place for part in parts)]))
    places = {os.path.relpath(part.place, root): part.imported for part in parts}
    by_itself = all(part.root in interpreter.paths for part in parts)
    return replace(
        package, root=root, members=tuple(places), imported=places, import_paths=() if by_itself else (root,)
    )


def _record_files(found: Distribution) -> tuple[str, ...]:
    """The files in the distribution's RECORD that are below its root and of a type that is indexed.

    Its metadata are among them if they hold its README, or if all else is compiled.
    """
    members, metadata = set(), set()
    for file in found.files or ():
        path = PurePosixPath(file.as_posix())
        if path.is_absolute() or ".." in path.parts or "__pycache__" in path.parts:
            continue
        if not (language_of(path.name) or unread(path.name)):
            continue
        if not path.parts[0].endswith((".dist-info", ".egg-info", ".data")):
            members.add(str(path))
        elif path.name == "METADATA":
            metadata.add(str(path))
    if not members or (found.read_text("METADATA") or "").partition("\n\n")[2].strip():
        members |= metadata
    return tuple(sorted(members))


def _top_names(found: Distribution) -> list[str]:
    """The top-level names to import: those that the distribution lists, else those of its files."""
    said = found.read_text("top_level.txt")
    if said is not None:
        return [line.strip() for line in said.splitlines() if line.strip()]
    names: dict[str, None] = {}
    for file in found.files or ():
        top = file.parts[0]
        if len(file.parts) > 1 and top.isidentifier():
            names[top] = None
        elif len(file.parts) == 1 and top.endswith((".py", ".so", ".pyd")) and not top.startswith("__editable__"):
            names[top.partition(".")[0]] = None
    return list(names)


def unpacked(egg: Path) -> Path:
    """The folder with the files of an egg that can be indexed; unpacked again when the egg has changed.

    Raises:
        UsageError: it is damaged.
        StorageFull: no room for it.
    """
    digest = hashlib.blake2b(os.fsencode(egg), digest_size=8).hexdigest()
    folder = home("cache") / "eggs" / f"{egg.name}-{digest}"
    try:
        found = egg.stat()
        state = f"{found.st_size} {found.st_mtime_ns} {found.st_ino}"
        stamp = folder / ".state"
        if stamp.is_file() and stamp.read_text(encoding="utf-8") == state:
            return folder
        with whole_folder(folder) as fresh:
            _extract(egg, fresh)
            (fresh / ".state").write_text(state, encoding="utf-8")
    except (zipfile.BadZipFile, RuntimeError, EOFError, NotImplementedError) as error:
        raise UsageError(f"{egg} is damaged: {error}", hint="install the package again") from error
    except OSError as error:
        raise StorageFull(f"cannot write to {folder.parent}: {error.strerror}", cause=error) from error
    return folder


def _extract(egg: Path, folder: Path) -> None:
    with zipfile.ZipFile(egg) as archive:
        for item in archive.infolist():
            path = PurePosixPath(item.filename)
            language = language_of(path.name)
            if path.is_absolute() or ".." in path.parts or not language or item.file_size > max_bytes(language):
                continue
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(item) as source, place.open("wb") as target:
                shutil.copyfileobj(source, target)
            # So that files that are the same stay so for the index.
            os.utime(place, (0, 0))
