"""The guard of the files in the work folder, which stay as they are while calls are tried."""

from __future__ import annotations

import json
from collections.abc import Collection, Generator

from codenav.actions import Action, CodeObservation, Observation, Question
from codenav.execution import Execution
from codenav.signatures.names import parts, words_in

ROOM = 64 * 1024 * 1024
"""Maximum bytes kept of all files; the largest files are left out."""
SPOILING = words_in(
    """save write dump export store remove delete unlink truncate overwrite rename set unset create clear touch move"""
)
"""Words in the names of callables that may write to a file or remove it."""
MARK = "codenav-files:"
SCRIPT = f"""
import contextlib, json, os
def read(name):
    with contextlib.suppress(OSError), open(name, 'rb') as file:
        return file.read()
held = {{}}
for size, name in sorted((os.path.getsize(name), name) for name in names if os.path.isfile(name)):
    data = read(name) if size <= room else None
    if data is not None:
        held[name], room = data, room - len(data)
def put_back():
    changed = [name for name, before in held.items() if read(name) != before]
    for name in changed:
        with contextlib.suppress(OSError), open(name, 'wb') as file:
            file.write(held[name])
    print({MARK!r} + json.dumps(changed))
"""
"""Code for the sandbox, which keeps the content of files in memory: of `names`, as far as there is `room`."""


class WriteGuard:
    """A guard that keeps the work folder's files in the sandbox's memory, and puts back what a tried call changed."""

    def __init__(self, names: Collection[str]) -> None:
        """`names`: those of the files. At most `ROOM` bytes of them are kept."""
        self._names = frozenset(names)
        self._keeps = False

    def begin(self) -> Generator[Action, Observation, None]:
        """Keep the files, before the first call, and again where the sandbox has lost its state."""
        if self._names and not self._keeps:
            self._keeps = True
            kept = {"names": sorted(self._names), "room": ROOM}
            code = f"_codenav_files = {kept!r}\nexec({SCRIPT!r}, _codenav_files)"
            yield Question(code, thought="Keep what the files of the work folder hold.")

    def lost(self) -> None:
        """Note that the sandbox was started again."""
        self._keeps = False

    def after(self, name: str, execution: Execution | None) -> Generator[Action, Observation, tuple[str, ...]]:
        """Put back the files that a call of `name` has changed or removed, and return their names."""
        if execution is None or not self._keeps:
            return ()
        if not (self._names.intersection(execution.files) or SPOILING.intersection(parts(name))):
            return ()
        observed = yield Question("_codenav_files['put_back']()", thought="Put back what the call has changed.")
        stdout = observed.execution.stdout if isinstance(observed, CodeObservation) else ""
        for line in stdout.splitlines():
            if line.startswith(MARK):
                return tuple(json.loads(line.removeprefix(MARK)))
        return ()
