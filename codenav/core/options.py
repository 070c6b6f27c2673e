"""The options of a caller: one class for each part of a session, and the same options as plain keywords.

Defaults are defined in these classes (and in `Resources` and `Limits`) and nowhere else. Configuration, help texts
and the tables of `docs/` are made from them, or compared with them by tests.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

from codenav.core.errors import Unavailable, UsageError
from codenav.core.execution import Mount, Resources, SandboxSettings, SettingKeywords
from codenav.core.tool_selection import ToolSelection

if TYPE_CHECKING:
    from codenav.core.messages import Hear
    from codenav.core.protocols import CallHandler, Model

STORES = ("embedded", "elasticsearch")


@dataclass(frozen=True)
class StoreOptions:
    """The store of the indexes, and how it is reached.

    A session takes such an object as it is. As plain keywords, missing ones have the configured values.
    """

    store: str = "embedded"
    """`embedded` or `elasticsearch`."""
    elasticsearch_url: str = ""
    """Base URL with scheme and port (`https://localhost:9200`), or nodes of one cluster separated by commas."""
    elasticsearch_replicas: int = 0
    """Copies of each shard besides the first one. 0 suits a single node."""
    elasticsearch_shards: int = 1
    elasticsearch_api_key: str = field(default="", repr=False)
    """API key in encoded form, `id:key` in base64. Empty means none."""
    elasticsearch_user: str = ""
    elasticsearch_password: str = field(default="", repr=False)
    elasticsearch_ca_file: str = ""
    """PEM file of the authority that signed the server's certificate. Empty means the system's authorities."""
    vectors: bool = True
    """Whether plain words also find words of similar meaning, by the vectors that codenav ships.

    That is a matter of the search alone: no index stores anything of it.
    """

    def checked(self) -> StoreOptions:
        """Return the options after checking them.

        Raises:
            UsageError: the store does not exist, or a number is out of range.
        """
        if self.store not in STORES:
            raise UsageError(f"no store {self.store!r}", hint=f"one of {', '.join(STORES)}")
        if self.elasticsearch_replicas < 0 or self.elasticsearch_shards < 1:
            raise UsageError(
                "Elasticsearch takes 0 replicas or more, and 1 shard or more", hint="docs/elasticsearch.md"
            )
        return self

    def secrets(self) -> dict[str, str]:
        """Return the secrets by name, for what masks them; an empty one masks nothing."""
        return {
            "elasticsearch api key": self.elasticsearch_api_key,
            "elasticsearch password": self.elasticsearch_password,
        }


@dataclass(frozen=True)
class SandboxOptions(SandboxSettings):
    """The sandbox that runs the code: `SandboxOptions("docker", image="python:3.12-slim", gpus="all")`.

    A field that is empty or None has the configured value, else the default.
    """

    backend: str = ""
    """`auto`, `docker`, `bubblewrap` or `process` (no isolation).

    `auto` takes Docker if its engine has an image built for these sources, else bubblewrap. Configured: `sandbox`.
    """
    _: KW_ONLY
    python: str | Path | None = None
    """Interpreter or virtual environment in which packages are found and code runs.

    Default: the active virtual environment, else codenav's own.
    """
    work_dir: str | Path | None = None
    """Folder copied in at the start. It gets the files that the code writes. Default: one beside the first record."""
    env: Sequence[str] | Mapping[str, str] = field(default=(), metadata={"option": "env"})
    """Names of this process's variables that the code sees, or names with values. Values are masked in all output."""
    resources: Resources | None = None
    """Limits of the code. Default: the configured `memory`, `cpus`, `pids` and `code_timeout`."""
    mounts: Sequence[str | Path | Mount] = field(default=(), metadata={"option": "mount"})
    """Host folders that are live inside, at the same path. `DIR:rw` is writable, others are read-only."""
    calls: CallHandler | None = None
    """Handler of what the code asks of the host with `call_host`. Without it each call is refused."""


PROFILES = ("small", "full", "auto")
SMALL = 7e9
"""Weights from which a model gets the full profile: the smallest that CodeAct's table shows solving tasks of several
steps (2402.01030) have seven billion."""


@dataclass(frozen=True)
class ModelOptions:
    """The model that chooses the actions, and its prompts."""

    model: str | Model = ""
    """A name, or any `protocols.Model`.

    Empty: the configured one. If there is none, nothing runs (`ModelNotConfigured`).
    """
    _: KW_ONLY
    base_url: str = ""
    """URL of an OpenAI-compatible server. Empty: the configured one, else OPENAI_BASE_URL, else OpenAI's own."""
    prompts: str | Path = ""
    """Folder whose prompt files replace ours of the same name, or add those of new actions.

    Empty: the configured one.
    """
    profile: str = ""
    """`small`, `full`, or `auto`: small for a model of under 7 billion weights. Empty: the configured one."""
    tries: int | None = None
    """Scripts that the small profile draws for each step of code; the result that most give is kept.

    None: the configured number, else 3 for a model on this machine and 1 for one on a server, which may cost money.
    """
    heard: Hear | None = None
    """Callback for each request to the model and for what it writes, as it arrives (`codenav.Heard`).

    It is not used for a model that is given as an object.
    """

    def is_small(self, parameters: float | None) -> bool:
        """True if a model with that many weights, None for unknown, is for the small profile. It has no prompt files.

        Raises:
            UsageError: there is no such profile, or prompt files are given for the small one.
        """
        if self.profile not in PROFILES:
            raise UsageError(f"there is no profile {self.profile!r}", hint=near_one(self.profile, PROFILES))
        if self.profile == "small" and self.prompts:
            raise UsageError("the small profile has no prompt files", hint="leave out --prompts, or --profile small")
        if self.profile != "auto" or self.prompts:
            return self.profile == "small"
        return parameters is not None and parameters < SMALL


