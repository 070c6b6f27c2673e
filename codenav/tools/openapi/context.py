"""Helpers that all readers of parts of an OpenAPI document share."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from codenav.tools.model import Scheme
from codenav.tools.references import TEXTS, Library, Place, Unresolved
from codenav.tools.schemas import Schemas

MOST_NOTES = 200
"""Sentences on repairs that are kept; the rest is counted."""


class LeftOut(Exception):
    """An operation that cannot be called: the message is the reason."""


@dataclass(slots=True)
class Context:
    """A specification while it is read."""

    library: Library
    version: str
    """`2.0`, `3.0`, `3.1` or `3.2`."""
    schemas: Schemas = field(init=False)
    notes: dict[str, None] = field(default_factory=dict)
    schemes: dict[str, Scheme] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.schemas = Schemas(self.library, self.version, self.note)

    @property
    def old(self) -> bool:
        """True for Swagger 2.0."""
        return self.version == "2.0"

    def note(self, text: str) -> None:
        """Keep a sentence on something that was repaired or left out."""
        self.notes[text] = None

    def kept_notes(self) -> list[str]:
        """The notes; very many of them are cut."""
        found = list(self.notes)
        more = len(found) - MOST_NOTES
        return [*found[:MOST_NOTES], f"{more:,} more repairs"] if more > 0 else found

    def resolve(self, place: Place, *, beside: Container[str] | None = TEXTS) -> Place:
        """The value at a place, references followed. `beside` as in `Library.resolve`.

        Raises:
            LeftOut: a reference leads nowhere.
        """
        try:
            return self.library.resolve(place, beside=beside)
        except Unresolved as error:
            raise LeftOut(f"{place.pointer}: {error}") from error

    def each(self, place: Place, key: str) -> Iterator[Place]:
        """The resolved items of a list; what is no object is noted and left out.

        Raises:
            LeftOut: it is no list, or a reference leads nowhere.
        """
        items = self.resolve(place.at(key))
        if items.value is None:
            return
        if not isinstance(items.value, list):
            raise LeftOut(f"{items.pointer}: is no list")
        for number in range(len(items.value)):
            item = self.resolve(items.at(number))
            if isinstance(item.value, Mapping):
                yield item
            else:
                self.note(f"{items.pointer}/{number}: is no object: left out")


def text_of(value: Any) -> str:
    """A text of the document without space around it; empty if it is none."""
    return value.strip() if isinstance(value, str) else ""


def first_line(text: str) -> str:
    """The first sentence of a description, for use as a title."""
    line = next((line.strip("#*> \t") for line in text.splitlines() if line.strip("#*> \t")), "")
    sentence, dot, _ = line.partition(". ")
    line = sentence + dot.strip()
    return line if len(line) <= 120 else f"{line[:117].rstrip()}…"


def flag(value: Any) -> bool:
    """A boolean, also one that was written as text."""
    return value is True or (isinstance(value, str) and value.lower() == "true")


def mapping_of(value: Any) -> Mapping[str, Any]:
    """A mapping, or an empty one in place of anything else."""
    return value if isinstance(value, Mapping) else {}


def example_of(context: Context, place: Place) -> Any:
    """The example of a parameter or media type: `example`, else the first of `examples`; None if there is none."""
    value = mapping_of(place.value)
    if "example" in value:
        try:
            return context.resolve(place.at("example")).value
        except LeftOut:
            # In an example a reference may be a text like any other.
            return value["example"]
    try:
        examples = context.resolve(place.at("examples"))
        if isinstance(examples.value, list):
            return next(iter(examples.value), None)
        for name in mapping_of(examples.value):
            item = mapping_of(context.resolve(examples.at(name)).value)
            found = [item[key] for key in ("value", "dataValue") if key in item]
            if found:
                return found[0]
    except LeftOut:
        pass
    return None
