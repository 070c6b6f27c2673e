"""The pieces of Python in documents and docstrings: doctest examples, code blocks of Markdown and reStructuredText."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from textwrap import dedent

_FENCE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*\{?[ \t]*(?:code-block|code-cell|code|sourcecode)?\}?[ \t]*"
    r"(?P<language>[\w.+-]*)[^\n]*\n(?P<code>.*?)^[ \t]*(?P=fence)[`~]*[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_DIRECTIVE = re.compile(
    r"^(?P<indent>[ \t]*)\.\.[ \t]+(?:code-block|code|sourcecode|ipython|plot|jupyter-execute|testcode)::[ \t]*"
    r"(?P<language>[\w.+-]*)[^\n]*\n(?P<code>(?:(?P=indent)[ \t]+[^\n]*(?:\n|\Z)|[ \t]*\n)+)",
    re.MULTILINE,
)
_OPTIONS = re.compile(r"\A(?:[ \t]*(?::[\w-]+:[^\n]*)?\n|[ \t]*@\w+[^\n]*\n)*")
_PYTHON = frozenset({"", "python", "python3", "py", "py3", "pycon", "python-repl", "ipython", "ipython3", "default"})
_PROMPT = re.compile(r"^[ \t]*>>> ", re.MULTILINE)
_IPYTHON = re.compile(r"^[ \t]*In \[\d*\]: (?P<first>[^\n]*)(?P<rest>(?:\n[ \t]*\.{3,}: ?[^\n]*)*)", re.MULTILINE)
_CONTINUED = re.compile(r"\n[ \t]*\.{3,}: ?")
_MAGIC = re.compile(r"^([ \t]*)([%!?@]|\w[\w.]*\?+$)", re.MULTILINE)
_PARSER = doctest.DocTestParser()
LONGEST = 200_000
"""Characters of a text that are looked at."""


def examples_in(text: str) -> list[str]:
    """The source of the doctest examples in a text, in order, without those that are expected to raise."""
    if not _PROMPT.search(text[:LONGEST]):
        return []
    try:
        found = _PARSER.get_examples(text[:LONGEST])
    except ValueError:
        # One example of the text is not indented evenly.
        return list(_evenly(text[:LONGEST]))
    return [example.source for example in found if example.exc_msg is None]


def _evenly(text: str) -> Iterator[str]:
    """The examples of the paragraphs that doctest can read."""
    for paragraph in re.split(r"\n[ \t]*\n", text):
        try:
            yield from (one.source for one in _PARSER.get_examples(paragraph + "\n") if one.exc_msg is None)
        except ValueError:
            continue


def snippets_in(text: str, language: str) -> list[str]:
    """The pieces of Python in a section of a document, in order."""
    text = text[:LONGEST]
    found: list[tuple[int, str]] = []
    blocks = _FENCE if language == "markdown" else _DIRECTIVE
    rest = text
    for match in blocks.finditer(text):
        rest = rest[: match.start()] + " " * (match.end() - match.start()) + rest[match.end() :]
        if match["language"].lower() in _PYTHON:
            found.append((match.start(), _code(match["code"], plain=bool(match["language"]))))
    if loose := _PROMPT.search(rest):
        found.append((loose.start(), "".join(examples_in(rest))))
    return [code for _, code in sorted(found) if code.strip()]


def _code(code: str, *, plain: bool) -> str:
    """The Python of a code block; `plain`: it says that it is Python, so that it need not have prompts."""
    if _PROMPT.search(code):
        return "".join(examples_in(code))
    typed = list(_IPYTHON.finditer(code))
    if typed:
        return "\n".join(match["first"] + _CONTINUED.sub("\n", match["rest"]) for match in typed) + "\n"
    return without_magic(dedent(_OPTIONS.sub("", code))) if plain or "\n" in code.strip() else ""


def without_magic(code: str) -> str:
    """The code with the lines that IPython reads itself as comments."""
    return _MAGIC.sub(r"\1# \2", code)
