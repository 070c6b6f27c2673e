"""Images that codenav builds, in a real engine: what is in them, what is not, what a second build does."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
from pathlib import Path

import jsonschema
import pytest
from command_line import codenav
from command_line import start as start_command
from package_index import PackageIndex, debian, source, wheel

import codenav as package
from codenav.cli.sandbox_build import contents
from codenav.core import schemas
from codenav.core.errors import SandboxUnavailable, Unavailable, UsageError
from codenav.core.execution import SandboxSpec
from codenav.sandboxes import image_for, start
from codenav.sandboxes.images import CodeBase, Recipe, build

PASSWORD = "pa55-of-the-index"


@pytest.fixture(scope="module", autouse=True)
def host(docker_engine):
    """`DOCKER_HOST` leads to the engine of the tests, here and in commands; pip has no settings but ours."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [*os.environ]:
            if name.startswith("PIP_") or name.lower().endswith("_proxy"):
                patch.delenv(name)
        for name in ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE"):
            patch.delenv(name, raising=False)
        patch.setenv("PIP_CONFIG_FILE", os.devnull)
        patch.setenv("DOCKER_HOST", docker_engine.host)
        yield docker_engine


@pytest.fixture(scope="module")
def index(docker_engine):
    """An index that asks for a password, at the engine's bridge."""
    gateway = docker_engine.docker("network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Gateway}}")
    with PackageIndex(gateway, f"reader:{PASSWORD}") as served:
        for name, version in (("seeds", "1.0"), ("seeds", "2.0"), ("plough", "0.3")):
            file, data = wheel(name, version, f"version = {version!r}\ndef say():\n    print(version)\n")
            served.wheels[file] = data
        file, data = source("broken", "1.0", "raise SystemExit('the compiler is on holiday')\n")
        served.wheels[file] = data
        yield served


@pytest.fixture
def indexed(index, monkeypatch):
    """pip is configured with that index."""
    monkeypatch.setenv("PIP_INDEX_URL", index.url(credentials=f"reader:{PASSWORD}"))
    monkeypatch.setenv("PIP_TRUSTED_HOST", index.host)
    return index


@pytest.fixture
def farm(tmp_path):
    """A project with a `src` folder, a secret, and caches."""
    root = tmp_path / "farm-repo"
    (root / "src" / "farm" / "__pycache__").mkdir(parents=True)
    (root / "src" / "farm" / "__init__.py").touch()
    (root / "src" / "farm" / "__pycache__" / "stale.cpython-311.pyc").write_bytes(b"stale")
    (root / "src" / "farm" / "fields.py").write_text("def area(a, b):\n    return a * b\n")
    (root / "src" / "farm" / "crops.txt").write_text("wheat\n")
    (root / ".env").write_text("TOKEN=t0ken-in-a-file\n")
    (root / "pyproject.toml").write_text('[project]\nname = "farm"\nversion = "1"\n')
    return root


def recipe(engine, *roots, **changes):
    """Of the base image of the tests, with code bases that are packages in their `src` folder."""
    code = [
        CodeBase(str(root), root.name, root, import_root=root / "src", import_paths=(root / "src",), project=root)
        for root in roots
    ]
    return dataclasses.replace(Recipe(engine.base_image(), code), **changes)


def layers(engine, image):
    return json.loads(engine.docker("inspect", "--format", "{{json .RootFS.Layers}}", image))


def ours(engine):
    """Ids of all images of codenav, intermediate ones too."""
    return set(engine.docker("images", "--all", "--quiet", "--no-trunc", "--filter", "label=codenav.kind").split())


def run(engine, image, code):
    return engine.docker("run", "--rm", "--network", "none", image, "python", "-c", code)


def test_code_in_an_image_runs_in_a_sandbox_of_it_as_nobody_s_root(docker_engine, farm, tmp_path):
    base = docker_engine.base_image()
    built = codenav("sandbox", "build", "--on", farm, "--base", base, "--json")
    assert built.code == 0, built.err
    jsonschema.validate(built.document, schemas.load("sandbox-build"))
    assert (built.document["built"], built.document["sources"]) == (True, [str(farm)])
    with package.sandbox("auto", on=[farm], work_dir=tmp_path / "work") as box:
        assert (box.info.backend, box.info.image) == ("docker", built.document["image"])
        step = box.run(
            "import os, farm.fields\nfrom farm.fields import area\n"
            "held = [os.path.join(f, n) for f, _, ns in os.walk('/opt/codenav/code') for n in ns]\n"
            "print(area(3, 4), os.getuid(), os.access(farm.fields.__file__, os.W_OK))\n"
            "print(os.path.exists(farm.fields.__cached__), sorted(os.path.basename(one) for one in held))\n"
        )
    assert step.outcome == "ok", step
    first, second = step.stdout.splitlines()
    assert first == "12 1000 False"
    cached, names = second.split(" ", 1)
    assert cached == "True"
    assert [name for name in eval(names) if not name.endswith(".pyc")] == [
        "__init__.py", "crops.txt", "fields.py", "pyproject.toml"
    ]  # fmt: skip
    # Children of the code find the code base too.
    assert run(docker_engine, built.document["image"], "import farm.fields, os; print(os.getuid())") == "1000"

    again = codenav("sandbox", "build", "--on", farm, "--base", base)
    assert (again.code, "nothing has changed" in again.out) == (0, True)
    assert docker_engine.docker("inspect", "--format", "{{.Id}}", built.document["image"]) == built.document["id"]


