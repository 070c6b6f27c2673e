"""Containment of memory, processors, output and time."""

from __future__ import annotations

import dataclasses
import os
import time

from codenav.execution import Execution, Outcome
from codenav.protocols import Sandbox
from codenav.sandboxes.conformance.case import case
from codenav.sandboxes.conformance.lab import Broken, Lab, Late, ensure, expect, resident, told

STEPS = 10_000
KEPT_STEPS = 500
"""Number of the steps that have a snapshot before each."""
GROWTH_BYTES = 24 << 20
"""Maximum bytes by which the host's own memory may grow in so many steps; those kept by Python's allocator count."""
SLOWER = 2.0
"""Maximum factor by which the last steps may take longer than the first ones."""


@case("R1", "memory beyond the limit is refused or ends the step, by name")
def _memory(lab: Lab) -> None:
    for code in (
        "x = bytearray(1 << 30)",
        "x = []\nwhile True: x.append(bytearray(1 << 20))",
        "x = []\nwhile True: x.append([None] * 1000)",
        "x = {}\nwhile True: x[len(x)] = str(len(x))",
    ):
        _out_of_memory(lab, lab.run(code))


@case("R2", "memory of children, of mappings and of files counts")
def _other_memory(lab: Lab) -> None:
    for code in (
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
    ):
        _out_of_memory(lab, lab.run(code))


def _out_of_memory(lab: Lab, done: Execution) -> None:
    if done.outcome is not Outcome.OUT_OF_MEMORY:
        raise Broken(f"memory over the limit: {told(done)}, wanted out_of_memory")
    expect("the step after it", lab.says("1 + 1"), "2")


