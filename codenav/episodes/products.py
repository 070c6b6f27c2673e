"""The outputs of an episode: the files and pictures that its code made, and the variables that its answer rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codenav.core.actions import CodeObservation, Step
from codenav.core.system.stored import Stored
from codenav.episodes.code import Flow

PICTURES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp"})
TABLES = frozenset({"DataFrame", "Series", "ndarray"})
NO_DATA = frozenset({"function", "module", "type"})
LAST_VALUE = "_"
"""The name that holds the value of the last bare expression, as in Python's own prompt."""


@dataclass(frozen=True)
class Product(Stored):
    """A file, a picture or a value that an episode made."""

    name: str
    kind: str
    """`file`, `picture`, `display` (HTML, Markdown, LaTeX, JSON), `table` or `value`."""
    type: str
    """The media type of what was displayed, the Python type of a value; empty for a file."""
    path: str
    """The path of a file on the host; empty for what is in the record or in the sandbox alone."""
    step: int


def products(steps: Sequence[Step], work_dir: str) -> list[Product]:
    """The outputs of an episode: files by name, displays by step, and the variables that the answer rests on."""
    found: dict[str, Product] = {}
    for step in steps:
        if not isinstance(step.observation, CodeObservation):
            continue
        ran = step.observation.execution
        for name in ran.files:
            kind = "picture" if Path(name).suffix.lower() in PICTURES else "file"
            found[name] = Product(name, kind, "", str(Path(work_dir, name)), step.number)
        for number, shown in enumerate(ran.displays, start=1):
            name, kind = f"step {step.number}, {number}", "picture" if shown.mime.startswith("image/") else "display"
            found[name] = Product(name, kind, shown.mime, "", step.number)
    return [*found.values(), *basis(steps)[0].values()]


def basis(steps: Sequence[Step]) -> tuple[Mapping[str, Product], str]:
    """The variables by name that the last step with a result showed, else bound; and what that step printed."""
    variables: dict[str, Product] = {}
    names, printed = list[str](), ""
    for step in steps:
        if not isinstance(step.observation, CodeObservation) or not step.observation.ok:
            continue
        ran = step.observation.execution
        bound = [(one.name, one.type) for one in ran.changed if one.type not in NO_DATA]
        for name, kind in [*bound, *([(LAST_VALUE, ran.value.type)] if ran.value else [])]:
            variables[name] = Product(name, "table" if kind in TABLES else "value", kind, "", step.number)
        if ran.value or ran.stdout.strip():
            shows = [one.uses - one.binds for one in Flow.of([step.action.content]).statements if one.prints]
            used = [sorted(name for name in uses if name in variables) for uses in reversed(shows)]
            names, printed = [LAST_VALUE] if ran.value else next(filter(None, used), []), ran.stdout
        elif bound:
            names, printed = [bound[-1][0]], ""
    return {name: variables[name] for name in names}, printed
