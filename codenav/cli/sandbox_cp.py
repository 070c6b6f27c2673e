"""`codenav sandbox cp`: copy files into and out of the work folder of a named sandbox."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

import click

from codenav.cli.options import counted, say
from codenav.core.errors import NotFound, UsageError
from codenav.core.execution import Copied
from codenav.core.system.terminal_text import neutral

if TYPE_CHECKING:
    from codenav.sandboxes.daemon.client import NamedSandbox

_INSIDE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*):(.*)", re.DOTALL)


@click.command("cp")
@click.argument("source")
@click.argument("target")
def command(source: str, target: str) -> None:
    """Copy SOURCE to TARGET, one of which is NAME:PATH, a file or folder in the work folder of a sandbox.

    NAME: alone is all of it. As TARGET, - is stdout. A path of this side with a colon in it begins with ./

    \b
    Exit codes: 0 done, 2 wrong usage, no such sandbox or file.

    \b
    Examples:
      codenav sandbox cp lab:plot.png .
      codenav sandbox cp data.csv lab:
      codenav sandbox cp lab:results/ backup
    """
    there, here = _INSIDE.fullmatch(source), _INSIDE.fullmatch(target)
    if (there is None) == (here is None):
        raise click.UsageError("one of SOURCE and TARGET has to be NAME:PATH.")
    from codenav.sandboxes.daemon.client import connect

    if there is not None:
        with connect(there[1]) as box:
            name = _relative(box, there[2])
            copied = _to_stdout(box, name) if target == "-" else box.files.download(name, target)
    else:
        assert here is not None
        with connect(here[1]) as box:
            name = _relative(box, here[2])
            copied = box.files.upload(source, f"{name}/" if name and here[2].endswith("/") else name)
    for line in copied.left:
        say(f"[not copied] {line}", err=True)
    for path, tool in copied.run_by.items():
        say(f"[run by {tool} without being asked for] {neutral(path)}", err=True)
    if len(copied.files) != 1:
        say(f"{counted(len(copied.files), 'file')} copied.", err=True)


def _relative(box: NamedSandbox, path: str) -> str:
    """Return a path inside relative to the work folder. Empty is the folder itself.

    Raises:
        UsageError: it leads out of the work folder.
    """
    base = box.info.work_dir
    clean = os.path.normpath(os.path.join(base, path))
    if clean == base:
        return ""
    if not clean.startswith(f"{base}/"):
        raise UsageError(f"{path} is not in the work folder {base}", hint="name a path relative to it")
    return clean[len(base) + 1 :]


def _to_stdout(box: NamedSandbox, name: str) -> Copied:
    if box.files.stat(name).kind == "folder":
        what = name or "the work folder"
        raise NotFound(f"{what} is a folder", hint=f"codenav sandbox cp {box.record.name}:{name} DIR")
    stdout = sys.stdout.buffer
    box.files.read_into(name, stdout)
    stdout.flush()
    return Copied([name])
