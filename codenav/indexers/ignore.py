"""The rules of `.gitignore` files, as git reads them; they also hold in folders that are no repository."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_RULES_BYTES = 1_000_000
"""A longer file of rules is not read: git's own largest collections have under 10 KB."""


@dataclass(frozen=True)
class _Rules:
    folder: str
    """Absolute; the rules speak of paths below it."""
    spec: GitIgnoreSpec


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
            include = rules.spec.check_file(relative).include
            if include is not None:
                return include
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
    spec = _lenient(lines)
    return _Rules(folder, spec) if len(spec) else None


def _lenient(lines: list[str]) -> GitIgnoreSpec:
    """Rules that cannot be read are left out one by one, as git does."""
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        pass
    good = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
            good.append(line)
        except ValueError:
            continue
    return GitIgnoreSpec.from_lines(good)
