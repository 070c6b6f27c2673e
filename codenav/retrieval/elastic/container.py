"""An Elasticsearch for this machine, in a Docker container: loopback only, with a password, its data in a volume."""

from __future__ import annotations

import contextlib
import io
import json
import secrets
import tarfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import urlsplit

from codenav.core.config import StoreOptions, home
from codenav.core.errors import IndexUnavailable, Unavailable, UsageError
from codenav.core.system import docker_engine
from codenav.core.system.locks import held
from codenav.retrieval.elastic.connection import Connection
from codenav.retrieval.elastic.faults import Refused, part
from codenav.retrieval.elastic.indices import stored_bytes
from codenav.retrieval.elastic.local_server import USER, LocalServer, note, remember, remembered, with_server

IMAGE = "docker.elastic.co/elasticsearch/elasticsearch:8.19.8"
"""The vendor's image (www.docker.elastic.co) of the version that the stores are tested against."""
NAME = "codenav-elasticsearch"
"""The name of the container and of the volume."""
LEAST_MEMORY = 768 << 20
"""Minimum memory in bytes. Half is the heap; besides it a server takes some 0.25 GB (463 MB with a heap of 256 MB)."""
REFUSED_SECONDS = 20.0
"""Longest time for a 401 to last: a server that has just started cannot look into its own users yet."""
_MARK = {"codenav.role": "elasticsearch"}
"""The label of the container and of the volume."""
_HOME = "/usr/share/elasticsearch"
_SECRET = f"{_HOME}/config/codenav-password"
_PORT = "9200/tcp"
_FREE = {"low": "2gb", "high": "1gb", "flood_stage": "500mb"}
"""The least free space that the server asks for. By default it leaves shards of any size unplaced, and its indexes red,
on a disk that is nine tenths full (Elasticsearch Guide, disk-based shard allocation), as many a laptop's is."""
_ENVIRONMENT = {
    **{f"cluster.routing.allocation.disk.watermark.{name}": size for name, size in _FREE.items()},
    "discovery.type": "single-node", "transport.host": "127.0.0.1", "xpack.ml.enabled": "false",
    "xpack.security.enabled": "true", "xpack.security.http.ssl.enabled": "false", "ELASTIC_PASSWORD_FILE": _SECRET,
}  # fmt: skip


