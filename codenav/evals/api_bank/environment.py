"""The environment of the APIs: a Python of at most 3.12 with the packages that upstream's files import."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from codenav.core.errors import CodeNavError, NotFound, Unavailable, UsageError
from codenav.core.system.interpreter import Interpreter, find_interpreter

FOLDER = "environment"
"""Name of the environment in the folder that `prepare` makes."""
OLDEST, NEWEST = 8, 12
"""Versions of Python 3 for it: googletrans, which upstream pins and which is used where it is installed, imports `cgi`.
"""
SPAN = f"3.{OLDEST} to 3.{NEWEST}"
PACKAGES = ("rank_bm25==0.2.2", "numpy", "nltk", "requests")
"""Packages that upstream's files import. Not among them: googletrans (it needs the network, which no sandbox has;
`inside` stands in for it) and sentence_transformers (its file is left out)."""
SECONDS = 900
"""For the installation."""


def make(folder: Path, *, python: str | Path | None, notice: Callable[[str], None]) -> None:
    """Make a virtual environment in `folder` with `PACKAGES`.

    Raises:
        NotFound, UsageError: `python` is none, or is too new.
        Unavailable: there is no Python of at most 3.12, or a package cannot be installed.
    """
    base = check_interpreter(python) if python else find_fitting(candidates())
    notice(f"making an environment with Python {base.version}: {', '.join(PACKAGES)}")
    fresh = folder.with_name(folder.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        _run([str(base.executable), "-m", "venv", str(fresh)], "the environment cannot be made")
        command = [str(fresh / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*command, *PACKAGES], "the packages cannot be installed")
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def check_interpreter(python: str | Path) -> Interpreter:
    """The interpreter at a path.

    Raises:
        NotFound, UsageError: there is none, or it does not fit.
    """
    found = find_interpreter(python)
    major, minor = map(int, found.version.split(".")[:2])
    if major != 3 or not OLDEST <= minor <= NEWEST:
        raise UsageError(
            f"{python} is Python {found.version}; API-Bank needs {SPAN}", hint=f"--python with a Python of {SPAN}"
        )
    return found


def candidates() -> list[str]:
    """Interpreters to try: our own, then those on the path, the newest first."""
    named = [shutil.which(f"python3.{minor}") for minor in range(NEWEST, OLDEST - 1, -1)]
    return [sys.executable, *(path for path in named if path)]


def find_fitting(paths: Sequence[str]) -> Interpreter:
    """The first interpreter that fits.

    Raises:
        Unavailable: none does.
    """
    for path in paths:
        try:
            return check_interpreter(path)
        except CodeNavError:
            continue
    raise Unavailable(
        f"API-Bank needs Python {SPAN}, and there is none here",
        hint="install one beside yours (uv python install 3.12), then --python PATH",
    )


def prepared_python(folder: Path) -> Path:
    """The interpreter in the folder that `prepare` made.

    Raises:
        NotFound: there is none.
        UsageError: it does not start, or is too new.
    """
    path = folder.expanduser() / FOLDER / "bin" / "python"
    if not path.exists():
        raise NotFound(f"no environment in {folder}", hint=f"codenav eval prepare api-bank --data DIR --out {folder}")
    check_interpreter(path)
    return path


def _run(command: Sequence[str], trouble: str) -> None:
    # The caller's own environment must not decide where the packages of this one go.
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=clean, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{trouble}: no end after {SECONDS} s", hint="look at the network") from None
    except OSError as error:
        raise Unavailable(f"{trouble}: {error.strerror}", hint="--python PATH") from None
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
        why = next((line for line in lines if "ERROR" in line or "Error" in line), lines[-1])
        raise Unavailable(
            f"{trouble}: {why.strip()[:300]}",
            hint="with a network, or with PIP_FIND_LINKS naming a folder of wheels; or --python with the module venv",
        )
