"""The folders of codenav, and the settings of a user.

Options of the command line take precedence over CODENAV_* variables, those over the configuration file, and that over
the defaults.
"""

from __future__ import annotations

import errno
import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from codenav.core.errors import ELSEWHERE, Unavailable, UsageError
from codenav.core.execution import DOCKER_ONLY, Resources
from codenav.core.limits import Limits
from codenav.core.named_models import NamedModel
from codenav.core.options import (
    FORMER,
    CheckOptions,
    GraphOptions,
    ModelOptions,
    SandboxOptions,
    ToolOptions,
    near_one,
)
from codenav.core.options import StoreOptions as StoreOptions
from codenav.core.review import ReviewOptions
from codenav.core.setting import Setting, filled, settings_of, updated
from codenav.core.tool_selection import ToolSelection

MODELS = "models"
"""The section of the configuration file whose tables are models."""


@dataclass(frozen=True)
class Config:
    """The settings of one user, by the options class that they belong to."""

    model: ModelOptions = ModelOptions()
    limits: Limits = Limits()
    sandbox: SandboxOptions = SandboxOptions()
    resources: Resources = Resources()
    tools: ToolOptions = ToolOptions()
    review: ReviewOptions = ReviewOptions()
    checks: CheckOptions = CheckOptions()
    store: StoreOptions = StoreOptions()
    selection: ToolSelection = ToolSelection()
    graph: GraphOptions = GraphOptions()
    models: Mapping[str, NamedModel] = field(default_factory=dict)
    """Models by the names that the user gave them."""

    def named(self, name: str, beside: str = "") -> NamedModel:
        """Return the model of a name: of the user's own tables, else one that the server knows by this name.

        `beside` is a model whose server, with its key, is meant.
        """
        server = self.models.get(beside, NamedModel())
        return self.models.get(name) or NamedModel(name, base_url=server.base_url, key=server.key)

    def store_options(self, **keywords: Any) -> StoreOptions:
        """Return the configured store, replaced by keywords that are not None.

        Raises:
            UsageError: the store does not exist or lacks an option that is given, or a number is out of range.
        """
        said = [*_given, *(name for name, value in keywords.items() if value is not None)]
        alien = [name for name in said if name.startswith("elasticsearch_")]
        options = updated(self.store, dict(keywords)).checked()
        if options.store == "embedded" and alien:
            raise UsageError(f"{SETTINGS[alien[0]].key} goes with --store elasticsearch", hint="add it")
        return options

    def sandbox_options(self, options: SandboxOptions) -> SandboxOptions:
        """Return options of a sandbox with the configured values where they have none.

        What only Docker takes is left as it is: whether the configured values apply depends on the backend that `auto`
        chooses (`SandboxFactory.of`). A value of `set_value` is given like an option.
        """
        whole = filled(options, self.sandbox)
        own = {name: getattr(options, name) or _given.get(name, "") for name in DOCKER_ONLY}
        return replace(whole, **own, resources=options.resources or self.resources)


PARTS: Mapping[str, Any] = {item.name: type(item.default) for item in fields(Config) if item.name != MODELS}
"""The options classes by the field of `Config` that has the configured one."""
SETTINGS: Mapping[str, Setting] = {name: one for part in PARTS.values() for name, one in settings_of(part).items()}
"""Every setting by its keyword, in the order of the reference."""
_given: dict[str, Any] = {}


def set_value(key: str, text: str) -> None:
    """Give a setting a value for this process, in front of its variable and the file: `rerank.top`, `10`.

    Raises:
        UsageError: there is no such setting, or it cannot have the value.
    """
    one = setting_of(key, "--set")
    if one.secret:
        raise UsageError(f"{one.key} is a secret that ps would show", hint=f"export {one.variable}=…")
    _given[one.keyword] = one.parse(text, "--set")


def given_values() -> Mapping[str, Any]:
    """The values of `set_value`, by keyword."""
    return _given


def setting_of(key: str, where: str) -> Setting:
    """The setting of a key, `rerank.top` or `rerank_top`; names of the version before are understood.

    Raises:
        UsageError: there is none.
    """
    name = key.strip().replace(".", "_").replace("-", "_")
    one = SETTINGS.get(FORMER.get(name, name))
    if one is None or not one.configured:
        raise UsageError(
            f"unknown key {key!r} in {where}",
            hint=near_one(key, [one.key for one in SETTINGS.values() if one.configured]),
        )
    return one


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
    """Load the configuration file, overridden by CODENAV_* variables and the values of `set_value`.

    Raises:
        UsageError: the file is not TOML or has an unknown key, or a value has the wrong type or is out of range.
        Unavailable: codenav's own folder cannot be read.
    """
    values, models = _of_file(config_file())
    for name in (*FORMER, *SETTINGS):
        one = SETTINGS.get(FORMER.get(name, name))
        variable = f"CODENAV_{name.upper()}"
        if one and one.configured and os.environ.get(variable):
            values[one.keyword] = one.parse(os.environ[variable], variable)
    values |= _given
    return Config(**{name: _part(kind, values) for name, kind in PARTS.items()}, models=models)


def _of_file(path: Path) -> tuple[dict[str, Any], dict[str, NamedModel]]:
    """Read the values of a configuration file by keyword, and its models. Its tables are the sections of keys."""
    if not path.is_file():
        return {}, {}
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"cannot read {path}: {error}", hint="mend the file or move it away") from error
    named = document.pop(MODELS, {})
    if not isinstance(named, dict):
        raise UsageError(f"models in {path} is no section", hint="[models.NAME], with model = below it")
    values = {}
    for key, value in document.items():
        inside = {f"{key}.{name}": one for name, one in value.items()} if isinstance(value, dict) else {key: value}
        for name, one in inside.items():
            found = setting_of(name, str(path))
            values[found.keyword] = found.parse(one, str(path))
    return values, {name: NamedModel.of(name, table, str(path)) for name, table in named.items()}


def _part(kind: Any, values: Mapping[str, Any]) -> Any:
    """Make an options class with configured values, and the usual ones for the rest."""
    known = settings_of(kind).values()
    return kind(**{one.attribute: values.get(one.keyword, one.usual) for one in known})
