"""A real Docker engine for tests, with images made from Debian packages and the Elasticsearch distribution.

    def test_it(docker_engine):
        codenav("elasticsearch", "up", "--image", docker_engine.elasticsearch_image(), env=docker_engine.environment)

The engine is a `dockerd` of its own: data, socket and network bridge belong to the test run and are removed afterwards,
however the run ends. It needs root. Images are built once and kept as files in `cache_dir()`.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import os
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from elasticsearch_server import INSTALL, VERSION, ServerMissing, cache_dir, distribution, locked
from guarded import Guarded

SUITE = "bookworm"
PACKAGES = ("python3", "openjdk-17-jre-headless")
START_SECONDS = 60.0
MEMORY_BYTES = 8 << 30
"""Memory to be free for an engine that keeps its data there: on a disk its image takes 20 s more to come and go."""
ENTRYPOINT = """\
#!/bin/bash
# What the official image does with its environment, as far as `codenav elasticsearch up` relies on it.
set -e
if [[ -n "$ELASTIC_PASSWORD_FILE" ]]; then
    mode=$(stat -Lc %a "$ELASTIC_PASSWORD_FILE")
    if [[ $mode != 400 && $mode != 600 ]]; then
        echo "ERROR: File $ELASTIC_PASSWORD_FILE must have file permissions 400 or 600, but has $mode" >&2
        exit 1
    fi
    ELASTIC_PASSWORD=$(cat "$ELASTIC_PASSWORD_FILE")
    unset ELASTIC_PASSWORD_FILE
fi
if [[ -n "$ELASTIC_PASSWORD" ]]; then
    elasticsearch-keystore add -f -x bootstrap.password <<<"$ELASTIC_PASSWORD"
fi
settings=()
while IFS='=' read -r key value; do
    if [[ $key =~ ^[a-z0-9_]+\\.[a-z0-9_]+ ]]; then settings+=("-E$key=$value"); fi
done < <(env)
exec elasticsearch "${settings[@]}"
"""
JVM_OPTIONS = "-XX:TieredStopAtLevel=1\n"
"""Halves the start: tests are too short for the second compiler to pay off."""
SETTINGS = "cluster.name: docker-cluster\nnetwork.host: 0.0.0.0\n"


class Engine:
    """A running `dockerd`; its images are imported when they are first requested."""

    def __init__(self) -> None:
        self._folder = Path()
        self._running: Guarded | None = None
        self._bridge = f"cn{secrets.token_hex(4)}"

    @property
    def host(self) -> str:
        """The value for DOCKER_HOST."""
        return f"unix://{self._folder}/socket"

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that direct a client to this engine."""
        return {"DOCKER_HOST": self.host}

    def docker(self, *arguments: str) -> str:
        """Run Docker's command line on this engine; return its output.

        Raises:
            subprocess.CalledProcessError: it failed; `stderr` has the reason.
        """
        done = subprocess.run(
            ["docker", "--host", self.host, *arguments], capture_output=True, text=True, check=True
        )  # fmt: skip
        return done.stdout.strip()

    def base_image(self) -> str:
        """The name of an image of Debian with Python."""
        return self._imported("codenav-tests/debian", _python_archive(), 'CMD ["python3"]')

    def elasticsearch_image(self) -> str:
        """The name of an image that starts Elasticsearch as the official one does."""
        return self._imported(
            "codenav-tests/elasticsearch",
            _elasticsearch_archive(),
            "USER 1000:0",
            "WORKDIR /usr/share/elasticsearch",
            "ENV ES_JAVA_HOME=/usr/lib/jvm/java-17-openjdk-amd64",
            "ENV PATH=/usr/share/elasticsearch/bin:/usr/local/bin:/usr/bin:/bin",
            "ENV CLI_JAVA_OPTS=-XX:TieredStopAtLevel=1",
            "EXPOSE 9200 9300",
            'ENTRYPOINT ["/usr/local/bin/docker-entrypoint.sh"]',
        )

    def _imported(self, name: str, archive: Path, *changes: str) -> str:
        if not self.docker("images", "--quiet", name):
            options = [f"--change={change}" for change in changes]
            self.docker("import", *options, str(archive), name)
        return name

    def __enter__(self) -> Self:
        for program in ("dockerd", "docker", "ip"):
            if not shutil.which(program):
                raise ServerMissing(f"{program} is not installed: {INSTALL}")
        if os.geteuid() != 0:
            raise ServerMissing("the tests of Docker start an engine of their own, which needs root")
        self._folder = Path(tempfile.mkdtemp(prefix="codenav-docker-", dir="/tmp"))
        if _available() > MEMORY_BYTES:
            _run("mount", "-t", "tmpfs", "codenav-tests", str(self._folder))
        subnet = _free_subnet()
        _ip("link", "add", "name", self._bridge, "type", "bridge")
        _ip("addr", "add", subnet, "dev", self._bridge)
        _ip("link", "set", self._bridge, "up")
        self._running = Guarded(
            [
                "dockerd",
                f"--data-root={self._folder}/data",
                f"--exec-root={self._folder}/exec",
                f"--pidfile={self._folder}/pid",
                f"--host={self.host}",
                f"--bridge={self._bridge}",
                # Published ports go through docker-proxy; the machine's firewall stays as it is.
                "--iptables=false",
                "--ip6tables=false",
            ],
            output=self._folder / "log",
            grace=30.0,
            after=f"ip link delete {self._bridge}; umount -l $(grep -o ' {self._folder}[^ ]*' /proc/mounts); "
            f"rm -rf {self._folder}",
        )
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the engine with its containers; safe to call twice."""
        if self._running and self._running.running:
            with contextlib.suppress(subprocess.CalledProcessError):
                containers = self.docker("ps", "--all", "--quiet").split()
                if containers:
                    self.docker("rm", "--force", "--volumes", *containers)
        if self._running:
            self._running.end(tidy=True)

    def _wait(self) -> None:
        assert self._running
        deadline = time.monotonic() + START_SECONDS
        while True:
            with contextlib.suppress(subprocess.CalledProcessError):
                self.docker("version")
                return
            if not self._running.running or time.monotonic() > deadline:
                log = (self._folder / "log").read_text(errors="replace")
                raise ServerMissing(f"the Docker engine of the tests did not start:\n{log[-3000:]}")
            time.sleep(0.1)


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[Engine]:
    """A Docker engine for all tests of the run."""
    engine = Engine()
    try:
        engine.__enter__()
    except ServerMissing as error:
        pytest.fail(str(error), pytrace=False)
    try:
        yield engine
    finally:
        engine.stop()


def _available() -> int:
    """The bytes of memory that could be had."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))


