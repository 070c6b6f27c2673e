"""`codenav doctor`: what works on this machine; each line that does not says what to do."""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import click

from codenav.cli.options import json_option, print_json, python_option, say
from codenav.errors import CodeNavError

LEAST_FREE = 1 << 30
"""Bytes. The index of the largest package that was tried (transformers, 88,000 blocks) takes 60 MB."""
SECONDS = 3.0
"""Patience with each server; a doctor that hangs is no help."""


@dataclass(frozen=True)
class Row:
    """One line of the table. `needed`: without it no request can run."""

    name: str
    ok: bool
    detail: str
    hint: str = ""
    needed: bool = False


@click.command("doctor")
@click.option("--model", metavar="NAME", help="Model to look for.  [default: the configured one]")
@click.option("--base-url", metavar="URL", help="Server to ask.  [default: the configured one]")
@python_option
@json_option
def command(model: str | None, base_url: str | None, python: str | None, as_json: bool) -> int:
    """Check Python, sandboxes, Docker, Elasticsearch, the model's server and the disk.

    \b
    Exit codes: 0 code can run here, 4 Python, bubblewrap or the disk is not fit for it.

    \b
    Examples:
      codenav doctor
      codenav doctor --model llama3 --base-url http://localhost:11434/v1
    """
    rows = list(_rows(model, base_url, python))
    if as_json:
        print_json([{key: value for key, value in asdict(row).items() if key != "needed"} for row in rows])
    else:
        width = max(len(row.name) for row in rows)
        for row in rows:
            say(f"{'ok     ' if row.ok else 'missing'}  {row.name:<{width}}  {row.detail}")
            if row.hint:
                say(f"{'':9}{'':{width}}  → {row.hint}")
    return 0 if all(row.ok for row in rows if row.needed) else 4


def _rows(model: str | None, base_url: str | None, python: str | None) -> Iterator[Row]:
    yield _guarded("configuration", _configuration)
    yield _guarded("python", lambda: _python(python), needed=True)
    yield _sandbox()
    yield _process()
    yield _docker()
    yield _elasticsearch()
    yield _guarded("model", lambda: _model(model, base_url))
    yield _guarded("disk", _disk, needed=True)


def _guarded(name: str, check: Callable[[], Row], *, needed: bool = False) -> Row:
    try:
        return check()
    except CodeNavError as error:
        return Row(name, False, str(error), error.hint, needed)


def _configuration() -> Row:
    from codenav.config import config_file, load_config

    load_config()
    path = config_file()
    return Row("configuration", True, str(path) if path.exists() else f"{path} (not there; defaults hold)")


def _python(named: str | None) -> Row:
    from codenav.config import load_config
    from codenav.interpreter import find_interpreter

    found = find_interpreter(named or load_config().python or None)
    own = ".".join(map(str, sys.version_info[:3]))
    detail = f"codenav on {own}; code runs on {found.version} at {found.executable}"
    return Row("python", True, f"{detail}, {len(found.distributions)} packages", needed=True)


def _sandbox() -> Row:
    from codenav.sandboxes import diagnose

    row = diagnose("bubblewrap")
    return Row("bubblewrap", row.ok, row.detail, row.hint, needed=True)


def _process() -> Row:
    return Row("process", True, "no isolation: the code has your rights; only with --sandbox process")


def _docker() -> Row:
    place = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    hint = "not needed: bubblewrap contains the code; to have it: apt-get install docker.io"
    if not place.startswith("unix://"):
        return Row("docker", False, f"DOCKER_HOST={place} is not looked at by this version", hint)
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(SECONDS)
            connection.connect(place.removeprefix("unix://"))
            connection.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            answer = http.client.HTTPResponse(connection)
            answer.begin()
    except PermissionError:
        return Row("docker", False, f"no permission for {place}", "sudo usermod -aG docker $USER, then log in again")
    except (OSError, http.client.HTTPException) as error:
        return Row("docker", False, f"no engine answers at {place}: {error}", hint)
    return Row("docker", answer.status == 200, f"an engine answers at {place}")


def _elasticsearch() -> Row:
    from codenav.config import load_config
    from codenav.retrieval.elastic.connection import Connection
    from codenav.retrieval.elastic.local_server import with_local_server

    try:
        options = with_local_server(load_config().store_options(store="elasticsearch"))
        if not options.elasticsearch_url:
            return Row("elasticsearch", True, "not configured; the embedded index serves")
        with contextlib.closing(Connection(options, patience=0.0)) as connection:
            connection.check()
            health = connection.read("GET", "/_cluster/health", accept=(403,)).json().get("status", "unknown")
            return Row("elasticsearch", health != "red", f"{connection.where} answers, its health is {health}")
    except CodeNavError as error:
        return Row("elasticsearch", False, str(error), error.hint)


def _model(named: str | None, base_url: str | None) -> Row:
    from codenav.config import load_config
    from codenav.models import probe

    config = load_config()
    ok, detail, hint = probe(named or config.model, base_url or config.base_url)
    return Row("model", ok, detail, hint)


def _disk() -> Row:
    from codenav.config import episodes_dir, indexes_dir

    details = []
    for folder in dict.fromkeys([indexes_dir().parent, episodes_dir().parent]):
        existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
        free = shutil.disk_usage(existing).free
        details.append(f"{folder} {free / (1 << 30):.1f} GiB free")
        hint = "free some space, or point CODENAV_HOME at another disk"
        if not os.access(existing, os.W_OK):
            return Row("disk", False, f"{existing} is not writable", hint, needed=True)
        if free < LEAST_FREE:
            return Row("disk", False, f"{free >> 20} MiB free in {folder}", hint, needed=True)
    return Row("disk", True, "; ".join(details), needed=True)
