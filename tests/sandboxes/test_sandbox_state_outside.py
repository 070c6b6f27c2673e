"""What lives outside the memory of the process when a step ends it: put right where that can be, else named."""

from __future__ import annotations

import textwrap

import pytest

from codenav.core.execution import Outcome

TRIED_ON = ("bubblewrap",)
"""What runs inside is the same in all of them."""

DIES = "\nimport os; os._exit(1)"
KEPT = "state kept: the variables are those from before this step"


def crash(box, code=""):
    """A step that does something and ends its process; what the notice says beyond that the variables are kept."""
    done = box.run(textwrap.dedent(code) + DIES)
    assert done.outcome is Outcome.CRASHED, done
    assert done.notice.startswith(KEPT), done.notice
    return done.notice[len(KEPT) :]


def says(box, code):
    done = box.run(textwrap.dedent(code), timeout=20)
    assert (done.outcome, done.notice) == (Outcome.OK, ""), done
    return done.stdout.strip()


def test_where_nothing_is_open_nothing_is_named(box):
    box.run("x = 1")
    assert crash(box) == "."
    assert crash(box) == "."


def test_text_that_was_buffered_is_not_spliced_into_what_the_step_wrote(box):
    says(box, "f = open('out.csv', 'w')\nf.write('a,b\\n')")
    told = crash(box, "for n in range(9999): f.write(f'{n},x\\n')")
    assert told == "; an open file that was written on is cut back to its length of before."
    assert says(box, "f.write('c,d\\n')\nf.close()\nopen('out.csv').read()").endswith("'a,b\\nc,d\\n'")


def test_what_was_written_over_stays_and_is_named(box):
    says(box, "f = open('over', 'w+b', buffering=0)\nf.write(b'abc')\nf.seek(0)")
    assert crash(box, "f.write(b'x')") == "; what was written to an open file stays in it."
    assert says(box, "f.tell(), f.read()") == "(0, b'xbc')"
    assert "an open file was deleted" in crash(box, "import os\nos.unlink('over')")
    assert says(box, "f.close()") == ""


def test_a_database_is_closed_and_the_step_undone(box):
    made = """
    import sqlite3
    base = sqlite3.connect('base.db'); private = sqlite3.connect(':memory:')
    for one in base, private: one.execute('create table t (n)'); one.execute('insert into t values (1)'); one.commit()
    private.execute('insert into t values (2)')
    count = 'select count(*), sum(n) from t'
    """
    box.run(textwrap.dedent(made))
    told = crash(box, "base.execute('update t set n = 7')")
    assert told == "; a database connection of before is closed, and what it had not committed is undone."
    assert box.run("base.execute(count)").error.message == "Cannot operate on a closed database."
    assert says(box, "private.execute(count).fetchone(), private.in_transaction") == "((2, 3), True)"
    assert says(box, "base = sqlite3.connect('base.db')\nbase.execute(count).fetchone()") == "(1, 1)"


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_transaction_that_reached_the_disk_is_undone(box, journal):
    path = f"big-{journal}.db"
    made = f"""
    import sqlite3
    base = sqlite3.connect('{path}'); base.execute('pragma journal_mode={journal}'); base.execute('pragma cache_size=2')
    base.execute('create table t (n)'); base.commit()
    base.executemany('insert into t values (?)', [(n,) for n in range(9999)])
    """
    box.run(textwrap.dedent(made))
    assert "what it had not committed is undone" in crash(box, "base.execute('insert into t values (1)')")
    look = f"""
    base = sqlite3.connect('{path}')
    base.execute('select count(*) from t').fetchone(), base.execute('pragma integrity_check').fetchone()
    """
    assert says(box, look) == "((0,), ('ok',))"
    says(box, "base.close()")


