"""Which callables may give what a parameter takes."""

from __future__ import annotations

import re
from functools import lru_cache

from codenav.planner.finding import Meaning
from codenav.planner.literals import Kind
from codenav.planner.reading import Clause
from codenav.planner.words import segmented
from codenav.planner.writing import Value
from codenav.signatures.callables import CallableSignature, Parameter
from codenav.signatures.names import parts

_SAYS_LITTLE = frozenset(("is", "use", "with", "as", "do", "allow", "keep", "include", "should", "in", "of", "the"))


_LEAVES_OUT = frozenset(("skip", "ignore", "no", "drop", "strip", "omit", "exclude", "without", "remove", "hide"))
"""First words in the names of parameters that leave something out where they are true."""


def said_flags(item: CallableSignature, clause: Clause, meaning: Meaning) -> list[tuple[Parameter, Value]]:
    """What a clause says of parameters that are true or false: `in binary units`, `do not check the spelling`."""
    found = []
    for parameter in item.parameters:
        if parameter.required or parameter.default not in ("True", "False"):
            continue
        own = [part for part in parts(parameter.name) if part not in _SAYS_LITTLE]
        words = [meaning.nearest(part) for part in own]
        leaves_out = own[:1] and own[0] in _LEAVES_OUT and not words[0]
        if leaves_out:
            own, words = own[1:], words[1:]
        if not own or not all(words) or all(meaning.in_name(item)[word] for word in words):
            continue
        at = min(clause.bare.lower().find(word) for word in words)
        negated = bool(re.search(clause.known.patterns["without"], clause.bare[: max(at, 0)], re.IGNORECASE))
        # `without comments`: `comments=False`, and `skip_comments=True`.
        is_so = negated if leaves_out else not negated
        if is_so != (parameter.default == "True"):
            found.append((parameter, Value(str(is_so), "bool", words=frozenset(words))))
    return found


_SHAPES = (
    (Kind.DATE, r"", ("iso", "isoformat", "date", "datetime", "str", "string", "text")),
    (Kind.FILE, r"", ("file", "filename", "path", "disk")),
    (Kind.NUMBER, r"", ("int", "integer", "number", "float", "value", "id")),
    (Kind.COLLECTION, r"^\{", ("dict", "mapping", "json")),
    (Kind.COLLECTION, r"^[\[(]", ("list", "tuple", "array", "sequence", "iterable", "points", "records", "items")),
    (Kind.TEXT, r"^.?#?[0-9a-fA-F]{4,}.$", ("hex", "hexadecimal")),
    (Kind.TEXT, r"://", ("url", "uri")),
    (Kind.TEXT, r"^.\s*<", ("html", "xml", "markup")),
    (Kind.TEXT, r"^.\s*[\[{]", ("json",)),
    (Kind.TEXT, r"", ("str", "string", "text", "name", "parse")),
)
"""Of a kind of literal that looks so: the words that the names of what reads it have."""
_FORMS = frozenset(word for *_, words in _SHAPES for word in words) | {
    "bytes", "buffer", "timestamp", "ordinal", "uuid", "stream", "csv", "yaml", "pickle", "fp", "dataframe", "numpy"
}  # fmt: skip


@lru_cache(maxsize=10_000)
def _forms_in(name: str) -> frozenset[str]:
    return frozenset(segmented(name, _FORMS)) & _FORMS


def reads(item: CallableSignature, value: Value) -> int:
    """1 where a callable's name says that it makes something of such a literal, -1 where it says of something else."""
    if value.literal is None:
        return 0
    literal = value.literal
    own = _forms_in(item.name)
    # What the request calls the literal: `the hex string`, `with the id 7`.
    shapes = {*literal.before[:2], literal.text.rpartition(".")[2].lower() if literal.kind is Kind.FILE else ""}
    for kind, looks, words in _SHAPES:
        if literal.kind is kind and re.search(looks, literal.code):
            shapes.update(words)
    return 0 if not own else 1 if own & shapes else -1
