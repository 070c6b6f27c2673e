"""The files of a source to index: ignored files, links and special files are sorted out without opening any."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from codenav.core.blocks import FileSkip
from codenav.core.secrets.files import is_secret, is_secret_name, secret_part
from codenav.indexers.code_languages import EXTENSIONS
from codenav.indexers.ignore import Ignore, rules_above, rules_of
from codenav.indexers.work_tree import WorkTree

LANGUAGES = {
    **EXTENSIONS,
    ".py": "python", ".pyi": "python", ".pyw": "python", ".pyx": "cython", ".pxd": "cython", ".pxi": "cython",
    ".ipynb": "notebook",
    ".md": "markdown", ".markdown": "markdown", ".mdx": "markdown", ".rst": "restructuredtext", ".txt": "text",
    ".vue": "component", ".svelte": "component",
}  # fmt: skip
"""Languages by file name extension, in any case. A `.h` that contains lines of C++ is read as C++."""

DOCUMENT_NAMES = {
    "authors", "changelog", "changes", "contributing", "faq", "hacking", "history", "install", "metadata", "migration",
    "news", "readme", "todo", "upgrading", "usage",
}  # fmt: skip
"""Names, in any case, of files without an extension that are plain text. Not `LICENSE` and `COPYING`: they are the
same in every package."""

NAMES = {
    **dict.fromkeys(DOCUMENT_NAMES, "text"),
    **dict.fromkeys(("brewfile", "capfile", "dangerfile", "fastfile", "gemfile", "guardfile", "podfile", "rakefile",
                     "vagrantfile"), "ruby"),
}  # fmt: skip
"""Languages by the name, in any case, of files without an extension."""

UNREAD = {
    ".adb", ".ads", ".asm", ".bash", ".bat", ".cbl", ".cl", ".clj", ".cljs", ".cob", ".coffee", ".cr", ".dart",
    ".el", ".elm", ".erl", ".ex", ".exs", ".f", ".f90", ".f95", ".fish", ".for", ".fs", ".fsx", ".gd", ".gleam",
    ".gradle", ".groovy", ".hrl", ".hs", ".hx", ".jl", ".kt", ".kts", ".lisp", ".lua", ".m", ".metal", ".ml",
    ".mli", ".mm", ".nim", ".nix", ".odin", ".pas", ".pl", ".pm", ".proto", ".ps1", ".purs", ".r", ".rkt", ".s",
    ".sas", ".scala", ".scm", ".sh", ".sol", ".sql", ".sv", ".swift", ".tcl", ".tf", ".v", ".vb", ".vhd", ".vhdl",
    ".zig", ".zsh",
}  # fmt: skip
"""Extensions of languages that are not read. Such files are counted, and named once for each extension."""

MAX_BYTES = 1_000_000
"""Size limit of a file. A handful of the 10,166 Python files of ten large packages exceed it: tables and test data."""

MAX_NOTEBOOK_BYTES = 10_000_000
"""Size limit of a notebook, which also contains the pictures that it drew; they are not indexed."""

SECRET = "a secret"
"""The reason of a skip for what no sandbox would show either."""
_NEVER = {".git", ".hg", ".svn", ".bzr", "node_modules", "__pycache__", "__pypackages__", ".ipynb_checkpoints"}
_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")
"""Names that mark the folder that contains them as a virtual environment."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file to index."""

    path: str
    """Relative to the root of the source, with `/`."""
    location: str
    """The path to open it by."""
    size: int
    mtime_ns: int
    language: str
    follow: bool = False
    """True if it may be a symbolic link: for files that a package lists or a user named."""
    ctime_ns: int = 0
    inode: int = 0
    beside: str = ""
    """The path to open the module by that is beside a stub: the stub is read together with it, and looks like both."""

    @classmethod
    def of(
        cls,
        path: str,
        location: str,
        found: os.stat_result,
        language: str,
        *,
        beside: str = "",
        follow: bool = False,
    ) -> Found:
        """The file with that state on the disk."""
        module = _regular(beside, follow=follow) if beside else None
        size, mtime, ctime, inode = look_of(found, module) if module else look_of(found)
        return cls(path, location, size, mtime, language, follow, ctime, inode, beside if module else "")

    @property
    def look(self) -> tuple[int, int, int, int]:
        """The values that differ after a write, and after another file has taken its place."""
        return self.size, self.mtime_ns, self.ctime_ns, self.inode


def _regular(location: str, *, follow: bool) -> os.stat_result | None:
    """The state of a regular file; None for anything else."""
    try:
        found = os.stat(location, follow_symlinks=follow)
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def look_of(*states: os.stat_result) -> tuple[int, int, int, int]:
    """The look of a file, or of several that are read as one."""
    if len(states) == 1:
        return states[0].st_size, states[0].st_mtime_ns, states[0].st_ctime_ns, states[0].st_ino
    sizes, times, changes, inodes = zip(*map(look_of, states), strict=True)
    return sum(sizes), max(times), max(changes), sum(inodes) % 2**63


