"""The environment, folder sizes and import folders that the backends derive from a specification."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from codenav.core.execution import Resources, SandboxSpec

WORK_FOLDERS = ("/work", "/workspace", "/sandbox/work")
"""Candidates for the work folder inside. The first that does not collide with a bound folder is used."""
SCRATCH_BYTES = 64 << 20
"""Largest size of /tmp and of /dev/shm, each."""


def folder_sizes(resources: Resources) -> tuple[int, int]:
    """Return the size of the work folder, and that of /tmp and /dev/shm each.

    Together they take at most three quarters of the memory. Their content counts as memory and stays when a step is
    ended for exceeding it, so there must be room left for the next step.
    """
    work, scratch = resources.memory_bytes // 2, resources.memory_bytes // 8
    return min(resources.work_bytes, work), min(SCRATCH_BYTES, scratch)


def import_folders(paths: Sequence[Path]) -> list[str]:
    """Return the folders for the front of `sys.path`. A single file is represented by its folder."""
    found: list[str] = []
    for path in paths:
        folder = str(path.parent if path.is_file() and path.suffix == ".py" else path)
        if folder not in found:
            found.append(folder)
    return found


def environment(spec: SandboxSpec, *, home: str) -> dict[str, str]:
    """Return `os.environ` for code that an interpreter of this machine runs."""
    programs = [str(spec.python.prefix / "bin"), str(spec.python.base_prefix / "bin")]
    path = ":".join(dict.fromkeys([*programs, "/usr/local/bin", "/usr/bin", "/bin"]))
    return composed({"PATH": path}, spec, home=home, imports=import_folders(spec.import_paths))


def composed(own: Mapping[str, str], spec: SandboxSpec, *, home: str, imports: Sequence[str]) -> dict[str, str]:
    """Return `os.environ` for the code: what the system has of its own, a few neutral values, the specification's."""
    base = {
        "LANG": "C.UTF-8",
        **own,
        "HOME": home,
        "TMPDIR": home,
        "MPLBACKEND": "Agg",
        "PYTHONPATH": os.pathsep.join(imports),
        "PYTHONDONTWRITEBYTECODE": "1",
        # As the process of the steps has it.
        "PYTHONHASHSEED": "0",
    }
    return {**{key: value for key, value in base.items() if value}, **spec.env}
