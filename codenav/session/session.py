"""A session: index, sandbox, model and agent, joined to run requests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from codenav.agents import CodeNavAgent
from codenav.agents.models import open_model, traits_of
from codenav.agents.prompts import prompt_folder
from codenav.agents.small import DRAFTS, SmallAgent
from codenav.core.config import episodes_dir, load_config
from codenav.core.errors import SandboxUnavailable, UsageError
from codenav.core.events import Event
from codenav.core.execution import SandboxInfo
from codenav.core.limits import Limits
from codenav.core.options import CheckOptions, ModelOptions, SandboxOptions, StoreOptions, ToolOptions, spelled
from codenav.core.protocols import Agent, Environment, Listener, Model, Sandbox
from codenav.core.secrets.masking import masker
from codenav.core.system.closing import Closing
from codenav.core.system.interpreter import find_interpreter
from codenav.core.tool_selection import ToolSelection
from codenav.environments import EpisodeParts, MakeEnvironments, small_environments, standard_environments
from codenav.environments.masked import MaskedEnvironment
from codenav.episodes.record import EpisodeResult
from codenav.episodes.store import EpisodeStore
from codenav.indexers.build import Progress
from codenav.navigation.description import description_of
from codenav.navigation.hints import Hints
from codenav.navigation.members import instance_of
from codenav.navigation.unmatched import advice
from codenav.retrieval.source_index import Notice, On, listed, open_indexes
from codenav.retrieval.stores import open_store
from codenav.session import importing
from codenav.session.description_text import text_of
from codenav.session.episode import Episode
from codenav.session.episode_facts import EpisodeFacts, checked_request
from codenav.session.host_calls import recorded
from codenav.session.sandbox_factory import Confirm, SandboxFactory, checked_work_dir, sources_of
from codenav.session.searches import Searches
from codenav.session.tool_calls import EpisodeCalls, ToolCalls, folders_of, packages_of
from codenav.session.workspace import Workspace
from codenav.toolgraph.within import Within, limit_text
from codenav.tools.reading import asking_with

PACKAGES_TOLD = 40
"""Most installed distributions named in the prompt. Those of the sources come first."""

UNCONTAINED = "the code runs without isolation: it can do all that you can do (--sandbox process)"

NO_TOOLS = "no source here has tools: the secrets for them are not used"

TOOLS = {"formatting": "black", "lint": "flake8", "types": "mypy"}
"""The switches of `StepChecks` and the tools behind them."""


class Session(Closing):
    """A series of requests on some code bases, run in one interpreter state.

    The variables of one request are available to the next. Each request is an episode with a record of its own. Every
    part can be passed in; `codenav.run` offers plain keywords instead.
    """

    @spelled()
    def __init__(
        self,
        *,
        on: On | Sequence[On],
        agent: Agent | None = None,
        model: str | Model | ModelOptions | None = None,
        environments: MakeEnvironments | None = None,
        listeners: Sequence[Listener] = (),
        sandbox: str | SandboxOptions | None = None,
        store: str | StoreOptions | None = None,
        checks: CheckOptions | None = None,
        tools: ToolOptions | None = None,
        limits: Limits | None = None,
        description: str | Path | None = None,
        rerank: bool = True,
        within: Within | None = None,
        selection: ToolSelection | None = None,
        ask: Callable[[str], str | None] | None = None,
        confirm: Confirm | None = None,
        progress: Callable[[Progress], None] | None = None,
        notice: Notice | None = None,
    ) -> None:
        """Open the model and the indexes. The sandbox starts with the first request.

        Args:
            on: directories, files, `pkg:NAME`, `git:URL@REV`, `name:NAME`, `openapi:FILE`, `mcp:COMMAND`, `tools:FILE`,
                or open indexes.
            agent: chooses the actions of every request, one request after another (`protocols.Agent`). Default: one
                that asks `model`.
            model: a name, a `protocols.Model`, or `ModelOptions`. Default: the configured one.
            environments: makes the environments of a request from its parts. Default: `standard_environments`, or those
                of the small profile.
            listeners: get every event of every request, after it was recorded.
            sandbox: a backend, or `SandboxOptions`. Default: the configured one.
            store: `embedded`, `elasticsearch`, or `StoreOptions`. Default: the configured one.
            checks: the tools that read each step of code. Default: flake8 and mypy.
            tools: the calls that the code may make to tools of `openapi:`, `mcp:` and `tools:` sources. Default: the
                configured ones, without secrets.
            limits: what each episode may spend. Default: the configured ones.
            description: what the code base is for, as text or as a file. Default: the packages' summaries and the names
                of their modules.
            rerank: order what searches find by the tool graphs of the sources, and let episodes teach these; and by the
                services of `selection`.
            selection: encoder, rerank service and rewriting of requests for searches. Default: the configured ones.
            within: the actions of a tool graph within which searches find something. Default: they find everything.
            ask: answers a question of the agent. None means that nobody is there.
            confirm: asked before `auto` falls back to `process`, and before each call that `allow="ask"` wants asked;
                the latter comes from another thread. None refuses.
            progress: gets the progress of each build of an index.
            notice: gets what a person should know, one line at a time.

        Raises:
            ModelNotConfigured: no model is named, neither here nor in the configuration.
            NotFound, UsageError: something named does not exist, there is nothing to index, or both an agent and a
                model are given.
            Unavailable: the store cannot be reached, or a repository cannot be fetched.
            SandboxUnavailable: nothing here can contain code.
        """
        config = load_config()
        # Before anything is built.
        recommended = within.tools() if within else []
        self._tell = notice or (lambda text: None)
        self._listeners, self._ask = tuple(listeners), ask
        self._limits = limits or config.limits()
        contained = sandbox if isinstance(sandbox, SandboxOptions) else SandboxOptions(sandbox or "")
        contained = config.sandbox_options(contained)
        self._given = checked_work_dir(contained.work_dir)
        self._answers_calls = contained.calls is not None
        kept = store.checked() if isinstance(store, StoreOptions) else config.store_options(store=store)
        wanted = tools.checked() if tools is not None else config.tool_options()
        chosen = selection.checked() if selection is not None else config.selection()
        self._secrets = {**_own_secrets(kept), **chosen.secrets()}
        self._records = EpisodeStore(episodes_dir())
        self._episodes: list[Episode] = []
        self._cancelled = False
        self._workspace: Workspace | None = None
        self._calls: ToolCalls | None = None
        self._closing = ExitStack()
        with ExitStack() as opening, asking_with(wanted.values()):
            opened = open_store(kept, notice=self._tell)
            opening.callback(opened.close)
            self._agent = self._agent_of(agent, model, opening)
            self._allow = wanted.allow
            checks = checks or CheckOptions()
            small = isinstance(self._agent, SmallAgent)
            self._make_environments = environments or (small_environments if small else standard_environments)
            self._tools = {
                "formatting": checks.format,
                "lint": not small if checks.lint is None else checks.lint,
                "types": not small if checks.types is None else checks.types,
            }
            python = find_interpreter(contained.python)
            factory = SandboxFactory.prepared(
                contained,
                sources=lambda: sources_of(listed(on), python, allow_private=wanted.allow_private),
                confirm=confirm,
            )
            # Consent was asked for on a line of its own, before anything else is told.
            if factory.backend == "process":
                self._tell(UNCONTAINED)
            self.indexes = open_indexes(
                listed(on), python=python, store=opened, opening=opening, progress=progress, notice=self._tell,
                allow_private=wanted.allow_private,
            )  # fmt: skip
            for index in self.indexes if wanted.strict else ():
                index.strict = True
            self._description = text_of(description) or "\n\n".join(map(description_of, self.indexes))
            self._searches = Searches(
                self.indexes, chosen, rerank=rerank, base_url=self._server_of(model), tell=self._noticed
            )
            opening.callback(self._searches.close)
            if within:
                self._searches.limit(recommended, self._tell)
                self._description += f"\n\n{limit_text(recommended)}"
            sources = [index.source for index in self.indexes]
            factory = factory.changed(import_paths=importing.paths_of(sources, python, self._given))
            self._factory = self._calling(replace(factory, folders=folders_of(sources)), wanted, confirm, model)
            if self._calls is not None:
                opening.callback(self._calls.close)
            elif tools is not None and tools.secrets:
                self._tell(NO_TOOLS)
            self._closing = opening.pop_all()

    def run(self, request: str) -> EpisodeResult:
        """Run one request to its end, and return the result. See `Episode.run`."""
        return self.episode(request).run()

    def stream(self, request: str) -> Generator[Event]:
        """Run one request, yielding each event as it happens. See `Episode.stream`."""
        yield from self.episode(request).stream()

    def episode(self, request: str) -> Episode:
        """Join the parts for one request. Nothing runs yet.

        Raises:
            UsageError: the request is empty.
            SandboxUnavailable: the sandbox does not start.
            StorageFull: the record cannot be made.
        """
        checked_request(request)
        self._cancelled = False
        id, folder = self._records.create()
        try:
            episode = self._joined(request, id, folder)
        except BaseException:
            # Nothing has happened that a record could tell. A sandbox on this folder ends with it.
            if not self._episodes:
                self._stop()
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._episodes.append(episode)
        if self._cancelled:
            episode.cancel()
        return episode

    def cancel(self) -> None:
        """Cancel the request that runs or is about to, from any thread. See `Episode.cancel`.

        Later requests find the variables of the sandbox as the cancelled one left them. If nothing runs, nothing
        happens.
        """
        # The order matters: `episode` adds its episode first, then checks the flag.
        self._cancelled = True
        for episode in tuple(self._episodes):
            episode.cancel()

    def close(self) -> None:
        """End the sandbox, the checkers and everything else that this session opened. Safe to call twice."""
        for episode in self._episodes:
            episode.close()
        self._stop()
        self._closing.close()

    def _agent_of(self, agent: Agent | None, model: str | Model | ModelOptions | None, opening: ExitStack) -> Agent:
        """Return the agent of all requests."""
        if agent is not None:
            if model is not None:
                raise UsageError(
                    "both an agent and a model were given", hint="leave one out: an agent has its own model"
                )
            return agent
        wanted = model if isinstance(model, ModelOptions) else ModelOptions("" if model is None else model)
        wanted = load_config().model_options(wanted)
        prompts, named = prompt_folder(wanted.prompts or None), wanted.model
        if isinstance(named, str):
            named = open_model(named, base_url=wanted.base_url, notice=self._noticed, heard=wanted.heard)
            opening.callback(named.close)
        traits = traits_of(named)
        if not wanted.is_small(traits.parameters):
            return CodeNavAgent(named, prompts=prompts, notice=self._noticed)
        return SmallAgent(named, drafts=wanted.tries or (DRAFTS if traits.local else 1))

    def _calling(
        self,
        factory: SandboxFactory,
        tools: ToolOptions,
        confirm: Confirm | None,
        model: str | Model | ModelOptions | None,
    ) -> SandboxFactory:
        """Return the factory with what answers the calls of the code, and open the broker if there are tools."""
        base_url = self._server_of(model)

        def opened(name: str) -> Model:
            return open_model(name, base_url=base_url, notice=self._noticed)

        factory, self._calls = factory.with_tools(tools, confirm=confirm, open_model=opened)
        # The replay of a summary gets the answers that the session got.
        return replace(factory, calls=factory.calls and recorded(factory.calls))

    def _server_of(self, model: str | Model | ModelOptions | None) -> str:
        """Return the URL of the server for models beside the agent's."""
        return load_config().model_options(model if isinstance(model, ModelOptions) else ModelOptions()).base_url

    def _noticed(self, text: str) -> None:
        """Pass a notice of the model's client to the person, and into the record of the running episode."""
        self._tell(text)
        if self._episodes:
            self._episodes[-1].notice(text)

    def _joined(self, request: str, id: str, folder: Path) -> Episode:
        space = self._workspace = self._workspace or self._started(folder)
        requests = "\n".join([*(earlier.request for earlier in self._episodes), request])
        calls = EpisodeCalls(self._calls, request, allow=self._allow) if self._calls else None
        replay = space.replay(requests, calls=calls)
        secrets = {**self._secrets, **self._factory.template.env, **self._factory.secrets}
        earlier = [step for episode in self._episodes for step in episode.steps]
        following = self._searches.following(earlier, masker(secrets))
        parts = EpisodeParts(
            index=self._searches.index,
            sandbox=space.sandbox,
            verify=replay,
            ran=space.ran.append,
            calls=calls,
            checker=space.checker,
            ask=self._ask,
            timeout=self._factory.template.resources.step_seconds,
            several_sources=len(self.indexes) > 1,
            packages=self._packages(space),
            imports=importing.importable_text([index.source for index in self.indexes]),
            tools=[TOOLS[switch] for switch, on in self._tools.items() if on],
            advice=advice,
            instance_of=instance_of,
            once=self._leaves_something(space.sandbox.info, calls),
            offering=self._searches.offering(),
            hint=Hints(self._searches.index).on,
            ranking=self._searches.ranking(request, following, self._episodes),
        )
        facts = EpisodeFacts(
            id=id,
            sources=[index.facts() for index in self.indexes],
            sandbox=space.sandbox.info.to_dict(),
            work_dir=str(space.work_dir),
            folder=folder,
        )
        recorder = self._records.recorder(id, secrets=secrets)
        try:
            episode = Episode(
                request,
                agent=self._agent,
                environments=self._environments_of(parts),
                description=str(masker(self._factory.secrets)(self._told(space.sandbox))),
                limits=self._limits,
                listeners=[recorder, *([following] if following else []), *self._listeners],
                verify=replay,
                earlier=earlier,
                facts=facts,
                late=lambda: space.sandbox.run("").late_output,
            )
        except BaseException:
            recorder.close()
            raise
        if calls is not None:
            calls.hear = episode.called
        if following:
            following.result = lambda: episode.result
        return episode

    def _leaves_something(self, info: SandboxInfo, calls: EpisodeCalls | None) -> bool:
        """True if code may do what no checkpoint takes back: by a tool, a call, a mount, the network, or anything."""
        writable = any(mount.writable for mount in self._factory.template.mounts)
        contained = info.isolated and info.network == "none" and not writable and not self._answers_calls
        return not contained or (calls is not None and not calls.only_reads)

    def _environments_of(self, parts: EpisodeParts) -> Sequence[Environment]:
        made = self._make_environments(parts)
        if not self._factory.secrets:
            return made
        mask = masker(self._factory.secrets)
        return [MaskedEnvironment(environment, mask) for environment in made]

    def _started(self, folder: Path) -> Workspace:
        space = Workspace(self._factory, folder, given=self._given, objects=self._records.objects, tools=self._tools)
        for notice in (space.sandbox.info.notice, space.checker_notice):
            if notice:
                self._tell(notice)
        return space

    def _stop(self) -> None:
        space, self._workspace = self._workspace, None
        if space:
            space.close()

    def _packages(self, space: Workspace) -> list[tuple[str, str]]:
        own = {name: version for index in self.indexes for name, version in packages_of(index.source).items()}
        rest = [(name, version) for name, version in space.distributions if name not in own]
        return [*own.items(), *rest][:PACKAGES_TOLD]

    def _told(self, sandbox: Sandbox) -> str:
        """Return the library description, followed in later requests by what is left of the earlier ones."""
        if not self._episodes:
            return self._description
        requests = "\n".join(f"- {episode.request} → {episode.result.answer}" for episode in self._episodes)
        try:
            held = ", ".join(f"{item.name}: {item.type}" for item in sandbox.variables().values()) or "none"
        except SandboxUnavailable:
            held = "unknown"
        return f"{self._description}\n\nEarlier in this session:\n{requests}\nVariables that are still there: {held}"


def _own_secrets(store: StoreOptions) -> dict[str, str]:
    """Return secrets that no code ever saw but a record must not contain: a server may quote its key in an error."""
    return {**store.secrets(), **{name: os.environ[name] for name in ("OPENAI_API_KEY",) if os.environ.get(name)}}
