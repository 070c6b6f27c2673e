"""Memory that code in a sandbox can make the kernel hold beside its own pages, by kind: the loss of the machine.

    python benchmarks/kernel_memory.py [--backend bubblewrap] [--image IMAGE] [--limit 256] [KIND…]

Each kind is tried in a sandbox of its own, with children that do the same. The limit is that of the sandbox; the loss
of the machine has to stay below it and 64 MiB more.
"""

from __future__ import annotations

import argparse
import threading
import time

from codenav.core.execution import MIB, Resources, SandboxSpec
from codenav.core.system.interpreter import find_interpreter
from codenav.sandboxes import start

BESIDE = 64 * MIB
MANY = """
import os, time
def in_children(work, count=40):
    for _ in range(count):
        try: pid = os.fork()
        except OSError: break
        if pid == 0:
            try: work()
            except BaseException: pass
            time.sleep(60); os._exit(0)
    time.sleep(4)
"""
KINDS = {
    "semaphores": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for _ in range(32000):
    if libc.semget(0, 32000, 0o1600) < 0: raise OSError(ctypes.get_errno(), 'semget')
""",
    "message queues": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for _ in range(32000):
    queue = libc.msgget(0, 0o1600)
    if queue < 0: raise OSError(ctypes.get_errno(), 'msgget')
    for _ in range(2): libc.msgsnd(queue, b'x' * 8008, 8000, 0o4000)
""",
    "POSIX queues": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for n in range(1000):
    if libc.mq_open(b'/q%d' % n, 0o102, 0o600, None) < 0: raise OSError(ctypes.get_errno(), 'mq_open')
""",
    "unix sockets": """
import socket
def work():
    held = []
    while True:
        a, b = socket.socketpair(); held += [a, b]
        for one in (a, b):
            one.setblocking(False)
            try:
                while True: one.send(bytes(65536))
            except BlockingIOError: pass
in_children(work)
""",
    "unix sockets with large buffers": """
import socket
def work():
    held = []
    while True:
        a, b = socket.socketpair(); held.append(b)
        a.setsockopt(1, 7, 1 << 30); a.setblocking(False)
        try:
            while True: a.send(bytes(65536))
        except BlockingIOError: pass
        a.close()
in_children(work)
""",
    "connections not taken": """
import socket
listener = socket.socket(socket.AF_UNIX); listener.bind('\\0x'); listener.listen(4096)
for _ in range(4096):
    one = socket.socket(socket.AF_UNIX); one.setblocking(False); one.connect('\\0x')
    try:
        while True: one.send(bytes(65536))
    except BlockingIOError: pass
    one.close()
time.sleep(4)
""",
    "TCP": """
import socket
def work():
    listener = socket.create_server(('127.0.0.1', 0)); held = []
    while True:
        a = socket.create_connection(listener.getsockname()); b, _ = listener.accept(); held += [a, b]
        for one in (a, b):
            one.setsockopt(1, 7, 1 << 30); one.setsockopt(1, 8, 1 << 30); one.setblocking(False)
            try:
                while True: one.send(bytes(65536))
            except BlockingIOError: pass
in_children(work)
""",
    "UDP": """
import socket
def work():
    held = []
    a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    while True:
        b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); b.setsockopt(1, 8, 1 << 30)
        b.bind(('127.0.0.1', 0)); held.append(b)
        for _ in range(200): a.sendto(bytes(60000), b.getsockname())
in_children(work)
""",
    "descriptors under way": """
import array, socket
def work():
    held = []
    while True:
        a, b = socket.socketpair(); held += [a, b]
        ends = [end for _ in range(50) for end in os.pipe()]
        for end in ends[1::2]:
            os.set_blocking(end, False); os.write(end, bytes(65536))
        a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', ends))])
        for end in ends: os.close(end)
in_children(work)
""",
    "netlink": """
