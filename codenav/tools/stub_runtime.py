"""The part that the stubs of all tools share: it hands a call to the host, and turns the answer into a value.

A copy lies in each package of stubs, where it runs: Python 3.8 or newer, standard library only.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

MOST_FILE_BYTES = 8 << 20
"""Most bytes of files that one call sends to the host of codenav."""
_DEPTH = 100
_PICTURES = ("image/png", "image/jpeg", "image/svg+xml")

_OUTSIDE = "tools are called from code that codenav runs: codenav run, codenav sandbox exec"


class _Omitted:
    """The type of `OMIT`."""

    def __repr__(self) -> str:
        return "OMIT"

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "OMIT"


OMIT: Any = _Omitted()
"""The default of optional arguments that may also be null: left out of the request, where None sends null."""


class ToolError(Exception):
    """A call to a tool that failed, or was refused.

    `status`: the HTTP status of the answer; None if there was none. `body`: the answer as a value, else None.
    """

    def __init__(self, message: str, status: int | None = None, body: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.body = body

    def __reduce__(self) -> Any:
        return type(self), (self.message, self.status, self.body)


def call(tool: str, given: Mapping[str, Any], optional: Mapping[str, Any], files: Mapping[str, str]) -> Any:
    """Make a call and return its result.

    `optional` holds the arguments that None leaves out. `files` are those that take a file, each with its media type,
    which may be empty.
    """
    arguments: dict[str, Any] = {}
    left = [MOST_FILE_BYTES]
    for name, value in {**given, **{name: value for name, value in optional.items() if value is not None}}.items():
        if value is not OMIT:
            arguments[name] = _sent_file(name, value, files[name], left) if name in files else _plain(name, value)
    return _value(tool, _send(tool, arguments))


def _send(tool: str, arguments: dict[str, Any]) -> Any:
    host = sys.modules.get("codenav_host")
    if host is None:
        raise ToolError(_OUTSIDE)
    try:
        return host.call_host("tools/" + tool, arguments=arguments)
    except RuntimeError as error:
        raise ToolError(str(error)) from None


def _value(tool: str, answer: Any) -> Any:
    if isinstance(answer, dict):
        for part in answer.get("beside", ()):
            _value(tool, part)
        if "value" in answer:
            return answer["value"]
        if isinstance(answer.get("parts"), list):
            return [_value(tool, part) for part in answer["parts"]]
        if isinstance(answer.get("file"), dict):
            return _written(answer["file"])
        if isinstance(answer.get("error"), dict):
            error = answer["error"]
            raise ToolError(str(error.get("message")), error.get("status"), error.get("body"))
        if "refused" in answer:
            raise ToolError(str(answer["refused"]))
    raise ToolError("the host gave " + tool + " an answer that is none")


def _plain(name: str, value: Any, depth: int = 0) -> Any:
    """The value as JSON data. Dates become texts in ISO 8601, scalars of numpy plain numbers."""
    if value is None or isinstance(value, (bool, int, float, str)):
        # A subclass, such as an enumeration or a scalar of numpy, becomes what JSON writes for it.
        return value
    if depth > _DEPTH:
        raise TypeError(f"{name}: nested deeper than {_DEPTH} levels, or inside itself")
    if isinstance(value, Mapping):
        return {_key(name, key): _plain(name, item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(name, item, depth + 1) for item in value]
    for method in ("isoformat", "tolist", "item", "to_pydatetime"):
        made = getattr(value, method, None)
        if callable(made) and not isinstance(value, type):
            return _plain(name, made(), depth + 1)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if type(value).__name__ in ("UUID", "Decimal", "IPv4Address", "IPv6Address"):
        return float(value) if type(value).__name__ == "Decimal" else str(value)
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        return {key: _plain(name, getattr(value, key), depth + 1) for key in value.__dataclass_fields__}
    raise TypeError(f"{name}: {type(value).__name__} cannot be sent; pass None, bool, int, float, str, list or dict")


def _key(name: str, key: Any) -> str:
    if isinstance(key, str):
        return key
    raise TypeError(f"{name}: the key {key!r:.50} is no text")


def _sent_file(name: str, value: Any, kind: str, left: list[int]) -> Any:
    """A file as it is sent: its name, media type and content in base64; a list of files likewise."""
    if isinstance(value, (list, tuple)):
        return [_sent_file(name, item, kind, left) for item in value]
    shown = name
    if isinstance(value, (bytes, bytearray, memoryview)):
        content = bytes(value)
    elif isinstance(value, (str, os.PathLike)):
        path = os.fspath(value)
        shown = os.path.basename(path)
        try:
            size = os.path.getsize(path)
            if size > left[0]:
                raise ToolError(f"{name}: {path} is larger than {MOST_FILE_BYTES >> 20} MiB")
            with open(path, "rb") as file:
                content = file.read(size + 1)
        except OSError as error:
            raise ToolError(
                f"{name}: cannot read the file {path!r:.200}: {error.strerror}; pass the path of a file, or bytes"
            ) from None
    elif hasattr(value, "read"):
        content = value.read()
        content = content.encode() if isinstance(content, str) else bytes(content)
        shown = os.path.basename(str(getattr(value, "name", name)))
    else:
        raise TypeError(f"{name}: pass the path of a file, or bytes, not {type(value).__name__}")
    left[0] -= len(content)
    if left[0] < 0:
        raise ToolError(f"{name}: the files of a call may have {MOST_FILE_BYTES >> 20} MiB together")
    return {
        "$file": {
            "name": shown if isinstance(shown, str) else os.fsdecode(shown),
            "type": kind or _guessed(str(shown)),
            "data": base64.b64encode(content).decode("ascii"),
        }
    }


def _guessed(name: str) -> str:
    import mimetypes

    return mimetypes.guess_type(name)[0] or "application/octet-stream"


def _written(file: Mapping[str, Any]) -> str:
    """Write an answer into the current folder, under its name or the next free one, and return that name."""
    wanted = os.path.basename(str(file.get("name") or "").replace("\\", "/"))
    wanted = "".join(letter for letter in wanted if letter.isprintable()).lstrip(".")[:100] or "answer.bin"
    stem, end = os.path.splitext(wanted)
    content = base64.b64decode(str(file.get("data") or ""))
    for name in _names(stem, end):
        try:
            with open(name, "xb") as target:
                target.write(content)
            if file.get("show") and file.get("type") in _PICTURES:
                sys.modules["codenav_host"].display({file["type"]: content}, raw=True)
            return name
        except FileExistsError:
            continue
    raise ToolError("the current folder has too many files named " + wanted)


def _names(stem: str, end: str) -> Iterable[str]:
    yield stem + end
    for number in range(2, 10000):
        yield f"{stem}-{number}{end}"


def load(package: str, operations: Mapping[str, str], name: str) -> Any:
    """The operation `name` of a package, imported when it is first asked for."""
    if name not in operations:
        import difflib

        near = difflib.get_close_matches(name, operations, n=1, cutoff=0.6)
        meant = f" (did you mean {near[0]}?)" if near else ""
        raise AttributeError(f"module {package!r} has no operation {name!r}{meant}")
    found = getattr(import_module(f"{package}._operations.{operations[name]}"), name)
    found.__module__ = package
    setattr(sys.modules[package], name, found)
    return found


def offered(operations: Iterable[str]) -> Any:
    """The names for `from tools.SPEC import *`: without those of builtins, which would be lost behind them."""
    import builtins

    return ["ToolError", *(name for name in operations if not hasattr(builtins, name))]


def listed(operations: Iterable[str], groups: Iterable[str] = ()) -> Any:
    """The names for `dir()`."""
    return sorted(["ToolError", *operations, *groups])
