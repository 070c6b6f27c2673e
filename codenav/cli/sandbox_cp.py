"""`codenav sandbox cp`: files into and out of the work folder of a named sandbox."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from codenav.cli.options import counted, say
from codenav.errors import NotFound, StorageFull, UsageError

if TYPE_CHECKING:
    from codenav.named.client import NamedSandbox

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
    from codenav.named.client import connect

    if there is not None:
        with connect(there[1]) as box:
            copied = _copy_out(box, _relative(box, there[2]), target)
    else:
        assert here is not None
        with connect(here[1]) as box:
            copied = _copy_in(box, source, _relative(box, here[2]), below=here[2].endswith("/"))
    if copied != 1:
        say(f"{counted(copied, 'file')} copied.", err=True)


def _relative(box: NamedSandbox, path: str) -> str:
    """A path inside, relative to the work folder; empty is the folder itself.

    Raises:
        UsageError: it leads out of the work folder.
    """
    base = box.record.work_inside
    clean = os.path.normpath(os.path.join(base, path))
    if clean == base:
        return ""
    if not clean.startswith(f"{base}/"):
        raise UsageError(f"{path} is not in the work folder {base}", hint="name a path relative to it")
    return clean[len(base) + 1 :]


def _copy_out(box: NamedSandbox, name: str, target: str) -> int:
    files = list(box.artifacts())
    into = Path(target)
    if name in files:
        if target == "-":
            stdout = sys.stdout.buffer
            box.read_file_into(name, stdout)
            stdout.flush()
        elif into.is_dir() or target.endswith("/"):
            _write(into, [name.rpartition("/")[2]], functools.partial(box.read_file_into, name))
        else:
            _write(into.parent, [into.name], functools.partial(box.read_file_into, name))
        return 1
    below = [file for file in files if not name or file.startswith(f"{name}/")]
    if (name and not below) or target == "-":
        what = "is a folder" if below else "is not a file there"
        raise NotFound(f"{name or 'the work folder'} {what}", hint=f"codenav sandbox cp {box.record.name}: DIR")
    if name and into.is_dir():
        into = into / name.rpartition("/")[2]
    with _told(into):
        into.mkdir(exist_ok=True)
    for each in below:
        parts = each[len(name) + 1 if name else 0 :].split("/")
        _write(into, parts, functools.partial(box.read_file_into, each))
    return len(below)


def _copy_in(box: NamedSandbox, source: str, name: str, *, below: bool) -> int:
    path = Path(source)
    if not path.exists():
        raise NotFound(f"there is no {source}", hint="name a file or a folder")
    below = below or not name or any(file.startswith(f"{name}/") for file in box.artifacts())
    own = Path(os.path.abspath(path)).name
    if not path.is_dir():
        _put(box, f"{name}/{own}".lstrip("/") if below else name, path)
        return 1
    copied = 0
    for folder, folders, names in os.walk(path):
        folders.sort()
        for each in sorted(names):
            file = Path(folder, each)
            if file.is_file() and not file.is_symlink():
                inner = [name, own if below else "", file.relative_to(path).as_posix()]
                _put(box, "/".join(filter(None, inner)), file)
                copied += 1
    return copied


def _put(box: NamedSandbox, name: str, path: Path) -> None:
    try:
        with path.open("rb") as file:
            if file.seekable() and os.fstat(file.fileno()).st_size:
                box.write_file_from(name, file)
                return
            # A pipe or one of the kernel's own files: its size is known at its end.
            with tempfile.TemporaryFile() as whole:
                shutil.copyfileobj(file, whole)
                whole.seek(0)
                box.write_file_from(name, whole)
    except OSError as error:
        raise NotFound(f"cannot read {path}: {error.strerror}", hint="name a file that you may read") from error


def _write(root: Path, parts: list[str], fill: Callable[[IO[bytes]], object]) -> None:
    """Write a file below a folder of ours. Its name comes from inside: no link is followed on the way.

    Raises:
        UsageError: it cannot be written there.
    """
    if any(part in ("", ".", "..") for part in parts):
        raise UsageError(f"{'/'.join(parts)} is no plain relative name", hint="rename it in the sandbox")
    with _told(root.joinpath(*parts)):
        at = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in parts[:-1]:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=at)
                inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
                os.close(at)
                at = inner
            _replace(at, parts[-1], fill)
        finally:
            os.close(at)


def _replace(folder: int, name: str, fill: Callable[[IO[bytes]], object]) -> None:
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise IsADirectoryError(21, "there is a folder of that name")
    part = f".codenav-{secrets.token_hex(8)}.part"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            fill(file)
        os.replace(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(part, dir_fd=folder)
        raise


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    import errno

    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull(f"no room for {path}", hint="free some space") from error
        raise UsageError(f"cannot write {path}: {error.strerror}", hint="name a folder that is there") from error
