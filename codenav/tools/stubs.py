"""Packages of stubs: the operations of a specification as typed functions of Python.

tools/_runtime.py                      what all stubs share; the same file in the packages of all specifications
tools/SPEC/__init__.py                 the names of the operations; each is imported when it is first asked for
tools/SPEC/__init__.pyi                the signatures of all of them, for type checkers and editors
tools/SPEC/GROUP.py, GROUP.pyi         the operations of one tag or set
tools/SPEC/_operations/NAME.py         one operation

`tools` has no `__init__.py`: the specifications of several sources share it (PEP 420).
"""

from __future__ import annotations

import builtins
import hashlib
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codenav.tools.describing import clean, docstring, group_text, result_type, title_of
from codenav.tools.model import Operation, Parameter, ToolSpec
from codenav.tools.types import Types, allows_null, is_binary, kinds_of, merged, quoted

WIDTH = 100
LONGEST_NAME = 100
"""Bytes of a file's name without its ending."""
RUNTIME = Path(__file__).with_name("stub_runtime.py")

_TYPING = ("Any", "Literal", "Mapping", "Sequence")
_BUILTIN = ("bool", "bytes", "dict", "float", "int", "list", "str")


@dataclass(frozen=True, slots=True)
class Typed:
    """A parameter with its annotation."""

    item: Parameter
    annotation: str
    nullable: bool
    """True for an optional parameter that may also be null."""


@dataclass(frozen=True, slots=True)
class Stub:
    """One operation as Python."""

    name: str
    module: str
    """Name of its module in `_operations`."""
    group: str
    """Name of the module of its group; empty if it has none."""
    signature: str
    """`def create_order(customer: int, *, note: str | None = None) -> dict[str, Any]`, in one line."""
    docstring: str
    text: str
    """The source of the function."""
    import_line: str
    typed: Sequence[Typed]
    result: str
    """The annotation of the result."""


def stubs_of(spec: ToolSpec) -> list[Stub]:
    """The operations of a specification, in its order."""
    groups = group_modules(spec)
    return [_stub(operation, spec, groups.get(operation.group, "")) for operation in spec.operations]


def group_modules(spec: ToolSpec) -> Mapping[str, str]:
    """The names of the modules of groups that have operations, by the groups' names."""
    used = dict.fromkeys(operation.group for operation in spec.operations if operation.group)
    # `tools.SPEC.NAME` is the operation, where an operation and a group have one name.
    taken = {operation.name for operation in spec.operations} | {"ToolError"}
    found = {}
    for name in used:
        module = name
        while module in taken:
            module += "_group"
        taken.add(module)
        found[name] = module
    return found


def package(spec: ToolSpec, stubs: Sequence[Stub]) -> Iterator[tuple[str, str]]:
    """The files of the package, each with its path below the import path."""
    home = f"tools/{spec.name}"
    yield "tools/_runtime.py", RUNTIME.read_text(encoding="utf-8")
    yield f"{home}/__init__.py", _package_module(spec, stubs)
    yield f"{home}/__init__.pyi", _package_types(spec, stubs)
    yield f"{home}/py.typed", ""
    yield f"{home}/_operations/__init__.py", ""
    operations = {operation.name: operation for operation in spec.operations}
    for stub in stubs:
        yield f"{home}/_operations/{stub.module}.py", _operation_module(operations[stub.name], spec, stub)
    for name, module in group_modules(spec).items():
        members = [stub for stub in stubs if stub.group == module]
        text = next((group_text(group) for group in spec.groups if group.name == name), "")
        yield f"{home}/{module}.py", _group_module(spec, text, members)
        lines = [f"from tools.{spec.name} import {stub.name} as {stub.name}" for stub in members]
        yield f"{home}/{module}.pyi", "\n".join([*lines, f"from tools.{spec.name} import ToolError as ToolError", ""])


def file_name(name: str) -> str:
    """A name for the file of an operation or group: itself, or its beginning with a hash where it is too long."""
    if len(name.encode()) <= LONGEST_NAME:
        return name
    digest = hashlib.blake2b(name.encode(), digest_size=6).hexdigest()
    return f"{name.encode()[: LONGEST_NAME - 14].decode(errors='ignore')}_{digest}"


def _stub(operation: Operation, spec: ToolSpec, group: str) -> Stub:
    doc = docstring(operation, spec)
    typed, result = _typed(operation, spec), result_type(operation, spec.schemas)
    names = _renamed(_own_names(operation))
    head = _signature(operation, typed, result, names)
    return Stub(
        operation.name,
        file_name(operation.name),
        group,
        _signature(operation, typed, result, {}).one_line(),
        doc,
        f"{head.lines()}:\n{_documented(doc)}\n{_body(operation, spec, typed, _with(result, names))}\n",
        f"from tools.{spec.name} import {operation.name}",
        typed,
        result,
    )


