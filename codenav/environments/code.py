"""The environment of `code` actions: runs the step in a sandbox while checkers read it."""

from __future__ import annotations

import ast
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace

from codenav.core.actions import Action, Code, CodeObservation, Draft
from codenav.core.cancelling import current_scope
from codenav.core.errors import NotFound, SandboxUnavailable, Unavailable
from codenav.core.execution import CheckReport, ExecutionError, Outcome, Ran, Resources
from codenav.core.protocols import CallsOfStep, Checker, Sandbox
from codenav.core.system.bounded import Deadline
from codenav.core.system.syntax import parsed
from codenav.environments.drafts import choose
from codenav.environments.formatting import executed
from codenav.environments.shapes import shapes_of

OBJECT = re.compile(r"<[^<>\n]+ at 0x[0-9a-f]+>\Z")
"""An object as it is printed without a `repr` of its own."""
ATTRIBUTES = 16
"""Attributes of such an object that are named."""
DRAFT_SECONDS = 20.0
"""Seconds of each of several scripts for a step: one that never ends costs no more than that."""
LEAST_SECONDS = 0.1
"""Seconds that a script gets at the end of the time."""
FILES = 8
"""Files of the work folder that the small profile is told."""
FIRST_LINE, FIRST_LINE_OF = 80, 1_000_000
"""Characters of a first line that are shown, and bytes of the largest file that is read for it."""


