"""The paths from which the code of a run imports its sources, and the sentence on them for a model."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from codenav.core.errors import UsageError
from codenav.core.system.interpreter import Interpreter
from codenav.indexers.sources import Source

NAMES = 12
"""Modules of one source that the sentence names."""


def paths_of(
    sources: Sequence[Source], python: Interpreter | None = None, work_dir: str | Path | None = None
) -> list[Path]:
    """The paths that must be importable where code runs.

    Raises:
        UsageError: two sources have tools of one name, or a package `tools` of another source, of the interpreter or
            of the work folder hides those of ours.
    """
    flat = list(_flat(sources))
    tools = [source for source in flat if source.tools]
    if tools:
        _check_names(tools)
        places = [path for source in flat if not source.tools for path in source.import_paths]
        worked = [Path(work_dir).expanduser()] if work_dir else []
        _check_hidden(tools[0], [*worked, *places, *(python.paths if python else ())])
    return list(dict.fromkeys(path for source in sources for path in source.import_paths))


def importable_text(sources: Sequence[Source]) -> str:
    """A line with the top-level packages and modules, and the packages of tools. The description has those below."""
    parts = []
    for source in sources:
        names = [name for part in _flat([source]) for name in _tops(part)]
        top = ", ".join(dict.fromkeys(names[:NAMES]))
        parts.append(f"{top} ({source.name})" if top else source.name)
    text = f"Importable: {'; '.join(parts)}."
    packages = [source.modules[0] for source in _flat(sources) if source.tools]
    if packages:
        text += (
            f" Functions of {', '.join(packages)} are answered by services outside of the sandbox; a call that fails "
            f"raises ToolError (from {packages[0]} import ToolError) with message, status and body."
        )
    return text


def _tops(source: Source) -> Sequence[str]:
    return source.modules[:1] if source.tools else [module for module in source.modules if "." not in module]


def _flat(sources: Sequence[Source]) -> Iterator[Source]:
    for source in sources:
        yield from _flat(list(source.parts.values())) if source.parts else (source,)


def _check_names(tools: Sequence[Source]) -> None:
    named: dict[str, set[str]] = defaultdict(set)
    for source in tools:
        named[source.modules[0]].add(source.name)
    for package, names in named.items():
        if len(names) > 1:
            raise UsageError(
                f"{' and '.join(sorted(names))} are both imported as {package}",
                hint="use them in two runs, or rename one of the files: its name becomes that of the package",
            )


def _check_hidden(source: Source, paths: Sequence[Path]) -> None:
    """Refuse a regular package or module `tools`: wherever it lies on the path, Python takes it before ours."""
    for path in paths:
        single = path.name in ("tools.py", "tools.pyi") and path.is_file()
        for hiding in [path] if single else [path / "tools" / "__init__.py", path / "tools.py"]:
            if os.path.isfile(hiding):
                raise UsageError(
                    f"{hiding} hides {source.modules[0]} of {source.name}: both are imported as tools",
                    hint="rename that file or folder, or leave one of the two out of the run",
                )
