"""Values in and out, shell commands, packages, and what the last expression gives."""

from __future__ import annotations

import datetime
import decimal
import inspect

import pytest
from package_index import PackageIndex, wheel

from codenav.core.errors import NotFound, SandboxUnavailable, UsageError
from codenav.core.execution import Execution, Outcome, Value
from codenav.core.protocols import Sandbox
from codenav.sandboxes.daemon.client import NamedSandbox
from codenav.sandboxes.decoding import Malformed
from codenav.sandboxes.guest_client import GuestSandbox
from codenav.sandboxes.masked import MaskedSandbox
from codenav.sandboxes.values import decoded, encoded

TRIED_ON = ("bubblewrap",)
"""What runs inside is the same in all of them."""

VALUES = [
    None, True, 0, -7, 10**400, 0.1, float("inf"), "", "ü\ud800'\"\\\n", b"\x00\xff", [1, [2]], (1, (2,)), {1, 2},
    frozenset({"a"}), {"a": 1, 2: (3,), b"b": None}, 3 + 4j, decimal.Decimal("1.10"), datetime.date(2020, 1, 2),
    datetime.time(1, 2, 3), datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC), datetime.timedelta(1, 2, 3),
]  # fmt: skip


def test_values_go_in_and_come_out_as_they_were(box):
    box.set("values", VALUES)
    found = box.get("values")
    assert (found, list(map(type, found))) == (VALUES, list(map(type, VALUES)))
    assert box.run("(type(values[9]), values[4] == 10**400, values[14][2])").stdout == "(<class 'bytes'>, True, (3,))\n"
    box.set("nan", float("nan"))
    assert box.run("nan != nan").stdout == "True\n"
    assert not any("codenav" in name for name in box.run("list(globals())").value.data)


def test_a_value_larger_than_a_step_goes_in_pieces(contained):
    box = contained()
    text = "ü'\"\\" * 400_000
    box.set("text", text)
    assert box.get("text") == text


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("x = object()", "object"),
        ("import array; x = array.array('i')", "array.array"),
        ("x = [1]; x.append(x)", "nested over 100 deep"),
        ("x = 'x' * 20_000_000", "over 8 MiB"),
        ("x = bytes(30_000_000)", "over 8 MiB"),
        ("class Liar(list):\n    def __iter__(self): raise SystemExit\nx = Liar()", "Liar"),
        ("x = '\\x00' * 3_000_000", "over 8 MiB"),
    ],
)
def test_what_does_not_travel_is_named(box, code, told):
    box.run(code)
    with pytest.raises(UsageError, match=told):
        box.get("x")
    assert box.run("1").stdout == "1\n"


def test_what_cannot_be_had_or_set(box):
    with pytest.raises(NotFound, match="nothing_of_that_name"):
        box.get("nothing_of_that_name")
    for name, value in (("1x", 1), ("class", 1), ("x; y", 1), ("x", object()), ("x", "y" * 9_000_000)):
        with pytest.raises(UsageError):
            box.set(name, value)


@pytest.mark.parametrize(
    "hostile",
    [{}, {"tuple": [1], "set": []}, {"exec": "1"}, {"int": "x"}, {"int": 3}, {"dict": [1]}, {"dict": [[[], 1]]},
     {"set": [[1]]}, {"datetime": "x"}, {"timedelta": [10**20, 0, 0]}, {"complex": ["1"]}, {"bytes": "%"},
     {"timedelta": "abc"}, {"Decimal": [1]}, {"float": []}],
)  # fmt: skip
def test_what_comes_from_inside_is_checked(hostile):
    with pytest.raises(Malformed):
        decoded(hostile)


def test_depth_is_bounded_both_ways():
    deep: object = 1
    for _ in range(200):
        deep = [deep]
    with pytest.raises(Malformed):
        decoded(deep)
    with pytest.raises(UsageError):
        encoded(deep)


def test_secrets_are_masked_in_values(contained):
    box = MaskedSandbox(contained(env={"TOKEN": "sesame-open"}), {"TOKEN": "sesame-open"})
    box.run("import os\nt = os.environ['TOKEN']\nx = {t: [t, t.encode(), (t,)]}")
    shown = "[secret TOKEN]"
    assert box.get("x") == {shown: [shown, shown.encode(), (shown,)]}
    assert box.shell("echo $TOKEN").stdout == shown + "\n"


def test_a_shell_command_runs_in_the_work_folder(box):
    box.shell("echo one > file.txt")
    pieces = []
    done = box.shell("cat file.txt; echo two >&2; exit 3", on_output=pieces.append)
    assert (done.exit_code, done.ok, done.stdout, done.stderr) == (3, False, "one\n", "two\n")
    assert "".join(piece.text for piece in pieces if piece.stream == "stdout") == "one\n"
    assert box.shell("true").ok
    assert box.shell("kill -9 $$").exit_code == -9


