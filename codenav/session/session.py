"""A session: index, sandbox, model and agent, joined to run requests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from codenav.agents.models import open_model
from codenav.agents.small import SmallAgent
from codenav.core.approval import Approver
from codenav.core.config import Config, episodes_dir, load_config
from codenav.core.errors import UsageError
from codenav.core.events import Event
from codenav.core.execution import SandboxInfo
from codenav.core.limits import Limits
from codenav.core.options import CheckOptions, ModelOptions, SandboxOptions, StoreOptions, ToolOptions, spelled
from codenav.core.protocols import Agent, Listener, Model, Store
from codenav.core.review import ReviewOptions
from codenav.core.secrets.masking import masker
from codenav.core.system.closing import Closing
from codenav.core.system.interpreter import Interpreter, find_interpreter
from codenav.core.tool_selection import ToolSelection
from codenav.environments import EpisodeParts, MakeEnvironments, usual_environments
from codenav.environments.masked import guarded
from codenav.episodes.record import EpisodeResult
from codenav.episodes.store import EpisodeStore
from codenav.indexers.build import Progress
from codenav.navigation.description import description_of
from codenav.navigation.hints import Hints
from codenav.navigation.members import instance_of
from codenav.navigation.unmatched import advice
from codenav.retrieval.source_index import Notify, On, listed, open_indexes
from codenav.retrieval.stores import open_store
from codenav.session import importing
from codenav.session.agent_choice import model_options, open_agent
from codenav.session.coverage import Coverage
from codenav.session.description_text import following_text, text_of
from codenav.session.episode import Episode
from codenav.session.episode_facts import EpisodeFacts, checked_request
from codenav.session.host_calls import recorded
from codenav.session.panel import open_panel
from codenav.session.questions import Questions, checked_answers, tell_left
from codenav.session.resuming import Past
from codenav.session.sandbox_factory import SandboxFactory, checked_work_dir, sources_of
from codenav.session.searches import Searches
from codenav.session.tool_calls import EpisodeCalls, ToolCalls, folders_of
from codenav.session.values import Values
from codenav.session.workspace import Workspace
from codenav.toolgraph.scope import GraphScope, limit_text
from codenav.tools.reading import asking_with

PACKAGES_TOLD = 40
"""Most installed distributions named in the prompt. Those of the sources come first."""
SMALL_REPEATS = 3
"""Times of the same step with nothing new that end the work of a small model, which seldom gets out by itself."""
UNCONTAINED = "the code runs without isolation: it can do all that you can do (--sandbox process)"
NO_TOOLS = "no source here has tools: the secrets for them are not used"
TOOLS = {"formatting": "black", "lint": "flake8", "types": "mypy"}
"""The switches of `StepChecks` and the tools behind them."""


@dataclass(kw_only=True, eq=False, repr=False)
class Session(Closing):
    """A series of requests on some code bases, run in one interpreter state.

    The variables of one request are available to the next. Each request is an episode with a record of its own. Every
    part can be passed in; `codenav.run` offers plain keywords instead. Model and indexes are opened at once, the
    sandbox starts with the first request.

    Raises:
        ModelNotConfigured: no model is named, neither here nor in the configuration.
        NotFound, UsageError: something named does not exist, there is nothing to index, or both an agent and a model
            are given.
        Unavailable, SandboxUnavailable: a store or repository cannot be reached, or nothing here can contain code.
    """

    on: On | Sequence[On] = ()
    """Directories, files, `pkg:NAME`, `git:URL@REV`, `name:NAME`, `openapi:FILE`, `mcp:COMMAND`, `tools:FILE`, or open
    indexes. Default: those of the episode to go on from."""
    agent: Agent | None = None
    """Chooses the actions of every request, one request after another. Default: one that asks `model`."""
    model: str | Model | ModelOptions | None = None
    """A name, a `protocols.Model`, or options. Default: the configured one."""
    environments: MakeEnvironments | None = None
    """Makes the environments of a request from its parts. Default: those of the agent's profile."""
    listeners: Sequence[Listener] = ()
    """Get every event of every request, after it was recorded."""
    sandbox: str | SandboxOptions | None = None
    """A backend, or options. Default: the configured one."""
    store: str | StoreOptions | None = None
    """`embedded`, `elasticsearch`, or options. Default: the configured one."""
    checks: CheckOptions | None = None
    """The tools that read each step of code. Default: the configured ones."""
    tools: ToolOptions | None = None
    """The calls that the code may make to tools of the sources. Default: the configured ones."""
    review: ReviewOptions | None = None
    """The judges of each answer. Default: the configured ones."""
    limits: Limits | None = None
    """The limits of each episode. Default: the configured ones."""
    description: str | Path | None = None
    """Purpose of the code base, as text or as a file. Default: one that is made from its metadata."""
    within: GraphScope | None = None
    """The actions of a tool graph within which searches find something. Default: they find everything."""
    selection: ToolSelection | None = None
    """Encoder, rerank service and rewriting of requests for searches. Default: the configured ones."""
    after: str = ""
    """Episode to go on from: its id, the beginning of one, or `last`. Its variables are restored first."""
    undoable: bool = False
    """Keeps the state before each request, so that `undo` can take the request back."""
    ask: Callable[[str], str | None] | None = None
    """Answers a question to the person, from any thread. None means that nobody is there."""
    answer: Sequence[str] = ()
    """Answers to the first questions, given beforehand."""
    confirm: Approver | None = None
    """Asked before `auto` falls back to `process`, and before what is to be approved. See `core.approval.Approver`."""
    progress: Callable[[Progress], None] | None = None
    """Gets the progress of each build of an index."""
    notice: Notify | None = None
    """Gets what a person should know, one line at a time."""

    def __post_init__(self) -> None:
        config = load_config()
        # Before anything is built.
        recommended = self.within.tools() if self.within else []
        self._tell = self.notice or (lambda text: None)
        self._allowed, self._answers = (self.tools or config.tools).checked(), checked_answers(self.answer)
        if self._allowed.approve == "steps" and self.confirm is None:
            raise UsageError("nobody is there to approve the steps", hint="on a terminal, confirm=…, or --approve none")
        self._records = EpisodeStore(episodes_dir())
        self._episodes, self._cancelled = list[Episode](), False
        self.past = Past.load(self._records, self.after) if self.after else None
        self.on = self.on or (self.past.sources if self.past else ())
        self._workspace: Workspace | None = None
        self._calls: ToolCalls | None = None
        self._closing = ExitStack()
        with ExitStack() as opening, asking_with(self._allowed.values()):
            self._selection = (self.selection or config.selection).checked()
            store, secrets = _opened_store(self.store, config, self._tell, opening)
            self._secrets = {**secrets, **self._selection.secrets()}
            self._agent = self._make_agent(opening)
            self._panel = open_panel(self.review or config.review, model_options(self.model), opening, self._noticed)
            python = self._prepare_sandbox(config)
            self.indexes = open_indexes(
                listed(self.on), python=python, store=store, opening=opening, progress=self.progress,
                notice=self._tell, allow_private=self._allowed.allow_private,
            )  # fmt: skip
            self._searches = self._open_searches(opening)
            self._description = text_of(self.description) or "\n\n".join(map(description_of, self.indexes))
            if self.within:
                self._searches.limit(recommended, self._tell)
                self._description += f"\n\n{limit_text(recommended)}"
            self._connect_tools(python, opening)
            opening.callback(tell_left, self._answers, self._tell)
            self._closing = opening.pop_all()

    def _prepare_sandbox(self, config: Config) -> Interpreter:
        """Choose the backend, and return the interpreter of the code. Nothing starts yet."""
        options = self.sandbox if isinstance(self.sandbox, SandboxOptions) else SandboxOptions(self.sandbox or "")
        options = config.sandbox_options(options)
        self._given = checked_work_dir(options.work_dir)
        self._answers_calls = not getattr(options.calls, "only_hears", options.calls is None)
        self._small = isinstance(self._agent, SmallAgent)
        self._make_environments = self.environments or usual_environments
        self._checkers = (self.checks or config.checks).switches(small=self._small)
        python = find_interpreter(options.python)
        self._factory = SandboxFactory.prepared(
            options,
            sources=lambda: sources_of(listed(self.on), python, allow_private=self._allowed.allow_private),
            confirm=self.confirm,
        )
        # Consent was asked for on a line of its own, before anything else is told.
        if self._factory.backend == "process":
            self._tell(UNCONTAINED)
        return python

    def _open_searches(self, opening: ExitStack) -> Searches:
        """Join the indexes with what orders their hits."""
        for index in self.indexes if self._allowed.strict else ():
            index.strict = True
        base_url = model_options(self.model).base_url
        return opening.enter_context(Searches(self.indexes, self._selection, base_url=base_url, tell=self._noticed))

    def _connect_tools(self, python: Interpreter, opening: ExitStack) -> None:
        """Let the code import the sources and call their tools."""
        sources = [index.source for index in self.indexes]
        factory = self._factory.changed(import_paths=importing.paths_of(sources, python, self._given))
        model = partial(open_model, base_url=model_options(self.model).base_url, notice=self._noticed)
        factory, self._calls = replace(factory, folders=folders_of(sources)).with_tools(
            self._allowed, confirm=self.confirm, open_model=model
        )
        # The replay of a summary gets the answers that the session got.
        self._factory = replace(factory, calls=factory.calls and recorded(factory.calls))
        if self._calls is not None:
            opening.callback(self._calls.close)
        elif self.tools is not None and self.tools.secrets:
            self._tell(NO_TOOLS)

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

    def _make_agent(self, opening: ExitStack) -> Agent:
        """Return the agent of all requests."""
        if self.agent is not None:
            if self.model is not None:
                raise UsageError("both an agent and a model were given", hint="leave one out: an agent has a model")
            return self.agent
        return open_agent(model_options(self.model), opening, self._noticed)

    def _noticed(self, text: str) -> None:
        """Pass a notice of the model's client to the person, and into the record of the running episode."""
        self._tell(text)
        if self._episodes:
            self._episodes[-1].notice(text)

    def _joined(self, request: str, id: str, folder: Path) -> Episode:
        space = self._workspace = self._workspace or self._started(folder)
        if self.undoable:
            space.mark()
        before = [*(self.past.episodes if self.past else ()), *(episode.result for episode in self._episodes)]
        limits = self.limits or load_config().limits
        questions = Questions(request, before, person=self.ask, given=self._answers, most=limits.questions)
        calls = EpisodeCalls(self._calls, request, options=self._allowed) if self._calls else None
        replay = space.replay(questions.requests, calls=calls)
        secrets = {**self._secrets, **self._factory.template.env, **self._factory.secrets}
        following = self._searches.following(questions.earlier, masker(secrets))
        parts = EpisodeParts(
            index=self._searches.index,
            sandbox=space.sandbox,
            verify=replay,
            ran=space.ran.append,
            calls=calls,
            checker=space.checker,
            ask=questions,
            timeout=self._factory.template.resources.step_seconds,
            several_sources=len(self.indexes) > 1,
            packages=space.packages([index.source for index in self.indexes])[:PACKAGES_TOLD],
            imports=importing.importable_text([index.source for index in self.indexes]),
            tools=[TOOLS[switch] for switch, on in self._checkers.items() if on],
            advice=advice,
            instance_of=instance_of,
            small=self._small,
            once=self._answers_calls or _leaves_something(self._factory, space.sandbox.info, self._allowed, calls),
            offering=self._searches.offering(),
            hint=Hints(self._searches.index).on,
            ranking=self._searches.ranking(request, following, self._episodes),
        )
        description = following_text(self._description, self._episodes, space.sandbox)
        facts = EpisodeFacts(
            id=id,
            sources=[index.facts() for index in self.indexes],
            sandbox=space.sandbox.info.to_dict(),
            work_dir=str(space.work_dir),
            folder=folder,
            parent=self.past.newest.id if self.past else "",
            restored=tuple(self.past.lines) if self.past else (),
        )
        asked = self.confirm if self._allowed.approve == "steps" else None
        made = guarded(self._make_environments(parts), asked, self._factory.secrets)
        recorder = self._records.recorder(id, secrets=secrets)
        limits = replace(limits, repeats=min(limits.repeats, SMALL_REPEATS)) if self._small else limits
        panel = [replace(self._panel, questions=questions)] if self._panel else []
        try:
            episode = Episode(
                request,
                agent=self._searches.choosing(self._agent, questions),
                environments=made,
                description=str(masker(self._factory.secrets)(description)),
                limits=limits,
                listeners=[recorder, *([following] if following else []), *self.listeners],
                verify=replay,
                reviewers=[Coverage(space.sandbox, questions, facts, limits, masker(secrets)), *panel],
                earlier=questions.earlier,
                facts=facts,
                sandbox=space.sandbox,
            )
        except BaseException:
            recorder.close()
            raise
        if calls is not None:
            calls.hear, calls.doubt = episode.called, Values(questions, episode, self._noticed).doubt
        if following:
            following.result = lambda: episode.result
        return episode

    def _started(self, folder: Path) -> Workspace:
        past, objects = self.past, self._records.objects
        inputs = past.episodes[0].inputs if past else None
        space = Workspace(
            self._factory, folder, given=self._given, objects=objects, tools=self._checkers, inputs=inputs
        )
        lines = [space.sandbox.info.notice, space.checker_notice]
        if past:
            lines += past.restore(space, self._factory.calls, [index.facts() for index in self.indexes])
            self._description = f"{self._description}\n\n{past.told()}"
        for line in filter(None, lines):
            self._tell(line)
        return space

    def _stop(self) -> None:
        space, self._workspace = self._workspace, None
        if space:
            space.close()

    def undo(self) -> list[str]:
        """Take the last request back: the variables are as before it. Return a sentence for each thing that stays.

        Raises:
            UsageError: there is no request to take back, or the state before it cannot be restored.
        """
        if not self._episodes or not self.undoable or self._workspace is None:
            raise UsageError("there is no request to take back", hint="ask something first")
        kept = self._workspace.back(self._episodes[-1].result)
        self._episodes.pop()
        return kept


