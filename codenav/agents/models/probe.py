"""The check of a model for `codenav doctor`."""

from __future__ import annotations

import time
from pathlib import PurePath

from codenav.agents.models.chat import ChatModel, suggestion
from codenav.agents.models.local import serving
from codenav.agents.models.local.model import is_local, served_of
from codenav.agents.models.scripted import SCRIPTED, read_script
from codenav.core.config import load_config
from codenav.core.errors import CodeNavError, ModelNotConfigured
from codenav.core.messages import Message

SECONDS = 5.0
"""Default time limit of the whole probe: a person waits for it."""

LATEST = ":latest"
"""The tag that Ollama adds to the names of models in its list; a request may leave it out."""


def probe(name: str, base_url: str, *, timeout: float = SECONDS) -> tuple[bool, str, str]:
    """Check if a model can be used: `(ok, detail, hint)` within `timeout` seconds; never raises.

    The server is asked for its models, and if it lists none, for one short answer.
    """
    try:
        name = name.strip()
        if not name:
            raise ModelNotConfigured("no model is configured")
        own = load_config().named(name)
        name, base_url, key = own.model, own.base_url or base_url, own.secret()
        if is_local(name):
            return _probe_local(name)
        if name.startswith(SCRIPTED):
            path = name.removeprefix(SCRIPTED)
            return True, f"{path}: {len(read_script(path))} answers", ""
        return _probe_chat(ChatModel(name, base_url=base_url or None, api_key=key or None, max_tokens=256), timeout)
    except CodeNavError as error:
        return False, str(error), error.hint


def _probe_local(name: str) -> tuple[bool, str, str]:
    """Check the file of a local model; its server is not started for that."""
    served = served_of(name)
    runs = "its server runs" if any(one.folder == served.folder for one in serving.running()) else "not loaded now"
    size = served.path.stat().st_size / 1e9
    detail = f"{served.name} is on this machine: {size:.1f} GB, {served.context:,} tokens of context, {runs}"
    trouble = serving.short_of_memory(served) if runs == "not loaded now" else None
    return (False, f"{detail}; {trouble}", trouble.hint) if trouble else (True, detail, "")


def _probe_chat(model: ChatModel, timeout: float) -> tuple[bool, str, str]:
    began = time.monotonic()
    found = f", {kept}" if (kept := model.findings) else ""
    try:
        listed = model.listed(timeout=timeout)
        names = [_stem(name) for name in listed]
        if {model.name, model.name + LATEST} & {*names, *listed}:
            return True, f"{model.base_url} has {model.name}{found}", ""
        if names:
            detail = f"{model.base_url} has no model {model.name!r} in its list, though it may answer to any name"
            return False, detail, suggestion(model.name, names)
        model.complete([Message("user", "Answer with one word: ready")], timeout=timeout - (time.monotonic() - began))
        return True, f"{model.base_url} answers as {model.name}{found}; it does not say which models it has", ""
    finally:
        model.close()


def _stem(name: str) -> str:
    """The name of a model without folder and suffix, since llama.cpp's server lists the path of a file of weights."""
    return PurePath(name).stem if name.endswith(".gguf") else name
