"""The tools of a session: its broker beside the caller's own handler, and the calls of the step that runs."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codenav.core.approval import Approver
from codenav.core.errors import MissingExtra
from codenav.core.execution import ToolCall
from codenav.core.options import ToolOptions
from codenav.core.protocols import CallHandler, Model, StepHandler
from codenav.core.secrets.masking import data_masker, masker
from codenav.tools.model import Effect
from codenav.tools.reading import EXTRA
from codenav.tools.state_files import read_spec_of, read_summary

if TYPE_CHECKING:
    from codenav.tools.broker.broker import Broker

TOOLS = "tools/"
"""Beginning of the names of calls to tools: `tools/SPEC/NAME`."""
HELD_BACK = (
    "an argument holds the value of a variable that was given with --env, which no tool gets; "
    "what a tool is to know is given with --secret"
)
SETTLE_SECONDS = 2.0
"""Time for a call to end after its step, so that the step can list it. Ending one takes milliseconds."""
_NAME = re.compile(r"tools/(\w+)/(\w+)")

_CALLING = (
    "A function of `tools` sends a request to a service and returns its answer as a value. It takes keyword arguments; "
    "a step may make 200 such calls."
)
_ALLOWED = {
    "read": "In this run only calls that read are allowed. Others are refused: if the request needs one, end with done "
    "and FAILED, and name the function and the option that its refusal names.",
    "write": "Calls that read, create or change something are allowed; those that delete are refused.",
    "all": "All calls are allowed, those that delete included: make only those that the request asks for.",
    "ask": "Calls that only read are allowed. For each other one the person is asked, and may refuse.",
    "dry-run": "Calls that only read are made. All others are checked and answered with 'not sent (dry run)': make "
    "those that the request needs, and do not count on what they return.",
}
_ONCE = (
    "What a call did stays done, also where its step fails later. The result of a step lists its calls with their "
    "answers: never make one again that went through. A code summary makes the calls of your steps with the same "
    "arguments; its replay gets their answers and sends nothing that changes anything."
)

Hear = Callable[[ToolCall], None]
Doubt = Callable[[str, str, Any], str]


class ToolCalls:
    """A `StepHandler` that hands calls to tools to a broker, and all others to the caller's own handler."""

    def __init__(
        self,
        folders: Sequence[Path],
        open_broker: Callable[[Hear], Broker],
        handler: CallHandler | None = None,
        *,
        cancel_question: Callable[[], None] = lambda: None,
        mask: Callable[[Any], Any] = lambda data: data,
        hide: Callable[[Any], Any] = lambda data: data,
    ) -> None:
        """Open the broker.

        `folders` are the states of the tool sources (`Source.tools`). `cancel_question` ends a question to a person.
        `mask` masks secrets in the data of a call; `hide` does so with those that the code can read, in arguments.
        """
        self._folders, self._handler, self._cancel_question = folders, handler, cancel_question
        self._mask, self._hide = mask, hide
        self._request = ""
        self._hear: Hear = _nobody
        self._here = threading.local()
        self._changed = threading.Condition()
        self._in_flight = 0
        self._fault: BaseException | None = None
        self._closing = ExitStack()
        self.secrets: Mapping[str, str] = {}
        """Secrets of the calls, by name, to be masked in all output."""
        self._broker = open_broker(self._called)
        self._closing.callback(self._broker.close)

    @classmethod
    def of(
        cls,
        folders: Sequence[Path],
        options: ToolOptions,
        *,
        handler: CallHandler | None = None,
        confirm: Approver | None = None,
        secrets: Mapping[str, str] | None = None,
        open_model: Callable[[str], Model] | None = None,
    ) -> ToolCalls:
        """Open the broker of these tools.

        `confirm` asks a person about calls that are to be approved; None refuses them. Its method `cancel`, if it has
        one, is called when the step of the question is over. `secrets` (name to value) are masked in what is told of a
        call, as are those of the options. `open_model` opens the model that shortens answers.

        Raises:
            UsageError, NotFound, Unavailable, MissingExtra: a secret has no value, or the tools cannot be used here.
        """
        try:
            from codenav.tools.broker.broker import Broker
            from codenav.tools.broker.security import Secrets
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] in EXTRA:
                raise MissingExtra("the broker of tools", "tools") from error
            raise
        from codenav.agents.models import open_model as usual

        # Before a model is opened: what is missing is told first.
        own = Secrets(options).masked()
        given = options.compress
        opened = (open_model or usual)(given) if isinstance(given, str) and given else None
        model = opened if isinstance(given, str) else given
        made = cls(
            folders,
            lambda hear: Broker(folders, options, confirm=confirm, called=hear, model=model),
            handler,
            cancel_question=getattr(confirm, "cancel", lambda: None),
            mask=masker({**(secrets or {}), **own}),
            hide=data_masker(secrets or {}),
        )
        made.secrets = own
        if opened is not None:
            made._closing.callback(opened.close)
        return made

    def __call__(self, name: str, arguments: dict[str, Any], /) -> Any:
        if not name.startswith(TOOLS):
            if self._handler is None:
                raise LookupError(f"the host answers no call of the name {name}")
            return self._handler(name, arguments)
        if self._fault is not None:
            return {"refused": "the record of this run cannot be written, so no more calls are made"}
        if self._hide(arguments) != arguments:
            # What a tool answered, or a document says, may have asked for it.
            return {"refused": HELD_BACK}
        self._here.hear = self._hear
        with self._changed:
            self._in_flight += 1
        try:
            return self._broker(name, arguments)
        finally:
            with self._changed:
                self._in_flight -= 1
                self._changed.notify_all()

    def begin(self, seconds: float) -> None:
        """Begin a step. See `StepHandler`."""
        self._broker.begin(self._request, seconds)
        if isinstance(self._handler, StepHandler):
            self._handler.begin(seconds)

    def end(self) -> None:
        """End a step, and with it a call that still runs. See `StepHandler`."""
        if self._in_flight:
            self._cancel_question()
            self._broker.cancel()
        if isinstance(self._handler, StepHandler):
            self._handler.end()

    @contextmanager
    def heard(self, hear: Hear, *, request: str = "", doubt: Doubt | None = None) -> Iterator[None]:
        """Tell `hear` of each call that ends while steps run, in the thread of the call.

        At the end a call in flight is waited for, within `SETTLE_SECONDS`. `request` is what the steps are for.
        `doubt` is that of `Broker`.

        Raises:
            BaseException: raised by `hear`. No more calls were made after it.
        """
        before = self._request, self._hear
        self._request, self._hear, self._broker.doubt = request, hear, doubt
        try:
            yield
        finally:
            self._settle()
            self._request, self._hear, self._broker.doubt = *before, None
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def effect_of(self, name: str) -> Effect | None:
        """Return what a call of this name may change. None if the sources have no such operation."""
        found = _NAME.fullmatch(name)
        for folder in self._folders if found else ():
            spec, operation = found.groups() if found else ("", "")
            summary = read_summary(folder)
            if summary.name == spec and operation in summary.operations:
                return read_spec_of(folder, names=[operation]).operations[0].effect
        return None

    def close(self) -> None:
        """End the broker's connections and processes. Safe to call twice."""
        self._closing.close()

    def _called(self, call: ToolCall) -> None:
        """Pass a call on. What goes wrong with it is raised where the step ends: code must not get to see it."""
        try:
            getattr(self._here, "hear", self._hear)(ToolCall.from_dict(self._mask(call.to_dict())))
        except BaseException as error:
            self._fault = error

    def _settle(self) -> None:
        until = time.monotonic() + SETTLE_SECONDS
        with self._changed:
            self._changed.wait_for(lambda: not self._in_flight, max(until - time.monotonic(), 0.0))


