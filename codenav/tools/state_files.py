"""The files of one state of a tool source: what the index walks, what sandboxes import, and what the broker reads.

source.json                          `Summary`
spec.json                            the specification without its operations
checks.json                          findings about its operations, see `weights`
operations/SPEC/GROUP/NAME.tool      one operation with its stub: one block of the index
stubs/tools/SPEC/…                   the package of stubs; `stubs` is the path to import from
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from codenav.core.system.stored import Makers, Stored
from codenav.tools import weights
from codenav.tools.describing import clean, group_text
from codenav.tools.model import Operation, ToolSpec
from codenav.tools.stubs import Stub, file_name, group_modules, package, stubs_of

OPERATIONS, STUBS = "operations", "stubs"
ENDING = ".tool"
_EPOCH = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Summary(Stored):
    """The facts about a state that need no reading of its specification."""

    name: str
    """The name of the package: `tools.NAME`."""
    format: str
    title: str = ""
    version: str = ""
    text: str = ""
    groups: Sequence[Mapping[str, str]] = ()
    """Groups with operations: `name`, `module` (`tools.SPEC.GROUP`) and `text`."""
    operations: Mapping[str, str] = field(default_factory=dict)
    """The file of each operation, relative to `operations/`."""
    notes: Sequence[str] = ()

    made: ClassVar[Makers] = {"groups": tuple, "notes": tuple}


def write_state(spec: ToolSpec, folder: Path) -> None:
    """Write the files of a state into a new folder.

    Raises:
        OSError: no room, or no permission.
    """
    stubs = stubs_of(spec)
    paths = _paths(spec, stubs)
    for path, text in package(spec, stubs):
        _write(folder / STUBS / path, text)
    for operation, stub in zip(spec.operations, stubs, strict=True):
        _write_dated(folder / OPERATIONS / paths[operation.name], _document(operation, stub))
    _write(folder / "spec.json", _dumped(replace(spec, operations=()).to_dict()))
    weights.save(folder, weights.by_rules(spec, paths))
    _write(folder / "source.json", _dumped(_summary(spec, paths).to_dict()))


def _document(operation: Operation, stub: Stub) -> str:
    """The content of a `.tool` file."""
    return _dumped(
        {
            "operation": operation.to_dict(),
            "signature": stub.signature,
            "docstring": stub.docstring,
            "text": stub.text,
            "import_line": stub.import_line,
        }
    )


def read_summary(folder: Path) -> Summary:
    """The summary of a state.

    Raises:
        OSError, ValueError, KeyError, TypeError: it is not there, or damaged.
    """
    return Summary.from_dict(json.loads((folder / "source.json").read_text(encoding="utf-8")))


def read_spec_of(folder: Path, *, names: Sequence[str] | None = None) -> ToolSpec:
    """The specification of a state, with its operations or only those with these names.

    Raises:
        OSError, ValueError, KeyError, TypeError: it is not there, or damaged.
    """
    spec = ToolSpec.from_dict(json.loads((folder / "spec.json").read_text(encoding="utf-8")))
    paths = read_summary(folder).operations
    wanted = paths if names is None else [name for name in names if name in paths]
    return replace(spec, operations=tuple(read_operation(folder / OPERATIONS / paths[name]) for name in wanted))


def read_operation(path: Path) -> Operation:
    """The operation of a `.tool` file.

    Raises:
        OSError, ValueError, KeyError, TypeError: it is not there, or damaged.
    """
    return Operation.from_dict(json.loads(path.read_text(encoding="utf-8"))["operation"])


def digest_of(spec: ToolSpec, *, layout: str) -> str:
    """The name of the folder of a state: equal for equal content, in whatever order objects list their keys."""
    text = json.dumps([layout, spec.to_dict()], sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _dumped(data: Any) -> str:
    """JSON in ASCII; what JSON has no form for (dates of YAML) becomes text."""
    return json.dumps(data, default=str) + "\n"


def _summary(spec: ToolSpec, paths: Mapping[str, str]) -> Summary:
    modules = group_modules(spec)
    texts = {group.name: group_text(group) for group in spec.groups}
    return Summary(
        spec.name,
        spec.format,
        " ".join(clean(spec.title).split()),
        " ".join(clean(spec.version).split()),
        clean(spec.text).strip()[:2000],
        [
            {"name": name, "module": f"tools.{spec.name}.{module}", "text": texts.get(name, "")}
            for name, module in modules.items()
        ],
        paths,
        tuple(spec.notes),
    )


def _paths(spec: ToolSpec, stubs: Sequence[Stub]) -> dict[str, str]:
    return {
        stub.name: "/".join(filter(None, [spec.name, file_name(stub.group), f"{stub.module}{ENDING}"]))
        for stub in stubs
    }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def _write_dated(path: Path, text: str) -> None:
    """Write a file whose time follows from its content: a build reads only the operations that changed."""
    _write(path, text)
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    time_ns = (_EPOCH + int.from_bytes(digest[:4], "big") // 8) * 1_000_000_000 + int.from_bytes(
        digest[4:], "big"
    ) % 10**9
    os.utime(path, ns=(time_ns, time_ns))
