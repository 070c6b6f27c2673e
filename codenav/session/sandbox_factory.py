"""The start of a session's sandboxes: the choice of a backend, the specification, and the sources inside."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from codenav.core.approval import Approver, Question, answer_of
from codenav.core.config import load_config
from codenav.core.errors import SandboxUnavailable, StorageFull, Unavailable, UsageError
from codenav.core.execution import Mount, Resources, SandboxSettings, SandboxSpec
from codenav.core.options import SandboxOptions, ToolOptions
from codenav.core.protocols import CallHandler, Model, Sandbox
from codenav.core.system.docker_engine import engine_listens
from codenav.core.system.interpreter import Interpreter, find_interpreter, normalise
from codenav.episodes.objects import Objects
from codenav.indexers.git import LOOK_AGAIN
from codenav.indexers.repository import parse
from codenav.indexers.sources import Source, resolve
from codenav.retrieval.source_index import On, SourceIndex
from codenav.sandboxes import diagnose, image_for, start
from codenav.sandboxes.masked import MaskedSandbox
from codenav.sandboxes.workfolder import WorkFolder
from codenav.session import importing
from codenav.session.host_calls import MaskedCalls
from codenav.session.tool_calls import ToolCalls, folders_of

_LIST = """
import os
pid = os.fork()
if pid == 0:
    try:
        import json
        from importlib import metadata
        found = {item.metadata["Name"]: item.version for item in metadata.distributions()}
        print(json.dumps(sorted((name, version) for name, version in found.items() if name)), flush=True)
    finally:
        os._exit(0)
