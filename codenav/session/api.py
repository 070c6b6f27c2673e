"""The module-level verbs: `codenav.index`, `.search`, `.run`, `.load_episode`, `.sandbox`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codenav.core.blocks import BlockKind, SearchResult
from codenav.core.config import PARTS, episodes_dir, load_config
from codenav.core.errors import UsageError
from codenav.core.execution import Resources
from codenav.core.options import (
    GraphOptions,
    ModelOptions,
    SandboxOptions,
    StoreOptions,
    ToolOptions,
    check_keywords,
    spelled,
)
from codenav.core.protocols import Sandbox
from codenav.core.setting import keywords_of, updated
from codenav.core.system.interpreter import find_interpreter
from codenav.core.tool_selection import ToolSelection
from codenav.environments.ranking import MATCHES
from codenav.episodes.record import EpisodeResult
from codenav.episodes.store import EpisodeStore
from codenav.indexers.build import Progress
from codenav.navigation.unmatched import advice
from codenav.retrieval.requests import as_words
from codenav.retrieval.requests import search as search_request
from codenav.retrieval.source_index import Notify, On, SourceIndex, as_index, define, listed, open_index, open_indexes
from codenav.retrieval.stores import open_store
from codenav.tools.reading import asking_with
from codenav.tools.secret_names import check_names
from codenav.tools.state_files import read_spec_of

if TYPE_CHECKING:
    from codenav.session.session import Session
    from codenav.toolgraph.scope import GraphScope


@spelled(StoreOptions)
def index(
    source: str | Path | Sequence[str | Path],
    *,
    name: str | None = None,
    python: str | Path | None = None,
    refresh: bool = True,
    rebuild: bool = False,
    progress: Callable[[Progress], None] | None = None,
    notice: Notify | None = None,
    secret: Sequence[str] | Mapping[str, str] = (),
    allow_private: bool | None = None,
    **store: Any,
) -> SourceIndex:
    """Build or refresh the index of a source, and open it.

    `source` is a directory, a file, `git:URL@REV`, `openapi:FILE`, `mcp:COMMAND` or `tools:FILE` for tools (each also
    with a URL), or `pkg:NAME` for a distribution installed in `python` (an interpreter or a virtual environment;
    default: the active one, else codenav's own). Several sources make one index under a `name`, and `name:NAME` is a
    source from then on. `secret` (`ToolOptions.secrets`) is for servers of tools that want a token to tell what they
    have. `allow_private` lets specifications of tools refer to private addresses, from then on. `rebuild` reads and
    parses every file, also those that look unchanged.

    `store` and the other keywords are those of `StoreOptions`. Default: the configured ones.

    Raises:
        NotFound: there is no such source (the hint names similar ones), or it was never indexed and `refresh` is off.
        UsageError: the source contains nothing that can be indexed, several sources have no name, or `rebuild` is set
            and `refresh` is off.
        Unavailable: a repository or specification cannot be fetched, the variable of a secret is not set, or the store
            cannot be reached.
        StorageFull: the index cannot be written. An older state stays.
    """
    config = load_config()
    interpreter = find_interpreter(python or config.sandbox.python)
    specs = [source] if isinstance(source, str | Path) else list(source)
    if rebuild and not refresh:
        raise UsageError("rebuild=True builds the index that refresh=False leaves alone", hint="leave one of them out")
    if not specs or (len(specs) > 1 and name is None):
        raise UsageError("several sources in one index need a name", hint="name=… , or an index for each source")
    tools = updated(config.tools, {"secret": secret, "allow_private": allow_private})
    with ExitStack() as opening, asking_with(tools.values()):
        opened = open_store(config.store_options(**store), notice=notice)
        opening.callback(opened.close)
        spec = (
            specs[0]
            if name is None
            else define(name, specs, python=interpreter, notice=notice, allow_private=tools.allow_private)
        )
        found = open_index(
            spec,
            python=interpreter,
            store=opened,
            refresh=refresh,
            rebuild=rebuild,
            progress=progress,
            notice=notice,
            wait=refresh,
            allow_private=tools.allow_private,
        )
        if tools.secrets:
            from codenav.session.tool_calls import folders_of

            read = [read_spec_of(folder, names=()) for folder in folders_of([found.source])]
            check_names(tools.variables(), read)
        found.own(opened)
        opening.pop_all()
    return found


@spelled(StoreOptions, ToolSelection)
def search(
    query: str = "",
    *,
    on: On | Sequence[On],
    request: str = "",
    kinds: Collection[BlockKind | str] | None = None,
    limit: int = 10,
    python: str | Path | None = None,
    refresh: bool = True,
    progress: Callable[[Progress], None] | None = None,
    notice: Notify | None = None,
    **keywords: Any,
) -> SearchResult:
    """Search one or several sources and return matching blocks, best first. Sources are indexed on first use.

    `request` is text for which something is looked for: without a query its words and its parts are. The first
    matches are ordered by the tool graphs of the sources, where there are some, and by the services of `ToolSelection`,
    unless `rerank` is off; a hit whose place that changed tells so (`Hit.moved`).

    Each hit has a `source`. `store` and the other keywords are as for `index`, and the fields of `ToolSelection`. What
    this opens stays open for as long as a hit exists, since its block is loaded on access.

    Raises:
        QueryTooLarge: the query has over 64 KB.
        UsageError: a kind is unknown, the limit is negative, or there is neither a query nor a word of a request.
        NotFound, Unavailable, StorageFull: for the reasons of `index`.
        RankingFailed: a service failed, and `rerank_failure` is `abort`.
    """
    asked, query = query, query or as_words(request)
    if request and not query:
        raise UsageError("the request holds no word", hint="say in words what you look for")
    if limit < 0:
        raise UsageError(f"the limit is negative: {limit}")
    wanted = None if kinds is None else {_kind(kind) for kind in kinds}
    config = load_config()
    interpreter = find_interpreter(python or config.sandbox.python)
    # Nothing is rewritten: there are no turns before.
    selection = replace(updated(config.selection, keywords).checked(), rewrite_model="")
    services = None
    if selection.rerank and selection.ranks:
        # Imported here: with what services need, each command would start a third later.
        from codenav.session.services import Services

        services = Services(selection, tell=notice)
    opened = open_store(config.store_options(**keywords), notice=notice)
    indexes = open_indexes(
        listed(on),
        python=interpreter,
        store=opened,
        opening=ExitStack(),  # never closed: hits load their blocks later
        refresh=refresh,
        progress=progress,
        notice=notice,
    )
    tell = notice or (lambda text: None)
    ranking = None
    if selection.rerank:
        from codenav.toolgraph.beside import Graphs

        ranking = Graphs(indexes, tell=tell).ranking(request)
    if services is not None:
        services.search_in(indexes, wanted)
        ranking = services.ranking(ranking, request)
    whole = as_index(indexes)
    matches = partial(whole.search, asked) if asked else partial(search_request, whole, request)
    if ranking is None:
        result = matches(kinds=wanted, limit=limit)
    else:
        found = matches(kinds=wanted, limit=max(limit, MATCHES))
        first = ranking.ranked(replace(found, hits=found.hits[:MATCHES]), whole, shown=limit, kinds=wanted)
        ids = {hit.id for hit in first.hits}
        result = replace(first, hits=[*first.hits, *(hit for hit in found.hits if hit.id not in ids)][:limit])
    return replace(result, advice=advice(whole, result)) if asked else result


def run(
    request: str, *, on: On | Sequence[On], save_summary: str | Path | None = None, **keywords: Any
) -> EpisodeResult:
    """Run one request to its end, and return the whole episode.

    `on` names the code bases, `model` the model. The others are the settings of docs/reference.md, most of them long
    options of `codenav run` with underscores: `max_steps=10`, `memory="1g"`, `mount="data:rw"`, `checks_lint=False`;
    and the arguments of `Session`. A keyword that is missing or None has the configured value. `save_summary` is a
    file for the code summary.

    Errors during the run are in the result (`status`, `reason`, `hint`, `exit_code`), not raised.

    Raises:
        ModelNotConfigured, NotFound, UsageError, SandboxUnavailable, StorageFull: before the run begins.
    """
    with open_session(on=on, **keywords) as session:
        result = session.run(request)
    if save_summary and result.summary.code:
        result.to_script(save_summary)
    return result


def resume(
    name: str = "last",
    request: str = "",
    *,
    on: On | Sequence[On] = (),
    save_summary: str | Path | None = None,
    **keywords: Any,
) -> EpisodeResult:
    """Go on from a recorded episode, with another request or with its own, and return the new episode.

    `name` is the id of the episode, the beginning of one, or `last`. Its variables are restored first: its steps run
    again in a fresh sandbox, with the recorded input files and the recorded answers of tools. `restored` of the result
    says what became of each. `on` are its sources by default; the others are as for `run`.

    Raises:
        UsageError: it is still running.
        NotFound, ModelNotConfigured, SandboxUnavailable, StorageFull: before the run begins.
    """
    with open_session(on=on, after=name, **keywords) as session:
        assert session.past is not None
        result = session.run(request or session.past.newest.request)
    if save_summary and result.summary.code:
        result.to_script(save_summary)
    return result


def open_session(*, on: On | Sequence[On], **keywords: Any) -> Session:
    """Open a session from the keywords of `run`. No other place turns them into the options of its parts.

    Raises:
        ModelNotConfigured, NotFound, UsageError, Unavailable: for the reasons of `Session`.
    """
    from codenav.session.session import Session

    given = {name: value for name, value in keywords.items() if value is not None}
    own = [name for name in inspect.signature(Session).parameters if name in ("limits", "within") or name not in PARTS]
    check_keywords(given, [*own, *(name for kind in PARTS.values() for name in keywords_of(kind))])
    config = load_config()
    model, sandbox = ModelOptions(), updated(SandboxOptions(), given)
    parts: dict[str, Any] = {
        "store": config.store_options(**{name: given.pop(name, None) for name in keywords_of(StoreOptions)}),
        "model": updated(model, given),
        "sandbox": replace(sandbox, resources=updated(sandbox.resources or config.resources, given)),
        "limits": updated(given.pop("limits", None) or config.limits, given),
        "checks": updated(config.checks, given),
        "tools": updated(config.tools, given),
        "review": updated(config.review, given),
        "selection": updated(config.selection, given),
    }
    if parts["model"] == model:
        # An agent has a model of its own.
        del parts["model"]
    parts["within"] = _within(updated(config.graph, given), given.pop("within", None))
    return Session(on=on, **parts, **given)


def _within(graph: GraphOptions, within: GraphScope | None) -> GraphScope | None:
    """The part of a graph that is given as an object, else the one that is written down."""
    from codenav.toolgraph.scope import GraphScope

    if within is not None and not isinstance(within, GraphScope):
        raise UsageError("within is no codenav.GraphScope", hint="graph_within=ACTION, graph_file=FILE")
    if bool(graph.within) != bool(graph.file):
        raise UsageError("graph.within and graph.file go together", hint="set both, or none")
    if within or not graph.within:
        return within
    return GraphScope(list(graph.within), graph.file, graph.threshold, graph.hops)


def load_episode(name: str = "last") -> EpisodeResult:
    """Load a recorded episode by its id, the beginning of its id, or `last`.

    Raises:
        NotFound: there is no such episode.
    """
    return EpisodeStore(episodes_dir()).load(name)


@spelled(SandboxOptions, Resources, ToolOptions)
def sandbox(
    backend: str | SandboxOptions = "",
    *,
    on: On | Sequence[On] = (),
    warm: int = 0,
    **keywords: Any,
) -> Sandbox:
    """Start a sandbox on its own: `with codenav.sandbox("bubblewrap") as box: box.run("x = 1")`.

    `backend` is `auto`, `docker`, `bubblewrap` or `process`, or `SandboxOptions`, whose other fields are the further
    keywords. Empty is the configured one. `on` names code bases that the code can import, which need not be indexed,
    and tools that it can call, with the keywords of `ToolOptions`.
    `warm` keeps that many others like this one started, and takes one of them for the next call with the same keywords,
    until all sandboxes of such calls are closed.

    Raises:
        SandboxUnavailable: the backend does not work here.
        NotFound, UsageError: something named is not usable.
    """
    from codenav.session.sandbox_factory import SandboxFactory, checked_work_dir

    if warm < 0:
        raise UsageError(f"the number of warm sandboxes is negative: {warm}")
    config = load_config()
    tools = updated(config.tools, keywords).checked()
    options = backend if isinstance(backend, SandboxOptions) else SandboxOptions(backend)
    options = updated(options, keywords)
    options = replace(options, resources=updated(options.resources or config.resources, keywords))
    named = listed(on) if on else []
    with asking_with(tools.values()):
        factory = SandboxFactory.of(options, on=named, allow_private=tools.allow_private)
    factory, calls = factory.with_tools(tools)
    work_dir = checked_work_dir(options.work_dir)
    if calls is None:
        return factory.start(work_dir, warm=warm)
    try:
        return factory.start(work_dir, warm=warm, after_close=calls.close)
    except BaseException:
        calls.close()
        raise


def _kind(value: BlockKind | str) -> BlockKind:
    try:
        return BlockKind(value)
    except ValueError:
        known = ", ".join(kind.value for kind in BlockKind)
        raise UsageError(f"unknown kind of block: {value!r}", hint=f"one of {known}") from None
