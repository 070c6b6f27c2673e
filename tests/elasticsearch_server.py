"""Real Elasticsearch servers for tests, from the official minimal distribution.

    with Server() as server:                    # one node, no security; 12 s to start, 0.4 GB
        client = Elasticsearch(server.url)
    with Server(security=True) as server:       # user `elastic`; server.password
        ...
    with Server(tls=True) as server:            # https, with server.ca_file; asks for a password, too
        ...
    with Server(roles={"reader": {"indices": [{"names": ["*"], "privileges": ["read"]}]}}) as server:
        ...                                     # a user `reader` with that role and the same password
    with Cluster(nodes=3) as cluster:           # cluster.urls, cluster.pids
        cluster.kill(1)                         # -9; cluster.restart(1) brings it back with its data
        ...

Most tests take the session fixture `elasticsearch` (the same server for all tests of a run, so each test names its
indexes for itself) and start a server of their own only to break it.

The distribution is unpacked once, into `cache_dir()`. Servers never run as root and never outlive the test process,
however it ends. By hand: `python tests/elasticsearch_server.py` starts one and prints its URL.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import pytest
from guarded import Guarded

VERSION = "8.19.8"
ARTIFACT = f"org.elasticsearch.distribution.integ-test-zip:elasticsearch:{VERSION}:zip"
"""The real server without its optional modules, in Maven Central."""
USER = 64981
"""The user id of the servers where root runs the tests, as Elasticsearch refuses root. No account has it."""
FASTER = "-XX:TieredStopAtLevel=1 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
"""For Java: what the second compiler and the verification of classes would bring is not worth their part of a start."""
START_SECONDS = 180.0
"""Seconds that a start may take; it takes 10 to 25 s on an idle machine."""
INSTALL = "make servers"


class ServerMissing(RuntimeError):
    """The server that a test needs is not available here."""


def cache_dir() -> Path:
    """The folder for distributions and images between test runs; readable for every user."""
    base = Path("/var/cache") if os.geteuid() == 0 else Path.home() / ".cache"
    folder = base / "codenav-tests"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the lock `name` among all test runs of this machine."""
    with (cache_dir() / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def distribution() -> Path:
    """The unpacked distribution; downloaded through Maven if it is missing.

    Raises:
        ServerMissing: there is no Maven, or it cannot download.
    """
    folder = cache_dir() / f"elasticsearch-{VERSION}"
    with locked(folder.name):
        if not folder.exists():
            archive = _downloaded()
            with tempfile.TemporaryDirectory(dir=cache_dir()) as scratch:
                _unpack(archive, Path(scratch))
                (Path(scratch) / folder.name).rename(folder)
    return folder


def _downloaded() -> Path:
    command = ["mvn", "-q", "-B", "dependency:get", "-Dtransitive=false", f"-Dartifact={ARTIFACT}"]
    if not shutil.which("mvn"):
        raise ServerMissing(f"Maven is not installed, which downloads the test server: {INSTALL}")
    where = ["mvn", "-q", "-B", "help:evaluate", "-Dexpression=settings.localRepository", "-DforceStdout"]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise ServerMissing(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-2000:]}")
    group, name, version, kind = ARTIFACT.split(":")
    inside = Path(*group.split("."), name, version, f"{name}-{version}.{kind}")
    usual = Path.home() / ".m2" / "repository" / inside
    if usual.exists():
        return usual
    return Path(subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip()) / inside


