"""Containment of the network; the sandbox under attack has none."""

from __future__ import annotations

import contextlib
import functools
import os
import socket

from codenav.sandboxes.conformance.lab import Broken, Case, Lab, Refused, Step, ensure, expect

UNREACHABLE = ("ENETUNREACH", "EHOSTUNREACH", "EPERM", "EACCES", "ENETDOWN", "EADDRNOTAVAIL", "EAFNOSUPPORT")
NO_SOCKET = ("EPERM", "EACCES", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EINVAL")
_SETUP = "import socket"
_refused = functools.partial(Refused, setup=_SETUP)
_LIBC = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)"


def _host_services(lab: Lab) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for addresses, errors in (
            (("127.0.0.1", "localhost"), (*UNREACHABLE, "ECONNREFUSED")),
            (("172.17.0.1", "169.254.169.254", "10.0.0.1", "192.168.0.1"), UNREACHABLE),
        ):
            for address in addresses:
                lab.refused(f"socket.create_connection(({address!r}, {port}), 2)", errors, setup=_SETUP)
        server.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            server.accept()[0].close()
            raise Broken("a service of the host was reached")


def _abstract(lab: Lab) -> None:
    name = f"\0codenav-check-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        lab.refused(f"socket.socket(socket.AF_UNIX).connect({name!r})", ("ECONNREFUSED",), setup=_SETUP)


def _engine_socket(lab: Lab) -> None:
    named = os.environ.get("DOCKER_HOST", "").removeprefix("unix://")
    paths = ["/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock"]
    paths += [f"/run/user/{os.getuid()}/podman/podman.sock", *([named] if named.startswith("/") else [])]
    Refused(("ENOENT", "EACCES"), *(f"os.stat({path!r})" for path in paths))(lab)


def _server(lab: Lab) -> None:
    expect("the network", lab.box.info.network, "none")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    serve = f"server = socket.create_server(('0.0.0.0', {port}))"
    expect("bind and listen", lab.attempt(serve, setup=_SETUP), "allowed")
    with socket.socket() as client:
        client.settimeout(2)
        ensure(client.connect_ex(("127.0.0.1", port)) != 0, f"port {port} of the host answers")
    connect = f"socket.create_connection(('127.0.0.1', {port}), 2)"
    expect("from inside", lab.attempt(connect, setup=_SETUP), "allowed")


CASES = (
    Case("N1", "an outside address is unreachable by TCP and UDP", [
        _refused(
            UNREACHABLE,
            "socket.create_connection(('192.0.2.1', 80), 2)",
            "socket.create_connection(('8.8.8.8', 80), 2)",
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))",
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('8.8.8.8', 53))",
            "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b'x', ('2001:db8::1', 53))",
        ),
        # Tunnel devices of the kernel are there in every network namespace; they are down.
        Step(
            """
            import fcntl, socket, struct
            def is_up(name):
                with socket.socket() as one:
                    asked = struct.pack('16sH14s', name.encode(), 0, b'')
                    return struct.unpack('H', fcntl.ioctl(one, 0x8913, asked)[16:18])[0] & 1
            print([name for _, name in socket.if_nameindex() if is_up(name)])
            """,
            prints="['lo']",
        ),
    ], reads=True),
    Case("N3", "services of the host, of its bridges and of a cloud are out of reach", [
        _host_services,
        Step(
            """
            import socket
            reached = []
            for port in [*range(1, 1024), 2375, 2376, 3306, 5432, 6379, 8080, 9200]:
                with socket.socket() as one:
                    if one.connect_ex(('127.0.0.1', port)) == 0: reached.append(port)
            print(reached)
            """,
            prints="[]",
        ),
    ], reads=True),
    Case("N4", "abstract sockets of the host are out of reach", [_abstract], reads=True),
    Case("N6", "the engine's socket is not there", [
        _engine_socket,
        Step(
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
            """,
            prints="[]",
        ),
    ], reads=True),
    Case("N7", "a server inside is unreachable from outside", [_server]),
    Case("N8", "no descriptor of the host is inherited", [
        Step(
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
            """,
            prints="[]",
        ),
        # Of a child; the fourth descriptor is that of the folder which it lists.
        Step(
            "import subprocess, sys\ncode = 'import os; print(len(os.listdir(\"/proc/self/fd\")))'\n"
            "print(subprocess.check_output([sys.executable, '-Sc', code]).decode())",
            prints="4",
        ),
    ], reads=True),
    Case("N9", "raw sockets and those that no network namespace confines are refused, and the kernel's queues", [
        _refused(
            NO_SOCKET,
            "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
            "socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58)",
            *(f"{make}({family}, socket.SOCK_STREAM)"
              for family in (17, 30, 31, 38, 40, 44) for make in ("socket.socket", "socket.socketpair")),
        ),
        # These numbers are the same on every processor.
        Refused(
            ("EPERM", "ENOSYS"),
            *(f"r = libc.syscall({number}, 1, b'x' * 120, 0, 0)\nif r < 0: raise OSError(ctypes.get_errno(), '')"
              for number in (425, 426, 427)),
            setup=_LIBC,
        ),
    ], reads=True),
)  # fmt: skip