import socket, struct
def work():
    held = []
    while True:
        one = socket.socket(16, socket.SOCK_RAW, 0); one.bind((0, 0)); held.append(one)
        one.setsockopt(1, 8, 1 << 30); one.setblocking(False)
        ask = struct.pack('=IHHIIB3x', 20, 18, 0x301, 1, 0, 0)
        try:
            for _ in range(2000): one.send(ask)
        except OSError: pass
in_children(work)
""",
    "pipes": """
def work():
    while True:
        _, end = os.pipe(); os.set_blocking(end, False)
        try:
            while True: os.write(end, bytes(65536))
        except BlockingIOError: pass
in_children(work)
""",
    "large pipes": """
import fcntl
def work():
    while True:
        _, end = os.pipe(); fcntl.fcntl(end, 1031, 1 << 20); os.set_blocking(end, False)
        try:
            while True: os.write(end, bytes(65536))
        except BlockingIOError: pass
in_children(work)
""",
    "pages in pipes": """
import ctypes, mmap
libc = ctypes.CDLL(None, use_errno=True)
class Part(ctypes.Structure): _fields_ = [('at', ctypes.c_void_p), ('size', ctypes.c_size_t)]
libc.mmap.restype = ctypes.c_void_p
for _ in range(500):
    _, end = os.pipe()
    for _ in range(16):
        at = libc.mmap(None, ctypes.c_size_t(4 << 20), 3, 0x22, -1, 0)
        huge = (at + (1 << 21) - 1) & -(1 << 21)
        libc.madvise(ctypes.c_void_p(huge), 1 << 21, 14)
        ctypes.memset(huge, 1, 1 << 21)
        if libc.vmsplice(end, ctypes.byref(Part(huge, 4096)), 1, 0) < 0: raise OSError(ctypes.get_errno(), 'vmsplice')
        libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(4 << 20))
time.sleep(4)
""",
    "shared memory no longer mapped": """
import mmap
held = []
for _ in range(64):
    one = mmap.mmap(-1, 32 << 20)
    for at in range(0, 32 << 20, 4096): one[at] = 1
    one.madvise(mmap.MADV_DONTNEED)
    held.append(one)
time.sleep(4)
""",
    "/dev/zero no longer mapped": """
import mmap
held, zero = [], open('/dev/zero', 'r+b', buffering=0)
for _ in range(64):
    one = mmap.mmap(zero.fileno(), 32 << 20)
    for at in range(0, 32 << 20, 4096): one[at] = 1
    one.madvise(mmap.MADV_DONTNEED)
    held.append(one)
time.sleep(4)
""",
    "files without a name": """
held = []
for _ in range(64):
    one = os.memfd_create('x'); held.append(one)
    for _ in range(32): os.write(one, bytes(1 << 20))
time.sleep(4)
""",
    "page tables": """
import ctypes, mmap
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
at = libc.mmap(None, ctypes.c_size_t(1 << 40), 1, 0x4022, -1, 0)
for n in range(300_000): ctypes.string_at(at + (n << 21) + 4096, 1)
time.sleep(4)
""",
    "mappings": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
for n in range(65000): libc.mmap(None, ctypes.c_size_t(4096), n % 2, 0x22, -1, 0)
in_children(lambda: None)
""",
    "event descriptors": """
def work():
    import resource
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    while True: os.eventfd(0)
in_children(work)
""",
    "epoll": """
def work():
    import resource, select
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    ends = [end for _ in range(hard // 4) for end in os.pipe()]
    held = []
    while True:
        one = select.epoll(); held.append(one)
        for end in ends: one.register(end)
in_children(work)
""",
    "inotify": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def work():
    for _ in range(100):
        one = libc.inotify_init1(0o4000)
        if one < 0: raise OSError(ctypes.get_errno(), 'inotify')
        libc.inotify_add_watch(one, b'/tmp', 0xfff)
    for n in range(20000): open('/tmp/' + 'x' * 200 + str(n % 50), 'w').close()
