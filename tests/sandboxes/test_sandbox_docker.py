"""What only Docker has: images, engines far away, what a container is made with, refusals in one line."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import textwrap
import time

import pytest
from engine_between import BetweenEngine

from codenav.core.errors import SandboxUnavailable, UsageError
from codenav.core.execution import GIB, MIB, Mount, Outcome, Resources, SandboxSpec
from codenav.sandboxes import diagnose, start


@pytest.fixture(scope="module")
def backend(docker_engine):
    """Docker, whose engine is that of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", docker_engine.host)
        yield "docker"


@pytest.fixture(scope="module")
def basis(backend, python, docker_engine):
    """What the sandboxes of this module are started with."""
    return SandboxSpec(python, image=docker_engine.base_image())


@pytest.fixture(scope="module")
def image(docker_engine):
    """Builds images on top of the base: `image("USER 1234", …)`; they are gone with the engine."""
    made = []

    def build(*lines):
        name = f"codenav-tests/made-{len(made)}"
        made.append(name)
        text = "\n".join([f"FROM {docker_engine.base_image()}", *lines])
        subprocess.run(
            ["docker", "--host", docker_engine.host, "build", "--quiet", "--tag", name, "-"],
            input=text, text=True, check=True, capture_output=True, env={**os.environ, "DOCKER_BUILDKIT": "0"},
        )  # fmt: skip
        return name

    return build


def containers(engine):
    """Ids of all containers of the engine, also of those that were never started."""
    return set(engine.docker("ps", "--all", "--quiet", "--no-trunc").split())


def wait_until(condition):
    """Poll for a change outside this process; the limit is far beyond what it needs."""
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)


def test_a_container_may_do_as_little_as_promised(fresh, docker_engine):
    sandbox = fresh(env={"API_KEY": "s3cret-value"}, resources=Resources(memory_bytes=GIB, cpus=1.5, processes=100))
    sandbox.run("print('in the log?')")
    text = docker_engine.docker("inspect", sandbox._launched.id)
    assert "s3cret-value" not in text
    made = json.loads(text)[0]
    host, config = made["HostConfig"], made["Config"]
    assert (host["ReadonlyRootfs"], host["CapDrop"], host["Privileged"]) == (True, ["ALL"], False)
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert (host["NetworkMode"], host["IpcMode"], host["PidMode"]) == ("none", "private", "")
    assert GIB <= host["Memory"] == host["MemorySwap"] <= GIB + 128 * MIB
    assert host["CpuQuota"] / host["CpuPeriod"] == 1.5
    assert 100 < host["PidsLimit"] < 120
    assert (host["AutoRemove"], host["LogConfig"]["Type"], host["Init"]) == (True, "none", False)
    assert (host["Binds"], made["Mounts"]) == (None, [])
    assert config["User"] == "1000:1000"
    assert config["Labels"]["codenav.kind"] == "sandbox"
    assert str(os.getpid()) in config["Labels"]["codenav.owner"]
    assert "in the log" not in docker_engine.docker("inspect", "--format", "{{.LogPath}}", sandbox._launched.id)


def test_with_a_bridge_there_is_a_network(fresh):
    sandbox = fresh(network="bridge")
    assert sandbox.info.network == "bridge"
    assert sandbox.run("import socket\nlen(socket.if_nameindex())").stdout == "2\n"


