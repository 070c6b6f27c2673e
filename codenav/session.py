"""Joins index, sandbox, model and agent: where the parts meet."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from codenav.agents import CodeNavAgent
from codenav.config import Config, episodes_dir, load_config
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
from codenav.episodes.verify import verify
from codenav.errors import NotFound, SandboxUnavailable, UsageError
from codenav.events import Event, RunStarted
from codenav.execution import Resources, SandboxSpec, Verdict
from codenav.indexers.build import Progress
from codenav.indexers.sources import describe
from codenav.indexing import Notice, On, SourceIndex, open_index
from codenav.interpreter import find_interpreter
from codenav.limits import Limits
from codenav.masked import MaskedSandbox
from codenav.models import open_model
from codenav.protocols import Checker, Index, Model, Sandbox
from codenav.retrieval.combined import CombinedIndex
from codenav.sandboxes import diagnose, start

PACKAGES_TOLD = 40
"""Installed distributions that the prompt names; the rest is counted."""

DOCUMENTS = (".md", ".rst", ".txt")
"""A description that is one word and ends like this was meant as a file."""


@dataclass(frozen=True)
class SandboxOptions:
    """How the sandbox of a session is started."""

    backend: str = ""
    """`bubblewrap`, `process` (no isolation) or `auto`; empty takes the configured one."""
    network: str = "none"
    """`none` or `host`."""
    env: Sequence[str] = ()
    """Names of variables of this process that the code sees."""
    resources: Resources = Resources()
    confirm: Callable[[str], bool] | None = None
    """Asked before `auto` falls back to `process`; None refuses."""


@dataclass(frozen=True)
class CheckOptions:
    """Which tools read each step of code."""

    formatting: bool = False
    """black."""
    lint: bool = True
    """flake8."""
    types: bool = True
    """mypy."""


class Session:
    """Runs requests on some code bases, one after another, in one interpreter state.

    The variables of one request are there for the next. Each request is an episode with a record of its own.
    """

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
        sandbox: str | SandboxOptions = "",
        checks: CheckOptions | None = None,
        prompts: str | Path | None = None,
        ask: Callable[[str], str | None] | None = None,
        progress: Callable[[Progress], None] | None = None,
        notice: Notice | None = None,
    ) -> None:
        """Open model and indexes; the sandbox starts with the first request.

        `description` is text or a file that says what the code base is for; without it the packages' summaries
        and the names of their modules stand in. `work_dir` is copied in and gets the files that the code writes;
        without it each session has a fresh folder beside its first record. `code_timeout` is in seconds per step.

        Raises:
            ModelNotConfigured: neither `model` nor the configuration names one.
            NotFound, UsageError: something named does not exist, or there is nothing to index.
            SandboxUnavailable: nothing here can contain code.
        """
        config = load_config()
        self._notice = notice or (lambda text: None)
        self._options = sandbox if isinstance(sandbox, SandboxOptions) else SandboxOptions(backend=sandbox)
        self._work_dir = _checked_work_dir(work_dir)
        self._env = _values_of(self._options.env)
        self._prompts = _checked_folder(prompts or config.prompts)
        self._own_model = model is None or isinstance(model, str)
        if model is None or isinstance(model, str):
            model = open_model(model or config.model, base_url=base_url or config.base_url, notice=self._notice)
        self._model: Model = model
        self._backend = choose_backend(self._options, config)
        if self._backend == "process":
            self._notice("the code runs without isolation: it can do all that you can do (--sandbox process)")
        self._python = find_interpreter(python or config.python or None)
        self._limits = limits or Limits(config.limit_steps, config.limit_seconds, config.limit_tokens)
        self._code_timeout = code_timeout or config.code_timeout
        self._checks = checks or CheckOptions()
        self._ask = ask
        self._store = EpisodeStore(episodes_dir())
        self._episodes: list[Episode] = []
        self._sandbox: Sandbox | None = None
        self._checker: Checker | None = None
        self._inputs: Path | None = None
        self._opened: list[SourceIndex] = []
        named = [on] if isinstance(on, str | Path | SourceIndex) else list(on)
        if not named:
            raise UsageError("no code base was named", hint="pass --on PATH or --on pkg:NAME")
        self.indexes = [self._open(item, progress) for item in named]
        self._description = _text_of(description) or "\n\n".join(describe(item.source) for item in self.indexes)

    def run(self, request: str) -> EpisodeResult:
        """Run one request to its end. See `Episode.run`."""
        return self.episode(request).run()

    def stream(self, request: str) -> Generator[Event]:
        """Run one request, yielding each event as it happens. See `Episode.stream`."""
        return self.episode(request).stream()

    def episode(self, request: str) -> Episode:
        """Join the parts for one request; nothing runs yet.

        Raises:
            SandboxUnavailable: the sandbox does not start.
            StorageFull: the record cannot be made.
        """
        id, folder = self._store.create()
        try:
            sandbox = self._sandbox or self._start(folder)
        except BaseException:
            # Nothing has happened yet that a record could tell.
            shutil.rmtree(folder, ignore_errors=True)
            raise
        code = CodeEnvironment(
            sandbox,
            checker=self._checker,
            timeout=self._code_timeout,
            packages=self._packages(),
            imports=self._imports(),
        )
        replay = _Replay(self, sandbox)
        recorder = self._store.recorder(id, secrets={**_own_secrets(), **self._env})
        episode = Episode(
            request,
            agent=CodeNavAgent(self._model, prompts=self._prompts),
            environments=[
                SearchEnvironment(self._index()),
                code,
                CodeSummaryEnvironment(replay),
                AskEnvironment(self._ask),
                DoneEnvironment(),
            ],
            description=self._told(sandbox),
            limits=self._limits,
            listeners=[recorder],
            verify=replay,
            earlier=[step for episode in self._episodes for step in episode.steps],
            head=self._head(id, sandbox),
            folder=folder,
        )
        replay.episode = episode
        self._episodes.append(episode)
        return episode

    def close(self) -> None:
        """End the sandbox and the checkers, and what else this session opened; safe to call twice."""
        if self._sandbox:
            self._sandbox.close()
        if self._checker:
            self._checker.close()
        for index in self._opened:
            index.close()
        if self._own_model:
            self._model.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _open(self, item: On, progress: Callable[[Progress], None] | None) -> SourceIndex:
        if isinstance(item, SourceIndex):
            return item
        index = open_index(item, python=self._python, progress=progress, notice=self._notice)
        self._opened.append(index)
        return index

    def _index(self) -> Index:
        return self.indexes[0] if len(self.indexes) == 1 else CombinedIndex(self.indexes)

    def _start(self, folder: Path) -> Sandbox:
        """Start the sandbox and the checkers, on the work folder or a fresh one beside the record."""
        given = self._work_dir
        self._work_dir = given or folder / "work"
        self._work_dir.mkdir(parents=True, exist_ok=True)
        self._sandbox = self._started(self._work_dir)
        # A replay needs the files as they were before the first step.
        if given and any(given.iterdir()):
            self._inputs = folder / "inputs"
            shutil.copytree(given, self._inputs, symlinks=True)
        from codenav.sandboxes.checks import StepChecks

        self._checker = StepChecks(
            python=self._python,
            import_paths=self._import_paths(),
            formatting=self._checks.formatting,
            lint=self._checks.lint,
            types=self._checks.types,
        )
        return self._sandbox

    def _started(self, work_dir: Path | None, *, copy_out: bool = True) -> Sandbox:
        spec = SandboxSpec(
            python=self._python,
            import_paths=self._import_paths(),
            work_dir=work_dir,
            copy_out=copy_out,
            env=self._env,
            network=self._options.network,
            resources=replace(self._options.resources, step_seconds=self._code_timeout),
        )
        sandbox = start(self._backend, spec)
        return MaskedSandbox(sandbox, self._env) if self._env else sandbox

    def _import_paths(self) -> list[Path]:
        return list(dict.fromkeys(path for index in self.indexes for path in index.source.import_paths))

    def _packages(self) -> list[tuple[str, str]]:
        """The sources' own distributions first, then as many others as are worth telling."""
        own = {name: version for index in self.indexes for name, version in index.source.versions.items()}
        rest = [(name, version) for name, version in self._python.distributions if name not in own]
        return [*own.items(), *rest][:PACKAGES_TOLD]

    def _imports(self) -> str:
        parts = []
        for index in self.indexes:
            modules = ", ".join(index.source.modules[:12])
            parts.append(f"{index.source.name} ({modules})" if modules else index.source.name)
        return f"Importable: {'; '.join(parts)}."

    def _told(self, sandbox: Sandbox) -> str:
        """The library description; for a later request of the session also what is left of the earlier ones."""
        if not self._episodes:
            return self._description
        requests = "\n".join(f"- {episode.request} → {episode.result.answer}" for episode in self._episodes)
        held = ", ".join(f"{item.name}: {item.type}" for item in sandbox.variables().values())
        return f"{self._description}\n\nEarlier in this session:\n{requests}\nVariables that are still there: {held}"

    def _head(self, id: str, sandbox: Sandbox) -> RunStarted:
        return RunStarted(
            id=id,
            request="",
            started="",
            model="",
            sources=[
                {"source": stats.source, "files": stats.files, "blocks": stats.blocks, "versions": dict(stats.versions)}
                for stats in (index.stats() for index in self.indexes)
            ],
            sandbox=sandbox.info.to_dict(),
            work_dir=str(self._work_dir or ""),
        )


