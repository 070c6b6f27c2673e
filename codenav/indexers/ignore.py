"""The rules of `.gitignore` files, as git reads them; they also apply in folders outside a repository."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace
from pathlib import Path

from codenav.indexers.wildcards import translated
from codenav.indexers.work_tree import WorkTree, spelled

_RULES_BYTES = 100_000
"""Size limit of a file of rules: a larger one is not read. Git's own largest collections have under 10 KB."""


@dataclass(frozen=True)
class _Rule:
    regex: re.Pattern[str]
    hides: bool
    """False for a rule that begins with `!`."""
    folders_only: bool
    """True for a rule that ends with `/`."""

    def matches(self, path: str, *, folder: bool) -> bool:
        """True if the rule matches this path itself, not only a folder above it."""
        return (folder or not self.folders_only) and self.regex.fullmatch(path) is not None


@dataclass(frozen=True)
class _Rules:
    folder: str
    """Absolute, spelled as paths are; the rules apply to paths below it."""
    rules: tuple[_Rule, ...]


@dataclass(frozen=True)
class Ignore:
    """The ignore rules for one folder: its own and those of the folders above, up to the top of the work tree."""

    tree: WorkTree | None = None
    """The work tree that holds the folder, whose tracked files no rule hides."""
    _rules: tuple[_Rules, ...] = ()
    _only_tracked: bool = False
    """True below a folder that is hidden, although it holds something tracked."""

    def below(self, folder: str) -> Ignore:
        """The rules for `folder`, its own `.gitignore` included. Like git, this follows no link in its place."""
        any_case = self.tree is not None and self.tree.any_case
        own = _read(Path(folder, ".gitignore"), folder, follow=False, any_case=any_case)
        return replace(self, _rules=(*self._rules, own)) if own else self

    def hides(self, path: str) -> bool:
        """True if a file (absolute path) is left out: it is not tracked, and the deepest rule that matches hides it.

        The folders above are assumed not to be left out: a walk from the top does not enter those that are.
        """
        return (self._only_tracked or self._ruled_out(path, folder=False)) and not self.tracks(path)

    def inside(self, folder: str) -> Ignore | None:
        """The rules that apply in a folder (absolute path), without its own `.gitignore`; None if it is left out."""
        if not self._only_tracked and not self._ruled_out(folder, folder=True):
            return self
        return replace(self, _only_tracked=True) if self.tracks(folder) else None

    def tracks(self, path: str) -> bool:
        """True if git tracks that file, or something in that folder."""
        return self.tree is not None and self.tree.tracks(path)

    def _ruled_out(self, path: str, *, folder: bool) -> bool:
        path = spelled(path)
        for rules in reversed(self._rules):
            relative = path[len(rules.folder) :].lstrip("/")
            last = next((rule for rule in reversed(rules.rules) if rule.matches(relative, folder=folder)), None)
            if last is not None:
                return last.hides
        return False


def rules_above(root: str) -> Ignore:
    """The rules from outside `root` that apply to it: those of its work tree, and `.gitignore` up to the tree's top.

    If these rules hide `root` itself they are ignored: the user named it, so it is wanted.
    """
    folders = [root, *map(str, Path(root).parents)]
    tree = next(filter(None, map(WorkTree.at, folders)), None)
    if tree is None:
        return Ignore()
    ignore = rules_of(tree)
    for folder in reversed(folders[: folders.index(tree.top) + 1]):
        if folder != tree.top and ignore._ruled_out(folder, folder=True):
            return Ignore(tree)
        if folder != root:
            ignore = ignore.below(folder)
    return ignore


def rules_of(tree: WorkTree) -> Ignore:
    """The rules of a work tree as a whole: the user's, and those of the repository."""
    read = (_read(file, tree.top, any_case=tree.any_case) for file in tree.excludes)
    return Ignore(tree, tuple(filter(None, read)))


def _read(path: Path, folder: str, *, follow: bool = True, any_case: bool = False) -> _Rules | None:
    try:
        if not path.is_file() or path.stat().st_size > _RULES_BYTES or (path.is_symlink() and not follow):
            return None
        text = path.read_bytes().removeprefix(codecs.BOM_UTF8).decode("latin-1")
    except OSError:
        return None
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    rules = tuple(rule for line in lines if (rule := _parsed(line, any_case=any_case)))
    return _Rules(spelled(folder), rules) if rules else None


def _parsed(line: str, *, any_case: bool) -> _Rule | None:
    """The rule on a line; None for a comment, and for a line that matches nothing in git either.

    `any_case`: capital and small letters are the same, but only those of ASCII: git folds bytes.
    """
    hides = not line.startswith("!")
    pattern = _without_spaces(line if hides else line[1:])
    if not pattern or line.startswith("#"):
        return None
    regex = translated(pattern.removesuffix("/"))
    if not regex:
        return None
    return _Rule(re.compile(regex, re.IGNORECASE | re.ASCII if any_case else 0), hides, pattern.endswith("/"))


def _without_spaces(pattern: str) -> str:
    """The pattern without trailing spaces, except a space escaped by a backslash."""
    bare = pattern.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return pattern[: len(bare) + 1] if backslashes % 2 else bare
