"""Confusion of the protocol: code that lies to the supervisor, or breaks its own process."""

from __future__ import annotations

from codenav.core.execution import Outcome
from codenav.sandboxes.conformance.case import Case, Check, Step
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


def _forged(number: int) -> list[Check]:
    return [Step(FORGE + f"send(result({number}))", STATED, within=PROMPT_SECONDS), next_is_true]


CASES = (
    Case("C1", "a forged frame with another number is no result", [
        part for number in (0, 1, 999, -1, 1 << 40) for part in _forged(number)
    ]),
    Case("C2", "a forged frame lies about its own step at most", [
        Step("kept = 'kept'"),
        *(Step(FORGE + f"send(result({number}))\nkept = 'kept'", STATED, within=PROMPT_SECONDS)
          for number in range(2, 12)),
        Step(FORGE + "send(frame({'op': 'begun'}) + result(12))\nwhile True: pass", (*STATED, Outcome.TIMEOUT),
             timeout=2.0),
        next_is_true,
        Step("kept", prints="'kept'"),
    ]),
    Case("C9", "input() is an error at once", [Step("input('? ')", Outcome.ERROR, within=2.0, error="EOFError")]),
)  # fmt: skip
