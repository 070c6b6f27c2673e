"""Engines that cannot do all of it: what they refuse is had another way, what they pass over is told."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import socket
import subprocess
import sys

import jsonschema
import pytest
from command_line import codenav
from engine_between import BetweenEngine

from codenav.core import schemas
from codenav.core.errors import SandboxUnavailable
from codenav.core.execution import MIB, Outcome, Resources, SandboxSpec
from codenav.sandboxes import start
from codenav.sandboxes.daemon import client

CREATE_REFUSED = "sysctl 'kernel.shmall' is not whitelisted"
START_REFUSED = "crun: open `/proc/sys/kernel/shmall`: Permission denied: OCI permission denied"
REMOVAL_FAILED = "unable to remove filesystem: device or resource busy"
WARNING = "Your kernel does not support memory limit capabilities. Limitation discarded."


class LesserEngine(BetweenEngine):
    """The engine of the tests behind a socket of its own, where it refuses some of what comes, or warns of it."""

    def __init__(self, engine, folder, *, refuses="", warns=""):
        self._refuses, self._warns = refuses, warns
        self._refused_ids = set()
        self.refused = 0
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"{folder}/engine")
        listener.listen(16)
        super().__init__(engine, listener)
        self.host = f"unix://{folder}/engine"

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._target)
                self._open += [near, far]
                self._thread(self._requests, near, far)
                self._thread(self._answers, near, far)

    def _requests(self, near, far):
        with contextlib.suppress(OSError):
            while data := near.recv(1 << 16):
                line = data.partition(b"\r\n")[0]
                if line.startswith(b"POST ") and b"/containers/create" in line:
                    data = self._whole(near, data)
                    if self._refuses == "create" and b'"Sysctls"' in data:
                        self._refuse(near, 400, CREATE_REFUSED)
                        continue
                    self._sysctls = b'"Sysctls"' in data
                elif line.startswith(b"POST ") and b"/start" in line and self._refuses == "start" and self._sysctls:
                    self._refuse(near, 500, START_REFUSED)
                    continue
                elif line.startswith(b"POST ") and b"/wait" in line and self._refuses == "wait":
                    self.refused += 1
                    answer = {"StatusCode": 137, "Error": {"Message": REMOVAL_FAILED}}
                    near.sendall(self._headed("200 OK", json.dumps(answer).encode()))
                    continue
                far.sendall(data)
            far.shutdown(socket.SHUT_WR)

    @staticmethod
    def _whole(source, data):
        """A request or an answer with all of its body."""
        head = data.partition(b"\r\n\r\n")[0]
        lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        while len(data) < len(head) + 4 + int(lengths[0]):
            data += source.recv(1 << 16)
        return data

    def _refuse(self, near, status, why):
        self.refused += 1
        body = json.dumps({"message": why}).encode()
        near.sendall(self._headed(f"{status} Refused", body))

    @staticmethod
    def _headed(status, body):
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body

    def _answers(self, near, far):
        with contextlib.suppress(OSError):
            while data := far.recv(1 << 16):
                if self._warns and b'"Warnings":' in data:
                    body = json.loads(self._whole(far, data).partition(b"\r\n\r\n")[2])
                    told = json.dumps({**body, "Warnings": [self._warns, self._warns]}).encode()
                    head = (
                        f"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: {len(told)}\r\n\r\n"
                    )
                    data = head.encode() + told
                near.sendall(data)
            near.shutdown(socket.SHUT_WR)


@pytest.fixture
def lesser(docker_engine, tmp_path_factory, monkeypatch):
    with contextlib.ExitStack() as open_ones:

        def make(**how):
            engine = open_ones.enter_context(LesserEngine(docker_engine, tmp_path_factory.mktemp("e"), **how))
            monkeypatch.setenv("DOCKER_HOST", engine.host)
            return engine

        yield make


@pytest.fixture
def spec(python, docker_engine):
    return SandboxSpec(python, image=docker_engine.base_image())


FILL = """
import ctypes, os
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
for _ in range(64):
    segment = libc.shmget(0, 32 << 20, 0o1600)
    place = libc.shmat(segment, None, 0)
    ctypes.memset(place, 1, 32 << 20)
    libc.shmdt(ctypes.c_void_p(place))
