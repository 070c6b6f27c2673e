"""Statements and calls of Python that are written in unusual ways."""

from __future__ import annotations

from codenav.core.blocks import CodeBlock
from codenav.indexers.place import Place
from codenav.indexers.python_blocks import python_blocks


def read(text: str) -> list[CodeBlock]:
    return python_blocks(text, Place("check", "a.py", "pkg.a"))


def test_statements() -> None:
    for source, names in (
        ("x = (1,\n2)\ndef f(): pass\n", ["x", "f"]),
        ("def f(a,\nb):\n    x = [\n1,\n]\n    return x\ny = 1\n", ["f", "y"]),
        ('"""Doc\ndef no(): pass\n"""\ndef f(): pass\n', ["a", "f"]),
        ("# def no(): pass\nx = 'def no(): pass'\n", ["x"]),
        ("@a\n@b(\n  1,\n)\nasync  def f(): pass\n", ["f"]),
        ("x = (a\n@ b)\ndef f(): pass\n", ["x", "f"]),
        ("x >>= 1\ny //= 2\nz: int\nassert x == y\n", ["x", "y", "z", "statements"]),
        ("match = 1\nmatch.group()\n", ["match", "statements"]),
        ("type X[T] = list[T]\ntype(a).b = c()\ntype = b\n", ["X", "type(a).b", "type"]),
        ("f = lambda x: x\nlambda: a(b)\n(lambda: a)(b).c = 1\n", ["f", "statements", "(lambda: a)(b).c"]),
        ("x = 'a' \\\n    'b'\ndef f(): pass\n", ["x", "f"]),
        ("if (x := 1):\n    def f(): pass\nelse:\n    def g(): pass\n", ["if (x := 1)", "f", "g"]),
        ("if lambda: 0: f()\ndef f() -> lambda: 0: pass\n", ["if lambda: 0", "f"]),
        ("x = 1; y = {'a;': (2)}; f()\n", ["x", "y", "statements"]),
        ("class A:\n\tx = 1\n\tdef f(self):\n\t\treturn 1\n        def g(self): pass\n", ["A", "f", "g"]),
        ("\x0cdef f():\n\x0c    pass\n", ["f"]),
        ("class A:\n<<<<<<< HEAD\n    def f(self): pass\n=======\n    def g(self): pass\n>>>>>>> a\n", ["A", "f", "g"]),
        ("x = '\x01'\nﬁle = 1\n", ["x", "ﬁle"]),
        ("  def f():\n    pass\nelse:\n    pass\n", ["f", "else"]),
        ("\n\n", []),
    ):
        assert [block.name for block in read(source)] == names, source


def test_calls() -> None:
    for source, names in (
        ("x = (a\n     .b\n     .c(d))", ("a.b.c",)),
        ("x = (a  # why\n     .b(c))", ("a.b",)),
        ("x = (a().\n     b(c)) + d. e(f) + g .h(i)", ("a", ".b", "d.e", "g.h")),
        ("x = (a\n     (b))", ("a",)),
        ("x = 1 .real(a) + 1..real(b) + 1.5.hex() + None(c) + (0 or(d))", (".real", ".hex", "None")),
        ("x = [*a.b(c), *map(d, e)], {**f.g(h)}", ("a.b", "map", "f.g")),
        ("x = f'{a:{b()}}' f'{{c(d)}}' f'{e(\"f(g)\")}' f'{h[1:2](i)!r:>{j}}' f'{k:%H(l)}'", ("b", "e")),
        ('x = f"""{\n  m(n)\n}""" f"{ {o: p(q)}[r](s) }" f"{t!=u(v)}"', ("m", "p", "u")),
        (
            "x = f'{\", \".join(f\"{a(b)}\")}' f'{(lambda: c(d))}' f'{{{e(f)}}}' rf'\\{g(h)}'",
            (".join", "a", "c", "e", "g"),
        ),
        ("x = 'a' 'b'.c(d)", (".c",)),
        ("def f():\n    match a(b):\n        case C(d) if e(f):\n            g(h)", ("a", "e", "g")),
        (f"x = {'a' * 199}(b) + {'c' * 201}(d) + {'e' * 150}.{'f' * 150}(g)", ("a" * 199, "." + "f" * 150)),
        ("class A:\n    @a((\n        {b\n    @ c, d\n    @ (e), f\n        },\n    ))\n    def f(self): pass", ("a",)),
    ):
        assert tuple(dict.fromkeys(name for block in read(source) for name in block.calls)) == names, source


def test_only_formatted_strings_hold_calls() -> None:
    for prefixes, calls in (
        (["f", "F", "fr", "fR", "Fr", "FR", "rf", "Rf", "rF", "RF", "t", "tr", "rt"], ("escape",)),
        (["", "r", "b", "rb", "br", "u"], ()),
    ):
        for prefix in prefixes:
            (block,) = read(f"def shown(x):\n    return {prefix}'{{escape(x)}} '\n")
            assert block.calls == calls, prefix
