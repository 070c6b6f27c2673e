"""Parsing of `git:URL@REV`, and the checks before git sees it: a user typed or copied it, so nothing is trusted."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from codenav.core.errors import NotFound, UsageError

TRANSPORTS = ("https", "http", "ssh", "file")
"""Transports allowed. Not `ext::` and other helpers, which run commands; not `git://`, which has no authentication."""

_FORM = "git:https://HOST/PATH@REV, git:ssh://git@HOST/PATH@REV, or git:FOLDER@REV; @REV may be left out"
_LIKE_SCP = re.compile(r"(?P<host>[^/:\s]+@[^/:\s]+):(?!//)(?P<path>.+)")
_HOST = re.compile(r"(?:[\w.+~%-]+(?::[^@\s/]*)?@)?(?:[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::\d+)?")
_REVISION = re.compile(r"(?![-+/.])(?!.*(?:\.\.|@\{|//|/\.|\.lock$|[/.]$))[^\x00-\x20\x7f~^:?*\[\\]{1,250}")
"""A name that git allows for a branch or a tag (git-check-ref-format(1)), unless it begins like an option (`-`) or
like another kind of refspec (`+`, `^`)."""

COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
"""A whole commit hash (SHA-1 or SHA-256)."""


@dataclass(frozen=True)
class Repository:
    """A repository and the revision asked for."""

    url: str
    """The URL passed to git. It may contain a password: show `shown` instead."""
    revision: str
    """A branch, a tag or a commit; empty for the default branch."""

    @property
    def shown(self) -> str:
        """The URL without anything that may be a secret. For ssh the user name stays: mostly `git`, and needed."""
        parts = urlsplit(self.url)
        user, _, host = parts.netloc.rpartition("@")
        if parts.scheme == "ssh" and user:
            host = f"{user.partition(':')[0]}@{host}"
        return urlunsplit(parts._replace(netloc=host)).rstrip("/")

    @property
    def spec(self) -> str:
        """The spec to type for this repository and revision, without secrets."""
        return f"git:{self.shown}@{self.revision}" if self.revision else f"git:{self.shown}"

    @property
    def name(self) -> str:
        """The last part of the URL's path, without `.git`."""
        last = urlsplit(self.url).path.rstrip("/").rpartition("/")[2].removesuffix(".git")
        return re.sub(r"[^\w.-]+", "-", last).lstrip(".-") or "repository"

    def key(self) -> str:
        """The name of the cache folder, the same for every revision."""
        digest = hashlib.blake2b(os.fsencode(self.shown), digest_size=8).hexdigest()
        return f"{self.name[:40]}-{digest}"


def parse(spec: str) -> Repository:
    """Read `git:URL`, `git:URL@REV` or `git:FOLDER@REV`.

    Raises:
        UsageError: no URL, a transport that is not allowed, or a revision that git would read as something else.
        NotFound: no such folder.
    """
    place = spec.removeprefix("git:").strip()
    if not place:
        raise UsageError("no repository named", hint=_FORM)
    if re.search(r"[\x00-\x20\x7f]|%0[0ad]", place, re.IGNORECASE):
        raise UsageError("a git URL must not contain blanks or control characters", hint=_FORM)
    scheme, separator, _ = place.partition("://")
    if not separator:
        return _local(place)
    if scheme not in TRANSPORTS:
        raise UsageError(f"git: transport {scheme!r} is not one of {', '.join(TRANSPORTS)}", hint=_FORM)
    parts = urlsplit(place)
    path, revision = _split(parts.path)
    known = parts.netloc in ("", "localhost") if scheme == "file" else _HOST.fullmatch(parts.netloc)
    if parts.query or parts.fragment or not known or not path.strip("/"):
        raise UsageError("this is not the URL of a repository", hint=_FORM)
    return Repository(urlunsplit((scheme, parts.netloc, path, "", "")), _checked(revision))


def _local(place: str) -> Repository:
    """A repository on this disk, as a `file://` URL: git could read a path as an option, or as a host with a colon."""
    scp = _LIKE_SCP.fullmatch(place)
    if scp:
        raise UsageError(
            "git: the short form of an ssh URL is not supported",
            hint=f"git:ssh://{scp['host']}/{scp['path'].lstrip('/')}",
        )
    path, revision = (place, "") if os.path.isdir(os.path.expanduser(place)) else _split(place)
    folder = Path(os.path.abspath(os.path.expanduser(path)))
    if "::" in place:
        raise UsageError(f"git: transports are {', '.join(TRANSPORTS)}", hint=_FORM)
    if not folder.is_dir():
        raise NotFound(f"no such folder: {path}", hint=_FORM)
    return Repository("file://" + quote(str(folder)), _checked(revision))


def _split(path: str) -> tuple[str, str]:
    """Path and revision of `/group/project@feature/x`: the last `@` separates them, unless it begins a path segment."""
    at = path.rfind("@")
    if at <= 0 or path[at - 1] == "/":
        return path, ""
    if at == len(path) - 1:
        raise UsageError("no revision after the @", hint=_FORM)
    return path[:at], path[at + 1 :]


def _checked(revision: str) -> str:
    if revision and not _REVISION.fullmatch(revision):
        raise UsageError(f"{revision[:100]!r} is not a valid branch, tag or commit", hint=_FORM)
    return revision