@dataclass(frozen=True)
class CheckOptions:
    """The tools that read each step of code."""

    format: bool = False
    """Formatting with black."""
    lint: bool | None = None
    """Checking with flake8. None: yes in the full profile, no in the small one."""
    types: bool | None = None
    """Checking with mypy. None as for `lint`."""


GATES = ("read", "write", "all", "ask")
MOST_TOOL_SECONDS = 86_400.0
"""Most seconds of a call to a tool: a day, as for a step."""
LEAST_ANSWER, MOST_ANSWER = 80, 100_000
"""Fewest and most characters of an answer in an observation: a line, and more than an observation has."""


@dataclass(frozen=True)
class ToolOptions:
    """The calls that code may make to tools of `openapi:`, `mcp:` and `tools:` sources, and with which secrets.

    A session takes such an object as it is. As plain keywords, missing ones have the configured values.
    """

    allow: str = "read"
    """`read`: operations that only read. `write`: also those that create or change. `all`: also those that delete.
    `ask`: each call that does more than read is asked for anew."""
    secrets: Sequence[str] | Mapping[str, str] = field(default=(), metadata={"option": "secret"})
    """`NAME=VARIABLE` for each security scheme: the variable of this process that holds its value. A mapping of names
    to variables is the same. NAME may be a header (`Authorization: Bearer {}`) or query parameter (`?key={}`)."""
    server: str = ""
    """URL in place of the servers that a spec names."""
    allow_private: bool = False
    """Specs may refer to files on private addresses."""
    handlers: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """Functions of this process for the tools of a function list without addresses, by name."""
    compress: str | Model = ""
    """Model that names the fields of long answers worth showing. Empty: rules do."""
    answer_characters: int = 1024
    """Most characters of an answer in an observation."""
    tool_timeout: float = 30.0
    """Most seconds of one call with its repeats, and with the start of an MCP server; never longer than its step."""
    strict: bool = False
    """Tools that a check found wanting are left out."""

    def checked(self) -> ToolOptions:
        """Return the options after checking them.

        Raises:
            UsageError: a value is not one of those that are possible.
        """
        if self.allow not in GATES:
            raise UsageError(f"no such gate: {self.allow!r}", hint=f"one of {', '.join(GATES)}")
        if self.server and not re.fullmatch(r"https?://[^\s/?#]+[^\s?#]*", self.server):
            raise UsageError(f"the server is no address: {self.server!r}", hint="such as http://localhost:8000/v1")
        if not LEAST_ANSWER <= self.answer_characters <= MOST_ANSWER:
            raise UsageError(
                f"answers of {self.answer_characters} characters",
                hint=f"{LEAST_ANSWER} to {MOST_ANSWER}; the default is {ToolOptions.answer_characters}",
            )
        if not 0 < self.tool_timeout <= MOST_TOOL_SECONDS:
            raise UsageError(
                f"a time limit of {self.tool_timeout:g} seconds for calls to tools",
                hint=f"above 0 and at most {MOST_TOOL_SECONDS:g}; the default is {ToolOptions.tool_timeout:g}",
            )
        self.variables()
        return self

    def variables(self) -> dict[str, str]:
        """Return the name of the variable that holds each secret, by the name of the secret.

        Raises:
            UsageError: a secret is not of the form `NAME=VARIABLE`, or named twice.
        """
        if isinstance(self.secrets, Mapping):
            return dict(self.secrets)
        found: dict[str, str] = {}
        for item in [self.secrets] if isinstance(self.secrets, str) else self.secrets:
            # A name may have one itself: `?key={}=VARIABLE`.
            name, equals, variable = item.rpartition("=")
            if not (name and equals and re.fullmatch(r"[A-Za-z_]\w*", variable, re.ASCII)):
                # What follows may be the secret itself: it is not repeated.
                raise UsageError(
                    f"the secret {name!r} names no variable" if name and equals else "a secret is not NAME=VARIABLE",
                    hint="--secret NAME=VARIABLE, with the name of an environment variable that holds the value",
                )
            if name in found:
                raise UsageError(f"the secret {name!r} is named twice", hint="name each secret once")
            found[name] = variable
        return found

    def values(self) -> dict[str, str]:
        """Return the values of the secrets, from the environment of this process.

        Raises:
            UsageError: raised by `variables`.
            Unavailable: a variable is not set.
        """
        values = {}
        for name, variable in self.variables().items():
            values[name] = os.environ.get(variable, "").strip()
            if not values[name]:
                raise Unavailable(
                    f"the secret {name} has no value: the variable {variable} is not set", hint=f"export {variable}=…"
                )
        return values


