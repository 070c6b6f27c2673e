"""What is a secret among files: one list for all that goes into a sandbox, whichever way it goes.

Names decide, at any depth and in any case. Where a name says only that a file may be a private key, its content does.
Imports nothing of ours, so that whoever moves files can ask.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

NAMES = frozenset({
    ".git", ".hg", ".svn", ".bzr", ".jj", "_darcs",
    ".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials", ".gitconfig", ".pgpass", ".my.cnf",
    ".vault-token", ".htpasswd", ".terraformrc", ".dockercfg", ".s3cfg", ".boto",
    ".ssh", ".aws", ".azure", ".kube", ".gnupg", ".password-store",
})  # fmt: skip
"""History, which holds what was removed, and credentials. `.git` also where it is a file that names a folder."""
_INSIDE = frozenset({
    *((".config", name) for name in ("gcloud", "gh", "hub", "git", "pip", "rclone", "codenav", "op")),
    (".docker", "config.json"), (".cargo", "credentials"), (".cargo", "credentials.toml"), (".gem", "credentials"),
    (".m2", "settings.xml"), (".databricks", "token-cache.json"), (".huggingface", "token"), ("huggingface", "token"),
})  # fmt: skip
"""Credentials whose own names say nothing, with the folders that they lie in."""
_NAMES_INSIDE = frozenset(name for _, name in _INSIDE)
_TEMPLATES = ("example", "sample", "template", "dist", "tmpl")
"""`.env.example` and its like are shown: they say which variables there are, and are committed as a rule."""
_KEY_ENDS = (".pem", ".key", ".ppk", ".p8", ".pk8")
_STORES = (".p12", ".pfx", ".jks", ".keystore", ".kdbx")
"""Key stores, closed with a password that may be guessed."""
_KEY_WORDS = (b"PRIVATE KEY", b"PuTTY-User-Key-File")
MOST_KEY_BYTES = 1 << 20
"""Read of what may be a key."""


def is_secret_name(name: str, parent: str = "") -> bool:
    """Whether a file or folder of that name, in a folder of that name, is a secret whatever it holds."""
    name = name.lower()
    if name.startswith(".env"):
        return not name.endswith(_TEMPLATES)
    return name in NAMES or name.endswith(_STORES) or (name in _NAMES_INSIDE and (parent.lower(), name) in _INSIDE)


def may_hold_key(name: str) -> bool:
    """Whether the content has to be asked: `id_rsa` and `server.pem` may be keys, `id_rsa.pub` may not."""
    name = name.lower()
    return name.endswith(_KEY_ENDS) or (name.startswith("id_") and not name.endswith((".py", ".pyi", ".pyc", ".pub")))


def holds_key(data: bytes) -> bool:
    """Whether the content of a file has a private key in it."""
    return any(words in data for words in _KEY_WORDS)


def secret_part(path: str) -> str:
    """The first component of a path that is a secret by its name; empty where none is."""
    parts = [part for part in path.split("/") if part]
    return next((name for parent, name in zip(["", *parts], parts, strict=False) if is_secret_name(name, parent)), "")


def is_secret(path: str, *, dir_fd: int | None = None, parent: str = "") -> bool:
    """Whether a file, folder or link is a secret by its own name, or by what it holds; no link is followed.

    What cannot be read, and is called as a key is, counts as one. `dir_fd` as in `os.open`, for a path relative to it,
    `parent` the name of its folder where the path does not say it; those above are not asked: see `secret_part`.
    """
    folder, _, name = path.rpartition("/")
    if is_secret_name(name, folder.rpartition("/")[2] or parent):
        return True
    if not may_hold_key(name):
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=dir_fd)
    except OSError:
        # Also a link: what it leads to is judged by its own name.
        return not _is_link_or_gone(path, dir_fd)
    try:
        return stat.S_ISREG(os.fstat(descriptor).st_mode) and holds_key(_read(descriptor))
    finally:
        os.close(descriptor)


def _is_link_or_gone(path: str, dir_fd: int | None) -> bool:
    try:
        return stat.S_ISLNK(os.stat(path, dir_fd=dir_fd, follow_symlinks=False).st_mode)
    except OSError:
        return True


def _read(descriptor: int) -> bytes:
    with open(descriptor, "rb", closefd=False) as file:
        return file.read(MOST_KEY_BYTES)


def first_secret(folder: str, *, passed: Iterable[str] = ()) -> str:
    """A secret below a folder, at any depth, absolute; empty where there is none. Links are not followed.

    `passed` are absolute paths that are not looked into.
    """
    left_out, waiting = set(passed), [folder]
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(here) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError:
            # What the starting user cannot read, the code cannot either.
            continue
        for entry in entries:
            if entry.path in left_out:
                continue
            if is_secret(entry.path):
                return entry.path
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
    return ""
