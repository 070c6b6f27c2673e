"""Code that lies to the supervisor, and what must be true after it: for the cases of confusion."""

from __future__ import annotations

from codenav.execution import Outcome
from codenav.sandboxes.conformance.lab import Lab, expect

STATED = (Outcome.OK, Outcome.ERROR, Outcome.CRASHED, Outcome.PROTOCOL_VIOLATION)
"""Outcomes that are right for code that plays with the channel; a full timeout is not."""
PROMPT_SECONDS = 5.0

FORGE = """
import json, os, stat, struct
def frame(message, blob=b''):
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack('>II', len(body), len(blob)) + body + blob
def channels():
    found = []
    for name in os.listdir('/proc/self/fd'):
        try: mode = os.fstat(int(name)).st_mode
        except OSError: continue
        if int(name) > 2 and (stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode)): found.append(int(name))
    return found
def send(data):
    for channel in channels():
        os.set_blocking(channel, False)
        try: os.write(channel, data)
        except OSError: pass
        os.set_blocking(channel, True)
def result(number, **changes):
    return frame(dict({'op': 'result', 'number': number, 'outcome': 'ok', 'stdout': 'LIE', 'stderr': '',
        'stdout_bytes': 3, 'late_output': 'LIE', 'changed': [['lie', 'int', '1']], 'error': None, 'displays': [],
        'seconds': 0.1, 'notice': 'LIE', 'deleted': False}, **changes))
"""
"""Functions for code that writes frames of its own into every channel that it finds."""


def next_is_true(lab: Lab) -> None:
    """Check that the step after an attack tells the truth: its own output, its own outcome."""
    done = lab.run("print('true'); truth = 6 * 7", timeout=20.0)
    expect("outcome and output of the next step", (done.outcome, done.stdout), (Outcome.OK, "true\n"))
    expect("what it changed", [(one.name, one.repr) for one in done.changed], [("truth", "42")])
