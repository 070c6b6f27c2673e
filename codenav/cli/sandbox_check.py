"""The check of a sandbox by `codenav doctor`: the promises of a backend on this machine."""

from __future__ import annotations

from dataclasses import asdict

from codenav.cli.options import print_json, say
from codenav.core.errors import UsageError


def check_sandbox(backend: str, python: str | None, image: str, only: str, as_json: bool) -> int:
    """Check the contract of sandboxes, then try attacks; print the rows, and return the exit code."""
    from codenav.core.config import load_config
    from codenav.core.execution import SandboxSpec
    from codenav.core.system.interpreter import find_interpreter
    from codenav.sandboxes.conformance import run_checks

    if backend == "auto":
        raise UsageError("auto is no sandbox", hint="--sandbox docker, bubblewrap or process")
    if backend != "docker" and image:
        raise UsageError(f"{backend} has no images", hint="codenav doctor --sandbox docker --image NAME")
    if backend == "process" and only:
        raise UsageError("process contains nothing: no case runs on it", hint="codenav doctor --sandbox process")
    runtime = load_config().sandbox.runtime if backend == "docker" else ""
    spec = SandboxSpec(find_interpreter(python), image=image, runtime=runtime)
    rows = []
    for row in run_checks(backend, spec, only=_cases(only)):
        rows.append(row)
        if not as_json:
            say(f"{'ok    ' if row.ok else 'failed'}  {row.name}")
            for prefix, text in (("", row.detail), ("→ ", row.hint)):
                if text:
                    say(f"        {prefix}{text}")
    failed = sum(not row.ok for row in rows)
    if as_json:
        print_json([asdict(row) for row in rows])
    else:
        say(f"{len(rows) - failed} of {len(rows)} held")
    return 1 if failed else 0


def _cases(only: str) -> list[str]:
    """Return the ids of cases that an option selects, by id or by the letter of a section."""
    from codenav.sandboxes.conformance import CASES

    found: list[str] = []
    for name in filter(None, (part.strip().upper() for part in only.split(","))):
        ids = [id for id in CASES if id == name or id.rstrip("0123456789") == name]
        if not ids:
            raise UsageError(f"there is no case {name}", hint=f"{', '.join(CASES)}, or a section: F, N, P, R, S")
        found += ids
    return found
