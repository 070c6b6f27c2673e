"""Where codenav keeps its files, and the defaults that a user can set.

An option of the command line wins over a CODENAV_* variable, that over the configuration file, that over the
default.
"""

from __future__ import annotations

import difflib
import errno
import functools
import inspect
import os
import re
import stat
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypedDict, TypeVar, Unpack, cast

from codenav.errors import ELSEWHERE, Unavailable, UsageError
from codenav.execution import GIB, KIB, MIB, Resources
from codenav.limits import Limits


@dataclass(frozen=True)
class Config:
    """The settings of one user. Each field is a key of the configuration file, `config.toml`."""

    model: str = ""
    """Name of the model; `scripted:FILE` plays a file of actions. Without one, and without a server, the planner does
    what it can. Environment: CODENAV_MODEL."""
    base_url: str = ""
    """Of an OpenAI-compatible server; empty is OPENAI_BASE_URL, else OpenAI's own. Environment: CODENAV_BASE_URL."""
    prompts: str = ""
    """Folder whose files replace ours of the same name. Environment: CODENAV_PROMPTS."""
    sandbox: str = "auto"
    """`auto`, `docker`, `bubblewrap` or `process`. Environment: CODENAV_SANDBOX."""
    image: str = ""
    """Of `docker`: the image where none is named; empty takes the one built for the sources. Environment:
    CODENAV_IMAGE."""
    runtime: str = ""
    """Of `docker`: `runsc` for gVisor; empty is the engine's default. Environment: CODENAV_RUNTIME."""
    memory: str = "2g"
    """Of everything inside a sandbox, together: a number with k, m or g. Environment: CODENAV_MEMORY."""
    cpus: float = 2.0
    """Processors that a sandbox may keep busy. Environment: CODENAV_CPUS."""
    pids: int = 256
    """Processes and threads in a sandbox. Environment: CODENAV_PIDS."""
    python: str = ""
    """Interpreter or virtual environment. Environment: CODENAV_PYTHON."""
    store: str = "embedded"
    """`embedded` or `elasticsearch`. Environment: CODENAV_STORE."""
    elasticsearch_url: str = ""
    """One URL or several with commas between; for the fields below see `StoreOptions`. Environment of these fields:
    CODENAV_ELASTICSEARCH_URL and so on."""
    elasticsearch_replicas: int = 0
    elasticsearch_shards: int = 1
    elasticsearch_api_key: str = ""
    elasticsearch_user: str = ""
    elasticsearch_password: str = ""
    elasticsearch_ca_file: str = ""
    code_timeout: float = 60.0
    """Seconds of one code step. Environment: CODENAV_CODE_TIMEOUT."""
    limit_steps: int = 20
    """Environment: CODENAV_LIMIT_STEPS. See `Limits`."""
    limit_seconds: float = 600.0
    """Environment: CODENAV_LIMIT_SECONDS."""
    limit_tokens: int = 0
    """Environment: CODENAV_LIMIT_TOKENS."""

    def store_options(self, **given: Unpack[StoreKeywords]) -> StoreOptions:
        """The configured store; what is given and not None wins.

        Raises:
            UsageError: no such store, an option that the store does not have, or a number out of range.
        """
        said = {key: value for key, value in given.items() if value is not None}
        values = {item.name: getattr(self, item.name) for item in fields(StoreOptions)}
        options = StoreOptions(**{**values, **said})
        if options.store not in STORES:
            raise UsageError(f"no store {options.store!r}", hint=f"one of {', '.join(STORES)}")
        alien = [key for key in said if key.startswith("elasticsearch_")]
        if options.store == "embedded" and alien:
            raise UsageError(f"--{alien[0].replace('_', '-')} goes with --store elasticsearch", hint="add it")
        if options.elasticsearch_replicas < 0 or options.elasticsearch_shards < 1:
            raise UsageError(
                "Elasticsearch takes 0 replicas or more, and 1 shard or more", hint="docs/elasticsearch.md"
            )
        return options

    def resources(self, *, memory: str | None = None, cpus: float | None = None, pids: int | None = None) -> Resources:
        """What a sandbox may use; what is given wins.

        Raises:
            UsageError: a size that is none, or a number that is not above 0.
        """
        cpus, pids = self.cpus if cpus is None else cpus, self.pids if pids is None else pids
        if not 0 < cpus < float("inf") or pids < 1:
            raise UsageError(f"a sandbox with {cpus:g} processors and {pids} processes", hint="both above 0")
        return Resources(
            memory_bytes=bytes_of(memory or self.memory), cpus=cpus, processes=pids, step_seconds=self.code_timeout
        )

    def limits(self, *, steps: int | None = None, seconds: float | None = None, tokens: int | None = None) -> Limits:
        """The configured limits; what is given wins."""
        return Limits(
            steps=self.limit_steps if steps is None else steps,
            seconds=self.limit_seconds if seconds is None else seconds,
            tokens=self.limit_tokens if tokens is None else tokens,
        )


