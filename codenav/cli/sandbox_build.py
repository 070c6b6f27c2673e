"""`codenav sandbox build`: a Docker image with code bases and their requirements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codenav.cli.options import counted, json_option, on_option, one_line, print_json, python_option, say

if TYPE_CHECKING:
    from codenav.core.system.interpreter import Interpreter
    from codenav.indexers.sources import Source
    from codenav.sandboxes.images import CodeBase

SHOWN = 5
"""Most left-out files that are named. `--json` has all of them."""


@click.command("build")
@on_option()
@click.option(
    "--requirements",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Requirements file for pip. Repeatable.  [default: requirements.txt of the code base, else the "
    "dependencies in its pyproject.toml or setup.cfg]",
)
@click.option("--base", metavar="IMAGE", help="Image to build on.  [default: python:X.Y-slim, as --python is]")
@click.option("--apt", metavar="PACKAGE", multiple=True, help="Debian package to install. Repeatable.")
@click.option("--tag", metavar="NAME", default="", help="Name of the image.  [default: codenav/SOURCE:HASH]")
@click.option(
    "--network",
    metavar="NAME",
    default="bridge",
    show_default=True,
    help="Network for pip and apt-get: bridge, host, or another one of the engine.",
)
@click.option(
    "--rebuild", is_flag=True, help="Build again even if the image exists, to get newer versions of the requirements."
)
@python_option
@json_option
def command(
    sources: tuple[str, ...],
    requirements: tuple[Path, ...],
    base: str | None,
    apt: tuple[str, ...],
    tag: str,
    network: str,
    rebuild: bool,
    python: str | None,
    as_json: bool,
) -> None:
    """Build a Docker image in which code bases can be imported, for `--sandbox docker`.

    A folder is copied in without its history, caches, virtual environments, credentials (.env, .netrc, …) and what its
    .dockerignore names; pkg:NAME is installed in the version that is installed here. Code runs as an unprivileged user.
    If nothing has changed since the last build, nothing is done. The build uses the indexes, proxies and certificates
    that pip is configured with on this machine; they are not in the image.

    \b
    Exit codes: 0 the image is there, 2 wrong usage,
    4 no engine or no base image, or pip or apt-get failed.

    \b
    Examples:
      codenav sandbox build --on ./my-repo
      codenav sandbox build --on pkg:networkx --base python:3.12-slim --tag graphs
      codenav sandbox build --on . --requirements requirements.txt --apt graphviz
    """
    from codenav.core.config import load_config
    from codenav.core.system.interpreter import find_interpreter
    from codenav.sandboxes.images import Recipe, build

    interpreter = find_interpreter(python or load_config().sandbox.python)
    code, packages = contents(sources, interpreter)
    recipe = Recipe(
        base=base or f"python:{'.'.join(interpreter.version.split('.')[:2])}-slim",
        code=code,
        packages=packages,
        requirements=requirements,
        apt=apt,
        tag=tag,
        network=network,
    )
    made = build(recipe, rebuild=rebuild, tell=lambda line: say(line, err=True))
    if as_json:
        print_json(made.to_dict())
        return
    held = f"Python {made.python}, {counted(len(made.packages), 'package')}, {made.size_bytes / 1e6:.0f} MB"
    say(f"{made.image}: {held}" + (f", built in {made.seconds:.1f} s" if made.built else "; nothing has changed"))
    if made.left_out:
        shown = ", ".join(map(one_line, made.left_out[:SHOWN])) + (", …" if len(made.left_out) > SHOWN else "")
        say(f"{counted(len(made.left_out), 'link')} out of the code base left out: {shown}", err=True)
    if made.built:
        named = " ".join(f"--on {source}" for source in sources)
        say(f'Next: codenav run "…" {one_line(named)} --sandbox docker', err=True)


def contents(named: Sequence[str], python: Interpreter) -> tuple[list[CodeBase], list[str]]:
    """Return the code bases to copy into the image, and the packages for pip."""
    from codenav.core.errors import NotFound
    from codenav.indexers.sources import resolve

    code: list[CodeBase] = []
    packages: list[str] = []
    for spec in dict.fromkeys(named):
        name, _, version = spec.removeprefix("pkg:").partition("==")
        try:
            found = resolve(spec, python, max_age=0.0)
        except NotFound:
            if not spec.startswith("pkg:") or not version:
                raise
            # A package that is not installed here can be installed there.
            packages.append(f"{name}=={version}")
            continue
        for source in found.parts.values() or [found]:
            _add(source, python, code, packages)
    return code, list(dict.fromkeys(packages))


def _add(source: Source, python: Interpreter, code: list[CodeBase], packages: list[str]) -> None:
    from codenav.core.system.interpreter import normalise
    from codenav.indexers.packages import find_package
    from codenav.sandboxes.images import CodeBase
    from codenav.session.sandbox_factory import labels_of

    if source.tools:
        # Stubs change with their specification: they are bound into each container, and are not part of an image.
        return
    project: Path | None = source.root
    stem = next(iter(source.versions), "") or source.root.name or "root"
    if source.name.startswith("pkg:"):
        if not find_package(stem, python).editable:
            packages.append(f"{normalise(stem)}=={source.versions[stem]}")
            return
        project = source.root.parent if source.root.name == "src" else source.root
    elif source.members is not None:
        # A single file: the folder around it may be another project's.
        stem, project = Path(source.name).stem, None
    taken = {one.name for one in code}
    name = next(one for one in (stem, *(f"{stem}-{number}" for number in range(2, len(code) + 3))) if one not in taken)
    code.append(
        CodeBase(
            source=labels_of([source])[0],
            name=name,
            root=source.root,
            members=source.members,
            import_root=source.import_root,
            import_paths=source.import_paths,
            project=project,
        )
    )
