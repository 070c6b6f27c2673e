"""Sources to index, as users name them: a folder, a file, `pkg:NAME`, `git:URL@REV`, `openapi:FILE`, `name:NAME`, …"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from codenav.core.blocks import FileSkip
from codenav.core.errors import NotFound, UsageError
from codenav.core.system.interpreter import Interpreter
from codenav.indexers import index_groups as named
from codenav.indexers import repository
from codenav.indexers.modules import first_paragraph, is_name, modules_in, modules_of, summary
from codenav.indexers.packages import Package, find_package, is_installed
from codenav.indexers.roots import Roots, import_roots
from codenav.indexers.tool_blocks import tool_files
from codenav.indexers.walk import LANGUAGES, Found, language_of, printable, script_language, walk
from codenav.tools import places
from codenav.tools.state_files import OPERATIONS

_KINDS = "name a folder, a file, pkg:NAME, git:URL@REV, openapi:FILE, mcp:COMMAND, or tools:FILE"


@dataclass(frozen=True)
class Source:
    """A source to index: a folder, a file, a package, a repository, or several of them."""

    spec: str
    """The spec as typed."""
    name: str
    """The `source` of its blocks: `pkg:networkx@3.6.1`, or an absolute path."""
    key: str
    """Name of the folder of its index: readable, and unique by path, or by package, version and place."""
    root: Path
    """The folder that the paths of blocks are relative to; for a package usually `site-packages`."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """`{"networkx": "3.6.1"}`; empty for a path."""
    import_paths: tuple[Path, ...] = ()
    """Folders and files that must be importable in the sandbox; empty if the interpreter finds them by itself."""
    summary: str = ""
    modules: tuple[str, ...] = ()
    """Its top-level modules and packages, and one level below."""
    members: tuple[str, ...] | None = None
    """Files and folders below `root` that belong to it; None: everything there."""
    imported: Mapping[str, str] = field(default_factory=dict)
    """The paths below a folder to import from by which members are imported, if they differ from their own."""
    roots: Roots | None = None
    """The folders that dotted names start from; None: `root`."""
    parts: Mapping[str, Source] = field(default_factory=dict)
    """The sources of an index of several, by the folder name that their paths begin with; else empty."""
    tools: Path | None = None
    """The folder of a state of `tools.layout`, for a source of tools."""
    tracked: bool = False
    """All files are those of a commit, so no `.gitignore` hides any."""

    @property
    def import_root(self) -> Path | None:
        """The folder that the source as a whole is imported from: `root`, its `src/`, or the one above a package."""
        return self.roots.first if self.roots else None

    @property
    def notice(self) -> str:
        """A sentence on modules that others hide; empty if there are none."""
        told = [self.roots.notice if self.roots else "", *(part.notice for part in self.parts.values())]
        return "; ".join(filter(None, told))

    def files(self) -> Iterator[Found | FileSkip]:
        """The files to index, and the skips worth reporting. See `walk`.

        Raises:
            UsageError: the folder itself cannot be listed.
        """
        if self.tools:
            yield from tool_files(self.tools)
            return
        for found in () if self.parts else walk(self.root, members=self.members, tracked=self.tracked):
            if found.path == "." and isinstance(found, FileSkip):
                # Nothing is known about its files: treating them all as removed would empty the index.
                raise UsageError(f"cannot read {self.root}: {found.reason}", hint="ls -ld, and fix its permissions")
            yield found
        for label, part in self.parts.items():
            for found in part.files():
                yield replace(found, path=f"{label}/{found.path}")

    def name_of(self, path: str) -> str:
        """The `source` of a file's blocks: `name`, or that of the part that holds the file."""
        return self.parts[path.partition("/")[0]].name if self.parts else self.name

    def module_of(self, path: str) -> str:
        """The dotted name to import a file by; empty if it cannot be imported."""
        if self.parts:
            label, _, inner = path.partition("/")
            return self.parts[label].module_of(inner)
        folder, _, name = self._imported_as(path).rpartition("/")
        stem, suffix = os.path.splitext(name)
        root = self.roots.of(f"{self.root}/{path}") if self.roots else self.root
        package = _package(str(root), str(self.root), folder)
        if package is None or suffix not in (".py", ".pyi", ".pyx") or stem == "__main__" or not is_name(stem):
            return ""
        return package if stem == "__init__" else f"{package}.{stem}".lstrip(".")

    def _imported_as(self, path: str) -> str:
        member = path
        while member and member not in self.imported:
            member = member.rpartition("/")[0]
        if member:
            return self.imported[member] + path[len(member) :]
        return f"{self.imported['.']}/{path}" if "." in self.imported else path


