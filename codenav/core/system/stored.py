"""Dataclasses that convert to JSON types and back."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from typing import Any, ClassVar, Self

Makers = Mapping[str, Callable[[Any], Any]]


class Document:
    """Base class of dataclasses whose fields are their JSON form."""

    __slots__ = ()
    stored: ClassVar[Sequence[str]] = ()
    """The names in the JSON form, in order, where they are not just those of the fields: properties may be among them.
    """
    digits: ClassVar[Mapping[str, int]] = {}
    """Digits after the point of numbers that are rounded."""

    forms: ClassVar[Makers] = {}
    """Functions that make the JSON form of a field, for fields whose type does not tell it."""

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON types."""
        names = self.stored or _names(type(self))
        found = {name: self.forms.get(name, _plain)(getattr(self, name)) for name in names}
        return {**found, **{name: round(found[name], digits) for name, digits in self.digits.items()}}


class Stored(Document):
    """Base class of dataclasses that are restored from their JSON form, too."""

    __slots__ = ()
    made: ClassVar[Makers] = {}
    """Functions that restore a field from its JSON, for fields that differ from it."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Restore from JSON types. Unknown keys are ignored; fields with a default may be missing."""
        found = {name: data[name] for name in _names(cls) if name in data}
        return cls(**{name: cls.made[name](value) if name in cls.made else value for name, value in found.items()})


def all_of(kind: type[Stored]) -> Callable[[Any], Any]:
    """Make a function that restores a sequence of a class."""
    return lambda items: tuple(map(kind.from_dict, items))


def any_of(kind: type[Stored]) -> Callable[[Any], Any]:
    """Make a function that restores an object of a class, or None."""
    return lambda item: kind.from_dict(item) if item else None


def _names(kind: Any) -> Sequence[str]:
    return [field.name for field in fields(kind)]


def _plain(value: Any) -> Any:
    if isinstance(value, Document):
        return value.to_dict()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: item.to_dict() if isinstance(item, Document) else item for key, item in value.items()}
    return value.value if isinstance(value, StrEnum) else value
