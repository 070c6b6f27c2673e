"""What a user names, and where its files are: `pkg:NAME`, a folder, a file."""

from __future__ import annotations

import difflib
import hashlib
import keyword
import os
import re
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from codenav.errors import NotFound, UsageError
from codenav.indexers.decode import decode
from codenav.indexers.packages import Package, find_package, is_installed
from codenav.indexers.walk import LANGUAGES, language_of
from codenav.interpreter import Interpreter

DESCRIPTION_CHARACTERS = 1_500
"""Of the description that stands in where the user gives none: about 400 tokens of the prompt."""

_MODULES = 100
"""Names of modules kept; the prompt shows fewer."""

_KINDS = "name a folder, a file, or pkg:NAME"
_OTHER_SOURCES = ("openapi:", "mcp:", "tools:", "git:")


@dataclass(frozen=True)
class Source:
    """Something to index."""

    spec: str
    """As typed."""
    name: str
    """What blocks carry: `pkg:networkx@3.6.1`, or an absolute path."""
    key: str
    """Name of a folder for its index: readable, and unique by path, or by package, version and place."""
    root: Path
    """What the paths of blocks are relative to; of a package the folder that holds it, `site-packages` mostly."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """`{"networkx": "3.6.1"}`; empty for a path."""
    import_paths: tuple[Path, ...] = ()
    """What must be importable in the sandbox; empty where the interpreter finds it by itself."""
    summary: str = ""
    modules: tuple[str, ...] = ()
    """Its top-level modules and packages, and one level below."""
    members: tuple[str, ...] | None = None
    """Files and folders below `root` that belong to it; None: everything there."""
    import_root: Path | None = None
    """The folder from which dotted names count: `root`, its `src/`, or for a bare package the folder around."""

    def module_of(self, path: str) -> str:
        """The dotted name under which a file can be imported; empty where it cannot."""
        base = self.import_root or self.root
        location = os.path.join(self.root, path)
        prefix = os.path.join(base, "")
        stem, suffix = os.path.splitext(location)
        if not location.startswith(prefix) or suffix not in (".py", ".pyi"):
            return ""
        parts = stem[len(prefix) :].split("/")
        if parts[-1] == "__init__":
            parts.pop()
        if not parts or parts[-1] == "__main__":
            return ""
        return ".".join(parts) if all(map(_is_name, parts)) else ""


def resolve(spec: str, interpreter: Interpreter) -> Source:
    """Find what `spec` names.

    Raises:
        NotFound: no such folder, file or installed package; the hint names what is meant most likely.
        UsageError: a kind of source that does not exist, or a path that is neither a file nor a folder.
    """
    if not spec.strip() or "\0" in spec or spec.strip() == "pkg:":
        raise UsageError("no source named", hint=_KINDS)
    if spec.startswith("pkg:"):
        return _from_package(spec, find_package(spec.removeprefix("pkg:"), interpreter), interpreter)
    if spec.startswith(_OTHER_SOURCES) and not os.path.exists(spec):
        raise UsageError(f"{spec}: no such kind of source", hint=_KINDS)
    try:
        path = Path(os.path.abspath(os.path.expanduser(spec)))
        if path.is_dir():
            return _from_folder(spec, path)
        if path.is_file():
            return _from_file(spec, path)
        taken = path.exists()
    except OSError as error:
        # No permission, or the current folder is gone.
        raise UsageError(
            f"cannot read {spec}: {error.strerror}", hint="ls -ld, and name a folder that you may read"
        ) from error
    if taken:
        raise UsageError(f"{path} is neither a file nor a folder", hint=_KINDS)
    raise NotFound(f"no such file or folder: {spec}", hint=_meant(spec, path, interpreter))


def describe(source: Source) -> str:
    """What stands in for a description of the library: its summary and the names of its modules.

    At most `DESCRIPTION_CHARACTERS`.
    """
    title = " ".join(f"{name} {version}" for name, version in source.versions.items()) or Path(source.name).name
    text = f"{title}: {source.summary}" if source.summary else title
    text = text[:DESCRIPTION_CHARACTERS]
    line = "\nModules: "
    for number, module in enumerate(source.modules):
        piece = module if number == 0 else f", {module}"
        if len(text) + len(line) + len(piece) + len(", …") > DESCRIPTION_CHARACTERS:
            return text + line + ", …" if number else text
        line += piece
    return text + line if source.modules else text


def _from_package(spec: str, package: Package, interpreter: Interpreter) -> Source:
    place = os.path.realpath(package.root)
    found = package.root in interpreter.paths or not package.editable
    return Source(
        spec=spec,
        name=f"pkg:{package.name}@{package.version}",
        key=_key(f"{package.name}-{package.version}", f"{package.name}\0{package.version}\0{place}"),
        root=package.root,
        versions={package.name: package.version},
        import_paths=() if found else (package.root,),
        summary=package.summary,
        modules=_modules_listed(package) if not package.editable else _modules_in(package.root, package.members),
        members=package.members,
    )


def _from_folder(spec: str, path: Path) -> Source:
    import_root = _import_root(path)
    return Source(
        spec=spec,
        name=str(path),
        key=_key(path.name or "root", str(path)),
        root=path,
        import_paths=(import_root,),
        summary=_summary(path),
        modules=_modules_in(import_root, (path.name,) if import_root == path.parent else None),
        import_root=import_root,
    )


def _from_file(spec: str, path: Path) -> Source:
    if not language_of(path.name):
        raise UsageError(f"{path} is of no type that is indexed", hint=f"files that end in {', '.join(LANGUAGES)} are")
    python = path.suffix == ".py"
    return Source(
        spec=spec,
        name=str(path),
        key=_key(path.name, str(path)),
        root=path.parent,
        import_paths=(path,) if python else (),
        summary="" if python else _first_paragraph(path),
        modules=(path.stem,) if python and _is_name(path.stem) else (),
        members=(path.name,),
    )


def _key(readable: str, unique: str) -> str:
    """`networkx-3.6.1-1f0c9a…`: letters, digits, `.`, `-` and `_`, at most 73 characters."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", readable).strip(".-")[:56] or "source"
    digest = hashlib.blake2b(os.fsencode(unique), digest_size=8).hexdigest()
    return f"{slug}-{digest}"


