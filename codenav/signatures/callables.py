"""Signatures of callables, asked of the interpreter that will call them: the step, and reading its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from codenav.signatures.docstrings import described_parameters, described_return
from codenav.signatures.inside import MARK


@dataclass(frozen=True)
class Parameter:
    """A parameter of a callable."""

    name: str
    kind: str
    """The kind as in `inspect.Parameter`: `POSITIONAL_ONLY`, `POSITIONAL_OR_KEYWORD`, `VAR_POSITIONAL`, `KEYWORD_ONLY`,
    `VAR_KEYWORD`."""
    required: bool
    type: str = ""
    """The annotation, else what the docstring says; empty where nothing does."""
    default: str = ""
    """The repr of its default."""
    text: str = ""
    """The docstring's words on it."""


_KEY = re.compile(r"\['([^']*)'\]$")


@dataclass(frozen=True)
class CallableSignature:
    """A callable or an object, as the interpreter sees it."""

    import_line: str
    expression: str
    """The Python to write: `area`, `Graph`, `Graph.add_node`."""
    kind: str
    """`function`, `class`, `method`, `property`, `object`; of a result at hand `member` and `value`."""
    owner: str = ""
    """The class of a method; the name of the result for a member."""
    parameters: tuple[Parameter, ...] = ()
    """The parameters without the receiver; where the signature cannot be told, those that the docstring describes."""
    returns: str = ""
    """The annotation, else what the docstring says; for a class its own name."""
    doc: str = ""
    module: str = ""
    bases: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        """The last part of the expression; for a dict's value its key."""
        key = _KEY.search(self.expression)
        return key[1] if key else self.expression.rpartition(".")[2]

    @property
    def required(self) -> list[Parameter]:
        """The parameters that must be given."""
        return [parameter for parameter in self.parameters if parameter.required]


@cache
def _script() -> str:
    return resources.files("codenav.signatures").joinpath("inside.py").read_text(encoding="utf-8")


def asking(question: Mapping[str, Any], *, first: bool) -> str:
    """The code of the step that asks; see `inside.survey`. `first`: the asker is not there yet."""
    call = f"_codenav['survey']({json.dumps(question)}, globals())"
    if not first:
        return call
    return f"_codenav = {{'__name__': 'codenav.signatures.inside'}}\nexec({_script()!r}, _codenav)\n{call}"


@dataclass(frozen=True)
class Answers:
    """The answers that the step printed."""

    items: tuple[CallableSignature, ...] = ()
    """The callables; one that cannot be imported is left out."""
    failures: tuple[str, ...] = ()
    """The reasons why some could not be imported, each once."""
    iterator: bool = False
    """True if the object that was asked about is an iterator."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """The number of names of a package that each word is in."""
    modules: tuple[str, ...] = ()
    """The modules that distributions install."""
    shown: str = ""
    """The text of an object, where it has one of its own."""


def answers(stdout: str) -> Answers:
    """Read the last answers in an output; whatever else was printed is passed over."""
    for line in reversed(stdout.splitlines()):
        if not line.startswith(MARK):
            continue
        try:
            told = json.loads(line.removeprefix(MARK))
            found: Sequence[tuple[str, str, Mapping[str, Any]]] = told["answers"]
        except (ValueError, KeyError, TypeError):
            continue
        return Answers(
            tuple(
                _callable(line, dotted, item)
                for line, dotted, item in found
                if "error" not in item and not item.get("abstract")
            ),
            tuple(dict.fromkeys(item["error"] for _, _, item in found if "error" in item)),
            bool(told.get("iterator")),
            told.get("counts", {}),
            tuple(told.get("modules", ())),
            str(told.get("shown", "")),
        )
    return Answers()


MOST_DESCRIBED = 20
"""Maximum number of keywords of `**kwargs` that are read from a docstring's description."""


def _callable(import_line: str, expression: str, told: Mapping[str, Any]) -> CallableSignature:
    described = described_parameters(told["doc"])
    parameters = [
        Parameter(
            name,
            kind,
            required and not kind.startswith("VAR_"),
            note or described.get(name, ("", ""))[0],
            default,
            described.get(name, ("", ""))[1],
        )
        for name, kind, required, note, default in told["parameters"]
    ]
    if not told["known"]:
        parameters = list(_from_docstring(expression, told["doc"], described)) or [
            Parameter("args", "VAR_POSITIONAL", False)
        ]
    if "." in expression and parameters and parameters[0].name in ("self", "cls") and parameters[0].required:
        # Compiled code may tell of the object that it is bound to.
        del parameters[0]
    if any(parameter.kind == "VAR_KEYWORD" for parameter in parameters):
        # Keywords that only the docstring describes.
        taken = {parameter.name for parameter in parameters}
        more = [name for name in described if name not in taken and name.isidentifier()][:MOST_DESCRIBED]
        parameters[-1:-1] = [
            Parameter(name, "KEYWORD_ONLY", False, described[name][0], "", described[name][1]) for name in more
        ]
    owner = expression.rpartition(".")[0] if told["kind"] in ("method", "property", "member", "value") else ""
    if "key" in told:
        owner = expression.partition("[")[0]
    own = expression.rpartition(".")[2]
    returns = own if told["kind"] == "class" else told["returns"] or described_return(told["doc"])
    return CallableSignature(
        import_line=import_line,
        expression=expression,
        kind=told["kind"],
        owner=owner.rpartition(".")[2].partition("[")[0],
        parameters=tuple(parameters),
        returns=told["type"] if told["kind"] == "object" else returns,
        doc=told["doc"],
        module=told["module"],
        bases=tuple(told["bases"]),
    )


def _from_docstring(expression: str, doc: str, described: Mapping[str, tuple[str, str]]) -> Iterable[Parameter]:
    """The parameters of what has no signature: of `area(geometry)` in its docstring, else those that it describes."""
    match = re.search(rf"\b{re.escape(expression.rpartition('.')[2])}\(([^()]*)\)", doc[:400])
    if match is None:
        names: list[tuple[str, str | None]] = [(name, None) for name in described]
    else:
        names = []
        for piece in filter(None, (piece.strip() for piece in match[1].replace("[", "").replace("]", "").split(","))):
            name, _, default = (part.strip() for part in piece.partition("="))
            names.append((name.split(":")[0].strip(), default or None))
    marks = [name for name, _ in names]
    for place, (name, default) in enumerate(names):
        if name.isidentifier():
            type_, text = described.get(name, ("", ""))
            kind = (
                "POSITIONAL_ONLY" if "/" in marks[place:] else
                "KEYWORD_ONLY" if "*" in marks[:place] else
                "POSITIONAL_OR_KEYWORD"
            )  # fmt: skip
            yield Parameter(name, kind, default is None, type_, default or "", text)
