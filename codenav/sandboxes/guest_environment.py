"""What the backends make of a specification: the environment, the folders to import from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from codenav.execution import Resources, SandboxSpec

SCRATCH_BYTES = 64 << 20
"""Of /tmp and of /dev/shm, each."""


def folder_sizes(resources: Resources) -> tuple[int, int]:
    """Of the work folder, and of /tmp and /dev/shm each: together at most three quarters of the memory.

    What lies in them counts as memory and stays when a step is ended for it; there must be room for the next one.
    """
    work, scratch = resources.memory_bytes // 2, resources.memory_bytes // 8
    return min(resources.work_bytes, work), min(SCRATCH_BYTES, scratch)


def import_folders(paths: Sequence[Path]) -> list[str]:
    """The folders that go to the front of `sys.path`; for a single file the one that it lies in."""
    found: list[str] = []
    for path in paths:
        folder = str(path.parent if path.is_file() and path.suffix == ".py" else path)
        if folder not in found:
            found.append(folder)
    return found


def environment(spec: SandboxSpec, *, home: str, temporary: str) -> dict[str, str]:
    """What the code finds in `os.environ`: a few neutral values, then those of the specification."""
    programs = [str(spec.python.prefix / "bin"), str(spec.python.base_prefix / "bin")]
    base = {
        "PATH": ":".join(dict.fromkeys([*programs, "/usr/local/bin", "/usr/bin", "/bin"])),
        "HOME": home,
        "TMPDIR": temporary,
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "PYTHONPATH": os.pathsep.join(import_folders(spec.import_paths)),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return {**{key: value for key, value in base.items() if value}, **spec.env}
