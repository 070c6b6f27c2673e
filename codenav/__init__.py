"""An LLM agent that uses real code instead of registered tools.

    import codenav

    repo = codenav.index("path/to/repo")
    result = codenav.run("Who calls parse_config?", on=repo, model="gpt-5")

Names are loaded on first use, so that `import codenav` costs next to nothing.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from codenav.agents.models.scripted import FunctionModel, ScriptedModel
    from codenav.core.actions import Action, Ask, Code, CodeSummary, Done, Search, Step
    from codenav.core.blocks import BlockKind, CodeBlock, Hit, SearchResult
    from codenav.core.errors import Cancelled, CodeNavError
    from codenav.core.events import (
        ActionTaken,
        Event,
        Notice,
        RunEnded,
        RunStarted,
        Status,
        StepEnded,
        ToolCalled,
        Unfinished,
    )
    from codenav.core.execution import Execution, Outcome, Resources, ToolCall
    from codenav.core.limits import Limits
    from codenav.core.messages import ModelReply
    from codenav.core.options import CheckOptions, ModelOptions, SandboxOptions, StoreOptions, ToolOptions
    from codenav.core.review import ReviewOptions
    from codenav.core.tool_selection import ToolSelection
    from codenav.core.usage import Usage
    from codenav.environments.standard import EpisodeParts, standard_environments
    from codenav.episodes.record import EpisodeResult
    from codenav.navigation.calls import Callees, Callers
    from codenav.navigation.outline import Outline
    from codenav.navigation.verbs import callees, callers, describe, outline, show
    from codenav.session.api import index, load_episode, resume, run, sandbox, search
    from codenav.session.episode import Episode
    from codenav.session.episode_facts import EpisodeFacts
    from codenav.session.session import Session
    from codenav.toolgraph.graph import ToolGraph
    from codenav.toolgraph.scope import GraphScope

__all__ = [
    "Action",
    "ActionTaken",
    "Ask",
    "BlockKind",
    "Callees",
    "Callers",
    "Cancelled",
    "CheckOptions",
    "Code",
    "CodeBlock",
    "CodeNavError",
    "CodeSummary",
    "Done",
    "Episode",
    "EpisodeFacts",
    "EpisodeParts",
    "EpisodeResult",
    "Event",
    "Execution",
    "FunctionModel",
    "GraphScope",
    "Hit",
    "Limits",
    "ModelOptions",
    "ModelReply",
    "Notice",
    "Outcome",
    "Outline",
    "Resources",
    "ReviewOptions",
    "RunEnded",
    "RunStarted",
    "SandboxOptions",
    "ScriptedModel",
    "Search",
    "SearchResult",
    "Session",
    "Status",
    "Step",
    "StepEnded",
    "StoreOptions",
    "ToolCall",
    "ToolCalled",
    "ToolGraph",
    "ToolOptions",
    "ToolSelection",
    "Unfinished",
    "Usage",
    "callees",
    "callers",
    "describe",
    "index",
    "load_episode",
    "outline",
    "resume",
    "run",
    "sandbox",
    "search",
    "show",
    "standard_environments",
]

_HOME = {
    "codenav.core.actions": ("Action", "Ask", "Code", "CodeSummary", "Done", "Search", "Step"),
    "codenav.session.api": ("index", "load_episode", "resume", "run", "sandbox", "search"),
    "codenav.core.blocks": ("BlockKind", "CodeBlock", "Hit", "SearchResult"),
    "codenav.environments.standard": ("EpisodeParts", "standard_environments"),
    "codenav.session.episode": ("Episode",),
    "codenav.session.episode_facts": ("EpisodeFacts",),
    "codenav.episodes.record": ("EpisodeResult",),
    "codenav.core.errors": ("Cancelled", "CodeNavError"),
    "codenav.core.events": (
        "ActionTaken",
        "ToolCalled",
        "Event",
        "Notice",
        "StepEnded",
        "RunEnded",
        "RunStarted",
        "Status",
        "Unfinished",
    ),
    "codenav.core.execution": ("Execution", "Outcome", "Resources", "ToolCall"),
    "codenav.toolgraph.scope": ("GraphScope",),
    "codenav.core.limits": ("Limits",),
    "codenav.core.messages": ("ModelReply",),
    "codenav.agents.models.scripted": ("FunctionModel", "ScriptedModel"),
    "codenav.navigation.calls": ("Callees", "Callers"),
    "codenav.navigation.outline": ("Outline",),
    "codenav.navigation.verbs": ("callees", "callers", "describe", "outline", "show"),
    "codenav.core.options": ("CheckOptions", "ModelOptions", "SandboxOptions", "StoreOptions", "ToolOptions"),
    "codenav.core.review": ("ReviewOptions",),
    "codenav.core.tool_selection": ("ToolSelection",),
    "codenav.session.session": ("Session",),
    "codenav.toolgraph.graph": ("ToolGraph",),
    "codenav.core.usage": ("Usage",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

_FORMER = {
    "Acted": "ActionTaken",
    "Called": "ToolCalled",
    "Heard": "ModelReply",
    "Noticed": "Notice",
    "Observed": "StepEnded",
    "Within": "GraphScope",
}
"""Former names, until 0.3, each with its name of today."""


def __getattr__(name: str) -> Any:
    if name in _FORMER:
        warnings.warn(f"codenav.{name} is now codenav.{_FORMER[name]}", DeprecationWarning, stacklevel=2)
        return getattr(import_module(__name__), _FORMER[name])
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'codenav' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
