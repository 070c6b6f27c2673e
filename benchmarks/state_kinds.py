"""Kinds of objects that live on between two steps, by group; see `state_kind`."""

from __future__ import annotations

from state_kind import Kind, kinds
from state_kinds_on_disk import BASES, OVER, READ, WRITTEN

GONE = "that earlier steps had opened are gone"
LOCKED = "a lock that one of them held stays locked"
CUT = "an open file that was written on is cut back to its length of before"
STAYS = "what was written to an open file stays in it"
UNLOCKED = "locks on files, by fcntl or lockf, are gone"
CLOSED = "a database connection of before is closed, and what it had not committed is undone"
BROKEN = "pools, futures and queues that they served are broken"

PRIVATE = kinds(r"""
array
    import array; ar = array.array('d', [1] * 9)
  > ar[0] = 2
  ? ar[0]
  = 1.0

generator
    def count():
        yield from range(9)
    ge = count(); next(ge)
  > list(ge)
  ? next(ge)
  = 1

frame
    import sys
    def fr():
        v = 5
        return sys._getframe()
    fm = fr()
  > fm = 0
  ? fm.f_locals['v']
  = 5

coroutine
    async def co():
        return 4
    cr = co()
  > cr.close()
  ? try: cr.send(None)
  ? except StopIteration as end: print(end.value)
  = 4

event loop with a task
    import asyncio; lo = asyncio.new_event_loop(); tk = lo.create_task(asyncio.sleep(0.01, 3))
  > lo.run_until_complete(tk)
  ? lo.run_until_complete(tk)
  = 3

context variable
    import contextvars; cv = contextvars.ContextVar('cv'); _ = cv.set(1)
  > _ = cv.set(2)
  ? cv.get()
  = 1

random state
    import random; random.seed(3)
  > random.random()
  ? round(random.random(), 6)
  = 0.237965

decimal context
    import decimal; decimal.getcontext().prec = 5
  > decimal.getcontext().prec = 9
  ? decimal.getcontext().prec
  = 5

environment
    import os; os.environ['KIND'] = 'a'
  > os.environ['KIND'] = 'b'
  ? os.environ['KIND']
  = 'a'

working directory
    import os; home = os.getcwd()
  > os.chdir('/')
  ? os.getcwd() == home
  = True

signal handler
    import signal; _ = signal.signal(signal.SIGUSR1, lambda *_: print('caught'))
  > _ = signal.signal(signal.SIGUSR1, signal.SIG_DFL)
  ? signal.raise_signal(signal.SIGUSR1)
  = caught

lock held by the step
    import threading; lk = threading.Lock(); _ = lk.acquire()
  > lk.release()
  ? lk.locked()
  = True

condition
    cd = threading.Condition()
  > _ = cd.acquire()
  ? with cd: print('free')
  = free

weak reference
    import weakref
    class K: pass
    kk = K(); wr = weakref.ref(kk)
  > del kk
  ? wr() is kk
  = True

cache
    import functools
    @functools.lru_cache
    def ch(n): return n
    _ = ch(1)
  > ch.cache_clear()
  ? ch.cache_info().currsize
  = 1

context manager half open
    import contextlib
    @contextlib.contextmanager
    def cm():
        yield 1
        print('left')
    hc = cm(); _ = hc.__enter__()
  > hc.__exit__(None, None, None)
  ? _ = hc.__exit__(None, None, None)
  = left

database in memory, in a transaction
    import sqlite3
    pm = sqlite3.connect(':memory:')
    _ = pm.execute('create table t (n)'), pm.execute('insert into t values (1)')
  > _ = pm.execute('delete from t')
  ? pm.execute('select n from t').fetchall(), pm.in_transaction
  = ([(1,)], True)
""")

THREADS = kinds(r"""
thread
    import threading, time
    th = threading.Thread(target=time.sleep, args=(99,), daemon=True)
    th.start()
  ? th.is_alive()
  = False

lock held by a thread
    le = threading.Lock(); ev = threading.Event()
    def hold():
        with le: ev.set(); time.sleep(99)
    threading.Thread(target=hold, daemon=True).start(); _ = ev.wait()
  ? le.acquire(timeout=0.1)
  = False

timer
    ti = threading.Timer(99, print); ti.daemon = True; ti.start()
  ? ti.is_alive()
  = False

thread pool
    import concurrent.futures as cf
    ex = cf.ThreadPoolExecutor(1)
    fu = ex.submit(time.sleep, 99)
  ? try: ex.submit(int)
  ? except cf.BrokenExecutor: print('broken')
  = broken

future
  ? try: fu.result(5)
  ? except RuntimeError: print('broken')
  = broken
""")

