"""Stubs in the sandboxes that import them: signatures, docstrings, what they send, and what an answer becomes."""

from __future__ import annotations

import ast
import base64
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from drawn import drawn
from hypothesis import given
from hypothesis import strategies as st
from shop_spec import CREATE, SHOP, written

from codenav.core.execution import Outcome, SandboxSpec
from codenav.core.protocols import Sandbox
from codenav.core.system.interpreter import find_interpreter
from codenav.sandboxes import start
from codenav.tools.model import Body, Effect, Group, Operation, Parameter, ToolSpec
from codenav.tools.naming import identifier, unique
from codenav.tools.stubs import package, stubs_of

IMPORTS = """
from tools.shop import create_order, ToolError
import tools.shop as shop
from tools.shop.orders_group import create_order as again
"""


class Service:
    """A handler of calls that keeps them and answers as it is told."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.answer: Any = {"value": {"id": 1}}

    def __call__(self, name: str, arguments: dict[str, Any]) -> Any:
        self.calls.append((name, arguments))
        return self.answer


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture(params=["bubblewrap", "process", "docker"])
def box(request: pytest.FixtureRequest, tmp_path: Path, service: Service) -> Iterator[Sandbox]:
    """A sandbox of each backend that can import the stubs."""
    image = ""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "docker":
            engine = request.getfixturevalue("docker_engine")
            patch.setenv("DOCKER_HOST", engine.host)
            image = engine.base_image()
        stubs = written(SHOP, tmp_path / "stubs")
        work = tmp_path / "work"
        work.mkdir()
        (work / "mug.png").write_bytes(b"a mug")
        spec = SandboxSpec(find_interpreter(), image=image, import_paths=[stubs], work_dir=work)
        with start(str(request.param), spec, calls=service) as opened:
            yield opened


def ran(box: Sandbox, code: str) -> str:
    execution = box.run(code)
    assert execution.outcome is Outcome.OK, (execution.error, execution.stderr)
    return execution.stdout


def test_a_call_goes_to_the_host_and_its_answer_comes_back(box: Sandbox, service: Service, tmp_path: Path) -> None:
    assert ran(box, IMPORTS + "print(again is create_order, shop.create_order is create_order)") == "True True\n"
    assert ran(box, "print(create_order(7, [{'sku': 'a'}], photo='mug.png'))") == "{'id': 1}\n"
    file = {"$file": {"name": "mug.png", "type": "image/png", "data": base64.b64encode(b"a mug").decode()}}
    arguments = {"customer": 7, "items": [{"sku": "a"}], "photo": file}
    assert service.calls == [("tools/shop/create_order", {"arguments": arguments})]
    assert "ToolError, create_order, get_invoice, list, orders" in ran(box, "print(', '.join(dir(shop)))")
    told = ran(box, "help(create_order)")
    assert "Who orders. At least 1. Example: 7." in told
    assert 'A """quoted""" text with \\d in it, bold.' in told

    service.answer = {"file": {"name": "../in voice.pdf", "type": "application/pdf", "data": "JVBERg=="}}
    assert ran(box, "print(shop.get_invoice(3), shop.get_invoice(3), open('in voice.pdf', 'rb').read())") == (
        "in voice.pdf in voice-2.pdf b'%PDF'\n"
    )
    assert (tmp_path / "work" / "in voice-2.pdf").read_bytes() == b"%PDF"

    service.answer = {"error": {"status": 404, "message": "404 Not Found: no order 3", "body": {"code": 9}}}
    caught = "try:\n    shop.list()\nexcept ToolError as error:\n    print(error, error.status, error.body)"
    assert ran(box, caught) == "404 Not Found: no order 3 404 {'code': 9}\n"
    service.answer = {"refused": "shop.list is refused"}
    assert ran(box, caught) == "shop.list is refused None None\n"
    service.answer = ["no answer"]
    assert ran(box, caught) == "the host gave shop/list an answer that is none None None\n"


def test_nothing_is_sent_for_what_cannot_be(box: Sandbox, service: Service) -> None:
    ran(box, IMPORTS)
    for call, told in (
        ("create_order(7, [object()])", "items: object cannot be sent; pass None, bool, int, float, str, list or dict"),
        ("create_order(7, [{1: 2}])", "items: the key 1 is no text"),
        ("create_order(7, [], photo='none.png')", "photo: cannot read the file 'none.png': No such file or directory"),
        ("create_order(7, [], photo=5)", "photo: pass the path of a file, or bytes, not int"),
        ("x = []; x.append(x); create_order(7, x)", "items: nested deeper than 100 levels, or inside itself"),
        ("create_order(7, [], photo=bytes(9 << 20))", "photo: the files of a call may have 8 MiB together"),
        ("create_order(7)", "create_order() missing 1 required positional argument: 'items'"),
        ("create_order(7, [], 'x')", "create_order() takes 2 positional arguments but 3 were given"),
        ("from tools.shop import creat_order", "cannot import name 'creat_order' from 'tools.shop'"),
        ("shop.creat_order", "module 'tools.shop' has no operation 'creat_order' (did you mean create_order?)"),
    ):
        execution = box.run(call)
        assert execution.error and told in execution.error.message, (call, execution.error)
    assert not service.calls


def test_null_is_sent_where_the_schema_has_it_and_values_of_python_become_json(box: Sandbox, service: Service) -> None:
    ran(box, IMPORTS + "import datetime, pathlib, decimal, uuid, enum")
    ran(box, "create_order(1, [], note=None, status=None)")
    ran(box, "create_order(1, [datetime.date(2026, 1, 31), pathlib.Path('a/b'), decimal.Decimal('1.5'), {4}, (5,)])")
    ran(box, "class Kind(enum.Enum):\n    A = 'a'\nclass Text(str, enum.Enum):\n    B = 'b'")
    ran(box, "create_order(1, [Text.B, uuid.UUID(int=0)])")
    items = [arguments["arguments"] for _, arguments in service.calls]
    assert items == [
        {"customer": 1, "items": [], "note": None},
        {"customer": 1, "items": ["2026-01-31", "a/b", 1.5, [4], [5]]},
        {"customer": 1, "items": ["b", "00000000-0000-0000-0000-000000000000"]},
    ]


def test_outside_of_a_sandbox_the_error_says_what_to_do(tmp_path: Path) -> None:
    code = "import tools.shop\ntry:\n    tools.shop.list()\nexcept tools.shop.ToolError as error:\n    print(error)"
    done = subprocess.run([sys.executable, "-c", code], cwd=written(SHOP, tmp_path), capture_output=True, text=True)
    assert done.stdout == "tools are called from code that codenav runs: codenav run, codenav sandbox exec\n"


def test_several_specifications_share_the_package_tools(tmp_path: Path) -> None:
    """Each source has an import path of its own, and `except ToolError` holds for all of them."""
    paths = [written(SHOP, tmp_path / "a"), written(replace(SHOP, name="shelf"), tmp_path / "b")]
    code = "from tools import shop, shelf\nprint(shop.ToolError is shelf.ToolError, shelf.create_order.__module__)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": ":".join(map(str, paths))}
    )
    assert done.stdout == "True tools.shelf\n", done.stderr


USE = """
from tools.shop import ToolError, create_order, list, orders, get_invoice
import tools.shop as shop
from tools.shop.orders_group import create_order as again

