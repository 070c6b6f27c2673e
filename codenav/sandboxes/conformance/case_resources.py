"""Containment of memory, processors and descriptors."""

from __future__ import annotations

import dataclasses

from codenav.core.execution import Outcome
from codenav.sandboxes.conformance.case_processes import LIBC, system_calls
from codenav.sandboxes.conformance.lab import SMALL, TINY, Case, Check, Lab, Refused, Step, ensure, expect


def out_of_memory(*codes: str) -> list[Check]:
    """The check that each of these steps ends for want of memory, and the one after it does not."""
    return [part for code in codes for part in (Step(code, Outcome.OUT_OF_MEMORY), Step("1 + 1", prints="2"))]


def _processors(lab: Lab) -> None:
    used = float(
        lab.says(
            """
            import os, signal, time
            children = []
            for _ in range(4):
                pid = os.fork()
                if pid == 0:
                    while True: pass
                children.append(pid)
            started = time.monotonic()
            time.sleep(2.0)
            took = time.monotonic() - started
            for pid in children: os.kill(pid, 9)
            used = 0.0
            for pid in children:
                usage = os.wait4(pid, 0)[2]
                used += usage.ru_utime + usage.ru_stime
            print(used / took)
            """
        )
    )
    ensure(used < 1.35, f"{used:.2f} processors were used; one was given")


CASES = (
    Case("R1", "memory beyond the limit is refused or ends the step, by name", out_of_memory(
        "x = bytearray(1 << 30)",
        "x = []\nwhile True: x.append(bytearray(1 << 20))",
        "x = []\nwhile True: x.append([None] * 1000)",
        "x = {}\nwhile True: x[len(x)] = str(len(x))",
    ), {"resources": TINY}),
    Case("R2", "memory of children, of mappings and of files counts", out_of_memory(
        """
        import os, time
        children = []
        for _ in range(5):
            children.append(os.fork())
            if children[-1] == 0:
                held = bytearray(os.urandom(1 << 20)) * 100
                time.sleep(30)
                os._exit(0)
        time.sleep(5)
        if any(os.waitpid(pid, os.WNOHANG)[1] == 9 for pid in children): raise MemoryError('a child was killed')
        """,
        """
        import mmap, time
        held = []
        for _ in range(16):
            try: one = mmap.mmap(-1, 64 << 20)
            except PermissionError: raise MemoryError('no shared memory without a name')
            for at in range(0, 64 << 20, 4096): one[at] = 1
            held.append(one)
        time.sleep(5)
        """,
        """
        import os, time
        try:
            held = [os.memfd_create('x') for _ in range(32)]
            for one in held:
                for _ in range(32): os.write(one, bytes(1 << 20))
        except PermissionError:
            raise MemoryError('no files in memory without a name')
        time.sleep(5)
        """,
        """
        import ctypes, time
        libc = ctypes.CDLL(None, use_errno=True)
        libc.shmat.restype = ctypes.c_void_p
        for _ in range(16):
            segment = libc.shmget(0, 64 << 20, 0o1600)
            if segment < 0: raise MemoryError('no shared memory of System V')
            at = libc.shmat(segment, 0, 0)
            ctypes.memset(at, 1, 64 << 20)
            libc.shmdt(ctypes.c_void_p(at))
        if len(open('/proc/sysvipc/shm').readlines()) < 4: raise MemoryError('it goes with its last user')
        time.sleep(5)
        """,
        """
        import subprocess, sys, time
        code = 'import time; x = b"x" * (150 << 20); time.sleep(30)'
        children = [subprocess.Popen([sys.executable, '-c', code]) for _ in range(3)]
        time.sleep(5)
        if any(child.poll() == -9 for child in children): raise MemoryError('a child was killed')
        """,
    )),
    Case("R3", "many threads and processes get no more than their processors", [
        _processors,
        Step(
            """
            import threading
            for _ in range(16): threading.Thread(target=lambda: sum(range(10 ** 12))).start()
            while True: pass
            """,
            Outcome.TIMEOUT, timeout=1.5,
        ),
    ], {"resources": dataclasses.replace(SMALL, cpus=1.0)}),
    Case("R13", "a crash writes no core", [
        Step("import resource\nresource.getrlimit(resource.RLIMIT_CORE)", prints="(0, 0)"),
        Refused(("ValueError", "EPERM"), "resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))",
                setup="import resource"),
        Step("import os\nos.abort()", Outcome.CRASHED),
        Step("import subprocess, sys\nsubprocess.call([sys.executable, '-c', 'import os; os.abort()'])\nNone"),
        Step("import ctypes\nctypes.string_at(0)", Outcome.CRASHED),
        lambda lab: expect("files", (lab.files(), list(lab.box.artifacts())), ([], [])),
    ], work=True),
    Case("R14", "what no limit counts is refused: semaphores, queues, pages in pipes, secret files", [
        Step(LIBC + "\nends = os.pipe()"),
        system_calls(
            (
                ((64, 190), "0, 32000, 0o1600"),  # semget
                ((68, 186), "0, 0o1600"),  # msgget
                ((447, 447), "0"),  # memfd_secret
                ((278, 75), "ends[1], 0, 0, 0"),  # vmsplice
                ((250, 219), "0, -3, 0"),  # keyctl
            ),
            ("EPERM", "ENOSYS"),
        ),
        Refused(
            ("EROFS", "EACCES", "EPERM", "ENOENT"),
            *(f"open('/proc/sys/{name}', 'w')"
              for name in ("kernel/sem", "kernel/msgmni", "kernel/shmmax", "fs/mqueue/msg_max")),
        ),
    ], reads=True),
    Case("R15", "what waits in sockets counts", out_of_memory(
        """
        import resource, socket
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        held = []
        while True:
            ends = socket.socketpair()
            for end in ends:
                end.setblocking(False)
                try:
                    while True: end.send(bytes(65536))
                except BlockingIOError: pass
            held += ends
        """,
    )),
)  # fmt: skip
