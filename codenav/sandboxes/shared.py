"""Modules of the guest that the host uses too. They import the standard library alone."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import guest_frames as frames
    import guest_plain as plain
    import guest_schema as schema
else:

    def _load(name: str) -> Any:
        """Load a module of the guest. It is not in a package: inside, it lies in a folder by itself."""
        spec = importlib.util.spec_from_file_location(
            f"codenav.sandboxes.{name}", Path(__file__).with_name("guest") / f"{name}.py"
        )
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    frames, plain, schema = _load("guest_frames"), _load("guest_plain"), _load("guest_schema")

__all__ = ["frames", "plain", "schema"]