class EpisodeCalls:
    """The calls to tools of one episode. Its `hear` gets each of them when it ends, and who made it."""

    def __init__(self, tools: ToolCalls, request: str, *, options: ToolOptions | None = None) -> None:
        options = options or ToolOptions()
        allow = "ask" if options.approve == "writes" and options.allow != "dry-run" else options.allow
        self._tools, self._request = tools, request
        self.told = f"{_CALLING} {_ALLOWED[allow]} {_ONCE}"
        """Sentences for a model. See `CallsOfStep`."""
        self.only_reads = allow in ("read", "dry-run")
        self.hear: Callable[[ToolCall, str], None] = lambda call, by: None
        """`by` is `step` or `replay`."""
        self.doubt: Callable[[str, str, str, Any], str] = lambda code, tool, name, value: ""
        """As of `Broker`, for a call in code."""

    @contextmanager
    def collected(self, code: str = "") -> Iterator[list[ToolCall]]:
        """Yield a list that gets the calls of a step; it is complete at the end. See `ToolCalls.heard`."""
        made: list[ToolCall] = []

        def hear(call: ToolCall) -> None:
            made.append(call)
            self.hear(call, "step")

        with self._tools.heard(hear, request=self._request, doubt=partial(self.doubt, code)):
            yield made

    @contextmanager
    def replaying(self, refused: list[str]) -> Iterator[CallHandler]:
        """Yield a handler of calls that a replay makes and the session had not made.

        One that only reads is sent. All others are refused, and their tools added to `refused`.
        """

        def answer(name: str, arguments: dict[str, Any]) -> Any:
            effect = self._tools.effect_of(name)
            if effect is Effect.READ:
                return self._tools(name, arguments)
            tool = name.removeprefix(TOOLS).replace("/", ".")
            refused.append(tool)
            return {"refused": f"a replay sends no call to {tool} that the session had not made in just this way"}

        with self._tools.heard(lambda call: self.hear(call, "replay"), request=self._request):
            yield answer


def folders_of(sources: Sequence[Any]) -> list[Path]:
    """Return the states of the tool sources among sources, those of named indexes included."""
    found: list[Path] = []
    for source in sources:
        if getattr(source, "tools", None) is not None:
            found.append(source.tools)
        parts: Mapping[str, Any] = source.parts
        found += folders_of(list(parts.values()))
    return list(dict.fromkeys(found))


def packages_of(source: Any) -> dict[str, str]:
    """Return name and version of what is installed of a source: not of its tools."""
    parts: Mapping[str, Any] = source.parts
    tools = {name for one in (source, *parts.values()) if one.tools for name in one.versions}
    return {name: version for name, version in source.versions.items() if name not in tools}


def _nobody(call: ToolCall) -> None:
    return
