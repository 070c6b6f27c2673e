"""Checkouts of benchmarks that users keep: the folder of a benchmark in one, and the commit that it stands at."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from codenav.core.errors import NotFound, UsageError

UNKNOWN = "unknown"
"""The commit of a folder that is no Git checkout."""
LINK, MODULE = b"120000", b"160000"
"""Modes of entries in a Git tree that are no files."""


@dataclass(frozen=True)
class Checkout:
    """A benchmark's folder in a checkout."""

    root: Path
    """The benchmark's own folder: `scripts/eval/m3tooleval`, `api-bank`, …"""
    commit: str
    """40 hex digits, or `unknown`."""


def checkout(data: Path, *, needs: Sequence[str], folder: str, commit: str, any_commit: bool) -> Checkout:
    """Find a benchmark in `data`: the checkout, or the benchmark's `folder` in it (`""` for the checkout itself).

    `needs` are files and folders that it must hold, relative to `folder`. `commit` is the known one; another one, or
    none that can be read, is refused without `any_commit`, and so are files below `needs` that were changed since.

    Raises:
        NotFound: `data` is no folder, or lacks something; the message names the first file that was looked for.
        UsageError: the commit is another one, or a file is not that of the commit.
    """
    data = data.expanduser().absolute()
    if not data.is_dir():
        raise NotFound(f"no such folder: {data}", hint="--data names a checkout of the benchmark's repository")
    places = [data / folder, data] if folder else [data]
    root = next((place for place in places if all((place / need).exists() for need in needs)), None)
    if root is None:
        # The place that has most of them is the one that was meant; ties go to the checkout.
        meant = max(places, key=lambda place: sum((place / need).exists() for need in needs))
        missing = next(need for need in needs if not (meant / need).exists())
        inside = f" or its folder {folder}" if folder else ""
        raise NotFound(
            f"{data} is not this benchmark: there is no {meant / missing}",
            hint=f"--data names a checkout of the benchmark's repository{inside}, with all of its files",
        )
    found = commit_of(root)
    if commit and found != commit and not any_commit:
        state = "whose commit cannot be read" if found == UNKNOWN else f"at commit {found[:12]}"
        raise UsageError(
            f"{root} is a checkout {state}; scores are known for {commit[:12]}",
            hint=f"git checkout {commit}, or --any-commit to take it as it is",
        )
    if commit and not any_commit and (changed := _changed(root, needs)):
        raise UsageError(
            f"{root / changed} is not the file of commit {found[:12]}",
            hint=f"git restore {changed}, or --any-commit to take the checkout as it is",
        )
    return Checkout(root, found)


def commit_of(folder: Path) -> str:
    """Return the commit of the Git checkout that holds a folder, or `unknown`."""
    found = _git(folder, "rev-parse", "HEAD").decode(errors="replace").strip()
    return found if len(found) == 40 else UNKNOWN


def _changed(root: Path, needs: Sequence[str]) -> str:
    """Return the first file below `needs` that is not as committed, or "".

    Files are hashed here: `git status` and `git diff` run programs that a checkout's own configuration names.
    """
    for entry in _git(root, "ls-tree", "-r", "-z", "HEAD", "--", *needs).split(b"\0"):
        facts, _, name = entry.partition(b"\t")
        path = root / os.fsdecode(name)
        if not facts or facts.startswith((LINK, MODULE)):
            continue
        blob = facts.decode().split()[2]
        try:
            content = path.read_bytes()
        except OSError:
            return os.fsdecode(name)
        # The object of a file as Git names it, from a checkout that changes no line ends.
        for text in (content, content.replace(b"\r\n", b"\n")):
            if hashlib.sha1(b"blob %d\0" % len(text) + text, usedforsecurity=False).hexdigest() == blob:
                break
        else:
            return os.fsdecode(name)
    return ""


def _git(folder: Path, *arguments: str) -> bytes:
    """Return the output of a Git command that only reads objects, or nothing."""
    # A checkout that belongs to somebody else is read, not trusted: nothing in it is run by these commands.
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    command = ["git", "-c", "safe.directory=*", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, env=clean, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout if done.returncode == 0 else b""
