"""`codenav elasticsearch`: a real engine, a real server in a container."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command_line import Command, Ran, codenav, start
from docker_engine import Engine

from codenav.core import schemas
from codenav.core.errors import Unavailable
from codenav.retrieval.elastic import container

NAME = "codenav-elasticsearch"
PATIENCE = 400
"""Seconds. A start takes 20 s on an idle machine; the containers share it with the other tests."""


@pytest.fixture
def engine(docker_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """The engine of the run, with nothing of ours on it before and after a test."""
    monkeypatch.setenv("DOCKER_HOST", docker_engine.host)
    clear(docker_engine)
    yield docker_engine
    clear(docker_engine)


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as opened:
        return int(opened.getsockname()[1])


def clear(engine: Engine) -> None:
    containers = engine.docker("ps", "--all", "--quiet").split()
    if containers:
        engine.docker("rm", "--force", *containers)
    if NAME in volumes(engine):
        engine.docker("volume", "rm", NAME)


def volumes(engine: Engine) -> list[str]:
    return engine.docker("volume", "ls", "--quiet").split()


def containers(engine: Engine) -> list[str]:
    return engine.docker("ps", "--all", "--format", "{{.Names}}").split()


def begin(engine: Engine, port: int, *more: str, image: str = "") -> Command:
    image = image or engine.elasticsearch_image()
    return start("elasticsearch", "up", "--image", image, "--port", str(port), "--wait", str(PATIENCE), *more)


def ended(process: Command) -> Ran:
    with process:
        out, err = process.communicate(timeout=PATIENCE + 60)
    return Ran(process.returncode, out, err)


def up(engine: Engine, port: int, *more: str, image: str = "") -> Ran:
    return ended(begin(engine, port, *more, image=image))


def changed(engine: Engine, *entrypoint: str) -> str:
    """An image like that of Elasticsearch which runs something else."""
    stopped = engine.docker("create", engine.elasticsearch_image())
    name = "codenav-tests/changed"
    engine.docker("commit", "--change", f"ENTRYPOINT {json.dumps(entrypoint)}", stopped, name)
    engine.docker("rm", stopped)
    return name


def ask(url: str, password: str = "", body: Any = None) -> Any:
    request = urllib.request.Request(url, data=json.dumps(body).encode() if body else None)
    request.add_header("Content-Type", "application/json")
    if password:
        pair = base64.b64encode(f"elastic:{password}".encode()).decode()
        request.add_header("Authorization", f"Basic {pair}")
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
        return json.loads(answer.read())


@pytest.mark.nightly
def test_data_outlive_the_server_which_is_private(
    engine: Engine, port: int, codenav_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One server through its whole life: each start takes 20 s."""
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "shapes.py").write_text("def resize_image(image):\n    return image\n")
    url = f"http://127.0.0.1:{port}"

    killed = begin(engine, port)
    until_started(engine, killed)
    killed.kill()
    ended(killed)
    first, second = begin(engine, port), begin(engine, port)
    following = f" at {url}\nNext: codenav index . --store elasticsearch\n"
    assert [(ran.code, ran.out) for ran in (ended(first), ended(second))] == [
        (0, f"Elasticsearch 8.19.8 already runs{following}")
    ] * 2

    kept = codenav_home / "elasticsearch.json"
    password = json.loads(kept.read_text())["password"]
    # Another user's settings: how the server is reached is read from the container.
    kept.unlink()
    shown = codenav("elasticsearch", "up", "--show-password")
    assert password in shown.out and password in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600
    check_privacy(engine, url, password)

    assert codenav("index", tmp_path / "repo", "--store", "elasticsearch").code == 0
    ask(f"{url}/others/_doc/1?refresh=true", password, {"kept": True})
    shown = codenav("elasticsearch", "status", "--json")
    jsonschema.validate(shown.document, schemas.load("elasticsearch-status"))
    assert (shown.code, shown.document["url"], shown.document["version"]) == (0, url, "8.19.8")
    assert shown.document["size_bytes"] > 0
    other = up(engine, port + 1)
    assert (other.code, other.out) == (2, "")
    assert "codenav elasticsearch down" in other.err

    engine.docker("stop", NAME)
    assert codenav("elasticsearch", "status").code == 1
    again = up(engine, port)
    assert (again.code, again.out) == (0, f"Elasticsearch 8.19.8 answers{following}"), "the machine was started again"
    assert not any(password in text for text in (again.out, again.err))
    assert ask(f"{url}/others/_doc/1", password)["_source"] == {"kept": True}
    found = codenav("search", "resize", "--on", tmp_path / "repo", "--store", "elasticsearch", "--json")
    assert found.document["total"] == 1

    secret = "/usr/share/elasticsearch/config/codenav-password"
    engine.docker("exec", NAME, "sh", "-c", f"chmod 600 {secret}; echo other > {secret}")
    monkeypatch.setattr(container, "REFUSED_SECONDS", 1.0)
    with pytest.raises(Unavailable, match="refuses the password"):
        container.Container().up(image=None, port=port, memory="1g", patience=60.0)
    assert containers(engine) == [NAME], "a server that was there before is not removed"

    assert codenav("elasticsearch", "down").out == "Elasticsearch stopped.\n"
    assert codenav("elasticsearch", "down").out == "Elasticsearch was not running.\n"
    shown = codenav("elasticsearch", "status", "--json")
    jsonschema.validate(shown.document, schemas.load("elasticsearch-status"))
    assert (shown.code, shown.document["running"], shown.document["volume"]) == (1, False, NAME)
    without = codenav("search", "resize", "--on", tmp_path / "repo", "--store", "elasticsearch")
    assert without.code == 2
    assert "codenav elasticsearch up" in without.err
    assert codenav("elasticsearch", "down", "--delete-data").out.endswith("Its data are deleted.\n")
    assert (containers(engine), volumes(engine), kept.exists()) == ([], [], False)


