"""The rules of `.gitignore` files, as git reads them; they also apply in folders outside a repository."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from codenav.indexers.wildcards import translated

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
    """Absolute; the rules apply to paths below it."""
    rules: tuple[_Rule, ...]


class Ignore:
    """The ignore rules for one folder: its own `.gitignore` and those of the folders above."""

    def __init__(self, rules: tuple[_Rules, ...] = ()) -> None:
        self._rules = rules

    def below(self, folder: str) -> Ignore:
        """The rules for `folder`, its own `.gitignore` included."""
        own = _read(Path(folder, ".gitignore"), folder)
        return Ignore((*self._rules, own)) if own else self

    def hides(self, path: str, *, folder: bool) -> bool:
        """True if the deepest rule that matches `path` (absolute) hides it.

        The folders above are assumed not to be hidden: a walk from the top has already left out those that are.
        """
        for rules in reversed(self._rules):
            relative = path[len(rules.folder) :].lstrip("/")
            last = next((rule for rule in reversed(rules.rules) if rule.matches(relative, folder=folder)), None)
            if last is not None:
                return last.hides
        return False


def rules_above(root: Path) -> Ignore:
    """The rules from outside `root` that apply to it: `.git/info/exclude`, and `.gitignore` up to the repository's top.

    If these rules hide `root` itself they are ignored: the user named it, so it is wanted.
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
    """The folder that holds `info/exclude`; in work trees and submodules `.git` is a file that leads to it."""
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
    """The rule on a line; None for a comment, and for a line that matches nothing in git either."""
    hides = not line.startswith("!")
    pattern = _without_spaces(line if hides else line[1:])
    if not pattern or line.startswith("#"):
        return None
    regex = translated(pattern.removesuffix("/"))
    return _Rule(re.compile(regex), hides, pattern.endswith("/")) if regex else None


def _without_spaces(pattern: str) -> str:
    """The pattern without trailing spaces, except a space escaped by a backslash."""
    bare = pattern.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return pattern[: len(bare) + 1] if backslashes % 2 else bare
