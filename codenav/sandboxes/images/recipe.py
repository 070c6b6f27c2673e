"""What an image is made from, and what has become of it."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codenav.errors import UsageError
from codenav.sandboxes.images.code import CodeBase

_TAG = re.compile(r"([a-z0-9.-]+(:\d+)?/)?[a-z0-9]+([._/-]+[a-z0-9]+)*(:\w[\w.-]{0,127})?")


@dataclass(frozen=True)
class Recipe:
    """What an image is made from."""

    base: str
    """Name or id of the image to begin with."""
    code: Sequence[CodeBase] = ()
    packages: Sequence[str] = ()
    """`NAME==VERSION`, of sources that are installed packages."""
    requirements: Sequence[Path] = ()
    """Files; empty takes what the code bases state themselves."""
    apt: Sequence[str] = ()
    tag: str = ""
    """Empty makes one of the sources' names."""
    network: str = "bridge"
    """Of pip and apt-get: `bridge`, `host`, or another network of the engine."""

    @property
    def sources(self) -> list[str]:
        """As in the label `codenav.sources`."""
        return sorted({*(one.source for one in self.code), *(f"pkg:{one}" for one in self.packages)})

    def named(self) -> str:
        """The name that the image gets.

        Raises:
            UsageError: it is none.
        """
        if self.tag:
            if not _TAG.fullmatch(self.tag):
                raise UsageError(f"{self.tag!r} is no name of an image", hint="--tag NAME or --tag NAME:VERSION")
            return self.tag
        first = self.code[0].name if self.code else self.packages[0].partition("==")[0]
        slug = re.sub(r"[^a-z0-9]+", "-", first.lower()).strip("-")[:40] or "code"
        return f"codenav/{slug}:{self.key}"

    @property
    def key(self) -> str:
        """Short, and of these sources only."""
        return hashlib.sha256(os.fsencode("\n".join(self.sources))).hexdigest()[:8]


@dataclass(frozen=True)
class BuiltImage:
    """An image for a recipe."""

    image: str
    """Its name."""
    id: str
    built: bool
    """False where it was there."""
    base: str
    sources: Sequence[str]
    python: str
    packages: Sequence[str]
    """`NAME==VERSION`, as installed beside what the base has."""
    requirements: Sequence[str]
    """Files that the requirements were read from."""
    left_out: Sequence[str]
    """Links that lead out of their code base, and special files."""
    size_bytes: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """As in `--json`."""
        return {
            "image": self.image,
            "id": self.id,
            "built": self.built,
            "base": self.base,
            "sources": list(self.sources),
            "python": self.python,
            "packages": list(self.packages),
            "requirements": list(self.requirements),
            "left_out": list(self.left_out),
            "size_bytes": self.size_bytes,
            "seconds": round(self.seconds, 3),
        }
