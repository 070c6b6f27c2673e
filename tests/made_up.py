"""Callables and values for tests of the planner, in the form that the survey and the reader give."""

from __future__ import annotations

from codenav.planner.reading import read
from codenav.planner.relevance import Meaning
from codenav.planner.values import Value
from codenav.signatures.callables import CallableSignature, Parameter


def function(name: str, *parameters: Parameter, doc: str = "", module: str = "m") -> CallableSignature:
    return CallableSignature(
        f"from {module} import {name}", name, "function", parameters=parameters, doc=doc, module=module
    )


def needs(name: str, type_: str = "") -> Parameter:
    return Parameter(name, "POSITIONAL_OR_KEYWORD", True, type_)


def takes(name: str, default: str, type_: str = "") -> Parameter:
    return Parameter(name, "POSITIONAL_OR_KEYWORD", False, type_, default)


def values(text: str, *files: str) -> list[Value]:
    """The literals of a request, as single values and as lists of adjacent ones."""
    clauses = read(text, files=files)
    found = [Value.of(literal) for clause in clauses for literal in clause.literals]
    return found + [Value.group(group) for clause in clauses for group in clause.groups]


def meaning(*words: str, whether: bool = False, **counts: int) -> Meaning:
    return Meaning(words, counts=counts, whether=whether)