class StoreKeywords(TypedDict, total=False):
    """`StoreOptions` as keywords. None or missing is the configured value."""

    store: str | None
    elasticsearch_url: str | None
    elasticsearch_replicas: int | None
    elasticsearch_shards: int | None
    elasticsearch_api_key: str | None
    elasticsearch_user: str | None
    elasticsearch_password: str | None
    elasticsearch_ca_file: str | None
    vectors: bool | None


class LimitKeywords(TypedDict, total=False):
    """`Limits` as keywords, named as the options are."""

    max_steps: int | None
    max_seconds: float | None
    max_tokens: int | None


class ResourceKeywords(TypedDict, total=False):
    """The limits of `Resources` that have an option, as keywords; a size is text such as `2g`, or bytes."""

    memory: str | int | None
    cpus: float | None
    pids: int | None
    code_timeout: float | None


class SandboxKeywords(SettingKeywords, ResourceKeywords, total=False):
    """`SandboxOptions` as keywords, without `backend`, whose name differs from place to place."""

    python: str | Path | None
    work_dir: str | Path | None
    env: Sequence[str] | Mapping[str, str] | None
    resources: Resources | None
    mount: str | Path | Mount | Sequence[str | Path | Mount] | None
    mounts: Sequence[str | Path | Mount] | None
    calls: CallHandler | None


class ModelKeywords(TypedDict, total=False):
    """`ModelOptions` as keywords, without `model`."""

    base_url: str | None
    prompts: str | Path | None
    profile: str | None
    tries: int | None
    heard: Hear | None


class CheckKeywords(TypedDict, total=False):
    """`CheckOptions` as keywords."""

    format: bool | None
    lint: bool | None
    types: bool | None


class PlainToolKeywords(TypedDict, total=False):
    """The fields of `ToolOptions` that can be written down, as keywords. None or missing is the configured value."""

    allow: str | None
    secret: str | Sequence[str] | Mapping[str, str] | None
    secrets: Sequence[str] | Mapping[str, str] | None
    server: str | None
    allow_private: bool | None
    compress: str | Model | None
    answer_characters: int | None
    tool_timeout: float | None
    strict: bool | None


class ToolKeywords(PlainToolKeywords, total=False):
    """`ToolOptions` as keywords."""

    handlers: Mapping[str, Callable[..., Any]] | None


Options = TypeVar("Options", StoreOptions, SandboxOptions, ModelOptions, CheckOptions, ToolOptions, ToolSelection)


def given_of(kind: type[Options], keywords: dict[str, Any]) -> dict[str, Any]:
    """Remove the fields of an options class from keywords, and return those that are not None."""
    taken = {item.name: keywords.pop(item.name, None) for item in fields(kind)}
    return {name: value for name, value in taken.items() if value is not None}


def near_one(name: str, known: Sequence[str]) -> str:
    """Return a hint that names the known name that was probably meant, else all of them."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"one of {', '.join(known)}"


FIELDS = {
    item.metadata["option"]: item.name
    for kind in (SandboxOptions, ToolOptions, ToolSelection)
    for item in fields(kind)
    if "option" in item.metadata
}
"""The fields whose long option is not named as they are, or may be repeated, by that name."""


def _as_field(name: str, value: Any, known: Collection[str]) -> tuple[str, Any]:
    """The keyword that a long option stands for, with underscores: `mount` for `mounts`, `no_lint` for not `lint`."""
    if name in FIELDS and value is not None and not isinstance(value, bool):
        single = isinstance(value, str | Path | Mount) and FIELDS[name] in ("env", "mounts", "secrets")
        return FIELDS[name], [value] if single else value
    if name.startswith("no_") and name not in known and isinstance(value, bool):
        return name.removeprefix("no_"), not value
    return name, value


_Taker = TypeVar("_Taker", bound=Callable[..., Any])


def spelled(*kinds: Any) -> Callable[[_Taker], _Taker]:
    """Make a decorator for functions with these `TypedDict` keywords: unknown keywords raise UsageError with a hint.

    A long option of the command line is a keyword, too.
    """

    def checking(function: _Taker) -> _Taker:
        parameters = inspect.signature(function).parameters.values()
        own = [item.name for item in parameters if item.kind != item.VAR_KEYWORD and item.name != "self"]

        @functools.wraps(function)
        def checked(*arguments: Any, **keywords: Any) -> Any:
            known = [*own, *(name for kind in kinds for name in kind.__annotations__)]
            given = {}
            for name, value in keywords.items():
                field_name, meant = _as_field(name, value, known)
                if field_name not in known:
                    raise UsageError(f"there is no keyword {name!r}", hint=near_one(name, known))
                if field_name in given:
                    raise UsageError(f"{field_name!r} is given twice", hint=f"leave out {name!r}")
                given[field_name] = meant
            return function(*arguments, **given)

        return cast(_Taker, checked)

    return checking
