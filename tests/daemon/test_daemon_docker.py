"""Named sandboxes in containers of a real engine."""

from __future__ import annotations

import os
import signal
import time

import pytest

from codenav.core.errors import Unavailable
from codenav.sandboxes.daemon import client
from codenav.sandboxes.daemon.client import connect


@pytest.fixture
def engine(docker_engine, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", docker_engine.host)
    return docker_engine


def containers(engine) -> list[str]:
    return engine.docker("ps", "--all", "--quiet", "--filter", "label=codenav.kind=sandbox").split()


def gone(engine, before: list[str]) -> bool:
    deadline = time.monotonic() + 60
    while set(containers(engine)) - set(before):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def test_it_keeps_its_state_is_small_and_ends_with_its_container(named, engine):
    before = containers(engine)
    box = named("docker", image=engine.base_image(), name="lab")
    assert (box.info.backend, box.info.image) == ("docker", engine.base_image())
    for _ in range(20):
        assert box.run("x = globals().get('x', 0) + 1").ok
    with connect("lab") as other:
        assert other.run("x").stdout == "20\n"
    assert len(set(containers(engine)) - set(before)) == 1
    with open(f"/proc/{box.record.owner.pid}/status") as file:
        held = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    assert held <= 45 << 10
    client.stop("lab")
    assert gone(engine, before)


def test_a_killed_host_process_takes_its_container_along(named, engine):
    before = containers(engine)
    box = named("docker", image=engine.base_image())
    os.kill(box.record.owner.pid, signal.SIGKILL)
    assert gone(engine, before)


def test_what_the_engine_refuses_is_told(named, engine, monkeypatch):
    with pytest.raises(Unavailable, match="no-such-image"):
        named("docker", image="no-such-image:1")
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/socket")
    with pytest.raises(Unavailable, match="no/such/socket"):
        named("docker", image="no-such-image:1")
