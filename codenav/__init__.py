"""An LLM agent that uses real code instead of registered tools.

    import codenav

    repo = codenav.index("path/to/repo")
    result = codenav.run("Who calls parse_config?", on=repo, model="gpt-5")

Names are loaded on first use, so that `import codenav` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from codenav.actions import Action, Ask, Code, CodeSummary, Done, Search, Step
    from codenav.api import index, load_episode, run, sandbox, search
    from codenav.blocks import BlockKind, CodeBlock, Hit, SearchResult
    from codenav.environments.standard import EpisodeParts, standard_environments
    from codenav.episodes.record import EpisodeResult
    from codenav.errors import Cancelled, CodeNavError
    from codenav.events import Acted, Called, Event, Noticed, Observed, RunEnded, RunStarted, Status, Unfinished
    from codenav.execution import Execution, Outcome, Resources, ToolCall
    from codenav.graphs.within import Within
    from codenav.limits import Limits
    from codenav.messages import Heard
    from codenav.models.scripted import FunctionModel, ScriptedModel
    from codenav.navigation.calls import Callees, Callers
    from codenav.navigation.description_cache import describe
    from codenav.navigation.outline import Outline
    from codenav.navigation.verbs import callees, callers, outline, show
    from codenav.options import CheckOptions, ModelOptions, SandboxOptions, StoreOptions, ToolOptions
    from codenav.running.episode import Episode
    from codenav.running.episode_facts import EpisodeFacts
    from codenav.session import Session
    from codenav.tool_selection import ToolSelection
    from codenav.toolgraph.graph import ToolGraph
    from codenav.usage import Usage

__all__ = [
    "Acted",
    "Action",
    "Ask",
    "BlockKind",
    "Called",
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
    "Heard",
    "Hit",
    "Limits",
    "ModelOptions",
    "Noticed",
    "Observed",
    "Outcome",
    "Outline",
    "Resources",
    "RunEnded",
    "RunStarted",
    "SandboxOptions",
    "ScriptedModel",
    "Search",
    "SearchResult",
    "Session",
    "Status",
    "Step",
    "StoreOptions",
    "ToolCall",
    "ToolGraph",
    "ToolOptions",
    "ToolSelection",
    "Unfinished",
    "Usage",
    "Within",
    "callees",
    "callers",
    "describe",
    "index",
    "load_episode",
    "outline",
    "run",
    "sandbox",
    "search",
    "show",
    "standard_environments",
]

_HOME = {
    "codenav.actions": ("Action", "Ask", "Code", "CodeSummary", "Done", "Search", "Step"),
    "codenav.api": ("index", "load_episode", "run", "sandbox", "search"),
    "codenav.blocks": ("BlockKind", "CodeBlock", "Hit", "SearchResult"),
    "codenav.navigation.description_cache": ("describe",),
    "codenav.environments.standard": ("EpisodeParts", "standard_environments"),
    "codenav.running.episode": ("Episode",),
    "codenav.running.episode_facts": ("EpisodeFacts",),
    "codenav.episodes.record": ("EpisodeResult",),
    "codenav.errors": ("Cancelled", "CodeNavError"),
    "codenav.events": (
        "Acted",
        "Called",
        "Event",
        "Noticed",
        "Observed",
        "RunEnded",
        "RunStarted",
        "Status",
        "Unfinished",
    ),
    "codenav.execution": ("Execution", "Outcome", "Resources", "ToolCall"),
    "codenav.graphs.within": ("Within",),
    "codenav.limits": ("Limits",),
    "codenav.messages": ("Heard",),
    "codenav.models.scripted": ("FunctionModel", "ScriptedModel"),
    "codenav.navigation.calls": ("Callees", "Callers"),
    "codenav.navigation.outline": ("Outline",),
    "codenav.navigation.verbs": ("callees", "callers", "outline", "show"),
    "codenav.options": ("CheckOptions", "ModelOptions", "SandboxOptions", "StoreOptions", "ToolOptions"),
    "codenav.tool_selection": ("ToolSelection",),
    "codenav.session": ("Session",),
    "codenav.toolgraph.graph": ("ToolGraph",),
    "codenav.usage": ("Usage",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'codenav' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
