"""What callables take and give, asked of the interpreter that will call them: the step, and reading its answer."""

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
    """What a callable takes."""

    name: str
    kind: str
    """As in `inspect.Parameter`: `POSITIONAL_ONLY`, `POSITIONAL_OR_KEYWORD`, `VAR_POSITIONAL`, `KEYWORD_ONLY`,
    `VAR_KEYWORD`."""
    required: bool
    type: str = ""
    """Annotation, else what the docstring says; empty where nothing does."""
    default: str = ""
    """Its repr."""
    text: str = ""
    """What the docstring says of it."""


_KEY = re.compile(r"\['([^']*)'\]$")


@dataclass(frozen=True)
class CallableSignature:
    """Something that can be called, as the interpreter sees it."""

    import_line: str
    expression: str
    """What to write: `area`, `Graph`, `Graph.add_node`."""
    kind: str
    """`function`, `class`, `method`, `property`, `object`; of a result at hand `member` and `value`."""
    owner: str = ""
    """Of a method: its class; of a member: the name of the result."""
    parameters: tuple[Parameter, ...] = ()
    """Without the receiver. Of something whose signature cannot be told: those that the docstring describes."""
    returns: str = ""
    """Annotation, else what the docstring says; of a class itself."""
    doc: str = ""
    module: str = ""
    bases: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        """The last part of the expression; of a dict's value its key."""
        key = _KEY.search(self.expression)
        return key[1] if key else self.expression.rpartition(".")[2]

    @property
    def required(self) -> list[Parameter]:
        """What must be given."""
        return [parameter for parameter in self.parameters if parameter.required]


@cache
def _script() -> str:
    return resources.files("codenav.signatures").joinpath("inside.py").read_text(encoding="utf-8")


def asking(question: Mapping[str, Any], *, first: bool) -> str:
    """The step that asks; see `inside.survey`. `first`: the asker is not there yet."""
    call = f"_codenav['survey']({json.dumps(question)}, globals())"
    if not first:
        return call
    return f"_codenav = {{'__name__': 'codenav.signatures.inside'}}\nexec({_script()!r}, _codenav)\n{call}"


@dataclass(frozen=True)
class Answers:
    """What the step printed."""

    items: tuple[CallableSignature, ...] = ()
    """What cannot be imported is left out."""
    failures: tuple[str, ...] = ()
    """Why some could not be imported, each reason once."""
    iterator: bool = False
    """Of an object that was asked about: whether it is one."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Of a package: in how many of its names each word is."""
    modules: tuple[str, ...] = ()
    """Of distributions: what they install that can be imported."""
    shown: str = ""
    """An object as a text, where it has one of its own."""


def answers(stdout: str) -> Answers:
    """Read the last one; whatever else was printed is passed over."""
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
"""Keywords of `**kwargs` that a docstring describes which are read."""


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
        # What is compiled may tell of the object that it is bound to.
        del parameters[0]
    if any(parameter.kind == "VAR_KEYWORD" for parameter in parameters):
        # What only the docstring says of them.
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
    """Of what has no signature: `area(geometry)` at the beginning of its docstring, else what it describes."""
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
