"""Documents by HTTP: bounds on bytes and time, and no way from a document into the private network of its reader."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import time
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from codenav.core.errors import CodeNavError, NotFound, Unavailable, UsageError
from codenav.core.system.connection_faults import causes
from codenav.tools.documents import LARGEST

SECONDS = 30.0
"""Time for a document, redirects included."""
MOST_REDIRECTS = 5
PRIVATE_HINT = "if it is meant to be read: --allow-private"
FILE_HINT = "download the document and name the file"
ACCEPT = "application/json, application/yaml;q=0.9, text/yaml;q=0.9, */*;q=0.5"


@dataclass(frozen=True, slots=True)
class Fetched:
    """A document as it came."""

    content: bytes
    url: str
    """Its address after redirects."""


def is_url(where: str) -> bool:
    """True for an address of HTTP."""
    return where[:8].lower().startswith(("http://", "https://"))


def origin(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of an address.

    Raises:
        UsageError: it is no address of HTTP.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{shown(url)} is no address: {error}") from error
    scheme = parts.scheme.lower()
    if scheme not in ("http", "https") or not host or any(letter.isspace() or letter < " " for letter in url):
        raise UsageError(f"{shown(url)} is no address of HTTP")
    return scheme, host.lower().rstrip("."), port or (443 if scheme == "https" else 80)


def shown(url: str) -> str:
    """An address for people: without a password in it."""
    text = "".join(letter if letter.isprintable() else "?" for letter in url)
    front, found, rest = text.partition("://")
    host, slash, path = rest.partition("/")
    return f"{front}{found}{host.rpartition('@')[2]}{slash}{path}"


def is_private(address: str) -> bool:
    """True for an IP address that is not on the public internet."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return True
    if isinstance(ip, ipaddress.IPv6Address):
        # An IPv4 address in one of the coats that it wears in IPv6 (the last two: NAT64 and 6to4).
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is None and ip in ipaddress.ip_network("64:ff9b::/96"):
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_private(str(inner))
    return not ip.is_global or ip.is_multicast


def fetch(url: str, *, trusted: tuple[str, str, int] | None = None, allow_private: bool = False) -> Fetched:
    """The document at an address.

    trusted: origin that may be private; that of the address which a person typed.

    Raises:
        NotFound: the server does not know it.
        Unavailable: the server cannot be reached, refuses, or is at its limits.
        UsageError: the address is none, is a private one that nobody allowed, or the document is too large.
    """
    until = time.monotonic() + SECONDS
    first = url
    for _ in range(MOST_REDIRECTS + 1):
        free = allow_private or is_same(origin(url), trusted)
        found = _once(url, None if free else public_address(url, first), until)
        if isinstance(found, Fetched):
            return found
        url = urljoin(url, found)
        if origin(first)[0] == "https" and origin(url)[0] != "https":
            raise Unavailable(f"{shown(first)} leads to {shown(url)}, which is not encrypted", hint=FILE_HINT)
    raise Unavailable(f"{shown(first)} leads through more than {MOST_REDIRECTS} redirects", hint=FILE_HINT)


def is_same(found: tuple[str, str, int], trusted: tuple[str, str, int] | None) -> bool:
    """True for the trusted origin, also for the encrypted one of a host whose plain one is trusted."""
    return trusted is not None and (found == trusted or (trusted[2], found) == (80, ("https", trusted[1], 443)))