class CodeEnvironment:
    """The environment of `code` actions: one sandbox with one interpreter state for all steps.

    `timeout`: seconds per step. The model is told the `packages` (name and version), the `imports` (a sentence on what
    can be imported from the code base) and the `tools` that `checker` runs. `ran` is called after each step. `calls`
    collects what the code calls of tools that the sources have. `hint` says what may mend an error; it may ask for the
    public names of a value. `tells_files`: its facts name the files of the work folder, with the first line of a text.
    `once`: what code does may stay outside of the sandbox, so no step may be tried in several ways.
    """

    action: type[Action] = Code

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        checker: Checker | None = None,
        timeout: float = Resources.step_seconds,
        packages: Sequence[tuple[str, str]] = (),
        imports: str = "",
        tools: Sequence[str] = (),
        ran: Callable[[Ran], None] | None = None,
        calls: CallsOfStep | None = None,
        hint: Callable[[ExecutionError, Callable[[str], Iterable[str]]], str] | None = None,
        tells_files: bool = False,
        once: bool = False,
    ) -> None:
        self.sandbox = sandbox
        self.timeout = timeout
        self._checker = checker
        self._packages = packages
        self._imports = imports
        self._tools = tools
        self._ran = ran
        self._calls = calls
        self._hint = hint
        self._tells_files = tells_files
        self._once = once

    def facts(self) -> Mapping[str, str]:
        """The facts of this sandbox."""
        info = self.sandbox.info
        network = "There is no network." if info.network == "none" else "The network can be reached."
        named = [f"{name} {version}" for name, version in self._packages]
        return {
            "python": info.python_version,
            "packages": ", ".join(named) if named else "the standard library",
            "work_dir": info.work_dir,
            "network": network,
            "timeout": f"{self.timeout:g}",
            # How tools are called is an item of its own, there only where the sources have some.
            "imports": f"{self._imports}\n- {self._calls.told}" if self._calls else self._imports,
            "checks": f"Each step is read by {' and '.join(self._tools)}; remarks stand below its result."
            if self._tools
            else "",
            "files": "\n".join(self._files()) if self._tells_files else "",
            "variables": "\n".join(self._variables()),
            "once": "yes" if self._once else "",
        }

    def _files(self) -> Iterator[str]:
        """The files of the work folder, each in a line, with the first line of a text."""
        with suppress(SandboxUnavailable):
            for entry in [one for one in self.sandbox.files.list(recursive=True) if one.kind == "file"][:FILES]:
                first = b""
                with suppress(NotFound):
                    if entry.size <= FIRST_LINE_OF:
                        first = self.sandbox.read_file(entry.name).partition(b"\n")[0]
                shown = first.decode("utf-8", "replace") if b"\0" not in first else ""
                yield entry.name + (f": {shown.strip()[:FIRST_LINE]}" if shown.isprintable() and shown.strip() else "")

    def _variables(self) -> Iterator[str]:
        """The variables, each in a line with type and shape: `x: DataFrame 120×4`."""
        with suppress(SandboxUnavailable):
            held = self.sandbox.variables()
            shapes = shapes_of(self.sandbox, list(held))
            for name, variable in held.items():
                yield f"{name}: {variable.type} {shapes.get(name, '')}".rstrip()

    def respond(self, action: Action, *, timeout: float | None = None) -> CodeObservation:
        """Run one step. The checkers read it at the same time; a slow one is waited for up to its own bound.

        Where the action has drafts, each is run from the same state, and the one whose result most give is the step.

        Raises:
            Cancelled: the episode was cancelled before the step began. One that runs is interrupted, and observed.
        """
        drafts = action.drafts if isinstance(action, Code) else ()
        if drafts:
            code, seen = self._chosen([action.content, *drafts], timeout)
        else:
            code, seen = action.content, self._run(action.content, timeout)
        # Of drafts that all failed nothing is left.
        if seen.drafts and not seen.ok:
            return seen
        if self._ran:
            self._ran(Ran(code, seen.execution))
        # An exception keeps what the step bound before it; a crash or a timeout undoes the step.
        if self._checker and seen.execution.outcome in (Outcome.OK, Outcome.ERROR):
            failed_at = seen.execution.error.line_number if seen.execution.error else None
            self._checker.remember(code, failed_at=failed_at)
        return seen

    def _chosen(self, drafts: Sequence[str], timeout: float | None) -> tuple[str, CodeObservation]:
        """The draft that is kept with what it gave; the sandbox is then in the state after it.

        None runs beside one that wrote a file, which no checkpoint takes back, or whose state cannot be kept.
        """
        deadline = Deadline(DRAFT_SECONDS * len(drafts) if timeout is None else timeout)
        begin, after = self._kept(), None
        ran: dict[str, tuple[CodeObservation, int | None]] = {}
        for code in dict.fromkeys(drafts):
            if ran and (not deadline.left or current_scope().cancelled or not (after and self._back(begin))):
                break
            seen = self._run(code, max(min(DRAFT_SECONDS, deadline.left), LEAST_SECONDS))
            after = None if seen.execution.files or begin is None else self._kept()
            if after is None and not ran:
                return code, seen
            ran[code] = seen, after
        choice = choose([ran[code][0].execution if code in ran else None for code in drafts])
        code = drafts[choice.place]
        seen, after = ran[code]
        if not seen.ok:
            # The next script begins where this one did, so that the steps that ended well replay without it.
            self._back(begin)
        elif code != next(reversed(ran)):
            self._back(after)
        told = [Draft.of(code, ran[code][0].execution) for code in drafts if code in ran]
        agreement = f"{choice.agreeing} of {len(drafts)}" if choice.agreeing else ""
        return code, replace(seen, drafts=told, chosen=code, agreement=agreement)

    def _kept(self) -> int | None:
        """A checkpoint of the state; None where the sandbox has no room for one."""
        with suppress(SandboxUnavailable):
            return self.sandbox.checkpoint()
        return None

    def _back(self, checkpoint: int | None) -> bool:
        """True if the state is that of a checkpoint again; a small sandbox drops the older ones."""
        with suppress(NotFound):
            if checkpoint is not None:
                self.sandbox.restore(checkpoint)
                return True
        return False

    def _run(self, code: str, timeout: float | None) -> CodeObservation:
        reports: list[CheckReport] = []
        checker, read = self._checker, threading.Event()

        def reading() -> None:
            try:
                reports.extend(checker.check(code) if checker else ())
            finally:
                read.set()

        scope = current_scope()
        calling = self._calls.collected(code) if self._calls else nullcontext(())
        with calling as calls, scope.waking(self.sandbox.interrupt):
            # A run that is interrupted does not wait for its checkers.
            threading.Thread(target=reading, name="codenav-checks", daemon=True).start()
            execution = self.sandbox.run(code, timeout=min(self.timeout, timeout or self.timeout))
        scope.wait(read)
        checks, made = tuple(reports), tuple(calls)
        hint = ""
        if self._hint and execution.error:
            with suppress(Unavailable):
                hint = self._hint(execution.error, self._names_of)
        elif self._hint and execution.ok:
            hint = self._content_of(code, execution.stdout)
        text = "\n\n".join(filter(None, (executed(execution, checks, made), hint)))
        return CodeObservation(text, execution=execution, checks=checks, calls=made, hint=hint)

    def _content_of(self, code: str, printed: str) -> str:
        """The attributes of an object that a step printed without its content; empty for any other output."""
        tree = parsed(code) if OBJECT.search(printed.rstrip()) else None
        match tree.body[-1:] if tree else []:
            case [ast.Expr(value=ast.Call(func=ast.Name("print"), args=[ast.Name() | ast.Attribute() as value]))]:
                names = self._names_of(ast.unparse(value))
                return f"Hint: print what it holds; it has: {', '.join(names[:ATTRIBUTES])}" if names else ""
        return ""

    def _names_of(self, value: str) -> list[str]:
        """The public names of a value in the sandbox."""
        asked = self.sandbox.run(f"print(*(name for name in dir({value}) if not name.startswith('_')))", timeout=5.0)
        return asked.stdout.split() if asked.ok else []
