"""Confusion by calls to the host: forged ones, too many, too large, and after their step."""

from __future__ import annotations

import textwrap
import time
from typing import Any

from attacks import case, resident
from attacks.confusion import FORGE, PROMPT_SECONDS, next_is_true
from codenav.core.execution import Outcome
from codenav.sandboxes.conformance.lab import Lab, ensure, expect
from codenav.sandboxes.shared import schema

HOST_BYTES = 32 << 20
"""Maximum bytes of the host's memory that calls may take: one at a time, with its result."""

_CALLS = (
    FORGE
    + """
def call(number, name='ping', arguments=b'{}', **more):
    return frame(dict({'op': 'call', 'call': number, 'name': name}, **more), arguments)
def line_of_calls():
    return call_host.__globals__['_Now'].line._descriptor
"""
)


class Host:
    """A handler that writes down what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, name: str, arguments: dict[str, Any]) -> Any:
        # If the arguments of floods were kept here, they would be counted as the host's own memory.
        self.asked.append((name, {} if name == "flood" else arguments))
        return {"name": name, "count": len(self.asked)}

    def since(self, before: int) -> list[str]:
        """The names of the calls after the first `before`."""
        return [name for name, _ in self.asked[before:]]


def _listening(lab: Lab) -> Host:
    lab.calls = host = Host()
    return host


def _calls_work(lab: Lab, host: Host) -> None:
    before = len(host.asked)
    expect("a call after the attack", lab.says("call_host('true', x=[1])['name']"), "'true'")
    expect("what the host was asked", host.asked[before:], [("true", {"x": [1]})])


@case("C21", "forged calls cost their own step at most")
def _forged(lab: Lab) -> None:
    host = _listening(lab)
    lab.says("kept = 'kept'")
    for payload in (
        "call(2)",
        "call(0)",
        "call(-1)",
        "call(True)",
        "call('1')",
        "call(1, step=1)",
        "call(1, name=3)",
        "call(1, name='')",
        "call(1, name='\\x1b[2J')",
        "call(1, name='a' * 201)",
        "call(1, name='a' * 100_000)",
        "frame({'op': 'call'})",
        "frame({'op': 'answer', 'error': None}, b'1')",
        "frame({'op': 'result', 'number': 1})",
        "frame(b'[1]')",
        "frame(b'not json')",
        "os.urandom(4096)",
        "struct.pack('>II', 1 << 31, 1 << 31)",
    ):
        before = len(host.asked)
        done = lab.outcome(_CALLS + f"kept = 'spoilt'\nsend({payload})\nimport time; time.sleep(0.05)",
                           Outcome.PROTOCOL_VIOLATION, within=PROMPT_SECONDS)  # fmt: skip
        ensure("LIE" not in done.stdout, f"{payload} was believed")
        expect(f"what the host was asked by {payload}", host.since(before), [])
        next_is_true(lab)
        ensure(lab.run("kept").stdout in ("'kept'\n", ""), f"the state of a step that forged {payload} stayed")
        lab.run("kept = 'kept'")
    _calls_work(lab, host)


@case("C22", "calls whose answers nobody reads wait for one another")
def _many(lab: Lab) -> None:
    host = _listening(lab)
    before, memory = len(host.asked), resident()
    unread = """
    big = json.dumps({'x': 'y' * 1_000_000}).encode()
    line = line_of_calls()
    for number in range(1, 200): os.write(line, call(number, 'flood', big))
    """
    lab.run(_CALLS + textwrap.dedent(unread), timeout=3.0)
    ensure(len(host.asked) - before <= 200, "calls came twice")
    grown = resident() - memory
    ensure(grown < HOST_BYTES, f"the host's memory grew by {grown >> 20} MiB")
    next_is_true(lab)
    _calls_work(lab, host)


@case("C23", "arguments that are too large, or no JSON, reach nobody")
def _arguments(lab: Lab) -> None:
    host = _listening(lab)
    lab.run("call_host('big', x='y' * 100_000_000)", timeout=20.0)
    expect("asked with 100 MB", host.asked, [])
    for data in (f"b'{{}}' * {schema.CALL_BYTES}", f"b' ' * {schema.CALL_BYTES + 1}"):
        lab.run(_CALLS + f"send(call(1, arguments={data}))\nimport time; time.sleep(0.2)", timeout=2.0)
        expect(f"asked with {data}", host.asked, [])
        next_is_true(lab)
    answered = """
    line = line_of_calls()
    for number, data in enumerate((b'', b'3', b'[1]', b'{"x": NaN}', b'{"x": 1', b'\\xff', b'[' * 100_000), 1):
        os.write(line, call(number, 'odd', data))
        size, blob = struct.unpack('>II', os.read(line, 8))
        print(json.loads(os.read(line, size))['error'] is not None)
    """
    expect("what was refused", lab.says(_CALLS + textwrap.dedent(answered)).split(), ["True"] * 7)
    expect("asked with what is no JSON", host.asked, [])
    odd = "call_host('odd', **{'\\ud800': '\\x1b[2J\\u202e', '': [None, 1.5, 1 << 70]})['name']"
    expect("odd texts", lab.says(odd), "'odd'")
    expect("what the host was told", host.asked, [("odd", {"\ud800": "\x1b[2J\u202e", "": [None, 1.5, 1 << 70]})])


@case("C25", "threads and children of a step that is over call nobody")
def _afterwards(lab: Lab) -> None:
    host = _listening(lab)
    lab.run("import subprocess\nsubprocess.run(['true'])\nimport os, threading, time\nopen('/tmp/go', 'w').close()")
    left = """
    line, name = line_of_calls(), 'late'
    def later():
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            try: call_host(name)
            except HostCallError: pass
            try: os.write(line, call(1, name))
            except OSError: pass
            time.sleep(0.01)
    if os.fork() == 0:
        later(); os._exit(0)
    threading.Thread(target=later, daemon=True).start()
    """
    lab.run(_CALLS + textwrap.dedent(left), timeout=5.0)
    during = len(host.asked)
    time.sleep(1.8)
    expect("calls after the step", host.since(during), [])
    next_is_true(lab)
    _calls_work(lab, host)
