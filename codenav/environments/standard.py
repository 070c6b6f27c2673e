"""The environments that an episode has unless its caller says otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from codenav.core.blocks import CodeBlock, Instance, SearchResult
from codenav.core.execution import ExecutionError, Ran, Resources
from codenav.core.protocols import CallsOfStep, Checker, Environment, Index, Sandbox, Verifier
from codenav.environments.code import CodeEnvironment
from codenav.environments.endings import AskEnvironment, CodeSummaryEnvironment, DoneEnvironment
from codenav.environments.offers import OfferEnvironment, Offering
from codenav.environments.ranking import Ranking
from codenav.environments.search import SearchEnvironment


@dataclass(frozen=True)
class EpisodeParts:
    """The parts of one episode that its environments are made of. A session makes them for each request."""

    index: Index
    sandbox: Sandbox
    """Holds the variables of the earlier requests of the session."""
    verify: Verifier
    """Replays a script in a fresh sandbox, from the beginning of the session."""
    ran: Callable[[Ran], None]
    """To be told of every step of code that ran in `sandbox`: a replay is compared with what all of them left."""
    calls: CallsOfStep | None = None
    """The calls to tools of this episode; None: no source has tools."""
    checker: Checker | None = None
    """None: no tool is switched on."""
    ask: Callable[[str], str | None] | None = None
    """Puts a question to a person; None: nobody is there."""
    timeout: float = Resources.step_seconds
    """Seconds of one step of code."""
    several_sources: bool = False
    """The index is of several sources, so a hit has to say from which it is."""
    packages: Sequence[tuple[str, str]] = ()
    """Name and version of installed distributions that the prompt names."""
    imports: str = ""
    """A sentence on what of the sources can be imported."""
    tools: Sequence[str] = ()
    """Names of the tools that `checker` runs."""
    ranking: Ranking | None = None
    """Orders what a search finds; None: hits come as the index has them."""
    advice: Callable[[Index, SearchResult], Sequence[str]] | None = None
    """What to ask instead, for a search that found nothing; None: nothing is told."""
    once: bool = False
    """What code does may stay outside of the sandbox: it writes to tools, mounts or the network."""
    hint: Callable[[ExecutionError, Callable[[str], Iterable[str]]], str] | None = None
    """Says what may mend the error of a step; None: nothing is said."""
    offering: Offering | None = None
    """Searches for callables, for small models; None: there are only the searches for larger ones."""
    instance_of: Callable[[Index, CodeBlock], Instance] | None = None
    """The class and the methods of a name at module level that a search shows; None: they are not told."""
    small: bool = False
    """The agent is that of the small profile."""


MakeEnvironments = Callable[[EpisodeParts], Sequence[Environment]]
"""Makes the environments of one episode."""


def standard_environments(parts: EpisodeParts) -> list[Environment]:
    """Search, code, code summary, ask and done: what a `Session` takes unless it is given another function.

    One of your own may add to the list or leave something out:

        def mine(parts):
            without_search = [one for one in standard_environments(parts) if one.action is not Search]
            return [*without_search, BashEnvironment(parts.sandbox)]

        Session(on=…, environments=mine)
    """
    return [
        SearchEnvironment(
            parts.index,
            tagged=parts.several_sources,
            ranking=parts.ranking,
            advice=parts.advice,
            instance_of=parts.instance_of,
        ),
        _code(parts),
        CodeSummaryEnvironment(parts.verify),
        AskEnvironment(parts.ask),
        DoneEnvironment(),
    ]


def small_environments(parts: EpisodeParts) -> list[Environment]:
    """Offers, code, done, and ask for the host alone: the small profile. Its summaries are made from the steps."""
    assert parts.offering is not None
    return [
        OfferEnvironment(parts.index, parts.offering, ranking=parts.ranking),
        _code(parts, small=True),
        AskEnvironment(parts.ask),
        DoneEnvironment(),
    ]


def usual_environments(parts: EpisodeParts) -> list[Environment]:
    """Those of the agent's profile."""
    return (small_environments if parts.small else standard_environments)(parts)


def _code(parts: EpisodeParts, *, small: bool = False) -> CodeEnvironment:
    return CodeEnvironment(
        parts.sandbox,
        checker=parts.checker,
        timeout=parts.timeout,
        packages=parts.packages,
        imports=parts.imports,
        tools=parts.tools,
        ran=parts.ran,
        calls=parts.calls,
        hint=parts.hint,
        tells_files=small,
        once=parts.once,
    )
