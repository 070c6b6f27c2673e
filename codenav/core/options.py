"""The options of a caller: one class for each part of a session. Their fields are the definitions of all options.

From a field are made the keyword of `codenav.run`, the long option, the key of the configuration file, the variable,
the help text and the row of docs/reference.md; see `codenav.core.setting`.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from codenav.core.errors import Unavailable, UsageError
from codenav.core.execution import Mount, Resources, SandboxSettings
from codenav.core.setting import DAY, SMALLEST, check_ranges, keywords_of, setting

if TYPE_CHECKING:
    from codenav.core.messages import Hear
    from codenav.core.protocols import CallHandler, Model

STORES = ("embedded", "elasticsearch")
BACKENDS = ("auto", "docker", "bubblewrap", "process")


@dataclass(frozen=True)
class StoreOptions:
    """The store of the indexes, and how it is reached.

    A session takes such an object as it is. As plain keywords, missing ones have the configured values.
    """

    store: str = setting("embedded", "Store of the indexes.", choices=STORES)
    elasticsearch_url: str = setting(
        "", "Address of the server, with scheme and port; several, separated by commas, are nodes of one cluster.",
        key="elasticsearch.url", metavar="URL[,URL…]",
    )  # fmt: skip
    elasticsearch_replicas: int = setting(
        0, "Copies of each shard besides the first one; 0 suits a single node.",
        key="elasticsearch.replicas", metavar="N", least=0, most=20,
    )  # fmt: skip
    elasticsearch_shards: int = setting(
        1, "Shards of each index.", key="elasticsearch.shards", metavar="N", least=1, most=64
    )
    elasticsearch_api_key: str = setting(
        "", "API key in encoded form, id:key in base64.", key="elasticsearch.api_key", metavar="KEY", secret=True
    )
    elasticsearch_user: str = setting("", "User, where there is no API key.", key="elasticsearch.user", metavar="NAME")
    elasticsearch_password: str = setting(
        "", "Password of the user.", key="elasticsearch.password", metavar="TEXT", secret=True
    )
    elasticsearch_ca_file: str = setting(
        "", "Certificate of the authority that signed the server's (PEM).",
        key="elasticsearch.ca_file", metavar="FILE", unset="the system's authorities",
    )  # fmt: skip
    vectors: bool = setting(
        True,
        "Plain words also find words of similar meaning, by vectors that codenav ships; no index stores any of it.",
    )

    def checked(self) -> StoreOptions:
        """Return the options after checking them.

        Raises:
            UsageError: the store does not exist, or a number is out of range.
        """
        check_ranges(self)
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

    A field that is empty or None has the configured value, else the default. `auto` takes Docker if its engine has an
    image built for these sources, else bubblewrap.
    """

    backend: str = setting(
        "", "Sandbox of the code; process contains nothing.", key="sandbox", choices=BACKENDS, usual="auto"
    )
    _: KW_ONLY
    python: str | Path | None = setting(
        None, "Interpreter or virtual environment in which packages are found and code runs.",
        metavar="PATH", unset="the active virtual environment, else codenav's own",
    )  # fmt: skip
    work_dir: str | Path | None = setting(
        None, "Folder that is copied in, and gets the files that the code writes.",
        metavar="DIR", unset="a new one", configured=False,
    )  # fmt: skip
    env: Sequence[str] | Mapping[str, str] = setting(
        (), "Variable of the environment that the code sees, masked in all output. Repeatable.", metavar="NAME"
    )
    resources: Resources | None = None
    """Limits of the code. Default: the configured `memory`, `cpus`, `pids` and `code_timeout`."""
    mounts: Sequence[str | Path | Mount] = setting(
        (), "Folder that the code sees live, at the same path; read-only without :rw. Repeatable.",
        key="mount", metavar="DIR[:rw]",
    )  # fmt: skip
    calls: CallHandler | None = None
    """Handler of what the code asks of the host with `call_host`. Without it each call is refused."""


PROFILES = ("small", "full", "auto")
SMALL = 7e9
"""Weights from which a model gets the full profile: the smallest that CodeAct's table shows solving tasks of several
steps (2402.01030) have seven billion."""


