"""The agent of a session: the one for the size of its model."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from codenav.agents import CodeNavAgent
from codenav.agents.models import ChatModel, LocalModel, model_name, open_model, traits_of
from codenav.agents.prompts import prompt_folder
from codenav.agents.small import DRAFTS, SmallAgent
from codenav.core.config import load_config
from codenav.core.options import ModelOptions
from codenav.core.protocols import Agent, Model
from codenav.core.setting import filled


def model_options(model: str | Model | ModelOptions | None) -> ModelOptions:
    """Return the options of a model, with the configured values where they have none."""
    return filled(model if isinstance(model, ModelOptions) else ModelOptions(model or ""), load_config().model)


def profiled(options: ModelOptions) -> ModelOptions:
    """Return options with the profile that the configuration file has for their model, where it has one."""
    model = options.model
    own = load_config().models.get(model_name(model, options.base_url)) if isinstance(model, str) else None
    return replace(options, profile=own.profile) if own and own.profile else options


def open_agent(options: ModelOptions, opening: ExitStack, notice: Callable[[str], None]) -> Agent:
    """Open the model of these options, and return the agent that asks it.

    `opening` closes a model that is opened here. `notice` gets what the model's client has to say.

    Raises:
        ModelNotConfigured, ModelRefused: for the reasons of `open_model`.
        NotFound, UsageError: the folder of prompts cannot be used.
    """
    options = profiled(options)
    prompts, model = prompt_folder(options.prompts or None), options.model
    if isinstance(model, str):
        own = load_config().named(model_name(model, options.base_url))
        profile, form = own.profile or options.profile, own.action_format or options.action_format
        options = replace(options, profile=profile, action_format=form)
        model = open_model(
            model, base_url=options.base_url, notice=notice, heard=options.heard, keep_alive=options.keep_alive
        )
        opening.callback(model.close)
    traits = traits_of(model)
    small, native = options.is_small(traits.parameters), options.action_format == "tools"
    if native and (small or not isinstance(model, ChatModel | LocalModel)):
        native = False
        notice(f"actions stay text: {'the small profile' if small else model.name} has no native tools")
    if not small:
        return CodeNavAgent(model, prompts=prompts, notice=notice, native=native)
    return SmallAgent(model, drafts=options.tries or (DRAFTS if traits.local else 1))
