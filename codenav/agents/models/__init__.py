"""Language models: on a server that speaks OpenAI's chat completions, on this machine, or played from a script."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codenav.agents.models.chat import MAX_TOKENS, ChatModel
from codenav.agents.models.local.model import LOCAL, LocalModel, is_local, usual_name
from codenav.agents.models.probe import probe
from codenav.agents.models.scripted import SCRIPTED, FunctionModel, ScriptedModel, load_script
from codenav.agents.models.traits import Traits, traits_of
from codenav.core.config import load_config
from codenav.core.errors import ModelNotConfigured
from codenav.core.messages import Hear, Sampling
from codenav.core.protocols import Model
from codenav.core.system.terminal_text import shown_url

__all__ = [
    "ChatModel",
    "FunctionModel",
    "LocalModel",
    "ScriptedModel",
    "Traits",
    "load_script",
    "model_name",
    "open_model",
    "probe",
    "traits_of",
]


def model_name(given: str = "", base_url: str = "") -> str:
    """The name of the model to use: the given one, else the configured one, else the usual one that is installed.

    `base_url` is the server that is named, if any: nothing else is taken in its place.

    Raises:
        ModelNotConfigured: there is none, or it is that of the planner, which earlier versions had.
    """
    name = given.strip() or str(load_config().model.model).strip()
    if name == "planner":
        raise ModelNotConfigured("codenav has no planner any more: it needs a model")
    if name and name != LOCAL:
        return name
    if base_url and not name:
        raise ModelNotConfigured(f"{shown_url(base_url)} is configured, but no model of it")
    return usual_name()


def open_model(
    name: str,
    *,
    base_url: str = "",
    notice: Callable[[str], None] | None = None,
    heard: Hear | None = None,
    max_tokens: int = MAX_TOKENS,
    keep_alive: float | None = None,
    beside: str = "",
) -> Model:
    """The model of `model_name`, which may be one of `[models.NAME]` in the configuration file.

    Codenav itself serves `local:NAME` and `gguf:FILE`, `scripted:FILE` plays a file of actions, any other name is one
    on a server.

    An empty `base_url` means OPENAI_BASE_URL, or else OpenAI's own server. `notice` is called with one line for each
    retry and each parameter that the server refused; `heard` with the text that arrives while a model writes.
    `max_tokens` is the limit of one answer, `keep_alive` that of the seconds in which a local model waits for the next
    request; None is the configured one. `beside` is as for `Config.named`. Nothing is sent yet, but a local model
    begins to load.

    Raises:
        ModelNotConfigured: for the reasons of `model_name`.
        MissingExtra: a local model without the extra `local`.
        Unavailable: too little memory for a local model, or the variable of a key is not set.
        ModelRefused: OpenAI's own server without a key.
        UsageError: `base_url` is not a URL, or the file of a script or a model cannot be read.
        NotFound: the file of a script or a model does not exist.
    """
    name = model_name(name, base_url)
    own = load_config().named(name, beside)
    name, base_url, max_tokens = own.model, own.base_url or base_url, own.max_tokens or max_tokens
    options: dict[str, Any] = {
        "notice": notice, "heard": heard, "max_tokens": max_tokens, "context": own.context,
        "sampling": Sampling(own.temperature or 0.0, own.seed, top_p=own.top_p),
        "prices": (own.price_in, own.price_out),
    }  # fmt: skip
    if is_local(name):
        if base_url and notice:
            notice(f"{shown_url(base_url)} is not asked: {name} is served by codenav itself")
        return LocalModel(name, keep_alive=keep_alive, **options)
    if name.startswith(SCRIPTED):
        return load_script(name.removeprefix(SCRIPTED))
    return ChatModel(name, base_url=base_url or None, api_key=own.secret() or None, **options)
