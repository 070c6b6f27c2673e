"""Runs in the sandbox beside `inside`: what packages say of themselves, and what distributions install.

Its text is run before that of `inside`, in the same names, so it imports nothing of codenav.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Iterator

TEXTS = 48_000
"""Characters of what packages say of themselves."""


def texts_of(modules: list[str]) -> Iterator[str]:
    """Docstrings of modules, and the README that the metadata of their distributions hold."""
    room = TEXTS
    for module in modules:
        try:
            doc = inspect.getdoc(importlib.import_module(module)) or ""
        except BaseException:
            continue
        yield doc[: room // 4]
        room -= len(doc[: room // 4])
    for top in dict.fromkeys(module.partition(".")[0] for module in modules):
        loaded = sys.modules.get(top)
        folders = [os.path.dirname(folder) for folder in getattr(loaded, "__path__", ())]
        folders += [os.path.dirname(getattr(loaded, "__file__", None) or "")]
        for folder in dict.fromkeys(filter(None, folders)):
            text = _readme(folder, top)
            yield text[:room]
            room -= len(text[:room])


def modules_of(distributions: list[str]) -> Iterator[str]:
    """What distributions install that can be imported."""
    from importlib import metadata

    for name in distributions:
        try:
            files = metadata.distribution(name).files or []
        except metadata.PackageNotFoundError:
            continue
        tops = dict.fromkeys(file.parts[0].split(".")[0] for file in files if file.suffix in (".py", ".so"))
        yield from (top for top in tops if top.isidentifier() and not top.startswith("_"))


def _readme(folder: str, top: str) -> str:
    """The description in the metadata of the distribution that has put a module into a folder."""
    try:
        infos = [name for name in os.listdir(folder) if name.endswith(".dist-info")]
    except OSError:
        return ""
    for name in sorted(infos):
        try:
            with open(os.path.join(folder, name, "RECORD"), encoding="utf-8", errors="replace") as file:
                owns = re.search(rf"^{re.escape(top)}(?:/__init__\.|\.)", file.read(), re.MULTILINE)
            if owns:
                with open(os.path.join(folder, name, "METADATA"), encoding="utf-8", errors="replace") as file:
                    return file.read().partition("\n\n")[2]
        except OSError:
            continue
    return ""
