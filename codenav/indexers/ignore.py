"""The rules of `.gitignore` files, as git reads them; they also hold in folders that are no repository."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from codenav.indexers.wildcards import translated

_RULES_BYTES = 100_000
"""A longer file of rules is not read: git's own largest collections have under 10 KB."""


@dataclass(frozen=True)
class _Rule:
    regex: re.Pattern[str]
    hides: bool
    """False for a rule that begins with `!`."""
    folders_only: bool
    """For a rule that ends with `/`."""

    def matches(self, path: str, *, folder: bool) -> bool:
        """Whether it speaks of this path itself, not only of a folder above it."""
        return (folder or not self.folders_only) and self.regex.fullmatch(path) is not None


@dataclass(frozen=True)
class _Rules:
    folder: str
    """Absolute; the rules speak of paths below it."""
    rules: tuple[_Rule, ...]


class Ignore:
    """The rules that hold in one folder: its own `.gitignore` and those of the folders above."""

    def __init__(self, rules: tuple[_Rules, ...] = ()) -> None:
        self._rules = rules

    def below(self, folder: str) -> Ignore:
        """The rules inside `folder`, its own `.gitignore` included."""
        own = _read(Path(folder, ".gitignore"), folder)
        return Ignore((*self._rules, own)) if own else self

    def hides(self, path: str, *, folder: bool) -> bool:
        """Whether the deepest rule that matches `path` (absolute) hides it.

        The folders above it are taken as not hidden: a walk from the top has left those out before.
        """
        for rules in reversed(self._rules):
            relative = path[len(rules.folder) :].lstrip("/")
            last = next((rule for rule in reversed(rules.rules) if rule.matches(relative, folder=folder)), None)
            if last is not None:
                return last.hides
        return False


def rules_above(root: Path) -> Ignore:
    """The rules from outside of `root` that hold in it: `.git/info/exclude` and `.gitignore` up to the repository.

    Where these rules hide `root` itself they do not count: it was named, so it is wanted.
    """
    top = next((folder for folder in (root, *root.parents) if Path(folder, ".git").exists()), None)
    if top is None:
        return Ignore()
    exclude = _read(_git_folder(top / ".git") / "info" / "exclude", str(top))
    ignore = Ignore((exclude,) if exclude else ())
    for folder in reversed((root, *root.parents)):
        if folder == top or top in folder.parents:
            if folder != top and ignore.hides(str(folder), folder=True):
                return Ignore()
            if folder != root:
                ignore = ignore.below(str(folder))
    return ignore


def _git_folder(git: Path) -> Path:
    """Where a repository keeps `info/exclude`: `.git` is a file in work trees and submodules."""
    try:
        text = git.read_text(encoding="utf-8", errors="replace") if git.is_file() else ""
        if not text.startswith("gitdir:"):
            return git
        found = git.parent / text.removeprefix("gitdir:").strip()
        common = found / "commondir"
        return found / common.read_text(encoding="utf-8").strip() if common.is_file() else found
    except OSError:
        return git


def _read(path: Path, folder: str) -> _Rules | None:
    try:
        if not path.is_file() or path.stat().st_size > _RULES_BYTES:
            return None
        text = path.read_bytes().decode("utf-8-sig", "replace")
    except OSError:
        return None
    rules = tuple(rule for line in text.split("\n") if (rule := _parsed(line.removesuffix("\r"))))
    return _Rules(folder, rules) if rules else None


def _parsed(line: str) -> _Rule | None:
    """The rule of a line; None for a comment, and for a line that matches nothing in git either."""
    hides = not line.startswith("!")
    pattern = _without_spaces(line if hides else line[1:])
    if not pattern or line.startswith("#"):
        return None
    regex = translated(pattern.removesuffix("/"))
    return _Rule(re.compile(regex), hides, pattern.endswith("/")) if regex else None


def _without_spaces(pattern: str) -> str:
    """Spaces at the end do not count, but for one behind a backslash that is not escaped itself."""
    bare = pattern.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return pattern[: len(bare) + 1] if backslashes % 2 else bare
