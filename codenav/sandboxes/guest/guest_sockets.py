"""The memory that sockets hold, in a network namespace of our own (sock_diag(7)).

The kernel says how many there are (`/proc/net/sockstat`), with those that nobody has open and whose bytes are still
under way. It lists most of them with what each holds; one that it does not list is taken to hold all that it may.
"""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Sequence

import guest_linux

OWN_BYTES = 2048
"""Bytes of a socket that holds nothing."""
LITTLE = 16 << 20
"""Bytes that sockets may hold together without being asked one by one."""
MOST_LISTED = 20_000
"""Maximum number of sockets that are asked one by one; where there are more, all are estimated."""
STAYING = 3
"""Calls in a row at which an unlisted socket must be there to count."""
BUFFER_BYTES = 212_992
"""The kernel's largest buffer where it does not say (net.core.wmem_max)."""

_SOCK_DIAG, _BY_FAMILY, _DUMP, _REQUEST = 4, 20, 0x300, 1
_DONE, _ERROR = 3, 2
_HEADER = struct.Struct("=IHHII")
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_TCP, _UDP = 6, 17
_SHOW_UNIX_MEMORY, _SHOW_NETLINK_MEMORY, _SHOW_INET_MEMORY = 0x20, 1, 1 << 6
# Request, bytes of an answer before its attributes, attribute with the memory.
_QUESTIONS = (
    (struct.pack("=BBHIIIII", _UNIX, 0, 0, 0xFFFFFFFF, 0, _SHOW_UNIX_MEMORY, 0, 0), 16, 5),
    *(
        (struct.pack("=BBBBI", family, protocol, _SHOW_INET_MEMORY, 0, 0xFFFFFFFF) + bytes(48), 72, 7)
        for family in (_INET, _INET6)
        for protocol in (_TCP, _UDP)
    ),
    (struct.pack("=BBHIIII", _NETLINK, 255, 0, 0, _SHOW_NETLINK_MEMORY, 0, 0), 28, 0),
)
_RECEIVED, _SENT, _AHEAD, _QUEUED, _OPTIONS, _BACKLOG = 0, 2, 4, 5, 6, 7
"""Indices into `sk_meminfo` (linux/sock_diag.h)."""


class Sockets:
    """A counter of the memory that sockets hold."""

    def __init__(self) -> None:
        largest = max(guest_linux.number_in(f"/proc/sys/net/core/{name}mem_max") or BUFFER_BYTES for name in "rw")
        # A buffer may be set to twice that, and takes one message beyond it.
        self._most = 4 * largest
        self._unlisted = [0] * STAYING

    def held(self, enough: int) -> int:
        """Bytes that the sockets hold; from `enough` on not exactly."""
        count = _count()
        if count * self._most <= LITTLE or count > MOST_LISTED:
            self._unlisted = [0] * STAYING
            return count * (OWN_BYTES if count * self._most <= LITTLE else self._most)
        listed = held = 0
        for question in _QUESTIONS:
            found, memory = _ask(*question)
            listed += found
            held += memory
            if listed >= count or held >= enough:
                break
        # Some have just been given up, and are gone in a moment.
        self._unlisted = [*self._unlisted[1:], max(0, count - listed)]
        return held + count * OWN_BYTES + min(self._unlisted) * self._most


def _count() -> int:
    try:
        with open("/proc/net/sockstat", "rb") as file:
            found = re.match(rb"sockets: used (\d+)", file.read(100))
    except OSError:
        return 0
    return int(found[1]) if found else 0


def _ask(request: bytes, skipped: int, attribute: int) -> tuple[int, int]:
    """The number of sockets of a kind and the bytes they hold; (0, 0) where the kernel does not say."""
    found = held = 0
    try:
        with socket.socket(_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG) as asked:
            asked.settimeout(1.0)
            asked.send(_HEADER.pack(_HEADER.size + len(request), _BY_FAMILY, _REQUEST | _DUMP, 1, 0) + request)
            while True:
                data = asked.recv(1 << 16)
                at = 0
                while at + _HEADER.size <= len(data):
                    size, kind, _, _, _ = _HEADER.unpack_from(data, at)
                    if kind in (_DONE, _ERROR) or size < _HEADER.size:
                        return found, held
                    found += 1
                    held += _memory(data[at + _HEADER.size + skipped : at + size], attribute)
                    at += (size + 3) & ~3
    except OSError:
        return found, held


def _memory(attributes: bytes, wanted: int) -> int:
    at = 0
    while at + 4 <= len(attributes):
        size, kind = struct.unpack_from("=HH", attributes, at)
        if size < 4:
            break
        if kind == wanted and size >= 36:
            values: Sequence[int] = struct.unpack_from("=8I", attributes, at + 4)
            sent = max(values[_SENT], values[_QUEUED])
            return values[_RECEIVED] + sent + values[_AHEAD] + values[_OPTIONS] + values[_BACKLOG]
        at += (size + 3) & ~3
    return 0