order = create_order(1, [{"sku": "a"}], note=None, status="open", photo=b"x")
text: str = get_invoice(3)
number: int = order["id"]
rows = shop.list()
for row in rows:
    print(row["id"])
try:
    again(customer=1, items=[])
except ToolError as error:
    status: int | None = error.status
"""


def test_mypy_understands_the_stubs_and_finds_wrong_calls(tmp_path: Path) -> None:
    folder = written(SHOP, tmp_path)
    wrong = (
        "create_order(1)", "create_order('x', [])", "create_order(1, [], status='shut')", "shop.creat_order",
        "create_order(1, [], 'note')", "shop.list(limit=1)", "text = create_order(1, [])", "shop.get_invoice(None)",
    )  # fmt: skip
    (folder / "use.py").write_text(USE + "\n".join(wrong) + "\n")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    checked = subprocess.run([*mypy, "use.py"], cwd=folder, capture_output=True, text=True)
    lines = [int(line.split(":")[1]) for line in checked.stdout.splitlines() if ": error:" in line]
    assert lines == [USE.count("\n") + 1 + number for number in range(len(wrong))], checked.stdout
    whole = subprocess.run([*mypy, "-p", "tools"], cwd=folder, capture_output=True, text=True)
    assert whole.stdout == "", whole.stdout


ODD = "list dict Any class match call answer OMIT __init__ ToolError 2fa é tools int"
NAMES = st.text(max_size=30) | st.sampled_from(ODD.split())
SCALARS = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=20)
KEYWORDS = (
    "type", "enum", "const", "items", "properties", "required", "anyOf", "oneOf", "allOf", "$ref", "format", "default",
    "additionalProperties", "minimum", "maxLength", "example", "examples", "description", "pattern", "nullable",
)  # fmt: skip
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object", "file"])
SCHEMAS = st.recursive(
    st.dictionaries(st.sampled_from(KEYWORDS), SCALARS | TYPES | st.lists(TYPES | SCALARS, max_size=4), max_size=5)
    | st.booleans(),
    lambda inner: (
        st.fixed_dictionaries({"type": TYPES}, optional={"items": inner, "additionalProperties": inner})
        | st.fixed_dictionaries({}, optional=dict.fromkeys(("anyOf", "allOf"), st.lists(inner, max_size=3)))
        | st.fixed_dictionaries({"type": st.just("object"), "properties": st.dictionaries(NAMES, inner, max_size=4)})
        | st.sampled_from([{"$ref": "#/schemas/A"}, {"$ref": "#/schemas/none"}, {"$ref": 5}])
    ),
    max_leaves=8,
)  # fmt: skip


@st.composite
def operations(draw: st.DrawFn, name: str) -> Operation:
    parameters: list[Parameter] = []
    for text in draw(st.lists(NAMES, max_size=6)):
        own = unique(identifier(text), [item.name for item in parameters])
        required, place = draw(st.booleans()), draw(st.sampled_from(["query", "body", "content"]))
        example, said = draw(SCALARS), draw(st.text(max_size=40))
        parameters.append(Parameter(own, text, place, draw(SCHEMAS), required, said, example))
    return Operation(
        name, draw(NAMES), draw(st.sampled_from(["", "list", "orders", "x" * 90])), draw(st.text(max_size=40)),
        draw(st.text(max_size=80)), draw(st.sampled_from(Effect)), method=draw(st.sampled_from(["", "GET"])),
        path=draw(st.text(max_size=20)), parameters=tuple(sorted(parameters, key=lambda item: not item.required)),
        result=draw(st.none() | SCHEMAS), result_text=draw(st.text(max_size=40)),
        body=draw(st.none() | st.just(Body("a/b"))),
    )  # fmt: skip


@st.composite
def specs(draw: st.DrawFn) -> ToolSpec:
    names: list[str] = []
    for text in draw(st.lists(NAMES, min_size=1, max_size=4)):
        names.append(unique(identifier(text), names))
    made = tuple(draw(operations(name)) for name in names)
    schemas = {"A": draw(SCHEMAS), "B": {"$ref": "#/schemas/A"}}
    return ToolSpec(identifier(draw(NAMES)), "openapi", draw(NAMES), schemas=schemas, operations=made)  # type: ignore[arg-type]


@drawn(60)
@given(specs())
def test_whatever_a_specification_says_its_stubs_are_python_and_hold_one_function_each(spec: ToolSpec) -> None:
    stubs = stubs_of(spec)
    for path, text in package(spec, stubs):
        assert text.isascii() or text.encode("utf-8", "backslashreplace")
        if path.endswith((".py", ".pyi")):
            ast.parse(text.encode("utf-8", "backslashreplace"), feature_version=(3, 8))
    for stub, operation in zip(stubs, spec.operations, strict=True):
        (function,) = ast.parse(stub.text.encode("utf-8", "backslashreplace"), feature_version=(3, 8)).body
        assert isinstance(function, ast.FunctionDef)
        arguments = [item.arg for item in (*function.args.args, *function.args.kwonlyargs)]
        assert [function.name, *arguments] == [operation.name, *(item.name for item in operation.parameters)]
        assert ast.parse(f"{stub.signature}: ...")
        namespace: dict[str, Any] = {"OMIT": None}
        exec(f"from __future__ import annotations\n{stub.text}".encode("utf-8", "backslashreplace"), namespace)
        written_doc = namespace[operation.name].__doc__
        if stub.docstring.isprintable():
            assert written_doc.strip() == stub.docstring.strip()


def test_a_changed_operation_leaves_the_names_and_texts_of_the_others_alone() -> None:
    before = {stub.name: stub for stub in stubs_of(SHOP)}
    changed = replace(SHOP, operations=(replace(CREATE, text="Another text"), *SHOP.operations[1:]))
    after = {stub.name: stub for stub in stubs_of(changed)}
    assert {name for name in before if before[name] != after[name]} == {"create_order"}


def test_the_docstring_shows_an_example_call_and_the_shape_of_the_result() -> None:
    (stub,) = stubs_of(replace(SHOP, operations=(CREATE,)))
    assert 'create_order(customer=7, items=[{"sku": "text"}])' in stub.docstring
    assert '{"id": int, "status"?: "open" | "closed", "items"?: [{"sku": str, "count"?: int}], "parent"?: …}' in (
        stub.docstring
    )


def test_names_of_builtins_do_not_shadow_them(tmp_path: Path) -> None:
    """Operations and parameters called `list`, `type`, `globals`: the stubs work, and `import *` leaves builtins."""
    names = ["list", "type", "id", "globals", "sorted", "getattr", "setattr", "print", "dict", "str", "hasattr", "find"]
    parameters = tuple(
        Parameter(name, name, "query", {"type": "array", "items": {"type": "string"}}, required=number % 2 == 0)
        for number, name in enumerate(names)
    )
    spec = ToolSpec("s", "openapi", groups=(Group("all"),), operations=tuple(
        Operation(name, name, "all", effect=Effect.READ, method="GET", path=f"/{name}", parameters=parameters,
                  result={"type": "array", "items": {"type": "object"}})
        for name in names
    ))  # fmt: skip
    stubs = written(spec, tmp_path / "stubs")
    code = f"""
import sys, types
host = types.ModuleType("codenav_host")
host.call_host = lambda name, arguments: {{"value": arguments}}
sys.modules["codenav_host"] = host
import tools.s as s, tools.s.all as group
from tools.s import *
from tools.s.all import *
assert list("ab") == ["a", "b"] and type(id(s)) is int and sorted([2, 1]) == [1, 2] and callable(find)
given = dict.fromkeys({names[::2]!r}, ["x"])
for name in {names!r}:
    assert getattr(s, name)(**given) == {{"arguments": given}}["arguments"] and name in dir(s), name
    assert getattr(group, name) is getattr(s, name) and name in dir(group)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=stubs, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    used = ["from tools.s import *", "size: int = len(list('ab')) + int(str(1))", "find(*[['a']] * 6)", ""]
    (stubs / "used.py").write_text("\n".join(used))
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--explicit-package-bases", "used.py", "tools"],
        cwd=stubs, capture_output=True, text=True,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout
