"""Which callables may give what a parameter takes."""

from __future__ import annotations

import re

from codenav.planner.survey import Callable_, Parameter
from codenav.planner.words import parts, stem

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
