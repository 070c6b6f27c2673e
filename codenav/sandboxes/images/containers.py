"""Temporary containers of a build, images made from them, and tars that tell nothing of this machine."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from codenav.core.errors import Unavailable, UsageError
from codenav.core.system.docker_engine import engine_says, read_file
from codenav.sandboxes.docker_config import NO_PROGRAM, PYTHONS, UID
from codenav.sandboxes.images.inside import BUILD
from codenav.sandboxes.owned_resources import KIND_LABEL, OWNER_LABEL, labels

# Python 2 can run it too, and so report its version.
_PROBE = """
import json, os, sys
try:
    import pip
    found = pip.__version__
except Exception:
    found = ""
try:
    import venv
except ImportError:
    venv = None
answer = {
    "version": "%d.%d.%d" % sys.version_info[:3], "pip": found, "venv": venv is not None,
    "apt": any(os.path.exists(folder + "/apt-get") for folder in ("/usr/bin", "/bin")),
}
with open("FOLDER/result.json", "w") as file:
    json.dump(answer, file)
""".replace("FOLDER", BUILD)


EPOCH = 315_532_800
"""1980-01-01, the time of every file that a build writes: the earliest that a zip file, and so a wheel, can hold."""
END = b"\0" * (2 * tarfile.BLOCKSIZE)
"""The end of a tar."""


class TaskFailed(Exception):
    """A program of a build failed. The message is its last output."""


class NoPython(Exception):
    """The image does not contain the program."""


@dataclass(frozen=True)
class Probe:
    """The Python of an image, and what it can install with."""

    command: str
    """The command, `python3` or `python`."""
    version: str
    pip: str
    """Version of pip. Empty if there is none."""
    venv: bool
    apt: bool


class Workshop:
    """A maker of images on one engine. `client` is the low-level one. Every container is removed in the end."""

    def __init__(self, client: Any, network: str) -> None:
        self._client = client
        self._network = network

    def probe(self, image: str, name: str) -> Probe:
        """Find the Python of an image and what it can install with. `name` is the image's name in messages.

        Raises:
            UsageError: the image has no working Python.
        """
        for command in PYTHONS:
            with (
                contextlib.suppress(NoPython),
                self._ran(image, [command, "-c", _PROBE], []) as (_, result),
            ):
                try:
                    return Probe(command, **result)
                except TypeError:
                    raise UsageError(
                        f"{command} in the image {name} does not work: {result.get('failed')}",
                        hint="--base python:3.12-slim",
                    ) from None
        raise UsageError(f"the image {name} has no Python", hint="--base python:3.12-slim")

    @contextlib.contextmanager
    def done(
        self, image: str, python: str, task: Mapping[str, Any], uploads: Iterable[bytes] = (), **how: Any
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Run a task of `inside` in a container. Yield the container's id and the result, then remove the container.

        `uploads` is a tar without its end for the folder `BUILD`, `how` are keywords of `_ran`.

        Raises:
            TaskFailed: a program of the task failed.
            Unavailable: the engine refuses.
        """
        script = Path(__file__).with_name("inside.py").read_bytes()
        fixed = [*_file("task.json", json.dumps(task).encode()), *_file("inside.py", script)]
        command, upload = [python, "-B", f"{BUILD}/inside.py"], itertools.chain(fixed, uploads)
        with self._ran(image, command, upload, **how) as (id, result):
            if result.get("failed") is not None:
                raise TaskFailed(str(result["failed"]))
            yield id, result

    @contextlib.contextmanager
    def _ran(
        self,
        image: str,
        command: Sequence[str],
        uploads: Iterable[bytes],
        *,
        root: bool = False,
        network: bool = False,
        before: Iterable[bytes] = (END,),
        config: Mapping[str, Any] = MappingProxyType({}),
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Run a command in a container until it ends, as root or not, with a network or without.

        `before` is a tar for `/`, `config` are settings that an image of the container keeps.
        """
        from docker.errors import APIError

        host = {
            "NetworkMode": self._network if network else "none",
            "LogConfig": {"Type": "none", "Config": {}},
            "Mounts": [{"Type": "volume", "Target": os.path.dirname(BUILD)}],
            "SecurityOpt": ["no-new-privileges"],
            **({} if root else {"CapDrop": ["ALL"]}),
        }
        body = {
            **config,
            "Image": image,
            # Its image gets another command, but could not get rid of an entry point.
            "Entrypoint": [],
            "Cmd": list(command),
            "User": "0:0" if root else f"{UID}:{UID}",
            "WorkingDir": "/",
            "Labels": {**config.get("Labels", {}), **labels("sandbox")},
            "Healthcheck": {"Test": ["NONE"]},
            "HostConfig": host,
        }
        first = header(os.path.basename(BUILD), kind=tarfile.DIRTYPE, uid=0 if root else UID)
        with engine_says():
            id = str(self._client.create_container_from_config(body)["Id"])
        try:
            with engine_says():
                self._client.put_archive(id, os.path.dirname(BUILD), itertools.chain([first], uploads, [END]))
                self._client.put_archive(id, "/", iter(before))
                try:
                    self._client.start(id)
                except APIError as error:
                    if any(words in str(error) for words in NO_PROGRAM):
                        raise NoPython from error
                    raise
                status = self._client.wait(id, timeout=None)
            yield id, self._result(id, status)
        finally:
            with contextlib.suppress(APIError):
                self._client.remove_container(id, force=True, v=True)

    def _result(self, id: str, status: Mapping[str, Any]) -> Mapping[str, Any]:
        from docker.errors import NotFound

        try:
            with engine_says():
                found: dict[str, Any] = json.loads(read_file(self._client, id, f"{BUILD}/result.json"))
                return found
        except (Unavailable, NotFound, ValueError):
            code = status.get("StatusCode")
            return {"failed": "killed: out of memory?" if code == 137 else f"it ended with status {code}"}

    def commit(self, id: str, held: Mapping[str, str]) -> str:
        """Make an image with further labels from a container, and return its id.

        The image has no owner: containers that a user starts from it would inherit it.
        """
        marks = {**held, OWNER_LABEL: "", KIND_LABEL: "image"}
        # Podman takes one label per line, and returns the id without the name of its hash.
        texts = [f"LABEL {name}={json.dumps(value)}" for name, value in marks.items()]
        with engine_says():
            made = str(self._client.commit(id, changes=[*texts, 'CMD ["python3"]'])["Id"])
        return made if made.startswith("sha256:") else f"sha256:{made}"


def uploaded(files: Mapping[str, bytes], paths: Mapping[str, Path]) -> Iterator[bytes]:
    """Yield data as files of the build, and files and folders of this machine, as a tar without its end."""
    seen: set[str] = set()
    for name, data in files.items():
        yield from _folders(name, seen)
        yield from _file(name, data)
    for name, path in paths.items():
        yield from _folders(f"{name}/x" if path.is_dir() else name, seen)
        if path.is_file():
            yield from _file(name, path.read_bytes())
        for inner in sorted(path.iterdir()) if path.is_dir() else ():
            if inner.is_file() and inner.name.endswith((".whl", ".zip", ".gz", ".bz2", ".xz", ".tgz", ".html")):
                yield from _file(f"{name}/{inner.name}", inner.read_bytes())


def _folders(name: str, seen: set[str]) -> Iterator[bytes]:
    parts = name.split("/")[:-1]
    for number in range(len(parts)):
        folder = "/".join(parts[: number + 1])
        if folder not in seen:
            seen.add(folder)
            yield header(_in_build(folder), kind=tarfile.DIRTYPE, uid=UID)


def _file(name: str, data: bytes) -> list[bytes]:
    return [header(_in_build(name), kind=tarfile.REGTYPE, size=len(data), uid=UID), padded(data)]


def _in_build(name: str) -> str:
    return f"{os.path.basename(BUILD)}/{name}"


def header(path: str, *, kind: bytes, executable: bool = False, size: int = 0, target: str = "", uid: int = 0) -> bytes:
    """Return the header block of a file in a tar, without any trace of this machine."""
    info = tarfile.TarInfo(path)
    info.type, info.size, info.linkname, info.mtime = kind, size, target, EPOCH
    info.mode = 0o755 if executable or kind == tarfile.DIRTYPE else 0o777 if kind == tarfile.SYMTYPE else 0o644
    info.uid = info.gid = uid
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


def padded(data: bytes) -> bytes:
    """Return data padded to whole blocks, to follow a header."""
    return data + b"\0" * (-len(data) % tarfile.BLOCKSIZE)


def folders_to(place: str, *, uid: int = 0) -> Iterator[bytes]:
    """Yield the headers of a folder and its parents. All but the topmost belong to `uid`."""
    parts = place.strip("/").split("/")
    for number in range(len(parts)):
        yield header("/".join(parts[: number + 1]), kind=tarfile.DIRTYPE, uid=uid if number else 0)