class _Replay:
    """Replays a script as one episode of a session would have run it."""

    def __init__(self, session: Session, sandbox: Sandbox) -> None:
        self.episode: Episode | None = None
        self._session = session
        self._sandbox = sandbox

    def __call__(self, script: str) -> Verdict:
        ran = self.episode.code_steps if self.episode else []
        return verify(
            script,
            start=lambda inputs: self._session._started(inputs, copy_out=False),
            inputs=self._session._inputs,
            expected=self._sandbox.variables(),
            stdout="".join(execution.stdout for execution in ran if execution.ok),
            # The script does at once what took that many steps.
            timeout=self._session._code_timeout * max(len(ran), 1),
        )


def start_sandbox(
    backend: str, *, python: str | Path | None, work_dir: str | Path | None, options: SandboxOptions
) -> Sandbox:
    """A sandbox by itself, outside any session. See `codenav.sandbox`."""
    config = load_config()
    return start(
        choose_backend(replace(options, backend=backend), config),
        SandboxSpec(
            python=find_interpreter(python or config.python or None),
            work_dir=_checked_work_dir(work_dir),
            env=_values_of(options.env),
            network=options.network,
            resources=options.resources,
        ),
    )


def choose_backend(options: SandboxOptions, config: Config) -> str:
    """The sandbox backend that was named or, for `auto`, the one that isolates here.

    Raises:
        SandboxUnavailable: `auto` finds no isolation, and nobody confirmed to go without.
    """
    named = options.backend or config.sandbox
    if named != "auto":
        return named
    row = diagnose("bubblewrap")
    if row.ok:
        return "bubblewrap"
    question = f"{row.detail}. Run the code without isolation, with your rights and your files?"
    if options.confirm and options.confirm(question):
        return "process"
    raise SandboxUnavailable(
        f"no sandbox works here: {row.detail}",
        hint=f"{row.hint}, or accept to run without isolation: --sandbox process",
    )


