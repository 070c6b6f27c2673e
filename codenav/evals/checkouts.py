"""Checkouts of benchmarks that users keep: the folder of a benchmark in one, and the commit that it stands at."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from codenav.errors import NotFound, UsageError

UNKNOWN = "unknown"
"""The commit of a folder that is no Git checkout."""


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
    none that can be read, is refused without `any_commit`.

    Raises:
        NotFound: `data` is no folder, or lacks something; the message names the first file that was looked for.
        UsageError: the commit is another one.
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
    return Checkout(root, found)


def commit_of(folder: Path) -> str:
    """Return the commit of the Git checkout that holds a folder, or `unknown`."""
    # A checkout that belongs to somebody else is read, not trusted: nothing in it is run by `rev-parse`.
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    command = ["git", "-c", "safe.directory=*", "-C", str(folder), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=clean, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return UNKNOWN
    found = done.stdout.strip()
    return found if done.returncode == 0 and len(found) == 40 else UNKNOWN
