"""Repairs of field values: misspelled types, other names of languages, and regular expressions as wildcards."""

from __future__ import annotations

import difflib
import fnmatch
import re

from codenav.core.blocks import BlockKind

_MEANT = {
    "DEF": "FUNCTION", "FUNC": "FUNCTION", "FN": "FUNCTION", "SUBROUTINE": "FUNCTION", "PROCEDURE": "FUNCTION",
    "PROPERTY": "METHOD", "CONSTRUCTOR": "METHOD", "STRUCT": "CLASS", "INTERFACE": "CLASS", "TRAIT": "CLASS",
    "ENUM": "CLASS", "PROTOCOL": "CLASS", "DATACLASS": "CLASS", "VARIABLE": "ASSIGNMENT", "VAR": "ASSIGNMENT",
    "CONSTANT": "ASSIGNMENT", "CONST": "ASSIGNMENT", "ATTRIBUTE": "ASSIGNMENT", "DOC": "DOCUMENT",
    "DOCUMENTATION": "DOCUMENT", "MARKDOWN": "DOCUMENT", "README": "DOCUMENT", "NOTEBOOK": "DOCUMENT",
    "IF": "CONDITIONAL", "ENDPOINT": "TOOL", "OPERATION": "TOOL",
}  # fmt: skip
"""Other names that models use for the kinds of blocks."""
_LANGUAGES = {
    "py": "python", "python3": "python", "js": "javascript", "jsx": "javascript", "node": "javascript",
    "ts": "typescript", "golang": "go", "rs": "rust", "rb": "ruby", "c++": "cpp", "cxx": "cpp", "c#": "csharp",
    "cs": "csharp", "md": "markdown", "rst": "restructuredtext",
}  # fmt: skip
LANGUAGES = frozenset({*_LANGUAGES, *_LANGUAGES.values(), "java", "php", "tsx", "c", "text", "notebook"})
"""Names recognised as languages in the continuation of a list: `language: js OR ts`."""


def block_kinds(value: str) -> tuple[list[BlockKind], str]:
    """The kinds that a `type` value names, and a sentence if it had to be repaired, else "".

    Not case-sensitive; `A,B`, `A|B`, `A OR B` and wildcards name several. If nothing similar exists, no kinds are
    returned, and the sentence says so.
    """
    found: dict[BlockKind, None] = {}
    mended = []
    names = re.findall(r"[^,;|/&()\[\]{}\"'\s]+", value.upper())
    for name in list(dict.fromkeys(name for name in names if name not in ("OR", "AND")))[:20]:
        matches = [kind for kind in BlockKind if fnmatch.fnmatchcase(kind.value, name)]
        if not matches:
            near = _nearest(name)
            if near is None:
                known = ", ".join(BlockKind)
                return [], f"there is no type {name[:40]}: it was left out; the types are {known}"
            mended.append(f"type {name[:40]} was read as {near}")
            matches = [BlockKind(near)]
        found.update(dict.fromkeys(matches))
    return list(found), "; ".join(mended)


def names_kind(word: str) -> bool:
    """True if a word is the name of a kind, in any case, in singular or plural."""
    return _exact(word.upper()) is not None


def _exact(name: str) -> str | None:
    known = {kind.value: kind.value for kind in BlockKind}
    return known.get(name) or known.get(name.removesuffix("S")) or known.get(name.removesuffix("ES"))


def _nearest(name: str) -> str | None:
    for tried in (name, name.removesuffix("S")):
        if tried in _MEANT:
            return _MEANT[tried]
    known = {**{kind.value: kind.value for kind in BlockKind}, **_MEANT}
    near = difflib.get_close_matches(name[:30], known, n=1, cutoff=0.7)
    return _exact(name) or (known[near[0]] if near else None)


def language(value: str) -> str:
    """The name of a language in the index: `javascript` for `js`."""
    return _LANGUAGES.get(value.lower(), value)


def wildcard_regex(pattern: str) -> str:
    """Translate a wildcard pattern into a regular expression of the common dialect (`query_regex`) for whole tokens."""
    parts = re.findall(r"\\.|[*?]|[^*?\\]+", pattern, re.DOTALL)
    return "".join({"*": ".*", "?": "."}.get(part) or literal_regex(part.removeprefix("\\")) for part in parts)


def literal_regex(text: str) -> str:
    """The regular expression for a literal text; characters that engines escape differently become `.`."""
    return re.sub(r'["@<>]', ".", re.sub(r"[.+*?()|\[\]{}^$#&~\\]", lambda match: "\\" + match.group(), text))


def regex_wildcards(pattern: str) -> list[str] | None:
    """Translate a regular expression for a path or another literal value into wildcards; None if that is impossible."""
    found = []
    for alternative in pattern.removeprefix("^(").removesuffix(")$").split("|"):
        plain = alternative.removeprefix("(?i)").removeprefix("^").removesuffix("$")
        parts = re.findall(r"\\[wS][*+]|\\.|\.\*\??|\.\+\??|.", plain, re.DOTALL)
        made = []
        for part in parts:
            if part in ("*", "+", "?", "(", ")", "[", "]", "{", "}", "^", "$") or re.fullmatch(r"\\\w", part):
                return None
            many = part.startswith((".*", ".+")) or re.fullmatch(r"\\\w[*+]", part)
            made.append("*" if many else "?" if part == "." else part.removeprefix("\\"))
        found.append("".join(made))
    return [pattern for pattern in found if pattern] or None
