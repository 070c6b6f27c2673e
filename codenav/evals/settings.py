"""The settings of a run: its keywords, the samples that it is of, and the head that says all of it."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from hashlib import file_digest, sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

from codenav import __version__
from codenav.agents.models import model_name, open_model, traits_of
from codenav.agents.models.chat import MAX_TOKENS
from codenav.agents.models.local.model import is_local, served_of
from codenav.core.config import load_config
from codenav.core.errors import UsageError
from codenav.core.execution import Resources
from codenav.core.limits import Limits
from codenav.core.messages import Completion, Message, Sampling
from codenav.core.options import CheckOptions, ModelOptions, SandboxOptions, StoreOptions, ToolOptions, near_one
from codenav.core.protocols import Model
from codenav.core.setting import keywords_of, updated
from codenav.environments.formatting import SHOWS
from codenav.evals.results import plain
from codenav.evals.runs import Head, in_shard
from codenav.evals.task import Mode, Sample, Setting
from codenav.session.agent_choice import model_options, profiled

STORE = keywords_of(StoreOptions)
PLACE = ("base_url", "python", "prompts", *(name for name in STORE if name != "vectors"))
"""Keywords that change no score, or that name paths of this machine."""
SAMPLING: Mapping[str, Any] = {"temperature": 0, "max_tokens": MAX_TOKENS, "seed": None}
"""The sampling of one attempt at each sample, in the adapter of Inspect too. No seed is sent."""
TEMPERATURE = 0.8
"""Temperature of several attempts at each sample: the likeliest tokens would be the same each time."""
VERSIONS = ("python", "xllamacpp")
"""The versions in the head of a run beside codenav's own: that of the interpreter, and of what serves local models."""
SECRET = ("elasticsearch_api_key", "elasticsearch_password")
"""Keywords that are never written down; a resumed run takes them from the environment."""

MakeModel = Callable[[Sample], Model]
"""Makes the model of one attempt: what plays a script can be played once."""


SESSIONS = [
    *(
        name
        for kind in (StoreOptions, ModelOptions, SandboxOptions, Resources, Limits, CheckOptions, ToolOptions)
        for name in keywords_of(kind)
        if name not in ("model", "heard", "work_dir", "calls", "handlers")
    ),
    "limits",
    "progress",
    "notice",
    "rerank",
]
"""The keywords of `codenav.run` that make sense for a run of many samples."""


