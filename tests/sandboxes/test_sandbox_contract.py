"""What every backend does with a step: output, changes, errors, displays, limits."""

from __future__ import annotations

import os

import pytest

from codenav.core.errors import UsageError
from codenav.core.execution import Outcome, Resources
from codenav.sandboxes import start

TRIED_ON = ("bubblewrap",)
"""What runs inside is the same in all of them: `run_contract` and the tests that say so are for each."""

everywhere = pytest.mark.parametrize("backend", ["bubblewrap", "process", "docker"], indirect=True)


def names(execution):
    return {variable.name: variable.repr for variable in execution.changed}


def test_it_says_what_changed(box):
    box.run("numbers = [1]\nalias = numbers\ncount = 0\ndef bump():\n    global count\n    count += 1")
    assert names(box.run("numbers.append(2)")) == {"numbers": "[1, 2]"}
    assert names(box.run("bump()")) == {"count": "1"}
    assert names(box.run("count = 1")) == {"count": "1"}
    assert names(box.run("print(len(numbers))")) == {}
    assert names(box.run("import os, json as js\n_hidden = 3\nshown = 4")) == {"shown": "4"}
    assert names(box.run("for index in range(3): pass")) == {"index": "2"}


def test_variables_lists_functions_and_classes_but_no_modules(fresh):
    sandbox = fresh()
    sandbox.run("import os\n_private = 1\ndef f(): pass\nclass C: pass\nnumber = 7")
    found = sandbox.variables()
    assert {name: variable.type for name, variable in found.items()} == {"f": "function", "C": "type", "number": "int"}
    assert found["number"].repr == "7"


ERRORS = [
    ("x = 1\ny = x / 0\n", "ZeroDivisionError", 2, "y = x / 0"),
    ("def f():\n    raise KeyError('k')\n\nf()", "KeyError", 2, "raise KeyError('k')"),
    ("a = 1\nb = = 2", "SyntaxError", 2, "b = = 2"),
    ("import json\njson.loads('{')", "json.decoder.JSONDecodeError", 2, "json.loads('{')"),
    ("a = 1\nb = '\0'", "SyntaxError", 2, "b = '\\x00'"),
    ("a = 1\nb = '\ud800'", "SyntaxError", 2, "b = '\\ud800'"),
    ("if True:\n\tx = 1\n        y = 2", "TabError", 3, "y = 2"),
    ("return 1", "SyntaxError", 1, "return 1"),
    ("x = 1\nyield x", "SyntaxError", 2, "yield x"),
    ("(" * 5000, "SyntaxError", 1, None),
    ("x = 1\nfrom __future__ import annotations", "SyntaxError", 2, None),
    ("from __future__ import braces", "SyntaxError", 1, None),
    ("x = 1\n" * 200_000 + "x = =", "SyntaxError", 200_001, None),
]


def test_an_error_has_its_type_and_line(box):
    for code, kind, number, line in ERRORS:
        execution = box.run(code)
        assert execution.outcome is Outcome.ERROR
        assert (execution.error.type, execution.error.line_number) == (kind, number), code[:40]
        assert line is None or execution.error.line == line
        assert "guest_" not in execution.error.traceback
        assert kind.rpartition(".")[2] in execution.error.traceback


def test_the_line_is_the_innermost_of_the_steps_own_code(box):
    execution = box.run("def deep():\n    import json\n    json.loads('')\n\ndeep()")
    assert execution.error.line_number == 3
    assert box.run("deep()").error.line_number == 1


def test_exceptions_whose_own_methods_fail_are_reported(box):
    execution = box.run(
        "class Bad(Exception):\n    def __str__(self): raise SystemExit(3)\n    __repr__ = __str__\nraise Bad()"
    )
    assert (execution.outcome, execution.error.type, execution.error.line_number) == (Outcome.ERROR, "Bad", 4)


def test_a_step_that_never_stops_printing_ends_at_its_timeout(box):
    execution = box.run("while True: print('x' * 1000)", timeout=0.5)
    assert execution.outcome is Outcome.TIMEOUT
    assert execution.stdout_bytes > 1_000_000


def test_classes_pickle_and_functions_have_a_source(box):
    box.run("class Point:\n    x = 3\n\ndef area(w, h):\n    # a comment\n    return w * h\n")
    assert box.run("import pickle\npickle.loads(pickle.dumps(Point())).x").stdout == "3\n"
    assert box.run("import inspect\nprint(inspect.getsource(area))").stdout.startswith(
        "def area(w, h):\n    # a comment"
    )
    assert box.run("if __name__ == '__main__':\n    print('main')").stdout == "main\n"


def test_future_imports_hold_from_their_step_on(fresh):
    sandbox = fresh()
    assert sandbox.run("def f(x: undefined_name): pass").error.type == "NameError"
    sandbox.run("from __future__ import annotations")
    assert sandbox.run("def f(x: undefined_name): pass\nf.__annotations__").stdout == "{'x': 'undefined_name'}\n"


