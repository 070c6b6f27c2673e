"""The running sandbox of a session, and everything that belongs to it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from codenav.core.actions import CodeObservation
from codenav.core.errors import NotFound, SandboxUnavailable, UsageError
from codenav.core.execution import Ran
from codenav.core.protocols import Checker
from codenav.core.system.locks import in_use
from codenav.episodes.objects import Objects
from codenav.episodes.record import EpisodeResult
from codenav.indexers.sources import Source
from codenav.session.replaying import Beginning, Replay
from codenav.session.sandbox_factory import SandboxFactory, packages_inside
from codenav.session.tool_calls import EpisodeCalls, packages_of


class Workspace:
    """A sandbox, its work folder, the checkers of its steps, and the beginning that its replays start from."""

    def __init__(
        self,
        factory: SandboxFactory,
        folder: Path,
        *,
        given: Path | None,
        objects: Objects,
        tools: Mapping[str, bool],
        inputs: Path | None = None,
    ) -> None:
        """Start the sandbox and the checkers.

        `folder` is that of the first record. The work folder is `given`, or else a new one in `folder` with the files
        of `inputs`. `tools` are the switches of `StepChecks`.

        Raises:
            SandboxUnavailable: the backend does not work here.
            UsageError, StorageFull: raised by `copy_inputs` for the work folder.
        """
        self.work_dir = given or folder / "work"
        self._marks: list[tuple[int | None, int]] = []
        """For each request, the checkpoint before it and the steps that had run."""
        self.ran: list[Ran] = []
        """Every step that ran, in order."""
        self.checker: Checker | None = None
        self.checker_notice = ""
        """A notice about the checkers for a person, usually empty."""
        self.distributions = factory.template.python.distributions
        """Name and version of the packages that the code can import beside the sources."""
        self._factory = factory
        with ExitStack() as opening:
            self.work_dir.mkdir(parents=True, exist_ok=True)
            opening.callback(os.close, in_use(folder))
            if inputs is not None and given is None:
                shutil.copytree(inputs, self.work_dir, copy_function=shutil.copyfile, dirs_exist_ok=True)
            self._beginning = Beginning.keep(given or inputs, folder, factory, objects)
            opening.callback(self._beginning.forget)
            self.sandbox = factory.start(self.work_dir)
            opening.callback(self.sandbox.close)
            if factory.backend == "docker":
                self.distributions = tuple(packages_inside(self.sandbox))
            if any(tools.values()):
                self.checker = self._checks(tools)
                opening.callback(self.checker.close)
            self._closing = opening.pop_all()

    def replay(self, requests: Sequence[str], *, calls: EpisodeCalls | None = None) -> Replay:
        """Return a replay of scripts from the session's beginning. See `Replay`."""
        return Replay(self.sandbox, self._factory, self._beginning, self.ran, requests, calls=calls)

    def packages(self, sources: Sequence[Source]) -> list[tuple[str, str]]:
        """Name and version of what the code can import: that of the sources first."""
        own = {name: version for source in sources for name, version in packages_of(source).items()}
        return [*own.items(), *((name, version) for name, version in self.distributions if name not in own)]

    def mark(self) -> None:
        """Keep the state before a request, for `back`."""
        checkpoint = None
        with suppress(SandboxUnavailable):
            checkpoint = self.sandbox.checkpoint()
        self._marks.append((checkpoint, len(self.ran)))

    def back(self, episode: EpisodeResult) -> list[str]:
        """Restore the state before the last request, and name what of its episode stays.

        Raises:
            UsageError: the sandbox has no room for the state of then any more.
        """
        checkpoint, ran = self._marks[-1]
        try:
            if checkpoint is None:
                raise NotFound("no checkpoint")
            self.sandbox.restore(checkpoint)
        except NotFound:
            raise UsageError(
                "the state before the last request is not there any more", hint="codenav resume, from an earlier record"
            ) from None
        self._marks.pop()
        del self.ran[ran:]
        seen = [step.observation for step in episode.steps if isinstance(step.observation, CodeObservation)]
        files = dict.fromkeys(name for one in seen for name in one.execution.files)
        sent = [call.tool for one in seen for call in one.calls if call.effect != "read" and call.outcome == "ok"]
        written = [f"{name} stays as it was written" for name in files]
        return [*written, *(f"the call of {tool} stays made" for tool in sent)]

    def close(self) -> None:
        """End the sandbox and the checkers. Safe to call twice."""
        self._closing.close()

    def _checks(self, tools: Mapping[str, bool]) -> Checker:
        from codenav.environments.checkers import StepChecks
        from codenav.environments.checkers.mypy_runs import installed, untried

        if tools["types"]:
            self.checker_notice = untried(installed())
        return StepChecks(
            python=self._factory.template.python,
            import_paths=self._factory.template.import_paths,
            version=self.sandbox.info.python_version,
            packages=self.distributions,
            **tools,
        )
