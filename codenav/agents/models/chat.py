"""A client of any server that speaks OpenAI's chat completions, with its own retry and quirk rules."""

from __future__ import annotations

import difflib
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from codenav.agents.models.abilities import Ability, Endpoint
from codenav.agents.models.answers import Answer, read_answer
from codenav.agents.models.faults import Fault, Kind, spelled
from codenav.agents.models.kept import Findings, findings, keep
from codenav.agents.models.ledger import Counts, Ledger
from codenav.agents.models.profile import profile_of, room
from codenav.agents.models.traits import Traits, read_traits
from codenav.agents.models.transport import Transport
from codenav.core.cancelling import current_scope
from codenav.core.errors import (
    CodeNavError,
    ContextOverflow,
    Interrupted,
    ModelFailed,
    ModelRefused,
    ModelUnreachable,
    UsageError,
)
from codenav.core.messages import Completion, Hear, Message, ModelReply, Sampling
from codenav.core.system.terminal_text import few, shown_url
from codenav.core.usage import estimate_tokens

OPENAI = "https://api.openai.com/v1"

MAX_TOKENS = 8192
"""The most tokens of one answer, reasoning included. A step of code has under 2,000; the rest is for reasoning."""

PATIENCE = 600.0
"""Seconds for one answer if the caller sets no limit: the default of the `openai` package (DEFAULT_TIMEOUT)."""

TRIES = 6
"""Requests before a fault that may pass counts as permanent: about 15 seconds with the back-off below."""

PATIENT_TRIES = 100
"""The same if the server told when to come back, or is loading the model. The time limit is usually reached first."""

FIRST_WAIT, LONGEST_WAIT = 0.5, 8.0
"""Seconds of the back-off, doubled each time: those of the `openai` package."""

LISTING = 5.0
"""Seconds for the list of models that goes into an error message."""


