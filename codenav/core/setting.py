"""The definition of an option: a field of an options class, and made from it keyword, key, variable and long option."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from typing import Any, TypeVar

from codenav.core.errors import UsageError

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
_SIZES = {"": 1, "b": 1, "k": KIB, "m": MIB, "g": GIB}
SMALLEST, DAY, LARGEST = 1e-3, 86_400.0, 2**63 - 1
_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_KINDS = {
    "text": "a text",
    "whole": "a whole number",
    "number": "a number",
    "switch": "true or false",
    "list": "a list of texts",
    "size": "a size such as 512m or 2g",
}


@dataclass(frozen=True)
class Setting:
    """An option: `Setting("…", key="rerank.top")` is `--set rerank.top=`, `rerank_top=` and `top` below `[rerank]`."""

    help: str
    """What it is, in a sentence or two, for the help page and the reference."""
    key: str = ""
    """Key of the configuration file, with its section before a dot. Default: the name of the field."""
    metavar: str = ""
    """Stands for the value in the help of its option."""
    choices: Sequence[str] = ()
    least: float | None = None
    """Lowest value. One between 0 and 1 stands for all above 0."""
    most: float | None = None
    unit: str = ""
    """Unit of a number: `seconds`, `characters`."""
    zero: str = ""
    """Meaning of 0, where it has one of its own."""
    usual: Any = None
    """Default where the field's own, which is empty, stands for the configured value."""
    unset: str = ""
    """What an empty default comes to, in words."""
    secret: bool = False
    """True for a value that no command line should show."""
    configured: bool = True
    """False for what belongs to one run alone: it has no key and no variable."""
    kind: str = ""
    """One of text, whole, number, switch, list, size. Default: by the type of the field."""
    attribute: str = ""
    """Name of the field."""

    @property
    def keyword(self) -> str:
        """The keyword in Python."""
        return self.key.replace(".", "_")

    @property
    def option(self) -> str:
        """The long option of the command line."""
        return f"--{self.keyword.replace('_', '-')}"

    @property
    def variable(self) -> str:
        """The variable of the environment."""
        return f"CODENAV_{self.keyword.upper()}"

    @property
    def default(self) -> str:
        """The default, as a person would write it."""
        value = self.usual
        if isinstance(value, bool):
            return "yes" if value else "no"
        if self.unset or value is None or isinstance(value, tuple) or value == "":
            return self.unset or "none"
        if self.kind == "size":
            return size_of(value)
        return f"{value:g}" if isinstance(value, float) else str(value)

    @property
    def range(self) -> str:
        """The possible values in words, such as `above 0 and at most 86400 seconds`; empty if there is no bound."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.least is None:
            return ""
        low = "above 0" if 0 < self.least < 1 else f"at least {self.least:g}"
        low = f"0 ({self.zero}) or above" if self.zero else low
        return low if self.most is None else f"{low} and at most {f'{self.most:.0f} {self.unit}'.strip()}"

    def parse(self, value: Any, where: str) -> Any:
        """The value of a text, or of the configuration file.

        Raises:
            UsageError: it has another type, or is out of range.
        """
        name = where if where == self.option else f"{self.key} in {where}"
        try:
            found = self._converted(value)
        except (TypeError, ValueError, KeyError, AttributeError):
            raise UsageError(f"{name} is not {_KINDS[self.kind]}: {value!r}", hint=self._hint) from None
        if found == "" and self.usual is None:
            return None
        self.check(found, name, value)
        return found

    def check(self, value: Any, name: str = "", shown: Any = None) -> None:
        """Check a value of the right type.

        Raises:
            UsageError: it is out of range.
        """
        if isinstance(value, str):
            wrong = self.choices and value not in self.choices
        else:
            low, high = -LARGEST if self.least is None else self.least, LARGEST if self.most is None else self.most
            wrong = self.kind in ("whole", "number", "size") and not low <= value <= high
        if wrong:
            shown = value if shown is None else shown
            raise UsageError(f"{name or self.keyword} must be {self.range}: {shown}", hint=self._hint)

    def keyword_value(self, value: Any) -> Any:
        """The value of a keyword in Python: one thing may stand for a list of it, and a text for a size."""
        if self.kind == "list" and (isinstance(value, str) or not isinstance(value, Sequence | Mapping)):
            return [value]
        return bytes_of(str(value)) if self.kind == "size" else value

    @property
    def _hint(self) -> str:
        return f"{self.key} is {self.range or _KINDS[self.kind]}; the default is {self.default}"

    def _converted(self, value: Any) -> Any:
        if self.kind == "switch":
            return value if isinstance(value, bool) else _TRUTHS[value.lower()]
        if self.kind == "list":
            return [*map(_text, value.split(",") if isinstance(value, str) else value)]
        if self.kind in ("text", "size"):
            return _text(value) if self.kind == "text" else bytes_of(str(value))
        if isinstance(value, bool) or (self.kind == "whole" and isinstance(value, float)):
            raise ValueError
        found = int(value) if self.kind == "whole" else float(value)
        return found


def setting(default: Any, help: str, **more: Any) -> Any:
    """Make a field of an options class that is an option: the parameters are those of `Setting`."""
    made = Setting(help, **more)
    metadata = {"setting": made}
    if isinstance(default, type):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, repr=not made.secret, metadata=metadata)


@functools.cache
def settings_of(kind: Any) -> Mapping[str, Setting]:
    """The settings of an options class by their keywords."""
    found = {}
    for item in fields(kind):
        if one := item.metadata.get("setting"):
            whole = replace(
                one,
                key=one.key or item.name,
                attribute=item.name,
                kind=one.kind or _kind(item),
                usual=one.usual if one.usual is not None or item.default is MISSING else item.default,
            )
            found[whole.keyword] = whole
    return found


def keywords_of(kind: Any) -> list[str]:
    """The keywords of an options class: those of its settings, and the fields that only Python can give."""
    return [*settings_of(kind), *(item.name for item in fields(kind) if not item.metadata.get("setting"))]


Options = TypeVar("Options")


def updated(base: Options, keywords: dict[str, Any]) -> Options:
    """Options with the keywords of their class in place of values. These are removed; None leaves a value alone.

    Raises:
        UsageError: a number is out of range, or a text is no size.
    """
    kind: Any = type(base)
    known, found = settings_of(kind), {}
    for name in keywords_of(kind):
        value = keywords.pop(name, None)
        if value is not None and name not in known:
            found[name] = value
        elif value is not None:
            one = known[name]
            found[one.attribute] = one.keyword_value(value)
            if one.kind in ("whole", "number") and not isinstance(value, str):
                one.check(value)
    made: Options = replace(base, **found)  # type: ignore[type-var]
    return made


def filled(given: Options, configured: Options) -> Options:
    """Options whose empty values (None, "", ()) are replaced by configured ones."""
    empty = [item.name for item in fields(given) if getattr(given, item.name) in (None, "", ())]  # type: ignore[arg-type]
    made: Options = replace(given, **{name: getattr(configured, name) for name in empty})  # type: ignore[type-var]
    return made


def check_ranges(options: Any) -> None:
    """Check each setting of an options object.

    Raises:
        UsageError: a value is out of range.
    """
    kind: Any = type(options)
    for one in settings_of(kind).values():
        value = getattr(options, one.attribute)
        if value is not None and value != "":
            one.check(value)


def _kind(item: Field[Any]) -> str:
    """The kind of a setting by the type that its field is annotated with."""
    first = str(item.type).split(" | ")[0].split("[")[0]
    return {"int": "whole", "float": "number", "bool": "switch", "Sequence": "list"}.get(first, "text")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def bytes_of(size: str) -> int:
    """Parse `2g`, `512m`, `1.5GiB` or a plain number of bytes. Units are powers of 1024.

    Raises:
        UsageError: it is not a size.
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([kmg]?)(?:i?b)?", size.strip().lower())
    if match is None:
        raise UsageError(f"{size!r} is not a size", hint="such as 512m or 2g")
    return int(float(match[1]) * _SIZES[match[2]])


def size_of(number: int) -> str:
    """Format a number of bytes for `bytes_of`: `2g` for 2 GiB."""
    unit = next((unit for unit in "gmk" if number % _SIZES[unit] == 0), "")
    return f"{number // _SIZES[unit]}{unit}"