def test_the_image_says_who_runs_the_code_and_what_it_finds(fresh, image):
    name = image(
        "RUN mkdir -p /opt/lib /work && echo 'WORD = 7' > /opt/lib/own_module.py && echo left > /work/old",
        "ENV PYTHONPATH=/opt/lib PATH=/opt/tools:/usr/bin:/bin SETTING=on",
        "WORKDIR /work",
        'ENTRYPOINT ["/bin/false"]',
        "HEALTHCHECK --interval=1s CMD false",
        "USER 1234:1234",
    )
    sandbox = fresh(image=name)
    assert sandbox.info.image == name
    assert sandbox.run("import os, own_module\nos.getuid(), os.getgid(), own_module.WORD").stdout == "(1234, 1234, 7)\n"
    assert sandbox.run("os.environ['PATH'], os.environ['SETTING']").stdout == "('/opt/tools:/usr/bin:/bin', 'on')\n"
    assert sandbox.run("open('new', 'w').write('x'), os.getcwd(), os.listdir()").stdout == "(1, '/work', ['new'])\n"
    assert sandbox.run("[name for name in os.environ if 'HASH' in name]").stdout == "['PYTHONHASHSEED']\n"


def test_a_user_with_a_name_can_write_into_the_work_folder(fresh, image):
    name = image("RUN useradd --uid 4321 somebody && mkdir /work", "USER somebody")
    code = "import getpass, os\nos.getuid(), open('new', 'w').write('x'), __import__('pwd').getpwuid(4321).pw_name"
    assert fresh(image=name).run(code).stdout == "(4321, 1, 'somebody')\n"


def test_only_python_needs_to_be_called_python(fresh, image):
    name = image("RUN mv /usr/bin/python3 /usr/bin/python")
    assert fresh(image=name).run("1 + 1").stdout == "2\n"


def test_mounts_are_live_and_read_only_unless_said(fresh, tmp_path):
    for name in ("data", "out"):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(0o777)
    (tmp_path / "data" / "in.txt").write_text("one")
    sandbox = fresh(mounts=[Mount(tmp_path / "data"), Mount(tmp_path / "out", writable=True)])
    assert sandbox.run(f"open('{tmp_path}/data/in.txt').read()").stdout == "'one'\n"
    (tmp_path / "data" / "in.txt").write_text("two")
    assert sandbox.run(f"open('{tmp_path}/data/in.txt').read()").stdout == "'two'\n"
    assert sandbox.run(f"open('{tmp_path}/data/new', 'w')").error.type == "OSError"
    assert sandbox.run(f"open('{tmp_path}/out/new', 'w').write('x')").outcome is Outcome.OK
    assert (tmp_path / "out" / "new").read_text() == "x"
    assert sandbox.info.work_dir == "/work"


def test_sources_that_the_image_holds_are_not_bound(fresh, image, tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "twice.py").write_text("PLACE = 'host'\n")
    lines = ["RUN mkdir /held && echo \"PLACE = 'image'\" > /held/twice.py", "ENV PYTHONPATH=/held"]
    held = fresh(image=image(*lines, f"LABEL codenav.sources={tmp_path}"), import_paths=[tmp_path / "src"])
    assert held.run("import twice\ntwice.PLACE").stdout == "'image'\n"
    bound = fresh(image=image(*lines, f"LABEL codenav.sources={tmp_path}-other"), import_paths=[tmp_path / "src"])
    assert bound.run("import twice\ntwice.PLACE").stdout == "'host'\n"


