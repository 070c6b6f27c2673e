"""What goes into an image: files of a code base, requirements, pip's settings. No engine is needed."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from codenav.cli.sandbox_build import contents
from codenav.core.errors import NotFound, UsageError
from codenav.sandboxes.images import CodeBase, Recipe
from codenav.sandboxes.images.code import Packed, record, unchanged
from codenav.sandboxes.images.containers import END
from codenav.sandboxes.images.pip_settings import PipSettings
from codenav.sandboxes.images.requirements import Requirements, stated_requirements


@pytest.fixture
def repo(tmp_path):
    """A folder with all sorts of files."""
    root = tmp_path / "repo"
    for path, text in {
        "pkg/__init__.py": "", "pkg/data/table.csv": "1,2\n", "run.sh": "#!/bin/sh\n", ".env": "KEY=1",
        "sub/.env": "K=2", ".git/config": "[remote]\nurl = https://me:pw@host", ".netrc": "machine x",
        ".gitignore": "*.log\n",
        "pkg/__pycache__/a.cpython-311.pyc": "x", "node_modules/x/index.js": "", "venv/bin/x": "",
        "venv/pyvenv.cfg": "", "big/one.bin": "1", "big/two.txt": "2",
        "generated.log": "kept: what git ignores may be needed\n",
    }.items():  # fmt: skip
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / "run.sh").chmod(0o700)
    return root


def packed(root, **options):
    return Packed.of(CodeBase(str(root), root.name, root, **options))


def unpacked(listed, uid=0):
    """The members of the tar that goes to the engine, by their names."""
    data = b"".join(listed.tar(uid=uid)) + END
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {member.name: (member, archive.extractfile(member)) for member in archive}


def files_of(listed):
    return [entry.path for entry in listed.entries if entry.kind == tarfile.REGTYPE]


def test_credentials_history_and_caches_stay_outside(repo):
    assert files_of(packed(repo)) == [
        ".gitignore", "big/one.bin", "big/two.txt", "generated.log", "pkg/__init__.py", "pkg/data/table.csv", "run.sh",
    ]  # fmt: skip


def test_a_dockerignore_leaves_more_outside(repo):
    (repo / ".dockerignore").write_text("# what is large\nbig\n!big/two.txt\n**/*.csv\n*.log\n")
    assert files_of(packed(repo)) == [
        ".dockerignore", ".gitignore", "big/two.txt", "pkg/__init__.py", "run.sh"
    ]  # fmt: skip


def test_the_tar_says_nothing_of_this_machine(repo):
    members = unpacked(packed(repo), uid=1000)
    script, _ = members["opt/codenav/code/repo/run.sh"]
    table, content = members["opt/codenav/code/repo/pkg/data/table.csv"]
    assert (script.mode, table.mode, content.read()) == (0o755, 0o644, b"1,2\n")
    assert {member.mtime for member, _ in members.values()} == {315_532_800}
    assert {member.uname for member, _ in members.values()} == {""}
    assert {(name, member.uid) for name, (member, _) in members.items() if member.uid != 1000} == {("opt", 0)}
    before = packed(repo).digest
    for path in repo.rglob("*"):
        os.utime(path, (7, 7))
    (repo / "pkg" / "__init__.py").chmod(0o600)
    assert packed(repo).digest == before
    (repo / "pkg" / "__init__.py").chmod(0o700)
    assert packed(repo).digest != before


def test_links_stay_where_they_lead_inside(repo, tmp_path):
    (tmp_path / "secret").write_text("outside")
    (repo / "pkg" / "inner").symlink_to(repo / "big")
    (repo / "pkg" / "near.txt").symlink_to("../big/two.txt")
    (repo / "pkg" / "outer").symlink_to(tmp_path / "secret")
    (repo / "pkg" / "broken").symlink_to("nowhere")
    (repo / "pkg" / "loop").symlink_to("loop")
    os.mkfifo(repo / "pkg" / "pipe")
    listed = packed(repo)
    assert {entry.path: entry.target for entry in listed.entries if entry.target} == {
        "pkg/inner": "../big", "pkg/near.txt": "../big/two.txt"
    }  # fmt: skip
    assert listed.left_out == ["pkg/broken", "pkg/loop", "pkg/outer", "pkg/pipe"]


def test_a_link_that_was_named_is_followed(repo, tmp_path):
    (tmp_path / "by-link").symlink_to(repo)
    assert files_of(packed(tmp_path / "by-link")) == files_of(packed(repo))
    assert files_of(packed(repo, members=("pkg/__init__.py", "big"))) == [
        "big/one.bin",
        "big/two.txt",
        "pkg/__init__.py",
    ]


def test_whether_a_code_base_is_still_what_an_image_holds(repo, tmp_path):
    said = record(packed(repo))
    assert unchanged(said)
    for path in repo.rglob("*"):
        os.utime(path, (7, 7))
    (repo / "pkg" / "__pycache__" / "new.cpython-311.pyc").write_bytes(b"x")
    assert unchanged(said)
    (repo / "pkg" / "data" / "table.csv").write_text("1,3\n")
    assert not unchanged(said)
    (repo / "pkg" / "data" / "table.csv").write_text("1,2\n")
    (repo / "added.txt").touch()
    assert not unchanged(said)
    assert unchanged({**said, "root": str(tmp_path / "of-another-machine")})


def test_what_is_too_large_is_named(repo):
    with (repo / "big" / "one.bin").open("wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(UsageError, match=r"holds more than 1 GiB, most of it in big") as caught:
        packed(repo)
    assert ".dockerignore" in caught.value.hint


def test_names_that_are_not_utf_8_and_long_ones(repo):
    odd = os.fsdecode(b"caf\xe9.txt")
    (repo / odd).write_text("x")
    deep = repo / "/".join(["n" * 60] * 5)
    deep.mkdir(parents=True)
    (deep / "end.txt").write_text("y")
    data = b"".join(packed(repo).tar(uid=0)) + END
    with tarfile.open(fileobj=io.BytesIO(data), errors="surrogateescape") as archive:
        names = archive.getnames()
    assert f"opt/codenav/code/repo/{odd}" in names
    assert f"opt/codenav/code/repo/{deep.relative_to(repo)}/end.txt" in names
    assert packed(repo).digest


def test_where_a_code_base_lies_and_what_imports_it(tmp_path, python):
    source = tmp_path / "with-src"
    (source / "src" / "one").mkdir(parents=True)
    (source / "src" / "one" / "__init__.py").touch()
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "__init__.py").touch()
    alone = tmp_path / "alone.py"
    alone.write_text("x = 1\n")
    code, packages = contents([str(source), str(bare), str(alone)], python)
    assert packages == []
    assert [(one.place.removeprefix("/opt/codenav/code/"), one.import_folder[18:]) for one in code] == [
        ("with-src", "with-src/src"), ("bare/bare", "bare"), ("alone", "alone")
    ]  # fmt: skip
    assert files_of(Packed.of(code[2])) == ["alone.py"]
    assert Recipe("x", code).sources == sorted([str(alone), str(bare), str(source)])


def test_the_name_of_an_image(repo, tmp_path):
    one, two = CodeBase("/a/My Repo!", "My Repo!", repo), CodeBase("/b/My Repo!", "My Repo!", repo)
    names = {Recipe("x", [one]).named(), Recipe("x", [two]).named(), Recipe("x", packages=["pillow==9.1"]).named()}
    assert len(names) == 3
    assert {name.partition(":")[0] for name in names} == {"codenav/my-repo", "codenav/pillow"}
    assert Recipe("x", [one], tag="registry.example:5000/team/lab:v1").named() == "registry.example:5000/team/lab:v1"
    for tag in ("", "-x", "A", "a:", "a b", "a:b:c", "a\n"):
        if tag:
            with pytest.raises(UsageError):
                Recipe("x", [one], tag=tag).named()


def test_files_of_requirements_with_all_that_they_name(tmp_path, repo):
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    (wheels / "a-1-py3-none-any.whl").write_bytes(b"wheel")
    (repo / "pyproject.toml").write_text(
        '[project]\nname = "r"\ndependencies = ["numpy>=1"]\n[project.optional-dependencies]\nplot = ["matplotlib"]\n'
    )
    (tmp_path / "limits.txt").write_text("numpy<3\n")
    (tmp_path / "more.txt").write_text("-c limits.txt\nrequests  # the web\n")
    listed = tmp_path / "requirements.txt"
    listed.write_text(
        "\ufeff--index-url https://${INDEX_TOKEN}@index.example/simple\n-r more.txt\n--find-links wheels\n"
        "./wheels/a-1-py3-none-any.whl\n-e ./repo[plot]\nflask \\\n  >=2; python_version > '3'\n"
        "git+https://host/x.git@main#egg=x\nb @ https://host/b.whl\nhttps://host/c.zip\n",
        encoding="utf-8",
    )
    made = Requirements.of([listed], [CodeBase(str(repo), "repo", repo)], ["seeds==1.0"])
    text = made.texts[made.names[0]]
    assert text.splitlines() == [
        "--index-url https://${INDEX_TOKEN}@index.example/simple",
        f"-r {next(name for name in made.texts if name.endswith('more.txt'))}",
        "--find-links ./files/0/wheels",
        "./files/1/a-1-py3-none-any.whl",
        "numpy>=1",
        "matplotlib",
        "flask    >=2; python_version > '3'",
        "git+https://host/x.git@main#egg=x",
        "b @ https://host/b.whl",
        "https://host/c.zip",
    ]
    assert made.uploads == {"files/0/wheels": wheels, "files/1/a-1-py3-none-any.whl": wheels / "a-1-py3-none-any.whl"}
    assert (made.variables, made.names[1], made.texts[made.names[1]]) == (
        {"INDEX_TOKEN"}, "packages.txt", "seeds==1.0\n"
    )  # fmt: skip
    before = made.digest()
    (tmp_path / "limits.txt").write_text("numpy<2\n")
    assert Requirements.of([listed], [CodeBase(str(repo), "repo", repo)], ["seeds==1.0"]).digest() != before


@pytest.mark.parametrize(
    "line, kind, said",
    [
        ("-r nowhere.txt", NotFound, "nowhere.txt"),
        ("./no.whl", NotFound, "line 2"),
        ("-e ./other", UsageError, "line 2"),
        ("name @ file:other", UsageError, "other is a folder"),
    ],
)
def test_requirements_that_a_build_cannot_see(tmp_path, line, kind, said):
    (tmp_path / "other").mkdir()
    (tmp_path / "requirements.txt").write_text(f"# first\n{line}\n")
    with pytest.raises(kind, match=said):
        Requirements.of([tmp_path / "requirements.txt"], [], [])


def test_what_a_project_says_that_it_requires(tmp_path):
    code = CodeBase(str(tmp_path), "x", tmp_path, project=tmp_path)
    assert Requirements.of([], [code], []).names == []
    (tmp_path / "setup.cfg").write_text("[options]\ninstall_requires =\n    six>=1\n    # no\n    attrs\n")
    assert stated_requirements(tmp_path, []) == (["six>=1", "attrs"], tmp_path / "setup.cfg")
    (tmp_path / "pyproject.toml").write_text("[project]\ndependencies = ['rich']\n")
    assert stated_requirements(tmp_path, [])[0] == ["rich"]
    assert Requirements.of([], [code], []).texts == {"x.txt": "rich\n"}
    (tmp_path / "requirements.txt").write_text("click\n")
    made = Requirements.of([], [code], [])
    assert list(made.texts.values()) == ["click\n"]
    (tmp_path / "pyproject.toml").write_text("[project\n")
    with pytest.raises(UsageError, match="cannot read what"):
        stated_requirements(tmp_path, [])


@pytest.fixture
def user(tmp_path, monkeypatch):
    """A home with a configuration of pip, and no variables about it."""
    for name in [*os.environ]:
        if name.startswith("PIP_") or name.lower().endswith("_proxy") or name == "VIRTUAL_ENV":
            monkeypatch.delenv(name)
    for name in ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE", "NETRC", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path / "xdg"))
    return tmp_path


def test_the_settings_of_pip_are_those_of_this_user(user, monkeypatch):
    (user / "ca.pem").write_bytes(b"certificate")
    config = user / ".config" / "pip" / "pip.conf"
    config.parent.mkdir(parents=True)
    config.write_text(
        f"[global]\nindex-url = https://me:p%40ss@index.example/simple\ncert = {user}/ca.pem\ncache-dir = /x\n"
        "[install]\nfind-links =\n    https://links.example/\nuser = true\n"
    )
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://t0ken@extra.example/simple")
    monkeypatch.setenv("https_proxy", "http://p:proxypass@proxy.example:3128")
    made = PipSettings.of_user("/build")
    assert made.env["PIP_INDEX_URL"] == "https://me:p%40ss@index.example/simple"
    assert made.env["PIP_EXTRA_INDEX_URL"] == "https://t0ken@extra.example/simple"
    assert made.env["PIP_CERT"] == "/build/cert.pem"
    assert made.env["PIP_FIND_LINKS"] == "https://links.example/"
    assert made.env["HTTPS_PROXY"] == made.env["https_proxy"] == "http://p:proxypass@proxy.example:3128"
    assert not {"PIP_CACHE_DIR", "PIP_USER"} & set(made.env)
    assert made.files == {"cert.pem": b"certificate"}
    assert {"p%40ss", "p@ss", "t0ken", "proxypass"} <= set(made.secrets)
    assert set(made.proxies) == {"https_proxy", "HTTPS_PROXY"}


def test_a_setting_that_names_a_missing_file(user, monkeypatch):
    monkeypatch.setenv("PIP_CERT", str(Path(user, "gone.pem")))
    with pytest.raises(UsageError, match=r"gone\.pem"):
        PipSettings.of_user("/build")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_CERT")
    assert PipSettings.of_user("/build").env == {"PIP_CONFIG_FILE": os.devnull}
