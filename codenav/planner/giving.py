"""Which callables may give what a parameter takes."""

from __future__ import annotations

import re

from codenav.planner.finding import Meaning
from codenav.planner.reading import Clause
from codenav.planner.survey import Callable_, Parameter
from codenav.planner.words import parts, stem
from codenav.planner.writing import Value

BUILTIN = frozenset(("str", "int", "float", "bool", "list", "tuple", "dict", "set", "bytes", "complex", "NoneType"))
"""Types whose values come from anywhere: that a parameter takes one says nothing of where it comes from."""


_CONTAINER = re.compile(
    r"(?:typing\.|collections\.abc\.)?\b(?:Dict|List|Tuple|Set|dict|list|tuple|set|Mapping|Sequence|Iterable)\[.*\]"
)
"""What a container holds says nothing of where it comes from."""
_SAYS_NOTHING = frozenset(
    ("optional", "union", "none", "any", "callable", "or", "of", "a", "an", "the", "default", "like", "self", "object",
     "numpy", "np", "instance", "type", "typing")
)  # fmt: skip


def type_words(parameter: Parameter) -> list[str]:
    """The words of a parameter's type that tell where a value may come from, else those of its name."""
    outer = _CONTAINER.sub("", parameter.type)
    words = [word for word in parts(outer) if word not in _SAYS_NOTHING and word not in BUILTIN]
    return list(dict.fromkeys(words)) or parts(parameter.name)


def likely_gives(item: Callable_, parameter: Parameter) -> float:
    """How likely a callable gives what a parameter takes, 0 to 1: by what it returns, its bases, its name."""
    wanted = {stem(word) for word in type_words(parameter)}
    if wanted & {stem(word) for word in parts(item.returns)}:
        return 1.0
    if wanted & {stem(word) for base in item.bases for word in parts(base)}:
        return 0.8
    if wanted & {stem(word) for word in parts(item.name)}:
        return 0.7
    return 0.1 if item.kind == "class" else 0.0 if item.returns else 0.3


_SAYS_LITTLE = frozenset(("is", "use", "with", "as", "do", "allow", "keep", "include", "should", "in", "of", "the"))


def said_flags(item: Callable_, clause: Clause, meaning: Meaning) -> list[tuple[Parameter, Value]]:
    """What a clause says of parameters that are true or false: `in binary units`, `do not check the spelling`."""
    found = []
    for parameter in item.parameters:
        if parameter.required or parameter.default not in ("True", "False"):
            continue
        own = [part for part in parts(parameter.name) if part not in _SAYS_LITTLE]
        words = [meaning.nearest(part) for part in own]
        if not own or not all(words) or all(meaning.in_name(item)[word] for word in words):
            continue
        at = min(clause.text.lower().find(word) for word in words)
        negated = bool(re.search(clause.known.patterns["without"], clause.text[: max(at, 0)], re.IGNORECASE))
        if negated == (parameter.default == "True"):
            found.append((parameter, Value(str(not negated), "bool", words=frozenset(words))))
    return found