_UNITS = {"": 1, "b": 1, "k": KIB, "m": MIB, "g": GIB}


def bytes_of(size: str) -> int:
    """`2g`, `512m`, `1.5GiB` or a plain number of bytes; units are powers of 1024.

    Raises:
        UsageError: it is nothing of that.
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([kmg]?)(?:i?b)?", size.strip().lower())
    if match is None:
        raise UsageError(f"{size!r} is not a size", hint="such as 512m or 2g")
    return int(float(match[1]) * _UNITS[match[2]])


STORES = ("embedded", "elasticsearch")


class StoreKeywords(TypedDict, total=False):
    """What `codenav.index`, `codenav.search`, `Session` and others take of `StoreOptions`, as keywords."""

    store: str | None
    elasticsearch_url: str | None
    elasticsearch_replicas: int | None
    elasticsearch_shards: int | None
    elasticsearch_api_key: str | None
    elasticsearch_user: str | None
    elasticsearch_password: str | None
    elasticsearch_ca_file: str | None


_Taker = TypeVar("_Taker", bound=Callable[..., Any])


def spelled(function: _Taker) -> _Taker:
    """For a function that takes `**store`: a keyword that it does not have is a UsageError, which names a near one."""

    @functools.wraps(function)
    def checked(*arguments: Any, **keywords: Any) -> Any:
        own = [item.name for item in inspect.signature(function).parameters.values() if item.kind != item.VAR_KEYWORD]
        known = [name for name in (*own, *StoreKeywords.__annotations__) if name != "self"]
        for name in keywords:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                raise UsageError(
                    f"there is no keyword {name!r}",
                    hint=f"did you mean {near[0]!r}?" if near else f"one of {', '.join(known)}",
                )
        return function(*arguments, **keywords)

    return cast(_Taker, checked)


@dataclass(frozen=True)
class StoreOptions:
    """Where indexes are kept, and how it is reached."""

    store: str = "embedded"
    """`embedded` or `elasticsearch`."""
    elasticsearch_url: str = ""
    """Base URL with scheme and port (`https://localhost:9200`); with commas between, nodes of one cluster."""
    elasticsearch_replicas: int = 0
    """Copies of each shard besides the first one. 0 is for a single node."""
    elasticsearch_shards: int = 1
    elasticsearch_api_key: str = field(default="", repr=False)
    """Encoded form, `id:key` in base64. Empty: none."""
    elasticsearch_user: str = ""
    elasticsearch_password: str = field(default="", repr=False)
    elasticsearch_ca_file: str = ""
    """Certificate authority in PEM that signed the server's certificate; empty: those of the system."""


def home(kind: str) -> Path:
    """The folder for `cache` (indexes), `data` (records) or `config`; all under CODENAV_HOME where that is set.

    It need not exist.

    Raises:
        Unavailable: it is no folder, or may not be read.
    """
    moved = os.environ.get("CODENAV_HOME")
    if moved:
        return _readable(Path(os.path.abspath(os.path.expanduser(moved))), "CODENAV_HOME=")
    import platformdirs

    places = {
        "cache": platformdirs.user_cache_path,
        "data": platformdirs.user_data_path,
        "config": platformdirs.user_config_path,
    }
    return _readable(places[kind]("codenav"), "")


