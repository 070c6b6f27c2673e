"""A seccomp filter for bubblewrap's `--seccomp`, assembled by hand (seccomp(2), linux/filter.h, linux/audit.h).

Allows everything but a list. It is the second line: capabilities and namespaces are the first one. Numbers are
those of arch/x86/entry/syscalls/syscall_64.tbl and of include/uapi/asm-generic/unistd.h (aarch64).
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping, Sequence

REFUSED: Mapping[str, tuple[int, int]] = {
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "perf_event_open": (298, 241),
    "shmget": (29, 194),
    "msgget": (68, 186),
}
"""Answered with EPERM: number on x86_64, number on aarch64. What System V keeps in memory outlives every process."""

MEMFD_CREATE = (319, 279)

SET_AFFINITY = (203, 122)
SOCKET = (41, 198)
FAMILIES = (1, 2, 10, 16)
"""Socket families that stay: unix, IPv4, IPv6, netlink. Others, as vsock, are not confined by a network namespace."""

_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_X32 = 0x40000000
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENT = 0, 4, 16
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


def supported(machine: str) -> bool:
    """Whether there is a filter for a processor, named as by `platform.machine`."""
    return machine in _ARCHITECTURES


def program(machine: str, *, fixed_processors: bool, mapped_memory_only: bool = False) -> bytes:
    """The filter for a supported processor, as an array of `struct sock_filter`.

    `fixed_processors` also refuses sched_setaffinity, so that a limit on processors stays.
    `mapped_memory_only` also refuses memfd_create: what such a file holds unmapped is seen by a control group only.
    A system call of another architecture is refused whole.
    """
    audit, column = _ARCHITECTURES[machine]
    refused = [numbers[column] for numbers in REFUSED.values()]
    if fixed_processors:
        refused.append(SET_AFFINITY[column])
    if mapped_memory_only:
        refused.append(MEMFD_CREATE[column])
    return b"".join(_assemble(audit, refused, SOCKET[column], foreign=_X32 if column == 0 else None))


def _assemble(audit: int, refused: Sequence[int], socket: int, foreign: int | None) -> list[bytes]:
    eperm, unsupported = _ERRNO | errno.EPERM, _ERRNO | errno.EAFNOSUPPORT
    code = [
        _op(_LOAD, _ARCHITECTURE),
        _op(_JUMP_EQUAL, audit, yes=1),
        _op(_RETURN, eperm),
        _op(_LOAD, _NUMBER),
    ]
    if foreign is not None:
        code += [_op(_JUMP_AT_LEAST, foreign, no=1), _op(_RETURN, eperm)]
    for number in refused:
        code += [_op(_JUMP_EQUAL, number, no=1), _op(_RETURN, eperm)]
    code += [_op(_JUMP_EQUAL, socket, yes=1), _op(_RETURN, _ALLOW), _op(_LOAD, _ARGUMENT)]
    for family in FAMILIES:
        code += [_op(_JUMP_EQUAL, family, no=1), _op(_RETURN, _ALLOW)]
    return [*code, _op(_RETURN, unsupported)]


def _op(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