def language_of(name: str) -> str:
    """The language of a file by its name; empty if it is not indexed, unless it is a script (`scripts`)."""
    end = os.path.splitext(name)[1].lower()
    return LANGUAGES.get(end, "") if end else NAMES.get(name.rpartition("/")[2].lower(), "")


def unread(name: str) -> str:
    """The extension of a file in a language that is not read; empty for all others."""
    end = os.path.splitext(name)[1].lower()
    return end if end in UNREAD else ""


def max_bytes(language: str) -> int:
    """The size limit of a file of this language."""
    return MAX_NOTEBOOK_BYTES if language == "notebook" else MAX_BYTES


def too_large(language: str) -> str:
    """The reason of a skip for a file that is too large."""
    return f"larger than {max_bytes(language) / 1e6:g} MB"


def printable(path: str) -> str:
    """The path with `?` for bytes that are not UTF-8: an index stores text."""
    return path.encode("utf-8", "replace").decode("utf-8")


def walk(root: Path, *, members: tuple[str, ...] | None = None, tracked: bool = False) -> Iterator[Found | FileSkip]:
    """The files below a folder in order of their names, and the skips worth reporting.

    `members`: files and folders below `root` to take, relative; None takes all. Files that are members are taken
    even if ignore rules hide them. `tracked`: all are from a commit, so no rule hides any. Files in languages that are
    not read are counted at the end. Skipped silently: other types of files, files that git ignores, caches, virtual
    environments, the output of `setup.py build`, and links to files that the walk meets anyway.
    """
    top = Path(os.path.abspath(root))
    folders = _Folders(os.path.realpath(top), tracked)
    listed = frozenset(members or ())
    if members is None:
        yield from folders.files(str(top), "")
    for member in members or ():
        location = str(top / member)
        if os.path.isdir(location):
            # One in another is met with that.
            if listed.isdisjoint(map(str, PurePosixPath(member).parents)):
                yield from folders.files(location, "" if member == "." else member + "/")
        elif end := unread(member):
            folders.unread[end] += 1
        else:
            yield from _listed(location, member, listed)
    for end, count in sorted(folders.unread.items()):
        files = "1 file" if count == 1 else f"{count} files"
        yield FileSkip(f"*{end}", f"{files}, not read")


class _Folders:
    """A walk through folders of one source."""

    def __init__(self, inside: str, tracked: bool) -> None:
        self._inside = inside
        self._tracked = tracked
        self._repositories: set[Path] = set()
        """The repositories met so far, by what their work trees share."""
        self.unread: Counter[str] = Counter()
        """The files in languages that are not read, by extension."""

    def files(self, top: str, prefix: str) -> Iterator[Found | FileSkip]:
        """The files below one folder; with an explicit stack: a tree may be deeper than Python's recursion limit."""
        above = Ignore() if self._tracked else rules_above(top)
        if above.tree:
            self._repositories.add(above.tree.common)
        pending = [(top, prefix, above)]
        while pending:
            location, prefix, ignore = pending.pop()
            try:
                with os.scandir(location) as entries:
                    listed = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                yield FileSkip(printable(prefix.rstrip("/")) or ".", reason_of(error))
                continue
            names = {entry.name for entry in listed}
            if prefix and not names.isdisjoint(_ENVIRONMENTS):
                continue
            if ".git" in names and location != top and (tree := WorkTree.at(location)):
                if self._twice(tree):
                    yield FileSkip(printable(prefix.rstrip("/")), "another work tree of a repository in the source")
                    continue
                ignore = rules_of(tree)
            rules = ignore.below(location) if ".gitignore" in names and not self._tracked else ignore
            folders = []
            for entry in listed:
                path = prefix + entry.name
                try:
                    if entry.is_symlink():
                        yield from _link(entry, path, rules, self._inside)
                    elif entry.is_dir(follow_symlinks=False):
                        if not self._left_out(entry, rules) and (inner := rules.inside(entry.path)):
                            folders.append((entry.path, path + "/", inner))
                    elif _wanted(entry.name, names) and not rules.hides(entry.path):
                        if is_secret(entry.path, parent=prefix.rstrip("/"), by_content=bool(language_of(entry.name))):
                            yield FileSkip(printable(path), SECRET)
                            continue
                        beside = _module_beside(entry.name, names)
                        yield from _file(entry.path, path, entry.stat(follow_symlinks=False), beside)
                    elif (end := unread(entry.name)) and not rules.hides(entry.path):
                        self.unread[end] += 1
                except OSError as error:
                    yield FileSkip(printable(path), reason_of(error))
            pending.extend(reversed(folders))

    def _twice(self, tree: WorkTree) -> bool:
        """True if the source holds another work tree of the same repository: the main one, or one met before."""
        main = tree.main
        linked = main is not None and tree.git != tree.common and main.is_dir() and main.is_relative_to(self._inside)
        if linked or tree.common in self._repositories:
            return True
        self._repositories.add(tree.common)
        return False

    def _left_out(self, entry: os.DirEntry[str], rules: Ignore) -> bool:
        if entry.name in _NEVER or is_secret_name(entry.name, os.path.basename(os.path.dirname(entry.path))):
            return True
        if entry.name != "build" or self._tracked or rules.tracks(entry.path):
            return False
        # setuptools and distutils leave a copy of the code there: build/lib, build/bdist.linux-x86_64.
        with os.scandir(entry.path) as inner:
            return any(item.name == "lib" or item.name.startswith(("lib.", "bdist.")) for item in inner)


