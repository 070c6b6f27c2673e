"""Values of fields, mended: types by did-you-mean, names of languages, wildcards."""

from __future__ import annotations

import difflib
import fnmatch
import re

from codenav.blocks import BlockKind

_MEANT = {
    "DEF": "FUNCTION", "FUNC": "FUNCTION", "FN": "FUNCTION", "SUBROUTINE": "FUNCTION", "PROCEDURE": "FUNCTION",
    "PROPERTY": "METHOD", "CONSTRUCTOR": "METHOD", "STRUCT": "CLASS", "INTERFACE": "CLASS", "TRAIT": "CLASS",
    "ENUM": "CLASS", "PROTOCOL": "CLASS", "DATACLASS": "CLASS", "VARIABLE": "ASSIGNMENT", "VAR": "ASSIGNMENT",
    "CONSTANT": "ASSIGNMENT", "CONST": "ASSIGNMENT", "ATTRIBUTE": "ASSIGNMENT", "DOC": "DOCUMENT",
    "DOCUMENTATION": "DOCUMENT", "MARKDOWN": "DOCUMENT", "README": "DOCUMENT", "NOTEBOOK": "DOCUMENT",
    "IF": "CONDITIONAL", "ENDPOINT": "TOOL", "OPERATION": "TOOL",
}  # fmt: skip
"""Names that models use for kinds of ours."""
_LANGUAGES = {
    "py": "python", "python3": "python", "js": "javascript", "jsx": "javascript", "node": "javascript",
    "ts": "typescript", "golang": "go", "rs": "rust", "rb": "ruby", "c++": "cpp", "cxx": "cpp", "c#": "csharp",
    "cs": "csharp", "md": "markdown", "rst": "restructuredtext",
}  # fmt: skip
LANGUAGES = frozenset({*_LANGUAGES, *_LANGUAGES.values(), "java", "php", "tsx", "c", "text", "notebook"})
"""What is recognised as a language where a list of them goes on: `language: js OR ts`."""


def block_kinds(value: str) -> tuple[list[BlockKind], str]:
    """The kinds that a `type` value names, and a sentence where it had to be mended.

    Case-blind; `A,B`, `A|B`, `A OR B` and wildcards name several. No kinds: nothing comes near, the sentence says so.
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
    """Whether a word is a kind's name, in any case, perhaps in the plural."""
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
    """A language as the index calls it: `js` is `javascript`."""
    return _LANGUAGES.get(value.lower(), value)


def wildcard_regex(pattern: str) -> str:
    """A wildcard pattern as a regular expression of the common dialect (`query_regex`), for the whole token."""
    parts = re.findall(r"\\.|[*?]|[^*?\\]+", pattern, re.DOTALL)
    return "".join({"*": ".*", "?": "."}.get(part) or literal_regex(part.removeprefix("\\")) for part in parts)


def literal_regex(text: str) -> str:
    """A text as a regular expression that matches just it; a character that engines escape differently becomes `.`."""
    return re.sub(r'["@<>]', ".", re.sub(r"[.+*?()|\[\]{}^$#&~\\]", lambda match: "\\" + match.group(), text))


def regex_wildcards(pattern: str) -> list[str] | None:
    """A regular expression for a path or another literal value as wildcards, or None where they cannot say it."""
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
