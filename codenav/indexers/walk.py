"""The files of a source to index: ignored files, links and special files are sorted out without opening any."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codenav.blocks import FileSkip
from codenav.indexers.ignore import Ignore, rules_above

LANGUAGES = {
    ".py": "python", ".pyi": "python", ".ipynb": "notebook",
    ".md": "markdown", ".markdown": "markdown", ".mdx": "markdown", ".rst": "restructuredtext", ".txt": "text",
    ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascript",
    ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "tsx",
    ".go": "go", ".java": "java", ".rs": "rust",
    ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp", ".hxx": "cpp",
    ".cs": "csharp", ".rb": "ruby", ".rake": "ruby", ".php": "php",
}  # fmt: skip
"""Languages by file name extension, in any case. A `.h` that contains lines of C++ is read as C++."""

DOCUMENT_NAMES = {
    "authors", "changelog", "changes", "contributing", "faq", "hacking", "history", "install", "metadata", "migration",
    "news", "readme", "todo", "upgrading", "usage",
}  # fmt: skip
"""Names, in any case, of files without an extension that are plain text. Not `LICENSE` and `COPYING`: they are the
same in every package."""

MAX_BYTES = 1_000_000
"""Size limit of a file. A handful of the 10,166 Python files of ten large packages exceed it: tables and test data."""

MAX_NOTEBOOK_BYTES = 10_000_000
"""Size limit of a notebook, which also contains the pictures that it drew; they are not indexed."""

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


def language_of(name: str) -> str:
    """The language of a file by its name; empty if it is not indexed."""
    end = os.path.splitext(name)[1].lower()
    if not end and name.rpartition("/")[2].lower() in DOCUMENT_NAMES:
        return "text"
    return LANGUAGES.get(end, "")


def max_bytes(language: str) -> int:
    """The size limit of a file of this language."""
    return MAX_NOTEBOOK_BYTES if language == "notebook" else MAX_BYTES


def too_large(language: str) -> str:
    """The reason of a skip for a file that is too large."""
    return f"larger than {max_bytes(language) / 1e6:g} MB"


def printable(path: str) -> str:
    """The path with `?` for bytes that are not UTF-8: an index stores text."""
    return path.encode("utf-8", "replace").decode("utf-8")


def walk(root: Path, *, members: tuple[str, ...] | None = None) -> Iterator[Found | FileSkip]:
    """The files below a folder in order of their names, and the skips worth reporting.

    `members`: files and folders below `root` to take, relative; None takes all. Files that are members are taken
    even if ignore rules hide them. Skipped silently: other types of files, files that `.gitignore` or
    `.git/info/exclude` hides, caches, virtual environments, the output of `setup.py build`, and links to files that
    the walk meets anyway.
    """
    top = Path(os.path.abspath(root))
    inside = os.path.realpath(top)
    if members is None:
        yield from _folder(str(top), "", rules_above(top), inside)
        return
    for member in members:
        location = str(top / member)
        if os.path.isdir(location):
            yield from _folder(location, member + "/", rules_above(Path(location)), inside)
        else:
            yield from _listed(location, member)


def _folder(top: str, prefix: str, above: Ignore, inside: str) -> Iterator[Found | FileSkip]:
    """The files below one folder; with an explicit stack, since a tree may be deeper than Python's recursion limit."""
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
        rules = ignore.below(location) if ".gitignore" in names else ignore
        folders = []
        for entry in listed:
            path = prefix + entry.name
            try:
                if entry.is_symlink():
                    yield from _link(entry, path, rules, inside)
                elif entry.is_dir(follow_symlinks=False):
                    if not _left_out(entry) and not rules.hides(entry.path, folder=True):
                        folders.append((entry.path, path + "/", rules))
                elif _wanted(entry.name, names) and not rules.hides(entry.path, folder=False):
                    yield _file(entry.path, path, entry.stat(follow_symlinks=False))
            except OSError as error:
                yield FileSkip(printable(path), reason_of(error))
        pending.extend(reversed(folders))


def _wanted(name: str, siblings: set[str]) -> bool:
    """True for a file of a known language, except a stub beside its module."""
    return bool(language_of(name)) and not (name.endswith(".pyi") and name[:-1] in siblings)


def _left_out(entry: os.DirEntry[str]) -> bool:
    if entry.name in _NEVER:
        return True
    if entry.name != "build":
        return False
    # setuptools and distutils leave a copy of the code there: build/lib, build/bdist.linux-x86_64.
    with os.scandir(entry.path) as inner:
        return any(item.name == "lib" or item.name.startswith(("lib.", "bdist.")) for item in inner)


def _link(entry: os.DirEntry[str], path: str, rules: Ignore, inside: str) -> Iterator[FileSkip]:
    """The skip of a link, if worth reporting. No link is followed: a target in the source is met by its own name."""
    loop = False
    try:
        folder = entry.is_dir()
    except OSError as error:
        folder, loop = False, error.errno == errno.ELOOP
    if not (folder or loop or language_of(entry.name)):
        return
    if entry.name in _NEVER or rules.hides(entry.path, folder=False):
        return
    if loop:
        yield FileSkip(printable(path), "link that leads to itself")
        return
    target = os.path.realpath(entry.path)
    if not os.path.lexists(target) or os.path.islink(target):
        yield FileSkip(printable(path), "broken link")
    elif target != inside and not target.startswith(inside.rstrip("/") + "/"):
        yield FileSkip(printable(path), "link that leads out of the source")


def _listed(location: str, path: str) -> Iterator[Found | FileSkip]:
    if not language_of(path):
        return
    try:
        yield _file(location, path, os.stat(location), follow=True)
    except OSError as error:
        yield FileSkip(printable(path), reason_of(error))


def _file(location: str, path: str, found: os.stat_result, *, follow: bool = False) -> Found | FileSkip:
    if printable(path) != path:
        return FileSkip(printable(path), "name is not UTF-8")
    if not stat.S_ISREG(found.st_mode):
        return FileSkip(path, "not a regular file")
    language = language_of(path)
    if found.st_size > max_bytes(language):
        return FileSkip(path, too_large(language))
    return Found(path, location, found.st_size, found.st_mtime_ns, language, follow)


def reason_of(error: OSError) -> str:
    """The reason of a skip for an error: `permission denied`, `no such file or directory`, …"""
    return (error.strerror or type(error).__name__).lower()