def _leaves_something(
    factory: SandboxFactory, info: SandboxInfo, tools: ToolOptions, calls: EpisodeCalls | None
) -> bool:
    """True if code may do what no checkpoint takes back: by a tool, a call, a mount, the network, or anything.

    It is also true if a person sees each step first, who is not to be asked about three.
    """
    writable = any(mount.writable for mount in factory.template.mounts)
    contained = info.isolated and info.network == "none" and not writable
    return tools.approve == "steps" or not contained or (calls is not None and not calls.only_reads)


def _opened_store(
    options: str | StoreOptions | None, config: Config, tell: Notify, opening: ExitStack
) -> tuple[Store, dict[str, str]]:
    """Open the store. Return it with secrets that no code ever sees but a record must not contain.

    A server may quote its key in an error.
    """
    options = options if isinstance(options, StoreOptions) else config.store_options(store=options)
    keys = ["OPENAI_API_KEY", *(model.key for model in config.models.values())]
    secrets = {**options.checked().secrets(), **{name: os.environ[name] for name in keys if os.environ.get(name)}}
    store = open_store(options, notice=tell)
    opening.callback(store.close)
    return store, secrets


# A misspelled argument is answered with a near one.
Session.__init__ = spelled()(Session.__init__)  # type: ignore[method-assign]
