"""What both backends make of a specification: the environment, the folders to import from."""

from __future__ import annotations

import os

from codenav.execution import SandboxSpec


def import_folders(spec: SandboxSpec) -> list[str]:
    """The folders that go to the front of `sys.path`; for a single file the one that it lies in."""
    found = []
    for path in spec.import_paths:
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
        "PYTHONPATH": os.pathsep.join(import_folders(spec)),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return {**{key: value for key, value in base.items() if value}, **spec.env}
