"""The settings of a run: its keywords, the samples that it is of, and the head that says all of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from codenav import __version__
from codenav.agents.models import model_name
from codenav.agents.models.chat import MAX_TOKENS
from codenav.core.config import load_config
from codenav.core.errors import UsageError
from codenav.core.execution import Mount, Resources, SettingKeywords
from codenav.core.limits import Limits
from codenav.core.options import CheckKeywords, PlainToolKeywords, StoreKeywords, near_one
from codenav.core.protocols import Model
from codenav.environments.formatting import SHOWS
from codenav.evals.runs import Head, plain
from codenav.evals.task import Mode, Sample, Setting
from codenav.retrieval.source_index import Notice

PLACE = ("base_url", "python", "prompts", *(name for name in StoreKeywords.__annotations__ if name != "vectors"))
"""Keywords that change no score, or that name paths of this machine."""
SAMPLING: Mapping[str, Any] = {"temperature": 0, "max_tokens": MAX_TOKENS, "seed": None}
"""How answers are drawn: what `models.ChatModel` asks for, and the adapter of Inspect too. No seed is sent."""
SECRET = ("elasticsearch_api_key", "elasticsearch_password")
"""Keywords that are never written down; a resumed run takes them from the environment."""


class EvalKeywords(StoreKeywords, SettingKeywords, CheckKeywords, PlainToolKeywords, total=False):
    """The keywords of `codenav.run` that make sense for a run of many samples."""

    sandbox: str | None
    python: str | Path | None
    env: Sequence[str] | None
    mounts: Sequence[str | Path | Mount] | None
    resources: Resources | None
    limits: Limits | None
    base_url: str | None
    prompts: str | Path | None
    progress: Callable[[Any], None] | None
    """Gets `indexers.build.Progress` of each build of an index."""
    notice: Notice | None


MakeModel = Callable[[Sample], Model]
"""Makes the model of one attempt: what plays a script can be played once."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a run, apart from its task. See `runner.run`."""

    mode: Mode = Mode.CODE_USE
    model: str | Model | MakeModel | None = None
    epochs: int = 1
    limit: int | None = None
    ids: Sequence[str] = ()
    shard: str = ""
    shows: str = SHOWS[0]
    price: Sequence[float] | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    place: Mapping[str, Any] = field(default_factory=dict)
    own: bool = True
    keywords: Mapping[str, Any] = field(default_factory=dict)
    """`EvalKeywords` with values, limits and resources always among them."""

    def __post_init__(self) -> None:
        if self.epochs < 1 or (self.limit is not None and self.limit < 1):
            raise UsageError("epochs and limit are numbers of at least 1", hint="such as --epochs 3 --limit 10")
        if self.shows not in SHOWS:
            raise UsageError(f"search shows no {self.shows!r}", hint=f"one of {', '.join(SHOWS)}")
        in_shard("", self.shard)

    def samples(self, every: Sequence[Sample]) -> list[Sample]:
        """Return the samples of the run and its other shards: `ids` first, then `limit`.

        Raises:
            UsageError: there is no sample with one of the ids.
        """
        known = [sample.id for sample in every]
        for id in self.ids:
            if id not in known:
                raise UsageError(f"there is no sample {id!r}", hint=near_one(id, known[:20]))
        return [sample for sample in every if not self.ids or sample.id in self.ids][: self.limit]

    def head(self, task: str, samples: Sequence[Sample], setting: Setting, *, model: str) -> Head:
        """Return the head of a run with these settings."""
        live = ("limits", "resources", "progress", "notice", *PLACE)
        written = {name: plain(value) for name, value in self.keywords.items() if name not in live}
        return Head(
            task=task,
            mode=self.mode.value,
            model=model,
            epochs=self.epochs,
            samples=[sample.id for sample in samples],
            settings={
                **written,
                "limits": asdict(self.keywords["limits"]),
                "resources": asdict(self.keywords["resources"]),
                "prompts": _digest(self.keywords.get("prompts")),
                "shows": self.shows,
                "price": list(self.price) if self.price else None,
                "sampling": dict(SAMPLING),
                **plain(self.more),
            },
            facts=plain(setting.facts),
            shard=self.shard,
            place={
                **({"base_url": self.base_url} if self.base_url else {}),
                **{name: _text(self.keywords[name]) for name in PLACE if name in self.keywords and name not in SECRET},
                **plain(self.place),
            },
            own=self.own,
            made=datetime.now(UTC).isoformat(timespec="seconds"),
            codenav=__version__,
        )

    @property
    def base_url(self) -> str:
        """The server of the model, given or configured; empty if there is none."""
        return self.keywords.get("base_url") or load_config().base_url

    @property
    def model_name(self) -> str:
        """The name for the head of a run. Raises ModelNotConfigured."""
        if self.model is None or isinstance(self.model, str):
            return model_name(self.model or "", self.base_url)
        return str(getattr(self.model, "name", None) or getattr(self.model, "__name__", "a function"))


def completed(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords without those that are None, and with the configured limits, resources and sandbox."""
    config = load_config()
    given = {name: value for name, value in keywords.items() if value is not None}
    return {"limits": config.limits(), "resources": config.resources(), "sandbox": config.sandbox, **given}


def in_shard(id: str, shard: str) -> bool:
    """True if a sample is in a shard such as `2/8`; every sample is in the shard "".

    Raises:
        UsageError: it is no shard.
    """
    if not shard:
        return True
    part, _, parts = shard.partition("/")
    numbers = all(one.isascii() and one.isdigit() and len(one) < 6 for one in (part, parts))
    if not numbers or not 1 <= int(part) <= int(parts):
        raise UsageError(f"{shard!r} is no shard", hint="such as --shard 2/8, the second of eight")
    return int(sha256(id.encode()).hexdigest(), 16) % int(parts) == int(part) - 1


def _digest(folder: Any) -> str:
    """Return a hash of the prompt files in a folder; "" for codenav's own."""
    if not folder or not Path(folder).is_dir():
        return ""
    files = sorted(path for path in Path(folder).iterdir() if path.is_file())
    return sha256(b"".join(path.name.encode() + b"\0" + path.read_bytes() + b"\0" for path in files)).hexdigest()


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else plain(value)
