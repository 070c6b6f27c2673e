"""One Elasticsearch for this machine, in a Docker container: loopback only, with a password, its data in a volume."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import secrets
import socket
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from codenav import docker_engine
from codenav.config import home
from codenav.docker_engine import engine_says
from codenav.errors import Unavailable, UsageError
from codenav.locks import locked
from codenav.retrieval.elastic.local_server import USER, LocalServer, forget, remember, remembered

IMAGE = "docker.elastic.co/elasticsearch/elasticsearch:8.19.8"
"""The vendor's image (www.docker.elastic.co) of the version that the stores are tested against."""
NAME = "codenav-elasticsearch"
"""Of the container and of the volume."""
LABEL = "codenav.role"
LEAST_MEMORY = 768 << 20
"""Bytes. Half is the heap; beside it a server takes some 0.25 GB (measured: 463 MB with a heap of 256 MB)."""
START_SECONDS = 180.0
"""Patience with a start; one takes 15 to 40 s."""
STOP_SECONDS = 30
"""From SIGTERM to SIGKILL; a server that closes its indexes takes about 2 s."""
REFUSED_SECONDS = 20.0
"""How long a 401 may last: a server that has just started cannot look into its own users yet."""
LOG_LINES = 6
_HOME = "/usr/share/elasticsearch"
_SECRET = "codenav-password"
_PORT = "9200/tcp"
_ENVIRONMENT = {
    "discovery.type": "single-node",
    "transport.host": "127.0.0.1",
    "xpack.security.enabled": "true",
    "xpack.security.http.ssl.enabled": "false",
    "xpack.ml.enabled": "false",
    "ELASTIC_PASSWORD_FILE": f"{_HOME}/config/{_SECRET}",
}

Tell = Callable[[str], None]
Pulled = Callable[[int, int], None]
"""Takes the bytes of an image that have come so far, and those that are known to come."""


@dataclass(frozen=True)
class ServerStatus:
    """What is known of the server; texts are empty and numbers 0 where it is down."""

    running: bool
    url: str = ""
    version: str = ""
    health: str = ""
    """`green`, `yellow` or `red`; `starting` while it does not answer."""
    image: str = ""
    volume: str = ""
    """Name of the volume with the data; it outlives the container."""
    size_bytes: int = 0
    """All indexes on disk, as the server counts them."""

    def to_dict(self) -> dict[str, Any]:
        """As in `--json`."""
        return asdict(self)