def check_privacy(engine: Engine, url: str, password: str) -> None:
    """Check that nobody else reaches a server, or reads its password."""
    assert password not in engine.docker("inspect", NAME)
    assert engine.docker("port", NAME) == f"9200/tcp -> {url.removeprefix('http://')}"
    for given in ("", "wrong"):
        with pytest.raises(urllib.error.HTTPError) as caught:
            ask(f"{url}/_cluster/health", given)
        caught.value.close()
        assert caught.value.code == 401
    # A disk that is nine tenths full leaves the shards of a server with the usual settings unplaced.
    least = ask(f"{url}/_cluster/settings?include_defaults=true&flat_settings=true", password)["defaults"]
    assert least["cluster.routing.allocation.disk.watermark.flood_stage"] == "500mb"
    # Whoever else is in the container's network cannot join as a node.
    address = engine.docker("inspect", "--format", "{{.NetworkSettings.IPAddress}}", NAME)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address, 9300), timeout=5)


def until_started(engine: Engine, process: Command) -> None:
    """Wait until the container is there."""
    while not engine.docker("ps", "--quiet"):
        assert process.poll() is None
        time.sleep(0.1)


def test_an_interrupted_start_leaves_nothing(engine: Engine, port: int, codenav_home: Path) -> None:
    process = begin(engine, port)
    until_started(engine, process)
    process.send_signal(signal.SIGINT)
    ran = ended(process)
    assert (ran.code, ran.out) == (130, "")
    assert "Traceback" not in ran.err
    assert (containers(engine), volumes(engine)) == ([], [])
    assert not (codenav_home / "elasticsearch.json").exists()


