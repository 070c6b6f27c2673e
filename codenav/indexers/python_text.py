"""Pieces of Python source as text: prototypes, docstrings and indentation."""

from __future__ import annotations

import re
from inspect import cleandoc

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
    joined = ""
    for line in source.split("\n"):
        line = line.strip().removesuffix("\\").rstrip()
        if not line:
            continue
        if line[0] in ")]}":
            joined = joined.removesuffix(",")
        elif joined and joined[-1] not in "([{":
            joined += " "
        joined += line
        if len(joined) > limit:
            break
    return joined if len(joined) <= limit else joined[: limit - 2] + " …"


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


def clean(docstring: str) -> str:
    """The same as `inspect.cleandoc`, in a third of the time if no line is just blanks."""
    if "\n" not in docstring and "\t" not in docstring:
        return docstring.lstrip(" ")
    whole = docstring.rstrip(" \n").lstrip(" ")
    if "\t" in docstring or " \n" in whole or whole[:1] in ("", "\n"):
        return cleandoc(docstring)
    margin = min(map(len, _MARGIN.findall(whole)), default=0)
    blanks = docstring[len(docstring.rstrip(" \n")) :]
    if blanks[:1] == " ":
        return cleandoc(docstring)
    if max(map(len, blanks.split("\n"))) > margin:
        return cleandoc(docstring)
    return whole.replace("\n" + " " * margin, "\n") if margin else whole


_MARGIN = re.compile(r"\n( *)(?=[^ \n])")


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
