"""Containment of the network; the sandbox under attack has none."""

from __future__ import annotations

import contextlib
import os
import socket

from codenav.execution import SandboxInfo
from codenav.sandboxes.conformance.case import case
from codenav.sandboxes.conformance.lab import Broken, Lab, ensure, expect

UNREACHABLE = ("ENETUNREACH", "EHOSTUNREACH", "EPERM", "EACCES", "ENETDOWN", "EADDRNOTAVAIL", "EAFNOSUPPORT")
NO_SOCKET = ("EPERM", "EACCES", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EINVAL")
_SETUP = "import socket"


@case("N1", "an outside address is unreachable by TCP and UDP")
def _outside(lab: Lab) -> None:
    for address in ("192.0.2.1", "8.8.8.8"):
        lab.refused(f"socket.create_connection(({address!r}, 80), 2)", UNREACHABLE, setup=_SETUP)
        datagram = f"socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ({address!r}, 53))"
        lab.refused(datagram, UNREACHABLE, setup=_SETUP)
    lab.refused(
        "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b'x', ('2001:db8::1', 53))", UNREACHABLE, setup=_SETUP
    )
    interfaces = lab.says("print(*sorted(name for _, name in socket.if_nameindex()))").split()
    # Tunnel devices of the kernel are there in every network namespace; they are down.
    expect("interfaces that are up", [name for name in interfaces if _up(lab, name)], ["lo"])


def _up(lab: Lab, name: str) -> bool:
    code = f"""
    import fcntl, socket, struct
    with socket.socket() as one:
        flags = struct.unpack('H', fcntl.ioctl(one, 0x8913, struct.pack('16sH14s', {name!r}.encode(), 0, b''))[16:18])
    print(flags[0] & 1)
    """
    return lab.says(code) == "1"


@case("N2", "names are not resolved")
def _names(lab: Lab) -> None:
    for name in ("example.org", "metadata.google.internal", "host.docker.internal"):
        lab.refused(f"socket.getaddrinfo({name!r}, 80)", ("gaierror",), setup=_SETUP)


@case("N3", "services of the host, of its bridges and of a cloud are out of reach")
def _host_services(lab: Lab) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for address in ("127.0.0.1", "localhost"):
            lab.refused(
                f"socket.create_connection(({address!r}, {port}), 2)", (*UNREACHABLE, "ECONNREFUSED"), setup=_SETUP
            )
        for address in ("172.17.0.1", "169.254.169.254", "10.0.0.1", "192.168.0.1"):
            lab.refused(f"socket.create_connection(({address!r}, {port}), 2)", UNREACHABLE, setup=_SETUP)
        server.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            server.accept()[0].close()
            raise Broken("a service of the host was reached")
    scanned = """
    reached = []
    for port in [*range(1, 1024), 2375, 2376, 3306, 5432, 6379, 8080, 9200]:
        with socket.socket() as one:
            if one.connect_ex(('127.0.0.1', port)) == 0: reached.append(port)
    print(reached)
    """
    expect("ports that answer on the loopback interface", lab.says(scanned), "[]")


@case("N4", "abstract sockets of the host are out of reach")
def _abstract(lab: Lab) -> None:
    name = f"\0codenav-check-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        lab.refused(f"socket.socket(socket.AF_UNIX).connect({name!r})", ("ECONNREFUSED",), setup=_SETUP)


@case("N5", "raw and packet sockets are refused")
def _raw(lab: Lab) -> None:
    for kind in (
        "socket.AF_INET, socket.SOCK_RAW, 1",
        "socket.AF_INET6, socket.SOCK_RAW, 58",
        "socket.AF_PACKET, socket.SOCK_RAW, 0x0300",
        "socket.AF_PACKET, socket.SOCK_DGRAM, 0x0300",
    ):
        lab.refused(f"socket.socket({kind})", NO_SOCKET, setup=_SETUP)


@case("N6", "the engine's socket is not there")
def _engine_socket(lab: Lab) -> None:
    named = os.environ.get("DOCKER_HOST", "").removeprefix("unix://")
    paths = ["/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock"]
    paths += [f"/run/user/{os.getuid()}/podman/podman.sock", *([named] if named.startswith("/") else [])]
    for path in paths:
        lab.refused(f"os.stat({path!r})", ("ENOENT", "EACCES"))
    found = lab.says(
        """
        import os, stat
        found = []
        for root in ('/run', '/var/run', '/tmp', '/dev'):
            for folder, _, names in os.walk(root):
                for name in names:
                    try: mode = os.lstat(os.path.join(folder, name)).st_mode
                    except OSError: continue
                    if stat.S_ISSOCK(mode): found.append(os.path.join(folder, name))
        print(found)
        """
    )
    expect("sockets in the file system", found, "[]")


@case("N7", "a server inside is unreachable from outside")
def _server(lab: Lab) -> None:
    info: SandboxInfo = lab.box.info
    expect("the network", info.network, "none")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    serve = f"server = socket.create_server(('0.0.0.0', {port}))"
    expect("bind and listen", lab.attempt(serve, setup=_SETUP), "allowed")
    with socket.socket() as client:
        client.settimeout(2)
        ensure(client.connect_ex(("127.0.0.1", port)) != 0, f"port {port} of the host answers")
    connect = f"socket.create_connection(('127.0.0.1', {port}), 2)"
    expect("from inside", lab.attempt(connect, setup=_SETUP), "allowed")


@case("N8", "no descriptor of the host is inherited")
def _descriptors(lab: Lab) -> None:
    own = lab.says(
        """
        import os, socket, stat
        bad = []
        for name in os.listdir('/proc/self/fd'):
            number = int(name)
            try: target, mode = os.readlink(f'/proc/self/fd/{number}'), os.fstat(number).st_mode
            except OSError: continue
            if stat.S_ISSOCK(mode):
                with socket.socket(fileno=os.dup(number)) as one:
                    if one.family != socket.AF_UNIX or one.getsockname() or one.getpeername(): bad.append(target)
            elif not stat.S_ISFIFO(mode) and target != '/dev/null' and not target.startswith(('/proc', 'anon_')):
                bad.append(target)
        print(bad)
        """
    )
    expect("descriptors of the process that runs the code", own, "[]")
    child = "import subprocess, sys\nlist_them = 'import os; print(len(os.listdir(\"/proc/self/fd\")))'\n"
    # The fourth descriptor is that of the folder which the child lists.
    expect(
        "descriptors of a child",
        lab.says(child + "print(subprocess.check_output([sys.executable, '-Sc', list_them]).decode())"),
        "4",
    )


@case("N9", "sockets that no network namespace confines are refused, and the kernel's queues for requests")
def _unconfined(lab: Lab) -> None:
    for family in (17, 30, 31, 38, 40, 44):
        for make in ("socket.socket", "socket.socketpair"):
            lab.refused(f"{make}({family}, socket.SOCK_STREAM)", NO_SOCKET, setup=_SETUP)
    # These numbers are the same on every processor.
    for number in (425, 426, 427):
        call = f"r = libc.syscall({number}, 1, b'x' * 120, 0, 0)\nif r < 0: raise OSError(ctypes.get_errno(), '')"
        setup = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)"
        lab.refused(call, ("EPERM", "ENOSYS"), setup=setup)