@dataclass(frozen=True)
class Origin:
    """The benchmark and the command that a run comes from, for `codenav eval run --resume` to make its task again."""

    settings: Mapping[str, Any]
    """Options of the benchmark on which scores depend."""
    place: Mapping[str, Any]
    """Options that change no score: the checkout, paths."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a run, apart from its task: which attempts it makes, with which model and sessions."""

    mode: Mode = Mode.CODE_USE
    """`code-use` or `tool-use`."""
    model: str | Model | MakeModel | None = None
    """As for `codenav.run`, or a function that makes the model of a sample."""
    epochs: int = 1
    """Attempts at each sample."""
    limit: int | None = None
    """Number of samples, drawn in a fixed random order. None is all."""
    ids: Sequence[str] = ()
    """The samples to run. Empty is all."""
    shard: str = ""
    """`2/8` runs the second of eight parts, split by a hash of the id."""
    shows: str = SHOWS[0]
    """The content of search results, one of `SHOWS`."""
    ablation: str = ""
    """Name of the settings that were chosen together (`ablations.ABLATIONS`), for the head of the run."""
    price: Sequence[float] | None = None
    """Dollars for a million input and a million output tokens."""
    sessions: Mapping[str, Any] = field(default_factory=dict)
    """Values of `SESSIONS`, limits and resources always among them."""

    def __post_init__(self) -> None:
        if self.epochs < 1 or (self.limit is not None and self.limit < 1):
            raise UsageError("epochs and limit are numbers of at least 1", hint="such as --epochs 3 --limit 10")
        if self.shows not in SHOWS:
            raise UsageError(f"search shows no {self.shows!r}", hint=f"one of {', '.join(SHOWS)}")
        in_shard("", self.shard)

    @classmethod
    def of(cls, keywords: Mapping[str, Any]) -> Settings:
        """The settings of keywords; limits, resources and sandbox are the configured ones unless given.

        Raises:
            UsageError: a value is invalid.
        """
        config = load_config()
        given = {name: value for name, value in keywords.items() if value is not None}
        own = {name: given.pop(name) for name in cls.__dataclass_fields__ if name in given}
        mode = own.pop("mode", Mode.CODE_USE)
        if mode not in list(Mode):
            raise UsageError(f"no mode {mode!r}", hint=f"one of {', '.join(Mode)}")
        limits = updated(given.pop("limits", None) or config.limits, given)
        resources = updated(given.pop("resources", None) or config.resources, given)
        # One script for each step: several are drawn warm, and would be several tries beside one of another run.
        sessions = {"sandbox": config.sandbox.backend, "tries": 1, **given, "limits": limits, "resources": resources}
        return cls(mode=Mode(mode), sessions=sessions, **own)

    def samples(self, every: Sequence[Sample]) -> list[Sample]:
        """Return the samples of the run and its other shards: `ids` first, then `limit`.

        Raises:
            UsageError: there is no sample with one of the ids.
        """
        known = [sample.id for sample in every]
        for id in self.ids:
            if id not in known:
                raise UsageError(f"there is no sample {id!r}", hint=near_one(id, known[:20]))
        found = [sample for sample in every if not self.ids or sample.id in self.ids]
        chosen = sorted((sample.id for sample in found), key=in_draw)[: self.limit]
        return [sample for sample in found if sample.id in set(chosen)]

    def head(
        self, task: str, samples: Sequence[Sample], setting: Setting, origin: Origin | None, *, model: str, jobs: int
    ) -> Head:
        """Return the head of a run with these settings."""
        sessions = self.sessions
        live = ("limits", "resources", "progress", "notice", *PLACE)
        place = {name: sessions[name] for name in PLACE if name in sessions and name not in SECRET}
        place = {name: str(value) if isinstance(value, Path) else value for name, value in place.items()}
        return Head(
            task=task,
            mode=self.mode.value,
            model=model,
            epochs=self.epochs,
            samples=[sample.id for sample in samples],
            settings={
                **{name: plain(value) for name, value in sessions.items() if name not in live},
                "limits": asdict(sessions["limits"]),
                "resources": asdict(sessions["resources"]),
                "prompts": _digest(sessions.get("prompts")),
                "shows": self.shows,
                "price": list(self.price) if self.price else None,
                "sampling": self.sampling,
                **({"ablation": self.ablation} if self.ablation else {}),
                **plain(origin.settings if origin else {}),
            },
            facts={**plain(setting.facts), **self._digest_of_model()},
            shard=self.shard,
            place={
                **({"base_url": self.base_url} if self.base_url else {}),
                **plain(place),
                **plain(origin.place if origin else {}),
                "jobs": jobs,
                "versions": {name: version for name in VERSIONS if (version := version_of(name))},
            },
            own=origin is None,
            made=datetime.now(UTC).isoformat(timespec="seconds"),
            codenav=__version__,
        )

    @property
    def sampling(self) -> dict[str, Any]:
        """The sampling of the attempts: the likeliest tokens, or for several of them a seed each."""
        drawn = {"temperature": TEMPERATURE, "seed": f"1 to {self.epochs}"} if self.epochs > 1 else {}
        return {**SAMPLING, **drawn}

    def options(self, model: str | Model | None) -> ModelOptions:
        """The options of a model in these settings, with the configured values where they have none."""
        given = {name: value for name, value in self.sessions.items() if name in keywords_of(ModelOptions)}
        return profiled(model_options(updated(ModelOptions(model or ""), given)))

    def model_of(self, sample: Sample | None, epoch: int, opening: ExitStack) -> str | Model | None:
        """The model of an attempt: its name where the session may open it, else the model, open until `opening` ends.

        Raises:
            ModelNotConfigured, ModelRefused, NotFound, UsageError: for the reasons of `open_model`.
        """
        model: Any = self.model(sample) if callable(self.model) and sample else self.model
        named = not model or isinstance(model, str)
        if self.epochs == 1 and self.mode is not Mode.TOOL_USE and sample:
            return cast(str | Model | None, model or None)
        if named:
            options = self.options(model)
            model = open_model(
                str(options.model), base_url=options.base_url, notice=self.sessions.get("notice"),
                keep_alive=options.keep_alive,
            )  # fmt: skip
            opening.callback(model.close)
        return SeededModel(model, epoch) if self.epochs > 1 else cast(Model, model)

    @property
    def profile(self) -> str:
        """The profile of the agent, `small` or `full`, by the size of a model, which a function does not tell."""
        if callable(self.model):
            return "small" if self.sessions.get("profile") == "small" else "full"
        with ExitStack() as opening:
            return "small" if self.is_small(cast(Model, self.model_of(None, 1, opening))) else "full"

    def is_small(self, model: Model) -> bool:
        """True if the model, open now, is one for the small profile."""
        named = self.model is None or isinstance(self.model, str)
        options = self.options(cast(str | None, self.model) if named else model)
        return options.is_small(traits_of(model).parameters)

    def _digest_of_model(self) -> dict[str, str]:
        """The hash of the file of a local model."""
        name = self.model_name if self.model is None or isinstance(self.model, str) else ""
        if not is_local(name):
            return {}
        with served_of(name).path.open("rb") as file:
            return {"model_digest": f"sha256:{file_digest(file, 'sha256').hexdigest()[:16]}"}

    @property
    def base_url(self) -> str:
        """The server of the model, given or configured; empty if there is none."""
        return self.sessions.get("base_url") or load_config().model.base_url

    @property
    def model_name(self) -> str:
        """The name for the head of a run. Raises ModelNotConfigured."""
        if self.model is None or isinstance(self.model, str):
            return model_name(self.model or "", self.base_url)
        return str(getattr(self.model, "name", None) or getattr(self.model, "__name__", "a function"))