def _import_root(path: Path) -> Path:
    """`src/` where that holds the packages; for a folder that is a package itself the one around; else the folder."""
    inner = path / "src"
    layouts = ("*.py", "*/__init__.py", "*/*/__init__.py")
    if not (inner / "__init__.py").exists() and any(next(inner.glob(layout), None) for layout in layouts):
        return inner
    # The packages of a home or temporary folder are not all meant when one of them is named.
    shared = {Path("/"), Path.home(), *Path.home().parents, Path(tempfile.gettempdir())}
    root = path
    while (root / "__init__.py").is_file() and _is_name(root.name) and root.parent not in shared:
        root = root.parent
    return root


def _modules_listed(package: Package) -> tuple[str, ...]:
    """The dotted names of a list of files, two levels deep."""
    names: dict[str, None] = {}
    for member in package.members:
        stem, suffix = os.path.splitext(member)
        parts = stem.split("/")
        if suffix in (".py", ".pyi") and all(map(_is_name, parts)):
            if parts[-1] == "__init__":
                parts.pop()
            names[".".join(parts[:1])] = None
            names[".".join(parts[:2])] = None
    if not names:
        return _modules_in(package.root, package.members)
    return _public(names)


def _modules_in(folder: Path, tops: tuple[str, ...] | None) -> tuple[str, ...]:
    """The packages and modules in a folder, and those inside them."""
    names: dict[str, None] = {}
    for name, path in _python_in(folder):
        if tops is not None and path.name not in tops:
            continue
        if tops is None and path.is_dir() and not (path / "__init__.py").is_file():
            continue
        names[name] = None
        if path.is_dir():
            names.update((f"{name}.{inner}", None) for inner, _ in _python_in(path))
    return _public(names)


def _python_in(folder: Path) -> list[tuple[str, Path]]:
    """Name and path of each module and each folder with modules."""
    try:
        inside = sorted(folder.iterdir())
        return [
            (path.stem, path)
            for path in inside
            if _is_name(path.stem)
            and (path.suffix in (".py", ".pyi") if path.suffix else path.is_dir() and _holds_python(path))
        ]
    except OSError:
        return []


def _is_name(part: str) -> bool:
    """Whether it can stand in an import statement."""
    return part.isidentifier() and not keyword.iskeyword(part)


def _holds_python(folder: Path) -> bool:
    """Modules, or packages: a namespace package has no modules of its own."""
    try:
        return any(path.suffix in (".py", ".pyi") or (path / "__init__.py").is_file() for path in folder.iterdir())
    except OSError:
        return False


def _public(names: Mapping[str, None]) -> tuple[str, ...]:
    """Without private ones, tests and `setup`; packages before what is inside them, bounded."""
    left_out = {"tests", "test", "setup", "conftest", "noxfile"}
    kept = [name for name in names if name and not any(p.startswith("_") or p in left_out for p in name.split("."))]
    return tuple(sorted(kept, key=lambda name: (name.count("."), name))[:_MODULES])


def _summary(path: Path) -> str:
    """The description in `pyproject.toml`, else the first paragraph of the README."""
    try:
        with open(path / "pyproject.toml", "rb") as file:
            project = tomllib.load(file).get("project", {})
        described = project.get("description") if isinstance(project, dict) else None
        if isinstance(described, str) and described.strip():
            return described.strip()
    except (OSError, ValueError):
        pass
    for name in ("README.md", "README.rst", "README.txt", "README", "readme.md"):
        if (path / name).is_file():
            return _first_paragraph(path / name)
    return ""


def _first_paragraph(path: Path) -> str:
    """The first lines of prose: no title, badge, directive or markup; at most 500 characters."""
    try:
        with open(path, "rb") as file:
            text = decode(file.read(20_000))
    except OSError:
        return ""
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line.strip() for line in paragraph.split("\n") if line.strip()]
        prose = " ".join(lines)
        if lines and re.match(r"[^\W_]", prose) and not any(re.fullmatch(r"(\W)\1{2,}", line) for line in lines):
            return prose[:500]
    return ""


def _meant(spec: str, path: Path, interpreter: Interpreter) -> str:
    if "/" not in spec and is_installed(spec, interpreter):
        return f"for the installed package: pkg:{spec}"
    try:
        siblings = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    except OSError:
        siblings = []
    close = difflib.get_close_matches(path.name, siblings, n=2, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(str(path.parent / name) for name in close) + "?"
    return _KINDS