os.waitpid(pid, 0)
"""


@dataclass(frozen=True)
class SandboxFactory:
    """A factory for the sandboxes of one session, all of the same backend and specification."""

    backend: str
    """`docker`, `bubblewrap` or `process`."""
    template: SandboxSpec
    """The specification of each sandbox except its work folder. Values of `env` are masked in all output."""
    calls: CallHandler | None = None
    """Handler of calls from steps to the host. None refuses them."""
    folders: Sequence[Path] = ()
    """States of the tool sources that the code can import (`Source.tools`)."""
    secrets: Mapping[str, str] = field(default_factory=dict)
    """Secrets that never get into a sandbox, and are masked in all output like the values of `env`."""

    @classmethod
    def of(
        cls,
        options: SandboxOptions,
        *,
        on: Sequence[On] = (),
        confirm: Approver | None = None,
        allow_private: bool = False,
    ) -> Self:
        """Return a factory whose sandboxes can import the code bases `on`, which need not be indexed.

        `allow_private` as in `ToolOptions`.

        Raises:
            SandboxUnavailable, NotFound, UsageError: for the reasons of `codenav.sandbox`.
        """
        options = load_config().sandbox_options(options)
        sources = sources_of(on, find_interpreter(options.python), allow_private=allow_private)
        factory = cls.prepared(options, sources=lambda: sources, confirm=confirm)
        factory = factory.changed(import_paths=importing.paths_of(sources, factory.template.python, options.work_dir))
        return replace(factory, folders=folders_of(sources))

    @classmethod
    def prepared(
        cls, options: SandboxOptions, *, sources: Callable[[], Sequence[Source]], confirm: Approver | None = None
    ) -> Self:
        """Turn options into a backend and a specification, without anything to import yet. No other place does this.

        `options` come from `Config.sandbox_options`; `sources` and `confirm` are those of `choose_backend`.

        Raises:
            SandboxUnavailable, NotFound, UsageError: for the reasons of `codenav.sandbox`.
        """
        config = load_config()
        chosen = choose_backend(
            options.backend,
            confirm,
            sources=sources,
            image=options.image,
            usual_image=config.sandbox.image,
            network=options.network,
        )
        settings = {item.name: getattr(options, item.name) for item in fields(SandboxSettings)}
        settings["image"] = chosen.image
        if chosen.backend == "docker":
            settings["runtime"] = options.runtime or config.sandbox.runtime
            settings["gpus"] = options.gpus or config.sandbox.gpus
        settings["snapshots"] = options.snapshots and config.sandbox.snapshots
        spec = SandboxSpec(
            find_interpreter(options.python),
            env=values_of(options.env),
            resources=options.resources or config.resources,
            mounts=mounts_of(options.mounts),
            **settings,
        )
        return cls(chosen.backend, spec, options.calls)

    def changed(self, **changes: Any) -> Self:
        """Return the same factory with other fields of the specification."""
        return replace(self, template=replace(self.template, **changes))

    def with_tools(
        self,
        options: ToolOptions,
        *,
        confirm: Approver | None = None,
        open_model: Callable[[str], Model] | None = None,
    ) -> tuple[Self, ToolCalls | None]:
        """Return a factory of sandboxes whose code can call the tools of `folders`, and what answers the calls.

        The caller closes the latter. It is None, and the factory is the same, where there are no tools. The keywords
        are those of `ToolCalls.of`.

        Raises:
            UsageError, NotFound, Unavailable, MissingExtra: a secret has no value, or the tools cannot be used here.
        """
        if not self.folders:
            return self, None
        masked = {**self.template.env, **self.secrets}
        tools = ToolCalls.of(
            self.folders, options, handler=self.calls, confirm=confirm, secrets=masked, open_model=open_model
        )
        return replace(self, calls=tools, secrets={**self.secrets, **tools.secrets}), tools

    def spec(self, work_dir: Path | None, *, copy_out: bool = True) -> SandboxSpec:
        """Return the specification of one sandbox."""
        return replace(self.template, work_dir=work_dir, copy_out=copy_out)

    def start(
        self,
        work_dir: Path | None,
        *,
        copy_out: bool = True,
        warm: int = 0,
        after_close: Callable[[], None] | None = None,
    ) -> Sandbox:
        """Start a fresh sandbox, or with `warm` take one from a pool of that size. See `codenav.sandboxes.pool`.

        `after_close` is called when it has been closed.

        Raises:
            SandboxUnavailable: the backend does not work here.
            UsageError: the work folder exceeds the size limit, or `network` does not fit the backend.
        """
        spec = self.spec(work_dir, copy_out=copy_out)
        secrets = {**spec.env, **self.secrets}
        calls = MaskedCalls(self.calls, secrets) if self.calls is not None else None
        if warm:
            from codenav.sandboxes.pool import start_warm

            sandbox = start_warm(self.backend, spec, warm, calls=calls)
        else:
            sandbox = start(self.backend, spec, calls=calls)
        if after_close is not None:
            sandbox.after_close = _both(sandbox.after_close, after_close)
        return MaskedSandbox(sandbox, secrets) if secrets else sandbox


def _both(first: Callable[[], None] | None, then: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        try:
            if first is not None:
                first()
        finally:
            then()

    return call


def copy_inputs(work_dir: Path, target: Path, resources: Resources, objects: Objects) -> Path | None:
    """Copy the files that a sandbox takes from a work folder, for replays. Return None if there are none.

    The copies are read-only, and links to files of `objects`. A replay copies them in.

    Raises:
        UsageError: a file cannot be read, the folder is too large, or it contains codenav's own files.
        StorageFull: there is no room for the copy.
    """
    if target.is_relative_to(work_dir):
        raise UsageError(
            f"the work folder {work_dir} holds codenav's own files, in {target.parent.parent}",
            hint="name a folder below it with --work-dir, or another CODENAV_HOME",
        )
    with contextlib.closing(WorkFolder(work_dir, resources, copy_out=False)) as folder:
        names = folder.files()
        for name in names:
            try:
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                objects.add(folder.open_file(name), target / name)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise StorageFull(f"no room to keep a copy of the work folder in {target}") from error
                raise UsageError(f"cannot read {work_dir / name}: {error.strerror}") from error
    return target if names else None


@dataclass(frozen=True)
class Choice:
    """A backend and, for `docker`, its image."""

    backend: str
    image: str = ""


def packages_inside(sandbox: Sandbox) -> list[tuple[str, str]]:
    """Return name and version of the packages in a sandbox with an interpreter of its own.

    A child process of the fresh sandbox lists them, so that it leaves no trace.
    """
    try:
        listed = json.loads(sandbox.run(f"exec({_LIST!r}, {{}})", timeout=20.0).stdout)
        return [(str(name), str(version)) for name, version in listed]
    except (ValueError, TypeError):
        return []


def choose_backend(
    named: str,
    confirm: Approver | None = None,
    *,
    sources: Callable[[], Sequence[Source]] = tuple,
    image: str = "",
    usual_image: str = "",
    network: str = "",
) -> Choice:
    """Return the named backend or, for `auto`, the one that isolates here. `confirm` may accept `process`.

    `auto` takes Docker if an engine answers and has an image built for these sources, else bubblewrap.
    `sources` is called only if there may be an engine. `usual_image` is used by `docker` if no image was built.

    Raises:
        UsageError: an image for a backend other than Docker.
        SandboxUnavailable: `docker` has no image to take, or `auto` finds no isolation and nobody confirmed to do
            without.
        Unavailable: `docker` was named, and no engine answers.
    """
    if image and named in ("auto", "docker"):
        return Choice("docker", image)
    if image:
        raise UsageError(f"{named} takes no image", hint="--sandbox docker")
    if named == "docker" or (named == "auto" and network == "bridge"):
        wanted = sources()
        found = (image_for(labels_of(wanted)) if wanted else None) or usual_image
        if not found:
            raise SandboxUnavailable("no image was built for these sources", hint=f"{_build(wanted)}, or --image NAME")
        return Choice("docker", found)
    if named != "auto":
        return Choice(named)
    wanted = sources() if network != "host" and engine_listens() else []
    if wanted:
        with suppress(Unavailable):
            built = image_for(labels_of(wanted))
            if built:
                return Choice("docker", built)
    row = diagnose("bubblewrap")
    if row.ok:
        return Choice("bubblewrap")
    asked = f"{row.detail}. Run the code without isolation, with your rights and your files?"
    if confirm and answer_of(confirm, Question(asked, "isolation")).allowed:
        return Choice("process")
    engine = "no engine of Docker has an image for these sources" if wanted else "no engine of Docker serves"
    build = f", or {_build(wanted)}" if wanted else ""
    raise SandboxUnavailable(
        f"no sandbox works here: {row.detail}; and {engine}",
        hint=f"{row.hint}{build}; to run without isolation: --sandbox process",
    )


def sources_of(named: Sequence[On], python: Interpreter, *, allow_private: bool = False) -> list[Source]:
    """Resolve sources without indexing them. Open indexes contribute theirs. `allow_private` as in `ToolOptions`.

    Raises:
        NotFound, Unavailable: raised by `resolve`.
    """
    return [
        item.source
        if isinstance(item, SourceIndex)
        else resolve(str(item), python, max_age=LOOK_AGAIN, allow_private=allow_private)
        for item in named
    ]


def _build(sources: Sequence[Source]) -> str:
    named = " ".join(f"--on {shlex.quote(source.spec)}" for source in sources) or "--on SOURCE"
    return f"codenav sandbox build {named}"


def labels_of(sources: Sequence[Source]) -> list[str]:
    """Return the label of an image for these sources: absolute paths, `pkg:NAME==VERSION` and `git:URL@COMMIT`."""
    found: list[str] = []
    for source in sources:
        if source.parts:
            found += labels_of(list(source.parts.values()))
        elif source.name.startswith("git:"):
            found += [f"git:{parse(source.name).shown}@{commit}" for commit in source.versions.values()]
        elif source.tools:
            # Their stubs are not part of an image: they are bound into its containers.
            continue
        elif source.versions:
            found += [f"pkg:{normalise(name)}=={version}" for name, version in source.versions.items()]
        else:
            found.append(source.name)
    return sorted(dict.fromkeys(found))


def mounts_of(values: Sequence[str | Path | Mount]) -> list[Mount]:
    """Parse folders to mount: `DIR:rw` is writable, a plain path is read-only."""
    found = []
    for value in values:
        if isinstance(value, Mount):
            found.append(value)
            continue
        text, _, mode = str(value).rpartition(":")
        if mode not in ("rw", "ro"):
            text, mode = str(value), "ro"
        found.append(Mount(Path(os.path.abspath(os.path.expanduser(text))), mode == "rw"))
    return found


def values_of(env: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """Return variables with their values. Names alone get the values of this process.

    Raises:
        UsageError: a name is not set.
    """
    if isinstance(env, Mapping):
        return dict(env)
    missing = [name for name in env if name not in os.environ]
    if missing:
        raise UsageError(f"{missing[0]} is not set in the environment", hint=f"export {missing[0]}=…")
    return {name: os.environ[name] for name in env}


def checked_work_dir(path: str | Path | None) -> Path | None:
    """Return the work folder as an absolute path, and make it if it is missing. None stays None.

    Raises:
        UsageError: it is not a folder, or cannot be written.
    """
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
