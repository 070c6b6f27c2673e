"""Sandboxes of an ordinary user, with control groups handed down and without: another user than the tests' own."""

from __future__ import annotations

import json
import os

import pytest
from ordinary import LIBRARY, as_ordinary_user

CASES = "P16,R2,R15"
"""Of those that depend on the user, or on who sets the limits; `codenav doctor --sandbox` runs all."""
IN_DOCKER = "P16,S2"
"""Those of them that an engine leaves to us, and those in which it is handed folders of the user."""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="all other tests run as an ordinary user")


def check(*arguments, **how):
    """What did not hold, by its name."""
    done = as_ordinary_user(["-m", "codenav", "doctor", "--sandbox", *arguments, "--json"], **how)
    assert done.returncode in (0, 1), done.stderr
    rows = json.loads(done.stdout)
    return len(rows), {row["name"]: row["detail"] for row in rows if not row["ok"]}


@pytest.mark.parametrize("groups", [True, False], ids=["groups", "no groups"])
def test_the_corpus_holds_in_bubblewrap(groups):
    count, broken = check("bubblewrap", "--only", CASES, groups=groups)
    assert broken == {}
    assert count >= len(CASES.split(","))


def test_the_corpus_holds_in_docker(docker_engine):
    image = docker_engine.base_image()
    count, broken = check("docker", "--image", image, "--only", IN_DOCKER, groups=True, docker_host=docker_engine.host)
    assert broken == {}
    assert count >= len(IN_DOCKER.split(","))


def test_an_interpreter_in_the_home_folder_shows_nothing_else_of_it():
    tests = f"{LIBRARY}/tests/sandboxes/test_sandbox_interpreters.py"
    chosen = "a_link_in_bin or environment_of_a_link or home_as_prefix or pth_file"
    done = as_ordinary_user(
        ["-m", "pytest", tests, "-k", chosen, f"--config-file={LIBRARY}/pyproject.toml", "-p", "no:cacheprovider"]
    )
    assert done.returncode == 0, done.stdout
    assert "." * 4 in done.stdout


def test_without_control_groups_what_none_would_count_is_refused():
    done = as_ordinary_user(["-c", REFUSED])
    assert done.stdout.splitlines() == ["1", "EPERM", "EPERM", "EPERM", "ENODEV", "0", "kept"], done.stderr


REFUSED = """
from codenav.core.execution import MIB, Resources, SandboxSpec
from codenav.core.system.interpreter import find_interpreter
from codenav.sandboxes import start

STATEMENTS = ("os.sched_setaffinity(0, {0, 1})", "os.memfd_create('x')", "mmap.mmap(-1, 4096)",
              "mmap.mmap(os.open('/dev/zero', os.O_RDWR), 4096)")
spec = SandboxSpec(find_interpreter(), resources=Resources(cpus=1, memory_bytes=256 * MIB))
with start("bubblewrap", spec) as box:
    print(box.run("import errno, mmap, os\\nkept = 'kept'\\nprint(len(os.sched_getaffinity(0)))").stdout.strip())
    for statement in STATEMENTS:
        step = f"try: {statement}\\nexcept OSError as error: print(errno.errorcode[error.errno])"
        print(box.run(step).stdout.strip())
    # What is private may be mapped, and zeros be read.
    private = "mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE)[0] + sum(open('/dev/zero', 'rb').read(9))"
    print(box.run(private).stdout.strip())
    print(box.run("print(kept)").stdout.strip())
"""
