"""Sending the guest into a container over standard input. No image contains it, and no engine need see our files.

The container speaks first and says which Python it has. The reply is the guest, as byte code if that Python can
load ours, else as source.
"""

from __future__ import annotations

import functools
import importlib.util
import marshal
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from codenav.core.errors import SandboxUnavailable
from codenav.core.system.interpreter import OLDEST
from codenav.sandboxes.decoding import Malformed
from codenav.sandboxes.launch import GUEST

LENGTH = struct.Struct(">I")
HELLO_BYTES = 200
"""Longest first line in bytes."""

# `importlib.util` exports the same two names, but is not loaded yet.
BOOTSTRAP = """
import marshal, os, sys
if sys.path[0] == "":
    del sys.path[0]
from _frozen_importlib_external import MAGIC_NUMBER, spec_from_file_location
counts = ["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control", ""]
killed = [path for path in counts if not path or os.path.exists(path)][0]
hello = ("%d.%d.%d" % sys.version_info[:3], str(os.getuid()), MAGIC_NUMBER.hex(), killed)
os.write(1, ("codenav " + " ".join(hello) + "\\n").encode())
def take(size):
    found = b""
    while len(found) < size:
        piece = os.read(0, size - len(found))
        if not piece:
            os._exit(0)
        found += piece
    return found
class Loader:
    def __init__(self, modules):
        self.modules = modules
    def find_spec(self, name, path=None, target=None):
        if name in self.modules:
            return spec_from_file_location(name, "/run/codenav/" + name + ".py", loader=self)
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        code = self.modules[module.__name__]
        if isinstance(code, str):
            code = compile(code, module.__file__, "exec")
        exec(code, module.__dict__)
loader = Loader(marshal.loads(take(int.from_bytes(take(4), "big"))))
sys.meta_path.insert(0, loader)
for name in list(loader.modules):
    __import__(name)
sys.meta_path.remove(loader)
loader.modules.clear()
sys.modules["guest_supervisor"].Supervisor.of_standard_streams().serve()
"""


@dataclass(frozen=True)
class Hello:
    """The introduction of a container's Python."""

    version: str
    """The version, such as `3.11.2`."""
    uid: int
    magic: str
    """The magic number of its byte code, in hexadecimal."""
    killed: str
    """File whose line `oom_kill N` counts the kernel's out-of-memory kills in the container. May be empty."""

    @classmethod
    def read(cls, receive: Callable[[], bytes]) -> Hello:
        """Read the introduction from the first line that arrives.

        Raises:
            Malformed: it is not the line that the bootstrap sends.
        """
        line = b""
        while b"\n" not in line:
            line += receive()
            if len(line) > HELLO_BYTES:
                break
        parts = line.decode("ascii", "replace").split()
        try:
            word, version, uid, magic = parts[:4]
            found = cls(version, int(uid), magic, " ".join(parts[4:]))
        except ValueError:
            raise Malformed(f"the first line is {line[:80]!r}") from None
        if word != "codenav":
            raise Malformed(f"the first line is {line[:80]!r}")
        return found

    def check(self, image: str) -> None:
        """Check that the guest can run there.

        Raises:
            SandboxUnavailable: the Python is too old, or the user is root.
        """
        numbers = tuple(int(part) for part in self.version.split(".")[:2] if part.isdigit())
        if numbers < OLDEST:
            raise SandboxUnavailable(
                f"the image {image} has Python {self.version}; {'.'.join(map(str, OLDEST))} or later is needed",
                hint="codenav sandbox build --base python:3.12-slim --on SOURCE",
            )
        if self.uid == 0:
            raise SandboxUnavailable(
                f"the user of the image {image} is root under another name", hint="USER 1000 in its Dockerfile"
            )


def guest_for(magic: str) -> bytes:
    """Return the guest, prefixed with its length, for a Python with that byte code magic number."""
    return _packed() if magic == importlib.util.MAGIC_NUMBER.hex() else _source()


@functools.cache
def _packed() -> bytes:
    return _framed({name: compile(text, f"/run/codenav/{name}.py", "exec") for name, text in _modules().items()})


@functools.cache
def _source() -> bytes:
    return _framed(_modules())


def _framed(modules: dict[str, Any]) -> bytes:
    # Marshal version 2 is readable by every Python.
    data = marshal.dumps(modules, 2)
    return LENGTH.pack(len(data)) + data


def _modules() -> dict[str, str]:
    """Return name and source of every guest module except the entry point, which the bootstrap replaces."""
    found = {}
    for name in sorted(os.listdir(GUEST)):
        if name.endswith(".py") and name != "guest_main.py":
            found[name.removesuffix(".py")] = (GUEST / name).read_text(encoding="utf-8")
    return found
