"""System call filters, assembled by hand (seccomp(2), linux/filter.h, linux/audit.h).

The worker installs its filter before it runs a line of user code: see `guest/guest_filter.py`. The filter allows
everything except a list. It is the second line of defence, after capabilities and namespaces. Numbers are from
arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h (aarch64).
"""

from __future__ import annotations

import base64
import errno
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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
    "fanotify_init": (300, 262),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "vmsplice": (278, 75),
    "memfd_secret": (447, 447),
}
"""System calls answered with EPERM: number on x86_64, number on aarch64.

System V objects outlive every process, and what vmsplice(2) puts in a pipe, or a secret memory file, is charged to
no process.
"""

UNCOUNTED: Mapping[str, tuple[int, int]] = {
    "memfd_create": (319, 279),
    "inotify_init": (253, -1),
    "inotify_init1": (294, 26),
}
"""Further calls refused where no control group counts the memory they hold."""

FAMILIES = (1, 2, 10, 16)
"""Socket families that are allowed: unix, IPv4, IPv6, netlink.

Others, such as vsock, are not confined by a network namespace.
"""


@dataclass(frozen=True)
class Argument:
    """A condition on an argument that is a C int. The kernel itself uses only the lower half of such an argument."""

    index: int
    value: int
    """The argument equals this value, unless `differs` or `bits` is set."""
    differs: bool = False
    """The argument differs from the value."""
    bits: bool = False
    """The argument has one of the bits of the value."""


Rule = tuple[Argument, ...]
"""Conditions that must all hold."""

SUPERVISOR = 1
"""Process id of the supervisor inside. It has one thread, and no user code runs outside the workers below it."""
_PROCESS, _IO_PROCESS = 0, 1
_SOL_SOCKET, _SO_ZEROCOPY = 1, 60
_F_SETPIPE_SZ = 1031
_MAP_SHARED, _MAP_ANONYMOUS = 0x01, 0x20

OF_OTHERS: Mapping[str, tuple[int, int, tuple[Rule, ...]]] = {
    # By group or by user the call would also affect the supervisor.
    "setpriority": (141, 140, ((Argument(0, _PROCESS, differs=True),), (Argument(1, SUPERVISOR),))),
    "ioprio_set": (251, 30, ((Argument(0, _IO_PROCESS, differs=True),), (Argument(1, SUPERVISOR),))),
    "prlimit64": (302, 261, ((Argument(0, SUPERVISOR),),)),
    "sched_setaffinity": (203, 122, ((Argument(0, SUPERVISOR),),)),
    "sched_setscheduler": (144, 119, ((Argument(0, SUPERVISOR),),)),
    "sched_setparam": (142, 118, ((Argument(0, SUPERVISOR),),)),
    "sched_setattr": (314, 274, ((Argument(0, SUPERVISOR),),)),
    # Pages that a socket holds without copying are charged to no process.
    "setsockopt": (54, 208, ((Argument(1, _SOL_SOCKET), Argument(2, _SO_ZEROCOPY)),)),
}
"""System calls answered with EPERM if one of their rules holds.

The kernel would allow the code to use these on the supervisor, a process of the same user. It refuses by itself what
requires the right to trace (process_vm_writev, pidfd_getfd, move_pages).
"""

UNCOUNTED_WHERE: Mapping[str, tuple[int, int, tuple[Rule, ...]]] = {
    "mmap": (9, 222, ((Argument(3, _MAP_SHARED, bits=True), Argument(3, _MAP_ANONYMOUS, bits=True)),)),
    "fcntl": (72, 25, ((Argument(1, _F_SETPIPE_SZ),),)),
}
"""Further rules where no control group counts memory. Unnamed shared memory stays when it is no longer mapped."""

_SOCKET, _SOCKETPAIR, _SET_AFFINITY = (41, 198), (53, 199), (203, 122)
_OTHER_FAMILY: tuple[Rule, ...] = (tuple(Argument(0, family, differs=True) for family in FAMILIES),)

_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_X32 = 0x40000000
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


def supported(machine: str) -> bool:
    """True if there is a filter for a processor, named as by `platform.machine`."""
    return machine in _ARCHITECTURES


def programs(*, fixed_processors: bool, counted: bool) -> dict[str, str]:
    """Return the filters of all supported processors by name, in Base64 for the guest. See `program`."""
    made = {one: program(one, fixed_processors=fixed_processors, counted=counted) for one in _ARCHITECTURES}
    return {machine: base64.b64encode(filter).decode("ascii") for machine, filter in made.items()}


def program(machine: str, *, fixed_processors: bool, counted: bool) -> bytes:
    """Assemble the filter for a supported processor, as an array of `struct sock_filter`.

    `fixed_processors` also refuses sched_setaffinity, so that a limit on processors holds. Without `counted`, which
    means that no control group bounds the memory, `UNCOUNTED` and `UNCOUNTED_WHERE` apply too.
    All system calls of another architecture are refused.
    """
    audit, column = _ARCHITECTURES[machine]
    refused = [*REFUSED.values(), *(() if counted else UNCOUNTED.values())]
    ruled = [*OF_OTHERS.values(), *(() if counted else UNCOUNTED_WHERE.values())]
    if fixed_processors:
        refused.append(_SET_AFFINITY)
    code = [
        _op(_LOAD, _ARCHITECTURE),
        _op(_JUMP_EQUAL, audit, yes=1),
        _op(_RETURN, _ERRNO | errno.EPERM),
        _op(_LOAD, _NUMBER),
    ]
    if column == 0:
        code += [_op(_JUMP_AT_LEAST, _X32, no=1), _op(_RETURN, _ERRNO | errno.EPERM)]
    for numbers in refused:
        code += _when(numbers[column], [_op(_RETURN, _ERRNO | errno.EPERM)])
    for *both, rules in ruled:
        code += _when(both[column], _checked(rules, errno.EPERM))
    for numbers in (_SOCKET, _SOCKETPAIR):
        code += _when(numbers[column], _checked(_OTHER_FAMILY, errno.EAFNOSUPPORT))
    return b"".join([*code, _op(_RETURN, _ALLOW)])


def _when(number: int, block: Sequence[bytes]) -> list[bytes]:
    """Return a block that runs for one system call, or nothing if this processor lacks it."""
    return [] if number < 0 else [_op(_JUMP_EQUAL, number, no=len(block)), *block]


def _checked(rules: Iterable[Rule], error: int) -> list[bytes]:
    """Return code that refuses the call if all conditions of a rule hold, and otherwise allows it."""
    code = []
    for rule in rules:
        for place, one in enumerate(rule):
            # Jump to the next rule, over the rest of this one and its return.
            away = 2 * (len(rule) - place) - 1
            jump = _JUMP_BITS if one.bits else _JUMP_EQUAL
            yes, no = (away, 0) if one.differs else (0, away)
            code += [_op(_LOAD, _ARGUMENTS + 8 * one.index), _op(jump, one.value, yes=yes, no=no)]
        code.append(_op(_RETURN, _ERRNO | error))
    return [*code, _op(_RETURN, _ALLOW)]


def _op(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