class Container:
    """The container on the engine that DOCKER_HOST names, by default the local one."""

    def __init__(self, *, tell: Tell = lambda line: None, pulled: Pulled = lambda done, total: None) -> None:
        """`tell` takes lines for a person about what is waited for.

        Raises:
            Unavailable: no engine answers, or it is on another machine.
        """
        self._tell, self._pulled = tell, pulled
        _check_local()
        self._client = docker_engine.connect()

    def close(self) -> None:
        """Release the connection to the engine."""
        self._client.close()

    def up(
        self,
        *,
        image: str | None = None,
        port: int | None = None,
        memory: int = 1 << 30,
        patience: float = START_SECONDS,
    ) -> tuple[ServerStatus, bool]:
        """Start the server and wait until it answers; whether this call started it. One that runs is left as it is.

        `memory` in bytes, `patience` in seconds. Whatever ends it early leaves no container, and no volume that was
        not there before.

        Raises:
            UsageError: too little memory, or a server runs with another image or port than the one asked for.
            Unavailable: no image, no free port, a name that is taken, a server that does not come up.
        """
        if memory < LEAST_MEMORY:
            raise UsageError(
                f"{memory >> 20} MiB are too little for Elasticsearch", hint=f"--memory {LEAST_MEMORY >> 20}m, or more"
            )
        with self._alone(), engine_says():
            container = self._container()
            if container is not None and container.status == "running":
                return self._running(container, image, port, patience), False
            if container is not None:
                container.remove(force=True)
            return self._started(image or IMAGE, port or 9200, memory, patience), True

    def down(self, *, delete_data: bool = False) -> bool:
        """Stop and remove the container; whether there was one. The data stay, unless they are to go.

        Raises:
            Unavailable: the engine refuses.
        """
        with self._alone(), engine_says():
            container = self._container()
            if container is not None:
                container.stop(timeout=STOP_SECONDS)
                container.remove(force=True)
            known = remembered()
            if known:
                remember(known._replace(url=""))
            if delete_data:
                volume = self._volume()
                if volume is not None:
                    volume.remove()
                forget()
            return container is not None

    def status(self) -> ServerStatus:
        """What runs now.

        Raises:
            Unavailable: the engine refuses.
        """
        with engine_says():
            container = self._container()
            volume = NAME if self._volume() is not None else ""
            if container is None or container.status != "running":
                return ServerStatus(False, volume=volume)
            server = self._server(container)
            image = str(container.attrs["Config"]["Image"])
        try:
            health = str(_ask(server, "_cluster/health")["status"])
            nodes = _ask(server, "_nodes/_local?filter_path=nodes.*.version")["nodes"]
            version = str(next(iter(nodes.values()))["version"])
            stored = _ask(server, "_stats/store?filter_path=_all.total.store").get("_all", {})
            size = int(stored["total"]["store"]["size_in_bytes"]) if stored else 0
        except (OSError, ValueError, KeyError, StopIteration):
            return ServerStatus(True, server.url, health="starting", image=image, volume=volume)
        return ServerStatus(True, server.url, version, health, image, volume, size)

    def _running(self, container: Any, image: str | None, port: int | None, patience: float) -> ServerStatus:
        server = self._server(container)
        own = container.attrs["Config"]["Image"]
        if (image and image != own) or (port and port != urlsplit(server.url).port):
            raise UsageError(f"{own} already runs at {server.url}", hint="codenav elasticsearch down, then up")
        self._wait(container, server, patience)
        remember(server)
        return self.status()

    def _started(self, image: str, port: int, memory: int, patience: float) -> ServerStatus:
        _check_free(port)
        self._have(image)
        known = remembered()
        server = LocalServer(f"http://127.0.0.1:{port}", USER, known.password if known else secrets.token_urlsafe(24))
        fresh = self._volume() is None
        try:
            if fresh:
                self._client.volumes.create(NAME, labels={LABEL: "elasticsearch"})
            container = self._client.containers.create(
                image,
                name=NAME,
                labels={LABEL: "elasticsearch"},
                environment={**_ENVIRONMENT, "ES_JAVA_OPTS": f"-Xms{memory >> 21}m -Xmx{memory >> 21}m"},
                ports={_PORT: ("127.0.0.1", port)},
                volumes={NAME: {"bind": f"{_HOME}/data", "mode": "rw"}},
                mem_limit=memory,
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
            )
            self._hand_over(container, server.password, image)
            remember(server)
            self._tell(f"Starting {image}")
            container.start()
            self._wait(container, server, patience)
        except BaseException as error:
            self._undo(server, fresh)
            if _port_taken(error):
                raise _taken(port) from error
            raise
        return self.status()

    def _hand_over(self, container: Any, password: str, image: str) -> None:
        from docker.errors import NotFound as NotThere

        try:
            container.put_archive(f"{_HOME}/config", _packed(password))
        except NotThere as error:
            raise Unavailable(
                f"{image} is no image of Elasticsearch: it has no {_HOME}/config", hint=f"one such as {IMAGE}"
            ) from error

    def _undo(self, server: LocalServer, fresh: bool) -> None:
        """After a start that came to nothing."""
        remember(server._replace(url=""))
        container = self._container()
        if container is not None:
            container.remove(force=True)
        volume = self._volume()
        if fresh and volume is not None:
            volume.remove()
            forget()

    def _have(self, image: str) -> None:
        from docker.errors import ImageNotFound

        try:
            self._client.images.get(image)
        except ImageNotFound:
            self._tell(f"Fetching {image}: once, some 0.7 GB")
            hint = "check the network, or name another one: codenav elasticsearch up --image IMAGE"
            docker_engine.fetch(self._client.api, image, hint=hint, pulled=self._pulled)

    def _container(self) -> Any | None:
        return self._ours(self._client.containers, "container")

    def _volume(self) -> Any | None:
        return self._ours(self._client.volumes, "volume")

    def _ours(self, collection: Any, kind: str) -> Any | None:
        from docker.errors import NotFound as NotThere

        try:
            found = collection.get(NAME)
        except NotThere:
            return None
        labels = found.labels if kind == "container" else found.attrs.get("Labels") or {}
        if labels.get(LABEL) != "elasticsearch":
            raise Unavailable(
                f"Docker has a {kind} {NAME} that codenav did not make",
                hint=f"docker {kind} rename {NAME} ANOTHER-NAME" if kind == "container" else f"docker volume rm {NAME}",
            )
        return found

    def _server(self, container: Any) -> LocalServer:
        """How a running container is reached; what it holds itself counts, whoever started it."""
        container.reload()
        bound = container.attrs["NetworkSettings"]["Ports"].get(_PORT) or [{"HostPort": "9200"}]
        stream, _ = container.get_archive(f"{_HOME}/config/{_SECRET}")
        with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as archive:
            file = archive.extractfile(_SECRET)
            password = file.read().decode() if file else ""
        return LocalServer(f"http://127.0.0.1:{bound[0]['HostPort']}", USER, password)

    def _wait(self, container: Any, server: LocalServer, patience: float) -> None:
        deadline, refused_since = time.monotonic() + patience, 0.0
        while True:
            with contextlib.suppress(OSError, ValueError):
                try:
                    if not _ask(server, "_cluster/health?wait_for_status=yellow&timeout=1s").get("timed_out"):
                        return
                except urllib.error.HTTPError as error:
                    refused_since = (refused_since or time.monotonic()) if error.code == 401 else 0.0
            container.reload()
            if container.status != "running":
                raise _died(container)
            if refused_since and time.monotonic() > refused_since + REFUSED_SECONDS:
                raise Unavailable(
                    f"Elasticsearch refuses the password that codenav keeps for its user {USER}: it was changed",
                    hint="change it back, or start anew: codenav elasticsearch down --delete-data",
                )
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"Elasticsearch does not answer at {server.url} after {patience:g} s:\n{_last_lines(container)}",
                    hint="give it more time (--wait 600) or more memory (--memory 2g)",
                )
            time.sleep(0.3)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One `up` or `down` at a time; a second one waits for the first."""
        place = home("data"), "elasticsearch.lock"
        with locked(*place, wait=False) as free:
            if free:
                yield
                return
        self._tell("Waiting for another codenav elasticsearch")
        with locked(*place, wait=True):
            yield


def _check_local() -> None:
    parts = urlsplit(docker_engine.host())
    if parts.scheme not in ("", "unix", "npipe") and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise Unavailable(
            f"DOCKER_HOST={docker_engine.host()} is another machine, where the server could be reached from there only",
            hint="run codenav elasticsearch up on that machine, or unset DOCKER_HOST",
        )


def _check_free(port: int) -> None:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except PermissionError:
        raise UsageError(f"port {port} needs root", hint="codenav elasticsearch up --port 9201") from None
    except OSError as error:
        raise _taken(port) from error


def _port_taken(error: BaseException) -> bool:
    return "already allocated" in str(error) or "address already in use" in str(error)


def _taken(port: int) -> Unavailable:
    return Unavailable(
        f"port {port} is taken by another program", hint=f"codenav elasticsearch up --port {min(port + 1, 65535)}"
    )


def _packed(password: str) -> bytes:
    """As a file of the container, readable for the server's user only: `docker inspect` shows none of it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo(_SECRET)
        entry.size, entry.mode, entry.uid, entry.gid = len(password.encode()), 0o400, 1000, 0
        archive.addfile(entry, io.BytesIO(password.encode()))
    return buffer.getvalue()


