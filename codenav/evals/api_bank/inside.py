"""The APIs' side of a sample, inside the sandbox: databases, earlier calls, recorded answers, and the trace of calls.

`code_base` copies this file beside the adapted APIs, where `apis/__init__.py` loads it. Standard library only.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import importlib
import inspect
import json
import os
import random
import sys
import types
from pathlib import Path
from typing import Any, Callable, Mapping

SAMPLE = "sample.json"
"""The file in the work folder that tells what came before the request. Without it the databases are as shipped."""

NO_TOOLS = frozenset({"check_api_call_correctness", "dump_database", "format_check"})
"""Public methods that are no way to use an API: upstream's grader, a debugging aid, and a helper."""

LANGUAGES = {
    "ar": "arabic", "de": "german", "en": "english", "es": "spanish", "fr": "french", "hi": "hindi", "it": "italian",
    "ja": "japanese", "ko": "korean", "nl": "dutch", "pl": "polish", "pt": "portuguese", "ru": "russian",
    "tr": "turkish", "zh-cn": "chinese (simplified)", "zh-tw": "chinese (traditional)",
}  # fmt: skip
"""Codes and names of languages, for `Translate` where the package googletrans is not installed."""

NO_NETWORK = "No network: this text was never recorded."


def recording_key(api: str, arguments: Mapping[str, Any]) -> bytes:
    """The key of a recorded answer. Arguments that mean the same to the API have the same key."""
    if api == "Dictionary":
        parts = [str(arguments.get("keyword", "")).replace("_", " ").strip().lower()]
    else:
        named = str(arguments.get("tgt_lang") or "en").strip().lower()
        code = next((code for code, name in LANGUAGES.items() if named in (code, name)), named)
        parts = [str(arguments.get("src", "")).strip(), code]
    return hashlib.sha256(json.dumps([api, parts]).encode()).digest()


def seal(key: bytes, data: bytes) -> bytes:
    """Data that only whoever knows the arguments can read; sealing it again opens it.

    Recorded answers lie where the agent can read files. Sealed, they tell nothing about the expected calls.
    """
    stream = hashlib.shake_256(b"seal" + key).digest(len(data))
    return bytes(one ^ other for one, other in zip(data, stream))


def label(key: bytes) -> str:
    """The name of a recorded answer in the file; the key cannot be had from it."""
    return hashlib.sha256(b"label" + key).hexdigest()


