"""The folders of codenav, and the defaults that a user can set.

Command line options take precedence over CODENAV_* variables, those over the configuration file, and that over the
defaults.
"""

from __future__ import annotations

import difflib
import errno
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Unpack

from codenav.core.errors import ELSEWHERE, Unavailable, UsageError
from codenav.core.execution import GIB, KIB, MIB, Resources
from codenav.core.limits import Limits
from codenav.core.options import (
    LEAST_ANSWER,
    MOST_ANSWER,
    ModelOptions,
    SandboxOptions,
    StoreKeywords,
    ToolKeywords,
    ToolOptions,
)
from codenav.core.options import StoreOptions as StoreOptions
from codenav.core.tool_selection import RANGES as SELECTION_RANGES
from codenav.core.tool_selection import SelectionKeywords, ToolSelection

_UNITS = {"": 1, "b": 1, "k": KIB, "m": MIB, "g": GIB}


def bytes_of(size: str) -> int:
    """Parse `2g`, `512m`, `1.5GiB` or a plain number of bytes. Units are powers of 1024.

    Raises:
        UsageError: it is not a size.
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([kmg]?)(?:i?b)?", size.strip().lower())
    if match is None:
        raise UsageError(f"{size!r} is not a size", hint="such as 512m or 2g")
    return int(float(match[1]) * _UNITS[match[2]])


def size_of(number: int) -> str:
    """Format a number of bytes for `bytes_of`: `2g` for 2 GiB."""
    unit = next(unit for unit in "gmk" if number % _UNITS[unit] == 0)
    return f"{number // _UNITS[unit]}{unit}"


@dataclass(frozen=True)
class Config:
    """The settings of one user. Each field is a key of the configuration file, `config.toml`.

    A default shared with `Resources`, `Limits` or `StoreOptions` is taken from there.
    """

    model: str = ""
    """Name of the model. `scripted:FILE` plays a file of actions. Environment: CODENAV_MODEL."""
    base_url: str = ""
    """URL of an OpenAI-compatible server. Empty: OPENAI_BASE_URL, else OpenAI's own. Environment: CODENAV_BASE_URL."""
    keep_alive: float = 300.0
    """Seconds without use after which the server of a local model ends. Environment: CODENAV_KEEP_ALIVE."""
    prompts: str = ""
    """Folder whose files replace ours of the same name. Environment: CODENAV_PROMPTS."""
    profile: str = "auto"
    """`small`, `full` or `auto`; see `ModelOptions.profile`. Environment: CODENAV_PROFILE."""
    tries: int = 0
    """See `ModelOptions.tries`; 0 stands for None. Environment: CODENAV_TRIES."""
    sandbox: str = "auto"
    """`auto`, `docker`, `bubblewrap` or `process`. Environment: CODENAV_SANDBOX."""
    image: str = ""
    """Default image of `docker`. Empty takes the one built for the sources. Environment: CODENAV_IMAGE."""
    runtime: str = ""
    """Runtime of `docker`, such as `runsc` for gVisor. Empty is the engine's default. Environment: CODENAV_RUNTIME."""
    memory: str = size_of(Resources.memory_bytes)
    """Memory of everything inside a sandbox: a number with k, m or g. Environment: CODENAV_MEMORY."""
    cpus: float = Resources.cpus
    """Processors that a sandbox may keep busy. Environment: CODENAV_CPUS."""
    pids: int = Resources.processes
    """Processes and threads in a sandbox. Environment: CODENAV_PIDS."""
    python: str = ""
    """Interpreter or virtual environment. Environment: CODENAV_PYTHON."""
    store: str = StoreOptions.store
    """`embedded` or `elasticsearch`. Environment: CODENAV_STORE."""
    elasticsearch_url: str = StoreOptions.elasticsearch_url
    """One URL, or several separated by commas. For this and the fields below see `StoreOptions`.

    Environment of these fields: CODENAV_ELASTICSEARCH_URL and so on.
    """
    elasticsearch_replicas: int = StoreOptions.elasticsearch_replicas
    elasticsearch_shards: int = StoreOptions.elasticsearch_shards
    elasticsearch_api_key: str = StoreOptions.elasticsearch_api_key
    elasticsearch_user: str = StoreOptions.elasticsearch_user
    elasticsearch_password: str = StoreOptions.elasticsearch_password
    elasticsearch_ca_file: str = StoreOptions.elasticsearch_ca_file
    vectors: bool = StoreOptions.vectors
    """See `StoreOptions.vectors`. In the environment `true` or `false`: CODENAV_VECTORS."""
    code_timeout: float = Resources.step_seconds
    """Timeout of one code step in seconds. Environment: CODENAV_CODE_TIMEOUT."""
    limit_steps: int = Limits.steps
    """See `Limits.steps`. Environment: CODENAV_LIMIT_STEPS."""
    limit_seconds: float = Limits.seconds
    """See `Limits.seconds`. Environment: CODENAV_LIMIT_SECONDS."""
    limit_tokens: int = Limits.tokens
    """See `Limits.tokens`. Environment: CODENAV_LIMIT_TOKENS."""

    allow: str = ToolOptions.allow
    """Calls to tools that code may make: `read`, `write`, `all` or `ask`. Environment: CODENAV_ALLOW."""
    compress: str = ""
    """Model that names the fields of a tool's long answers worth showing. Environment: CODENAV_COMPRESS."""
    answer_characters: int = ToolOptions.answer_characters
    """Most characters of a tool's answer in an observation. Environment: CODENAV_ANSWER_CHARACTERS."""
    tool_timeout: float = ToolOptions.tool_timeout
    """Most seconds of one call to a tool. Environment: CODENAV_TOOL_TIMEOUT."""

    embeddings: str = ToolSelection.embeddings
    """See `ToolSelection` for this and the fields below.

    Environment of these fields: CODENAV_EMBEDDINGS, CODENAV_EMBEDDINGS_MODEL and so on.
    """
    embeddings_model: str = ToolSelection.embeddings_model
    embeddings_dimensions: int = ToolSelection.embeddings_dimensions
    embeddings_api_key: str = ToolSelection.embeddings_api_key
    rerank_url: str = ToolSelection.rerank_url
    rerank_model: str = ToolSelection.rerank_model
    rerank_api_key: str = ToolSelection.rerank_api_key
    rerank_seconds: float = ToolSelection.rerank_seconds
    rerank_trigger: int = ToolSelection.rerank_trigger
    rerank_top: int = ToolSelection.rerank_top
    rerank_percent: float = ToolSelection.rerank_percent
    rerank_threshold: float = ToolSelection.rerank_threshold
    rerank_failure: str = ToolSelection.rerank_failure
    rewrite: str = ""
    rewrite_trigger: int = ToolSelection.rewrite_trigger
    rewrite_turns: int = ToolSelection.rewrite_turns
    rewrite_tokens: int = ToolSelection.rewrite_tokens
    rewrite_prompt: str = ToolSelection.rewrite_prompt
    rewrite_failure: str = ToolSelection.rewrite_failure

    def store_options(self, **given: Unpack[StoreKeywords]) -> StoreOptions:
        """Return the configured store, replaced by given values that are not None.

        Raises:
            UsageError: the store does not exist or lacks a given option, or a number is out of range.
        """
        said = {key: value for key, value in given.items() if value is not None}
        values = {item.name: getattr(self, item.name) for item in fields(StoreOptions)}
        options = StoreOptions(**{**values, **said}).checked()
        alien = [key for key in said if key.startswith("elasticsearch_")]
        if options.store == "embedded" and alien:
            raise UsageError(f"--{alien[0].replace('_', '-')} goes with --store elasticsearch", hint="add it")
        return options

    def sandbox_options(self, given: SandboxOptions) -> SandboxOptions:
        """Return the options with the configured backend, interpreter and resources where none are given.

        `image` and `runtime` are left as they are: whether the configured ones apply depends on the backend that `auto`
        chooses (`SandboxFactory.of`).

        Raises:
            UsageError: for the reasons of `resources`.
        """
        return replace(
            given,
            backend=given.backend or self.sandbox,
            python=given.python or self.python or None,
            resources=given.resources or self.resources(),
        )

    def tool_options(self, **given: Unpack[ToolKeywords]) -> ToolOptions:
        """Return the configured options of tools, replaced by given values that are not None.

        Raises:
            UsageError: a value is not one of those that are possible.
        """
        said: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        configured = {name: getattr(self, name) for name in ("allow", "compress", "answer_characters", "tool_timeout")}
        return ToolOptions(**{**configured, **said}).checked()

    def selection(self, **given: Unpack[SelectionKeywords]) -> ToolSelection:
        """Return the configured choice among tools and order of hits, replaced by given values that are not None.

        Raises:
            UsageError: a value is not one of those that are possible.
        """
        said: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        values = {item.name: getattr(self, item.name) for item in fields(ToolSelection)}
        return ToolSelection(**{**values, **said}).checked()

    def model_options(self, given: ModelOptions) -> ModelOptions:
        """Return the options with the configured model, server and prompts where none are given."""
        return replace(
            given,
            model=given.model or self.model,
            base_url=given.base_url or self.base_url,
            prompts=given.prompts or self.prompts,
            profile=given.profile or self.profile,
            tries=given.tries or self.tries or None,
        )

    def resources(
        self,
        given: Resources | None = None,
        *,
        memory: str | int | None = None,
        cpus: float | None = None,
        pids: int | None = None,
        code_timeout: float | None = None,
    ) -> Resources:
        """Return the configured resources of a sandbox, or `given` ones, replaced by the values that are not None.

        Raises:
            UsageError: a size is invalid, or a number is not above 0.
        """
        base = given or Resources(bytes_of(self.memory), self.cpus, self.pids, step_seconds=self.code_timeout)
        cpus, pids = base.cpus if cpus is None else cpus, base.processes if pids is None else pids
        if not 0 < cpus < float("inf") or pids < 1:
            raise UsageError(f"a sandbox with {cpus:g} processors and {pids} processes", hint="both above 0")
        return replace(
            base,
            memory_bytes=bytes_of(str(memory)) if memory else base.memory_bytes,
            cpus=cpus,
            processes=pids,
            step_seconds=base.step_seconds if code_timeout is None else code_timeout,
        )

    def limits(
        self,
        given: Limits | None = None,
        *,
        steps: int | None = None,
        seconds: float | None = None,
        tokens: int | None = None,
    ) -> Limits:
        """Return the configured limits, or `given` ones, replaced by the values that are not None."""
        base = given or Limits(self.limit_steps, self.limit_seconds, self.limit_tokens)
        return replace(
            base,
            steps=base.steps if steps is None else steps,
            seconds=base.seconds if seconds is None else seconds,
            tokens=base.tokens if tokens is None else tokens,
        )