def _base_archive() -> Path:
    """Debian as a tar file; about 45 s if it has to be made."""
    archive = cache_dir() / f"debian-{SUITE}-{'-'.join(PACKAGES)}.tar"
    with locked("debian"):
        if not archive.exists():
            if not shutil.which("debootstrap"):
                raise ServerMissing(f"debootstrap is not installed: {INSTALL}")
            with tempfile.TemporaryDirectory(dir=cache_dir()) as scratch:
                root = Path(scratch) / "root"
                _run("debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", SUITE, str(root))
                for waste in ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/locale"):
                    shutil.rmtree(root / waste, ignore_errors=True)
                _packed(root, archive)
    return archive


def _python_archive() -> Path:
    """Debian without Java, two fifths of the size: every process of a run imports it into an engine of its own."""
    base = _base_archive()
    archive = cache_dir() / f"debian-{SUITE}-python3.tar"
    with locked("debian"):
        if not archive.exists():
            with tempfile.TemporaryDirectory(dir=cache_dir()) as scratch:
                _run("tar", "-C", scratch, "--exclude=./usr/lib/jvm", "-xpf", str(base))
                _packed(Path(scratch), archive)
    return archive


def _elasticsearch_archive() -> Path:
    base, home = _base_archive(), distribution()
    recipe = hashlib.sha256((ENTRYPOINT + JVM_OPTIONS + SETTINGS).encode()).hexdigest()[:8]
    archive = cache_dir() / f"elasticsearch-{VERSION}-{recipe}.tar"
    with locked("elasticsearch-image"):
        if not archive.exists():
            with tempfile.TemporaryDirectory(dir=cache_dir()) as scratch:
                root = Path(scratch) / "root"
                root.mkdir()
                _run("tar", "-C", str(root), "-xpf", str(base))
                inside = root / "usr" / "share" / "elasticsearch"
                shutil.copytree(home, inside)
                for folder in ("data", "logs"):
                    (inside / folder).mkdir(exist_ok=True)
                (inside / "config" / "elasticsearch.yml").write_text(SETTINGS)
                (inside / "config" / "jvm.options.d").mkdir(exist_ok=True)
                (inside / "config" / "jvm.options.d" / "tests.options").write_text(JVM_OPTIONS)
                _run("chown", "-R", "1000:0", *(str(inside / name) for name in ("config", "data", "logs")))
                entrypoint = root / "usr" / "local" / "bin" / "docker-entrypoint.sh"
                entrypoint.write_text(ENTRYPOINT)
                entrypoint.chmod(0o755)
                _packed(root, archive)
    return archive


def _packed(root: Path, archive: Path) -> None:
    part = archive.with_suffix(".part")
    _run("tar", "-C", str(root), "--numeric-owner", "-cf", str(part), ".")
    part.rename(archive)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise ServerMissing(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-2000:]}")


def _ip(*arguments: Any) -> None:
    _run("ip", *arguments)


def _free_subnet() -> str:
    """An address for a bridge in a private network that no interface of this machine is in."""
    taken = subprocess.run(["ip", "-oneline", "-4", "addr"], capture_output=True, text=True, check=True).stdout
    used = [ipaddress.ip_interface(line.split()[3]).network for line in taken.splitlines()]
    while True:
        address = ipaddress.ip_interface(f"10.213.{secrets.randbelow(256)}.1/24")
        if not any(address.network.overlaps(network) for network in used):
            return str(address)


if __name__ == "__main__":
    with Engine() as engine:
        print(f"DOCKER_HOST={engine.host} image: {engine.elasticsearch_image()}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                time.sleep(3600)
