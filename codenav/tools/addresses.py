"""Addresses of HTTP: which one is meant, which are private, and how a person reads one."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from codenav.core.errors import Unavailable, UsageError

PRIVATE_HINT = "if it is meant to be read: --set allow_private=yes"


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


def public_address(url: str) -> str | None:
    """The address to connect to for a host that must be public; None where a proxy connects.

    The very address that was looked at is the one to use: a name can have another one a moment later.
    """
    scheme, host, port = origin(url)
    try:
        literal: str | None = str(ipaddress.ip_address(host))
    except ValueError:
        literal = None
    if literal is None and scheme in getproxies() and not proxy_bypass(host):
        if host == "localhost" or host.endswith(".localhost"):
            raise UsageError(f"{shown(url)} is in a private network: refused", hint=PRIVATE_HINT)
        return None
    try:
        found = addresses(host, port)
    except (OSError, UnicodeError) as error:
        raise Unavailable(f"the host of {shown(url)} is not known", hint="check the address and the network") from error
    if not found or any(is_private(address) for address in found):
        raise UsageError(f"{shown(url)} is in a private network: refused", hint=PRIVATE_HINT)
    return found[0]


def addresses(host: str, port: int) -> list[str]:
    """The IP addresses of a host."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def at_address(url: str, address: str) -> str:
    """A URL with the IP address of its host in place of its name."""
    parts = urlsplit(url)
    host = f"[{address}]" if ":" in address else address
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit((parts.scheme, host + port, parts.path, parts.query, ""))
