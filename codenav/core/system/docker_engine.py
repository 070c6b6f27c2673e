"""The connection to Docker's engine, whose errors become codenav's."""

from __future__ import annotations

import contextlib
import io
import os
import tarfile
from collections.abc import Callable, Iterator
from typing import Any

from codenav.core.errors import Unavailable

DEFAULT_HOST = "unix:///var/run/docker.sock"
"""The address of the engine unless `DOCKER_HOST` names another."""


def host() -> str:
    """The address of the engine."""
    return os.environ.get("DOCKER_HOST", "") or DEFAULT_HOST


def engine_listens() -> bool:
    """True if an engine may be there: its socket exists, or another address is set. Needs no client library."""
    address = host()
    return not address.startswith("unix://") or os.path.exists(address.removeprefix("unix://"))


def connect(*, timeout: float = 120.0) -> Any:
    """A client of the engine; `timeout` is in seconds per request.

    Raises:
        Unavailable: no engine answers, or it denies access.
    """
    import docker

    try:
        return docker.from_env(timeout=timeout)
    except (docker.errors.DockerException, OSError, ValueError) as error:
        if "Permission denied" in str(error):
            raise Unavailable(
                f"no permission for Docker's engine at {host()}",
                hint="sudo usermod -aG docker $USER, then log in again",
            ) from error
        if "paramiko" in str(error):
            raise Unavailable(f"DOCKER_HOST={host()} needs paramiko", hint="pip install 'docker[ssh]'") from error
        if "CERTIFICATE" in str(error) or "certificate" in str(error):
            raise Unavailable(
                f"Docker's engine at {host()} has an untrusted certificate, or does not accept ours",
                hint="DOCKER_CERT_PATH names the folder with ca.pem, cert.pem and key.pem; REQUESTS_CA_BUNDLE unset",
            ) from error
        raise Unavailable(
            f"no Docker engine answers at {host()}",
            hint="sudo systemctl start docker; where Docker is not installed: sudo apt-get install docker.io",
        ) from error


@contextlib.contextmanager
def engine_says() -> Iterator[None]:
    """Turn errors of the engine into `Unavailable`.

    Raises:
        Unavailable: the engine refused, or the connection to it broke.
    """
    from docker.errors import APIError, DockerException
    from requests.exceptions import RequestException

    try:
        yield
    except APIError as error:
        raise Unavailable(f"Docker refuses: {said(error)}", hint="docker info") from error
    except (DockerException, RequestException) as error:
        raise Unavailable(f"Docker's engine went away: {error}", hint="sudo systemctl start docker") from error


def fetch(client: Any, image: str, *, hint: str, pulled: Callable[[int, int], None] = lambda done, total: None) -> None:
    """Download an image from its registry; `client` is the low-level client.

    `pulled` is called with the bytes downloaded so far and the bytes known to be needed.

    Raises:
        Unavailable: the image does not exist, or the registry cannot be reached; with `hint`.
    """
    from docker.errors import APIError

    layers: dict[str, tuple[int, int]] = {}
    try:
        for event in client.pull(image, stream=True, decode=True):
            if "error" in event:
                raise Unavailable(f"the image {image} cannot be fetched: {event['error']}", hint=hint)
            detail = event.get("progressDetail") or {}
            if event.get("status") == "Downloading" and "total" in detail:
                layers[event["id"]] = (detail["current"], detail["total"])
                pulled(*(sum(column) for column in zip(*layers.values(), strict=True)))
    except APIError as error:
        raise Unavailable(f"the image {image} cannot be fetched: {said(error)}", hint=hint) from error


def read_file(client: Any, container: str, path: str) -> bytes:
    """The content of a file in a container; `client` is the low-level client. It need not run.

    Raises:
        docker.errors.NotFound: there is none.
    """
    # Not `cat` in the container: of a program that ends at once the output is lost now and then.
    stream, _ = client.get_archive(container, path)
    with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as archive:
        member = archive.next()
        file = archive.extractfile(member) if member else None
        return file.read() if file else b""


def said(error: Any) -> str:
    """The reason in an error of the engine."""
    return str(error.explanation or error).strip()