class Container:
    """The container on the engine that DOCKER_HOST names, by default the local one."""

    def __init__(
        self, *, tell: Callable[[str], None] = print, pulled: Callable[[int, int], None] = lambda done, total: None
    ) -> None:
        """`tell` takes lines for a person about what is waited for; `pulled` as in `docker_engine.fetch`.

        Raises:
            Unavailable: no engine answers, or it is on another machine.
        """
        engine = urlsplit(docker_engine.host())
        if engine.scheme not in ("", "unix", "npipe") and engine.hostname not in ("localhost", "127.0.0.1", "::1"):
            raise Unavailable(
                f"DOCKER_HOST={docker_engine.host()} is another machine: only there the server could be reached",
                hint="run codenav elasticsearch up on that machine, or unset DOCKER_HOST",
            )
        self._tell, self._pulled = tell, pulled
        self._client = docker_engine.connect()
        self.close = self._client.close

    def up(self, *, image: str | None, port: int | None, memory: str, patience: float) -> tuple[dict[str, Any], bool]:
        """Start the server and wait until it answers; return its status, and True if this call started it.

        A server that runs is left as it is. `memory` as Docker writes it (`1g`), `patience` in seconds. Whatever ends
        the call early leaves no container, and no volume that was not there before.

        Raises:
            UsageError: too little memory, or a server runs with another image or port than the one asked for.
            Unavailable: no image, no free port, a name that is taken, a server that does not come up.
        """
        size = _bytes(memory)
        with self._alone(), docker_engine.engine_says():
            container = self._ours("container")
            if container is None or container.status != "running":
                if container is not None:
                    container.remove(force=True)
                answered = self._start(image or IMAGE, port or 9200, size, patience)
                return self._described()[0] | answered, True
            server, own = _server(container), container.attrs["Config"]["Image"]
            if (image and image != own) or (port and port != urlsplit(server.url).port):
                raise UsageError(f"{own} already runs at {server.url}", hint="codenav elasticsearch down, then up")
            answered = _wait(container, server, patience)
            remember(server)
            return self._described()[0] | answered, False

    def down(self, *, delete_data: bool = False) -> bool:
        """Stop and remove the container. The data stay, unless they are to go. True if there was a container."""
        with self._alone(), docker_engine.engine_says():
            container = self._ours("container")
            if container is not None:
                # From SIGTERM to SIGKILL, in seconds; a server that closes its indexes takes about 2.
                container.stop(timeout=30)
            self._clear(delete_data)
            return container is not None

    def status(self) -> dict[str, Any]:
        """The state of the server, as `codenav schema elasticsearch-status` describes it.

        Raises:
            Unavailable: the engine refuses.
        """
        found, server = self._described()
        if server is None:
            return found
        with contextlib.closing(_connection(server)) as connection:
            try:
                return found | _answered(connection)
            except IndexUnavailable:
                return found | {"health": "starting"}

    def _described(self) -> tuple[dict[str, Any], LocalServer | None]:
        """The status as far as Docker knows it, and the server if it runs."""
        found = {"running": False, "url": "", "version": "", "health": "", "image": "", "volume": "", "size_bytes": 0}
        with docker_engine.engine_says():
            container = self._ours("container")
            found["volume"] = NAME if self._ours("volume") else ""
            if container is None or container.status != "running":
                return found, None
            server = _server(container)
        return found | {"running": True, "url": server.url, "image": container.attrs["Config"]["Image"]}, server

    def _start(self, image: str, port: int, memory: int, patience: float) -> dict[str, Any]:
        """Start the server and return what it answers first."""
        from docker.errors import APIError, ImageNotFound, NotFound

        try:
            self._client.images.get(image)
        except ImageNotFound:
            self._tell(f"Fetching {image}: once, some 0.7 GB")
            hint = "check the network, or name another one: codenav elasticsearch up --image IMAGE"
            docker_engine.fetch(self._client.api, image, hint=hint, pulled=self._pulled)
        known, fresh = remembered(), self._ours("volume") is None
        server = LocalServer(f"http://127.0.0.1:{port}", known.password if known else secrets.token_urlsafe(24))
        heap = f"{memory >> 21}m"
        try:
            self._client.volumes.create(NAME, labels=_MARK)
            container = self._client.containers.create(
                image, name=NAME, labels=_MARK, ports={_PORT: ("127.0.0.1", port)}, volumes=[f"{NAME}:{_HOME}/data"],
                environment={**_ENVIRONMENT, "ES_JAVA_OPTS": f"-Xms{heap} -Xmx{heap}"}, mem_limit=memory,
                cap_drop=["ALL"], security_opt=["no-new-privileges"],
            )  # fmt: skip
            container.put_archive(f"{_HOME}/config", _packed(server.password))
            remember(server)
            self._tell(f"Starting {image}")
            container.start()
            return _wait(container, server, patience)
        except BaseException as error:
            self._clear(fresh)
            if isinstance(error, NotFound):
                message = f"{image} is not an image of Elasticsearch: it has no {_HOME}/config"
                raise Unavailable(message, hint=f"one such as {IMAGE}") from error
            taken = "already allocated" in str(error) or "address already in use" in str(error)
            if isinstance(error, APIError) and taken:
                hint = f"codenav elasticsearch up --port {min(port + 1, 65535)}"
                raise Unavailable(f"port {port} is taken by another program", hint=hint) from error
            raise

    def _clear(self, data: bool) -> None:
        """Remove the container; with `data` the volume and the password, too."""
        container, volume = self._ours("container"), self._ours("volume") if data else None
        if container is not None:
            container.remove(force=True)
        if known := remembered():
            remember(known._replace(url=""))
        if volume is not None:
            volume.remove()
        if data:
            note().unlink(missing_ok=True)

    def _ours(self, kind: str) -> Any | None:
        """The container or the volume; None where there is none."""
        from docker.errors import NotFound

        try:
            found = getattr(self._client, f"{kind}s").get(NAME)
        except NotFound:
            return None
        if not _MARK.items() <= part(found.attrs.get("Config", found.attrs), "Labels").items():
            hint = f"docker container rename {NAME} ANOTHER-NAME" if kind == "container" else f"docker volume rm {NAME}"
            raise Unavailable(f"Docker has a {kind} {NAME} that codenav did not make", hint=hint)
        return found

    def _alone(self) -> AbstractContextManager[None]:
        """Hold the lock for one `up` or `down` at a time; a second one waits for the first, and says so."""
        waiting = "Waiting for another codenav elasticsearch"
        return held(home("data"), "elasticsearch.lock", waiting=lambda: self._tell(waiting))


