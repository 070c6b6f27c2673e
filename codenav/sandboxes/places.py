"""Host paths that are never bound into a sandbox, whoever asks for them: the system, home folders, secrets."""

from __future__ import annotations

import contextlib
import os
import pwd

from codenav.core.secrets.files import secret_part

TOO_WIDE = ("/", "/home", "/root", "/etc", "/var", "/run", "/boot", "/usr")
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Paths that every bubblewrap sandbox can see."""
_KERNEL = ("/proc", "/sys", "/dev")
_HOME_PARENTS = ("home", "homes", "users")
_PERSONAL = (".local", ".local/share", ".local/state", ".local/lib", ".config", ".cache")
"""Folders below a home folder where programs keep the user's data.

XDG_DATA_HOME and similar variables may name others.
"""


def why_not(path: str | os.PathLike[str]) -> str:
    """Return why a path is never bound, as the end of a sentence, or an empty string.

    The path is checked both as it is and with links followed.
    """
    for shown in dict.fromkeys((os.path.realpath(path), os.path.abspath(path))):
        wide = too_wide(shown)
        if wide:
            return wide
        part = secret_part(shown)
        if part:
            return f"{part} is where secrets are kept"
    return ""


def too_wide(path: str) -> str:
    """Return why binding an absolute path would expose this machine, as the end of a sentence, or an empty string."""
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
    """Return the home folders of this user, of root and of the user who called sudo.

    Both the real and the effective user id count, as well as HOME; paths are given as they are and with links followed.
    """
    named = {"/root", os.environ.get("HOME", "")}
    for number in (os.getuid(), os.geteuid(), os.environ.get("SUDO_UID", 0)):
        with contextlib.suppress(KeyError, ValueError, OverflowError):
            named.add(pwd.getpwuid(int(number)).pw_dir)
    both = {form(one) for one in named if os.path.isabs(one) for form in (os.path.realpath, os.path.normpath)}
    # Homes of system accounts do not count: daemon lives in /usr/sbin.
    return {one for one in both if one != "/" and not any(within(one, folder) for folder in SYSTEM)}


def _personal(homes: set[str]) -> set[str]:
    named = {os.path.join(one, inner) for one in homes for inner in _PERSONAL}
    named |= {os.environ.get(f"XDG_{kind}_HOME", "") for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    return {form(one) for one in named if os.path.isabs(one) for form in (os.path.realpath, os.path.normpath)}


def within(path: str, folder: str) -> bool:
    """True if a path is a folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