HOSTILE = {
    "loop": "class A:\n    def __repr__(self):\n        while 1: pass\nv = A()",
    "raises": "class A:\n    def __repr__(self): raise SystemExit\nv = A()",
    "huge int": "v = 10 ** 5000",
    "long list": "v = list(range(10_000_000))",
    "long text": "v = 'x' * 10_000_000",
    "cycle": "v = []; v.append(v)",
    "not text": "class A:\n    def __repr__(self): return 3\nv = A()",
    "liar": "class A:\n  __class__ = property(lambda s: 1/0)\n  def __getattribute__(s, n): raise SystemExit\nv = A()",
    "no equality": "class A:\n    def __eq__(self, o): raise BaseException\n    __hash__ = None\nv = A()",
    "deep": "v = []\nfor _ in range(100000): v = [v]",
    "long repr": "class A:\n    def __repr__(self): return 'z' * 50_000_000\nv = A()",
    "metaclass": "class M(type):\n    def __instancecheck__(c, o): raise SystemExit\n"
    "    __subclasscheck__ = __repr__ = lambda *_: 1 / 0\nclass A(metaclass=M): pass\nv = A()",
    "dict": "class D(dict):\n    def __iter__(s): raise SystemExit\n"
    "    items = keys = __len__ = __repr__ = __iter__\nv = D(a=1)",
    "text": "class S(str):\n    def __str__(s): raise SystemExit\n    __repr__ = __len__ = encode = __str__\nv = S(1)",
    "int": "class I(int):\n    def bit_length(s): raise SystemExit\n    __repr__ = bit_length\nv = I(3)",
    "names": "class A: pass\nA.__name__ = 'x' * 10_000; A.__qualname__ = '\\x1b[2J'\nv = A()",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_reprs_are_bounded_whatever_the_object_does(box, name):
    execution = box.run(HOSTILE[name], timeout=20)
    assert execution.outcome is Outcome.OK
    variable = next(variable for variable in execution.changed if variable.name == "v")
    assert 0 < len(variable.repr) <= 1100
    assert "v" in box.variables()
    box.run("del v")


def test_the_description_of_many_names_is_bounded(fresh):
    done = fresh().run("for n in range(5000): globals()[f'name{n}'] = 'v' * 900", timeout=20)
    assert done.ok and sum(len(one.repr) for one in done.changed) < 200_000


@pytest.mark.parametrize("backend", ["bubblewrap", "process"], indirect=True)
def test_numpy_and_pandas_are_described(box):
    execution = box.run("import numpy, pandas\na = numpy.zeros(10**6)\nf = pandas.DataFrame({'c': range(10**5)})\nf")
    described = {variable.name: variable.type for variable in execution.changed}
    assert described == {"a": "ndarray", "f": "DataFrame"}
    assert [display.mime for display in execution.displays] == ["text/html"]
    assert names(box.run("a[0] = 5"))["a"].startswith("array([5.")


def test_rich_objects_are_displayed_and_lies_are_not(fresh):
    sandbox = fresh(resources=Resources(display_bytes=1000))
    make = "class R:\n    def {}(self): return {}\n    def __repr__(self): return 'R'\nR()"
    png = sandbox.run(make.format("_repr_png_", r"b'\x89PNG\r\n\x1a\n' + b'0' * 10"))
    assert [(display.mime, display.data[:4]) for display in png.displays] == [("image/png", b"\x89PNG")]
    assert png.stdout == "R\n"
    assert sandbox.run(make.format("_repr_svg_", "'<svg></svg>'")).displays[0].data == b"<svg></svg>"
    assert sandbox.run(make.format("_repr_png_", "b'no picture'")).displays == []
    assert sandbox.run(make.format("_repr_html_", "'x' * 2000")).displays == []
    assert sandbox.run(make.format("_repr_html_", "1/0")).displays == []


@everywhere
def test_import_paths_are_importable_and_single_files_too(fresh, tmp_path):
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "shapes.py").write_text("SIDES = 4\n")
    (tmp_path / "alone.py").write_text("NAME = 'alone'\n")
    sandbox = fresh(import_paths=[tmp_path / "library", tmp_path / "alone.py"])
    assert sandbox.run("import shapes, alone\nshapes.SIDES, alone.NAME").stdout == "(4, 'alone')\n"
    run = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import shapes; print(shapes.SIDES)'])\n0"
    assert sandbox.run(run).stdout == "4\n0\n"


@pytest.mark.parametrize("backend", ["bubblewrap", "process"], indirect=True)
def test_installed_packages_are_importable_and_pip_tools_of_the_site_work(box):
    assert box.run("import networkx\nnetworkx.karate_club_graph().number_of_nodes()").stdout == "34\n"


def test_a_step_that_is_too_long_is_an_error_and_not_an_exception(box):
    execution = box.run("#" * (3 << 20))
    assert (execution.outcome, execution.error.type) == (Outcome.ERROR, "ValueError")
    assert box.run("x = '" + "y" * (1 << 20) + "'\nlen(x)").stdout == f"{1 << 20}\n"


def test_unknown_backends_and_networks_are_refused(python):
    from codenav.core.execution import SandboxSpec

    with pytest.raises(UsageError, match="chroot"):
        start("chroot", SandboxSpec(python))
    with pytest.raises(UsageError, match="bridge"):
        start("bubblewrap", SandboxSpec(python, network="bridge"))
    with pytest.raises(UsageError, match="cannot cut") as caught:
        start("process", SandboxSpec(python, network="none"))
    assert "--network host" in caught.value.hint


@pytest.mark.parametrize(
    ("named", "network", "holds"),
    [("process", "host", "host"), ("bubblewrap", "host", "host"), ("bubblewrap", "none", "none")],
)
def test_a_network_that_was_asked_for_holds(python, named, network, holds):
    from codenav.core.execution import SandboxSpec

    with start(named, SandboxSpec(python, network=network)) as sandbox:
        assert sandbox.info.network == holds
        namespace = sandbox.run("import os\nprint(os.readlink('/proc/self/ns/net'), end='')").stdout
    assert (namespace == os.readlink("/proc/self/ns/net")) == (holds == "host")
