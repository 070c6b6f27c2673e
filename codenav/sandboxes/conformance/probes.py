"""Harmless questions that come before any attack: where one is answered wrongly, the attacks would hit the host."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from codenav.sandboxes.conformance.lab import SPARE_PROCESSES, Lab, ensure, expect


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


def _user(lab: Lab) -> None:
    status = "{line.split(':')[0]: line.split()[1] for line in open('/proc/self/status') if len(line.split()) > 1}"
    found = lab.says(
        f"s = {status}\nprint(s['Uid'], int(s['CapEff'], 16), int(s['CapPrm'], 16), s['NoNewPrivs'])"
    ).split()
    ensure(found[0] != "0", "the code runs as root")
    expect("capabilities and no new privileges", found[1:], ["0", "0", "1"])


def _mounts(lab: Lab) -> None:
    ensure(
        lab.says("import os\nprint(os.readlink('/proc/self/ns/mnt'))") != os.readlink("/proc/self/ns/mnt"),
        "the sandbox is in the mount namespace of the host",
    )
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
    found = lab.says(
        """
        import os, signal
        children = []
        try:
            while len(children) < 100:
                pid = os.fork()
                if pid == 0: signal.pause(); os._exit(0)
                children.append(pid)
        except OSError: pass
        for pid in children: os.kill(pid, 9); os.waitpid(pid, 0)
        print(len(children))
        """
    )
    limit = lab.spec.resources.processes
    ensure(int(found) <= limit + SPARE_PROCESSES, f"{found} processes, the limit is {limit}")


PROBES = {
    "pid namespace": _pid_namespace,
    "user and capabilities": _user,
    "mounts": _mounts,
    "network": _network,
    "number of processes": _limits,
}