def test_a_shell_command_ends_with_its_time(contained):
    box = contained()
    done = box.shell("echo begun; sleep 77 & sleep 77", timeout=0.5)
    assert (done.exit_code, done.execution.outcome, done.stdout) == (None, Outcome.TIMEOUT, "begun\n")
    running = "import glob\n[one for one in map(open, glob.glob('/proc/[0-9]*/cmdline')) if 'sleep' in one.read()]"
    assert box.run(running).stdout == "[]\n"


def test_packages_need_a_network(contained):
    box = contained()
    with pytest.raises(SandboxUnavailable, match="no network") as caught:
        box.install("rich")
    assert "network=" in caught.value.hint
    for name in ("--index-url=x", "-r x", "", "a b; c"):
        with pytest.raises(UsageError, match="not the name of a package"):
            box.install(name)


def test_packages_come_from_an_index_and_another_version_takes_the_place(contained):
    with PackageIndex("127.0.0.1") as index:
        for version in ("1.0", "2.0"):
            name, data = wheel("parrot", version, f"version = '{version}'\n")
            index.wheels[name] = data
        box = contained(network="host", env={"PIP_INDEX_URL": index.url()})
        for asked, version in (("parrot == 1.0", "1.0"), ("parrot>=1, <3", "2.0")):
            done = box.install(asked)
            assert (done.exit_code, done.stderr) == (0, "")
            box.run("import importlib, parrot\nimportlib.reload(parrot)")
            assert box.run("parrot.version").value.data == version
        assert box.install("missing").exit_code == 1


def test_the_value_of_the_last_expression_is_apart(box):
    assert box.run("{'a': [1, 2.5, None]}").value == Value("dict", "{'a': [1, 2.5, None]}", {"a": [1, 2.5, None]})
    assert box.run("(1, 2)").value == Value("tuple", "(1, 2)", None)
    assert [box.run(code).value for code in ("1;", "x = 1", "None", "1 / 0")] == [None] * 4
    assert box.run("'x' * 50_000").value.data is None
    done = box.run("print('printed')\n'\\x1b[0m'")
    assert (done.stdout, done.value.data) == ("printed\n'\\x1b[0m'\n", "\\x1b[0m")
    older = {key: item for key, item in done.to_dict().items() if key != "value"}
    assert Execution.from_dict(older).value is None
    assert Execution.from_dict(done.to_dict()).value == done.value


def test_the_last_value_has_a_name(box):
    box.run("6 * 7")
    box.run("None")
    assert box.run("_ + 1").stdout == "43\n"
    box.run("for _ in range(3): pass")
    assert box.run("5\n").stdout == "5\n"
    assert box.run("_").stdout == "2\n"
    box.run("del _")
    assert box.run("_").stdout == "2\n"


def test_a_step_may_await(contained):
    box = contained()
    box.run("import asyncio\nasync def later(value):\n    await asyncio.sleep(0.01)\n    return value")
    assert box.run("await later(3)").stdout == "3\n"
    assert box.run("x = [await later(n) for n in range(3)]\nx").stdout == "[0, 1, 2]\n"
    counted = "async def count():\n    for n in range(2):\n        yield n\nasync for n in count():\n    print(n)"
    assert box.run(counted).stdout == "0\n1\n"
    failed = box.run("async def fail():\n    return 1 / 0\nawait fail()")
    assert (failed.error.type, failed.error.line_number) == ("ZeroDivisionError", 2)
    assert "asyncio" not in failed.error.traceback
    box.run("task = asyncio.get_event_loop().create_task(later(5))")
    stopped = box.run("await asyncio.sleep(60)", timeout=0.3)
    assert (stopped.outcome, stopped.notice[:10]) == (Outcome.TIMEOUT, "state kept")
    assert box.run("await task").stdout == "5\n"
    assert box.run("asyncio.run(later(6))").stdout == "6\n"
    assert box.run("import os\nos._exit(1)").outcome is Outcome.CRASHED
    assert box.run("await later(7)").stdout == "7\n"
    assert box.run("async def f():\n    pass\nf()\nreturn 1").error.type == "SyntaxError"


def test_what_a_step_awaits_may_refuse_to_be_interrupted(contained):
    box = contained()
    box.run("import asyncio")
    code = "try:\n    await asyncio.sleep(60)\nexcept asyncio.CancelledError:\n    print('cancelled')"
    done = box.run(code, timeout=0.3)
    assert (done.outcome, done.stdout) == (Outcome.TIMEOUT, "cancelled\n")


def test_all_kinds_of_sandboxes_have_the_same_surface():
    wanted = [name for name in vars(Sandbox) if not name.startswith("_")]
    assert {"run", "get", "set", "shell", "install", "files"} <= set(wanted)
    for kind in (GuestSandbox, MaskedSandbox, NamedSandbox):
        for name in wanted:
            ours, theirs = inspect.getattr_static(Sandbox, name), inspect.getattr_static(kind, name)
            assert isinstance(theirs, property) == isinstance(ours, property), (kind, name)
            if not isinstance(ours, property):
                told = [inspect.signature(one).parameters for one in (ours, theirs)]
                assert list(told[0]) == list(told[1]), (kind, name)
