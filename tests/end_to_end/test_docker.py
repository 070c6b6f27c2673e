"""Whole runs in Docker, from the command line and from Python."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from command_line import codenav

import codenav as package
from codenav.core.errors import SandboxUnavailable, UsageError
from codenav.session.sandbox_factory import choose_backend

SCRIPT = """\
<action>
<thought>Look it up.</thought>
<type>search</type>
<content>
area of a field
</content>
</action>
<action>
<thought>Use it.</thought>
<type>code</type>
<content>
import os, sys
from farm.fields import Field
area = Field(3, 4).area()
open("area.txt", "w").write(str(area))
print(area, os.environ["API_KEY"], os.getuid(), open(DATA).read())
</content>
</action>
<action>
<thought>It is there.</thought>
<type>code_summary</type>
<content>
import os
from farm.fields import Field
area = Field(3, 4).area()
open("area.txt", "w").write(str(area))
print(area, os.environ["API_KEY"], os.getuid(), open(DATA).read())
</content>
</action>
<action>
<thought>Done.</thought>
<type>done</type>
<content>
12
</content>
</action>
"""


@pytest.fixture
def host(docker_engine, monkeypatch):
    """`DOCKER_HOST` leads to the engine of the tests, here and in commands."""
    monkeypatch.setenv("DOCKER_HOST", docker_engine.host)
    return docker_engine


@pytest.fixture
def built(host, library):
    """An image with the library, labelled as one that was built for it."""
    name = "codenav-tests/farm"
    (library / "Dockerfile").write_text(
        f"FROM {host.base_image()}\nCOPY src /opt/farm\nENV PYTHONPATH=/opt/farm\n"
        f'LABEL codenav.kind=image codenav.sources="{library}"\n'
    )
    host.docker("build", "--quiet", "--tag", name, str(library))
    yield name
    host.docker("rmi", "--force", name)


def containers(engine):
    """Ids of all containers."""
    return engine.docker("ps", "--all", "--quiet").split()


def test_a_long_output_and_a_value_that_varies_are_compared_in_docker(host, library, tmp_path):
    script = tmp_path / "script.txt"
    script.write_text(
        "<action>\n<type>code</type>\n<content>\nimport uuid\nmany = list(range(100_000))\nprint(*many, sep='\\n')\n"
        "id = uuid.uuid4()\nprint(id, len(many))\n</content>\n</action>\n"
        "<action>\n<type>done</type>\n<content>\n100000\n</content>\n</action>\n"
    )
    ran = codenav("run", "How many?", "--on", library, "--model", f"scripted:{script}", "--sandbox", "docker",
                  "--image", host.base_image(), "--set", "checks.types=no", "--set", "checks.lint=no")  # fmt: skip
    varies = "varies: id, part of the last output"
    assert ran.out == f"100000\nsummary: reproduced (compared: many, the last output; {varies})\n", ran.err
    assert containers(host) == []


def test_a_run_in_docker_uses_the_code_base_writes_out_and_leaves_nothing(host, library, tmp_path):
    data, script, work = tmp_path / "data", tmp_path / "script.txt", tmp_path / "work"
    data.mkdir(mode=0o755)
    data.chmod(0o755)
    (data / "in.txt").write_text("from the mount")
    script.write_text(SCRIPT.replace("DATA", repr(f"{data}/in.txt")))
    ran = codenav(
        "run", "How large?", "--on", library, "--model", f"scripted:{script}", "--json", "--work-dir", work,
        "--sandbox", "docker", "--image", host.base_image(), "--mount", data, "--env", "API_KEY",
        "--memory", "512m", "--cpus", "1", "--set", "pids=64", env={"API_KEY": "s3cret-value"},
    )  # fmt: skip
    assert ran.code == 0, ran.err
    episode = ran.document
    assert (episode["status"], episode["answer"]) == ("done", "12")
    assert episode["summary"]["verified"], episode["summary"]
    assert episode["sandbox"]["backend"] == "docker"
    assert episode["sandbox"]["image"] == host.base_image()
    assert (episode["sandbox"]["isolated"], episode["sandbox"]["network"]) == (True, "none")
    step = episode["steps"][1]["observation"]
    assert step["stdout"] == "12 [secret API_KEY] 1000 from the mount\n"
    assert "s3cret-value" not in ran.out
    assert (work / "area.txt").read_text() == "12"
    assert containers(host) == []


def test_the_prompt_names_the_python_and_the_packages_of_the_image(host, library, tmp_path):
    script = tmp_path / "script.txt"
    script.write_text(SCRIPT[SCRIPT.rindex("<action>") :])
    arguments = ("run", "How large?", "--on", library, "--model", f"scripted:{script}", "--sandbox", "docker")
    assert codenav(*arguments, "--image", host.base_image()).code == 0
    record = codenav("episodes", "show", "last", "--json").document
    prompt = record["prompt"]
    assert "3.11.2" in prompt
    assert "pytest " not in prompt


def test_auto_takes_the_image_that_was_built_for_the_sources(host, library, built):
    with package.sandbox(on=library) as box:
        assert (box.info.backend, box.info.image) == ("docker", f"{built}:latest")
        assert box.run("import farm.fields\nfarm.fields.__file__").stdout == "'/opt/farm/farm/fields.py'\n"
    with package.sandbox("docker", on=library) as box:
        assert box.info.image == f"{built}:latest"
    with package.sandbox(on=library / "src") as box:
        assert box.info.backend == "bubblewrap"
    with package.sandbox(on=library, network="host") as box:
        assert box.info.backend == "bubblewrap"


def test_docker_without_an_image_names_the_build(host, library):
    ran = codenav("run", "x", "--on", library, "--model", "scripted:none", "--sandbox", "docker")
    assert ran.code in (2, 4)
    with pytest.raises(SandboxUnavailable, match="no image was built") as caught:
        package.sandbox("docker", on=library)
    assert f"codenav sandbox build --on {library}" in caught.value.hint
    assert "--image" in caught.value.hint


def test_an_image_from_the_configuration_stands_in(host, library, monkeypatch):
    monkeypatch.setenv("CODENAV_IMAGE", host.base_image())
    monkeypatch.setenv("CODENAV_MEMORY", "256m")
    with package.sandbox("docker", on=library) as box:
        assert box.info.image == host.base_image()
        assert box.run("import farm.fields\nfarm.fields.__file__").stdout == f"'{library}/src/farm/fields.py'\n"
        assert box.run("held = bytearray(400 << 20)").outcome == "out_of_memory"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--sandbox", "bubblewrap", "--image", "x"), "takes no image"),
        (("--sandbox", "docker", "--image", "x", "--network", "host"), "no network 'host'"),
        (("--sandbox", "bubblewrap", "--network", "bridge"), "no network 'bridge'"),
        (("--sandbox", "bubblewrap", "--mount", "/"), "is not mounted"),
        (("--sandbox", "bubblewrap", "--mount", "/no/such/folder:rw"), "no such folder"),
        (("--sandbox", "bubblewrap", "--memory", "much"), "is not a size"),
        (("--sandbox", "bubblewrap", "--memory", "1m"), "too low for Python"),
        (("--sandbox", "bubblewrap", "--cpus", "0"), "--cpus must be above 0: 0"),
        (("--sandbox", "bubblewrap", "--set", "runtime=runsc"), "takes no runtime"),
        (("--sandbox", "bubblewrap", "--set", "gpus=all"), "takes no gpus"),
    ],
)
def test_what_does_not_go_together_is_wrong_usage_in_one_line(library, tmp_path, arguments, message):
    script = tmp_path / "script.txt"
    script.write_text(SCRIPT)
    ran = codenav("run", "x", "--on", library, "--model", f"scripted:{script}", "--quiet", *arguments)
    assert ran.code == 2, ran.err
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_an_image_names_docker_even_where_nothing_was_said(host):
    assert choose_backend("auto", image="x").backend == "docker"
    with pytest.raises(UsageError):
        choose_backend("process", image="x")


def test_an_engine_that_is_gone_is_one_line(library, tmp_path):
    script = tmp_path / "script.txt"
    script.write_text(SCRIPT)
    ran = codenav(
        "run", "x", "--on", library, "--model", f"scripted:{script}", "--quiet", "--sandbox", "docker", "--image", "x",
        env={"DOCKER_HOST": f"unix://{tmp_path}/none"},
    )  # fmt: skip
    assert ran.code == 4
    assert "no Docker engine answers" in ran.err
    assert "Traceback" not in ran.err


def test_without_an_engine_auto_is_bubblewrap_and_does_not_load_the_client(library, tmp_path):
    script = (
        "import sys, codenav\n"
        f"with codenav.sandbox(on={str(library)!r}) as box: print(box.info.backend, 'docker' in sys.modules)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True,
        env={**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/none"},
    )  # fmt: skip
    assert ran.stdout == "bubblewrap False\n"
