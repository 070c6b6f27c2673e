"""The `docker` backend: a container of any image with Python, on the engine at `DOCKER_HOST`, Podman included.

The engine need not see any file of this machine: the guest, the environment and the work folder travel over the
attached stream. When the stream ends for any reason, the supervisor ends and the engine removes the container.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from codenav.core.errors import SandboxUnavailable, Unavailable
from codenav.core.execution import SandboxSpec
from codenav.core.system import docker_engine
from codenav.core.system.terminal_text import neutral
from codenav.sandboxes.binds import Bind, Binds
from codenav.sandboxes.channel import Closed, TooLate, read, write_all
from codenav.sandboxes.decoding import Malformed
from codenav.sandboxes.docker_config import (
    NO_PROGRAM,
    PATH,
    PYTHONS,
    container_config,
    container_name,
    user,
    work_folder,
)
from codenav.sandboxes.docker_guest import BOOTSTRAP, Hello, guest_for
from codenav.sandboxes.docker_image import IMPORTS_LABEL, SOURCES_LABEL, holds, imports_of, inspected
from codenav.sandboxes.docker_stream import AttachedStream
from codenav.sandboxes.guest_environment import composed, import_folders
from codenav.sandboxes.launch import GUEST_FLAGS, Launched, limits_of
from codenav.sandboxes.owned_resources import labels
from codenav.sandboxes.seccomp import programs
from codenav.sandboxes.sweeper import sweep_engine

START_SECONDS = 30.0
"""Seconds from the start of the container to the first message from inside. It usually takes 0.1 s."""
SYSCTLS = ("sysctl", "/proc/sys/kernel/shm", "kernel.shm")
"""Words of an engine that refuses kernel settings."""
EVENT_SECONDS = 0.3
"""Seconds that the engine may need to learn that the kernel killed a process."""
REMOVAL_SECONDS = 10.0
"""Seconds that the engine may need to remove a container. On a busy machine it takes more than one."""
NOTICE_CHARACTERS = 500
"""Most characters of the engine's warnings in a notice."""

_without_sysctls: set[tuple[str, str]] = set()
"""Pairs of engine and runtime that refuse sysctls: rootless ones before Linux 6.9, some remote ones."""


@dataclass(eq=False)
class LaunchedContainer(Launched):
    """A sandbox behind the attached stream of a container."""

    client: Any
    id: str
    stream: AttachedStream

    def __post_init__(self) -> None:
        self.sink, self.source = self.stream.sink, self.stream.source

    def watch_memory(self) -> Callable[[], bool]:
        """Return a check for out-of-memory kills since now, from the engine's events and by the engine's clock."""
        began = time.monotonic()
        return lambda: _starved(self.client, self.id, time.monotonic() - began)

    def reason(self) -> str:
        """Return the last lines of standard error."""
        return self.stream.unwrap.errors

    def cut(self) -> None:
        """End everything inside by closing the stream, which ends the supervisor."""
        self.stream.cut()

    def abandon(self) -> None:
        """Close the stream in a forked process. Other connections of the client keep nothing alive."""
        self.stream.abandon()

    def end(self, *, patience: float) -> None:
        """End the container and wait until the engine has removed it."""
        self.stream.close()
        try:
            remove(self.client, self.id, patience=patience)
        finally:
            self.client.close()


def launch_docker(spec: SandboxSpec) -> LaunchedContainer:
    """Start the guest in a container.

    Raises:
        SandboxUnavailable: there is no engine, no such image or no suitable Python in it, or the engine refuses.
        UsageError: a mount would expose the host or the engine.
    """
    with _unavailable():
        client = docker_engine.connect().api
    try:
        try:
            return _launched(client, spec)
        finally:
            # Last: by now the engine has finished containers that it was making for owners killed in the meantime.
            sweep_engine(client)
    except BaseException:
        client.close()
        raise