class SeededModel:
    """A model whose answers are drawn, with a seed of the epoch."""

    def __init__(self, model: Model, epoch: int) -> None:
        self._model, self._epoch = model, epoch

    def complete(
        self, messages: Sequence[Message], *, timeout: float | None = None, sampling: Sampling | None = None
    ) -> Completion:
        """The next answer, drawn at `TEMPERATURE` or above."""
        asked = sampling or Sampling()
        drawn = replace(
            asked, temperature=max(asked.temperature, TEMPERATURE), seed=1000 * self._epoch + (asked.seed or 0)
        )
        return self._model.complete(messages, timeout=timeout, sampling=drawn)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def in_draw(id: str) -> str:
    """The key by which samples are sorted to a fixed random order, of which each beginning is a fair sample."""
    return sha256(f"draw {id}".encode()).hexdigest()


def version_of(name: str) -> str:
    """The version of Python or of a distribution; "" if it is not installed."""
    if name == "python":
        return platform.python_version()
    with suppress(PackageNotFoundError):
        return version(name)
    return ""


def _digest(folder: Any) -> str:
    """Return a hash of the prompt files in a folder; "" for codenav's own."""
    if not folder or not Path(folder).is_dir():
        return ""
    files = sorted(path for path in Path(folder).iterdir() if path.is_file())
    return sha256(b"".join(path.name.encode() + b"\0" + path.read_bytes() + b"\0" for path in files)).hexdigest()
