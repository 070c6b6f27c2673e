"""Values of fields, mended: types by did-you-mean, wildcards, the regular expressions that every store has."""

from __future__ import annotations

import difflib
import fnmatch
import re

from codenav.blocks import BlockKind

_MEANT = {
    "DEF": "FUNCTION", "FUNC": "FUNCTION", "FN": "FUNCTION", "VARIABLE": "ASSIGNMENT", "CONSTANT": "ASSIGNMENT",
    "DOC": "DOCUMENT", "DOCS": "DOCUMENT", "DOCUMENTATION": "DOCUMENT", "MARKDOWN": "DOCUMENT", "IF": "CONDITIONAL",
}  # fmt: skip
"""Names that models use for kinds of ours."""


def block_kinds(value: str) -> tuple[list[BlockKind], str]:
    """The kinds that a `type` value names, and a sentence where it had to be mended.

    Case-blind; `A,B`, `A|B` and wildcards name several. No kinds: nothing comes near, the sentence says so.
    """
    found: dict[BlockKind, None] = {}
    mended = []
    for name in list(dict.fromkeys(re.findall(r"[^,|\s]+", value.upper())))[:20]:
        matches = [kind for kind in BlockKind if fnmatch.fnmatchcase(kind.value, name.replace("[", ""))]
        if not matches:
            near = _nearest(name)
            if near is None:
                known = ", ".join(BlockKind)
                return [], f"there is no type {name}: it was read as a word; the types are {known}"
            mended.append(f"type {name} was read as {near}")
            matches = [BlockKind(near)]
        found.update(dict.fromkeys(matches))
    return list(found), "; ".join(mended)


def _nearest(name: str) -> str | None:
    known = {**{kind.value: kind.value for kind in BlockKind}, **_MEANT}
    for tried in (name, name.removesuffix("S"), name.removesuffix("ES")):
        if tried in known:
            return known[tried]
    near = difflib.get_close_matches(name[:30], known, n=1, cutoff=0.7)
    return known[near[0]] if near else None


def wildcard_regex(pattern: str) -> str:
    """A wildcard pattern as a regular expression of `plain_regex`'s dialect, for the whole token."""
    parts = re.findall(r"\\.|[*?]|[^*?\\]+", pattern, re.DOTALL)
    return "".join({"*": ".*", "?": "."}.get(part) or literal_regex(part.removeprefix("\\")) for part in parts)


def literal_regex(text: str) -> str:
    """A text as a regular expression that matches just it; a character that engines escape differently becomes `.`."""
    return re.sub(r'["@<>]', ".", re.sub(r"[.+*?()|\[\]{}^$#&~\\]", lambda match: "\\" + match.group(), text))


def plain_regex(pattern: str) -> str | None:
    """A regular expression in the dialect that Lucene and tantivy share, or None where it cannot be said in it.

    The dialect: literals, `.`, `[...]`, groups, `|`, `* + ?` and `{m,n}` up to 50, matched against one whole
    lower-cased identifier. Anchors, `(?:`, `(?i)` and lazy quantifiers are translated away; look-around, `\\b`,
    back references, POSIX classes and repetition of repetition are refused (29 patterns were tried on Elasticsearch
    8.19 and tantivy 0.27; these are where they differ or fail).
    """
    parts: list[str] = []
    depth = 0
    position = 0
    text = pattern.replace("(?i)", "").removeprefix("^")
    if text.endswith("$") and not text.endswith("\\$"):
        text = text[:-1]
    while position < len(text):
        match = _REGEX_PART.match(text, position)
        if match is None:
            return None
        part = match.group()
        position = match.end()
        if part in ("(", "(?:"):
            depth += 1
            parts.append("(")
        elif part == ")":
            depth -= 1
            parts.append(")")
        elif match["repeat"]:
            if not parts or parts[-1] in ("(", "|") or _REPEATED.search(parts[-1]):
                return None
            parts.append(match["repeat"])
        else:
            parts.append(_regex_atom(part))
        if depth < 0:
            return None
    plain = "".join(parts)
    return plain if depth == 0 and _compiles(plain) else None


_REGEX_PART = re.compile(
    r"""(?P<repeat>[*+?]|\{(?:[0-9]|[1-4][0-9]|50)(?:,(?:[0-9]|[1-4][0-9]|50)?)?\})\??
    | \(\?: | \((?!\?) | \) | \| | \.
    | \[\^?(?:[^\[\]\\&~^"@#<>]|\\[^\w\s]|\\[dw])+\]
    | \\[dw] | \\[^\w\s] | [^\\\[\](){}*+?|.^$\s]""",
    re.VERBOSE,
)
_REPEATED = re.compile(r"[*+?}]\Z")
_CLASSES = {"\\d": "0-9", "\\w": "a-z0-9_"}


def _regex_atom(part: str) -> str:
    """One literal, class or escape, lower-cased and without shorthand."""
    if part in _CLASSES:
        return f"[{_CLASSES[part]}]"
    if part.startswith("["):
        return re.sub(r"\\[dw]", lambda match: _CLASSES[match.group()], part.lower())
    if part in "|." or part.startswith("\\"):
        return part
    return literal_regex(part.lower())


def _compiles(pattern: str) -> bool:
    """Whether it is well formed and small: a repeated group may not hold counted repetition."""
    if not pattern or re.search(r"\)\{|\{[^}]*\}[^()]*\)[*+{]", pattern):
        return False
    try:
        re.compile(pattern)
    except (re.error, OverflowError):
        return False
    return True