@dataclass(frozen=True)
class ModelOptions:
    """The model that chooses the actions, and its prompts. A field that is empty or None has the configured value."""

    model: str | Model = setting(
        "", "Model name, or scripted:FILE to replay actions.",
        metavar="NAME", unset="an installed local one, else nothing runs",
    )  # fmt: skip
    _: KW_ONLY
    base_url: str = setting(
        "", "OpenAI-compatible server. The key is read from OPENAI_API_KEY.",
        metavar="URL", unset="OPENAI_BASE_URL, else OpenAI's own",
    )  # fmt: skip
    prompts: str | Path = setting(
        "", "Folder with prompt files of your own, which replace ours of the same name.", metavar="DIR"
    )
    profile: str = setting(
        "", "Prompts for a small or a large model; auto goes by its size: small is under 7 billion weights.",
        choices=PROFILES, usual="auto",
    )  # fmt: skip
    action_format: str = setting(
        "", "Form in which a large model writes its actions: tags in its text, or native calls of tools.",
        choices=("text", "tools"), usual="text",
    )  # fmt: skip
    tries: int | None = setting(
        None, "Scripts drawn for each step of a small model; the result that most give counts.",
        metavar="N", least=0, zero="the default", unset="3 for a model on this machine, else 1",
    )  # fmt: skip
    keep_alive: float | None = setting(
        None, "Time without use after which the server of a local model ends.",
        metavar="SECONDS", least=SMALLEST, most=DAY, unit="seconds", usual=300.0,
    )  # fmt: skip
    heard: Hear | None = None
    """Callback for each request to the model and for what it writes, as it arrives (`codenav.ModelReply`).

    It is not used for a model that is given as an object.
    """

    def is_small(self, parameters: float | None) -> bool:
        """True if a model with that many weights, None for unknown, is for the small profile. It has no prompt files.

        Raises:
            UsageError: there is no such profile, or prompt files are given for the small one.
        """
        check_ranges(self)
        if self.profile == "small" and self.prompts:
            raise UsageError("the small profile has no prompt files", hint="leave out --prompts, or --profile small")
        if self.profile != "auto" or self.prompts:
            return self.profile == "small"
        return parameters is not None and parameters < SMALL


@dataclass(frozen=True)
class CheckOptions:
    """The tools that read each step of code. Lint and types are on in the full profile and off in the small one."""

    format: bool | None = setting(None, "Format each step with black.", key="checks.format", unset="no")
    lint: bool | None = setting(
        None, "Check each step with flake8.", key="checks.lint", unset="yes; no in the small profile"
    )
    types: bool | None = setting(
        None, "Check each step with mypy.", key="checks.types", unset="yes; no in the small profile"
    )

    def switches(self, *, small: bool) -> dict[str, bool]:
        """The switches of `StepChecks`, for the small profile or the full one."""
        return {
            "formatting": bool(self.format),
            "lint": not small if self.lint is None else self.lint,
            "types": not small if self.types is None else self.types,
        }


GATES = ("read", "write", "all", "ask", "dry-run")
APPROVALS = ("none", "writes", "steps")
LEAST_ANSWER, MOST_ANSWER = 80, 100_000
"""Fewest and most characters of an answer in an observation: a line, and more than an observation has."""


