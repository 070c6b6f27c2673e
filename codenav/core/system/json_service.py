"""Requests of JSON to a service: an answer, or one clear line within a time limit, whatever the service does."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import math
import queue
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from codenav.core.cancelling import current_scope
from codenav.core.errors import Cancelled, Unavailable, UsageError
from codenav.core.system.connection_faults import reason_of
from codenav.core.system.repeats import BUSY, asked_seconds, pause_after
from codenav.core.system.terminal_text import flattened, neutral, shown_url

LARGEST = 64 * 1024 * 1024
"""The most bytes of an answer: 32 vectors of 4,096 numbers are 3 MB."""

TRIES = 3
"""Requests for one answer where the service is busy or breaks off."""

REST = 60.0
"""Seconds in which a service that gave no answer in time is not asked again: each search would wait as long."""

_PIECE = 64 * 1024
_SHOWN = 200


class Refused(Exception):
    """An answer with a status of 400 and more that another request may avoid."""

    def __init__(self, status: int, told: str) -> None:
        """`told` is what the service said, in one line."""
        super().__init__(status, told)
        self.status, self.told = status, told

    @property
    def too_many(self) -> bool:
        """True if the service says that fewer texts of one request might do."""
        return self.status in (400, 413, 422) and re.search(r"batch|too many", self.told.lower()) is not None


class JsonService:
    """A service at an address. Usable from several threads; nothing stays open."""

    def __init__(self, url: str, *, key: str = "", seconds: float = 30.0, what: str = "the service") -> None:
        """Check the address; nothing is sent yet.

        Args:
            url: with scheme and host. A user name and password in it are sent, and never shown.
            key: sent as `Authorization: Bearer`; "" sends none. No message shows it.
            seconds: time limit of one answer, with all tries.
            what: the service in words, the subject of every error.

        Raises:
            UsageError: it is no HTTP address, or the key fits into no header.
        """
        if not re.fullmatch(r"https?://[^\s/?#]+[^\s?#]*", url):
            raise UsageError(f"{what} has no address: {url!r}", hint="such as http://localhost:8080/v1")
        if not key.isascii() or any(map(str.isspace, key)):
            raise UsageError(f"the key of {what} holds white space or special characters", hint="look at the variable")
        self.url, self.seconds, self._what, self._key = url.rstrip("/"), seconds, what, key
        parts = urlsplit(self.url)
        login, _, host = parts.netloc.rpartition("@")
        self._address = urlunsplit(parts._replace(netloc=host))
        self._authorization = f"Bearer {key}" if key else ""
        if login and not key:
            self._authorization = f"Basic {base64.b64encode(unquote(login).encode()).decode()}"
        self._opener = urllib.request.build_opener(_NoRedirect())
        self._rests_until = 0.0

    @property
    def shown(self) -> str:
        """The service with its address, for messages."""
        return f"{self._what} at {shown_url(self.url)}"

    def post(self, body: Mapping[str, Any], *, path: str = "", deadline: float = math.inf) -> Any:
        """Send a request and return the decoded answer.

        `path` goes behind the address. `deadline`, by `time.monotonic`, may come before the time limit of one answer.

        Raises:
            Refused: the status is 400, 404, 405, 413, 415 or 422: the request may have another form.
            Unavailable: anything else: down, slow, HTML, not JSON, no permission.
            Cancelled: the work was cancelled meanwhile.
        """
        return self._answer(path, json.dumps(body).encode("utf-8", "replace"), deadline)

    def get(self, path: str) -> Any:
        """Ask for a document and return it decoded; raises as `post`."""
        return self._answer(path, None, math.inf)

    def fault(self, told: str, *, hint: str | None = None) -> Unavailable:
        """Return the error for an answer that is JSON and makes no sense."""
        return Unavailable(f"{self.shown} {self._masked(told)}", hint=hint or "look at what runs there")

    def _answer(self, path: str, data: bytes | None, deadline: float) -> Any:
        began = time.monotonic()
        if began < self._rests_until:
            raise self._down(TimeoutError())
        deadline = min(deadline, began + self.seconds)
        for tried in range(1, TRIES + 1):
            status, headers, body = self._exchanged(path, data, deadline)
            if status < 300:
                return self._decoded(body)
            wait = pause_after(tried, asked_seconds(headers.get("Retry-After") or ""))
            if status in BUSY and tried < TRIES and time.monotonic() + wait < deadline:
                current_scope().sleep(wait)
                continue
            told = self._masked(_words(body))
            if status in (400, 404, 405, 413, 415, 422):
                raise Refused(status, told)
            if status in (401, 403):
                raise self.fault(f"refuses with {status}: {told or 'no permission'}", hint="look at its key")
            if 300 <= status < 400:
                raise self.fault(f"sends to another address ({status})", hint="name the address that it sends to")
            raise self.fault(f"answers with {status}{': ' if told else ''}{told}")
        raise AssertionError("unreachable")

    def _exchanged(self, path: str, data: bytes | None, deadline: float) -> tuple[int, Mapping[str, str], bytes]:
        """Send a request until it is answered at all; a connection that breaks off is tried again."""
        for tried in range(1, TRIES + 1):
            got = self._once(path, data, deadline)
            if not isinstance(got, BaseException):
                return got
            broken = isinstance(got, (http.client.HTTPException, ConnectionResetError, BrokenPipeError))
            wait = pause_after(tried)
            if broken and tried < TRIES and time.monotonic() + wait < deadline:
                current_scope().sleep(wait)
                continue
            if isinstance(got, TimeoutError):
                self._rests_until = time.monotonic() + REST
            raise self._down(got) from got
        raise AssertionError("unreachable")

    def _once(
        self, path: str, data: bytes | None, deadline: float
    ) -> tuple[int, Mapping[str, str], bytes] | BaseException:
        """Send a request in a thread: name resolution, or a byte now and then, would outlast any timeout of sockets."""
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        left = max(0.01, deadline - time.monotonic())
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "codenav"}
        if self._authorization:
            headers["Authorization"] = self._authorization
        request = urllib.request.Request(self._address + path, data=data, headers=headers)

        def work() -> None:
            try:
                with self._opener.open(request, timeout=left) as response:
                    answers.put((response.status, response.headers, _body(response, deadline)))
            except urllib.error.HTTPError as error:
                with contextlib.closing(error):
                    body = b""
                    with contextlib.suppress(OSError, http.client.HTTPException):
                        body = error.read(_PIECE)
                    answers.put((error.code, error.headers, body))
            except BaseException as error:
                answers.put(error)

        with current_scope().waking(lambda: answers.put(Cancelled())):
            threading.Thread(target=work, name="codenav-service", daemon=True).start()
            try:
                got = answers.get(timeout=left)
            except queue.Empty:
                got = TimeoutError()
        if isinstance(got, Cancelled):
            raise got
        while isinstance(got, urllib.error.URLError) and isinstance(got.reason, BaseException):
            got = got.reason
        return got  # type: ignore[no-any-return]

    def _down(self, error: BaseException) -> Unavailable:
        if isinstance(error, TimeoutError):
            return self.fault(f"gave no answer within {self.seconds:.3g} s", hint="see whether it runs, or allow more")
        told = reason_of(error) or (str(error) or type(error).__name__).lower()
        if isinstance(error, http.client.HTTPException | ConnectionResetError | BrokenPipeError):
            told = "the connection broke off"
        return Unavailable(f"cannot reach {self.shown}: {self._masked(told)}", hint="start it, or name its address")

    def _decoded(self, body: bytes) -> Any:
        if len(body) > LARGEST:
            raise self.fault(f"gave an answer of over {LARGEST // 2**20} MB")
        text = body.decode("utf-8", "replace").lstrip("\ufeff \r\n\t")
        if text.startswith("<"):
            raise self.fault("answers with a web page", hint="name the address of its API, such as http://host:8080/v1")
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise self.fault("gave an answer that is not JSON" if text else "gave an empty answer") from None

    def _masked(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """No redirects: the request would go elsewhere with its key, and without its body."""

    def redirect_request(self, *arguments: Any) -> None:
        return None


def _body(response: http.client.HTTPResponse, deadline: float) -> bytes:
    """The body of an answer, one byte more than `LARGEST` at most. Raises TimeoutError where the deadline cuts it."""
    announced, found = response.length, bytearray()
    while len(found) <= LARGEST and (piece := response.read1(_PIECE)):
        found += piece
        if time.monotonic() >= deadline:
            raise TimeoutError
    if announced is not None and len(found) < min(announced, LARGEST):
        # `read1` tells nothing where the connection ends early.
        raise http.client.IncompleteRead(bytes(found))
    return bytes(found)


def _words(body: bytes) -> str:
    """The service's own words about an error, in one line; "" for a web page."""
    text = body.decode("utf-8", "replace").strip()
    if text.startswith("<"):
        return ""
    with contextlib.suppress(ValueError, RecursionError):
        told = json.loads(text)
        for key in ("error", "message", "detail"):
            while isinstance(told, dict) and told.get(key):
                told = told[key]
        text = told if isinstance(told, str) else json.dumps(told)
    return neutral(flattened(text, _SHOWN))