def test_a_second_build_does_nothing_and_a_change_of_the_code_costs_its_own_layer(docker_engine, farm):
    wanted = recipe(docker_engine, farm)
    first = build(wanted)
    made, known = layers(docker_engine, first.image), ours(docker_engine)
    for path in farm.rglob("*"):
        os.utime(path, (1, 1))
    told = []
    again = build(wanted, tell=told.append)
    assert (again.built, again.id, told, ours(docker_engine)) == (False, first.id, [], known)

    (farm / "src" / "farm" / "fields.py").write_text("def area(a, b):\n    return b * a\n")
    changed = build(wanted, tell=told.append)
    assert (changed.built, told, changed.image) == (True, ["Copying the code in"], first.image)
    after = layers(docker_engine, changed.image)
    assert (after[:-1], after[-1] == made[-1]) == (made[:-1], False)
    # The image that has lost its name is gone, and no other.
    assert ours(docker_engine) == (known - {first.id}) | {changed.id}
    assert image_for([str(farm)]) == changed.image
    again = build(wanted, rebuild=True)
    assert (again.built, again.id != changed.id) == (True, True)


def test_code_that_has_changed_since_its_image_was_built_is_taken_live(docker_engine, farm):
    built = build(recipe(docker_engine, farm))

    def place():
        with package.sandbox("docker", on=[farm], image=built.image) as box:
            assert box.run(f"import os\nos.path.exists({str(farm / '.env')!r})").stdout == "False\n"
            return box.run("from farm import fields\nprint(fields.__file__, fields.area(1, 2))").stdout.split()

    assert place() == ["/opt/codenav/code/farm-repo/src/farm/fields.py", "2"]
    (farm / "src" / "farm" / "fields.py").write_text("def area(a, b):\n    return 'new'\n")
    assert place() == [str(farm / "src" / "farm" / "fields.py"), "new"]


def test_requirements_come_from_a_folder_of_wheels(docker_engine, index, farm, tmp_path):
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for name, data in index.wheels.items():
        (wheels / name).write_bytes(data)
    listed = tmp_path / "requirements.txt"
    listed.write_text("--no-index\n--find-links wheels\nseeds<2\n./wheels/plough-0.3-py3-none-any.whl\n")
    wanted = recipe(docker_engine, farm, requirements=[listed])
    assert list(build(wanted).packages) == ["plough==0.3", "seeds==1.0"]
    assert docker_engine.docker("ps", "--all", "--quiet", "--filter", "label=codenav.owner") == ""


@pytest.mark.nightly
def test_requirements_come_from_the_index_of_this_user_and_its_password_stays_out(docker_engine, indexed, farm, python):
    (farm / "requirements.txt").write_text("seeds<2  # the new ones do not grow\nplough\n")
    built = build(recipe(docker_engine, farm))
    assert list(built.packages) == ["plough==0.3", "seeds==1.0"]
    assert list(built.requirements) == [str(farm / "requirements.txt")]
    code = "import subprocess, seeds, plough; print(seeds.version, subprocess.check_output('plough-say').decode())"
    with start("docker", SandboxSpec(python, image=built.image)) as box:
        assert box.run(code).stdout.split() == ["1.0", "0.3"]
    told = docker_engine.docker("inspect", built.image) + docker_engine.docker("history", "--no-trunc", built.image)
    assert PASSWORD not in told
    whole = subprocess.Popen(["docker", "--host", docker_engine.host, "save", built.image], stdout=subprocess.PIPE)
    rest, seen = b"", False
    while piece := whole.stdout.read(1 << 22):
        assert PASSWORD.encode() not in rest + piece
        assert b"t0ken-in-a-file" not in rest + piece
        rest, seen = piece[-100:], seen or b"wheat" in piece
    whole.stdout.close()
    assert (whole.wait(), seen) == (0, True)


