"""The rules of `.gitignore` files, as git reads them; they also apply in folders outside a repository."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

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
        own = _read(Path(folder, ".gitignore"), folder, follow=False)
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
    read = (_read(file, tree.top) for file in tree.excludes)
    return Ignore(tree, tuple(filter(None, read)))


def _read(path: Path, folder: str, *, follow: bool = True) -> _Rules | None:
    try:
        if not path.is_file() or path.stat().st_size > _RULES_BYTES or (path.is_symlink() and not follow):
            return None
        text = path.read_bytes().removeprefix(codecs.BOM_UTF8).decode("latin-1")
    except OSError:
        return None
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    rules = tuple(rule for line in lines if (rule := _rule_of(line)))
    return _Rules(spelled(folder), rules) if rules else None


def _rule_of(line: str) -> _Rule | None:
    """The rule on a line; None for a comment, and for a line that matches nothing in git either."""
    hides = not line.startswith("!")
    pattern = _without_spaces(line if hides else line[1:])
    if not pattern or line.startswith("#"):
        return None
    regex = translated(pattern.removesuffix("/"))
    if not regex:
        return None
    return _Rule(re.compile(regex), hides, pattern.endswith("/"))


def _without_spaces(pattern: str) -> str:
    """The pattern without trailing spaces, except a space escaped by a backslash."""
    bare = pattern.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return pattern[: len(bare) + 1] if backslashes % 2 else bare


_CLASSES = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f", "digit": "0-9",
    "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~", "space": r" \t\n\r", "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}  # fmt: skip
_TOKEN = re.compile(r"(?P<stars>\*+)|(?P<any>\?)|(?P<set>\[)|\\?(?P<literal>.)", re.DOTALL)
_MEMBER = re.compile(r"\[:(?P<name>[^]]*):\]|(?P<first>\\.|[^\\])(?:-(?P<last>\\.|[^]\\]))?", re.DOTALL)
_SPECIAL = re.compile(r"[*?\[\\]")
_SEGMENT_END = "(?![^/])"
_STAR, _STARS = "*", "**"


def translated(pattern: str) -> str:
    """The regular expression for whole paths, relative to the folder of the rules and without `/` at the end.

    It never tries the same text in two ways: a `*` that is followed by more of its pattern keeps the first place where
    the part before the next `*` fits (an atomic group), as a later one could only leave less text to the rest; so does
    `**` with whole folders. A match takes at most len(pattern) x len(path) steps, for each folder if there is a `**`;
    backtracking would take len(path) ** stars.

    `pattern` is that of a rule, without a leading `!` and a trailing `/` (gitignore(5), "Pattern format"), with one
    character per byte like the paths. Empty if it matches nothing: a set without an end, a backslash at the end.
    """
    tokens = list(_tokens(pattern))
    if not tokens or "" in tokens:
        return ""
    if "/" not in pattern:
        tokens = [_STARS, "/", *(_STAR if token == _STARS else token for token in tokens)]
        head = ""
    else:
        # Git compares what stands before the first special character by itself, and has a pattern begin after it: so
        # the stars of `a/b**/c` are whole folders. An escaped slash at the beginning is one, and matches nothing.
        plain = len(_SPECIAL.split(pattern, maxsplit=1)[0])
        head, tokens = "".join(tokens[pattern[0] == "/" : plain]), tokens[plain:]
    segments = _split(tokens, "/")
    return head + _path([_STARS if segment == [_STARS] else _segment(segment) for segment in segments])


def _path(segments: Sequence[str]) -> str:
    """The expression for a path: runs of segments between `**` match at the first place, the last one at the end."""
    runs = ["/".join(run) for deep, run in groupby(segments, key=_STARS.__eq__) if not deep]
    parts = [] if segments[0] == _STARS or not runs else [runs.pop(0)]
    lead = "(?:[^/]*+/)*?"
    if segments[-1] == _STARS:
        parts += [f"(?>{lead}{run})" for run in runs]
        return "/".join([*parts, "(?s:.)++"]) if parts else "(?s:.)*+"
    parts += [f"(?>{lead}{run})" for run in runs[:-1]] + [lead + run for run in runs[-1:]]
    return "/".join(parts)


def _segment(tokens: Sequence[str]) -> str:
    """The expression for one name in a path, up to the next `/` or the end."""
    chunks = ["".join(chunk) for chunk in _split([_STAR if token == _STARS else token for token in tokens], _STAR)]
    if len(chunks) == 1:
        return chunks[0] + _SEGMENT_END
    middle = [f"(?>[^/]*?{chunk})" for chunk in chunks[1:-1] if chunk]
    last = f"(?>[^/]*{chunks[-1]}{_SEGMENT_END})" if chunks[-1] else "[^/]*+"
    return "".join((chunks[0], *middle, last))


def _split(tokens: Sequence[str], at: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == at:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _tokens(pattern: str) -> Iterator[str]:
    """The tokens `/`, `*`, `**`, or the expression for one character; "" if the pattern is malformed."""
    position = 0
    while position < len(pattern):
        token = _TOKEN.match(pattern, position)
        if token is None or token.group() == "\\":
            yield ""
            return
        position = token.end()
        if token["stars"]:
            yield _STAR if len(token["stars"]) == 1 else _STARS
        elif token["any"]:
            yield "[^/]"
        elif token["set"]:
            expression, position = _set(pattern, position)
            yield expression
        else:
            yield "/" if token["literal"] == "/" else re.escape(token["literal"])


def _set(pattern: str, position: int) -> tuple[str, int]:
    """The expression for a set `[…]` with content from `position` ("" if malformed), and the position after it."""
    negated = pattern[position : position + 1] in ("!", "^")
    start = position = position + negated
    members = []
    while position == start or pattern[position : position + 1] != "]":
        member = _MEMBER.match(pattern, position)
        if member is None:
            return "", position
        position = member.end()
        if member["name"] is not None:
            if member["name"] not in _CLASSES:
                return "", position
            members.append(_CLASSES[member["name"]])
            continue
        first, last = member["first"][-1], (member["last"] or member["first"])[-1]
        members.append(f"{re.escape(first)}-{re.escape(last)}" if first <= last else re.escape(first))
    content = "".join(members)
    return f"[^/{content}]" if negated else f"(?!/)[{content}]", position + 1
