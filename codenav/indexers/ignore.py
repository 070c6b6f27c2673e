"""The rules of `.gitignore` files, as git reads them; they also hold in folders that are no repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_RULES_BYTES = 1_000_000
"""A longer file of rules is not read: git's own largest collections have under 10 KB."""

_BELOW = "ps_d"
"""The group of pathspec's expressions that ends where the matched folder does."""


@dataclass(frozen=True)
class _Rule:
    regex: re.Pattern[str]
    hides: bool
    """False for a rule that begins with `!`."""
    folders_only: bool
    """For a rule that ends with `/`."""
    inside_only: bool
    """For a rule that ends with `/**`: it does not speak of the folder itself."""

    def matches(self, path: str) -> bool:
        """Whether it speaks of this path (with a `/` at its end for a folder), not only of a folder above it."""
        if self.folders_only and not path.endswith("/"):
            return False
        found = self.regex.match(path)
        # pathspec marks where the path goes on below the folder that matched.
        if found is None or (self.inside_only and found.end() == len(path)):
            return False
        if _BELOW not in self.regex.groupindex:
            return True
        return found.end(_BELOW) in (-1, len(path))


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
            relative = path[len(rules.folder) :].lstrip("/") + ("/" if folder else "")
            last = next((rule for rule in reversed(rules.rules) if rule.matches(relative)), None)
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
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    rules = tuple(rule for line in lines for rule in _parsed(line))
    return _Rules(folder, rules) if rules else None


def _parsed(line: str) -> Iterator[_Rule]:
    """The rule of a line; none for a comment, or for a line that git would not understand either."""
    from pathspec import GitIgnoreSpec

    # pathspec reads `a/**/` as `a/`; git means the folders below `a`.
    line = re.sub(r"/\*\*/\s*$", "/**/*/", line)
    try:
        patterns = GitIgnoreSpec.from_lines([line]).patterns
    except ValueError:
        return
    for pattern in patterns:
        regex = getattr(pattern, "regex", None)
        if pattern.include is not None and regex is not None:
            yield _Rule(regex, pattern.include, line.rstrip().endswith("/"), line.rstrip().endswith("/**"))
