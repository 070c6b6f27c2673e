"""Containment of processes and signals."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable

from codenav.core.execution import Outcome
from codenav.sandboxes.conformance.lab import Case, Lab, Refused, Step, ensure, expect

LIBC = (
    "import ctypes, os, platform\nlibc = ctypes.CDLL(None, use_errno=True)\n"
    "column = 0 if platform.machine() == 'x86_64' else 1"
)
SYSCALLS = (
    ((272, 97), "0x10000000"),  # unshare
    ((308, 268), "0, 0x10000000"),  # setns
    ((165, 40), "b'none', b'/tmp', b'tmpfs', 0, 0"),  # mount
    ((166, 39), "b'/tmp', 2"),  # umount2
    ((155, 41), "b'/', b'/tmp'"),  # pivot_root
    ((321, 280), "0, 0, 0"),  # bpf
    ((248, 217), "b'user', b'x', b'y', 1, -3"),  # add_key
    ((323, 282), "0"),  # userfaultfd
    ((298, 241), "0, 0, -1, -1, 0"),  # perf_event_open
    ((175, 105), "0, 0, 0"),  # init_module
    ((246, 104), "0, 0, 0, 0"),  # kexec_load
    ((167, 224), "b'/tmp', 0"),  # swapon
    ((425, 425), "1, b'x' * 120"),  # io_uring_setup
    ((164, 170), "0, b'x' * 8"),  # settimeofday
)
"""Each call: its number on x86_64 and on aarch64, and its arguments."""
OF_OTHERS = (
    ((302, 261), "1, 7, b'x' * 16, 0"),  # prlimit64
    ((251, 30), "1, 1, 3 << 13"),  # ioprio_set
    ((251, 30), "2, 0, 3 << 13"),  # ioprio_set of a group
    ((314, 274), "1, (48).to_bytes(4, 'little') + bytes(44), 0"),  # sched_setattr
    ((310, 270), "1, place(space), 1, place(space), 1, ctypes.c_long(0)"),  # process_vm_readv
    ((438, 438), "os.pidfd_open(1) if hasattr(os, 'pidfd_open') else -1, 0, 0"),  # pidfd_getfd
    ((312, 272), "1, 1, 2, 0, 0"),  # kcmp
    ((279, 239), "1, 0, 0, 0, 0, 0"),  # move_pages
    ((256, 238), "1, 0, 0, 0"),  # migrate_pages
    ((302, 261), "ctypes.c_long((1 << 32) + 1), 7, 0, 0"),  # an int of more than 32 bits
)
"""Calls as above, with arguments that name the supervisor."""


def system_calls(calls: Iterable[tuple[tuple[int, int], str]], errors: Iterable[str]) -> Refused:
    """The check that these calls are refused, after a step with `LIBC`."""
    end = "if r == -1: raise OSError(ctypes.get_errno(), '')"
    statements = (f"r = libc.syscall({numbers}[column], {arguments})\n{end}" for numbers, arguments in calls)
    return Refused(tuple(errors), *statements)


def _outside(lab: Lab) -> None:
    outsider = subprocess.Popen(["sleep", "600"])
    try:
        highest = int(lab.says("import os\nmax(int(name) for name in os.listdir('/proc') if name.isdigit())"))
        ensure(highest < 10_000, f"a process {highest} is seen")
        for pid in {outsider.pid, os.getpid(), os.getppid()}:
            if pid > highest + 1000:
                lab.refused(f"os.kill({pid}, 0)", ("ESRCH", "EPERM"))
                lab.refused(f"open('/proc/{pid}/mem', 'rb')", ("ENOENT", "EACCES"))
        lab.run("import os\nos.kill(-1, 15)")
        expect("the end of a process of the host", outsider.poll(), None)
    finally:
        outsider.kill()
        outsider.wait()


def _processors(lab: Lab) -> None:
    count = "import os\nprint(len(os.sched_getaffinity(0)))"
    allowed = int(lab.says(count))
    lab.attempt("os.sched_setaffinity(0, range(os.cpu_count()))")
    most = max(allowed, len(os.sched_getaffinity(0)))
    ensure(int(lab.says(count)) <= most, "more processors than the host gives")


def _own_changes(lab: Lab) -> None:
    """Check that a process may go on changing itself."""
    for statement in (
        "resource.prlimit(0, resource.RLIMIT_CPU, resource.getrlimit(resource.RLIMIT_CPU))",
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
        "os.setpriority(os.PRIO_PROCESS, 0, os.nice(0))",
        "os.nice(1)",
        "subprocess.run(['true'], preexec_fn=lambda: os.nice(1), check=True)",
    ):
        expect(statement, lab.attempt(statement, setup="import os, resource, subprocess"), "allowed")


CASES = (
    Case("P1", "processes that a step has left take no place from the next one", [
        Step("import os, signal\nfor _ in range(30):\n    if os.fork() == 0: os.setsid(); signal.pause()\nos._exit(1)",
             Outcome.CRASHED),
        Step("import subprocess\nprint(subprocess.call(['true']))", prints="0"),
    ]),
    Case("P2", "a daemon ends with the session", [
        Step(
            """
            import os, signal, time
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    for number in range(1, 32):
                        if number not in (9, 19): signal.signal(number, signal.SIG_IGN)
                    while True: time.sleep(1)
                os._exit(0)
            os.wait()
            """
        ),
        Step(
            """
            sessions = {os.getsid(int(name)) for name in os.listdir('/proc') if name.isdigit()}
            print(len(sessions - {os.getsid(0), os.getsid(1), 0}))
            """,
            prints="1",
        ),
    ]),
    Case("P7", "processes outside cannot be seen, signalled or traced", [
        _outside,
        Refused(
            ("EPERM", "ESRCH"),
            *(f"r = libc.ptrace({request}, 1, 0, 0)\nif r: raise OSError(ctypes.get_errno(), 'ptrace')"
              for request in (16, 0x4206)),
            setup=LIBC,
        ),
        Refused(
            ("EACCES", "EPERM"), "os.listdir('/proc/1/fd')",
            *(f"open('/proc/1/{name}', 'rb').read(1)" for name in ("mem", "environ", "maps")),
        ),
    ]),
    Case("P11", "priorities and processors cannot be taken", [
        Refused(("EPERM", "EACCES"), "os.nice(-5)", "os.setpriority(os.PRIO_USER, 0, -1)"),
        Refused(("EPERM",), "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"),
        _processors,
    ]),
    Case("P12", "there is no terminal", [
        Refused(("ENXIO", "EIO", "ENOENT"), "os.open('/dev/tty', os.O_RDWR)"),
        Refused(("ENXIO", "EIO", "ENOENT", "EACCES", "EPERM"), "os.open('/dev/console', os.O_RDWR)"),
        Refused(("ENOTTY", "EIO", "EPERM", "EINVAL"), *(f"fcntl.ioctl({number}, 0x5412, b'x')" for number in range(3)),
                setup="import fcntl"),
        Step("import os\n[os.isatty(number) for number in range(3)]", prints="[False, False, False]"),
    ]),
    Case("P13", "namespaces, mounts and the kernel's tools are refused", [
        Step(LIBC),
        system_calls(SYSCALLS, ("EPERM", "ENOSYS", "EACCES")),
        # A process in a user namespace of its own.
        Step("r = libc.syscall((56, 220)[column], 0x10000000 | 17, 0, 0, 0, 0)\nif r == 0: os._exit(0)\nprint(r)",
             prints="-1"),
        Refused(("EPERM",), "os.mknod('device', stat.S_IFCHR | 0o666, 0x105)",
                "os.mknod('device', stat.S_IFBLK | 0o666, 0x800)", setup="import os, stat"),
        Step(
            """
            s = {line.split(':')[0]: line.split()[1] for line in open('/proc/self/status') if len(line.split()) > 1}
            print(int(s['CapEff'], 16), int(s['CapBnd'], 16), s['NoNewPrivs'], s['Seccomp'], os.getuid() != 0)
            """,
            prints="0 0 1 2 True",
        ),
    ], reads=True),
    Case("P16", "the supervisor is out of reach: its limits, priority, processors, memory and descriptors", [
        Step("kept = 'kept'"),
        Refused(
            ("EPERM", "EACCES"),
            "resource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3))",
            "resource.prlimit(1, resource.RLIMIT_CPU, (1, 1))",
            "os.setpriority(os.PRIO_PROCESS, 1, 19)",
            "os.setpriority(os.PRIO_PGRP, 0, 19)",
            "os.setpriority(os.PRIO_USER, os.getuid(), 19)",
            "os.sched_setaffinity(1, {min(os.sched_getaffinity(1))})",
            "os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))",
            "os.sched_setparam(1, os.sched_param(0))",
            "os.write(os.open('/proc/1/oom_score_adj', os.O_WRONLY), b'1000')",
            "os.write(os.open('/proc/1/timerslack_ns', os.O_WRONLY), b'4000000000')",
            setup="import os, resource",
        ),
        Step(
            LIBC + "\nspace = ctypes.create_string_buffer(8)\n"
            "def place(of): return ctypes.byref((ctypes.c_size_t * 2)(ctypes.addressof(of), 8))"
        ),
        system_calls(OF_OTHERS, ("EPERM", "ENOSYS")),
        _own_changes,
        Step("import os\nos._exit(1)", Outcome.CRASHED),
        Step("kept", prints="'kept'"),
    ]),
)  # fmt: skip