"""


@pytest.mark.parametrize("refuses", ["create", "start"])
def test_an_engine_that_sets_no_kernel_settings(lesser, spec, refuses):
    engine = lesser(refuses=refuses)
    small = dataclasses.replace(spec, resources=Resources(memory_bytes=256 * MIB))
    with start("docker", small) as box:
        assert box.run("x = 1\nx + 1").stdout == "2\n"
        # What outlives its processes is bounded by the limit on memory, and goes with the step.
        assert box.run(FILL, timeout=60).outcome is not Outcome.OK
        assert box.run("print(x, len(open('/proc/sysvipc/shm').readlines()), len(bytes(150 << 20)))").stdout == (
            f"1 1 {150 << 20}\n"
        )
    with start("docker", spec) as box:
        assert box.run("1 + 1").stdout == "2\n"
    assert engine.refused == 1


def test_what_is_refused_all_the_same_is_told(lesser, spec):
    lesser(refuses="create")
    with pytest.raises(SandboxUnavailable, match="runtime"):
        start("docker", dataclasses.replace(spec, runtime="none-such"))


def test_what_an_engine_passes_over_is_told_once(lesser, spec):
    engine = lesser(warns=WARNING)
    with start("docker", spec) as box:
        assert box.info.notice == f"the engine says: {WARNING}"
        assert box.run("1").notice == ""
    ran = codenav("sandbox", "start", "--name", "lab", "--sandbox", "docker", "--image", spec.image,
                  env={"DOCKER_HOST": engine.host})  # fmt: skip
    try:
        assert ran.code == 0, ran.err
        assert ran.err.count(f"Note: the engine says: {WARNING}\n") == 1
        with client.connect("lab") as box:
            assert WARNING in box.info.notice
    finally:
        client.stop("lab")


def test_a_run_tells_it_too_and_keeps_it_in_its_record(lesser, spec, tmp_path):
    engine = lesser(warns=WARNING)
    script = tmp_path / "script.actions"
    script.write_text(
        "<action>\n<thought>a</thought>\n<type>code</type>\n<content>\nx = 1\n</content>\n</action>\n"
        "<action>\n<thought>b</thought>\n<type>done</type>\n<content>\n1\n</content>\n</action>\n"
    )
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "one.py").write_text("def one(): return 1\n")
    ran = codenav("run", "one", "--on", tmp_path / "code", "--model", f"scripted:{script}", "--sandbox", "docker",
                  "--image", spec.image, env={"DOCKER_HOST": engine.host})  # fmt: skip
    assert (ran.code, ran.err.count(f"Note: the engine says: {WARNING}\n")) == (0, 1), ran.err
    record = codenav("episodes", "show", "last", "--json").document
    assert record["sandbox"]["notice"] == f"the engine says: {WARNING}"
    jsonschema.validate(record, schemas.load("episode"))


def test_each_engine_of_a_process_is_swept(lesser, spec, docker_engine):
    code = "from codenav.core.system.process_identity import Owner; print(Owner.this_process())"
    dead = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    labels = ["--label", f"codenav.owner={dead}", "--label", "codenav.kind=sandbox"]
    lesser()
    # Each start looks: an engine may still have been making one for an owner that was killed before the last.
    for command in (("run", "-d"), ("create",)):
        docker_engine.docker(*command, "--name", "left", *labels, spec.image, "sleep", "99")
        with start("docker", spec):
            assert "left" not in docker_engine.docker("ps", "-a", "--format", "{{.Names}}").split()


def test_a_container_that_does_not_end_is_gone_once_its_sandbox_is_closed(lesser, spec, docker_engine):
    engine = lesser(refuses="wait")
    with start("docker", spec) as box:
        name = next(line for line in docker_engine.docker("ps", "--format", "{{.Names}}").split())
        docker_engine.docker("pause", name)
        box.close(force=True)
    assert engine.refused == 1
    assert name not in docker_engine.docker("ps", "--all", "--format", "{{.Names}}").split()
