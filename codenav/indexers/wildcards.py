"""Patterns of `.gitignore` as regular expressions that never try the same text in two ways.

A `*` that is followed by more of its pattern matches up to the first place where the part before the next `*` fits,
and keeps it (an atomic group): a later place could only leave less text to the rest. The same holds for `**` and
whole folders. So a match takes at most len(pattern) x len(path) steps, for each folder of the path if there is a
`**`; backtracking would take len(path) ** stars.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

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
