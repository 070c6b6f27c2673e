"""Harmless questions that come before any attack: where one is answered wrongly, the attacks would hit the host."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from codenav.sandboxes.conformance.lab import SPARE_PROCESSES, Case, Lab, Step, ensure, expect


def _pid_namespace(lab: Lab) -> None:
    found = lab.says(
        "import os\nprint(os.readlink('/proc/self/ns/pid'), max(int(n) for n in os.listdir('/proc') if n.isdigit()))"
    )
    namespace, _, highest = found.rpartition(" ")
    ensure(namespace != os.readlink("/proc/self/ns/pid"), "the sandbox is in the pid namespace of the host")
    ensure(int(highest) < 10_000, f"a process {highest} is seen inside")
    seen = lab.says(f"import os\nos.path.exists('/proc/{os.getpid()}') and open('/proc/{os.getpid()}/cmdline').read()")
    own = Path("/proc/self/cmdline").read_text(encoding="utf-8", errors="replace")
    ensure(repr(own) != seen, "this process is seen inside")


def _mounts(lab: Lab) -> None:
    inside = lab.says("import os\nprint(os.readlink('/proc/self/ns/mnt'))")
    ensure(inside != os.readlink("/proc/self/ns/mnt"), "the sandbox is in the mount namespace of the host")
    expect("a file of the host", lab.says(f"import os\nos.path.exists({str(lab.canary)!r})"), "False")
    for place in ("/", "/usr", "/etc"):
        writes = f"import os\nos.access({place!r}, os.W_OK) and not os.statvfs({place!r}).f_flag & os.ST_RDONLY"
        expect(f"{place} can be written", lab.says(writes), "False")


def _network(lab: Lab) -> None:
    expect("the network", lab.box.info.network, "none")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = lab.says(f"import socket\nwith socket.socket() as s: print(s.connect_ex(('127.0.0.1', {port})) != 0)")
        expect("a service of the host is unreachable", found, "True")


def _limits(lab: Lab) -> None:
    """Check that the limits keep a fork storm away from the host."""
    (end, found), limit = lab.says(_FORKS).split(), lab.spec.resources.processes
    expect("the end of a fork storm", end, "BlockingIOError")
    ensure(20 < int(found) <= limit + SPARE_PROCESSES, f"{found} processes, the limit is {limit}")


_FORKS = """
import os, signal
children = []
try:
    while len(children) < 100:
        pid = os.fork()
        if pid == 0: signal.pause(); os._exit(0)
        children.append(pid)
    end = 'none'
except OSError as error: end = type(error).__name__
for pid in children: os.kill(pid, 9); os.waitpid(pid, 0)
print(end, len(children))
"""
"""Prints the error that ended a fork storm of 100, and how many there were."""

PROBES = (
    Case("probe", "pid namespace", [_pid_namespace]),
    Case("probe", "user and capabilities", [
        Step(
            """
            s = {line.split(':')[0]: line.split()[1] for line in open('/proc/self/status') if len(line.split()) > 1}
            print(s['Uid'] != '0', int(s['CapEff'], 16), int(s['CapPrm'], 16), s['NoNewPrivs'])
            """,
            prints="True 0 0 1",
        ),
    ]),
    Case("probe", "mounts", [_mounts]),
    Case("probe", "network", [_network]),
    Case("probe", "number of processes", [_limits]),
)  # fmt: skip