class Chance(random.Random):
    """The module `random` of the APIs: seeded by the sample, and pinned to a recorded result while one is replayed."""

    pinned = ""

    def randint(self, a: int, b: int) -> int:
        """The recorded number where one is pinned."""
        return int(self.pinned) if self.pinned.isdigit() else super().randint(a, b)

    def choices(self, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> list:  # type: ignore[type-arg]
        """The characters of the recorded token where one is pinned."""
        # Recorded tokens are longer than those that upstream's code makes today.
        if self.pinned:
            return list(self.pinned)
        return super().choices(population, weights, cum_weights=cum_weights, k=k)


class State:
    """The APIs of one process."""

    def __init__(self, folder: Path, modules: Mapping[str, str], recorded: Mapping[str, str]) -> None:
        """`folder` has `init_database`; `modules` are those of the classes; `recorded` are sealed answers in hex."""
        self._folder, self._modules, self._recorded = folder, modules, recorded
        self._chance = Chance(0)
        self._tracer: Any = importlib.import_module("apis._tracer")
        self.begin({})

    def begin(self, sample: Mapping[str, Any]) -> None:
        """Bring the databases and instances to where a sample begins: as shipped, and then the earlier calls."""
        self._databases: dict[str, Any] = {}
        self._instances: dict[str, dict[str, Any]] = {}
        self._asks_servers = bool(sample.get("without_recordings"))
        self._chance.seed(str(sample.get("seed", "")))
        for call in sample.get("earlier", ()):
            self.replay(call["name"], call["arguments"], call.get("result"))

    def api(self, name: str) -> Any:
        """The class of an API."""
        return getattr(importlib.import_module("apis." + self._modules[name]), name)

    def replay(self, name: str, arguments: Mapping[str, Any], recorded: Mapping[str, Any] | None = None) -> Any:
        """Call an API untraced, with chance pinned to the recorded result. What it raises is returned as text."""
        output = (recorded or {}).get("output")
        output = output.get("token") if isinstance(output, dict) else output
        self._chance.pinned = str(output) if isinstance(output, str) else ""
        try:
            with self._tracer.untraced():
                return self.api(name)().call(**copy.deepcopy(dict(arguments)))
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        finally:
            self._chance.pinned = ""

    def adopt(self, cls: type) -> None:
        """Make the APIs of a module traced, and their instances those of the sample. For `API.__init_subclass__`."""
        if not cls.__module__.startswith("apis."):
            return
        module = sys.modules[cls.__module__]
        if isinstance(getattr(module, "random", None), types.ModuleType):
            module.random = self._chance  # type: ignore[attr-defined]
        if hasattr(module, "word_tokenize"):
            # Without `punkt`, which is a download and splits texts into sentences; a keyword is none.
            tokenize = functools.partial(module.word_tokenize, preserve_line=True)
            module.word_tokenize = tokenize  # type: ignore[attr-defined]
        for name, value in list(vars(cls).items()):
            if inspect.isfunction(value) and not name.startswith("_") and name not in NO_TOOLS:
                setattr(cls, name, self._tracer.traced(self._recorded_first(cls.__name__, value), cls.__name__))
        cls.__init__ = self._made(cls, cls.__init__)  # type: ignore[misc]

    def _made(self, cls: type, init: Callable[..., None]) -> Callable[..., None]:
        wanted = inspect.signature(init).parameters

        @functools.wraps(init)
        def __init__(instance: Any, *args: Any, **kwargs: Any) -> None:
            with self._tracer.untraced():
                given = inspect.signature(init).bind(instance, *args, **kwargs).arguments
                given = {name: value for name, value in list(given.items())[1:] if value is not None}
                known = None if given else self._instances.get(cls.__name__)
                if known is not None:
                    # Some APIs keep what they know on the instance alone: all instances are one.
                    instance.__dict__ = known
                    return
                own: dict[str, Any] = {}
                if "init_database" in wanted:
                    own["init_database"] = self._database(getattr(cls, "database_name", ""))
                if "token_checker" in wanted and "token_checker" not in given:
                    own["token_checker"] = self.api("CheckToken")()
                init(instance, **{**own, **given})
                if not given:
                    self._instances[cls.__name__] = instance.__dict__

        return __init__

    def _database(self, name: str) -> Any:
        """The database of that name, the same object for all APIs; None where there is none."""
        path = self._folder / "init_database" / (name + ".json")
        if name and name not in self._databases and path.is_file():
            self._databases[name] = json.loads(path.read_text(encoding="utf-8"))
        return self._databases.get(name)

    def _recorded_first(self, api: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """The method, which answers from what was recorded where the API would ask a server."""
        if api not in ("Dictionary", "Translate") or method.__name__ != "call":
            return method

        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            given = self._tracer.by_name(method, args, kwargs)
            key = recording_key(api, given)
            data = self._recorded.get(label(key))
            if data is None or self._asks_servers:
                return method(*args, **kwargs)
            output = json.loads(seal(key, bytes.fromhex(data)))
            return {"api_name": api, "input": given, "output": output, "exception": None}

        return call


def stand_ins() -> None:
    """Put placeholders where a package is not installed that only an API without network would use."""
    # Upstream's Translate puts this variable back when it is done, which fails where it was not set.
    os.environ.setdefault("ALL_PROXY", "")
    try:
        importlib.import_module("googletrans")
    except Exception:
        sys.modules["googletrans"] = _translator()


def _translator() -> types.ModuleType:
    module = types.ModuleType("googletrans")

    class Translator:
        """A translator without network."""

        def translate(self, text: str, **languages: str) -> Any:
            """Raise an error that says so."""
            raise ConnectionError(NO_NETWORK)

    module.LANGUAGES, module.Translator = LANGUAGES, Translator  # type: ignore[attr-defined]
    return module


def open_state(folder: Path, work: Path) -> State:
    """The state of the APIs for the sample in a work folder, with `apis.api.API` watched for its classes."""
    known = json.loads((folder / "state" / "apis.json").read_text(encoding="utf-8"))
    state = State(folder, known["modules"], known["recorded"])
    base = importlib.import_module("apis.api").API

    def adopt(cls: Any, /, **options: Any) -> None:
        state.adopt(cls)

    base.__init_subclass__ = classmethod(adopt)
    stand_ins()
    path = work / SAMPLE
    if path.is_file():
        state.begin(json.loads(path.read_text(encoding="utf-8")))
    return state
