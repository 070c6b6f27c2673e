"""Containment of processes and signals."""

from __future__ import annotations

import os
import signal
import subprocess
import time

from codenav.execution import Outcome
from codenav.sandboxes.conformance.case import case
from codenav.sandboxes.conformance.lab import SMALL, SPARE_PROCESSES, Lab, ensure, expect
from codenav.sandboxes.conformance.victim import Victim

GONE_SECONDS = 5.0
"""Longest time for which anything of a sandbox may be left after the end of its owner."""
_LIBC = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)"
SYSCALLS = {
    "unshare": ((272, 97), "0x10000000"),
    "setns": ((308, 268), "0, 0x10000000"),
    "mount": ((165, 40), "b'none', b'/tmp', b'tmpfs', 0, 0"),
    "umount2": ((166, 39), "b'/tmp', 2"),
    "pivot_root": ((155, 41), "b'/', b'/tmp'"),
    "bpf": ((321, 280), "0, 0, 0"),
    "keyctl": ((250, 219), "0, -3, 0"),
    "add_key": ((248, 217), "b'user', b'x', b'y', 1, -3"),
    "userfaultfd": ((323, 282), "0"),
    "perf_event_open": ((298, 241), "0, 0, -1, -1, 0"),
    "init_module": ((175, 105), "0, 0, 0"),
    "kexec_load": ((246, 104), "0, 0, 0, 0"),
    "swapon": ((167, 224), "b'/tmp', 0"),
    "io_uring_setup": ((425, 425), "1, b'x' * 120"),
    "semget": ((64, 190), "0, 1, 0o1600"),
    "vmsplice": ((278, 75), "1, 0, 0, 0"),
    "settimeofday": ((164, 170), "0, b'x' * 8"),
}
"""Each call: its number on x86_64 and on aarch64, and its arguments."""

OF_OTHERS = {
    "prlimit64": ((302, 261), "1, 7, b'x' * 16, 0"),
    "ioprio_set": ((251, 30), "1, 1, 3 << 13"),
    "ioprio_set of a group": ((251, 30), "2, 0, 3 << 13"),
    "sched_setattr": ((314, 274), "1, (48).to_bytes(4, 'little') + bytes(44), 0"),
    "process_vm_readv": ((310, 270), "1, place(space), 1, place(space), 1, ctypes.c_long(0)"),
    "pidfd_getfd": ((438, 438), "os.pidfd_open(1) if hasattr(os, 'pidfd_open') else -1, 0, 0"),
    "kcmp": ((312, 272), "1, 1, 2, 0, 0"),
    "move_pages": ((279, 239), "1, 0, 0, 0, 0, 0"),
    "migrate_pages": ((256, 238), "1, 0, 0, 0"),
    "an int of more than 32 bits": ((302, 261), "ctypes.c_long((1 << 32) + 1), 7, 0, 0"),
}
"""Calls as above, with arguments that name the supervisor."""


@case("P1", "a fork storm ends at the limit")
def _fork_storm(lab: Lab) -> None:
    found = lab.says(
        """
        import os, signal
        children = []
        try:
            for _ in range(300):
                pid = os.fork()
                if pid == 0: signal.pause(); os._exit(0)
                children.append(pid)
            print('no limit')
        except OSError as error:
            print(type(error).__name__, len(children))
        for pid in children: os.kill(pid, 9); os.waitpid(pid, 0)
        """
    )
    name, _, count = found.partition(" ")
    expect("the end of it", name, "BlockingIOError")
    ensure(20 < int(count) <= SMALL.processes + SPARE_PROCESSES, f"{count} processes, the limit is {SMALL.processes}")
    storm = "import os, signal\nfor _ in range(30):\n    if os.fork() == 0: os.setsid(); signal.pause()\nos._exit(1)"
    lab.outcome(storm, Outcome.CRASHED)
    expect("another process", lab.says("import subprocess\nprint(subprocess.call(['true']))"), "0")


@case("P2", "a daemon ends with the session")
def _daemon(lab: Lab) -> None:
    lab.says(
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
    )
    sessions = "{os.getsid(int(name)) for name in os.listdir('/proc') if name.isdigit()}"
    expect("sessions of daemons", lab.says(f"print(len({sessions} - {{os.getsid(0), os.getsid(1), 0}}))"), "1")


@case("P3", "a loop that ignores signals is killed at the timeout")
def _ignored_signals(lab: Lab) -> None:
    lab.outcome(
        """
        import signal
        for number in range(1, 65):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        while True: pass
        """,
        Outcome.TIMEOUT,
        timeout=1.0,
    )


@case("P4", "a loop that catches every exception is killed at the timeout")
def _caught(lab: Lab) -> None:
    code = "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
    lab.outcome(code, Outcome.TIMEOUT, timeout=1.0)


