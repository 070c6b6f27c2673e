"""Names of tool sources: `openapi:FILE|URL`, `mcp:COMMAND|URL`, `tools:FILE|URL`."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from codenav.core.errors import UsageError

FORMS = {
    "openapi": "openapi:FILE or openapi:http://HOST/openapi.json",
    "mcp": "mcp:'COMMAND ARGUMENT…' or mcp:http://HOST/mcp",
    "tools": "tools:FILE or tools:http://HOST/FILE",
}
PREFIXES = tuple(f"{kind}:" for kind in FORMS)
_URL = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a specification."""

    kind: str
    """`openapi`, `mcp` or `tools`."""
    where: str
    """A URL, an absolute path, or a command in the words of a shell."""

    @property
    def name(self) -> str:
        """The source as it can be typed in any folder."""
        return f"{self.kind}:{self.where}"

    @property
    def file(self) -> Path | None:
        """The file; None for a URL or a command."""
        return None if self.kind == "mcp" or _URL.match(self.where) else Path(self.where)

    @property
    def readable(self) -> str:
        """A short name for people: that of the file, the host or the program."""
        if _URL.match(self.where):
            return urlsplit(self.where).hostname or self.kind
        if self.kind == "mcp":
            words = shlex.split(self.where)
            return Path(words[-1]).name or self.kind
        return Path(self.where).name

    def key(self) -> str:
        """The name of its folder in the cache, and of its index: readable and unique."""
        slug = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{self.kind}-{self.readable}").strip(".-")[:56]
        return f"{slug}-{hashlib.blake2b(os.fsencode(self.name), digest_size=8).hexdigest()}"


def is_tools(spec: str) -> bool:
    """True if a source is one of tools."""
    return spec.startswith(PREFIXES)


def parse(spec: str) -> Place:
    """Read the name of a tool source; relative files become absolute.

    Raises:
        UsageError: nothing is named, or in a form that is not one.
    """
    kind, _, where = spec.partition(":")
    where = where.strip()
    if not where or "\0" in where:
        raise UsageError(f"{kind}: names nothing", hint=FORMS[kind])
    if _URL.match(where):
        return Place(kind, _checked_url(kind, where))
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", where):
        raise UsageError(f"{kind}: {where.partition('://')[0]}:// is not supported", hint=FORMS[kind])
    if kind == "mcp":
        return Place(kind, _command(where))
    return Place(kind, os.path.abspath(os.path.expanduser(where)))


def _checked_url(kind: str, where: str) -> str:
    try:
        parts = urlsplit(where)
        parts.port  # noqa: B018 - reading it checks it
    except ValueError as error:
        raise UsageError(f"{kind}: this is not a URL: {error}", hint=FORMS[kind]) from error
    if not parts.hostname or re.search(r"[\x00-\x20\x7f]", where):
        raise UsageError(f"{kind}: this is not a URL", hint=FORMS[kind])
    if parts.username is not None or parts.password is not None:
        # The name of a source stands in indexes and records.
        raise UsageError(f"{kind}: a URL with a password in it", hint="leave it out; secrets of calls: --secret")
    return where.partition("#")[0]


def _command(where: str) -> str:
    try:
        words = shlex.split(where)
    except ValueError as error:
        raise UsageError(f"mcp: the command cannot be read: {error}", hint=FORMS["mcp"]) from error
    if not words:
        raise UsageError("mcp: names nothing", hint=FORMS["mcp"])
    program, *rest = words
    if "/" in program:
        program = os.path.abspath(os.path.expanduser(program))
    return shlex.join([program, *(os.path.abspath(word) if os.path.isfile(word) else word for word in rest)])