@lru_cache(maxsize=10_000)
def _package(base: str, root: str, folder: str) -> str | None:
    """The dotted name of a folder below `root` for imports from `base`; None if nothing in it can be imported."""
    below = os.path.relpath(os.path.join(root, folder), base)
    parts = [] if below == "." else below.split("/")
    return ".".join(parts) if all(map(is_name, parts)) else None


def resolve(
    spec: str,
    interpreter: Interpreter,
    *,
    max_age: float | None = None,
    notice: Callable[[str], None] | None = None,
    allow_private: bool = False,
) -> Source:
    """Find the source that `spec` names.

    `max_age` and `notice` are for sources of repositories and tools, see `git.checkout` and `tools.layout.laid_out`;
    by default no server is asked. `allow_private`: specifications of tools may refer to private addresses.

    Raises:
        NotFound: no such folder, file, installed package, named index or revision; the hint has a likely correction.
        UsageError: no source is named, a path that is neither a file nor a folder, or a specification of tools that
            cannot be read.
        Unavailable: git or a server does not answer, and its state was never fetched.
    """
    if not spec.strip() or "\0" in spec or spec.strip() == "pkg:":
        raise UsageError("no source named", hint=_KINDS)
    if spec.startswith("pkg:"):
        return _from_package(spec, find_package(spec.removeprefix("pkg:"), interpreter), interpreter)
    if spec.startswith("git:"):
        return _from_repository(spec, max_age, notice)
    if spec.startswith(named.PREFIX):
        members = [
            resolve(one, interpreter, max_age=max_age, notice=notice, allow_private=allow_private)
            for one in named.sources_of(spec)
        ]
        return together(spec, members)
    if places.is_tools(spec):
        return _from_tools(spec, max_age, notice, allow_private)
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
            f"cannot read {_shown(spec)}: {error.strerror}", hint="ls -ld, and name a folder that you may read"
        ) from error
    if taken:
        raise UsageError(f"{path} is neither a file nor a folder", hint=_KINDS)
    raise NotFound(f"no such file or folder: {_shown(spec)}", hint=_hint(spec, path, interpreter))


def lasting(source: Source) -> str:
    """The spec to type for a source from any folder; it contains no password."""
    return source.spec if source.spec.startswith("pkg:") else source.name


def key_of(spec: str, interpreter: Interpreter) -> str:
    """The key of a source's index; for a repository, tools or a named index its files need not be there.

    Raises:
        NotFound, UsageError: as `resolve`.
    """
    if spec.startswith("git:"):
        return _repository_key(repository.parse(spec))
    if spec.startswith(named.PREFIX):
        return _named_key(named.checked(spec))
    if places.is_tools(spec):
        return places.parse(spec).key()
    return resolve(spec, interpreter).key


def together(spec: str, sources: Sequence[Source]) -> Source:
    """Combine several sources into one, for one index. Each path begins with a folder name that tells them apart.

    Raises:
        UsageError: a source is named twice.
    """
    twice = [name for name, count in Counter(source.name for source in sources).items() if count > 1]
    if twice:
        raise UsageError(f"{twice[0]} is named twice", hint="name each source once")
    parts: dict[str, Source] = {}
    for source in sources:
        label = _label(source)
        number = next(n for n in range(1, len(sources) + 1) if (label if n == 1 else f"{label}-{n}") not in parts)
        parts[label if number == 1 else f"{label}-{number}"] = source
    return Source(
        spec=spec,
        name=spec,
        key=_named_key(spec),
        root=sources[0].root,
        versions={name: version for source in sources for name, version in source.versions.items()},
        import_paths=tuple(dict.fromkeys(path for source in sources for path in source.import_paths)),
        modules=tuple(dict.fromkeys(module for source in sources for module in source.modules)),
        parts=parts,
    )