def _values_of(names: Sequence[str]) -> dict[str, str]:
    missing = [name for name in names if name not in os.environ]
    if missing:
        raise UsageError(f"{missing[0]} is not set in the environment", hint=f"export {missing[0]}=…")
    return {name: os.environ[name] for name in names}


def _own_secrets() -> dict[str, str]:
    """What must not stand in a record although no code ever saw it: a server may repeat the key in an error."""
    return {name: os.environ[name] for name in ("OPENAI_API_KEY",) if os.environ.get(name)}


def _checked_work_dir(path: str | Path | None) -> Path | None:
    if path is None:
        return None
    folder = Path(path).expanduser().absolute()
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{path} is not a folder", hint="name a folder with --work-dir")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the work folder {path}: {error.strerror}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"the work folder {path} is not writable", hint=f"chmod u+w {path}")
    return folder


def _checked_folder(path: str | Path | None) -> Path | None:
    if not path:
        return None
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise NotFound(f"no such folder: {path}", hint=f"codenav prompt copy {path}")
    return folder


def _text_of(description: str | Path | None) -> str:
    """A description as text: the content where it names a file."""
    if not description:
        return ""
    text = str(description)
    with suppress(OSError, ValueError):
        if Path(text).expanduser().is_file():
            return Path(text).expanduser().read_text(encoding="utf-8", errors="replace")
    if isinstance(description, Path) or ("\n" not in text and " " not in text and Path(text).suffix in DOCUMENTS):
        raise NotFound(f"no such file: {text}", hint="--description takes text or the path of a file")
    return text
