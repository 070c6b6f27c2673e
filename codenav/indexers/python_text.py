"""Pieces of Python source as text: prototypes, docstrings, indentation, and expressions in formatted strings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

STRING = "\x01"
"""The character that strings are filled with."""

SIGNATURE_CHARACTERS = 2_000
"""A longer prototype is cut: it is a table of defaults. The longest in networkx has 700 characters, in sympy 900."""

_STRING_OR_COMMENT = re.compile(
    r'(?P<keep>"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|\#[^\n]*',
    re.DOTALL,
)
_LITERAL = re.compile(r"(?P<prefix>[rRuU]?)(?P<quote>\"\"\"|'''|\"|')(?P<content>.*)(?P=quote)", re.DOTALL)
_ESCAPE = re.compile(r"\\(\n|[\\'\"abfnrtv]|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})")
_ESCAPED = {"\n": "", "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def one_line(source: str, limit: int = SIGNATURE_CHARACTERS) -> str:
    """Source of several lines joined into one, without comments: `def f(a: int = 1, *, b) -> str`."""
    if "\n" not in source and "#" not in source and len(source) <= limit:
        return source.strip().removesuffix("\\").rstrip()
    if "#" in source:
        source = _STRING_OR_COMMENT.sub(lambda found: found.group("keep") or "", source)
    return cut(join_lines(source.split("\n"), limit, opening="([{", closing=")]}"), limit)


def join_lines(lines: Iterable[str], limit: int, *, opening: str, closing: str) -> str:
    """Lines joined by blanks, without one inside of brackets, up to the line that exceeds `limit` characters."""
    joined = ""
    for line in lines:
        line = line.strip().removesuffix("\\").rstrip()
        if not line:
            continue
        if line[0] in closing:
            joined = joined.removesuffix(",")
        elif joined and joined[-1] not in opening:
            joined += " "
        joined += line
        if len(joined) > limit:
            break
    return joined


def cut(text: str, limit: int) -> str:
    """A text of at most `limit` characters, with ` …` in place of the rest."""
    return text if len(text) <= limit else text[: limit - 2] + " …"


def literal_text(source: str) -> str | None:
    """The value of a plain string literal; None for bytes, f-strings and anything else.

    Read without `ast.literal_eval`, which warns of escapes such as `\\d`.
    """
    found = _LITERAL.fullmatch(source.strip())
    if found is None:
        return None
    content = found.group("content")
    if "\\" in content and found.group("prefix") not in ("r", "R"):
        content = _ESCAPE.sub(_unescape, content)
    return content


def _unescape(found: re.Match[str]) -> str:
    code = found.group(1)
    if code in _ESCAPED:
        return _ESCAPED[code]
    if code[0] in "xuU":
        number = int(code[1:], 16)
    elif code[0].isdigit():
        number = int(code, 8)
    else:
        return code
    # Half of a surrogate pair cannot be stored as text.
    return "\N{REPLACEMENT CHARACTER}" if number > 0x10FFFF or 0xD800 <= number < 0xE000 else chr(number)


def dedent(source: str, indent: str) -> str:
    """The source without `indent` on the lines after the first, if all of them have it (a string inside may not)."""
    if not indent or "\n" not in source:
        return source
    if source.count("\n" + indent) + source.count("\n\n") == source.count("\n"):
        return source.replace("\n" + indent, "\n")
    lines = source.split("\n")
    if all(line.startswith(indent) or not line.strip() for line in lines[1:]):
        return "\n".join([lines[0], *(line.removeprefix(indent) if line.strip() else "" for line in lines[1:])])
    return indent + source


_FIELD_MARK = re.compile(r"\{\{|\}\}|\\N\{[^}]*\}|[{}]")
_EXPRESSION_MARK = re.compile(r"[bBrRuU]?(?:'[^'\n]*'|\"[^\"\n]*\")|[{}()\[\]:]")


def expressions(token: str) -> Iterator[tuple[int, str]]:
    """Start of each expression in the braces of a string, and its text without strings."""
    depths: list[int] = []
    at, begin, plain = 0, 0, True
    masked: list[str] = []
    while mark := (_FIELD_MARK if plain else _EXPRESSION_MARK).search(token, at):
        kind, start, at = mark.group(), mark.start(), mark.end()
        if plain:
            if kind == "}}" and depths:
                # The end of a field, and of the one whose format it belongs to.
                kind, at = "}", at - 1
            if kind == "{":
                depths.append(0)
                begin, plain = at, False
                masked = []
            elif kind == "}" and depths:
                depths.pop()
        elif len(kind) > 1:
            masked += token[begin + sum(map(len, masked)) : start], STRING * len(kind)
            if token[start - 1] in "fFtT":
                yield from ((start + first, text) for first, text in expressions(kind))
        elif kind in "([{":
            depths[-1] += 1
        elif depths[-1] and kind in ")]}":
            depths[-1] -= 1
        elif kind in ":}" and not depths[-1]:
            masked.append(token[begin + sum(map(len, masked)) : start])
            yield begin, "".join(masked)
            plain = True
            if kind == "}":
                depths.pop()