@pytest.mark.nightly
def test_a_package_is_installed_in_the_version_that_is_installed_here(docker_engine, indexed, tmp_path, python):
    info = tmp_path / "seeds-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: Seeds\nVersion: 1.0\n")
    (info / "RECORD").write_text("seeds.py,,\n")
    (tmp_path / "seeds.py").write_text("version = '1.0'\n")
    here = dataclasses.replace(python, paths=(tmp_path,))
    code, packages = contents(["pkg:seeds", "pkg:plough==0.3"], here)
    assert (code, packages) == ([], ["seeds==1.0", "plough==0.3"])
    built = build(recipe(docker_engine, packages=packages, tag="codenav-tests/seeds:one"))
    assert built.image == "codenav-tests/seeds:one"
    assert image_for(["pkg:seeds==1.0", "pkg:plough==0.3"]) == built.image
    assert image_for(["pkg:seeds==2.0"]) is None
    assert run(docker_engine, built.image, "import seeds; print(seeds.version)") == "1.0"


def test_an_image_of_a_repository_serves_its_commit_however_that_is_named(docker_engine, farm):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(farm)]
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "x"], ["tag", "v1"]):
        subprocess.run([*git, *arguments], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True).stdout[:12]
    base = docker_engine.base_image()
    built = codenav("sandbox", "build", "--on", f"git:{farm}@main", "--base", base, "--json").document
    assert built["sources"] == [f"git:file://{farm}@{commit}"]
    for spec in (f"git:{farm}@main", f"git:{farm}@v1"):
        with package.sandbox("auto", on=[spec]) as box:
            assert (box.info.backend, box.info.image) == ("docker", built["image"])
            assert box.run("from farm.fields import area\narea(3, 4)").stdout == "12\n"
    (farm / "src" / "farm" / "fields.py").write_text("def area(a, b):\n    return 0\n")
    subprocess.run([*git, "commit", "-qam", "y"], check=True)
    subprocess.run([*git, "tag", "v2"], check=True)
    with pytest.raises(SandboxUnavailable, match="no image was built"):
        package.sandbox("docker", on=[f"git:{farm}@v2"])
    with pytest.raises(SandboxUnavailable, match="no image was built"):
        package.sandbox("docker", on=[farm])


@pytest.mark.nightly
def test_a_base_with_a_pip_of_its_own_serves_with_that(docker_engine, indexed, farm):
    import pip

    place = "/usr/lib/python3/dist-packages/pip"
    with_pip = docker_engine.docker("create", docker_engine.base_image())
    docker_engine.docker("cp", os.path.dirname(pip.__file__), f"{with_pip}:{place}")
    docker_engine.docker("commit", with_pip, "codenav-tests/with-pip")
    docker_engine.docker("rm", with_pip)
    (farm / "requirements.txt").write_text("plough\n")
    built = build(recipe(docker_engine, farm, base="codenav-tests/with-pip"))
    assert list(built.packages) == ["plough==0.3"]
    assert (
        run(docker_engine, built.image, "import pip, plough; print(pip.__path__[0], plough.version)") == f"{place} 0.3"
    )


@pytest.mark.nightly
def test_what_pip_says_when_it_fails(docker_engine, indexed, farm):
    (farm / "requirements.txt").write_text("seeds==9.9\n")
    ran = codenav("sandbox", "build", "--on", farm, "--base", docker_engine.base_image())
    assert ran.code == 4
    assert "No matching distribution found for seeds==9.9" in ran.err
    assert "Error: pip could not install what is required:" in ran.err
    assert PASSWORD not in ran.err + ran.out

    (farm / "requirements.txt").write_text("broken\n")
    with pytest.raises(Unavailable) as caught:
        build(recipe(docker_engine, farm))
    assert "the compiler is on holiday" in str(caught.value)
    assert len(str(caught.value).splitlines()) < 15
    assert docker_engine.docker("ps", "--all", "--quiet", "--filter", "label=codenav.owner") == ""


@pytest.mark.nightly
def test_debian_packages(docker_engine, index, tmp_path, farm):
    file, data = debian(tmp_path / "deb", "scarecrow", "1.2", "#!/bin/sh\necho boo\n")
    index.packages[file] = data
    archive = index.url("/debian/", credentials=f"reader:{PASSWORD}")
    lines = [
        f"FROM {docker_engine.base_image()}",
        f"RUN echo 'deb [trusted=yes] {archive} ./' > /etc/apt/sources.list",
        "ENV GREETING=hello",
        'ENTRYPOINT ["/bin/false"]',
    ]
    image(docker_engine, "codenav-tests/with-archive", lines)
    wanted = recipe(docker_engine, farm, base="codenav-tests/with-archive", apt=["scarecrow"])
    built = build(wanted)
    code = "import os, subprocess; print(os.environ['GREETING'], subprocess.check_output('scarecrow').decode())"
    assert run(docker_engine, built.image, code).split() == ["hello", "boo"]

    with pytest.raises(Unavailable, match=r"Unable to locate package no-such-thing|no-such-thing"):
        build(dataclasses.replace(wanted, apt=["no-such-thing"]))


