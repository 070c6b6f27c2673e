"""The check of a model for `codenav doctor`."""

from __future__ import annotations

import time
from pathlib import PurePath

from codenav.errors import CodeNavError, ModelNotConfigured
from codenav.messages import Message
from codenav.models.chat import ChatModel, suggestion
from codenav.models.scripted import SCRIPTED, read_script

SECONDS = 5.0
"""Default time limit of the whole probe: a person waits for it."""

LATEST = ":latest"
"""The tag that Ollama adds to the names of models in its list; a request may leave it out."""


def probe(name: str, base_url: str, *, timeout: float = SECONDS) -> tuple[bool, str, str]:
    """Check if a model can be used: `(ok, detail, hint)` within `timeout` seconds; never raises.

    The server is asked for its models, and if it lists none, for one short answer.
    """
    try:
        if not name.strip():
            raise ModelNotConfigured("no model is configured")
        if name.startswith(SCRIPTED):
            path = name.removeprefix(SCRIPTED)
            return True, f"{path}: {len(read_script(path))} answers", ""
        return _probe_chat(ChatModel(name.strip(), base_url=base_url or None, max_tokens=256), timeout)
    except CodeNavError as error:
        return False, str(error), error.hint


def _probe_chat(model: ChatModel, timeout: float) -> tuple[bool, str, str]:
    began = time.monotonic()
    try:
        listed = model.listed(timeout=timeout)
        names = [_stem(name) for name in listed]
        if {model.name, model.name + LATEST} & {*names, *listed}:
            return True, f"{model.base_url} has {model.name}", ""
        if names:
            detail = f"{model.base_url} has no model {model.name!r} in its list, though it may answer to any name"
            return False, detail, suggestion(model.name, names)
        model.complete([Message("user", "Answer with one word: ready")], timeout=timeout - (time.monotonic() - began))
        return True, f"{model.base_url} answers as {model.name}; it does not say which models it has", ""
    finally:
        model.close()


def _stem(name: str) -> str:
    """The name of a model without folder and suffix, since llama.cpp's server lists the path of a file of weights."""
    return PurePath(name).stem if name.endswith(".gguf") else name