def _typed(operation: Operation, spec: ToolSpec) -> list[Typed]:
    types = Types(spec.schemas)
    found = []
    for item in operation.parameters:
        kind = types.of(item.schema)
        nullable = not item.required and allows_null(item.schema, spec.schemas)
        if not (item.required or nullable or kind == "Any"):
            kind = f"{kind} | None"
        found.append(Typed(item, kind, nullable))
    return found


@dataclass(frozen=True, slots=True)
class _Signature:
    name: str
    required: Sequence[str]
    optional: Sequence[str]
    result: str

    def one_line(self) -> str:
        return f"def {self.name}({', '.join(self._parts())}) -> {self.result}"

    def lines(self) -> str:
        """The signature in one line, or one line for each parameter where it is long."""
        flat = self.one_line()
        if len(flat) <= WIDTH:
            return flat
        return "\n".join([f"def {self.name}(", *(f"    {part}," for part in self._parts()), f") -> {self.result}"])

    def _parts(self) -> list[str]:
        return [*self.required, *(["*", *self.optional] if self.optional else [])]


def _signature(
    operation: Operation, typed: Sequence[Typed], result: str, names: Mapping[str, str], *, stub_file: bool = False
) -> _Signature:
    """`names` are other names for types, where an operation has the name of one."""
    required, optional = [], []
    for one in typed:
        written = f"{one.item.name}: {_with(one.annotation, names)}"
        if one.item.required:
            required.append(written)
        elif one.nullable:
            # `None` would be sent: a file of types does not say what a default is.
            optional.append(f"{written} = {'...' if stub_file else 'OMIT'}")
        else:
            optional.append(f"{written} = None")
    return _Signature(operation.name, required, optional, _with(result, names))


def _with(annotation: str, names: Mapping[str, str]) -> str:
    """An annotation with other names for types; texts in `Literal` stay."""
    if not names:
        return annotation
    pattern = r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|\b[A-Za-z_]\w*\b"
    return re.sub(pattern, lambda match: names.get(match[0], match[0]), annotation)


def _own_names(operation: Operation) -> Sequence[str]:
    return operation.name, *(item.name for item in operation.parameters)


def _renamed(taken: Sequence[str]) -> Mapping[str, str]:
    """Other names for the types whose names operations or parameters have: `list` is one of many services."""
    return {name: f"{name}_type_" for name in (*_TYPING, *_BUILTIN) if name in taken}


def _imports(text: str, names: Mapping[str, str]) -> list[str]:
    """The import lines for the types in a text."""
    words = set(re.findall(r"[A-Za-z_]\w*", text))
    lines = [
        f"from builtins import {name} as {other}"
        for name, other in names.items()
        if name in _BUILTIN and other in words
    ]
    typing = [
        f"{name} as {names[name]}" if name in names else name for name in _TYPING if names.get(name, name) in words
    ]
    return [*lines, *([f"from typing import {', '.join(typing)}"] if typing else [])]


def _body(operation: Operation, spec: ToolSpec, typed: Sequence[Typed], result: str) -> str:
    # OMIT leaves out what may be null; None leaves out the rest.
    always = [one.item for one in typed if one.item.required or one.nullable]
    optional = [one.item for one in typed if not one.item.required and not one.nullable]
    files = {item.name: _media_type(item, operation, spec) for item in operation.parameters if _takes_file(item, spec)}
    call, answer = _free("call", operation), _free("answer", operation)
    arguments = [quoted(f"{spec.name}/{operation.name}"), _dict(always), _dict(optional), quoted(files)]
    lines = [f"    {answer}: {result} = {call}(", *(f"        {one}," for one in arguments), "    )"]
    flat = f"    {answer}: {result} = {call}({', '.join(arguments)})"
    return "\n".join([*([flat] if len(flat) <= WIDTH else lines), f"    return {answer}"])


def _dict(items: Sequence[Parameter]) -> str:
    return "{" + ", ".join(f"{quoted(item.name)}: {item.name}" for item in items) + "}"


def _free(name: str, operation: Operation) -> str:
    """The name, with underscores after it until nothing of the operation has it."""
    taken = {operation.name, *(item.name for item in operation.parameters)}
    while name in taken:
        name += "_"
    return name


def _takes_file(item: Parameter, spec: ToolSpec) -> bool:
    if item.place not in ("body", "content"):
        return False
    schema = merged(item.schema, spec.schemas)
    if is_binary(schema, spec.schemas):
        return True
    return "array" in kinds_of(schema) and is_binary(schema.get("items"), spec.schemas)


