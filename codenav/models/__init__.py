"""Language models: any server that speaks OpenAI's chat completions, and models that play a script or a function."""

from __future__ import annotations

from collections.abc import Callable

from codenav.config import load_config
from codenav.errors import ModelNotConfigured
from codenav.messages import Hear
from codenav.models.chat import MAX_TOKENS, ChatModel
from codenav.models.probe import probe
from codenav.models.scripted import SCRIPTED, FunctionModel, ScriptedModel, load_script
from codenav.protocols import Model

__all__ = ["ChatModel", "FunctionModel", "ScriptedModel", "load_script", "model_name", "open_model", "probe"]


def model_name(given: str = "") -> str:
    """The name of the model to use: the given one, else the configured one (CODENAV_MODEL, or the file).

    Raises:
        ModelNotConfigured: there is neither, or it is that of the planner, which earlier versions had.
    """
    name = given.strip() or load_config().model.strip()
    if not name:
        raise ModelNotConfigured("no model is configured")
    if name == "planner":
        raise ModelNotConfigured("codenav has no planner any more: it needs a model")
    return name


def open_model(
    name: str,
    *,
    base_url: str = "",
    notice: Callable[[str], None] | None = None,
    heard: Hear | None = None,
    max_tokens: int = MAX_TOKENS,
) -> Model:
    """The model of `model_name`: `scripted:FILE` plays a file of actions, any other name is one on a server.

    An empty `base_url` means OPENAI_BASE_URL, or else OpenAI's own server. `notice` is called with one line for each
    retry and each parameter that the server refused; `heard` with the text that arrives while a model writes.
    `max_tokens` is the limit of one answer. Nothing is sent yet.

    Raises:
        ModelNotConfigured: for the reasons of `model_name`.
        ModelRefused: OpenAI's own server without a key.
        UsageError: `base_url` is not a URL, or the file of a script cannot be read.
        NotFound: the file of a script does not exist.
    """
    name = model_name(name)
    if name.startswith(SCRIPTED):
        return load_script(name.removeprefix(SCRIPTED))
    return ChatModel(name, base_url=base_url or None, notice=notice, heard=heard, max_tokens=max_tokens)
