"""Blocks of Cython, and a reader that no file holds up."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.indexers.cython_text import as_python
from codenav.indexers.file_blocks import file_blocks
from codenav.indexers.place import Place
from codenav.indexers.walk import language_of

SOURCE = '''\
# cython: language_level=3
"""Trees of numbers."""
from libc.math cimport sin
cimport numpy as np
import numpy as np
DEF SIZE = 10

ctypedef double DTYPE_t
ctypedef int (*callback)(int, void*)
ctypedef fused number:
    int
    double

cdef extern from "math.h" nogil:
    """
#define NOT_CODE 1
    """
    double sqrt(double x)
    ctypedef struct point_t:
        int x
        size_t y
    enum Side:
        LEFT
    enum: SYSTEM "SYSTEM"
    string name(string text) except +

cdef extern from "<vector>" namespace "std":
    cdef cppclass vector[T]:
        vector() except +
        T& operator[](size_t)

cdef int LIMIT = 10, MORE = 3
cdef double[:, ::1] grid = np.zeros((3, 3), dtype=float)
cdef int (*hook)(int)

cdef struct node:
    int value
    node* next

cdef inline int _clip(int x, int low=0,
                      int high=10) except -1 nogil:
    """Clips."""
    cdef int y = <int> x, z
    if y < low or c'/' == b'/':
        return low
    return max(y, high)

cpdef double total(double[:] values not None):
    cdef Py_ssize_t i
    for i from 0 <= i < values.shape[0]:
        s += <double>values[i] * 25ULL
    free(<void*>&s, sizeof(unsigned long))
    return sin(s)

@cython.boundscheck(False)
def scaled(np.ndarray[double, ndim=2] values, object factor not None, *args) -> object:
    """Scales."""
    cdef:
        size_t i
        double x = helper(3)
    x = _clip(<int>x, 1)
    return new Thing(x)

cdef class Tree(Base):
    """A tree."""
    cdef public int size
    cdef node* _root

    def __cinit__(self, int size=0):
        self._root = <node*> malloc(sizeof(node))

    property depth:
        "How deep."
        def __get__(self):
            return self._depth()

    cdef int _depth(self):
        return compare(self)

    @staticmethod
    cdef Tree of(list items)

    cpdef bint has(self, key):
        return key in self.items

cdef (int, int) pair(int x):
    return x, x
cdef api void* handle() noexcept: return NULL
IF UNIX:
    def only_there(): pass
ELSE:
    def only_here(): pass
'''

WANTED = """\
DOCUMENT trees.fast 2-2 | Trees of numbers.
IMPORT imports 3-5 | from libc.math cimport sin cimport numpy as np import numpy as np
ASSIGNMENT SIZE 6-6 | DEF SIZE = 10
ASSIGNMENT DTYPE_t 8-8 | ctypedef double DTYPE_t
ASSIGNMENT callback 9-9 | ctypedef int (*callback)(int, void*)
CLASS number 10-12 | ctypedef fused number
CONDITIONAL cdef extern from "math.h" nogil 14-25 | cdef extern from "math.h" nogil
FUNCTION sqrt 18-18 | double sqrt(double x)
CLASS point_t 19-21 | ctypedef struct point_t
FUNCTION name 25-25 | string name(string text) except +
CONDITIONAL cdef extern from "<vector>" namespace "std" 27-30 | cdef extern from "<vector>" namespace "std"
CLASS vector 28-30 | cdef cppclass vector[T]
METHOD vector.vector 29-29 | vector() except +
METHOD vector.operator[] 30-30 | T& operator[](size_t)
ASSIGNMENT LIMIT 32-32 | cdef int LIMIT = 10
ASSIGNMENT MORE 32-32 | MORE = 3
ASSIGNMENT grid 33-33 | cdef double[:, ::1] grid = np.zeros((3, 3), dtype=float)
ASSIGNMENT statements 34-34 | cdef int (*hook)(int)
CLASS node 36-38 | cdef struct node
FUNCTION _clip 40-46 | cdef inline int _clip(int x, int low=0, int high=10) except -1 nogil
FUNCTION total 48-53 | cpdef double total(double[:] values not None)
FUNCTION scaled 55-62 | def scaled(np.ndarray[double, ndim=2] values, object factor not None, *args) -> object
CLASS Tree 64-84 | cdef class Tree(Base)
METHOD Tree.__cinit__ 69-70 | def __cinit__(self, int size=0)
METHOD Tree.depth 72-75 | property depth
FUNCTION Tree.depth.__get__ 74-75 | def __get__(self)
METHOD Tree._depth 77-78 | cdef int _depth(self)
METHOD Tree.of 81-81 | cdef Tree of(list items)
METHOD Tree.has 83-84 | cpdef bint has(self, key)
FUNCTION pair 86-87 | cdef (int, int) pair(int x)
FUNCTION handle 88-88 | cdef api void* handle() noexcept
"""


def read(source: str) -> list[CodeBlock]:
    blocks, reason = file_blocks(source, Place("s", "trees/fast.pyx", "trees.fast"), language_of("trees/fast.pyx"))
    assert blocks is not None and not reason
    assert len({block.id for block in blocks}) == len(blocks)
    return blocks


def one(qualname: str) -> CodeBlock:
    return next(block for block in read(SOURCE) if block.qualname == qualname)


def test_every_definition_and_declaration() -> None:
    table = [f"{b.kind.value} {b.qualname} {b.lines.start}-{b.lines.end} | {b.signature}" for b in read(SOURCE)]
    assert table[: WANTED.count("\n")] == WANTED.splitlines()
    assert [row.partition(" |")[0] for row in table if " only_" in row] == [
        "FUNCTION only_there 90-90",
        "FUNCTION only_here 92-92",
    ]


def test_text_docstring_and_calls_are_those_of_the_file() -> None:
    clip = one("_clip")
    assert clip.text.startswith("cdef inline int _clip(int x, int low=0,\n") and clip.docstring == "Clips."
    assert "    cdef int y = <int> x, z\n" in clip.text
    assert clip.calls == ("max",)
    assert one("scaled").text.startswith("@cython.boundscheck(False)\ndef scaled(np.ndarray")
    assert set(one("scaled").calls) == {"cython.boundscheck", "helper", "_clip", "Thing"}
    assert one("Tree").text == (
        'cdef class Tree(Base):\n    """A tree."""\n    cdef public int size\n    cdef node* _root\n\n'
        "    def __cinit__(self, int size=0): ...\n\n    property depth: ...\n\n    cdef int _depth(self): ...\n\n"
        "    @staticmethod\n    cdef Tree of(list items)\n\n    cpdef bint has(self, key): ..."
    )
    assert one("Tree.depth").docstring == "How deep."
    assert {block.language for block in read(SOURCE)} == {"python"}


@pytest.mark.parametrize(
    ("qualname", "line"),
    [
        ("total", "from trees.fast import total"),
        ("scaled", "from trees.fast import scaled"),
        ("Tree.has", "from trees.fast import Tree"),
        ("_clip", ""),
        ("node", ""),
        ("LIMIT", ""),
        ("DTYPE_t", ""),
        ("sqrt", ""),
    ],
)
def test_what_python_can_import_says_how(qualname: str, line: str) -> None:
    assert one(qualname).import_line == line


def test_a_syntax_error_costs_no_more_than_its_place() -> None:
    source = "def a(int x): return (x\ncdef int b(int x):\n    return <int x\ncdef class C:\n    def m(self): pass\n"
    assert {"a", "b", "C", "C.m"} <= {block.qualname for block in read(source)}


@pytest.mark.parametrize(
    "source",
    ["cdef x " + "a[" * 100_000, "x = " + "<a" * 100_000, "cdef f" + "(" * 100_000, "x = " + "sizeof(" * 100_000,
     '"' * 100_000, "cdef int (*" * 50_000, "for x from " * 50_000, "cdef " + "public " * 50_000, "ctypedef " * 50_000],
    ids=range(9),
)  # fmt: skip
def test_hostile_files_are_read_in_linear_time(source: str) -> None:
    started = time.process_time()
    as_python(source)
    assert time.process_time() - started < 2


@settings(max_examples=30, deadline=None, derandomize=True)
@given(data=st.binary(max_size=300), seed=st.integers(0, 2**32))
def test_no_bytes_and_no_mutation_raise(data: bytes, seed: int) -> None:
    chance = random.Random(seed)
    source = SOURCE.encode()
    for _ in range(chance.randrange(1, 6)):
        first, last = sorted(chance.randrange(len(source) + 1) for _ in range(2))
        source = source[:first] + chance.choice([b"", data[:20], bytes(chance.choices(b"()[]:=<&*@\n '\"c", k=6))])
        source += SOURCE.encode()[last:]
    for content in (data, source):
        text = content.decode("utf-8", "replace").replace("\r", "\n")
        assert len(as_python(text).python) == len(text)
        lines = text.count("\n") + 1
        for block in file_blocks(text, Place("s", "a.pyx"), "cython")[0] or ():
            assert 1 <= block.lines.start <= block.lines.end <= lines
            assert block.name and block.text.strip() and block.kind in BlockKind