def image(engine, name, lines, files=()):
    """Built with Docker's own builder."""
    subprocess.run(
        ["docker", "--host", engine.host, "build", "--quiet", "--tag", name, "-"],
        input="\n".join(lines), text=True, check=True, capture_output=True, env={**os.environ, "DOCKER_BUILDKIT": "0"},
    )  # fmt: skip


WRONG = {
    "no such image": ({"base": "localhost:1/no/such:image"}, Unavailable, "cannot be fetched"),
    "no name of a base": ({"base": "UPPER CASE"}, UsageError, "not the name of an image"),
    "no name for the image": ({"tag": "UPPER CASE"}, UsageError, "not the name of an image"),
    "an option as a package": ({"apt": ["-oX=1"]}, UsageError, "not the name of a Debian package"),
    "no such file": ({"requirements": [Path("/no/such/requirements.txt")]}, UsageError, "no such file"),
    "no such network": ({"network": "no-such-network"}, Unavailable, "no-such-network"),
}


@pytest.mark.parametrize("changes, kind, said", WRONG.values(), ids=WRONG)
def test_what_cannot_be_built_is_one_clear_line(docker_engine, farm, changes, kind, said):
    (farm / "requirements.txt").write_text("seeds\n")
    with pytest.raises(kind, match=said) as caught:
        build(recipe(docker_engine, farm, **changes))
    assert caught.value.hint
    assert len(str(caught.value).splitlines()) == 1
    assert docker_engine.docker("ps", "--all", "--quiet", "--filter", "label=codenav.owner") == ""


BASES = {
    "no Python": (["RUN rm /usr/bin/python3*"], "has no Python"),
    "Python 3.7": (
        ["RUN echo 'import sys; sys.version_info = (3, 7, 16)' > /usr/lib/python3/dist-packages/sitecustomize.py",
         "RUN rm -f /etc/python3*/sitecustomize.py /usr/lib/python3.*/sitecustomize.py"], "has Python 3.7.16"),
    "a Python that does not start": (["RUN rm -r /usr/lib/python3.*/encodings"], "does not work"),
    "no venv": (["RUN rm -r /usr/lib/python3.*/venv"], "lacks the module venv"),
}  # fmt: skip


@pytest.mark.parametrize("lines, said", BASES.values(), ids=BASES)
def test_a_base_that_will_not_do(docker_engine, farm, lines, said):
    image(docker_engine, "codenav-tests/bad-base", [f"FROM {docker_engine.base_image()}", *lines])
    ran = codenav("sandbox", "build", "--on", farm, "--base", "codenav-tests/bad-base")
    assert (ran.code, said in ran.err, "codenav-tests/bad-base" in ran.err) == (2, True, True), ran.err
    assert "Try: --base python:3.12-slim" in ran.err


@pytest.mark.nightly
def test_two_builds_at_a_time_are_one(docker_engine, tmp_path, farm):
    (farm / "more.py").write_text("x = 1\n")
    arguments = ("sandbox", "build", "--on", farm, "--base", docker_engine.base_image(), "--json")
    both = [start_command(*arguments, env={"CODENAV_HOME": str(tmp_path / "home")}) for _ in range(2)]
    documents = [json.loads(process.communicate(timeout=120)[0]) for process in both]
    assert sorted(document["built"] for document in documents) == [False, True]
    assert documents[0]["id"] == documents[1]["id"]


def test_a_build_that_is_ended_leaves_nothing(docker_engine, indexed, farm):
    (farm / "requirements.txt").write_text("seeds\n")
    indexed.slow.add("/simple/seeds/")
    before = ours(docker_engine)
    arguments = ("sandbox", "build", "--on", farm, "--base", docker_engine.base_image())
    try:
        for number in (signal.SIGINT, signal.SIGKILL):
            indexed.asked.clear()
            with start_command(*arguments) as process:
                indexed.wait_for("/simple/seeds/")
                process.send_signal(number)
                process.communicate(timeout=60)
            assert process.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL)
            left = docker_engine.docker("ps", "--all", "--quiet", "--filter", "label=codenav.owner")
            assert bool(left) == (number == signal.SIGKILL)
        swept = codenav("sandbox", "stop", "--leftovers", "--json")
        assert [row["kind"] for row in swept.document] == ["container"]
        assert docker_engine.docker("ps", "--all", "--quiet", "--filter", "label=codenav.owner") == ""
        assert docker_engine.docker("volume", "ls", "--quiet") == ""
        assert ours(docker_engine) == before
    finally:
        indexed.slow.clear()
