"""Places in files, in the forms that people paste: paths with line numbers, traceback frames, test ids, links."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CODE = "py|pyi|pyx|ipynb|md|mdx|rst|txt|js|jsx|mjs|cjs|ts|tsx|go|java|rs|c|h|cc|cpp|cxx|hpp|hh|cs|rb|php"
_ALONE = "py|pyi|ipynb|md|mdx|rst|jsx|tsx|java|cpp|hpp|php"
"""Suffixes that make a word a file even without a folder: `x.c` and `self.go` can be attributes, `vue.js` a name."""
_AFTER = r"""(?:::(?P<test>[\w.:-]{1,200})(?:\[[^\s\]]{0,100}\])?
    |\#L(?P<first>\d{1,9})(?:-L?(?P<last>\d{1,9}))?
    |:(?P<line>\d{1,9})(?:-(?P<end>\d{1,9})|:\d{1,9})?)?"""
_END = r"[:,;.]?(?=[\s)]|\Z)"
_FOLDERS = r"(?:[A-Za-z]:)?(?:[\w.@+*?~$\[\]{},-]{0,100}[/\\]){1,40}"
_PLACE = re.compile(
    rf"(?P<path>{_FOLDERS}[\w.@+*?$\[\]{{}},-]{{0,100}}\.(?:{_CODE}|\*|\{{[\w,]{{1,40}}\}})"
    rf"|[\w+*?$@.-]{{1,100}}\.(?:{_ALONE})|(?:\*|[\w.*-]{{1,100}}/)\*\.\w{{1,5}}){_AFTER}{_END}",
    re.VERBOSE,
)
_LINK = re.compile(
    r"https?://[\w.:-]{1,100}/[\w./-]{1,200}?/(?:blob|blame|raw)/[\w.-]{1,100}/(?P<path>[\w./@+-]{1,300})"
    r"(?:\#L(?P<first>\d{1,9})(?:-L?(?P<last>\d{1,9}))?)?(?=[\s)]|\Z)"
)
_FRAME = re.compile(
    r'File "(?P<path>[^"\n]{1,400}\.\w{1,5})"(?:, line (?P<line>\d{1,9}))?(?:, in (?P<name>[\w<>.]{1,200}))?,?'
)
_STARS = re.compile(r"(?<!\\)\*+")
"""Several stars that say the same as one. One behind a backslash is a character."""
_ELSEWHERE = re.compile(r"(?:.*/)?(?:site|dist)-packages/")
_ABSOLUTE = re.compile(r"(?:[A-Za-z]:/|/(?:home|Users|root|usr|opt|tmp|var|mnt|private|srv|workspace|app)/|~/)")


@dataclass(frozen=True, slots=True)
class Place:
    """A file, perhaps with lines and a name in it."""

    path: str
    first: int | None = None
    last: int | None = None
    name: str = ""
    exact: bool = True
    """True if lines and name are required; those in a frame of a traceback only raise the score."""


def place_at(text: str, at: int) -> tuple[Place, int] | None:
    """The place written at a position of a text, and the position after it; None if there is none."""
    match = _FRAME.match(text, at)
    if match:
        line = match["line"]
        name = (match["name"] or "").rpartition(".")[2].strip("<>")
        number = int(line) if line else None
        known = "" if name in ("module", "lambda", "locals", "listcomp") else name
        return Place(match["path"].replace("\\", "/"), number, number, known, exact=False), match.end()
    match = _LINK.match(text, at)
    if match:
        return Place(match["path"], *_span(match["first"], match["last"])), match.end()
    match = _PLACE.match(text, at)
    if match is None or ".." in match["path"].replace("../", "") or match["path"].startswith("//"):
        return None
    path = re.sub(r"\\+", "/", match["path"])
    test = re.split(r"::|\.", match["test"] or "")[-1]
    return Place(path, *_span(match["first"] or match["line"], match["last"] or match["end"]), name=test), match.end()


_SUFFIXED = re.compile(
    r"(?P<path>(?:[A-Za-z]:)?[^:#]+\.\w{1,5})(?:\#L(?P<first>\d{1,9})(?:-L?(?P<last>\d{1,9}))?"
    r"|:(?P<line>\d{1,9})(?:-(?P<end>\d{1,9})|:\d{1,9})?):?"
)


def without_lines(value: str) -> tuple[str, int | None, int | None]:
    """The path in a value of `file_path`, and the lines written after it: `src/a.py:10`, `src/a.py#L3-L9`."""
    match = _SUFFIXED.fullmatch(value)
    if match is None:
        return value, None, None
    return match["path"], *_span(match["first"] or match["line"], match["last"] or match["end"])


def relative(path: str) -> tuple[str, str]:
    """The part of a pasted path that must match, and a longer part that only raises the score, or "".

    An absolute path on some machine is not one of the index: only the part after `site-packages/` counts, or else the
    file name.
    """
    before = ""
    while path != before:
        before = path
        path = re.sub(r"\A(?:\./)+", "", path.replace("../", ""))
    cut = _ELSEWHERE.sub("", path, count=1)
    if cut != path:
        return cut, ""
    if _ABSOLUTE.match(path):
        parts = [part for part in path.split("/") if part]
        return parts[-1], "/".join(parts[-2:]) if len(parts) > 2 else ""
    return path.lstrip("/ ") or path, ""


def is_settled(path: str) -> bool:
    """True if a path is read as it is written: it has no lines behind it, and nothing is left out or resolved."""
    return (
        path == path.strip()
        and without_lines(path)[1] is None
        and relative(path) == (path, "")
        and expanded(path) == [path]
    )


def expanded(pattern: str) -> list[str]:
    """Translate a glob into patterns in which `*` crosses folders: `{a,b}` gives two, `**/` any number of folders."""
    match = re.fullmatch(r"([^{}]*)\{([^{}]*,[^{}]*)\}([^{}]*)", pattern)
    if match:
        choices = dict.fromkeys(choice.strip() for choice in match[2].split(","))
        return [match[1] + choice + match[3] for choice in list(choices)[:8]]
    pattern = re.sub(r"\A(?:\*\*/)+", "", re.sub(r"(?:(?<!\\)\*\*/)+", "**/", pattern))
    if pattern.count("/**/") == 1:
        return [pattern.replace("/**/", between) for between in ("/", "/*/")]
    return [_STARS.sub("*", pattern)]


def _span(first: str | None, last: str | None) -> tuple[int | None, int | None]:
    if not first:
        return None, None
    low, high = int(first), int(last or first)
    return min(low, high), max(low, high)