def _media_type(item: Parameter, operation: Operation, spec: ToolSpec) -> str:
    body = operation.body
    if body is None:
        return ""
    if item.place == "content":
        return body.content_type
    named = body.encoding.get(item.wire, {}).get("contentType")
    return named if isinstance(named, str) and "," not in named and "*" not in named else ""


def _operation_module(operation: Operation, spec: ToolSpec, stub: Stub) -> str:
    names = _renamed(_own_names(operation))
    call, used = _free("call", operation), ["call"]
    code = stub.text.replace(_documented(stub.docstring), "", 1)
    if "= OMIT" in code:
        used.insert(0, "OMIT")
    runtime = ", ".join(f"{name} as {call}" if name == "call" and call != "call" else name for name in used)
    lines = [
        "from __future__ import annotations",
        "",
        *_imports(code, names),
        "",
        f"from tools._runtime import {runtime}",
    ]
    return "\n".join([*lines, "", "", stub.text])


def _package_module(spec: ToolSpec, stubs: Sequence[Stub]) -> str:
    rows = "".join(f"    {quoted(stub.name)}: {quoted(stub.module)},\n" for stub in stubs)
    groups = ", ".join(map(quoted, group_modules(spec).values()))
    # An operation may be called `list` or `globals`: nothing here uses a name that one can have.
    return (
        f"{_documented(package_text(spec), indent='')}\n\n"
        "from tools import _runtime\nfrom tools._runtime import ToolError\n\n"
        f"_OPERATIONS = {{\n{rows}}}\n__all__ = _runtime.offered(_OPERATIONS)\n\n\n"
        "def __getattr__(name):\n"
        "    return _runtime.load(__name__, _OPERATIONS, name)\n\n\n"
        "def __dir__():\n"
        f"    return _runtime.listed(_OPERATIONS, [{groups}])\n"
    )


def _group_module(spec: ToolSpec, text: str, members: Sequence[Stub]) -> str:
    names = "".join(f"    {quoted(stub.name)},\n" for stub in members)
    return (
        f"{_documented(text or f'Operations of tools.{spec.name}.', indent='')}\n\n"
        f"import tools.{spec.name}\nfrom tools import _runtime\nfrom tools._runtime import ToolError\n\n"
        f"_NAMES = (\n{names})\n__all__ = _runtime.offered(_NAMES)\n\n\n"
        "def __getattr__(name):\n"
        "    if name not in _NAMES:\n"
        '        raise AttributeError("module %r has no operation %r" % (__name__, name))\n'
        f"    return getattr(tools.{spec.name}, name)\n\n\n"
        "def __dir__():\n"
        "    return _runtime.listed(_NAMES)\n"
    )


def _package_types(spec: ToolSpec, stubs: Sequence[Stub]) -> str:
    operations = {operation.name: operation for operation in spec.operations}
    names = _renamed(tuple(operations))
    written = []
    for stub in stubs:
        operation = operations[stub.name]
        head = _signature(operation, stub.typed, stub.result, names, stub_file=True)
        written.append(f"{head.lines()}:\n{_documented(title_of(operation))}\n    ...\n")
    text = "\n".join(written)
    lines = ["from __future__ import annotations", "", *_imports(text, names), ""]
    public = [name for name in ("ToolError", *operations) if not hasattr(builtins, name)]
    if len(public) <= len(operations):
        lines.insert(1, f"\n__all__ = [{', '.join(map(quoted, public))}]")
    return "\n".join([*lines, "from tools._runtime import ToolError as ToolError", "", text])


def package_text(spec: ToolSpec) -> str:
    """The docstring of the package: title, version, text, and the groups."""
    title = " ".join(filter(None, [" ".join(clean(spec.title).split()) or spec.name, clean(spec.version).strip()]))
    modules = group_modules(spec)
    rows = []
    for group in spec.groups:
        if group.name in modules:
            first = " ".join(group_text(group).partition("\n")[0].split())
            rows.append(
                f"    tools.{spec.name}.{modules[group.name]}: {first}"
                if first
                else f"    tools.{spec.name}.{modules[group.name]}"
            )
    text = clean(spec.text).strip()[:2000]
    return "\n\n".join(filter(None, [f"{title}.", text, "\n".join(["Groups:", *rows]) if rows else ""]))


def _documented(text: str, *, indent: str = "    ") -> str:
    """A docstring as source: escaped, indented, in three quotes."""
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if "\n" not in escaped and not escaped.endswith('"'):
        return f'{indent}"""{escaped}"""'
    body = textwrap.indent(escaped, indent, lambda line: bool(line.strip())).lstrip(" ") if indent else escaped
    return f'{indent}"""{body}\n{indent}"""'