def _launched(client: Any, spec: SandboxSpec) -> LaunchedContainer:
    with _unavailable():
        image = inspected(client, spec.image)
    settings = image.get("Config") or {}
    marks = settings.get("Labels") or {}
    held = marks.get(SOURCES_LABEL, "").split("\n")
    inside = imports_of(marks.get(IMPORTS_LABEL, ""))
    imported = [path for path in spec.import_paths if not holds(path, inside, held)]
    folders = [str(said["folder"]) for path, said in inside.items() if Path(path) not in imported]
    binds = Binds.of_code(imported, spec.mounts, ignore=True)
    who = user(image, binds.shown)
    id, stream, work, notice = _any_started(client, spec, image, who, binds.shown)
    try:
        hello = _send_guest(stream, spec.image)
    except BaseException:
        stream.close()
        remove(client, id, patience=0.0)
        raise
    config: dict[str, object] = {
        "work": work,
        "remove": [],
        "counted": [work, "/tmp", "/dev/shm"],
        "env": _environment(spec, settings.get("Env") or (), imported),
        "import_first": list(dict.fromkeys([*folders, *import_folders(imported)])),
        "import_then": [],
        "limits": limits_of(spec.resources, processes=None),
        "shared_memory": _engine(spec) in _without_sysctls,
        "kernel": {"sockets": True, "rest": False},
        "filter": programs(fixed_processors=False, counted=True),
        "filtered": False,
        **({"killed": hello.killed} if hello.killed else {}),
    }
    notice = "; ".join(filter(None, (notice, binds.notice)))
    return LaunchedContainer(
        client, id, stream, config=config, image=spec.image, notice=notice, held=binds.copies, unwrap=stream.unwrap
    )


def _engine(spec: SandboxSpec) -> tuple[str, str]:
    return docker_engine.host(), spec.runtime


def _any_started(
    client: Any, spec: SandboxSpec, image: Mapping[str, Any], who: str, shown: Sequence[Bind]
) -> tuple[str, AttachedStream, str, str]:
    """Start a container, falling back to what the engine and the image support.

    Returns its id, its stream, its work folder and a notice.
    """
    from docker.errors import APIError

    pythons, plain, engine = list(PYTHONS), False, _engine(spec)
    while pythons:
        work = work_folder("" if plain else who, shown)
        body = container_config(
            spec,
            image=image,
            who=who,
            work=work,
            shown=shown,
            labels=labels("sandbox"),
            command=[pythons[0], *GUEST_FLAGS, "-c", BOOTSTRAP],
            plain=plain,
            sysctls=engine not in _without_sysctls,
        )
        with _unavailable():
            try:
                id, stream, notice = _started(client, body, spec)
                return id, stream, work, notice
            except APIError as error:
                why, started = str(error), str(error.response.url).endswith("/start")
                if engine not in _without_sysctls and any(word in why for word in SYSCTLS):
                    _without_sysctls.add(engine)
                elif not started and not plain and "invalid mount option" in why:
                    plain = True
                elif started and any(words in why for words in NO_PROGRAM):
                    del pythons[0]
                else:
                    raise _refused(error, spec.image) from error
    raise SandboxUnavailable(
        f"the image {spec.image} has no Python",
        hint="name another with --image, or codenav sandbox build --base python:3.12-slim --on SOURCE",
    )


def _started(client: Any, body: Mapping[str, Any], spec: SandboxSpec) -> tuple[str, AttachedStream, str]:
    """Create, attach and start a container. Return its id, its stream and a notice of the engine's warnings."""
    made = client.create_container_from_config(body, container_name())
    id = str(made["Id"])
    try:
        _check_given(client, id, spec)
        stream = AttachedStream(client.attach_socket(id, {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}))
        try:
            client.start(id)
        except BaseException:
            stream.close()
            raise
    except BaseException:
        remove(client, id, patience=0.0)
        raise
    return id, stream, _notice(made.get("Warnings") or ())


def _notice(warnings: Sequence[object]) -> str:
    """Return a notice of the engine's warnings at creation, such as limits that it cannot set without root."""
    texts = dict.fromkeys(neutral(" ".join(str(one).split())).removeprefix("WARNING: ") for one in warnings)
    return f"the engine says: {' '.join(texts)}"[:NOTICE_CHARACTERS] if texts else ""


def _check_given(client: Any, id: str, spec: SandboxSpec) -> None:
    """Check that the engine applied the runtime and GPUs that were requested. Podman may silently ignore them."""
    if not spec.runtime and not spec.gpus:
        return
    made = client.inspect_container(id)
    given = made.get("HostConfig") or {}
    if spec.runtime and spec.runtime not in (given.get("Runtime"), made.get("OCIRuntime")):
        raise SandboxUnavailable(f"the engine does not take the runtime {spec.runtime}", hint="docker info")
    if spec.gpus and not given.get("DeviceRequests"):
        raise SandboxUnavailable(f"the engine does not take the GPUs {spec.gpus}", hint="docker info")


def _refused(error: Any, name: str) -> SandboxUnavailable:
    """Return the error for what the engine refused, in one line."""
    said = " ".join(docker_engine.said(error).split())[:500]
    if "runtime" in said and "unknown" in said:
        return SandboxUnavailable(f"the engine does not have this runtime: {said}", hint="docker info")
    if "device driver" in said:
        return SandboxUnavailable(f"the engine cannot give GPUs: {said}", hint="install the NVIDIA container toolkit")
    if "bind source path does not exist" in said:
        return SandboxUnavailable(
            f"the engine does not see a folder of this machine: {said}",
            hint="put the code base into an image: codenav sandbox build --on SOURCE",
        )
    return SandboxUnavailable(f"the engine does not start a container of {name}: {said}", hint="docker info")


def _send_guest(stream: AttachedStream, image: str) -> Hello:
    """Receive the hello of the Python inside, and send it the guest."""
    deadline = time.monotonic() + START_SECONDS
    os.set_blocking(stream.sink, False)
    os.set_blocking(stream.source, False)
    try:
        hello = Hello.read(lambda: stream.unwrap(read(stream.source, deadline)))
        hello.check(image)
        write_all(stream.sink, guest_for(hello.magic), deadline)
        return hello
    except (Closed, TooLate, Malformed) as error:
        why = stream.unwrap.errors or str(error) or f"no answer in {START_SECONDS:g} s"
        raise SandboxUnavailable(f"Python in the image {image} does not start: {why}") from error


def _environment(spec: SandboxSpec, entries: Sequence[str], imported: Sequence[Path]) -> dict[str, str]:
    """Return `os.environ` for the code, from the image's own."""
    own = {"PATH": PATH, **dict(entry.partition("=")[::2] for entry in entries)}
    paths = [*import_folders(imported), *filter(None, own.get("PYTHONPATH", "").split(os.pathsep))]
    return composed(own, spec, home="/tmp", imports=paths)


def _starved(client: Any, id: str, seconds: float) -> bool:
    """True if the kernel killed a process of a container for lack of memory in the last seconds.

    The container may be gone by now.
    """
    from docker.errors import APIError, DockerException
    from requests.exceptions import RequestException

    with contextlib.suppress(APIError, DockerException, RequestException, ValueError, KeyError):
        now = datetime.fromisoformat(client.info()["SystemTime"])
        asked = {"type": "container", "container": id, "event": "oom"}
        since, until = now - timedelta(seconds=seconds), now + timedelta(seconds=EVENT_SECONDS)
        # Some engines cut times to whole seconds. Rounding up includes the last kill.
        times = (math.floor(since.timestamp()), math.ceil(until.timestamp()))
        return any(True for _ in client.events(*times, filters=asked, decode=True))
    return False


def remove(client: Any, id: str, *, patience: float) -> None:
    """Wait for the engine to remove a container that ends by itself. Remove it by force after `patience` seconds.

    It is gone at the end, unless the engine does not answer or takes longer than `REMOVAL_SECONDS`.
    """
    from docker.errors import APIError, DockerException
    from requests.exceptions import RequestException

    if patience > 0 and _seen_off(client, id, patience):
        return
    try:
        client.remove_container(id, force=True, v=True)
    except APIError as error:
        # The engine says 409 while it is removing the container by itself.
        if error.response.status_code == 409:
            _seen_off(client, id, REMOVAL_SECONDS)
    except (DockerException, RequestException):
        return


def _seen_off(client: Any, id: str, seconds: float) -> bool:
    """True if the engine has removed a container within this time."""
    from docker.errors import DockerException, NotFound
    from requests.exceptions import RequestException

    try:
        return not client.wait(id, timeout=seconds, condition="removed").get("Error")
    except NotFound:
        return True
    except (DockerException, RequestException):
        return False


@contextlib.contextmanager
def _unavailable() -> Iterator[None]:
    """Turn connection errors into SandboxUnavailable."""
    try:
        with docker_engine.engine_says():
            yield
    except SandboxUnavailable:
        raise
    except Unavailable as error:
        raise SandboxUnavailable(str(error), hint=error.hint) from error


def diagnosed() -> str:
    """Return name, version and address of the engine.

    Raises:
        Unavailable: no engine answers, or it denies access.
    """
    client = docker_engine.connect(timeout=10.0)
    try:
        with docker_engine.engine_says():
            found = client.version()
    finally:
        client.close()
    kinds = {str(item.get("Name")).partition(" ")[0] for item in found.get("Components") or ()}
    name = "Podman" if "Podman" in kinds else "Docker"
    return f"{name} {found.get('Version', '')} at {docker_engine.host()}"