@case("P5", "C code that never gives up the interpreter is killed at the timeout")
def _c_code(lab: Lab) -> None:
    lab.outcome("import ctypes\nctypes.PyDLL(None).sleep(600)", Outcome.TIMEOUT, timeout=1.0)
    lab.outcome("sum(range(10 ** 13))", Outcome.TIMEOUT, timeout=1.0)


@case("P6", "killing everything there is ends the step at most")
def _kill_all(lab: Lab) -> None:
    lab.run("import os, signal\nkept = 'kept'")
    for number in (1, 2, 9, 15, 19):
        lab.outcome(f"try: os.kill(1, {number})\nexcept OSError: pass", Outcome.OK)
    # kill(2): -1 means all but the caller and PID 1; the frozen twin is among them.
    for code in ("os.kill(os.getpid(), 9)", "os.kill(-1, 9); os.kill(os.getpid(), 9)", "os.killpg(0, signal.SIGKILL)"):
        with lab.at_most(3.0, "noticing the end"):
            done = lab.outcome(f"kept = 'other'\n{code}", Outcome.CRASHED)
        if not done.notice.startswith("state lost"):
            expect("the state", lab.says("kept"), "'kept'")
        lab.run("import os, signal\nkept = 'kept'")
    lab.outcome("os.kill(-1, 9)", Outcome.OK, Outcome.CRASHED)
    expect("the state", lab.says("kept"), "'kept'")


@case("P7", "processes outside cannot be seen, signalled or traced")
def _outside(lab: Lab) -> None:
    outsider = subprocess.Popen(["sleep", "600"])
    try:
        highest = int(lab.says("import os\nmax(int(name) for name in os.listdir('/proc') if name.isdigit())"))
        ensure(highest < 10_000, f"a process {highest} is seen")
        for pid in {outsider.pid, os.getpid(), os.getppid()}:
            if pid > highest + 1000:
                lab.refused(f"os.kill({pid}, 0)", ("ESRCH", "EPERM"))
                lab.refused(f"open('/proc/{pid}/mem', 'rb')", ("ENOENT", "EACCES"))
        trace = "r = libc.ptrace({}, {}, 0, 0)\nif r: raise OSError(ctypes.get_errno(), 'ptrace')"
        for request in (16, 0x4206):
            lab.refused(trace.format(request, 1), ("EPERM", "ESRCH"), setup=_LIBC)
        for name in ("mem", "environ", "maps"):
            lab.refused(f"open('/proc/1/{name}', 'rb').read(1)", ("EACCES", "EPERM"))
        lab.refused("os.listdir('/proc/1/fd')", ("EACCES", "EPERM"))
        lab.run("import os\nos.kill(-1, 15)")
        expect("the end of a process of the host", outsider.poll(), None)
    finally:
        outsider.kill()
        outsider.wait()


@case("P8", "a process that stops itself is a timeout")
def _stopped(lab: Lab) -> None:
    lab.outcome("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", Outcome.TIMEOUT, timeout=1.0)


@case("P9", "threads outlive a step without holding it up; what they print is told apart")
def _threads(lab: Lab) -> None:
    done = lab.outcome(
        """
        import threading, time
        said = threading.Event()
        def later():
            time.sleep(0.3)
            print('late words', flush=True)
            said.set()
            time.sleep(600)
        threading.Thread(target=later).start()
        print('early words')
        """,
        Outcome.OK,
        within=5.0,
    )
    expect("output of the step", done.stdout, "early words\n")
    ensure("late words" in lab.run("said.wait(10)").late_output, "the late words are lost")


@case("P10", "what a step leaves armed does not go off in the next one")
def _armed(lab: Lab) -> None:
    for code in (
        "import atexit, os\natexit.register(os._exit, 3)",
        "class Last:\n    def __del__(self): raise SystemExit(3)\nlast = Last(); del last",
        "import sys\ndef trace(*_): raise SystemExit(4)\nsys.settrace(trace)",
        "import sys\nsys.setprofile(lambda *_: 1 / 0)",
        "import signal\nsignal.signal(signal.SIGALRM, lambda *_: 1 / 0); signal.setitimer(signal.ITIMER_REAL, 0.05)",
        "import signal\nsignal.setitimer(signal.ITIMER_PROF, 0.01, 0.01)",
        "import faulthandler\nfaulthandler.dump_traceback_later(0.05, exit=True)",
        "import gc\ngc.disable(); gc.set_threshold(1)",
        "import sys\nsys.setswitchinterval(1000)",
        "import sys\nsys.excepthook = sys.displayhook = sys.unraisablehook = lambda *_: 1 / 0",
    ):
        lab.run(code)
        done = lab.outcome(
            "import time\nuntil = time.time() + 0.15\nwhile time.time() < until: pass\n2 + 2", Outcome.OK
        )
        expect(f"the step after {code!r}", done.stdout, "4\n")