def _from_package(spec: str, package: Package, interpreter: Interpreter) -> Source:
    place = os.path.realpath(package.root)
    return Source(
        spec=spec,
        name=f"pkg:{package.name}@{package.version}",
        key=_key(f"{package.name}-{package.version}", f"{package.name}\0{package.version}\0{place}"),
        root=package.root,
        versions={package.name: package.version},
        import_paths=package.import_paths,
        summary=package.summary,
        modules=modules_of(package),
        members=package.members,
        imported=package.imported,
    )


def _from_folder(spec: str, path: Path) -> Source:
    roots = import_roots(path)
    importable = roots.first
    modules = list(modules_in(importable, (path.name,) if importable == path.parent else None))
    for root in roots.others:
        modules += modules_in(root, None)
    return Source(
        spec=spec,
        name=str(path),
        key=_key(path.name or "root", str(path)),
        root=path,
        import_paths=(importable, *roots.others),
        summary=summary(path),
        modules=tuple(dict.fromkeys(modules)),
        roots=roots,
    )


def _from_file(spec: str, path: Path) -> Source:
    if not (language_of(path.name) or script_language(str(path), path.stat())):
        raise UsageError(f"{path} is not of a type that is indexed", hint=f"indexed types: {', '.join(LANGUAGES)}")
    python = path.suffix == ".py"
    return Source(
        spec=spec,
        name=str(path),
        key=_key(path.name, str(path)),
        root=path.parent,
        import_paths=(path,) if python else (),
        summary="" if python else first_paragraph(path),
        modules=(path.stem,) if python and is_name(path.stem) else (),
        members=(path.name,),
    )


def _from_repository(spec: str, max_age: float | None, notice: Callable[[str], None] | None) -> Source:
    from codenav.indexers.git import checkout

    wanted = repository.parse(spec)
    state = checkout(wanted, max_age=max_age, notice=notice)
    # The name does not include the commit: blocks that a new commit does not touch keep their ids.
    return replace(
        _from_folder(spec, state.path),
        name=wanted.spec,
        key=_repository_key(wanted),
        versions={wanted.name: state.commit[:12]},
        tracked=True,
    )


def _from_tools(spec: str, max_age: float | None, notice: Callable[[str], None] | None, allow_private: bool) -> Source:
    from codenav.tools.layout import laid_out

    place = places.parse(spec)
    state = laid_out(place, max_age=max_age, notice=notice, allow_private=allow_private)
    found = state.summary
    return Source(
        spec=spec,
        name=place.name,
        key=place.key(),
        root=state.path / OPERATIONS,
        versions={found.name: found.version or state.path.name[:12]},
        import_paths=(state.stubs,),
        summary=": ".join(filter(None, [found.title, " ".join(found.text.split("\n\n")[0].split())]))[:500],
        modules=(f"tools.{found.name}", *(group["module"] for group in found.groups)),
        tools=state.path,
    )


def _repository_key(wanted: repository.Repository) -> str:
    return _key(f"{wanted.name}-{wanted.revision}", wanted.spec)


def _named_key(spec: str) -> str:
    return _key(spec.removeprefix(named.PREFIX), spec)


def _label(source: Source) -> str:
    """The folder name for a part: `networkx` for a package, the folder's name for a folder or a file."""
    name = next(iter(source.versions), "") or source.root.name
    return re.sub(r"[/\x00-\x1f]", "-", printable(name)) or "root"


def _key(readable: str, unique: str) -> str:
    """A key such as `networkx-3.6.1-1f0c9a…`: letters, digits, `.`, `-` and `_`, at most 73 characters."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", readable).strip(".-")[:56] or "source"
    digest = hashlib.blake2b(os.fsencode(unique), digest_size=8).hexdigest()
    return f"{slug}-{digest}"


def _shown(spec: str) -> str:
    """The spec on one line of bounded length."""
    line = spec.encode("unicode_escape").decode() if "\n" in spec or "\r" in spec else spec
    return line if len(line) <= 300 else f"{line[:200]}… ({len(line):,} characters)"


_REMOTE = re.compile(r"(?:https?|ssh|git)://|git@[\w.-]+:|(?:[\w-]+\.)+(?:com|org|io|net)/")
"""The beginning of a repository's address as people type it without `git:`."""


def _hint(spec: str, path: Path, interpreter: Interpreter) -> str:
    if remote := _REMOTE.match(spec):
        scheme = "" if remote.group().endswith((":", "//")) else "https://"
        return f"for a repository: git:{scheme}{_shown(spec)}"
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