def test_shared_memory_is_as_it_was(box):
    made = """
    import mmap, multiprocessing
    from multiprocessing.shared_memory import SharedMemory
    number, many, lock = multiprocessing.Value('i', 5), multiprocessing.Array('d', [1, 2]), multiprocessing.Lock()
    named, nameless = SharedMemory(create=True, size=100), mmap.mmap(-1, 5000)
    named.buf[:2] = nameless[:2] = b'ab'
    open('mapped', 'wb').write(bytes(4096))
    with open('mapped', 'r+b') as file: mapped = mmap.mmap(file.fileno(), 0)
    """
    says(box, made)
    changed = "number.value = 6; many[0] = 9; lock.acquire(); named.buf[0] = nameless[0] = mapped[0] = 120"
    assert crash(box, changed) == "."
    seen = "number.value, many[:], lock.acquire(block=False), bytes(named.buf[:2]), nameless[:2], mapped[0]"
    assert says(box, seen) == "(5, [1.0, 2.0], True, b'ab', b'ab', 0)"
    assert says(box, "again = SharedMemory(named.name)\nagain.buf[0], again.close()") == "(97, None)"
    says(box, "large = mmap.mmap(-1, 2 << 20)\nlarge[0] = 1")
    assert "shared memory of over 1 MiB is as it was left" in crash(box, "large[0] = 2")
    assert says(box, "large[0], number.value") == "(2, 5)"
    box.run("large.close(); named.unlink()")


def test_an_event_loop_goes_on(box):
    made = """
    import asyncio
    loop = asyncio.new_event_loop()
    task = loop.create_task(asyncio.sleep(0.05, 'slept')); loop.run_until_complete(asyncio.sleep(0))
    """
    says(box, made)
    assert crash(box) == "."
    assert says(box, "loop.run_until_complete(task), loop.run_until_complete(loop.run_in_executor(None, int))") == (
        "('slept', 0)"
    )
    says(box, "loop.close()")


def test_going_back_to_a_checkpoint_goes_by_the_same_rules(box):
    says(box, "f = open('kept', 'w+')\nf.write('one\\n')\nimport sqlite3\nb = sqlite3.connect('k.db')")
    number = box.checkpoint()
    says(box, "f.write('two\\n' * 9999)")
    notice = box.restore(number)
    assert f"the variables are those of checkpoint {number}; an open file that was written on is cut back" in notice
    assert "a database connection of before is closed" in notice
    assert says(box, "f.seek(0)\nf.read()").endswith("'one\\n'")


def test_hostile_objects_do_not_keep_a_twin_from_waking(box):
    made = """
    import os, sqlite3, subprocess, asyncio
    class Meta(type):
        def __eq__(self, other): raise SystemExit
        def __hash__(self): raise SystemExit
    class Odd(metaclass=Meta):
        __class__ = property(lambda self: 1 / 0)
    class Child(subprocess.Popen): pass
    odd, child = [Odd()], Child(['sleep', '99'])
    Child.returncode = property(lambda self: 1 / 0)
    class Rows:
        def __init__(self, *given): raise SystemExit
    base = sqlite3.connect('odd.db'); base.row_factory = Rows
    class Loop(asyncio.SelectorEventLoop):
        def is_closed(self): raise KeyboardInterrupt
    loop, kept = Loop(), 1
    """
    says(box, made)
    crash(box)
    assert says(box, "kept") == "1"


def test_a_twin_that_lies_about_what_is_gone_says_only_known_sentences(contained):
    box = contained()
    forge = """
    import gc
    for one in gc.get_objects():
        if type(one).__name__ == 'type' and one.__name__ == 'Outside':
            one.put_right = lambda self, space: 'zz\\u202etx' * 100
    kept = 1
    """
    box.run(textwrap.dedent(forge))
    told = crash(box)
    assert "threads that earlier steps" in told and "cut back" in told
    assert len(told) < 300
    assert says(box, "kept") == "1"


def test_a_lock_of_flock_that_the_step_gave_up_is_there_again(fresh):
    box = fresh()
    box.run("import fcntl, os\nheld = open('held', 'w')\nfcntl.flock(held, fcntl.LOCK_EX)\nfree = open('free', 'w')")
    spoilt = box.run("fcntl.flock(held, fcntl.LOCK_UN)\nfcntl.flock(free, fcntl.LOCK_SH)\nos._exit(1)")
    assert spoilt.notice == "state kept: the variables are those from before this step."
    other = "fcntl.flock(open({!r}), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    assert box.run(other.format("held")).error.type == "BlockingIOError"
    assert box.run(other.format("free")).outcome is Outcome.OK
