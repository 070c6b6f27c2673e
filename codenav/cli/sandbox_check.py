"""`codenav sandbox check`: a test of a backend's promises on this machine."""

from __future__ import annotations

from dataclasses import asdict

import click

from codenav.cli.options import json_option, print_json, python_option, say
from codenav.core.errors import UsageError


@click.command("check")
@click.argument("backend", type=click.Choice(["docker", "bubblewrap", "process"]))
@click.option("--image", metavar="NAME", default="", help="Docker image to check; it needs Python 3.8 or later.")
@click.option("--runtime", metavar="NAME", default="", help="Runtime of the Docker engine, such as runsc.")
@click.option(
    "--only", metavar="ID[,ID…]", default="", help="Run only these containment cases (F1,N3) or sections (F)."
)
@python_option
@json_option
def command(backend: str, image: str, runtime: str, only: str, python: str | None, as_json: bool) -> int:
    """Check that a backend keeps its promises on this machine: the contract of sandboxes, then attacks.

    Harmless probes come first; if one fails, nothing is attacked. The contract follows: the behaviour of a step in
    every sandbox. Then the containment cases: F file system, N network, P processes, R resources, S secrets. `process`
    contains nothing, so only the contract runs there. Takes about a minute.

    \b
    Exit codes: 0 everything held, 1 something did not, 4 the backend does not run here.

    \b
    Examples:
      codenav sandbox check bubblewrap
      codenav sandbox check docker --image python:3.12-slim
      codenav sandbox check bubblewrap --only N,S2 --json
    """
    from codenav.core.execution import SandboxSpec
    from codenav.core.system.interpreter import find_interpreter
    from codenav.sandboxes.conformance import run_checks

    if backend != "docker" and (image or runtime):
        raise UsageError(f"{backend} has no images and runtimes", hint="codenav sandbox check docker --image NAME")
    if backend == "process" and only:
        raise UsageError("process contains nothing: no case runs on it", hint="codenav sandbox check process")
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
