"""The checks that ship with the package and the attacks beside them hold on every backend, and not on weak ones."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from attacks import ATTACKS
from command_line import codenav

from codenav.core.execution import MIB, SandboxSpec
from codenav.sandboxes import start
from codenav.sandboxes.conformance import CASES, run_contract, run_corpus, run_probes, witness
from codenav.sandboxes.guest_client import GuestSandbox
from codenav.sandboxes.launch import GUEST, GUEST_FLAGS, LaunchedProcess, launch, limits_of
from codenav.sandboxes.owned_resources import OWNER_LABEL


def section(letters):
    return [each for id, each in {**CASES, **ATTACKS}.items() if id[0] in letters]


def chosen(ids):
    return [{**CASES, **ATTACKS}[id] for id in ids]


def broken(rows):
    return {row.name.partition(":")[0]: row.detail for row in rows if not row.ok}


def test_no_id_is_taken_twice():
    assert set(CASES) & set(ATTACKS) == set()


def test_the_contract_holds(backend, basis):
    rows = list(run_contract(_starter(backend), basis))
    assert {row.name: row.detail for row in rows if not row.ok} == {}
    assert len(rows) > 20


ON_DOCKER = [*CASES.values(), ATTACKS["S5"]]
"""The attacks whose outcome depends on the engine. The others attack what is the same in a container."""


@pytest.mark.parametrize(
    ("backend", "cases"),
    [("bubblewrap", section("FNP")), ("bubblewrap", section("RSCT")), ("docker", ON_DOCKER)],
    ids=["bubblewrap FNP", "bubblewrap RSCT", "docker"],
    indirect=["backend"],
)
def test_the_corpus_holds_and_leaves_no_container(backend, basis, cases, request):
    rows = list(run_corpus(_starter(backend), basis, cases))
    assert {row.name: row.detail for row in rows if not row.ok} == {}
    if backend == "docker":
        engine = request.getfixturevalue("docker_engine")
        assert engine.docker("ps", "--all", "--quiet", "--filter", f"label={OWNER_LABEL}") == ""


def _starter(backend):
    return functools.partial(start, backend)


# A check that cannot fail shows nothing


def weak(spec):
    """The real guest behind next to no walls: the host's files read-only, its network, its environment, few limits."""
    bwrap = shutil.which("bwrap")
    walls = ["--ro-bind", "/", "/", "--tmpfs", "/etc", "--tmpfs", "/srv", "--dev", "/dev", "--proc", "/proc"]
    walls += ["--unshare-pid", "--as-pid-1", "--die-with-parent", "--setenv", *next(iter(spec.env.items()), ("A", "B"))]
    guest = [str(spec.python.executable), *GUEST_FLAGS, str(GUEST / "guest_main.py")]
    process, errors = launch([bwrap, *walls, "--", *guest])
    generous = dataclasses.replace(spec.resources, memory_bytes=3 << 29, output_bytes=MIB)
    config = {
        "work": "/srv",
        "remove": [],
        "counted": [],
        "env": {**os.environ, **spec.env},
        "import_first": [str(path) for path in spec.import_paths],
        "import_then": [],
        "snapshots": spec.snapshots,
        "limits": limits_of(generous, processes=None),
    }
    return LaunchedProcess(process, errors, config=config)


def opening(how):
    def start_it(spec, calls=None):
        box = GuestSandbox("bubblewrap", spec, how)
        box.calls = calls
        return box

    return start_it


def test_probes_stop_at_a_weak_sandbox(python):
    failed = {row.name for row in run_probes(opening(weak), SandboxSpec(python)) if not row.ok}
    assert {"probe: mounts", "probe: network"} <= failed


MUST_FAIL = ("F1", "F2", "N3", "N4", "N7", "P11", "P13", "R1", "S1", "S2")


def test_attacks_succeed_on_a_weak_sandbox(python):
    assert set(broken(run_corpus(opening(weak), SandboxSpec(python), chosen(MUST_FAIL)))) == set(MUST_FAIL)


CHILDREN = []
"""What the sabotage leaves behind, to be tidied up."""


def sabotaged(sabotage):
    """A real sandbox beside which something goes wrong."""

    def start_it(spec):
        box = start("bubblewrap", spec)
        sabotage(box)
        return box

    return start_it


def leaves_a_process(box):
    close = box.close
    box.close = lambda: (close(), CHILDREN.append(subprocess.Popen(["sleep", "600"])))


def leaves_a_file(box):
    close = box.close
    box.close = lambda: (close(), Path(tempfile.gettempdir(), "left").write_text("x"))


def touches_the_host(box):
    os.environ["CODENAV_TEST_TOUCHED"] = "1"


def loses_the_state(box):
    run = box.run

    def forget(code, *, timeout=None):
        done = run("globals().pop('_codenav_next', None);\n" + code, timeout=timeout)
        return dataclasses.replace(done, notice="")

    box.run = forget


def says_nothing(box):
    run = box.run
    box.run = lambda code, *, timeout=None: dataclasses.replace(run(code, timeout=timeout), stdout="")


def test_the_contract_can_fail(python):
    assert any(not row.ok for row in run_contract(sabotaged(says_nothing), SandboxSpec(python)))


@pytest.mark.parametrize(
    ("sabotage", "word"),
    [
        (leaves_a_process, "left behind: children"),
        (leaves_a_file, "left behind: temporary files"),
        (touches_the_host, "environment of the host changed"),
        (loses_the_state, "neither its state nor a notice"),
    ],
)
def test_the_common_oracle_can_fail(python, sabotage, word, monkeypatch):
    monkeypatch.setattr(witness, "LEFT_SECONDS", 0.5)
    try:
        found = broken(run_corpus(sabotaged(sabotage), SandboxSpec(python), chosen(["S1"])))
    finally:
        os.environ.pop("CODENAV_TEST_TOUCHED", None)
        while CHILDREN:
            CHILDREN[-1].kill()
            CHILDREN.pop().wait()
    assert word in found.get("S1", "held")


# The command


def test_the_command_prints_rows_and_says_with_its_exit_code_whether_they_held():
    done = codenav("doctor", "--sandbox", "bubblewrap", "--only", "N4,n7")
    assert done.code == 0
    assert "ok    N4: abstract sockets of the host are out of reach\n" in done.out
    assert done.out.endswith("7 of 7 held\n")


def test_a_check_in_docker_leaves_no_container_and_no_process(docker_engine):
    image, before = docker_engine.base_image(), docker_engine.docker("ps", "--all", "--quiet")
    only = ["--only", "N4,P2", "--image", image, "--json"]
    done = codenav("doctor", "--sandbox", "docker", *only, env=docker_engine.environment)
    assert [row["ok"] for row in json.loads(done.out)] == [True] * 7, done.out + done.err
    assert docker_engine.docker("ps", "--all", "--quiet") == before
    assert docker_engine.docker("volume", "ls", "--quiet") == ""


def test_the_command_refuses_what_is_not_there():
    for arguments, code, word in (
        (("bubblewrap", "--only", "X9"), 2, "no case X9"),
        (("bubblewrap", "--image", "x"), 2, "no images"),
        (("process", "--only", "F1"), 2, "contains nothing"),
        (("chroot",), 2, "chroot"),
    ):
        done = codenav("doctor", "--sandbox", *arguments)
        assert (done.code, word in done.err) == (code, True), done.err
