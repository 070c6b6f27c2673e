"""Kinds of objects with files behind them; see `state_kind`."""

from __future__ import annotations

from state_kind import kinds

READ = kinds(r"""
file read
    _ = open('in', 'w').write('abc\n' * 9999); fi = open('in'); _ = fi.readline()
  > _ = fi.read()
  ? len(fi.read())
  = 39992

iterator of a file
    it = iter(open('in')); _ = next(it)
  > _ = list(it)
  ? len(list(it))
  = 9998

csv reader
    import csv; cs = csv.reader(open('in')); _ = next(cs)
  > _ = list(cs)
  ? len(list(cs))
  = 9998

zip file
    import zipfile
    with zipfile.ZipFile('z', 'w') as zf: zf.writestr('m', 'x' * 99999)
    ze = zipfile.ZipFile('z').open('m'); _ = ze.read(9)
  > _ = ze.read()
  ? len(ze.read())
  = 99990

tar file
    import tarfile
    with tarfile.open('t', 'w') as tf: tf.add('in')
    ta = tarfile.open('t')
  > _ = ta.extractfile('in').read()
  ? len(ta.extractfile('in').read())
  = 39996

folder
    os.makedirs('many', exist_ok=True)
    for n in range(3000): open(f'many/{n}', 'w').close()
    en = os.scandir('many'); fe = {next(en).name}
  > _ = list(en)
  ? len(fe | {one.name for one in en})
  = 3000

temporary folder
    import tempfile; td = tempfile.TemporaryDirectory()
  > _ = open(td.name + '/new', 'w')
  ? td.cleanup(); os.path.exists(td.name)
  = False
""")

WRITTEN = kinds(r"""
buffered writer
    bw = open('out', 'w'); _ = bw.write('a\n')
  > _ = bw.write('b\n' * 9999)
  ? _ = bw.write('c\n'); bw.close(); open('out').read()
  = 'a\nc\n'

file appended to
    fa = open('log', 'w'); fa.close(); fa = open('log', 'a'); _ = fa.write('a\n'); fa.flush()
  > _ = fa.write('b\n'); fa.flush()
  ? _ = fa.write('c\n'); fa.close(); open('log').read()
  = 'a\nc\n'

temporary file
    tp = tempfile.TemporaryFile(); _ = tp.write(b'a'); tp.flush()
  > _ = tp.write(b'b' * 99); tp.flush()
  ? tp.tell(), tp.seek(0), tp.read()
  = (1, 0, b'a')

logging handler
    import logging
    open('ll', 'w').close()
    lh = logging.FileHandler('ll')
    lg = logging.Logger('k')
    lg.addHandler(lh)
    lg.error('a')
  > lg.error('b')
  ? lg.error('c'); lh.close(); open('ll').read()
  = 'a\nc\n'
""")

OVER = kinds(r"""
file written over
    _ = open('ov', 'w').write('abc'); fo = open('ov', 'r+b', buffering=0)
  > _ = fo.write(b'x')
  ? fo.tell(), fo.read()
  = (0, b'xbc')

lock on a file
    import fcntl
    fk = open('fk', 'w')
    fcntl.lockf(fk, fcntl.LOCK_EX)
  ? print(' POSIX ' in open('/proc/locks').read())
  ? fk.close()
  = False

position
    _ = open('in', 'w').write('x' * 999); fp = open('in', 'rb'); _ = fp.seek(100)
  > _ = fp.seek(0)
  ? fp.tell()
  = 100
""")

BASES = kinds(r"""
database file
    for n in ('a.db', 'w.db', 'o.db'): os.path.exists(n) and os.unlink(n)
    da = sqlite3.connect('a.db')
    _ = da.execute('create table t (n)'), da.execute('insert into t values (1)')
    da.commit()
  > _ = da.execute('update t set n = 2')
  ? sqlite3.connect('a.db').execute('select n from t').fetchall()
  = [(1,)]

connection of it
  ? try: da.execute('select 1')
  ? except sqlite3.ProgrammingError as error: print(error)
  = Cannot operate on a closed database.

database in WAL mode
    dw = sqlite3.connect('w.db')
    _ = dw.execute('pragma journal_mode=wal'), dw.execute('create table t (n)')
    dw.commit()
  > _ = dw.execute('insert into t values (1)')
  ? sqlite3.connect('w.db').execute('select count(*) from t').fetchall()
  = [(0,)]

open transaction on disk
    do = sqlite3.connect('o.db')
    _ = do.execute('pragma cache_size=2'), do.execute('create table t (n)')
    do.commit()
    _ = do.executemany('insert into t values (?)', [(n,) for n in range(9999)])
  > _ = do.execute('insert into t values (1)')
  ? sqlite3.connect('o.db').execute('select count(*) from t').fetchall()
  = [(0,)]
""")