def home(kind: str) -> Path:
    """Return the folder for `cache` (indexes), `data` (records) or `config`. CODENAV_HOME, if set, is used for all.

    It need not exist.

    Raises:
        Unavailable: it is not a folder, or may not be read.
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
    """Return the folder of the embedded indexes."""
    return home("cache") / "indexes"


def episodes_dir() -> Path:
    """Return the folder of the records, which has one folder for each."""
    return home("data") / "episodes"


def config_file() -> Path:
    """Return the path of the configuration file, which need not exist."""
    return home("config") / "config.toml"


def load_config() -> Config:
    """Load the configuration file, overridden by CODENAV_* variables.

    Raises:
        UsageError: the file is not TOML or has an unknown key, or a value has the wrong type or is out of range.
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
    told = str(default).lower() if isinstance(default, bool) else default
    hint = f"export {where}={told}" if where.isupper() else f"{key} = {told}, the default"
    try:
        if known[key] is str and not isinstance(value, str):
            raise ValueError
        if known[key] is bool:
            return value if isinstance(value, bool) else _TRUTHS[value.lower()]
        if isinstance(value, bool) or (known[key] is int and isinstance(value, float)):
            raise ValueError
        found = known[key](value)
    except (TypeError, ValueError, KeyError, AttributeError):
        raise UsageError(f"{key} in {where} is not {_KINDS[known[key]]}: {value!r}", hint=hint) from None
    if key in _RANGES:
        least, most, words = _RANGES[key]
        if not least <= found <= most:
            raise UsageError(f"{key} in {where} must be {words}: {value}", hint=hint)
    return found


_KINDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}
_SMALLEST, _DAY, _LARGEST = 1e-3, 86_400.0, 2**63 - 1
_RANGES: Mapping[str, tuple[float, float, str]] = {
    "code_timeout": (_SMALLEST, _DAY, "above 0 and at most 86400 seconds"),
    "cpus": (_SMALLEST, 1e6, "above 0"),
    "pids": (1, _LARGEST, "at least 1"),
    "keep_alive": (_SMALLEST, _DAY, "above 0 and at most 86400 seconds"),
    "limit_steps": (0, _LARGEST, "0 (no limit) or above"),
    "limit_seconds": (0, _DAY, "0 (no limit) or above, and at most 86400 seconds"),
    "limit_tokens": (0, _LARGEST, "0 (no limit) or above"),
    "answer_characters": (LEAST_ANSWER, MOST_ANSWER, f"{LEAST_ANSWER} to {MOST_ANSWER}"),
    "tool_timeout": (_SMALLEST, _DAY, "above 0 and at most 86400 seconds"),
    "elasticsearch_replicas": (0, _LARGEST, "0 or above"),
    "elasticsearch_shards": (1, _LARGEST, "at least 1"),
    **SELECTION_RANGES,
}
"""For each numeric key of `Config` the lowest and the highest value, and the range in words."""