@pytest.mark.parametrize(
    ("entrypoint", "more", "said"),
    [
        (["sh", "-c", "echo bootstrap: vm.max_map_count [65530] is too low; exit 78"], [], ["sysctl -w", "[65530]"]),
        (["sh", "-c", 'echo \'{"message": "no such plugin"}\'; exit 3'], [], ["status 3", "\n  no such plugin"]),
        (["/usr/bin/python3", "-c", "held = b'x' * (2 << 30)"], ["--memory", "768m"], ["out of memory", "--memory 2g"]),
        (["sh", "-c", "echo waiting for nobody; sleep 600"], ["--wait", "2"], ["waiting for nobody", "--wait 600"]),
    ],
    ids=["map-count", "ends", "memory", "silent"],
)
def test_a_server_that_does_not_come_up(
    engine: Engine, port: int, entrypoint: list[str], more: list[str], said: list[str]
) -> None:
    ran = up(engine, port, *more, image=changed(engine, *entrypoint))
    assert (ran.code, ran.out) == (4, "")
    for text in said:
        assert text in ran.err
    assert "Traceback" not in ran.err
    assert (containers(engine), volumes(engine)) == ([], [])


def test_names_that_others_use(engine: Engine, port: int) -> None:
    engine.docker("create", "--name", NAME, engine.base_image(), "sleep", "1")
    for command in (["up"], ["down"], ["status"]):
        ran = codenav("elasticsearch", *command)
        assert (ran.code, ran.out) == (4, "")
        assert f"docker container rename {NAME}" in ran.err
    engine.docker("rename", NAME, "another-name")
    engine.docker("volume", "create", NAME)
    ran = codenav("elasticsearch", "down", "--delete-data")
    assert ran.code == 4
    assert volumes(engine) == [NAME], "a volume that is not ours is not deleted"
    assert containers(engine) == ["another-name"]


def test_a_port_that_others_use(engine: Engine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        ran = up(engine, number)
    assert (ran.code, ran.out) == (4, "")
    assert f"port {number} is taken" in ran.err
    assert f"--port {number + 1}" in ran.err
    assert (containers(engine), volumes(engine)) == ([], [])


def test_images_that_cannot_serve(engine: Engine, port: int) -> None:
    ran = up(engine, port, image=engine.base_image())
    assert ran.code == 4
    assert "not an image of Elasticsearch" in ran.err
    ran = up(engine, port, image="127.0.0.1:1/no/such-image:1")
    assert ran.code == 4
    assert "127.0.0.1:1/no/such-image:1 cannot be fetched" in ran.err
    assert "--image" in ran.err
    assert (containers(engine), volumes(engine)) == ([], [])


@pytest.mark.parametrize(
    ("command", "host", "said"),
    [
        ("up", "unix:///no/such/socket", "systemctl start docker"),
        ("down", "tcp://127.0.0.1:1", "systemctl start docker"),
        ("status", "nonsense", "systemctl start docker"),
        ("up", "tcp://docker.example:2375", "another machine"),
    ],
)
def test_no_engine(command: str, host: str, said: str) -> None:
    ran = codenav("elasticsearch", command, env={"DOCKER_HOST": host})
    assert (ran.code, ran.out) == (4, "")
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_an_engine_that_others_own() -> None:
    """No permission for the socket, as a user who is not in the group docker."""
    if os.geteuid() != 0:
        pytest.fail("this test changes the user, which needs root")
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{folder}/socket")
        listening.listen()
        os.chmod(f"{folder}/socket", 0o600)
        os.chmod(folder, 0o755)
        code = (
            "import os; from codenav.retrieval.elastic import container; os.setuid(64981)\n"
            "try: container.Container()\nexcept Exception as error: print(type(error).__name__, error, error.hint)"
        )
        ran = subprocess.run(
            [sys.executable, "-c", "import docker\n" + code],
            env={**os.environ, "DOCKER_HOST": f"unix://{folder}/socket"}, capture_output=True, text=True,
        )  # fmt: skip
    assert "Unavailable no permission" in ran.stdout, ran.stderr
    assert "usermod -aG docker" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--memory", "100m"], "--memory 768m"),
        (["--memory", "much"], "1g or 1500m"),
        (["--port", "0"], "--port"),
        (["--wait", "0"], "--wait"),
    ],
)
def test_wrong_usage(engine: Engine, arguments: list[str], said: str) -> None:
    ran = codenav("elasticsearch", "up", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