def _ask(server: LocalServer, path: str) -> Any:
    pair = base64.b64encode(f"{server.user}:{server.password}".encode()).decode()
    request = urllib.request.Request(f"{server.url}/{path}", headers={"Authorization": f"Basic {pair}"})
    # A proxy of the environment does not lead to our own loopback.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=5) as answer:
        return json.loads(answer.read())


def _died(container: Any) -> Unavailable:
    state, lines = container.attrs["State"], _last_lines(container)
    if state.get("OOMKilled") or state.get("ExitCode") == 137:
        return Unavailable("Elasticsearch ran out of memory", hint="codenav elasticsearch up --memory 2g")
    if "vm.max_map_count" in lines:
        return Unavailable(
            f"the kernel's vm.max_map_count is too low for Elasticsearch:\n{lines}",
            hint="sudo sysctl -w vm.max_map_count=262144",
        )
    return Unavailable(
        f"Elasticsearch ended with status {state.get('ExitCode')}:\n{lines}",
        hint="see the lines above; data of a newer version cannot be read: codenav elasticsearch down --delete-data",
    )


def _last_lines(container: Any) -> str:
    """The end of the log; of the vendor's JSON lines only what they say."""
    shown = []
    for line in container.logs(tail=200).decode(errors="replace").splitlines():
        with contextlib.suppress(ValueError, AttributeError):
            line = str(json.loads(line).get("message", line))
        shown.append(f"  {line[:300]}")
    return "\n".join(shown[-LOG_LINES:])
