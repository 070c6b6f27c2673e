"""The checker mypy. Runs in a process of its own (`serve.py`).

mypy's daemon stays warm in the process and is called directly (`mypy_runs.py`). Each step that ran is a module of its
own (`codenav_past_7`), read once, its errors ignored; the step under check is the one module that changes
(`codenav_step`), and it imports just the names that it mentions from the modules that bound them last. So a check costs
the same after 2 and after 40 steps, and a name may have another type in every step.

The daemon is reliable while the libraries that it has read stay the same, and fails with a KeyError when a change
adds more of them (mypy issues 9366, 10047 and 18755, seen with 1.20 and 2.4 on `import ctypes`). So a step that imports
a module not yet read asks for a fresh start with that module (`Loading`), and no module is ever dropped.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from codenav.environments.checkers.answers import Answer, Loading, Past
from codenav.environments.checkers.history import History
from codenav.environments.checkers.lint import UNREADABLE, unreadable
from codenav.environments.checkers.mypy_runs import Mypy, Run, Source, installed
from codenav.environments.checkers.names import bindings, read
from codenav.environments.checkers.prelude import LINES, STEP, Origins
from codenav.environments.checkers.verdicts import Context, remarks

COMMON = (
    "__future__", "collections", "copy", "csv", "dataclasses", "datetime", "enum", "functools", "glob", "io",
    "itertools", "json", "math", "operator", "os", "pathlib", "pprint", "random", "re", "statistics", "string", "sys",
    "textwrap", "time", "typing",
)  # fmt: skip
"""Modules of the standard library that are read at the start: a quarter of a second, instead of a fresh start later."""

_KEPT = "codenav_kept"
"""The module that imports all libraries, so that none is dropped when no step uses it."""
_CONFIG = "[mypy]\nignore_errors = True\n\n[mypy-codenav_step]\nignore_errors = False\n"
_ANY = "from typing import Any\ndef __getattr__(name: str) -> Any: ...\n"
_TYPESHED = frozenset({
    "_collections_abc", "_typeshed", "abc", "builtins", "collections", "mypy_extensions", "sys", "types", "typing",
    "typing_extensions",
})  # fmt: skip
"""Modules that mypy takes from typeshed only: it stops at a file of that name (`build.CORE_BUILTIN_MODULES`)."""

_FLAGS = (
    "--follow-imports=normal",
    "--ignore-missing-imports",
    "--check-untyped-defs",
    "--allow-redefinition",
    # A value that may be None in general is usually known not to be between two steps of one session.
    "--no-strict-optional",
    "--show-column-numbers",
    "--show-error-codes",
    "--no-error-summary",
    "--no-color-output",
    "--no-pretty",
)


class Types:
    """One mypy and the steps that it has read."""

    def __init__(self, settings: Mapping[str, Any], *, run: Callable[..., Run] = Mypy) -> None:
        """`run` makes what runs mypy, of its arguments, a private folder, and the folders of modules."""
        self._folder = Path(settings["folder"])
        self._newest = (settings["version"][0], settings["version"][1])
        self._history = History(self._newest)
        self._origins = Origins(self._history)
        self._clock = 0
        self._loaded = {*COMMON, *settings["load"], *settings["skip"]}
        arguments = self._arguments(settings)
        paths = [str(self._folder), *_importable(settings["import_paths"], self._folder)]
        self._mypy = run(arguments, self._folder, paths)
        kept = "".join(f"import {module}\n" for module in sorted({*COMMON, *settings["load"]}))
        self._sources = [self._write(_KEPT, kept), self._write(STEP, "")]

    def _arguments(self, settings: Mapping[str, Any]) -> list[str]:
        from mypy import defaults

        config = self._folder / "mypy.ini"
        config.write_text(_CONFIG, encoding="utf-8")
        # Found before the real modules. `follow_imports = skip` holds for the first build only.
        skipped = {module.partition(".")[0] for module in settings["skip"]}
        skipped |= {module for module in settings["unlike"] if module.partition(".")[0] not in _TYPESHED}
        for module in skipped:
            folder = self._folder.joinpath(*module.split("."))
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "__init__.pyi").write_text(_ANY, encoding="utf-8")
        # An interpreter older than mypy supports is checked as the oldest supported one.
        version = max(self._newest, defaults.PYTHON3_VERSION_MIN)
        return [
            *_FLAGS,
            *_redefinition(),
            f"--config-file={config}",
            f"--python-executable={settings['python']}",
            f"--python-version={version[0]}.{version[1]}",
        ]

    def check(self, code: str) -> Answer | Loading:
        """The faults of a step, by line."""
        try:
            tree = read(code, newest=self._newest)
        except UNREADABLE as error:
            return unreadable(error, self._newest, "syntax")
        more = self._not_loaded(tree)
        if more:
            return Loading(more)
        bound = bindings(tree)
        self._write(STEP, self._origins.prelude(code, bound) + code + "\n")
        lines = self._run()
        blocked = self._blocked()
        if blocked:
            return Answer(failure=f"mypy cannot read it: {blocked}")
        return Answer(remarks(lines, Context(tree, bound, self._history), skip=LINES))

    def remember(self, steps: Sequence[Past]) -> Loading | None:
        """Read steps that ran now, so that the next check need not. The first call builds the whole program."""
        self._write(STEP, "")
        more: set[str] = set()
        for step in steps:
            module = self._origins.remember(step)
            if module is not None:
                self._sources.append(self._write(*module))
                more |= set(self._not_loaded(ast.parse(module[1])))
        if more:
            return Loading(sorted(more))
        self._run()
        for _ in steps:
            blocked = self._blocked()
            name = blocked.partition(".py:")[0]
            if not blocked or name not in {source.module for source in self._sources}:
                break
            # mypy refuses code that Python has run: a comment that looks like a type, for example.
            self._write(name, _ANY)
            self._run()
        if self._blocked():
            raise RuntimeError(f"mypy cannot read {self._blocked()}")
        return None

    def _not_loaded(self, tree: ast.Module) -> list[str]:
        """Modules that the code imports, that mypy would find, and that it has not read."""
        found = []
        for module in _imported(tree):
            if module not in self._loaded and self._mypy.lacks(module):
                found.append(module)
            self._loaded.add(module)
        return found

    def _run(self) -> list[str]:
        self._output = self._mypy.read(self._sources)
        return [line for line in self._output if f"{STEP}.py:" in line]

    def _blocked(self) -> str:
        """The error that kept mypy from reading the program, as `FILE.py:LINE: …`; empty where there was none."""
        if not self._mypy.blocked:
            return ""
        lines = [line for line in self._output if "error:" in line] or self._output or ["no reason given"]
        return str(lines[0]).rpartition(str(self._folder) + os.sep)[2][:300]

    def _write(self, module: str, text: str) -> Source:
        path = self._folder / f"{module}.py"
        path.write_text(text, encoding="utf-8")
        # mypy compares times and sizes; two steps of the same size may be written within one tick of the clock.
        self._clock += 1
        os.utime(path, (self._clock, self._clock))
        return Source(path, module)


def _redefinition() -> list[str]:
    """mypy 1.16 to 1.20 has today's `--allow-redefinition` under another name."""
    major, minor = installed()
    return ["--allow-redefinition-new"] if major == 1 and minor >= 16 else []


def _importable(paths: Sequence[str], folder: Path) -> list[str]:
    """The folders for mypy's search. A single file, or a folder that mypy would refuse, becomes a folder of links."""
    found = []
    for number, path in enumerate(map(Path, paths)):
        entries = [path] if path.is_file() else list(path.iterdir()) if path.is_dir() else []
        usable = [entry for entry in entries if entry.stem not in _TYPESHED]
        if path.is_dir() and len(usable) == len(entries):
            found.append(str(path))
            continue
        links = folder / f"links{number}"
        links.mkdir()
        for entry in usable:
            (links / entry.name).symlink_to(entry)
        found.append(str(links))
    return found


def _imported(tree: ast.Module) -> Iterator[str]:
    """The names of modules that the code imports; `b` in `from a import b` may be one, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name != "*")
