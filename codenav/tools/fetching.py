"""Documents by HTTP: bounds on bytes and time, and no way from a document into the private network of its reader."""

from __future__ import annotations

import time
from contextlib import closing
from urllib.parse import urljoin

from codenav.core.errors import CodeNavError, NotFound, Unavailable, UsageError
from codenav.tools.addresses import PRIVATE_HINT, is_same, origin, shown
from codenav.tools.documents import LARGEST

SECONDS = 30.0
"""Time for a document, redirects included."""
MOST_REDIRECTS = 5
CERTIFICATE_HINT = "SSL_CERT_FILE=/path/to/the/authority.pem, if it is your own authority"
FILE_HINT = "download the document and name the file"
ACCEPT = "application/json, application/yaml;q=0.9, text/yaml;q=0.9, */*;q=0.5"


def fetch(url: str, *, trusted: tuple[str, str, int] | None = None, allow_private: bool = False) -> tuple[bytes, str]:
    """The document at an address, and its address after redirects.

    trusted: origin that may be private; that of the address which a person typed.

    Raises:
        NotFound: the server does not know it.
        Unavailable: the server cannot be reached, refuses, or is at its limits, or the document is too large.
        UsageError: the address is none, or a private one that nobody allowed.
    """
    from codenav.tools.broker.flights import Failed, Flight, Refused
    from codenav.tools.broker.request import Request
    from codenav.tools.broker.transport import Http

    first, flight = url, Flight(time.monotonic() + SECONDS)
    with closing(Http(answer_bytes=LARGEST)) as http:
        for _ in range(MOST_REDIRECTS + 1):
            public = not (allow_private or is_same(origin(url), trusted))
            try:
                request = Request("GET", url, [("Accept", ACCEPT)], None)
                answer = http.send(request, flight, idempotent=True, servers=None, public=public)
            except Refused as refusal:
                leads = f"{shown(first)} leads there: " if url != first else ""
                raise UsageError(f"{leads}{str(refusal).partition(';')[0]}", hint=PRIVATE_HINT) from None
            except Failed as failure:
                hint = CERTIFICATE_HINT if "certificate" in str(failure) else "check the address"
                raise Unavailable(f"{shown(url)} was not read: {failure}", hint=hint) from None
            if answer.status == 200:
                return answer.body, url
            if not (300 <= answer.status < 400 and "location" in answer.headers):
                raise _refusal(url, answer.status, answer.headers.get("retry-after", ""))
            url = urljoin(url, answer.headers["location"])
            if origin(first)[0] == "https" and origin(url)[0] != "https":
                raise Unavailable(f"{shown(first)} leads to {shown(url)}, which is not encrypted", hint=FILE_HINT)
    raise Unavailable(f"{shown(first)} leads through more than {MOST_REDIRECTS} redirects", hint=FILE_HINT)


def _refusal(url: str, status: int, retry_after: str = "") -> CodeNavError:
    """The error for a status that is not 200."""
    if status in (404, 410):
        return NotFound(f"{shown(url)} does not exist: the server says {status}", hint="check the address")
    sign_in = "is for those who sign in"
    why = {401: sign_in, 403: "is denied", 407: sign_in, 429: "is at its limit of requests"}
    after = f" for {retry_after} seconds" if retry_after.isdigit() else ""
    hint = f"wait{after} and try again" if status == 429 or status >= 500 else FILE_HINT
    return Unavailable(f"{shown(url)} {why.get(status, 'was not read')}: the server says {status}", hint=hint)
