"""The branches of C's preprocessor that cut through a declaration or a statement, of which one is left to parse."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_DIRECTIVE = re.compile(
    rb"^[ \t]*#[ \t]*(?P<word>\w*)[ \t]*(?P<rest>(?:[^\n\\/]|\\\n|\\|/(?!\*)|/\*(?:[^*]|\*(?!/))*+(?:\*/)?)*+)",
    re.MULTILINE,
)
_STRINGS_OF_CSHARP = rb'(?:@\$?|\$@)"(?:[^"]|"")*+"|\$*""".*?"""|'
_TEXT = (
    rb'R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.|\\\n)*+"?|(?<!\w)\'(?:[^\'\\\n]|\\.)*+\'?'
    rb"|//(?:[^\n\\]|\\\n|\\)*+|/\*.*?(?:\*/|\Z)"
)
_QUIET = {csharp: re.compile((_STRINGS_OF_CSHARP if csharp else b"") + _TEXT, re.DOTALL) for csharp in (False, True)}
"""Strings and comments, whose brackets do not count. Not the quotes in 1'000."""

_WORDS_OF_GROUPS = {b"if", b"ifdef", b"ifndef", b"elif", b"elifdef", b"elifndef", b"else", b"endif"}
_NO_BRACKETS = bytes(set(range(256)) - set(b"(){}[]"))
_PAIRS = (b"()", b"[]", b"{}")
_CALL = re.compile(rb"\s*[A-Z][A-Z0-9_]{2,}(?:\s*\([^\n]*\))?\s*\Z")
"""The line of a macro that needs no `;`: `Q_OBJECT`, `DECLARE_LIST(item)`."""

_CONTINUES = re.compile(rb"\s*(?:else|catch)\b|\s*[})\],.=?]|\s*(?:&&|\|\|)")
_CONDITION = re.compile(rb"(?P<no>!?)\s*(?:defined\s*\(?\s*)?(?P<name>\w+)\s*\)?\s*\Z")


@dataclass(slots=True)
class _Group:
    """An `#if` and what belongs to it."""

    before: int
    """Offset where it begins."""
    branches: list[tuple[bytes, bytes, int, int]] = field(default_factory=list)
    """Word and condition of a branch, and the range of what is in it."""
    lines: list[tuple[int, int]] = field(default_factory=list)
    """The ranges of its directives."""


def one_branch(data: bytes, language: str, *, flat: bool = False) -> bytes:
    """The source with spaces in place of what cannot be parsed as it stands; all offsets stay the same.

    A group whose branches are whole declarations or statements stays, all of it. Of another one a single branch stays,
    without its directives: the longest, or the one that fits what was taken for true before. `flat` also takes away
    the directives of groups that stay, so that a fault of the parser in one is not the end of what is around it.
    """
    directives = [found for found in _DIRECTIVE.finditer(data) if found["word"] in _WORDS_OF_GROUPS]
    if not directives:
        return data
    taken: dict[bytes, bool] = {b"0": False, b"1": True, b"__cplusplus": language == "cpp"}
    if flat and len(directives) == 2 and directives[0]["rest"].strip() not in taken:
        # Most often the guard of a header.
        return _DIRECTIVE.sub(lambda found: _blank(found) if found["word"] in _WORDS_OF_GROUPS else found.group(), data)
    quiet = bytearray(_DIRECTIVE.sub(_blank, _QUIET[language == "csharp"].sub(_blank_text, data)))
    if len(quiet) != len(data):
        return data
    kept = bytearray(data)
    groups: list[_Group] = []
    for found in directives:
        word, (start, end) = found["word"], found.span()
        if word.startswith(b"if"):
            groups.append(_Group(start))
        elif not groups:
            continue
        group = groups[-1]
        if group.lines:
            name, condition, begin, _ = group.branches[-1]
            group.branches[-1] = (name, condition, begin, start)
        group.lines.append((start, end))
        if word != b"endif":
            group.branches.append((word, found["rest"].partition(b"/")[0].strip(), end, end))
            continue
        groups.pop()
        blanks = list(group.lines) if flat else []
        if not _whole(quiet, group):
            chosen = _chosen(group, taken)
            others = [branch[2:] for number, branch in enumerate(group.branches) if number != chosen]
            blanks = [*group.lines, *others]
        for begin, stop in blanks:
            kept[begin:stop] = spaces(kept[begin:stop])
            quiet[begin:stop] = spaces(quiet[begin:stop])
    return bytes(kept)


def _whole(quiet: bytearray, group: _Group) -> bool:
    """True if each branch holds whole declarations or statements, and the group stands between such."""
    before = quiet[max(0, group.before - 2_000) : group.before].rstrip()
    if before and before[-1:] not in b";{}:" and not _CALL.match(before, before.rfind(b"\n") + 1):
        return False
    for *_, begin, end in group.branches:
        inside = quiet[begin:end].strip()
        if not inside:
            continue
        if inside[-1:] not in b";}:" and not _CALL.match(inside, inside.rfind(b"\n") + 1):
            return False
        if _CONTINUES.match(inside) or not _balanced(inside):
            return False
    return True


def _balanced(inside: bytearray) -> bool:
    brackets, size = inside.translate(None, _NO_BRACKETS), -1
    while brackets and len(brackets) != size:
        size = len(brackets)
        for pair in _PAIRS:
            brackets = brackets.replace(pair, b"")
    return not brackets


def _chosen(group: _Group, taken: dict[bytes, bool]) -> int:
    """The number of the branch to keep, and -1 for none. What it takes for true holds for the rest of the file."""
    longest = max(end - begin for *_, begin, end in group.branches)
    for number, (word, condition, begin, end) in enumerate(group.branches):
        if word == b"else":
            return number
        found = _CONDITION.match(condition)
        name, no = (found["name"], bool(found["no"])) if found else (condition, False)
        no = no != word.endswith(b"ndef")
        if taken.setdefault(name, no != (end - begin == longest)) != no:
            return number
    return -1


def _blank(found: re.Match[bytes]) -> bytes:
    return spaces(found.group())


def _blank_text(found: re.Match[bytes]) -> bytes:
    """Spaces for a comment; a string stays a value."""
    text = found.group()
    if text[:1] != b"/":
        return b"0" + spaces(text[1:])
    return spaces(text) if b"\\\n" not in text else re.sub(rb"[^\n\\]|\\(?!\n)", b" ", text)


def spaces(text: bytes | bytearray) -> bytes:
    """Spaces in place of a text, with its line ends."""
    return b"\n".join(b" " * len(line) for line in bytes(text).split(b"\n"))
