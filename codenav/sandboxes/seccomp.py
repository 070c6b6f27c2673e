"""Filters of system calls, assembled by hand (seccomp(2), linux/filter.h, linux/audit.h).

The worker puts its own on before it runs a line of user code: see `guest/guest_filter.py`. It allows everything but a
list. It is the second line: capabilities and namespaces are the first one. Numbers are those of
arch/x86/entry/syscalls/syscall_64.tbl and of include/uapi/asm-generic/unistd.h (aarch64).
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
"""Answered with EPERM: number on x86_64, number on aarch64. What System V keeps in memory outlives every process, and
what hangs in a pipe by vmsplice(2) or in a secret file is no process's memory."""

UNCOUNTED: Mapping[str, tuple[int, int]] = {
    "memfd_create": (319, 279),
    "inotify_init": (253, -1),
    "inotify_init1": (294, 26),
}
"""The same where no control group counts what they hold in memory."""

FAMILIES = (1, 2, 10, 16)
"""Socket families that stay: unix, IPv4, IPv6, netlink. Others, as vsock, are not confined by a network namespace."""


@dataclass(frozen=True)
class Argument:
    """What makes a call refused: an argument that is an int of C, of which the kernel itself takes the lower half."""

    index: int
    value: int
    """It is equal to this."""
    differs: bool = False
    """It is not."""
    bits: bool = False
    """It has one of these bits."""


Rule = tuple[Argument, ...]
"""All of them must hold."""

SUPERVISOR = 1
"""Its process id inside. It has one thread, and no other user code than a worker's below it."""
_PROCESS, _IO_PROCESS = 0, 1
_SOL_SOCKET, _SO_ZEROCOPY = 1, 60
_F_SETPIPE_SZ = 1031
_MAP_SHARED, _MAP_ANONYMOUS = 0x01, 0x20

OF_OTHERS: Mapping[str, tuple[int, int, tuple[Rule, ...]]] = {
    # By group or by user it would be the supervisor's, too.
    "setpriority": (141, 140, ((Argument(0, _PROCESS, differs=True),), (Argument(1, SUPERVISOR),))),
    "ioprio_set": (251, 30, ((Argument(0, _IO_PROCESS, differs=True),), (Argument(1, SUPERVISOR),))),
    "prlimit64": (302, 261, ((Argument(0, SUPERVISOR),),)),
    "sched_setaffinity": (203, 122, ((Argument(0, SUPERVISOR),),)),
    "sched_setscheduler": (144, 119, ((Argument(0, SUPERVISOR),),)),
    "sched_setparam": (142, 118, ((Argument(0, SUPERVISOR),),)),
    "sched_setattr": (314, 274, ((Argument(0, SUPERVISOR),),)),
    # Pages that a socket holds without copying them count for no process.
    "setsockopt": (54, 208, ((Argument(1, _SOL_SOCKET), Argument(2, _SO_ZEROCOPY)),)),
}
"""Answered with EPERM where a rule holds. What the kernel grants to a process of the same user, it would over the
supervisor; what needs the right to trace (process_vm_writev, pidfd_getfd, move_pages) it refuses by itself."""

UNCOUNTED_WHERE: Mapping[str, tuple[int, int, tuple[Rule, ...]]] = {
    "mmap": (9, 222, ((Argument(3, _MAP_SHARED, bits=True), Argument(3, _MAP_ANONYMOUS, bits=True)),)),
    "fcntl": (72, 25, ((Argument(1, _F_SETPIPE_SZ),),)),
}
"""The same where no control group counts. Shared memory without a name stays when it is no longer mapped."""

_SOCKET, _SOCKETPAIR, _SET_AFFINITY = (41, 198), (53, 199), (203, 122)
_OTHER_FAMILY: tuple[Rule, ...] = (tuple(Argument(0, family, differs=True) for family in FAMILIES),)

_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_X32 = 0x40000000
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


def supported(machine: str) -> bool:
    """Whether there is a filter for a processor, named as by `platform.machine`."""
    return machine in _ARCHITECTURES


def programs(*, fixed_processors: bool, counted: bool) -> dict[str, str]:
    """The filters of all supported processors by name, in Base64, as they travel to the guest. See `program`."""
    made = {one: program(one, fixed_processors=fixed_processors, counted=counted) for one in _ARCHITECTURES}
    return {machine: base64.b64encode(filter).decode("ascii") for machine, filter in made.items()}


def program(machine: str, *, fixed_processors: bool, counted: bool) -> bytes:
    """The filter for a supported processor, as an array of `struct sock_filter`.

    `fixed_processors` also refuses sched_setaffinity, so that a limit on processors stays. Without `counted`, that is
    where no control group bounds memory, `UNCOUNTED` and `UNCOUNTED_WHERE` are refused, too.
    A system call of another architecture is refused whole.
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
    """A block for one system call; nothing where this processor has none of that name."""
    return [] if number < 0 else [_op(_JUMP_EQUAL, number, no=len(block)), *block]


def _checked(rules: Iterable[Rule], error: int) -> list[bytes]:
    """Refused where all of a rule holds, else allowed."""
    code = []
    for rule in rules:
        for place, one in enumerate(rule):
            # To the next rule: over what is left of this one, and its return.
            away = 2 * (len(rule) - place) - 1
            jump = _JUMP_BITS if one.bits else _JUMP_EQUAL
            yes, no = (away, 0) if one.differs else (0, away)
            code += [_op(_LOAD, _ARGUMENTS + 8 * one.index), _op(jump, one.value, yes=yes, no=no)]
        code.append(_op(_RETURN, _ERRNO | error))
    return [*code, _op(_RETURN, _ALLOW)]


def _op(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