CHILDREN = kinds(r"""
child by Popen
    import os, subprocess, time; po = subprocess.Popen(['sleep', '99'])
  ? po.poll()
  = -9

child by fork
    fk = os.fork()
    if fk == 0: time.sleep(99); os._exit(0)
  ? try: os.waitpid(fk, 0)
  ? except ChildProcessError: print('none')
  = none
""")

LINES = kinds(r"""
child by multiprocessing
    import multiprocessing, os, socket, time
    mc = multiprocessing.get_context('fork')
    mp = mc.Process(target=time.sleep, args=(99,))
    mp.start()
  ? mp.is_alive(), mp.exitcode
  = (False, -9)

pipe
    pr, pw = os.pipe(); _ = os.write(pw, b'x')
  ? os.read(pr, 1)
  = b''

socket
    sa, sb = socket.socketpair()
  ? sa.recv(1)
  = b''

server
    sv = socket.create_server(('127.0.0.1', 0))
  ? try: sv.accept()
  ? except OSError: print('closed')
  = closed
""")

SHARED = kinds(r"""
Value and Array
    import multiprocessing, mmap
    from multiprocessing import shared_memory
    va, ay = multiprocessing.Value('i', 1), multiprocessing.Array('d', 2)
  > va.value = ay[0] = 5
  ? va.value, ay[:]
  = (1, [0.0, 0.0])

multiprocessing.Lock
    ml = multiprocessing.Lock()
  > _ = ml.acquire()
  ? ml.acquire(block=False)
  = True

shared memory
    sm = shared_memory.SharedMemory(create=True, size=9); sm.buf[0] = 1
  > sm.buf[0] = 2
  ? sm.buf[0]
  = 1

anonymous mmap
    mm = mmap.mmap(-1, 9)
  > mm[0] = 1
  ? mm[0]
  = 0

mapped file
    _ = open('mf', 'wb').write(bytes(4096))
    with open('mf', 'r+b') as ff: mf = mmap.mmap(ff.fileno(), 0)
  > mf[0] = 1
  ? mf[0], open('mf', 'rb').read(1)
  = (0, b'\x00')
""")

SERVED = kinds(r"""
multiprocessing.Queue
    import multiprocessing
    mc = multiprocessing.get_context('fork')
    qu = mc.Queue()
    qu.put(1)
  ? try: qu.get()
  ? except ValueError: print('closed')
  = closed

multiprocessing.Pool
    pl = mc.Pool(1)
  ? try: pl.map(int, [1])
  ? except ValueError: print('broken')
  = broken
""")

GROUPS: dict[str, tuple[tuple[Kind, ...], tuple[str, ...]]] = {
    "private memory": (PRIVATE, ()),
    "files that are read": (READ, ()),
    "files that are written": (WRITTEN, (CUT,)),
    "files that are written over": (OVER, (STAYS, UNLOCKED)),
    "databases": (BASES, (CLOSED,)),
    "threads": (THREADS, (f"threads {GONE}", LOCKED, BROKEN)),
    "children": (CHILDREN, (f"child processes {GONE}",)),
    "connections": (LINES, (f"child processes and connections {GONE}",)),
    "shared memory": (SHARED, ()),
    "served by others": (SERVED, (f"threads, child processes and connections {GONE}", LOCKED, BROKEN)),
}
DEATHS = {
    "os._exit": ("import os; os._exit(3)", 20.0),
    "SIGKILL": ("import os; os.kill(os.getpid(), 9)", 20.0),
    "segfault": ("import ctypes; ctypes.string_at(0)", 20.0),
    "C loop over its time": ("sum(range(10 ** 12))", 1.0),
    "out of memory": (
        "import mmap\nhoard = mmap.mmap(-1, 1 << 30)\nfor n in range(0, 1 << 30, 4096): hoard[n] = 1",
        20.0,
    ),
}
