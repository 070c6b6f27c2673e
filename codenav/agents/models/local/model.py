"""A local model for the agent: it starts its server, and starts it again where that dies in the middle of an answer."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from codenav.agents.models.abilities import Ability
from codenav.agents.models.chat import MAX_TOKENS, ChatModel
from codenav.agents.models.local import catalogue, memory, serving
from codenav.agents.models.local.catalogue import Entry
from codenav.agents.models.local.serving import LOADING_SECONDS, Served, Server
from codenav.agents.models.traits import Traits
from codenav.core.config import load_config
from codenav.core.errors import ContextOverflow, ModelFailed, ModelNotConfigured, ModelUnreachable, NotFound
from codenav.core.messages import Completion, Hear, Message
from codenav.core.usage import Usage

LOCAL, GGUF = "local", "gguf:"
"""The names of local models: `local` for the usual one, `local:NAME` of the catalogue, `gguf:FILE` of the user."""


def is_local(name: str) -> bool:
    """True for the names of models that codenav serves itself."""
    return name == LOCAL or name.startswith((f"{LOCAL}:", GGUF))


def usual_name() -> str:
    """The name of the model for those who name none: the only one that is installed, or the largest that fits.

    Raises:
        ModelNotConfigured: none is installed.
    """
    installed = sorted((entry for entry in catalogue.entries().values() if entry.installed), key=lambda one: one.bytes)
    if not installed:
        raise ModelNotConfigured("no model is configured, and none is installed")
    free = memory.free()
    fitting = [entry for entry in installed if free is None or entry.memory <= free]
    return f"{LOCAL}:{(fitting or installed[:1])[-1].name}"


def served_of(name: str) -> Served:
    """The model that a name of a local one stands for.

    Raises:
        ModelNotConfigured: the name is `local`, and none is installed.
        NotFound: the catalogue or the disk does not have it, or it is not installed.
        MissingExtra, UsageError: as `Served.of`.
    """
    if name.startswith(GGUF):
        path = Path(os.path.expanduser(name.removeprefix(GGUF)))
        return Served.of(path.name.removesuffix(".gguf"), path)
    entry = installed_entry(usual_name() if name in (LOCAL, f"{LOCAL}:") else name)
    return Served.of(entry.name, entry.path, needs=entry.memory)


def installed_entry(name: str) -> Entry:
    """The entry of the catalogue for `local:NAME` or NAME, which is installed.

    Raises:
        NotFound: there is none of that name, or it is not installed.
    """
    entry = catalogue.find(name.removeprefix(f"{LOCAL}:"))
    if not entry.installed:
        raise NotFound(f"{entry.name} is not installed", hint=f"codenav models get {entry.name}")
    return entry


class LocalModel:
    """A model that codenav serves on this machine. Usable from several threads.

    Its server starts with the object, so that it loads while other things are prepared; `complete` waits for it.
    """

    def __init__(
        self,
        name: str,
        *,
        notice: Callable[[str], None] | None = None,
        heard: Hear | None = None,
        max_tokens: int = MAX_TOKENS,
        keep_alive: float | None = None,
        **options: Any,
    ) -> None:
        """Check the file and the memory, and begin to load.

        Args:
            name: `local`, `local:NAME` or `gguf:FILE`.
            notice: called with a line where there is something to wait for, and for what `ChatModel` tells.
            heard: as for `ChatModel`.
            max_tokens: limit of one answer.
            keep_alive: seconds without use after which the server ends. None: the configured ones.
            options: others of `ChatModel`.

        Raises:
            MissingExtra, ModelNotConfigured, NotFound, UsageError: as `served_of`.
            Unavailable: too little memory is free.
            StorageFull: nothing can be written under CODENAV_HOME.
        """
        self._served = served_of(name)
        self._name = name if name.startswith(GGUF) else f"{LOCAL}:{self._served.name}"
        self._notice = notice or (lambda text: None)
        self._options = {"notice": self._notice, "heard": heard, "max_tokens": max_tokens, **options}
        self._keep_alive = float(keep_alive or load_config().model.keep_alive or 0)
        self._lock = threading.Lock()
        self._chat: ChatModel | None = None
        self._server: Server | None = None
        serving.start(self._served, self._keep_alive)

    @property
    def name(self) -> str:
        """The name of the model, with `local:` or `gguf:` before it."""
        return self._name

    @property
    def traits(self) -> Traits:
        """The traits of the model, from the header of its file."""
        return Traits(float(self._served.header.parameters), self._served.context, local=True, grammar=True)

    def complete(self, messages: Sequence[Message], *, timeout: float | None = None, **options: Any) -> Completion:
        """The next answer, as from `ChatModel.complete`; where the server dies it is started and asked again, once.

        Raises:
            ModelUnreachable: the server does not answer in time.
            ModelFailed: it cannot be loaded, or died twice.
            ContextOverflow, Interrupted, Cancelled: as `ChatModel.complete`.
        """
        began = time.monotonic()

        def left() -> float | None:
            return None if timeout is None else max(0.0, timeout - (time.monotonic() - began))

        lost, again = Usage(), False
        while True:
            chat, server = self._connected(left())
            server.use()
            try:
                answer = chat.complete(messages, timeout=left(), **options)
                return replace(answer, usage=lost + answer.usage)
            except (ModelUnreachable, ModelFailed) as error:
                if error.partial:
                    error.partial = replace(error.partial, usage=lost + error.partial.usage)
                if isinstance(error, ContextOverflow) or left() == 0.0 or server.lives():
                    raise
                ended, why = f"the server of {self._served.name} ended", serving.why_ended(self._served)
                if again:
                    died = ModelFailed(f"{ended} twice: {why}", hint="codenav doctor")
                    died.partial = error.partial
                    raise died from error
                lost, again = error.partial.usage if error.partial else lost, True
            finally:
                server.use()
            self._notice(f"{ended}: {why}; starting it again")

    def abilities(self) -> Iterator[Ability]:
        """The abilities of the model, as `ChatModel.abilities`."""
        chat, server = self._connected(None)
        for ability in chat.abilities(remember=False):
            server.use()
            yield ability

    def close(self) -> None:
        """Release connections; safe to call twice. The server stays for those who come after."""
        with self._lock:
            chat, self._chat = self._chat, None
        if chat is not None:
            chat.close()

    def __repr__(self) -> str:
        return f"LocalModel({self._name!r})"

    def _connected(self, timeout: float | None) -> tuple[ChatModel, Server]:
        """A client of a server that answers."""
        with self._lock:
            server = self._server
            if server is None or not server.lives() or self._chat is None:
                server = serving.ready(
                    self._served,
                    self._keep_alive,
                    tell=self._notice,
                    timeout=LOADING_SECONDS if timeout is None else timeout,
                )
                if self._chat is not None:
                    self._chat.close()
                self._server = server
                # One try: a server that is gone is started again instead of asked again.
                self._chat = ChatModel(
                    self._served.name, base_url=server.url, api_key=server.key, tries=1, **self._options
                )
            return self._chat, server
