"""Language models: any server that speaks OpenAI's chat completions, and models that play a script or a function."""

from __future__ import annotations

from collections.abc import Callable

from codenav.errors import ModelNotConfigured
from codenav.messages import Hear
from codenav.models.chat import ChatModel
from codenav.models.probe import probe
from codenav.models.scripted import SCRIPTED, FunctionModel, ScriptedModel, load_script
from codenav.protocols import Model

__all__ = ["ChatModel", "FunctionModel", "ScriptedModel", "load_script", "open_model", "probe"]


def open_model(
    name: str, *, base_url: str = "", notice: Callable[[str], None] | None = None, heard: Hear | None = None
) -> Model:
    """The model of that name: `scripted:FILE` plays a file of actions, anything else is asked for at `base_url`.

    An empty `base_url` is OPENAI_BASE_URL, else OpenAI's own. `notice` is told of each retry and each parameter
    that the server refused, in one line; `heard` of what arrives while a model writes. Nothing is sent yet.

    Raises:
        ModelNotConfigured: the name is empty.
        ModelRefused: OpenAI's own server without a key.
        UsageError: `base_url` is no URL, or the file of a script cannot be read.
    """
    if not name.strip():
        raise ModelNotConfigured("no model is configured")
    if name.startswith(SCRIPTED):
        return load_script(name.removeprefix(SCRIPTED))
    return ChatModel(name.strip(), base_url=base_url or None, notice=notice, heard=heard)
