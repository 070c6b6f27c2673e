"""Secrets of calls: which ones an operation needs, where their values are, and tokens of OAuth2."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote_plus, urljoin

from codenav.core.options import ToolOptions
from codenav.tools.addresses import is_own
from codenav.tools.broker.flights import Failed, Flight, Refused
from codenav.tools.broker.request import FORM, Credential, Request
from codenav.tools.broker.transport import Http
from codenav.tools.model import Operation, Scheme, ToolSpec
from codenav.tools.secret_names import check_names, written

TOKEN_SECONDS = 300.0
"""Time for which a token is used whose server does not say how long it is good."""
_SPARE_SECONDS = 30.0


class Secrets:
    """The values of `--secret NAME=VARIABLE`. NAME is that of a scheme, or `SPEC.SCHEME` where two specs share it.

    A header or a parameter of the query that is written out (`Authorization: Bearer {}`) is sent with each call.
    """

    def __init__(self, options: ToolOptions, specs: Sequence[ToolSpec] | None = None) -> None:
        """Read the values from the environment of this process.

        `specs` are the sources that they are for; without them names are not checked.

        Raises:
            UsageError: one is not of the form NAME=VARIABLE, or no source takes it.
            Unavailable: a variable is not set.
        """
        self.variables, self.values = options.variables(), options.values()
        self._options = options
        if specs is not None:
            check_names(self.variables, specs)
        self._written = [form for form in map(written, self.variables) if form is not None]
        self._tokens: dict[tuple[str, str, tuple[str, ...]], tuple[str, float]] = {}
        self._lock = threading.Lock()

    def masked(self) -> dict[str, str]:
        """Return all values that nothing may show: the secrets, their parts, and tokens made with them."""
        found: dict[str, str] = {}
        for name, value in self.values.items():
            shown = name.partition(":")[0]
            found[name if shown in found else shown] = value
            user, colon, password = value.partition(":")
            if colon and user and password:
                found[f"{name}.password"] = password
        with self._lock:
            found.update({f"{spec}.{name}": token for (spec, name, _), (token, _) in self._tokens.items()})
        return found

    def value(self, spec: str, scheme: str) -> str | None:
        """Return the value for a scheme of a spec."""
        return self.values.get(f"{spec}.{scheme}", self.values.get(scheme))

    def variable(self, spec: str, scheme: str) -> str:
        """Return the name of the variable that holds it; empty if there is none."""
        return self.variables.get(f"{spec}.{scheme}", self.variables.get(scheme, ""))

    def chosen(self, spec: ToolSpec, operation: Operation) -> Sequence[Scheme]:
        """Return the schemes with which an operation is called: those of the first alternative that is complete.

        An alternative that needs none counts only where no other one is complete.

        Raises:
            Refused: none is complete; the message names what is missing, and the option.
        """
        own = [scheme for source, scheme, _ in self._written if source in ("", spec.name)]
        if not operation.security:
            return own
        known = {scheme.name: scheme for scheme in spec.schemes}
        complete = [
            names
            for names in operation.security
            if all(name in known and self.value(spec.name, name) for name in names)
        ]
        if complete:
            return [*(known[name] for name in next((names for names in complete if names), ())), *own]
        if own:
            return own
        usable = [names for names in operation.security if all(name in known for name in names)]
        tool = f"{spec.name}.{operation.name}"
        if not usable:
            lacking = " or ".join(" with ".join(names) for names in operation.security)
            raise Refused(f"{tool} needs {lacking}, a way to log in that codenav does not have")
        wanted = " or ".join(" with ".join(names) for names in usable)
        options = " ".join(f"--secret {name}=VARIABLE" for name in usable[0] if not self.value(spec.name, name))
        raise Refused(
            f"{tool} needs the secret {wanted}, which was not given: {options} gives it, from a variable of the host"
        )

    def must_be_public(self, spec: ToolSpec, url: str) -> bool:
        """True for a server that a specification names and that may not be in a private network."""
        free = self._options.server or self._options.allow_private or spec.allow_private
        return not (free or is_own(url, spec.address))

    def credentials(
        self, spec: ToolSpec, operation: Operation, schemes: Sequence[Scheme], server: str, http: Http, flight: Flight
    ) -> list[Credential]:
        """Return schemes with their values. Tokens of OAuth2 are fetched.

        Raises:
            Refused: a value is not of the form that its scheme needs.
            Failed: a token could not be had.
        """
        found = []
        for scheme in schemes:
            value = self.value(spec.name, scheme.name) or ""
            if "\r" in value or "\n" in value:
                raise Refused(f"the secret {scheme.name} has several lines, and cannot be sent")
            if scheme.type == "basic" and ":" not in value:
                raise Refused(f"the secret {scheme.name} is not of the form USER:PASSWORD")
            if scheme.type == "oauth2" and scheme.token_url:
                scopes = tuple(operation.scopes.get(scheme.name, ()))
                url = urljoin(f"{server}/", scheme.token_url)
                value = self._token(spec, scheme, scopes, url, http, flight)
            value += next((after for _, one, after in self._written if one == scheme), "")
            place = operation.key_places.get(scheme.name, scheme.place)
            found.append(Credential(replace(scheme, place=place), value))
        return found

    def forget_tokens(self, spec: str) -> None:
        """Forget the tokens of a spec, which its server has refused."""
        with self._lock:
            self._tokens = {key: token for key, token in self._tokens.items() if key[0] != spec}

    def for_process(self, spec: ToolSpec, known: Sequence[str]) -> dict[str, str]:
        """Return the variables for the process of an MCP server: the secrets named `SPEC.NAME`, and those of no scheme.

        `known`: the names of all schemes of all specs.
        """
        found = {}
        for name, value in self.values.items():
            prefix, dot, rest = name.rpartition(".")
            if (dot and prefix == spec.name) or (not dot and name not in known):
                found[rest] = value
        return found

    def _token(
        self, spec: ToolSpec, scheme: Scheme, scopes: tuple[str, ...], url: str, http: Http, flight: Flight
    ) -> str:
        with self._lock:
            token, until = self._tokens.get((spec.name, scheme.name, scopes), ("", 0.0))
        if token and time.monotonic() < until:
            return token
        secret = self.value(spec.name, scheme.name) or ""
        client, colon, password = secret.partition(":")
        if not colon:
            raise Refused(f"the secret {scheme.name} is not of the form CLIENT_ID:CLIENT_SECRET")
        form = "grant_type=client_credentials" + (f"&scope={quote_plus(' '.join(scopes))}" if scopes else "")
        basic = base64.b64encode(f"{quote_plus(client)}:{quote_plus(password)}".encode()).decode("ascii")
        headers, public = [("Content-Type", FORM), ("Accept", "application/json")], self.must_be_public(spec, url)
        answer = http.send(
            Request("POST", url, [*headers, ("Authorization", f"Basic {basic}")], form.encode()),
            flight, idempotent=True, servers=[url], public=public,
        )  # fmt: skip
        if answer.status in (400, 401):
            # Some servers take the client's name and secret in the form alone.
            form += f"&client_id={quote_plus(client)}&client_secret={quote_plus(password)}"
            request = Request("POST", url, headers, form.encode())
            answer = http.send(request, flight, idempotent=True, servers=[url], public=public)
        try:
            told = json.loads(answer.body)
            token, seconds = str(told["access_token"]), float(told.get("expires_in") or TOKEN_SECONDS)
        except (ValueError, KeyError, TypeError, RecursionError):
            variable = self.variable(spec.name, scheme.name)
            raise Failed(
                f"no token for {scheme.name}: its server answered with status {answer.status}; check {variable}",
                status=answer.status,
            ) from None
        with self._lock:
            self._tokens[spec.name, scheme.name, scopes] = token, time.monotonic() + max(seconds - _SPARE_SECONDS, 1.0)
        return token
