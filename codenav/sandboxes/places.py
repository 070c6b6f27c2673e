"""What of the host is never bound into a sandbox, from wherever the wish comes: the system, home folders, secrets."""

from __future__ import annotations

import contextlib
import os
import pwd

from codenav.secrets.files import secret_part

TOO_WIDE = ("/", "/home", "/root", "/etc", "/var", "/run", "/boot", "/usr")
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Shown to every sandbox in bubblewrap."""
_KERNEL = ("/proc", "/sys", "/dev")
_HOME_PARENTS = ("home", "homes", "users")
_PERSONAL = (".local", ".local/share", ".local/state", ".local/lib", ".config", ".cache")
"""Below a home folder: where programs keep what is the user's. XDG_DATA_HOME and its like may name others."""


def why_not(path: str | os.PathLike[str]) -> str:
    """Why a place is never bound, as the end of a sentence; empty where it may be. Links are followed, and are not."""
    for shown in dict.fromkeys((os.path.realpath(path), os.path.abspath(path))):
        wide = too_wide(shown)
        if wide:
            return wide
        part = secret_part(shown)
        if part:
            return f"{part} is where secrets are kept"
    return ""


def too_wide(path: str) -> str:
    """Why an absolute path would open this machine, as the end of a sentence; empty where it would not."""
    own = _homes()
    parents = {"/home", os.path.realpath("/home")}
    parents |= {os.path.dirname(one) for one in own if os.path.basename(os.path.dirname(one)) in _HOME_PARENTS}
    if path in own or os.path.dirname(path) in parents:
        return "it is a home folder: name a folder in it"
    if path in TOO_WIDE or any(within(path, folder) for folder in _KERNEL):
        return "it is a folder of the system"
    if any(within(one, path) for one in own):
        return "a home folder is in it: name the folder that is needed"
    return "it holds personal files of all programs" if path in _personal(own) else ""


def _homes() -> set[str]:
    """Of this user by either account of it, of root, and of who called sudo; links followed, and not."""
    named = {"/root", os.environ.get("HOME", "")}
    for number in (os.getuid(), os.geteuid(), os.environ.get("SUDO_UID", 0)):
        with contextlib.suppress(KeyError, ValueError, OverflowError):
            named.add(pwd.getpwuid(int(number)).pw_dir)
    both = {form(one) for one in named if os.path.isabs(one) for form in (os.path.realpath, os.path.normpath)}
    # Of those who are no persons: daemon lives in /usr/sbin.
    return {one for one in both if one != "/" and not any(within(one, folder) for folder in SYSTEM)}


def _personal(homes: set[str]) -> set[str]:
    named = {os.path.join(one, inner) for one in homes for inner in _PERSONAL}
    named |= {os.environ.get(f"XDG_{kind}_HOME", "") for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    return {form(one) for one in named if os.path.isabs(one) for form in (os.path.realpath, os.path.normpath)}


def within(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