def _wanted(name: str, siblings: set[str]) -> bool:
    """True for a file of a known language or without an extension, except declarations of the Cython beside them."""
    if name.endswith(".pxd") and f"{name[:-3]}pyx" in siblings:
        return False
    return bool(language_of(name)) or may_be_script(name)


def _link(entry: os.DirEntry[str], path: str, rules: Ignore, inside: str) -> Iterator[FileSkip]:
    """The skip of a link, if worth reporting. No link is followed: a target in the source is met by its own name."""
    loop = False
    try:
        folder = entry.is_dir()
    except OSError as error:
        folder, loop = False, error.errno == errno.ELOOP
    if not (folder or loop or language_of(entry.name)):
        return
    if entry.name in _NEVER or rules.hides(entry.path):
        return
    if loop:
        yield FileSkip(printable(path), "link that leads to itself")
        return
    target = os.path.realpath(entry.path)
    if not os.path.lexists(target) or os.path.islink(target):
        yield FileSkip(printable(path), "broken link")
    elif target != inside and not target.startswith(inside.rstrip("/") + "/"):
        yield FileSkip(printable(path), "link that leads out of the source")


def _module_beside(name: str, siblings: Collection[str]) -> str:
    """The ending of the module beside a stub; empty for other files, and if there is none."""
    if not name.endswith(".pyi"):
        return ""
    return next((end for end in (".py", ".pyx") if name[:-4] + end in siblings), "")


def _listed(location: str, path: str, members: Collection[str]) -> Iterator[Found | FileSkip]:
    if not (language_of(path) or may_be_script(path)):
        return
    if secret_part(path) or is_secret(location, parent=os.path.dirname(path)):
        yield FileSkip(printable(path), SECRET)
        return
    try:
        yield from _file(location, path, os.stat(location), _module_beside(path, members), follow=True)
    except OSError as error:
        yield FileSkip(printable(path), reason_of(error))


def _file(
    location: str, path: str, found: os.stat_result, beside: str, *, follow: bool = False
) -> Iterator[Found | FileSkip]:
    language = language_of(path) or script_language(location, found)
    if not language:
        return
    if printable(path) != path:
        yield FileSkip(printable(path), "name is not UTF-8")
    elif not stat.S_ISREG(found.st_mode):
        yield FileSkip(path, "not a regular file")
    elif found.st_size > max_bytes(language):
        yield FileSkip(path, too_large(language))
    else:
        module = location[:-4] + beside if beside else ""
        yield Found.of(path, location, found, language, beside=module, follow=follow)


def reason_of(error: OSError) -> str:
    """The reason of a skip for an error: `permission denied`, `no such file or directory`, …"""
    return (error.strerror or type(error).__name__).lower()


_INTERPRETER = re.compile(
    rb"#![ \t]*(?:\S*/)?(?:env[ \t]+(?:-\S+[ \t]+|\w+=\S*[ \t]+)*(?:\S*/)?)?(?P<name>[A-Za-z][A-Za-z-]*)[\d.]*(?=\s|\Z)"
)
"""The program in `#!/usr/bin/python3.11 -u` or `#!/usr/bin/env -S NODE_ENV=x node`, without its version."""

_LANGUAGES = {
    b"python": "python", b"pypy": "python", b"uv": "python", b"node": "javascript", b"nodejs": "javascript",
    b"bun": "typescript", b"deno": "typescript", b"ts-node": "typescript", b"tsx": "typescript", b"ruby": "ruby",
    b"jruby": "ruby", b"rake": "ruby", b"php": "php",
}  # fmt: skip

_BYTES = 200


def may_be_script(name: str) -> bool:
    """True for a file name without an extension; a hidden file is none."""
    return "." not in name.rpartition("/")[2]


def script_language(location: str, found: os.stat_result) -> str:
    """The language of a file by the `#!` that it begins with; empty if it is none, or cannot be read."""
    if not stat.S_ISREG(found.st_mode) or found.st_size < len("#!ruby"):
        return ""
    return _language(location, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


@lru_cache(maxsize=20_000)
def _language(location: str, *look: int) -> str:
    # Kept by what changes with a file: a source that is watched is walked every half second.
    try:
        with open(os.open(location, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb", buffering=0) as file:
            first = file.read(_BYTES)
    except OSError:
        return ""
    named = _INTERPRETER.match(first)
    return _LANGUAGES.get(named["name"].lower(), "") if named else ""