def _bytes(memory: str) -> int:
    from docker.errors import DockerException
    from docker.utils import parse_bytes

    try:
        size = int(parse_bytes(memory))
    except (DockerException, OverflowError) as error:
        raise UsageError(f"{memory!r} is not a size such as 1g or 1500m") from error
    if size < LEAST_MEMORY:
        raise UsageError(
            f"{memory} is too little memory for Elasticsearch", hint=f"--memory {LEAST_MEMORY >> 20}m, or more"
        )
    return size


def _packed(password: str) -> bytes:
    """The password as a file for the container, for the server's user only: `docker inspect` shows none of it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo(_SECRET.rpartition("/")[2])
        entry.size, entry.mode, entry.uid, entry.gid = len(password), 0o400, 1000, 0
        archive.addfile(entry, io.BytesIO(password.encode()))
    return buffer.getvalue()


def _server(container: Any) -> LocalServer:
    """The address and password of a running container; the password in it counts, whoever started it."""
    container.reload()
    bound = container.attrs["NetworkSettings"]["Ports"].get(_PORT) or [{"HostPort": "9200"}]
    password = docker_engine.read_file(container.client.api, container.id, _SECRET).decode(errors="replace")
    return LocalServer(f"http://127.0.0.1:{bound[0]['HostPort']}", password.strip())


def _connection(server: LocalServer) -> Connection:
    return Connection(with_server(StoreOptions("elasticsearch"), server), patience=0.0)


def _answered(connection: Connection) -> dict[str, Any]:
    """The part of a status that the server itself knows."""
    health = connection.read(lambda es: es.cluster.health())["status"]
    size = stored_bytes(connection, "_all")
    return {"health": health, "version": connection.versions()[0], "size_bytes": size}


def _wait(container: Any, server: LocalServer, patience: float) -> dict[str, Any]:
    """Wait until the server answers, and return its part of the status: one that has just begun may yet refuse some."""
    deadline, refused_since = time.monotonic() + patience, 0.0
    with contextlib.closing(_connection(server)) as connection:
        while True:
            refused = False
            try:
                if connection.read(lambda es: es.cluster.health(wait_for_status="yellow", timeout="1s"), empty=(408,)):
                    return _answered(connection)
            except IndexUnavailable as error:
                refused = isinstance(error, Refused) and error.status == 401
            refused_since = (refused_since or time.monotonic()) if refused else 0.0
            container.reload()
            if container.status != "running":
                raise _died(container)
            if refused and time.monotonic() > refused_since + REFUSED_SECONDS:
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


def _died(container: Any) -> Unavailable:
    state, lines = container.attrs["State"], _last_lines(container)
    said = f"Elasticsearch ended with status {state.get('ExitCode')}:\n{lines}"
    hint = "see the lines above; data of a newer version cannot be read: codenav elasticsearch down --delete-data"
    if state.get("OOMKilled") or state.get("ExitCode") == 137:
        said, hint = "Elasticsearch ran out of memory", "codenav elasticsearch up --memory 2g"
    elif "vm.max_map_count" in lines:
        said = f"the kernel's vm.max_map_count is too low for Elasticsearch:\n{lines}"
        hint = "sudo sysctl -w vm.max_map_count=262144"
    return Unavailable(said, hint=hint)


def _last_lines(container: Any) -> str:
    """The last six lines of the log; of the vendor's JSON lines only what they say."""
    shown = []
    for line in container.logs(tail=6).decode(errors="replace").splitlines():
        with contextlib.suppress(ValueError, AttributeError):
            line = str(json.loads(line).get("message", line))
        shown.append(f"  {line[:300]}")
    return "\n".join(shown)
