"""`codenav doctor`: a check of this machine, with a remedy for everything that does not work."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import click

from codenav.cli.options import (
    counted,
    json_option,
    print_json,
    python_option,
    say,
    set_option,
    setting_option,
    sized,
)
from codenav.core.errors import ELSEWHERE, CodeNavError, MissingExtra, ModelNotConfigured, UsageError
from codenav.core.system.stored import Document

if TYPE_CHECKING:
    from codenav.core.config import Config

LEAST_FREE = 1 << 30
"""Bytes. The index of the largest package that was tried (transformers, 88,000 blocks) takes 60 MB."""

LONGEST_NAME = len("system message")
"""Characters of the longest name of an ability."""

CHECK_HINT = "codenav doctor; if that finds nothing, it is a fault of codenav's: report it with this line"

TOOL_READERS = ("httpx2", "jsonschema", "jsonschema_rs", "mcp", "openapi_spec_validator", "yaml")
"""Modules of the extra `tools`."""


@dataclass(frozen=True)
class Row(Document):
    """One line of the table. No request can run unless the `needed` ones are ok."""

    name: str
    ok: bool
    detail: str
    hint: str = ""
    needed: bool = False

    stored: ClassVar[Sequence[str]] = ("name", "ok", "detail", "hint")


@click.command("doctor")
@setting_option("model", "Model to check.")
@setting_option("base_url", "Server to check.")
@click.option("--probe", is_flag=True, help="Try by small checks what the model can do; runs begin from it.")
@setting_option("sandbox", "Check only that this sandbox keeps its promises on this machine.")
@setting_option("image", "With --sandbox docker: image to check; it needs Python 3.8 or later.")
@click.option(
    "--only",
    metavar="ID[,ID…]",
    default="",
    help="With --sandbox: only these attacks (F1,N3), or sections of them (F).",
)
@setting_option("store", "Check only that this store does what codenav needs of it.")
@python_option
@set_option
@json_option
def command(
    model: str | None,
    base_url: str | None,
    probe: bool,
    sandbox: str | None,
    image: str | None,
    only: str,
    store: str | None,
    python: str | None,
    as_json: bool,
) -> int:
    """Check Python, sandboxes, Docker, checkers, Elasticsearch, the model's server, configured services and the disk.

    Model servers at the usual ports of this machine are named.

    With --sandbox harmless probes come first; if one fails, nothing is attacked. The contract follows: the behaviour of
    a step in every sandbox. Then the attacks: F file system, N network, P processes, R resources, S secrets.
    `process` contains nothing, so only the contract runs there. Takes about a minute. With
    --store the checks work on indexes of their own, which are removed again.

    \b
    Exit codes: 0 code can run here and everything that was checked held, 1 a sandbox or store did not
    keep a promise, 4 Python, bubblewrap and Docker, or the disk is not fit for it.

    \b
    Examples:
      codenav doctor
      codenav doctor --model llama3 --base-url http://localhost:11434/v1
      codenav doctor --model local --probe
      codenav doctor --sandbox bubblewrap --only N,S2 --json
      codenav doctor --store elasticsearch --set elasticsearch.url=http://localhost:9200
    """
    if sandbox:
        return _check_sandbox(sandbox, python, image or "", only, as_json)
    if only or image:
        raise click.UsageError("--only and --image go with --sandbox.")
    if store:
        return _check_store(store, as_json)
    rows = list(_rows(model, base_url, python))
    if not as_json:
        width = max(len(row.name) for row in rows)
        for row in rows:
            _print(row, width)
    for row in _abilities(model, base_url) if probe else ():
        rows.append(row)
        if not as_json:
            # A model on processors alone takes minutes for all of them.
            _print(row, LONGEST_NAME)
    if as_json:
        print_json([row.to_dict() for row in rows])
    return 0 if all(row.ok for row in rows if row.needed) else 4


def _check_sandbox(backend: str, python: str | None, image: str, only: str, as_json: bool) -> int:
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
    rows = run_checks(backend, spec, only=_cases(only))
    return _promises((Row(row.name, row.ok, row.detail, row.hint) for row in rows), as_json)


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


def _check_store(name: str, as_json: bool) -> int:
    """Check a store on indexes of its own, print the rows, and return the exit code."""
    from codenav.core.config import load_config
    from codenav.retrieval.stores import check_store

    rows = check_store(load_config().store_options(store=name))
    return _promises((Row(row.name, row.ok, row.detail, "" if row.ok else CHECK_HINT) for row in rows), as_json)


def _promises(rows: Iterable[Row], as_json: bool) -> int:
    """Print checks of promises as they end, and return the exit code."""
    found = []
    for row in rows:
        found.append(row)
        if not as_json:
            say(f"{'ok  ' if row.ok else 'FAIL'}  {row.name}")
            for prefix, text in (("", row.detail), ("→ ", row.hint)):
                if text:
                    say(f"      {prefix}{text}")
    failed = sum(not row.ok for row in found)
    if as_json:
        print_json([row.to_dict() for row in found])
    else:
        say(f"{len(found) - failed} of {len(found)} held")
    return 1 if failed else 0


def _print(row: Row, width: int) -> None:
    say(f"{'ok     ' if row.ok else 'missing'}  {row.name:<{width}}  {row.detail}")
    if row.hint:
        say(f"{'':9}{'':{width}}  → {row.hint}")


def _rows(model: str | None, base_url: str | None, python: str | None) -> Iterator[Row]:
    yield _guarded("configuration", _configuration)
    yield _guarded("python", lambda: _python(python), needed=True)
    contained = _bubblewrap()
    docker = _docker(contained.ok)
    yield replace(contained, needed=not docker.ok)
    yield Row("process", True, "no isolation: the code has your rights; only with --sandbox process")
    yield docker
    yield _checkers()
    yield _elasticsearch()
    yield _tools()
    yield _guarded("model", lambda: _model(model, base_url))
    yield _guarded("servers", _servers)
    settings = _settings().selection
    if settings.embeddings:
        yield _guarded("embeddings", lambda: _scoring("embeddings", embeddings=settings.embeddings))
    if settings.rerank_url:
        yield _guarded("rerank", lambda: _scoring("rerank", rerank_url=settings.rerank_url))
    yield _guarded("disk", _disk, needed=True)
    with contextlib.suppress(CodeNavError):
        yield _episodes()


def _guarded(name: str, check: Callable[[], Row], *, needed: bool = False) -> Row:
    try:
        return check()
    except CodeNavError as error:
        return Row(name, False, str(error), error.hint, needed)


def _configuration() -> Row:
    from codenav.core.config import config_file, load_config

    load_config()
    path = config_file()
    return Row("configuration", True, str(path) if path.exists() else f"{path} (not there; defaults hold)")


def _settings() -> Config:
    """Return the configuration, or the defaults if it cannot be read, which has a row of its own."""
    from codenav.core.config import Config, load_config

    try:
        return load_config()
    except CodeNavError:
        return Config()


def _python(named: str | None) -> Row:
    from codenav.core.system.interpreter import find_interpreter

    found = find_interpreter(named or _settings().sandbox.python)
    own = ".".join(map(str, sys.version_info[:3]))
    detail = f"codenav on {own}; code runs on {found.version} at {found.executable}"
    return Row("python", True, f"{detail}, {len(found.distributions)} packages", needed=True)


def _bubblewrap() -> Row:
    from codenav.sandboxes import diagnose

    row = diagnose("bubblewrap")
    return Row("bubblewrap", row.ok, row.detail, row.hint)


def _docker(others: bool) -> Row:
    """Check Docker. If `others` is set bubblewrap works, and Docker is not needed."""
    from codenav.core.system.docker_engine import engine_listens, host
    from codenav.sandboxes import diagnose

    name, needed = "docker", not others
    if not engine_listens():
        install = "to have it: apt-get install docker.io"
        hint = f"not needed: bubblewrap contains the code; {install}" if others else install
        return Row(name, False, f"no engine answers at {host()}", hint, needed)
    row = diagnose("docker")
    return Row(name, row.ok, row.detail, row.hint, needed)


def _checkers() -> Row:
    from importlib import metadata

    from codenav.environments.checkers.mypy_runs import bounds, installed, untried

    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("black", "flake8", "mypy"))
    trouble = untried(installed())
    return Row("checkers", not trouble, trouble or versions, f"pip install '{bounds()}'" if trouble else "")


def _elasticsearch() -> Row:
    from codenav.retrieval.elastic.connection import Connection
    from codenav.retrieval.elastic.local_server import with_local_server

    try:
        options = with_local_server(_settings().store_options(store="elasticsearch"))
        if not options.elasticsearch_url:
            return Row("elasticsearch", True, "not configured; the embedded index serves")
        with contextlib.closing(Connection(options, patience=0.0)) as connection:
            connection.check()
            health = connection.read(lambda es: es.cluster.health(), empty=(403,)).get("status", "unknown")
            return Row("elasticsearch", health != "red", f"{connection.where} answers, its health is {health}")
    except CodeNavError as error:
        return Row("elasticsearch", False, str(error), error.hint)


def _tools() -> Row:
    """Check the packages that read specifications of tools."""
    from importlib import util

    missing = [name for name in TOOL_READERS if util.find_spec(name) is None]
    if missing:
        return Row("tools", False, f"{', '.join(missing)} missing", MissingExtra("", "tools").hint)
    return Row("tools", True, "openapi:, mcp: and tools: can be read")


def _model(named: str | None, base_url: str | None) -> Row:
    from codenav.agents.models import model_name, probe

    config = _settings().model
    server = base_url or config.base_url
    try:
        name = model_name(named or str(config.model), server)
    except ModelNotConfigured:
        raise
    except CodeNavError:
        return Row("model", False, "none is looked for where the configuration cannot be read", "see the first row")
    ok, detail, hint = probe(name, server)
    return Row("model", ok, detail, hint)


def _servers() -> Row:
    """Name the model servers that already run on this machine."""
    from codenav.agents.models.neighbours import PORTS, neighbours

    found = list(neighbours())
    if not found:
        return Row("servers", True, f"none at the usual ports of {', '.join(PORTS.values())}")
    texts = [f"{one.program}'s port, {one.url}: {', '.join(one.models[:4]) or 'no model'}" for one in found]
    first = next((one for one in found if one.models), None)
    return Row("servers", True, "; ".join(texts), f"--model {first.models[0]} --base-url {first.url}" if first else "")


def _abilities(named: str | None, base_url: str | None) -> Iterator[Row]:
    """Try what a model can do, with one row for each thing."""
    from codenav.agents.models import ChatModel, LocalModel, open_model

    config = _settings().model
    try:
        model = open_model(
            named or str(config.model),
            base_url=base_url or config.base_url,
            notice=lambda line: say(line, err=True),
        )
        if not isinstance(model, ChatModel | LocalModel):
            yield Row("probe", False, f"{model.name} plays a script: there is nothing to try")
            return
        with contextlib.closing(model):
            say(f"asking {model.name} a dozen small things", err=True)
            for one in model.abilities():
                yield Row(one.name, one.ok, one.detail, one.hint)
    except CodeNavError as error:
        yield Row("probe", False, str(error), error.hint)


def _scoring(name: str, *, embeddings: str = "", rerank_url: str = "") -> Row:
    """Check a service of searches."""
    from codenav.core.system.terminal_text import shown_url
    from codenav.session.services import Services

    settings = replace(
        _settings().selection,
        embeddings=embeddings,
        rerank_url=rerank_url,
        rewrite_model="",
    )
    with Services(settings) as services:
        services.check()
    place = embeddings or rerank_url
    return Row(name, True, f"{shown_url(place) if '://' in place else place} answers")


def _disk() -> Row:
    from codenav.core.config import episodes_dir, indexes_dir

    details = []
    for folder in dict.fromkeys([indexes_dir().parent, episodes_dir().parent]):
        existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
        free = shutil.disk_usage(existing).free
        details.append(f"{folder} {free / (1 << 30):.1f} GiB free")
        if not os.access(existing, os.W_OK | os.X_OK, effective_ids=True):
            return Row("disk", False, f"{existing} is not writable", ELSEWHERE, needed=True)
        if free < LEAST_FREE:
            hint = "free some space, or point CODENAV_HOME at another disk"
            return Row("disk", False, f"{free >> 20} MiB free in {folder}", hint, needed=True)
    return Row("disk", True, "; ".join(details), needed=True)


def _episodes() -> Row:
    from codenav.core.config import episodes_dir
    from codenav.episodes.removal import size_of
    from codenav.episodes.store import EpisodeStore

    store = EpisodeStore(episodes_dir())
    number = len(store.ids())
    hint = "to remove old ones: codenav episodes remove --older-than 30d" if number else ""
    return Row("episodes", True, f"{counted(number, 'episode')}, {sized(size_of(store))} in {store.folder}", hint)