@case("R3", "many threads and processes get no more than their processors")
def _processors(lab: Lab) -> None:
    lab.begin(resources=dataclasses.replace(lab.spec.resources, cpus=1.0))
    code = """
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
    used = float(lab.says(code))
    ensure(used < 1.35, f"{used:.2f} processors were used; one was given")
    threads = "import threading\nfor _ in range(16): threading.Thread(target=lambda: sum(range(10 ** 12))).start()\n"
    lab.outcome(threads + "while True: pass", Outcome.TIMEOUT, timeout=1.5)


@case("R4", "output without end is cut, counted, with its head and tail")
def _output(lab: Lab) -> None:
    keep = lab.spec.resources.output_bytes
    for code, total in (
        ("print('begin' + 'x' * 100_000_000 + 'end')", 100_000_009),
        ("print('begin')\nfor _ in range(1000): print('x' * 99_999)\nprint('end')", 100_000_010),
    ):
        done = lab.outcome(code, Outcome.OK)
        expect("bytes written", done.stdout_bytes, total)
        ensure(done.stdout.startswith("begin") and done.stdout.endswith("end\n"), "head or tail is missing")
        ensure("bytes left out" in done.stdout, "what is left out is not told")
        ensure(len(done.stdout) < keep + 200, f"{len(done.stdout)} characters are kept")
    done = lab.outcome("while True: print('x' * 1000)", Outcome.TIMEOUT, timeout=1.0)
    ensure(len(done.stdout) < keep + 200, f"{len(done.stdout)} characters are kept")
    done = lab.outcome("import os\nwhile True: os.write(2, b'y' * 65536)", Outcome.TIMEOUT, timeout=1.0)
    ensure(len(done.stderr) < keep + 400, f"{len(done.stderr)} characters are kept")


@case("R5", "a child that floods both streams in turns does not block")
def _both_streams(lab: Lab) -> None:
    code = """
    import subprocess, sys
    flood = "import os\\nfor _ in range(400):\\n    os.write(1, b'o' * 65536); os.write(2, b'e' * 65536)"
    print(subprocess.call([sys.executable, '-c', flood]))
    """
    done = lab.outcome(code, Outcome.OK)
    expect("bytes on stdout", done.stdout_bytes, 400 * 65536 + 2)
    ensure(done.stderr.startswith("e") and done.stderr.rstrip().endswith("e"), "stderr is not there")


@case("R6", "huge values are described in bounded time and size")
def _huge_values(lab: Lab) -> None:
    for code in (
        "v = 10 ** 5000",
        "v = list(range(5_000_000))",
        "v = 'x' * 50_000_000",
        "v = [[['y' * 10_000] * 100] * 100] * 100",
        "class Huge:\n    def __repr__(self): return 'z' * 50_000_000\nv = Huge()",
        "class Slow:\n    def __repr__(self):\n        while True: pass\nv = Slow()",
        "v = {n: {m: 'w' * 100 for m in range(100)} for n in range(1000)}",
    ):
        lab.run("v = None")
        done = lab.outcome(code, Outcome.OK, within=8.0)
        described = {variable.name: variable.repr for variable in done.changed}
        ensure(0 < len(described.get("v", "")) <= 1100, f"{code}: a repr of {len(described.get('v', ''))} characters")
    lab.run("v = None")
    many = lab.outcome("for n in range(5000): globals()[f'name{n}'] = 'v' * 900", Outcome.OK, within=8.0)
    ensure(sum(len(one.repr) for one in many.changed) < 200_000, "the description of many names is not bounded")


@case("R7", "recursion without end is an error, or ends the step")
def _recursion(lab: Lab) -> None:
    done = lab.outcome("def f(n): return f(n + 1)\nf(0)", Outcome.ERROR)
    expect("its type", done.error and done.error.type, "RecursionError")
    ways = Outcome.CRASHED, Outcome.OUT_OF_MEMORY, Outcome.ERROR, Outcome.TIMEOUT
    lab.outcome("import sys\nsys.setrecursionlimit(10 ** 9)\nf(0)", *ways, timeout=5.0)
    deep = "v = []\nfor _ in range(200_000): v = [v]\nimport json\njson.dumps(v)"
    lab.outcome("sys = __import__('sys'); sys.setrecursionlimit(10 ** 9)\n" + deep, *ways, timeout=5.0)
    # With such a limit an interpreter may crash at any later moment; that, too, is told.
    done = lab.outcome("del v; sys.setrecursionlimit(1000)", *ways, Outcome.OK)
    ensure(done.ok or done.error, "the end of the step is not told")
    later = lab.run("1 + 1")
    expect("a later step", later.stdout if later.ok else lab.run("1 + 1").stdout, "2\n")


@case("R8", "expressions that explode end at a limit")
def _explosions(lab: Lab) -> None:
    ends = Outcome.TIMEOUT, Outcome.OUT_OF_MEMORY
    lab.outcome("import re\nre.match('(a+)+$', 'a' * 64 + 'b')", *ends, timeout=1.5)
    lab.outcome("9 ** 9 ** 9", *ends, timeout=1.5)
    lab.outcome("'x' * (1 << 40)", *ends, timeout=1.5)
    lab.outcome("x = 'ab'\nwhile True: x = x.replace('a', 'aa' + x)", *ends, timeout=3.0)


@case("R9", "descriptors that run out are the sandbox's own")
def _descriptors(lab: Lab) -> None:
    found = lab.says(
        """
        import errno, os
        held = []
        try:
            while True: held.append(os.open('/dev/null', os.O_RDONLY))
        except OSError as error:
            print(errno.errorcode[error.errno], len(held))
            for _ in range(32): os.close(held.pop())
        """
    )
    ensure(found.startswith("EMFILE"), f"descriptors without end: {found}")
    expect("the step after it", lab.says("len(held) > 0"), "True")
    done = lab.run("while True: held.append(os.open('/dev/null', os.O_RDONLY))")
    ensure(done.outcome in (Outcome.ERROR, Outcome.CRASHED), f"the last descriptors: {told(done)}")
    with open(os.devnull, "rb"):
        pass


@case("R10", f"{STEPS} small steps leave time and the host's memory as they were")
def _many_steps(lab: Lab) -> None:
    lab.begin(snapshots=False)
    kept = lab.open()
    for box, steps in ((lab.box, STEPS - KEPT_STEPS), (kept, KEPT_STEPS)):
        box.run("n = 0")
        tenth = max(steps // 10, 50)
        _rounds(box, tenth)
        before, first = resident(), _rounds(box, tenth)
        _rounds(box, steps - 3 * tenth)
        last, grown = _rounds(box, tenth), resident() - before
        expect("the count", box.run("n").stdout, f"{steps}\n")
        ensure(grown < GROWTH_BYTES, f"the host grew by {grown >> 20} MiB in {steps} steps")
        if last > SLOWER * first and last > SLOWER * _fresh(lab, box is kept, tenth):
            raise Late(f"the last steps took {last / first:.1f} times as long as the first")


def _fresh(lab: Lab, snapshots: bool, count: int) -> float:
    """The time of the first steps of a new sandbox: the machine may be busier than it was, for everybody."""
    box = lab.open(snapshots=snapshots)
    box.run("n = 0")
    return _rounds(box, count)


def _rounds(box: Sandbox, count: int) -> float:
    """Run steps and return the first quartile of their times; processor time or the median would hide a slow guest."""
    taken = []
    for _ in range(count):
        started = time.monotonic()
        box.run("n += 1")
        taken.append(time.monotonic() - started)
    return sorted(taken)[len(taken) // 4]


@case("R11", "bombs of compression and pickle end at the memory limit")
def _bombs(lab: Lab) -> None:
    bomb = "import zlib\nsmall = zlib.compress(bytes(64 << 20))\nx = []\nwhile True: x.append(zlib.decompress(small))"
    lab.outcome(bomb, Outcome.OUT_OF_MEMORY)
    lab.outcome("import lzma\nlzma.decompress(lzma.compress(bytes(120 << 20)) * 8)", Outcome.OUT_OF_MEMORY)
    laughs = "import pickle\ndata = b'(lp0\\n' + b'I1\\naI2\\na' + b'.'\nv = pickle.loads(data)\nwhile True: v = v + v"
    lab.outcome(laughs, Outcome.OUT_OF_MEMORY)


@case("R12", "output that drips does not put off the timeout")
def _drip(lab: Lab) -> None:
    code = "import time\nwhile True:\n    print('drip', flush=True)\n    time.sleep(0.05)"
    done = lab.outcome(code, Outcome.TIMEOUT, timeout=1.5)
    ensure(done.stdout.count("drip") > 3, "what was printed before the timeout is lost")


@case("R13", "a crash writes no core", work=True)
def _no_core(lab: Lab) -> None:
    limit = "import resource\nresource.getrlimit(resource.RLIMIT_CORE)"
    expect("the limit", lab.says(limit), "(0, 0)")
    lab.refused(
        "resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))", ("ValueError", "EPERM"), setup="import resource"
    )
    lab.outcome("import os\nos.abort()", Outcome.CRASHED)
    lab.says("import subprocess, sys\nsubprocess.call([sys.executable, '-c', 'import os; os.abort()'])\nNone")
    lab.outcome("import ctypes\nctypes.string_at(0)", Outcome.CRASHED)
    expect("files", (lab.files(), list(lab.box.artifacts())), ([], []))


@case("R14", "what no limit counts is refused: semaphores, queues, pages in pipes, secret files")
def _uncounted(lab: Lab) -> None:
    lab.says(
        "import ctypes, os, platform\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "column = 0 if platform.machine() == 'x86_64' else 1\nends = os.pipe()"
    )
    for numbers, arguments in (
        ((64, 190), "0, 32000, 0o1600"),
        ((68, 186), "0, 0o1600"),
        ((447, 447), "0"),
        ((278, 75), "ends[1], 0, 0, 0"),
        ((250, 219), "0, -3, 0"),
    ):
        call = f"r = libc.syscall({numbers}[column], {arguments})\nif r < 0: raise OSError(ctypes.get_errno(), '')"
        lab.refused(call, ("EPERM", "ENOSYS"))
    for name in ("kernel/sem", "kernel/msgmni", "kernel/shmmax", "fs/mqueue/msg_max"):
        lab.refused(f"open('/proc/sys/{name}', 'w')", ("EROFS", "EACCES", "EPERM", "ENOENT"))


@case("R15", "what waits in sockets counts")
def _sockets(lab: Lab) -> None:
    flood = """
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
    """
    _out_of_memory(lab, lab.run(flood))
