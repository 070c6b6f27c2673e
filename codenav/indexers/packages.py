"""Installed distributions of an interpreter, and the files that belong to each."""

from __future__ import annotations

import ast
import difflib
import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from codenav.errors import NotFound, UsageError
from codenav.indexers.walk import language_of
from codenav.system.interpreter import Interpreter, normalise

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_SPEC = re.compile(r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:(?:==|@)\s*(?P<version>[\w.!+-]+))?")
"""A name as defined in PEP 508, and an optional version."""

_NOT_MODULES = {"tests", "test", "docs", "doc", "examples", "benchmarks", "build", "dist", "scripts"}
"""Folders of a project that are not installed, for one that does not list its modules."""


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
        if version and _comparable(found.version) != _comparable(version):
            raise NotFound(
                f"{wanted} {version} is not installed in {interpreter.executable}, but {found.version} is",
                hint=f"codenav index pkg:{wanted}, or name another environment with --python",
            )
        return _package(found)
    raise NotFound(f"no package {wanted!r} in {interpreter.executable}", hint=_meant(wanted, interpreter))


def _comparable(version: str) -> str:
    """A normal form of a version: the same for `3.6`, `3.6.0` and `v3.6` (PEP 440, "Version matching")."""
    plain = version.strip().lower().removeprefix("v")
    release, _, rest = plain.partition("+")
    if re.fullmatch(r"[\d.]+", release):
        release = re.sub(r"(\.0+)+$", "", release)
    return f"{release}+{rest}" if rest else release


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


def _meant(wanted: str, interpreter: Interpreter) -> str:
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


def _package(found: Distribution) -> Package:
    name = normalise(found.metadata["Name"])
    summary = str(found.metadata["Summary"] or "").strip()
    summary = "" if summary == "UNKNOWN" else summary
    root = Path(str(found.locate_file("")))
    editable = _editable_root(found, root)
    if editable:
        tops = _tops_in(editable, _top_names(found), name)
        return Package(name, found.version, summary, editable, tops, editable=True)
    listed = _listed(found)
    if found.read_text("RECORD") is None:
        # Debian and `setup.py develop` leave no list, or that of the source archive.
        listed = _tops_in(root, _top_names(found), name, guess=False) or listed
    return Package(name, found.version, summary, root, listed)


def _listed(found: Distribution) -> tuple[str, ...]:
    """The files in the distribution's RECORD that are below its root and of a type that is indexed.

    If there are none because all is compiled: its metadata, which contain its README.
    """
    members, metadata = set(), set()
    for file in found.files or ():
        path = PurePosixPath(file.as_posix())
        if path.is_absolute() or ".." in path.parts or "__pycache__" in path.parts or not language_of(path.name):
            continue
        if not path.parts[0].endswith((".dist-info", ".egg-info", ".data")):
            members.add(str(path))
        elif path.name == "METADATA":
            metadata.add(str(path))
    members = members or metadata
    # A stub beside its module adds nothing to it.
    return tuple(sorted(path for path in members if not (path.endswith(".pyi") and path[:-1] in members)))


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


def _tops_in(root: Path, names: Sequence[str], distribution: str, *, guess: bool = True) -> tuple[str, ...]:
    """The top-level packages and modules in a folder that belong to a distribution."""
    tops = []
    for name in [*names, distribution.replace("-", "_")]:
        if re.fullmatch(r"[\w./-]+", name) and ".." not in name:
            tops += [top for top in (name, f"{name}.py", f"{name}.pyi") if _is_module(root / top)][:1]
    if not tops and guess and root.is_dir():
        inside = sorted(root.iterdir())
        tops = [path.name for path in inside if path.name not in _NOT_MODULES and _is_package(path)]
    return tuple(dict.fromkeys(tops))


def _is_module(path: Path) -> bool:
    return path.is_dir() if not path.suffix else path.is_file()


def _is_package(path: Path) -> bool:
    return path.is_dir() and (path / "__init__.py").is_file()


def _editable_root(found: Distribution, site: Path) -> Path | None:
    """The folder that an editable install imports from: by a `.pth` file, an import finder, or the project's folder.

    None if it is not an editable install.
    """
    project = _project_folder(found)
    if project is None:
        # `setup.py develop` leaves the metadata in the project itself.
        return None
    for file in found.files or ():
        if len(file.parts) > 1:
            continue
        text = _text(site / file)
        if file.suffix == ".pth":
            for line in text.splitlines():
                folder = Path(line.strip())
                if folder.is_absolute() and folder.is_dir():
                    return folder
        elif file.name.startswith("__editable__") and file.suffix == ".py":
            mapped = _finder_folder(text)
            if mapped is not None:
                return mapped
    inner = project / "src"
    return inner if inner.is_dir() else project


def _project_folder(found: Distribution) -> Path | None:
    """The folder that `direct_url.json` names for an editable install (PEP 610)."""
    try:
        url = json.loads(found.read_text("direct_url.json") or "{}")
        if not url.get("dir_info", {}).get("editable"):
            return None
        folder = Path(unquote(urlsplit(url["url"]).path))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return folder if folder.is_dir() else None


def _finder_folder(source: str) -> Path | None:
    """The folder of the packages in a setuptools import finder: `MAPPING = {"package": "/folder/package"}`."""
    line = re.search(r"^MAPPING(?:: [^=]+)? = (\{.*\})$", source, re.MULTILINE)
    try:
        mapping = ast.literal_eval(line.group(1)) if line else {}
    except (ValueError, SyntaxError):
        return None
    for place in mapping.values():
        folder = Path(str(place)).parent
        if folder.is_dir():
            return folder
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
