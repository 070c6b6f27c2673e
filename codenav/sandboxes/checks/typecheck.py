"""What mypy says of a step. Runs in a process of its own (`serve.py`).

mypy's daemon (the `Server` behind `dmypy`) stays warm in the process and is called directly. Each step that ran is a
module of its own (`codenav_past_7`), read once, its errors ignored; the step under check is the one module that
changes (`codenav_step`), and it imports just the names that it mentions from the modules that bound them last. So a
check costs the same after 2 and after 40 steps, and a name may have another type in every step.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from codenav.sandboxes.checks.answers import Answer, Past
from codenav.sandboxes.checks.history import History
from codenav.sandboxes.checks.lint import syntax_fault
from codenav.sandboxes.checks.names import bindings, read
from codenav.sandboxes.checks.prelude import LINES, STEP, Origins
from codenav.sandboxes.checks.verdicts import Context, remarks

_CONFIG = """\
[mypy]
ignore_errors = True

[mypy-codenav_step]
ignore_errors = False
"""

_FLAGS = (
    "--follow-imports=normal",
    "--ignore-missing-imports",
    "--check-untyped-defs",
    "--allow-redefinition",
    # A value that may be None in general is mostly known not to be between two steps of one session.
    "--no-strict-optional",
    "--show-column-numbers",
    "--show-error-codes",
    "--no-error-summary",
    "--no-color-output",
    "--no-pretty",
    "--cache-dir=/dev/null",
)


class Types:
    """One daemon and the steps that it has read."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        from mypy import dmypy_server

        self._folder = Path(settings["folder"])
        self._newest = (settings["version"][0], settings["version"][1])
        self._history = History(self._newest)
        self._origins = Origins(self._history)
        self._clock = 0
        self._server: dmypy_server.Server = dmypy_server.Server(self._options(settings), str(self._folder / "status"))
        self._sources = [self._write(STEP, "")]
        self._run()

    def _options(self, settings: Mapping[str, Any]) -> Any:
        from mypy import defaults, dmypy_server

        config = self._folder / "mypy.ini"
        config.write_text(_CONFIG, encoding="utf-8")
        # An interpreter older than mypy knows is checked as the oldest that it knows.
        version = max(self._newest, defaults.PYTHON3_VERSION_MIN)
        options = dmypy_server.process_start_options(
            [
                *_FLAGS,
                *self._redefinition(),
                f"--config-file={config}",
                f"--python-executable={settings['python']}",
                f"--python-version={version[0]}.{version[1]}",
            ],
            False,
        )
        options.mypy_path = [str(self._folder), *settings["import_paths"]]
        return options

    @staticmethod
    def _redefinition() -> list[str]:
        """mypy 1.16 to 1.20 has today's `--allow-redefinition` under another name."""
        from mypy.version import __version__

        major, minor = (int(part) for part in __version__.split(".")[:2])
        return ["--allow-redefinition-new"] if major == 1 and minor >= 16 else []

    def check(self, code: str) -> Answer:
        """The faults of a step, by line."""
        try:
            tree = read(code, newest=self._newest)
        except SyntaxError as error:
            return syntax_fault(error, self._newest, "syntax")
        bound = bindings(tree)
        self._write(STEP, self._origins.prelude(code, bound) + code + "\n")
        lines = self._run()
        return Answer(remarks(lines, Context(tree, bound, self._history), skip=LINES))

    def remember(self, steps: Sequence[Past]) -> None:
        """Steps ran: read them now, so that the next check need not."""
        for step in steps:
            module = self._origins.remember(step)
            if module is not None:
                self._sources.append(self._write(*module))
        self._run()

    def _run(self) -> list[str]:
        answer = self._server.check(list(self._sources), export_types=False, is_tty=False, terminal_width=80)
        if answer["err"]:
            raise RuntimeError(answer["err"].strip().splitlines()[-1])
        return [line for line in answer["out"].splitlines() if f"{STEP}.py:" in line]

    def _write(self, module: str, text: str) -> Any:
        from mypy.modulefinder import BuildSource

        path = self._folder / f"{module}.py"
        path.write_text(text, encoding="utf-8")
        # mypy compares times and sizes; two steps of one size may be written within one tick of the clock.
        self._clock += 1
        os.utime(path, (self._clock, self._clock))
        return BuildSource(str(path), module, None, str(self._folder))
