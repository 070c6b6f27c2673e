"""The recipe of an image, and the description of a built one."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from codenav.core.errors import UsageError
from codenav.core.system.stored import Document
from codenav.sandboxes.images.code import CodeBase

_TAG = re.compile(r"([a-z0-9.-]+(:\d+)?/)?[a-z0-9]+([._/-]+[a-z0-9]+)*(:\w[\w.-]{0,127})?")


@dataclass(frozen=True)
class Recipe:
    """The ingredients of an image."""

    base: str
    """Name or id of the base image."""
    code: Sequence[CodeBase] = ()
    packages: Sequence[str] = ()
    """Installed packages to include, each as `NAME==VERSION`."""
    requirements: Sequence[Path] = ()
    """Requirements files. If empty, the code bases' own statements are used."""
    apt: Sequence[str] = ()
    tag: str = ""
    """Name of the image. If empty, it is derived from the sources."""
    network: str = "bridge"
    """Network of pip and apt-get: `bridge`, `host`, or another network of the engine."""

    @property
    def sources(self) -> list[str]:
        """The sources in the form of the label `codenav.sources`."""
        return sorted({*(one.source for one in self.code), *(f"pkg:{one}" for one in self.packages)})

    def named(self) -> str:
        """Return the name that the image gets.

        Raises:
            UsageError: it is not a valid name.
        """
        if self.tag:
            if not _TAG.fullmatch(self.tag):
                raise UsageError(f"{self.tag!r} is not the name of an image", hint="--tag NAME or --tag NAME:VERSION")
            return self.tag
        first = self.code[0].name if self.code else self.packages[0].partition("==")[0]
        slug = re.sub(r"[^a-z0-9]+", "-", first.lower()).strip("-")[:40] or "code"
        return f"codenav/{slug}:{self.key}"

    @property
    def key(self) -> str:
        """A short hash of the sources."""
        return hashlib.sha256(os.fsencode("\n".join(self.sources))).hexdigest()[:8]


@dataclass(frozen=True)
class BuiltImage(Document):
    """The description of an image built for a recipe."""

    image: str
    """Its name."""
    id: str
    built: bool
    """False if the image already existed."""
    base: str
    sources: Sequence[str]
    python: str
    packages: Sequence[str]
    """`NAME==VERSION` of each package installed in addition to those of the base."""
    requirements: Sequence[str]
    """Files that the requirements were read from."""
    left_out: Sequence[str]
    """Special files, and links that lead out of their code base."""
    size_bytes: int
    seconds: float

    digits: ClassVar[Mapping[str, int]] = {"seconds": 3}