@dataclass(frozen=True)
class ToolOptions:
    """The calls that code may make to tools of `openapi:`, `mcp:` and `tools:` sources, and with which secrets.

    A session takes such an object as it is. As plain keywords, missing ones have the configured values. `secrets` may
    be a mapping of names to variables.
    """

    allow: str = setting(
        "read", "Calls to tools that the code may make: those that only read; also those that write; all, deleting "
        "ones too; ask, for each that does more than read; or dry-run, which checks and records such a call unsent.",
        choices=GATES,
    )  # fmt: skip
    approve: str = setting(
        "none", "Ask before: each call to a tool that does more than read (writes), or each step of code (steps).",
        choices=APPROVALS,
    )  # fmt: skip
    secrets: Sequence[str] | Mapping[str, str] = setting(
        (), "Secret NAME of a tool source, from the environment variable VARIABLE; NAME may be a header, "
        "'Authorization: Bearer {}', or a query parameter, '?key={}'. The code never sees it. Repeatable.",
        key="secret", metavar="NAME=VARIABLE", configured=False,
    )  # fmt: skip
    server: str = setting("", "Server of the tools, in place of those that they name.", metavar="URL", configured=False)
    allow_private: bool = setting(False, "Tool sources may name files and servers on private addresses.")
    handlers: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """Functions of this process for the tools of a function list without addresses, by name."""
    compress: str | Model = setting(
        "", "Model that names the fields of a tool's long answers worth showing.", metavar="MODEL", unset="rules do"
    )
    answer_characters: int = setting(
        1024, "Most characters of a tool's answer in what the model is shown.",
        metavar="N", least=LEAST_ANSWER, most=MOST_ANSWER, unit="characters",
    )  # fmt: skip
    tool_timeout: float = setting(
        30.0, "Longest call to a tool with its repeats and the start of its server; never longer than its step.",
        metavar="SECONDS", least=SMALLEST, most=DAY, unit="seconds",
    )  # fmt: skip
    strict: bool = setting(False, "Tools that a check found wanting are left out.")

    def checked(self) -> ToolOptions:
        """Return the options after checking them.

        Raises:
            UsageError: a value is not one of those that are possible.
        """
        check_ranges(self)
        if self.server and not re.fullmatch(r"https?://[^\s/?#]+[^\s?#]*", self.server):
            raise UsageError(f"the server is no address: {self.server!r}", hint="such as http://localhost:8000/v1")
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


@dataclass(frozen=True)
class GraphOptions:
    """The part of a tool graph within which searches find something, in writing; see `codenav.GraphScope`."""

    within: Sequence[str] = setting(
        (), "Searches find only the tools that the graph recommends for these actions.",
        key="graph.within", metavar="ACTION",
    )  # fmt: skip
    file: str = setting("", "Tool graph, made by hand (YAML) or by codenav (JSON).", key="graph.file", metavar="FILE")
    hops: int = setting(0, "Steps to the actions that follow.", key="graph.hops", metavar="N", least=0)
    threshold: float = setting(
        0.5, "Least score of an edge that is followed.", key="graph.threshold", metavar="SCORE", least=0, most=1
    )


def near_one(name: str, known: Sequence[str]) -> str:
    """Return a hint that names the known name that was probably meant, else all of them."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"one of {', '.join(known)}"


FORMER = {
    "limit_steps": "max_steps", "limit_seconds": "max_seconds", "limit_tokens": "max_tokens",
    "format": "checks_format", "lint": "checks_lint", "types": "checks_types",
    "mounts": "mount", "secrets": "secret", "rewrite": "rewrite_model",
    "graph": "graph_file", "within_hops": "graph_hops", "within_threshold": "graph_threshold",
}  # fmt: skip
"""Names of settings in the version before, in files, records and keywords, with those of today."""


def check_keywords(names: Collection[str], known: Sequence[str]) -> None:
    """Check the names of keywords.

    Raises:
        UsageError: one is not known; the hint has a near one, or what took its place.
    """
    for name in names:
        if name not in known:
            now = FORMER.get(name.removeprefix("no_"), "")
            hint = f"it is {now}= now" if now in known else near_one(name, known)
            raise UsageError(f"there is no keyword {name!r}", hint=hint)


_Taker = TypeVar("_Taker", bound=Callable[..., Any])


def spelled(*kinds: Any) -> Callable[[_Taker], _Taker]:
    """Make a decorator for functions whose keywords are the fields of these options classes; see `check_keywords`."""

    def checking(function: _Taker) -> _Taker:
        parameters = inspect.signature(function).parameters.values()
        own = [item.name for item in parameters if item.kind != item.VAR_KEYWORD and item.name != "self"]
        known = [*own, *(name for kind in kinds for name in keywords_of(kind))]

        @functools.wraps(function)
        def checked(*arguments: Any, **keywords: Any) -> Any:
            check_keywords(keywords, known)
            return function(*arguments, **keywords)

        return cast(_Taker, checked)

    return checking
