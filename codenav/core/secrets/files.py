"""The definition of secret files, shared by everything that moves files into a sandbox.

Names decide, at any depth and in any case. Elsewhere the content decides: see `contents`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from codenav.core.secrets.contents import MOST_BYTES, holds_secret, may_hold_secret

NAMES = frozenset({
    ".git", ".hg", ".svn", ".bzr", ".jj", "_darcs",
    ".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials", ".gitconfig", ".pgpass", ".my.cnf",
    ".vault-token", ".htpasswd", ".terraformrc", ".dockercfg", ".s3cfg", ".boto",
    ".ssh", ".aws", ".azure", ".kube", ".gnupg", ".password-store",
})  # fmt: skip
"""Credentials, and version control, whose history has removed files. A `.git` file, which names a folder, counts."""
_INSIDE = frozenset({
    *((".config", name) for name in ("gcloud", "gh", "hub", "git", "pip", "rclone", "codenav", "op")),
    (".docker", "config.json"), (".cargo", "credentials"), (".cargo", "credentials.toml"), (".gem", "credentials"),
    (".m2", "settings.xml"), (".databricks", "token-cache.json"), (".huggingface", "token"), ("huggingface", "token"),
})  # fmt: skip
"""Credentials with unspecific names, together with the folders that they lie in."""
_NAMES_INSIDE = frozenset(name for _, name in _INSIDE)
_TEMPLATES = ("example", "sample", "template", "dist", "tmpl")
"""Endings of templates such as `.env.example` and names such as `example.env`, which are shown: they list variables
and are usually committed."""
_TESTS = frozenset(("test", "tests", "testing", "testdata", "test_data", "fixtures", "__tests__", "spec"))
_KEY_ENDS = (".pem", ".key", ".ppk", ".p8", ".pk8")
_STORES = (".p12", ".pfx", ".jks", ".keystore", ".kdbx")
"""Endings of key stores. Their passwords may be guessed."""
_KEY_WORDS = (b"PRIVATE KEY", b"PuTTY-User-Key-File")
MOST_KEY_BYTES = 1 << 20
"""Most bytes read of a file that may be a key."""


def is_secret_name(name: str, parent: str = "") -> bool:
    """True if a file or folder of that name, in a parent of that name, is a secret whatever it contains."""
    name = name.lower()
    if name.startswith(".env") or name.endswith(".env"):
        return not is_template(name)
    return name in NAMES or name.endswith(_STORES) or (name in _NAMES_INSIDE and (parent.lower(), name) in _INSIDE)


def is_template(name: str) -> bool:
    """True if a file of that name is a template for others to fill in."""
    return name.lower().removesuffix(".env").endswith(_TEMPLATES)


def _of_tests(folder: str) -> bool:
    """True if a folder of a code base holds tests: their keys and tokens are made up, and committed."""
    return not _TESTS.isdisjoint(folder.lower().split("/"))


def may_hold_key(name: str) -> bool:
    """True if the content has to decide: `id_rsa` and `server.pem` may be keys, `id_rsa.pub` may not."""
    name = name.lower()
    return name.endswith(_KEY_ENDS) or (name.startswith("id_") and not name.endswith((".py", ".pyi", ".pyc", ".pub")))


def is_named_secret(name: str, folder: str) -> bool:
    """True if a secret in a folder looks like one by its name. What is left out for its content alone is told."""
    return may_hold_key(name) or is_secret_name(name, os.path.basename(folder))


def holds_key(data: bytes) -> bool:
    """True if the content of a file includes a private key."""
    return any(words in data for words in _KEY_WORDS)


def secret_part(path: str) -> str:
    """Return the first component of a path whose name makes it a secret, or an empty string."""
    parts = [part for part in path.split("/") if part]
    return next((name for parent, name in zip(["", *parts], parts, strict=False) if is_secret_name(name, parent)), "")


def is_secret(path: str, *, dir_fd: int | None = None, parent: str = "", by_content: bool = True) -> bool:
    """True if a file, folder or link is a secret by its own name or by its content. Links are not followed.

    An unreadable file with the name of a key counts as one. `path` may be relative to `dir_fd` as in `os.open`;
    `parent` is its folder in the code base. Folders further up are not considered: see `secret_part`. Without
    `by_content`, and among the data of tests, the content of files with the name of a key alone counts.
    """
    folder, _, name = path.rpartition("/")
    if is_secret_name(name, (folder or parent).rpartition("/")[2]):
        return True
    key = may_hold_key(name)
    by_content = by_content and may_hold_secret(name) and not is_template(name) and not _of_tests(parent)
    if not key and not by_content:
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=dir_fd)
    except OSError:
        # A link is not a secret: its target is judged by its own name.
        return key and not _is_link_or_gone(path, dir_fd)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return False
        if key and holds_key(os.pread(descriptor, MOST_KEY_BYTES, 0)):
            return True
        return by_content and holds_secret(os.pread(descriptor, MOST_BYTES, 0), name)
    finally:
        os.close(descriptor)


def _is_link_or_gone(path: str, dir_fd: int | None) -> bool:
    try:
        return stat.S_ISLNK(os.stat(path, dir_fd=dir_fd, follow_symlinks=False).st_mode)
    except OSError:
        return True


def first_secret(folder: str, *, passed: Iterable[str] = ()) -> str:
    """Return a secret at any depth below a folder as an absolute path, or an empty string. Links are not followed.

    `passed` are absolute paths to skip. Only names count, and the content of files with the name of a key.
    """
    left_out, waiting = set(passed), [folder]
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(here) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError:
            # If this user cannot read it, the code cannot either.
            continue
        for entry in entries:
            if entry.path in left_out:
                continue
            if is_secret(entry.path, by_content=False):
                return entry.path
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
    return ""
