"""`codenav tools stubs`: a package of typed functions for the operations of a source, to use without codenav."""

from __future__ import annotations

from pathlib import Path

import click

from codenav.cli import completing
from codenav.cli.options import counted, json_option, print_json, say
from codenav.cli.tool_sources import no_refresh_option, private_option, states_of


@click.command("stubs")
@click.argument("source", shell_complete=completing.sources)
@click.option(
    "--out",
    metavar="DIR",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write to; it becomes the path to import from, as in PYTHONPATH.",
)
@no_refresh_option
@private_option
@json_option
def command(source: str, out: Path, no_refresh: bool, allow_private: bool, as_json: bool) -> None:
    """Write the operations of SOURCE as a package of typed functions into DIR, for programs without codenav.

    It needs Python 3.8 or newer and nothing else; calls go to the service directly. Secrets and another server are
    variables of the environment, which DIR/tools/_transport.py explains. Only files that this command wrote are
    written over.

    \b
    Examples:
      codenav tools stubs openapi:shop.yaml --out ./stubs
      PYTHONPATH=./stubs python -c "from tools.shop import create_order; help(create_order)"
    """
    from codenav.tools.broker import request
    from codenav.tools.state_files import read_spec_of
    from codenav.tools.written_stubs import write_stubs

    pure = Path(request.__file__).read_text(encoding="utf-8")
    rows = []
    for state in states_of([source], no_refresh=no_refresh, allow_private=allow_private):
        spec = read_spec_of(state.path)
        files = write_stubs(spec, out.absolute(), request=pure)
        name = f"tools.{spec.name}"
        rows.append(
            {"package": name, "folder": str(out.absolute()), "tools": len(spec.operations), "files": len(files)}
        )
        if not as_json:
            held = counted(len(spec.operations), "function")
            say(f"{name}: {held} in {counted(len(files), 'file')}, to import from {out.absolute()}")
    if as_json:
        print_json(rows)