def _readable(folder: Path, named: str) -> Path:
    trouble = ""
    try:
        if not stat.S_ISDIR(os.stat(folder).st_mode):
            trouble = "is a file, not a folder"
        elif not os.access(folder, os.R_OK | os.X_OK, effective_ids=True):
            trouble = f"cannot be read: {os.strerror(errno.EACCES)}"
    except FileNotFoundError:
        trouble = "is a link that leads nowhere" if folder.is_symlink() else ""
    except OSError as error:
        trouble = f"cannot be read: {error.strerror}"
    if trouble:
        raise Unavailable(f"{named}{folder} {trouble}", hint=ELSEWHERE)
    return folder


def indexes_dir() -> Path:
    """Where the embedded indexes lie."""
    return home("cache") / "indexes"


def episodes_dir() -> Path:
    """Where the records lie, a folder each."""
    return home("data") / "episodes"


def config_file() -> Path:
    """The configuration file; it need not exist."""
    return home("config") / "config.toml"


def load_config() -> Config:
    """The configuration file with the CODENAV_* variables over it.

    Raises:
        UsageError: the file is not TOML, holds an unknown key, or a value has the wrong type or is out of its range.
        Unavailable: codenav's own folder cannot be read.
    """
    values: dict[str, Any] = {}
    path = config_file()
    if path.is_file():
        try:
            written = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
            raise UsageError(f"cannot read {path}: {error}", hint="mend the file or move it away") from error
        for key, value in written.items():
            values[key] = _checked(key, value, where=str(path))
    for item in fields(Config):
        variable = f"CODENAV_{item.name.upper()}"
        if os.environ.get(variable):
            values[item.name] = _checked(item.name, os.environ[variable], where=variable)
    return Config(**values)


def _checked(key: str, value: Any, *, where: str) -> Any:
    known: dict[str, type] = {item.name: type(getattr(Config, item.name)) for item in fields(Config)}
    if key not in known:
        near = difflib.get_close_matches(key, known, n=1)
        raise UsageError(
            f"unknown key {key!r} in {where}",
            hint=f"did you mean {near[0]!r}?" if near else f"keys: {', '.join(known)}",
        )
    default = getattr(Config, key)
    hint = f"export {where}={default}" if where.isupper() else f"{key} = {default}, the default"
    try:
        if known[key] is str and not isinstance(value, str):
            raise ValueError
        if isinstance(value, bool) or (known[key] is int and isinstance(value, float)):
            raise ValueError
        found = known[key](value)
    except (TypeError, ValueError):
        raise UsageError(f"{key} in {where} is not {_KINDS[known[key]]}: {value!r}", hint=hint) from None
    if key in _RANGES:
        least, most, words = _RANGES[key]
        if not least <= found <= most:
            raise UsageError(f"{key} in {where} must be {words}: {value}", hint=hint)
    return found


_KINDS = {str: "a text", int: "a whole number", float: "a number"}
_SMALLEST, _DAY, _LARGEST = 1e-3, 86_400.0, 2**63 - 1
_RANGES: Mapping[str, tuple[float, float, str]] = {
    "code_timeout": (_SMALLEST, _DAY, "above 0 and at most 86400 seconds"),
    "cpus": (_SMALLEST, 1e6, "above 0"),
    "pids": (1, _LARGEST, "at least 1"),
    "limit_steps": (0, _LARGEST, "0 (no limit) or above"),
    "limit_seconds": (0, _DAY, "0 (no limit) or above, and at most 86400 seconds"),
    "limit_tokens": (0, _LARGEST, "0 (no limit) or above"),
    "elasticsearch_replicas": (0, _LARGEST, "0 or above"),
    "elasticsearch_shards": (1, _LARGEST, "at least 1"),
}
"""Per number of `Config` the least and the most that it may be, and how that is said."""