REFUSED = {
    "no image": ({"image": ""}, "no image is named"),
    "a missing image": ({"image": "nowhere/nothing:1"}, "the engine has no image nowhere/nothing:1"),
    "a name that is none": ({"image": "No Such NAME"}, "No Such NAME"),
    "an unknown runtime": ({"runtime": "no-such-runtime"}, "runtime"),
    "no GPU": ({"gpus": "all"}, "GPUs"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_engine_refuses_is_one_line_with_a_hint_and_leaves_nothing(fresh, docker_engine, name):
    before = containers(docker_engine)
    changes, message = REFUSED[name]
    with pytest.raises(SandboxUnavailable, match=message) as caught:
        fresh(**changes)
    assert "\n" not in str(caught.value)
    assert caught.value.hint
    assert caught.value.exit_code == 4
    assert containers(docker_engine) == before


PRETENDS = r"RUN printf '#!/bin/sh\necho {}\n' > /usr/bin/python3"
UNFIT = {
    "no Python": (["RUN rm -f /usr/bin/python*"], "has no Python"),
    "Python 3.7": ([PRETENDS.format("codenav 3.7.16 1000 aa")], "has Python 3.7.16"),
    "a library is missing": ([PRETENDS.format("libz.so is missing >&2")], "libz.so"),
    "something else": ([PRETENDS.format("welcome")], "welcome"),
    "root by another name": (["RUN useradd --uid 0 --non-unique boss", "USER boss"], "is root"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_an_image_that_is_not_fit_is_one_line_with_a_hint_and_leaves_nothing(fresh, image, docker_engine, name):
    lines, message = UNFIT[name]
    unfit = image(*lines)
    before = containers(docker_engine)
    with pytest.raises(SandboxUnavailable, match=message) as caught:
        fresh(image=unfit)
    assert "\n" not in str(caught.value)
    assert caught.value.hint
    wait_until(lambda: containers(docker_engine) == before)


@pytest.mark.parametrize("what", ["no permission", "no Docker engine answers"])
def test_no_engine_and_one_without_permission_say_what_to_do(basis, docker_engine, what):
    place = docker_engine.host.removeprefix("unix://") if what == "no permission" else "/tmp/no-such-folder/none"
    script = f"""
    import os
    import codenav.sandboxes.docker, codenav.sandboxes.guest_client
    from codenav.core.errors import SandboxUnavailable
    from codenav.core.execution import SandboxSpec
    from codenav.core.system.interpreter import find_interpreter
    from codenav.sandboxes import diagnose, start
    spec = SandboxSpec(find_interpreter(), image={basis.image!r})
    diagnose("docker")
    os.seteuid(65534)
    print(diagnose("docker").ok)
    try:
        start("docker", spec)
    except SandboxUnavailable as error:
        print(error)
        print(error.hint)
    """
    os.chmod(docker_engine.host.removeprefix("unix://"), 0o600)
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True,
                         env={**os.environ, "DOCKER_HOST": f"unix://{place}"})  # fmt: skip
    assert ran.stderr == ""
    works, message, hint = ran.stdout.splitlines()
    assert works == "False"
    assert what in message
    assert place in message
    assert hint.startswith("sudo ")


def test_as_root_what_is_closed_to_others_is_copied_or_refused(fresh, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    for name in ("lib.py", "private.py", ".env"):
        (closed / name).write_text("NUMBER = 5\n")
    (closed / "private.py").chmod(0o600)
    sandbox = fresh(import_paths=[closed])
    assert sandbox.run("import lib\nlib.NUMBER").stdout == "5\n"
    assert sandbox.run(f"import os\nsorted(os.listdir('{closed}'))").stdout == "['lib.py', 'private.py']\n"
    (closed / ".env").unlink()
    for changes in ({"import_paths": [closed / "private.py"]}, {"mounts": [Mount(closed)]}):
        with pytest.raises(SandboxUnavailable, match="is closed to other users") as caught:
            fresh(**changes)
        assert "chmod" in caught.value.hint


@pytest.mark.parametrize(
    ("backend_named", "changes", "message"),
    [
        ("docker", {"network": "host"}, "docker has no network 'host'"),
        ("docker", {"resources": Resources(memory_bytes=MIB)}, "too low"),
        ("bubblewrap", {"image": "x"}, "takes no image"),
        ("bubblewrap", {"image": "", "runtime": "runsc"}, "takes no runtime"),
        ("process", {"image": "", "gpus": "all"}, "takes no gpus"),
    ],
)
def test_what_does_not_go_together_is_refused(basis, backend_named, changes, message):
    with pytest.raises(UsageError, match=message):
        start(backend_named, dataclasses.replace(basis, **changes))


@pytest.mark.parametrize("code", ["import os\nos.kill(os.getpid(), 19)", "sum(range(10**12))"])
def test_a_killed_host_leaves_no_container(basis, docker_engine, code):
    before = containers(docker_engine)
    script = f"""
    from codenav.sandboxes import start
    from codenav.core.execution import SandboxSpec
    from codenav.core.system.interpreter import find_interpreter
    box = start("docker", SandboxSpec(find_interpreter(), image={basis.image!r}))
    print('ready', flush=True)
    box.run({code!r}, timeout=600)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE) as host:
        assert host.stdout.readline() == b"ready\n"
        assert containers(docker_engine) > before
        time.sleep(0.2)
        host.send_signal(signal.SIGKILL)
        host.wait()
    wait_until(lambda: containers(docker_engine) == before)


class Relay(BetweenEngine):
    """Leads TCP connections to the engine's socket, in TLS where there is a certificate: an engine far away."""

    def __init__(self, engine, certificate=None):
        self._context = None
        if certificate:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
            self._context.load_verify_locations(certificate / "ca.pem")
            self._context.verify_mode = ssl.CERT_REQUIRED
        super().__init__(engine, socket.create_server(("127.0.0.1", 0)))
        self.address = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._target)
            if self._context:
                near = self._in_tls(near)
            self._open += [near, far]
            self._thread(self._carry, near, far)
            self._thread(self._carry, far, near)

    def _in_tls(self, raw):
        inner, outer = socket.socketpair()
        self._open.append(inner)
        self._thread(self._serve_tls, raw, inner)
        return outer

    def _serve_tls(self, raw, plain):
        from codenav.sandboxes.docker_stream import _carry

        try:
            tls = self._context.wrap_socket(raw, server_side=True)
        except OSError:
            raw.close()
            plain.close()
            return
        _carry(tls, plain)

    @staticmethod
    def _carry(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        for one, how in ((target, socket.SHUT_WR), (source, socket.SHUT_RD)):
            with contextlib.suppress(OSError):
                one.shutdown(how)


BIG = "print('a' * 3_000_000)\nopen('big', 'wb').write(bytes(range(256)) * 40_000);"


def use(spec, work):
    """A step, large output, a large file both ways, an interrupt."""
    work.mkdir()
    (work / "in.bin").write_bytes(os.urandom(5_000_000))
    with start("docker", dataclasses.replace(spec, work_dir=work)) as sandbox:
        assert sandbox.run("x = 1\nx + 1").stdout == "2\n"
        assert sandbox.run("len(open('in.bin', 'rb').read())").stdout == "5000000\n"
        execution = sandbox.run(BIG)
        assert (execution.stdout_bytes, execution.files) == (3_000_001, ["big"])
        assert (work / "big").read_bytes() == bytes(range(256)) * 40_000
        assert sandbox.run("while True: pass", timeout=0.5).outcome is Outcome.TIMEOUT
        assert sandbox.run("x").stdout == "1\n"
        return sandbox._launched.id


def test_an_engine_behind_tcp(basis, docker_engine, monkeypatch, tmp_path):
    with Relay(docker_engine) as relay:
        monkeypatch.setenv("DOCKER_HOST", relay.address)
        assert (diagnose("docker").ok, relay.address in diagnose("docker").detail) == (True, True)
        assert use(basis, tmp_path / "work") not in containers(docker_engine)


def test_an_engine_behind_tls(basis, docker_engine, monkeypatch, tmp_path):
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
               "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    shutil.copy(tmp_path / "cert.pem", tmp_path / "ca.pem")
    with Relay(docker_engine, tmp_path) as relay:
        monkeypatch.setenv("DOCKER_HOST", relay.address)
        monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
        monkeypatch.setenv("DOCKER_CERT_PATH", str(tmp_path))
        # The client library prefers these to the folder that it was given.
        for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
            monkeypatch.delenv(name, raising=False)
        assert use(basis, tmp_path / "work") not in containers(docker_engine)