if libc.inotify_init1(0) < 0: raise OSError(ctypes.get_errno(), 'inotify')
in_children(work, 4)
""",
    "timers": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def work():
    made = ctypes.c_void_p()
    while libc.timer_create(1, None, ctypes.byref(made)) == 0: pass
in_children(work)
""",
    "signals that wait": """
import ctypes, signal
libc = ctypes.CDLL(None, use_errno=True)
signal.pthread_sigmask(signal.SIG_BLOCK, range(34, 64))
def work():
    while libc.sigqueue(os.getpid(), 40, 0) == 0: pass
in_children(work)
""",
    "file locks": """
import fcntl
def work():
    for f in range(400):
        one = os.open('l%d-%d' % (os.getpid(), f), os.O_RDWR | os.O_CREAT)
        for n in range(2000): fcntl.lockf(one, fcntl.LOCK_EX, 1, n * 2)
in_children(work, 10)
""",
    "pseudo-terminals": """
def work():
    while True:
        a, b = os.openpty()
        for one in (a, b):
            os.set_blocking(one, False)
            try:
                for _ in range(100): os.write(one, b'x' * 4096)
            except OSError: pass
in_children(work)
""",
    "keys": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for n in range(1000):
    if libc.syscall(248, b'user', b'k%d' % n, bytes(20000), 20000, -3) < 0: raise OSError(ctypes.get_errno(), 'add_key')
""",
    "names that are not there": """
for n in range(400_000):
    try: os.stat('/usr/%d-%s' % (n, 'x' * 200))
    except OSError: pass
time.sleep(1)
""",
    "small files": """
try:
    for n in range(10 ** 6): os.close(os.open('%d-%s' % (n, 'x' * 230), os.O_CREAT))
except OSError as error: print(error)
time.sleep(2)
""",
    "long arguments": """
import subprocess
held = [subprocess.Popen(['sleep', '60'] + ['x' * 100_000] * 15) for _ in range(40)]
time.sleep(4)
""",
    "threads": """
import threading
def work():
    for _ in range(300): threading.Thread(target=time.sleep, args=(60,)).start()
in_children(work)
""",
    "pages that a socket holds": """
import socket
def work():
    listener = socket.create_server(('127.0.0.1', 0)); held = []
    while True:
        a = socket.create_connection(listener.getsockname()); b, _ = listener.accept(); held += [a, b]
        a.setsockopt(1, 60, 1); a.setblocking(False)
        try:
            while True: a.send(bytes(65536), 0x4000000)
        except (BlockingIOError, OSError): pass
work()
""",
}
"""Name and code of each kind."""


def main() -> None:
    """Print the table."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("kinds", nargs="*")
    asked.add_argument("--backend", default="bubblewrap")
    asked.add_argument("--image", default="")
    asked.add_argument("--limit", type=int, default=256, help="MiB")
    given = asked.parse_args()
    limit = given.limit * MIB
    spec = SandboxSpec(find_interpreter(), image=given.image, resources=Resources(memory_bytes=limit, processes=64))
    over = 0
    print(f"{'kind':34} {'lost, MiB':>9}  outcome")
    for kind, code in KINDS.items():
        if given.kinds and kind not in given.kinds:
            continue
        with start(given.backend, spec) as box:
            lost, told = _measured(box, code)
        over += lost > limit + BESIDE
        print(f"{kind:34} {lost / MIB:9.0f}  {told}{'  OVER' if lost > limit + BESIDE else ''}", flush=True)
    raise SystemExit(over > 0)


def _measured(box, code: str) -> tuple[int, str]:
    box.run("pass")
    ended = threading.Event()
    lowest = [_available()]
    before = lowest[0]

    def watch() -> None:
        while not ended.wait(0.01):
            lowest[0] = min(lowest[0], _available())

    watcher = threading.Thread(target=watch)
    watcher.start()
    done = box.run(MANY + code, timeout=25)
    time.sleep(0.3)
    ended.set()
    watcher.join()
    why = f": {done.error.type}: {done.error.message[:60]}" if done.error else ""
    return before - lowest[0], f"{done.outcome}{why}"


def _available() -> int:
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable"))


if __name__ == "__main__":
    main()