@case("P11", "priorities and processors cannot be taken")
def _priorities(lab: Lab) -> None:
    lab.refused("os.nice(-5)", ("EPERM", "EACCES"))
    lab.refused("os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))", ("EPERM",))
    lab.refused("os.setpriority(os.PRIO_USER, 0, -1)", ("EPERM", "EACCES"))
    allowed = int(lab.says("import os\nprint(len(os.sched_getaffinity(0)))"))
    lab.attempt("os.sched_setaffinity(0, range(os.cpu_count()))")
    ensure(
        int(lab.says("print(len(os.sched_getaffinity(0)))")) <= max(allowed, len(os.sched_getaffinity(0))),
        "more processors than the host gives",
    )


@case("P12", "there is no terminal")
def _terminal(lab: Lab) -> None:
    lab.refused("os.open('/dev/tty', os.O_RDWR)", ("ENXIO", "EIO", "ENOENT"))
    for number in range(3):
        tiocsti = f"fcntl.ioctl({number}, 0x5412, b'x')"
        lab.refused(tiocsti, ("ENOTTY", "EIO", "EPERM", "EINVAL"), setup="import fcntl")
        expect("isatty", lab.says(f"import os\nos.isatty({number})"), "False")
    lab.refused("os.open('/dev/console', os.O_RDWR)", ("ENXIO", "EIO", "ENOENT", "EACCES", "EPERM"))


@case("P13", "namespaces, mounts and the kernel's tools are refused")
def _kernel(lab: Lab) -> None:
    lab.says(_LIBC + "\nimport platform\ncolumn = 0 if platform.machine() == 'x86_64' else 1")
    for name, (numbers, arguments) in SYSCALLS.items():
        call = f"r = libc.syscall({numbers}[column], {arguments})\nif r == -1: raise OSError(ctypes.get_errno(), '')"
        found = lab.attempt(call)
        ensure(found in ("EPERM", "ENOSYS", "EACCES"), f"{name}: {found}")
    clone = "r = libc.syscall((56, 220)[column], 0x10000000 | 17, 0, 0, 0, 0)\nif r == 0: os._exit(0)\nprint(r)"
    expect("a process in a user namespace of its own", lab.says(clone), "-1")
    status = "{line.split(':')[0]: line.split()[1] for line in open('/proc/self/status') if len(line.split()) > 1}"
    found = lab.says(f"s = {status}\nprint(int(s['CapEff'], 16), int(s['CapBnd'], 16), s['NoNewPrivs'], s['Seccomp'])")
    expect("capabilities, their bound, no new privileges, seccomp", found, "0 0 1 2")
    ensure(int(lab.says("import os\nprint(os.getuid())")) != 0, "the code runs as root")


@case("P14", "the sandbox ends when its owner is killed, whatever that has forked")
def _owner_killed(lab: Lab) -> None:
    with Victim(lab.spec, lab.box.info.backend) as victim:
        ensure(victim.alive(), "nothing of the sandbox is seen")
        victim.process.send_signal(signal.SIGKILL)
        victim.process.wait()
        _gone(victim)


@case("P15", "the sandbox ends when the connection to it is cut")
def _cut(lab: Lab) -> None:
    with Victim(lab.spec, lab.box.info.backend) as victim:
        ensure(victim.alive(), "nothing of the sandbox is seen")
        victim.cut()
        _gone(victim)


@case("P16", "the supervisor is out of reach: its limits, priority, processors, memory and descriptors")
def _supervisor(lab: Lab) -> None:
    lab.says("kept = 'kept'")
    for statement in (
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
    ):
        lab.refused(statement, ("EPERM", "EACCES"), setup="import os, resource")
    lab.says(
        _LIBC + "\nimport platform\ncolumn = 0 if platform.machine() == 'x86_64' else 1\n"
        "space = ctypes.create_string_buffer(8)\n"
        "def place(of): return ctypes.byref((ctypes.c_size_t * 2)(ctypes.addressof(of), 8))"
    )
    for numbers, arguments in OF_OTHERS.values():
        call = f"r = libc.syscall({numbers}[column], {arguments})\nif r == -1: raise OSError(ctypes.get_errno(), '')"
        lab.refused(call, ("EPERM", "ENOSYS"), setup="import os")
    # A process may go on changing itself.
    for statement in (
        "resource.prlimit(0, resource.RLIMIT_CPU, resource.getrlimit(resource.RLIMIT_CPU))",
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
        "os.setpriority(os.PRIO_PROCESS, 0, 1)",
        "os.nice(1)",
        "subprocess.run(['true'], preexec_fn=lambda: os.nice(1), check=True)",
    ):
        expect(statement, lab.attempt(statement, setup="import os, resource, subprocess"), "allowed")
    lab.outcome("import os\nos._exit(1)", Outcome.CRASHED)
    expect("the state", lab.says("kept"), "'kept'")


def _gone(victim: Victim) -> None:
    until = time.monotonic() + GONE_SECONDS
    while (alive := victim.alive()) and time.monotonic() < until:
        time.sleep(0.05)
    expect("what is left", alive, [])