class ChatModel:
    """A model on a server. Usable from several threads.

    >>> model = ChatModel("qwen3", base_url="http://localhost:8000/v1")
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        notice: Callable[[str], None] | None = None,
        heard: Hear | None = None,
        max_tokens: int = MAX_TOKENS,
        tries: int = TRIES,
        sampling: Sampling | None = None,
        context: int | None = None,
        prices: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """Check the URL and the key; nothing is sent yet.

        Args:
            name: of the model, as the server calls it.
            base_url: by default OPENAI_BASE_URL, or else OpenAI's own server.
            api_key: by default OPENAI_API_KEY; a server of your own may not need one.
            notice: called with one line for each retry and each refused parameter.
            heard: called for each request, and with the text from a server that streams, as it arrives.
            max_tokens: limit of one answer.
            tries: requests before a fault that may pass counts as permanent.
            sampling: that of answers for which the caller names none; by default the likeliest tokens.
            context: tokens of the context, if known; by default it is learned.
            prices: dollars of a million tokens, read and written.

        Raises:
            UsageError: `base_url` is not an HTTP URL.
            ModelRefused: OpenAI's own server without a key, or a key that no HTTP header can carry.
        """
        url = _checked_url(base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI)
        key = (api_key or os.environ.get("OPENAI_API_KEY") or "").strip()
        if not key and urlsplit(url).hostname == urlsplit(OPENAI).hostname:
            raise ModelRefused(
                f"no key for {shown_url(url)}",
                hint="export OPENAI_API_KEY=…, or name a server of your own with --base-url",
            )
        if not (key.isascii() and key.isprintable()):
            raise ModelRefused("the key in OPENAI_API_KEY contains characters that are not allowed in an HTTP header")
        self._name = name
        self._notice = notice or (lambda text: None)
        self._heard = heard or (lambda heard: None)
        self._profile = profile_of(url, name, max_tokens)
        self._profile.context = min(filter(None, (self._profile.context, context)), default=None)
        self._sampling, self._prices = sampling or Sampling(), prices
        self._tries = tries
        self._traits: Traits | None = None
        # The client insists on a key; servers that need none ignore it.
        self._transport = Transport(url, key or "none", secret=bool(key))
        self._counts = Counts(self.base_url)

    @property
    def name(self) -> str:
        """The name of the model on the server."""
        return self._name

    @property
    def base_url(self) -> str:
        """The URL of the server, without user name and password."""
        return self._transport.url

    def complete(
        self,
        messages: Sequence[Message],
        *,
        timeout: float | None = None,
        sampling: Sampling | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Completion:
        """The next answer in a conversation, up to the end of its first action.

        With `tools`, in the form of the protocol, it is a call of one of them, written as the text of an action. A
        server or a model that cannot do so is asked for text from then on.

        `timeout` in seconds bounds all tries and waits; None means 600. If the model uses up its tokens on reasoning,
        it is asked again with twice the tokens, once; if that does not help, the answer is empty and `truncated`. If
        the server reports fewer tokens than the prompt can have, `doubt` says so.

        An error carries as `partial` the cost of the requests, and the text of the last one if it was cut off.

        Raises:
            ModelUnreachable: no connection, or no answer in time.
            ModelRefused: 401, 403, an exhausted quota, a model that the server does not have.
            ContextOverflow: the prompt is longer than the model's context.
            ModelFailed: anything else: a permanent error, or something that is not a chat server.
            Interrupted: Ctrl-C.
            Cancelled: the scope in which it was called was cancelled (`codenav.core.cancelling`).
        """
        deadline = time.monotonic() + (PATIENCE if timeout is None else timeout)
        ledger = Ledger(sum(estimate_tokens(message.content) for message in messages), self._prices)
        try:
            answer = self._answer(messages, deadline, ledger, sampling, tools)
            if answer.spent_on_reasoning and self._profile.double():
                self._tell(f"spent all its tokens on reasoning: allowed {self._profile.max_tokens:,} from now on")
                answer = self._answer(messages, deadline, ledger, sampling, tools)
            elif answer.cut_by_stop and self._profile.stop and self._profile.first("stop suspected"):
                answer = self._answer(messages, deadline, ledger, sampling, tools, stop=False)
                if answer.text.strip() and self._profile.drop_stop():
                    self._tell("answers nothing if stop is sent: left out, answers are cut off here")
        except CodeNavError as error:
            error.partial = ledger.partial()
            raise
        except KeyboardInterrupt:
            raise Interrupted(ledger.partial()) from None
        doubt = self._counts.doubt(messages, answer)
        if doubt and self._profile.first("doubt"):
            self._tell(f"{doubt}: it counts in its own way, or cuts long prompts (docs/models.md)")
        return Completion(answer.text, ledger.usage(), answer.reasoning, answer.truncated, doubt)

    @property
    def traits(self) -> Traits:
        """The entry of the model in the list of its server, empty if it has none. Asked once; never raises."""
        if self._traits is None:
            found = self._transport.listing(seconds=LISTING)
            entries = [] if isinstance(found, Fault) else found
            names = (self._name, f"{self._name}:latest")
            own = [entry for entry in entries if entry["id"] in names or len(entries) == 1]
            self._traits = read_traits(own[0] if own else {}, local=self._transport.local)
        return self._traits

    def listed(self, *, timeout: float = LISTING) -> list[str]:
        """The names of the models that the server lists; empty if it lists none.

        `timeout` in seconds.

        Raises:
            ModelUnreachable: no connection, or no answer in time.
        """
        names = self._transport.models(seconds=timeout)
        if not isinstance(names, Fault):
            return names
        if names.kind in (Kind.UNREACHABLE, Kind.SILENT):
            raise self._error(names, 1, None, 0.0)
        return []

    @property
    def findings(self) -> Findings | None:
        """The findings of an earlier `abilities`, if they are still of use."""
        return findings(self.base_url, self._name)

    def abilities(self, *, remember: bool = True) -> Iterator[Ability]:
        """The abilities of the model and its server, tried one after another by a dozen small requests.

        With `remember`, they are kept for later runs.
        """
        endpoint, missing = Endpoint(self._transport, self._name, self.traits), []
        for ability in endpoint.abilities():
            missing += [] if ability.ok else [ability.name]
            yield ability
        if remember and "answer" not in missing:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            keep(self.base_url, self._name, Findings(endpoint.profile.learned, missing, now))

    def close(self) -> None:
        """Release connections; safe to call twice."""
        self._transport.close()

    def __repr__(self) -> str:
        return f"ChatModel({self._name!r}, base_url={self.base_url!r})"

    def _answer(
        self,
        messages: Sequence[Message],
        deadline: float,
        ledger: Ledger,
        sampling: Sampling | None,
        tools: Sequence[Mapping[str, Any]],
        *,
        stop: bool = True,
    ) -> Answer:
        """Ask until there is an answer, a permanent fault, or no time left."""
        sampling = sampling or self._sampling
        if tools and not self._profile.tools and self._profile.first("tools"):
            self._tell("takes no tools, as codenav doctor --probe found: its actions are read as text")
        prompt = sum(estimate_tokens(message.content) for message in messages)
        tries = 0
        fitted, refitted = self._profile.room(prompt), False
        before: Fault | None = None
        choose = partial(self._profile.parameters, sampling, stop=stop, tools=tools)
        while True:
            chosen, wire = choose(most=fitted), self._profile.wire(messages)
            self._heard(ModelReply(begins=True))
            body = self._transport.chat(
                {"model": self._name, "messages": wire, **chosen},
                sent=chosen,
                seconds=max(0.0, deadline - time.monotonic()),
                into=ledger.begin(),
                hear=self._heard,
            )
            if not isinstance(body, Fault):
                answer = read_answer(body)
                ledger.answered(answer)
                if answer.untrue and self._profile.first("usage"):
                    self._tell(f"reports tokens that cannot be true ({answer.untrue}): they are estimated")
                if "tools" in chosen and not answer.truncated:
                    self._learned(self._profile.called(answer.called))
                self._profile.answered_with(prompt, answer.input_tokens)
                return answer
            fault = body
            ledger.failed(silent=fault.kind is Kind.SILENT)
            if fault.kind is Kind.PARAMETER:
                self._learned(self._profile.learn(fault))
                if (choose(most=fitted), self._profile.wire(messages)) != (chosen, wire):
                    continue
            if fault.kind is Kind.OVERFLOW:
                self._profile.overflowed(fault, prompt)
            if not refitted and (fitted := room(fault, prompt)):
                refitted = True
                continue
            tries += 1
            pause = self._pause(fault, tries, deadline - time.monotonic())
            if pause is None:
                raise self._error(fault, tries, before, deadline)
            self._tell(f"{fault.message}; trying again in {spelled(pause)}")
            before = fault
            current_scope().sleep(pause)

    def _learned(self, told: str) -> None:
        """Tell what was learned, if anything, and correct what `codenav doctor --probe` has kept."""
        if told:
            self._tell(told)
        if told and (old := self.findings):
            learned = {**self._profile.learned, "context": old.learned["context"]}
            keep(self.base_url, self._name, replace(old, learned=learned))

    def _pause(self, fault: Fault, tries: int, left: float) -> float | None:
        """Seconds until the next try; None if the fault is permanent, or if `left` seconds are too few."""
        passing = fault.kind in (Kind.TRANSIENT, Kind.LOADING)
        # If a server has never answered, the URL is more likely mistyped than the server down for a moment.
        if not passing and not (fault.kind is Kind.UNREACHABLE and self._profile.answered):
            return None
        patient = bool(fault.wait) or fault.kind is Kind.LOADING
        if tries >= (PATIENT_TRIES if patient else self._tries):
            return None
        # Jitter only adds to the server's waiting time: an early request would be refused again.
        pause = fault.wait or min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(tries - 1, 10))
        pause *= 1 + random.random() / 4
        return pause if pause < left else None

    def _error(self, fault: Fault, tries: int, before: Fault | None, deadline: float) -> CodeNavError:
        """The error that stops the run, with a message for people."""
        url, said = self.base_url, fault.message
        match fault.kind:
            case Kind.UNREACHABLE:
                return ModelUnreachable(
                    said, hint="codenav doctor, and check that the server is up and --base-url right"
                )
            case Kind.SILENT:
                return ModelUnreachable(f"{said}; before that: {before.message}" if before else said)
            case Kind.NO_API:
                said = said if url in said else f"{url} answers {said}"
                return ModelFailed(said, hint="is --base-url right? It usually ends in /v1")
            case Kind.REFUSED:
                hint = None if fault.status in (401, 403) else "check the plan and the balance of your account"
                return ModelRefused(f"{url} refuses: {said}", hint=hint)
            case Kind.NO_MODEL:
                return self._no_model(said, min(LISTING, deadline - time.monotonic()))
            case Kind.OVERFLOW:
                return ContextOverflow(
                    f"the conversation is too long for {self._name}: {said}",
                    limit=fault.limit,
                    prompt_tokens=fault.prompt_tokens,
                )
            case Kind.TRANSIENT | Kind.LOADING:
                wait = f" (it asks to wait {spelled(fault.wait)})" if fault.wait else ""
                return ModelFailed(
                    f"{url} gave no answer in {tries} {'try' if tries == 1 else 'tries'}: {said}{wait}",
                    hint="try again later",
                )
        return ModelFailed(f"{url} cannot answer: {said}", hint="codenav doctor")

    def _no_model(self, said: str, seconds: float) -> ModelRefused:
        names = self._transport.models(seconds=max(0.0, seconds))
        message = f"{self.base_url} has no model {self._name!r}: {said}"
        if isinstance(names, Fault) or not names:
            return ModelRefused(message, hint="pass --model with a name that the server knows")
        if self._name in names:
            return ModelRefused(message, hint="the server lists that name: ask those who run it why it is refused")
        return ModelRefused(message, hint=suggestion(self._name, names))

    def _tell(self, what: str) -> None:
        self._notice(f"{self._name}: {what}")


def suggestion(name: str, names: Sequence[str]) -> str:
    """A hint with the models of a server, the likeliest first."""
    near = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {near[0]!r}? It has: {few(names, 8)}" if near else f"it has: {few(names, 8)}"


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url.strip())
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fine = False
    if not fine:
        raise UsageError(
            f"the base URL {url.rpartition('@')[2]!r} is not an HTTP URL", hint="write it like http://localhost:8000/v1"
        )
    return url.strip()