def _unpack(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            path = opened.extract(member, target)
            os.chmod(path, 0o755 if member.is_dir() or member.external_attr >> 16 & 0o100 else 0o644)


def java_home() -> Path:
    """The Java that runs the server: JAVA_HOME, else that of `java` on PATH.

    Raises:
        ServerMissing: there is none.
    """
    named = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{named}/bin") if named else shutil.which("java")
    if not found:
        raise ServerMissing(f"Java is not installed, which runs the test server: {INSTALL}")
    return Path(found).resolve().parent.parent


class Cluster:
    """Nodes of one cluster, ready when the context is entered."""

    def __init__(
        self,
        nodes: int = 3,
        *,
        security: bool = False,
        tls: bool = False,
        roles: Mapping[str, Any] | None = None,
        heap: str = "128m",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        security = security or tls or bool(roles)
        self.ports = _free_ports(2 * nodes)
        self.urls = [f"{'https' if tls else 'http'}://127.0.0.1:{port}" for port in self.ports[:nodes]]
        self.user = "elastic" if security else ""
        self.password = secrets.token_urlsafe(12) if security else ""
        self._tls, self._roles = tls, dict(roles or {})
        self._nodes, self._heap, self._settings = nodes, heap, dict(settings or {})
        self._running: list[Guarded | None] = [None] * nodes
        self._folder = Path()

    @property
    def url(self) -> str:
        """The address of the first node."""
        return self.urls[0]

    @property
    def pids(self) -> list[int]:
        """The process id of each node's server; 0 for a node that is down."""
        return [
            int(self._pid_file(node).read_text()) if server and server.running else 0
            for node, server in enumerate(self._running)
        ]

    @property
    def ca_file(self) -> Path:
        """The certificate of the authority that signed the servers' certificates (with `tls`)."""
        return self._folder / "ca.crt"

    def logs(self, node: int = 0) -> str:
        """The output of a node so far."""
        return (self._home(node) / "output").read_text(errors="replace")

    def kill(self, node: int = 0) -> None:
        """Kill a node with -9, and wait until it is gone. Its data stays."""
        os.kill(self.pids[node], signal.SIGKILL)
        self._end(node)

    def suspend(self, node: int = 0) -> None:
        """Make a node hang (SIGSTOP): it accepts connections and never answers."""
        os.kill(self.pids[node], signal.SIGSTOP)

    def resume(self, node: int = 0) -> None:
        """Let a suspended node continue."""
        os.kill(self.pids[node], signal.SIGCONT)

    def restart(self, node: int = 0) -> None:
        """Start a killed node again with its data, and wait until it is back in the cluster."""
        self._launch(node)
        self._wait()

    def stop(self) -> None:
        """End all nodes; safe to call twice."""
        for node in range(self._nodes):
            self._end(node)
        if self._folder != Path():
            shutil.rmtree(self._folder, ignore_errors=True)

    def request(self, method: str, path: str, body: Any = None, *, node: int = 0, timeout: float = 30.0) -> Any:
        """Make any call of the REST API with full rights; return the JSON of the answer.

        Raises:
            urllib.error.HTTPError: a status of 400 or more.
        """
        request = urllib.request.Request(
            f"{self.urls[node]}/{path.lstrip('/')}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        if self.password:
            pair = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
            request.add_header("Authorization", f"Basic {pair}")
        trust = ssl.create_default_context(cafile=self.ca_file) if self._tls else None
        handlers = (urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust))
        with urllib.request.build_opener(*handlers).open(request, timeout=timeout) as answer:
            return json.loads(answer.read() or b"null")

    def __enter__(self) -> Self:
        home, java = distribution(), java_home()
        self._command = [str(home / "bin" / "elasticsearch")]
        self._environment = {
            "PATH": os.environ["PATH"],
            "ES_JAVA_HOME": str(java),
            "ES_JAVA_OPTS": f"-Xms{self._heap} -Xmx{self._heap} {FASTER}",
            "CLI_JAVA_OPTS": FASTER,
        }
        self._folder = Path(tempfile.mkdtemp(prefix="codenav-es-", dir=_reachable_temp()))
        try:
            if self._tls:
                _make_certificates(self._folder)
            for node in range(self._nodes):
                self._prepare(node, home)
            _give_to_user(self._folder)
            if self.password:
                self._keep_password(home)
                _give_to_user(self._folder)
            for node in range(self._nodes):
                self._launch(node)
            self._wait()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _home(self, node: int) -> Path:
        return self._folder / f"node{node}"

    def _pid_file(self, node: int) -> Path:
        return self._home(node) / "pid"

    def _prepare(self, node: int, distribution: Path) -> None:
        home = self._home(node)
        shutil.copytree(distribution / "config", home / "config")
        for name in ("data", "logs", "tmp"):
            (home / name).mkdir()
        transport = [f"127.0.0.1:{port}" for port in self.ports[self._nodes :]]
        settings: dict[str, Any] = {
            "cluster.name": f"codenav-tests-{self.ports[0]}",
            "node.name": f"node{node}",
            "path.data": str(home / "data"),
            "path.logs": str(home / "logs"),
            "network.host": "127.0.0.1",
            "http.port": self.ports[node],
            "transport.port": self.ports[self._nodes + node],
            "node.store.allow_mmap": False,
            "cluster.routing.allocation.disk.threshold_enabled": False,
            "xpack.security.enabled": bool(self.password),
        }
        if self._nodes == 1:
            settings["discovery.type"] = "single-node"
        else:
            settings["discovery.seed_hosts"] = transport
            settings["cluster.initial_master_nodes"] = [f"node{number}" for number in range(self._nodes)]
        if self._tls:
            for name in ("server.key", "server.crt"):
                shutil.copy(self._folder / name, home / "config")
            settings |= {
                "xpack.security.http.ssl.enabled": True,
                "xpack.security.http.ssl.key": "server.key",
                "xpack.security.http.ssl.certificate": "server.crt",
            }
        if self._roles:
            users = [f"{name}:{_hashed(self.password)}\n" for name in self._roles]
            (home / "config" / "users").write_text("".join(users))
            (home / "config" / "users_roles").write_text("".join(f"{name}:{name}\n" for name in self._roles))
            # A role begins on a line of its own: the server searches for roles before it parses YAML.
            lines = [f"{name}: {json.dumps(role)}\n" for name, role in self._roles.items()]
            (home / "config" / "roles.yml").write_text("".join(lines))
        lines = [f"{key}: {json.dumps(value)}\n" for key, value in {**settings, **self._settings}.items()]
        (home / "config" / "elasticsearch.yml").write_text("".join(lines))

    def _keep_password(self, distribution: Path) -> None:
        first = self._home(0) / "config" / "elasticsearch.keystore"
        tool = str(distribution / "bin" / "elasticsearch-keystore")
        subprocess.run(
            [*_as_user(), tool, "add", "-f", "-x", "bootstrap.password"],
            input=self.password.encode(), env=self._variables(0), check=True, capture_output=True,
        )  # fmt: skip
        for node in range(1, self._nodes):
            shutil.copy(first, self._home(node) / "config")

    def _variables(self, node: int) -> dict[str, str]:
        home = self._home(node)
        return {**self._environment, "ES_PATH_CONF": str(home / "config"), "ES_TMPDIR": str(home / "tmp")}

    def _launch(self, node: int) -> None:
        self._pid_file(node).unlink(missing_ok=True)
        self._running[node] = Guarded(
            [*_as_user(), *self._command, "-p", str(self._pid_file(node))],
            output=self._home(node) / "output", env=self._variables(node), after=f"rm -rf {self._folder}",
        )  # fmt: skip

    def _end(self, node: int) -> None:
        server, self._running[node] = self._running[node], None
        if server:
            server.end()

    def _wait(self) -> None:
        waiting = [(node, server) for node, server in enumerate(self._running) if server]
        path = f"_cluster/health?wait_for_nodes=>={len(waiting)}&wait_for_status=yellow&timeout=1s"
        deadline = time.monotonic() + START_SECONDS
        while waiting:
            node, server = waiting[0]
            if not server.running or time.monotonic() > deadline:
                raise ServerMissing(f"the test server did not start:\n{self.logs(node)[-3000:]}")
            with contextlib.suppress(OSError):
                if not self.request("GET", path, node=node)["timed_out"]:
                    waiting.pop(0)
                    continue
            time.sleep(0.1)


class Server(Cluster):
    """A cluster of one node, with the same options."""

    def __init__(self, **options: Any) -> None:
        super().__init__(1, **options)


@pytest.fixture(scope="session")
def elasticsearch() -> Iterator[Server]:
    """A node without security, for all tests of the run."""
    server = Server()
    try:
        server.__enter__()
    except ServerMissing as error:
        pytest.fail(str(error), pytrace=False)
    try:
        yield server
    finally:
        server.stop()


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [opened.getsockname()[1] for opened in sockets]


def _reachable_temp() -> str | None:
    """A temporary folder that the servers' user can enter; None for the default one."""
    return "/tmp" if os.geteuid() == 0 else None


def _make_certificates(folder: Path) -> None:
    """Make an authority, and a certificate signed by it for 127.0.0.1 and localhost."""
    if not shutil.which("openssl"):
        raise ServerMissing(f"openssl is not installed: {INSTALL}")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    new = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj"]
    sign = ["openssl", "x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"]
    for command in (
        [*new, "/CN=codenav tests", "-x509", "-keyout", "ca.key", "-out", "ca.crt"],
        [*new, "/CN=localhost", "-keyout", "server.key", "-out", "server.csr"],
        [*sign, "-extfile", "names", "-out", "server.crt"],
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)


def _hashed(password: str) -> str:
    """The hash of a password as the file of users holds it: PBKDF2 with HMAC-SHA512."""
    salt = secrets.token_bytes(32)
    digest = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, 10_000, dklen=32)
    return f"{{PBKDF2}}10000${base64.b64encode(salt).decode()}${base64.b64encode(digest).decode()}"


def _as_user() -> list[str]:
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--"]


def _give_to_user(folder: Path) -> None:
    if os.geteuid() == 0:
        for place, _, files in os.walk(folder):
            for path in (place, *(os.path.join(place, name) for name in files)):
                os.chown(path, USER, USER)


def main() -> int:
    """Start servers by hand."""
    parser = argparse.ArgumentParser(description="Start Elasticsearch; Ctrl-C ends it.")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--security", action="store_true")
    parser.add_argument("--heap", default="512m")
    given = parser.parse_args()
    with Cluster(given.nodes, security=given.security, heap=given.heap) as cluster:
        print(",".join(cluster.urls), f"{cluster.user} {cluster.password}".strip(), flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())
