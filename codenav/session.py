"""Joins index, sandbox, model and agent: where the parts meet."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Self, Unpack

from codenav import planner
from codenav.agents import CodeNavAgent
from codenav.agents.prompts import prompt_folder
from codenav.config import StoreKeywords, episodes_dir, load_config, spelled
from codenav.describing import described
from codenav.environments import (
    AskEnvironment,
    CodeEnvironment,
    CodeSummaryEnvironment,
    DoneEnvironment,
    SearchEnvironment,
)
from codenav.episode import Episode
from codenav.episodes.record import EpisodeResult
from codenav.episodes.store import EpisodeStore
from codenav.errors import NotFound, SandboxUnavailable, UsageError
from codenav.events import Event, RunStarted
from codenav.execution import Mount, Ran, Resources
from codenav.indexers.build import Progress
from codenav.indexing import Notice, On, SourceIndex, as_index, import_paths_of, listed, open_index
from codenav.interpreter import find_interpreter
from codenav.limits import Limits
from codenav.locks import in_use
from codenav.messages import Hear
from codenav.models import open_model
from codenav.protocols import Agent, Checker, Model, Sandbox
from codenav.replaying import Beginning, Replay
from codenav.stores import open_store
from codenav.workbench import (
    Confirm,
    Workbench,
    checked_work_dir,
    choose_backend,
    mounts_of,
    packages_inside,
    sources_of,
    values_of,
)

PACKAGES_TOLD = 40
"""Installed distributions that the prompt names, those of the sources first."""

UNUSED_SERVER = (
    "OPENAI_BASE_URL is set but no model is named, so nothing is asked of it: --model NAME, or CODENAV_MODEL"
)

DESCRIPTION = "--description takes text or the path of a file"
DOCUMENTS = (".md", ".rst", ".txt")
"""A description that is one word and ends like this was meant as a file."""


class Session:
    """Runs requests on some code bases, one after another, in one interpreter state.

    The variables of one request are there for the next. Each request is an episode with a record of its own.
    """

    @spelled
    def __init__(
        self,
        *,
        on: On | Sequence[On],
        model: str | Model | None = None,
        base_url: str | None = None,
        description: str | Path | None = None,
        python: str | Path | None = None,
        work_dir: str | Path | None = None,
        limits: Limits | None = None,
        code_timeout: float | None = None,
        sandbox: str | None = None,
        network: str = "",
        env: Sequence[str] | Mapping[str, str] = (),
        resources: Resources | None = None,
        mounts: Sequence[str | Path | Mount] = (),
        image: str = "",
        runtime: str = "",
        gpus: str = "",
        format: bool = False,
        lint: bool | None = None,
        types: bool | None = None,
        prompts: str | Path | None = None,
        ask: Callable[[str], str | None] | None = None,
        confirm: Confirm | None = None,
        progress: Callable[[Progress], None] | None = None,
        notice: Notice | None = None,
        heard: Hear | None = None,
        **store: Unpack[StoreKeywords],
    ) -> None:
        """Open model and indexes; the sandbox starts with the first request.

        Args:
            on: directories, files, `pkg:NAME`, `git:URL@REV`, `name:NAME`, or open indexes.
            model: a name, or any `protocols.Model`. Default: the configured one; where neither that nor a server is
                named, `planner`, which needs none and does plain requests only.
            base_url: of an OpenAI-compatible server.
            description: text, or a file, that says what the code base is for. Without it the packages' summaries
                and the names of their modules stand in.
            python: interpreter or virtual environment in which packages are found and code runs.
            work_dir: copied in at the start; gets the files that the code writes. Default: a fresh folder beside
                the first record.
            limits: what each episode may spend.
            code_timeout: seconds of one code step, above 0.
            sandbox: `auto`, `docker`, `bubblewrap` or `process` (no isolation). `auto` takes Docker where its engine
                has an image built for these sources, else bubblewrap.
            network: `none`, `host` (bubblewrap, process) or `bridge` (docker). Default: none; `process` has the
                host's and cannot cut it off.
            env: names of variables of this process that the code sees, or names with values.
            resources: what the code may use. Default: the configured ones.
            mounts: folders of the host that are live inside, at the same path: read-only, or `DIR:rw`.
            image: of `docker`. Default: the one built for the sources, else the configured one.
            runtime: of `docker`: `runsc` for gVisor.
            gpus: of `docker`: `all`, a number, or ids with commas between.
            format, lint, types: whether black, flake8 and mypy read each step. Default: flake8 and mypy do, for a
                model; the planner reads none of them.
            prompts: a folder whose prompt files replace ours of the same name.
            ask: answers a question of the agent; None says that nobody is there.
            confirm: asked before `auto` falls back to `process`; None refuses.
            progress: told of the progress of each build of an index.
            notice: told what a person should know, in one line each.
            heard: told of each request to the model and of what it writes, as it comes (`codenav.Heard`); not of a
                model that is given as an object.
            store: `store` and the other fields of `StoreOptions`, as keywords. Default: the configured ones.

        Raises:
            ModelNotConfigured: a server is named, and no model.
            NotFound, UsageError: something named does not exist, or there is nothing to index.
            Unavailable: the store cannot be reached, or a repository cannot be fetched.
            SandboxUnavailable: nothing here can contain code.
        """
        config = load_config()
        self._tell = notice or (lambda text: None)
        self._given = checked_work_dir(work_dir)
        values = values_of(env)
        self._prompts = prompt_folder(prompts or config.prompts or None)
        self._limits = limits or config.limits()
        resources = resources or config.resources()
        if code_timeout is not None and not 0 < code_timeout < float("inf"):
            raise UsageError(f"a step of code in {code_timeout:g} seconds", hint="code_timeout is a number above 0")
        self._ask = ask
        self._store = EpisodeStore(episodes_dir())
        self._episodes: list[Episode] = []
        self._sandbox: Sandbox | None = None
        self._checker: Checker | None = None
        self._distributions: Sequence[tuple[str, str]] = ()
        self._work_dir: Path | None = None
        self._beginning: Beginning | None = None
        self._ran: list[Ran] = []
        self._closing = ExitStack()
        options = config.store_options(**store)
        self._secrets = {
            **_own_secrets(),
            "elasticsearch api key": options.elasticsearch_api_key,
            "elasticsearch password": options.elasticsearch_password,
        }
        with ExitStack() as opening:
            kept = open_store(options)
            opening.callback(kept.close)
            named = config.model if model is None else model
            self._model: Model | None = None if isinstance(named, str) else named
            if isinstance(named, str) and not planner.stands_in(named, base_url or config.base_url):
                self._model = open_model(named, base_url=base_url or config.base_url, notice=self._noticed, heard=heard)
                opening.callback(self._model.close)
            checks = self._model is not None
            self._switches = {
                "formatting": format,
                "lint": checks if lint is None else lint,
                "types": checks if types is None else types,
            }
            interpreter = find_interpreter(python or config.python or None)
            self._distributions = interpreter.distributions
            chosen = choose_backend(
                sandbox or config.sandbox,
                confirm,
                sources=lambda: sources_of(listed(on), interpreter),
                image=image,
                usual_image=config.image,
                network=network,
            )
            if self._model is None:
                self._tell(planner.WHAT_IT_IS)
                if os.environ.get("OPENAI_BASE_URL") and named != planner.NAME:
                    self._tell(UNUSED_SERVER)
            if chosen.backend == "process":
                self._tell("the code runs without isolation: it can do all that you can do (--sandbox process)")
            self.indexes = []
            for item in listed(on):
                if not isinstance(item, SourceIndex):
                    item = open_index(item, python=interpreter, store=kept, progress=progress, notice=self._tell)
                    opening.callback(item.close)
                self.indexes.append(item)
            self._description = _text_of(description) or "\n\n".join(map(described, self.indexes))
            self._closing = opening.pop_all()
        self._bench = Workbench(
            backend=chosen.backend,
            python=interpreter,
            import_paths=import_paths_of(self.indexes),
            network=network,
            env=values,
            resources=replace(resources, step_seconds=code_timeout or resources.step_seconds),
            mounts=mounts_of(mounts),
            image=chosen.image,
            runtime=runtime or (config.runtime if chosen.backend == "docker" else ""),
            gpus=gpus,
        )

    def run(self, request: str) -> EpisodeResult:
        """Run one request to its end. See `Episode.run`."""
        return self.episode(request).run()

    def stream(self, request: str) -> Generator[Event]:
        """Run one request, yielding each event as it happens. See `Episode.stream`."""
        yield from self.episode(request).stream()

    def episode(self, request: str) -> Episode:
        """Join the parts for one request; nothing runs yet.

        Raises:
            UsageError: the request is empty.
            SandboxUnavailable: the sandbox does not start.
            StorageFull: the record cannot be made.
        """
        if not request.strip():
            raise UsageError("the request is empty", hint="say what you want in one sentence")
        id, folder = self._store.create()
        try:
            episode = self._joined(request, id, folder)
        except BaseException:
            # Nothing has happened yet that a record could tell; a sandbox on this folder ends with it.
            if not self._episodes:
                self._stop()
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._episodes.append(episode)
        return episode

    def close(self) -> None:
        """End the sandbox, the checkers and what else this session opened; safe to call twice."""
        for episode in self._episodes:
            episode.close()
        self._stop()
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _noticed(self, text: str) -> None:
        """What the model's client has to say: to the person, and into the record of the running episode."""
        self._tell(text)
        if self._episodes:
            self._episodes[-1].notice(text)

    def _joined(self, request: str, id: str, folder: Path) -> Episode:
        sandbox = self._sandbox or self._start(folder)
        seconds = self._bench.resources.step_seconds
        requests = "\n".join([*(earlier.request for earlier in self._episodes), request])
        beginning = self._beginning or Beginning(folder)
        replay = Replay(sandbox, self._bench, beginning, self._ran, requests, tries=self._model is None)
        names = {"formatting": "black", "lint": "flake8", "types": "mypy"}
        code = CodeEnvironment(
            sandbox,
            checker=self._checker,
            timeout=seconds,
            packages=self._packages(),
            imports=self._imports(),
            tools=[names[switch] for switch, on in self._switches.items() if on],
            ran=self._ran.append,
        )
        return Episode(
            request,
            agent=self._agent(),
            environments=[
                SearchEnvironment(as_index(self.indexes), tagged=len(self.indexes) > 1),
                code,
                CodeSummaryEnvironment(replay),
                AskEnvironment(self._ask),
                DoneEnvironment(),
            ],
            description=self._told(sandbox),
            limits=self._limits,
            listeners=[self._store.recorder(id, secrets={**self._secrets, **self._bench.env})],
            verify=replay,
            earlier=[step for episode in self._episodes for step in episode.steps],
            head=self._head(id, sandbox),
            folder=folder,
        )

    def _agent(self) -> Agent:
        if self._model is not None:
            return CodeNavAgent(self._model, prompts=self._prompts, notice=self._noticed)
        packages = [name for index in self.indexes for name in index.stats().versions]
        files = planner.files_in(self._given) if self._given else ()
        return planner.PlannerAgent(files=files, packages=packages)

    def _start(self, folder: Path) -> Sandbox:
        """Start the sandbox and the checkers, on the work folder or a fresh one beside the record."""
        work_dir = self._given or folder / "work"
        work_dir.mkdir(parents=True, exist_ok=True)
        self._closing.callback(os.close, in_use(folder))
        self._beginning = Beginning.keep(self._given, folder, self._bench, self._store.objects)
        self._closing.callback(self._beginning.forget)
        self._ran.clear()
        self._sandbox = self._bench.start(work_dir)
        if self._sandbox.info.notice:
            self._tell(self._sandbox.info.notice)
        if self._bench.backend == "docker":
            self._distributions = packages_inside(self._sandbox)
        self._work_dir = work_dir
        if any(self._switches.values()):
            from codenav.sandboxes.checks import StepChecks

            self._checker = StepChecks(
                python=self._bench.python,
                import_paths=self._bench.import_paths,
                version=self._sandbox.info.python_version,
                packages=self._distributions,
                **self._switches,
            )
        return self._sandbox

    def _stop(self) -> None:
        if self._sandbox:
            self._sandbox.close()
        if self._checker:
            self._checker.close()
        self._sandbox = self._checker = None

    def _packages(self) -> list[tuple[str, str]]:
        own = {name: version for index in self.indexes for name, version in index.source.versions.items()}
        rest = [(name, version) for name, version in self._distributions if name not in own]
        return [*own.items(), *rest][:PACKAGES_TOLD]

    def _imports(self) -> str:
        """The packages and modules at the top; what is below them stands in the description."""
        parts = []
        for index in self.indexes:
            top = ", ".join([module for module in index.source.modules if "." not in module][:12])
            parts.append(f"{top} ({index.source.name})" if top else index.source.name)
        return f"Importable: {'; '.join(parts)}."

    def _told(self, sandbox: Sandbox) -> str:
        """The library description; for a later request of the session also what is left of the earlier ones."""
        if not self._episodes:
            return self._description
        requests = "\n".join(f"- {episode.request} → {episode.result.answer}" for episode in self._episodes)
        try:
            held = ", ".join(f"{item.name}: {item.type}" for item in sandbox.variables().values()) or "none"
        except SandboxUnavailable:
            held = "unknown"
        return f"{self._description}\n\nEarlier in this session:\n{requests}\nVariables that are still there: {held}"

    def _head(self, id: str, sandbox: Sandbox) -> RunStarted:
        return RunStarted(
            id=id,
            request="",
            started="",
            model="",
            sources=[index.facts() for index in self.indexes],
            sandbox=sandbox.info.to_dict(),
            work_dir=str(self._work_dir or ""),
        )


def _own_secrets() -> dict[str, str]:
    """What must not stand in a record although no code ever saw it: a server may repeat the key in an error."""
    return {name: os.environ[name] for name in ("OPENAI_API_KEY",) if os.environ.get(name)}


def _text_of(description: str | Path | None) -> str:
    """A description as text: the content where it names a file."""
    if not description:
        return ""
    text = str(description)
    with suppress(OSError, ValueError):
        if Path(text).expanduser().is_file():
            return Path(text).expanduser().read_text(encoding="utf-8", errors="replace")
        if Path(text).expanduser().is_dir():
            raise UsageError(f"the description {text} is a folder", hint=DESCRIPTION)
    if isinstance(description, Path) or (text.endswith(DOCUMENTS) and not any(map(str.isspace, text))):
        raise NotFound(f"no such file: {text}", hint=DESCRIPTION)
    return text
