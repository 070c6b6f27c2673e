"""Installation of the filter of system calls under which user code runs; the host has assembled it (`seccomp.py`).

A filter stays for good, and every process that is started under it has it.
"""

from __future__ import annotations

import base64
import ctypes
import os
import struct
import sys
from collections.abc import Mapping

_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 22, 38
_MODE_FILTER = 2
_EFAULT = 14
_INSTRUCTION_BYTES = 8
_libc = ctypes.CDLL(None, use_errno=True)


def trouble(programs: Mapping[str, str]) -> str:
    """The reason why no filter can be installed here; empty where one can."""
    machine = _machine()
    if machine not in programs:
        return f"there is none for {machine}"
    # No program is passed: a kernel that has filters then complains of its address.
    _libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, None, 0, 0)
    code = ctypes.get_errno()
    return "" if code == _EFAULT else f"the kernel takes none ({os.strerror(code)})"


def install(programs: Mapping[str, str]) -> None:
    """Install the filter for this machine.

    Raises:
        OSError: the kernel does not take it.
    """
    program = base64.b64decode(programs[_machine()])
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // _INSTRUCTION_BYTES, ctypes.addressof(buffer))
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or _libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, header, 0, 0):
        raise OSError(ctypes.get_errno(), "no filter of system calls")


def _machine() -> str:
    """The name of this machine in filters; a Python of 32 bits makes other calls than its kernel is named for."""
    machine = os.uname().machine
    return machine if sys.maxsize > 1 << 32 else f"a Python of 32 bits on {machine}"