def bare(url: str) -> str:
    """An address without the name and password in it."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def is_own(url: str, address: str) -> bool:
    """True for a server that may be private: the one of the document at this address, or of this machine for a file.

    A document of this machine's own servers may name all of them.
    """
    if address and is_same(origin(url), origin(address)):
        return True
    return all(_is_here(origin(one)[1]) for one in (url, address) if one)


def _is_here(host: str) -> bool:
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return ip.is_loopback or ip.is_unspecified


def public_address(url: str, first: str) -> str | None:
    """The address to connect to for a host that must be public; None where a proxy connects.

    The very address that was looked at is the one to use: a name can have another one a moment later.
    """
    scheme, host, port = origin(url)
    named = shown(url) if url == first else f"{shown(first)} leads to {shown(url)}, which"
    try:
        literal: str | None = str(ipaddress.ip_address(host))
    except ValueError:
        literal = None
    if literal is None and scheme in getproxies() and not proxy_bypass(host):
        if host == "localhost" or host.endswith(".localhost"):
            raise UsageError(f"{named} is in a private network: refused", hint=PRIVATE_HINT)
        return None
    try:
        found = addresses(host, port)
    except (OSError, UnicodeError) as error:
        raise Unavailable(f"the host of {shown(url)} is not known", hint="check the address and the network") from error
    if not found or any(is_private(address) for address in found):
        raise UsageError(f"{named} is in a private network: refused", hint=PRIVATE_HINT)
    return found[0]


def addresses(host: str, port: int) -> list[str]:
    """The IP addresses of a host."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def _once(url: str, address: str | None, until: float) -> Fetched | str:
    """The document, or the address that the server leads to."""
    import httpx2

    headers, extensions, target = {"Accept": ACCEPT, "User-Agent": "codenav"}, {}, url
    if address is not None:
        parts = urlsplit(url)
        headers["Host"] = parts.netloc.rpartition("@")[2]
        extensions["sni_hostname"] = parts.hostname or ""
        target = at_address(url, address)
    try:
        # A proxy of the environment would connect to the name once more; authorities of the environment count anyway.
        verify = httpx2.create_ssl_context()
        with (
            httpx2.Client(timeout=10.0, trust_env=address is None, verify=verify) as client,
            client.stream("GET", target, headers=headers, extensions=extensions, follow_redirects=False) as answer,
        ):
            if 300 <= answer.status_code < 400 and "location" in answer.headers:
                return str(answer.headers["location"])
            if answer.status_code != 200:
                raise refusal(url, answer.status_code, answer.headers.get("retry-after", ""))
            content = bytearray()
            for chunk in answer.iter_bytes():
                content += chunk
                if len(content) > LARGEST:
                    raise UsageError(f"{shown(url)} is larger than {LARGEST >> 20} MiB")
                if time.monotonic() > until:
                    raise Unavailable(f"{shown(url)} did not end within {SECONDS:g} seconds", hint=FILE_HINT)
            return Fetched(bytes(content), url)
    except httpx2.HTTPError as error:
        raise failure(url, error) from error
    except (httpx2.InvalidURL, UnicodeError) as error:
        raise UsageError(f"{shown(url)} is no address: {error}") from error


def at_address(url: str, address: str) -> str:
    """A URL with the IP address of its host in place of its name."""
    parts = urlsplit(url)
    host = f"[{address}]" if ":" in address else address
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit((parts.scheme, host + port, parts.path, parts.query, ""))


def refusal(url: str, status: int, retry_after: str = "") -> CodeNavError:
    """The error for a status that is not 200."""
    name = shown(url)
    if status in (404, 410):
        return NotFound(f"{name} does not exist: the server says {status}", hint="check the address")
    if status in (401, 407):
        return Unavailable(f"{name} is for those who sign in: the server says {status}", hint=FILE_HINT)
    if status == 403:
        return Unavailable(f"{name} is denied: the server says 403", hint=FILE_HINT)
    if status == 429:
        after = f" for {retry_after} seconds" if retry_after.isdigit() else ""
        return Unavailable(
            f"{name} is at its limit of requests: the server says 429", hint=f"wait{after} and try again"
        )
    if status >= 500:
        return Unavailable(f"the server of {name} has an error: it says {status}", hint="try again later")
    return Unavailable(f"{name} has no document: the server says {status}", hint="check the address")


def failure(url: str, error: Exception) -> CodeNavError:
    """The error for a request without an answer."""
    import httpx2

    name = shown(url)
    found = list(causes(error))
    for cause in found:
        if isinstance(cause, ssl.SSLCertVerificationError):
            reason = cause.verify_message or "it cannot be verified"
            return Unavailable(
                f"the certificate of {name} is not accepted: {reason}",
                hint="SSL_CERT_FILE=/path/to/the/authority.pem, if it is your own authority",
            )
        if isinstance(cause, ssl.SSLError):
            return Unavailable(f"no TLS with {name}: {cause.reason or cause}", hint="check http:// or https://")
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return Unavailable(f"the certificate of {name} is not accepted", hint="SSL_CERT_FILE=/path/to/authority.pem")
    if isinstance(error, httpx2.TimeoutException):
        return Unavailable(f"{name} does not answer in time", hint="check the address, or try again later")
    if isinstance(error, httpx2.ConnectError):
        if any(isinstance(cause, ConnectionRefusedError) for cause in found) or "refused" in str(error):
            return Unavailable(f"nothing answers at {name}: connection refused", hint="start the server")
        return Unavailable(f"{name} cannot be reached: {error}", hint="check the address and the network")
    return Unavailable(f"{name} did not answer properly: {str(error) or type(error).__name__}", hint="try again later")
