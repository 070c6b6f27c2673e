"""What `git:URL@REV` names, and whether git may be given it: everything in it was typed or copied by somebody."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from codenav.errors import NotFound, UsageError

TRANSPORTS = ("https", "http", "ssh", "file")
"""Not `ext::` and other helpers, which run commands; not `git://`, which proves nothing about the sender."""

_FORM = "git:https://HOST/PATH@REV, git:ssh://git@HOST/PATH@REV, or git:FOLDER@REV; @REV may be left out"
_LIKE_SCP = re.compile(r"(?P<host>[^/:\s]+@[^/:\s]+):(?!//)(?P<path>.+)")
_HOST = re.compile(r"(?:[\w.+~%-]+(?::[^@\s/]*)?@)?(?:[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::\d+)?")
_REVISION = re.compile(r"(?![-+/.])(?!.*(?:\.\.|@\{|//|/\.|\.lock$|[/.]$))[^\x00-\x20\x7f~^:?*\[\\]{1,250}")
"""What git allows as the name of a branch or a tag (git-check-ref-format(1)), and nothing that begins like an option
(`-`) or like another kind of refspec (`+`, `^`)."""

COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
"""A whole commit hash (SHA-1 or SHA-256)."""


@dataclass(frozen=True)
class Repository:
    """A state of a repository, as it was asked for."""

    url: str
    """What git is given. It may hold a password: show `shown` instead."""
    revision: str
    """A branch, a tag, a commit; empty: the default branch."""

    @property
    def shown(self) -> str:
        """The URL without what may be a secret. Of ssh the user's name stays: `git` mostly, and needed."""
        parts = urlsplit(self.url)
        user, _, host = parts.netloc.rpartition("@")
        if parts.scheme == "ssh" and user:
            host = f"{user.partition(':')[0]}@{host}"
        return urlunsplit(parts._replace(netloc=host)).rstrip("/")

    @property
    def spec(self) -> str:
        """What to type to name it, without a secret."""
        return f"git:{self.shown}@{self.revision}" if self.revision else f"git:{self.shown}"

    @property
    def name(self) -> str:
        """The last part of its path, without `.git`."""
        last = urlsplit(self.url).path.rstrip("/").rpartition("/")[2].removesuffix(".git")
        return re.sub(r"[^\w.-]+", "-", last).lstrip(".-") or "repository"

    def key(self) -> str:
        """The name of a folder for its states, the same for every revision."""
        digest = hashlib.blake2b(os.fsencode(self.shown), digest_size=8).hexdigest()
        return f"{self.name[:40]}-{digest}"


def parse(spec: str) -> Repository:
    """Read `git:URL`, `git:URL@REV` or `git:FOLDER@REV`.

    Raises:
        UsageError: no URL, a transport that could run a command, or a revision that git would read as an option.
        NotFound: no such folder.
    """
    place = spec.removeprefix("git:").strip()
    if not place:
        raise UsageError("no repository named", hint=_FORM)
    if re.search(r"[\x00-\x20\x7f]|%0[0ad]", place, re.IGNORECASE):
        raise UsageError("a git URL holds no blanks and no control characters", hint=_FORM)
    scheme, separator, _ = place.partition("://")
    if not separator:
        return _local(place)
    if scheme not in TRANSPORTS:
        raise UsageError(f"git: no transport {scheme!r} here: {', '.join(TRANSPORTS)}", hint=_FORM)
    parts = urlsplit(place)
    path, revision = _split(parts.path)
    known = parts.netloc in ("", "localhost") if scheme == "file" else _HOST.fullmatch(parts.netloc)
    if parts.query or parts.fragment or not known or not path.strip("/"):
        raise UsageError("this is no URL of a repository", hint=_FORM)
    return Repository(urlunsplit((scheme, parts.netloc, path, "", "")), _checked(revision))


def _local(place: str) -> Repository:
    """A repository on this disk. Git gets its URL: a path could be read as an option, or as a host with a colon."""
    scp = _LIKE_SCP.fullmatch(place)
    if scp:
        raise UsageError(
            "git: the short form of ssh is not read", hint=f"git:ssh://{scp['host']}/{scp['path'].lstrip('/')}"
        )
    path, revision = (place, "") if os.path.isdir(os.path.expanduser(place)) else _split(place)
    folder = Path(os.path.abspath(os.path.expanduser(path)))
    if "::" in place:
        raise UsageError(f"git: transports are {', '.join(TRANSPORTS)}", hint=_FORM)
    if not folder.is_dir():
        raise NotFound(f"no such folder: {path}", hint=_FORM)
    return Repository("file://" + quote(str(folder)), _checked(revision))


def _split(path: str) -> tuple[str, str]:
    """`/group/project@feature/x`: the last `@` begins the revision, unless it begins a part of the path."""
    at = path.rfind("@")
    if at <= 0 or path[at - 1] == "/":
        return path, ""
    if at == len(path) - 1:
        raise UsageError("no revision behind the @", hint=_FORM)
    return path[:at], path[at + 1 :]


def _checked(revision: str) -> str:
    if revision and not _REVISION.fullmatch(revision):
        raise UsageError(f"{revision[:100]!r} is no branch, tag or commit", hint=_FORM)
    return revision
