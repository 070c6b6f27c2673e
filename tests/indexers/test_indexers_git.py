"""`git:URL@REV` with the real git: what is fetched, what is kept, and what is refused or never run."""

from __future__ import annotations

import base64
import http.server
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from codenav.core.errors import NotFound, Unavailable, UsageError
from codenav.core.system.interpreter import Interpreter
from codenav.indexers.git import Checkout, checkout, forget
from codenav.indexers.repository import Git, Repository, parse
from codenav.indexers.sources import key_of, resolve


class Origin:
    """A repository that tests push to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        self.run("init", "--quiet", "--initial-branch=main")
        self.commit(**{"a.py": "def first(): pass\n"})

    @property
    def url(self) -> str:
        return f"file://{self.path}"

    def run(self, *arguments: str) -> str:
        identity = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a"}
        env = {**os.environ, **identity, "GIT_COMMITTER_EMAIL": "a@b", "GIT_CONFIG_GLOBAL": os.devnull}
        ran = subprocess.run(["git", *arguments], cwd=self.path, env=env, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.strip()

    def commit(self, **files: str) -> str:
        for name, text in files.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(text)
        self.run("add", "--all")
        self.run("commit", "--quiet", "--allow-empty", "-m", "x")
        return self.run("rev-parse", "HEAD")


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    return Origin(tmp_path / "origin")


def names(state: Checkout) -> list[str]:
    return sorted(str(path.relative_to(state.path)) for path in state.path.rglob("*") if path.is_file())


def test_a_branch_a_tag_a_commit_and_the_default(origin: Origin) -> None:
    first = origin.run("rev-parse", "HEAD")
    origin.run("tag", "light")
    origin.run("tag", "-a", "v1.0", "-m", "annotated")
    origin.run("branch", "feature/x")
    origin.run("tag", "both")
    second = origin.commit(**{"b.py": ""})
    origin.run("branch", "both")
    for revision, commit in {
        "": second, "main": second, "HEAD": second, "refs/heads/main": second, "light": first, "v1.0": first,
        "feature/x": first, first: first, "both": second,
    }.items():  # fmt: skip
        state = checkout(Repository(origin.url, revision))
        assert (state.commit, names(state)) == (commit, ["a.py", "b.py"] if commit == second else ["a.py"]), revision


def test_a_branch_that_moves_is_followed_when_it_is_looked_at(origin: Origin) -> None:
    main = parse(f"git:{origin.url}@main")
    with pytest.raises(NotFound, match="has not been fetched"):
        checkout(main, max_age=None)
    first = checkout(main)
    origin.commit(**{"b.py": ""})
    assert checkout(main, max_age=3600) == checkout(main, max_age=None) == first
    second = checkout(main)
    assert names(second) == ["a.py", "b.py"]
    assert names(first) == ["a.py"], "what a sandbox runs on stays"


def test_without_the_server_the_old_state_answers_and_it_is_told(origin: Origin) -> None:
    main, told = parse(f"git:{origin.url}@main"), []
    state = checkout(main)
    origin.path.rename(origin.path.with_name("gone"))
    assert checkout(main, notice=told.append) == state
    assert len(told) == 1 and f"using commit {state.commit[:12]}, fetched 20" in told[0]
    assert checkout(main, max_age=600, notice=told.append) == state
    assert len(told) == 1, "a search does not wait for the server each time"
    with pytest.raises(Unavailable) as caught:
        checkout(parse(f"git:{origin.url}@other"))
    assert caught.value.exit_code == 4


def test_a_commit_is_asked_for_once(origin: Origin) -> None:
    commit = origin.run("rev-parse", "HEAD")
    state = checkout(parse(f"git:{origin.url}@{commit}"))
    origin.path.rename(origin.path.with_name("gone"))
    assert checkout(parse(f"git:{origin.url}@{commit}")) == state


def test_a_revision_that_is_not_there(origin: Origin) -> None:
    origin.run("branch", "develop")
    for revision, hint in {
        "develpo": "did you mean @develop?",
        "0" * 39 + "1": f"git ls-remote {origin.url}",
        origin.run("rev-parse", "--short=8", "HEAD"): "a commit needs its full hash",
    }.items():
        with pytest.raises(NotFound) as caught:
            checkout(parse(f"git:{origin.url}@{revision}"))
        assert hint in caught.value.hint
        assert revision in str(caught.value)


def test_an_empty_repository_and_none_at_all(tmp_path: Path, codenav_home: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path / "empty"], check=True)
    with pytest.raises(UsageError, match="has no commit"):
        checkout(parse(f"git:{tmp_path}/empty"))
    (tmp_path / "folder").mkdir()
    with pytest.raises(Unavailable, match="does not appear to be a git repository"):
        checkout(parse(f"git:{tmp_path}/folder"))
    assert list((codenav_home / "git").iterdir()) == [], "nothing is kept of what was not fetched"


@pytest.mark.parametrize(
    ("spec", "url", "revision"),
    [
        ("git:https://host/group/project.git@v1", "https://host/group/project.git", "v1"),
        ("git:https://host/group/project@feature/a-b", "https://host/group/project", "feature/a-b"),
        ("git:https://host:8443/@scope/project", "https://host:8443/@scope/project", ""),
        ("git:ssh://git@host/project.git@main", "ssh://git@host/project.git", "main"),
        ("git:http://[::1]:80/project", "http://[::1]:80/project", ""),
    ],
)
def test_how_it_is_read(spec: str, url: str, revision: str) -> None:
    assert parse(spec) == Repository(url, revision)


@pytest.mark.parametrize(
    "spec",
    [
        "git:", "git: ", "git:https://", "git:https://host", "git:https://host/", "git:https://host/p@", "git://host/p",
        "git:ext::sh -c touch% /tmp/x", "git:ext::touch", "git:ext://touch", "git:fd::3", "git:git+https://host/p",
        "git:ssh://-oProxyCommand=touch/p", "git:ssh://-oProxyCommand=touch@host/p", "git:https://host/p\n@x",
        "git:https://host/p%0a", "git:https://host/p?x=1", "git:https://host/p@--upload-pack=touch", "git:https://h/p@-x",
        "git:https://host/p@+refs/heads/x", "git:https://host/p@^x", "git:https://host/p@a:b", "git:https://host/p@a..b",
        "git:https://host/p@x.lock", "git:https://host/p@x~1", "git:https://host/p@a b",
        "git:git@host:group/project.git",
        "git:--upload-pack=touch", "git:no/such/folder@main", "git:file://host/p",
    ],
)  # fmt: skip
def test_what_is_refused_before_git_sees_it(spec: str, interpreter: Interpreter, codenav_home: Path) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(spec, interpreter, max_age=0.0)
    assert caught.value.exit_code == 2
    assert (
        "git:ssh://git@host/group/project.git" in caught.value.hint or "git:https://HOST/PATH@REV" in caught.value.hint
    )
    assert not (codenav_home / "git").exists()


def test_a_folder_is_named_by_its_path(origin: Origin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(origin.path.parent)
    assert parse("git:origin@main") == parse("git:./origin@main") == Repository(origin.url, "main")


def test_no_hook_no_filter_no_submodule_runs(
    origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interpreter: Interpreter
) -> None:
    """Each of these would write the file `ran`; the user's own settings define half of them."""
    ran = tmp_path / "ran"
    hooks = tmp_path / "template" / "hooks"
    hooks.mkdir(parents=True)
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (hooks / name).chmod(0o755)
    (tmp_path / "config").write_text(
        f"[core]\n\thooksPath = {hooks}\n[init]\n\ttemplateDir = {hooks.parent}\n"
        f'[filter "evil"]\n\tsmudge = touch {ran}; cat\n'
        f'[filter "lfs"]\n\tsmudge = touch {ran}; cat\n\tprocess = touch {ran}\n\trequired = true\n'
        '[submodule]\n\trecurse = true\n[protocol "ext"]\n\tallow = always\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(hooks.parent))
    origin.commit(
        **{
            ".gitattributes": "*.py filter=evil\n*.md filter=lfs\n",
            "pointer.md": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
            ".gitmodules": f'[submodule "s"]\n\tpath = s\n\turl = "ext::touch {ran}"\n',
        }
    )
    head = origin.run("rev-parse", "HEAD")
    origin.run("update-index", "--add", "--cacheinfo", f"160000,{head},s")
    origin.run("commit", "--quiet", "-m", "submodule")
    source = resolve(f"git:{origin.url}", interpreter, max_age=0.0)
    assert {found.path for found in source.files()} == {"a.py", "pointer.md"}
    assert (source.root / "pointer.md").read_text().startswith("version https://git-lfs")
    assert not ran.exists()


def test_the_environment_of_a_git_hook_does_not_mislead(
    origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Origin(tmp_path / "other")
    other.commit(**{"wrong.py": ""})
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.path))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.path / ".git" / "index"))
    assert names(checkout(Repository(origin.url, ""))) == ["a.py"]
    monkeypatch.undo()
    assert other.run("status", "--porcelain") == ""


def test_as_a_source_it_is_like_a_folder(origin: Origin, interpreter: Interpreter) -> None:
    origin.commit(
        **{"src/farm/__init__.py": "", "pyproject.toml": '[project]\nname = "farm"\ndescription = "Fields."\n'}
    )
    spec = f"git:{origin.url}@main"
    source = resolve(spec, interpreter, max_age=0.0)
    assert (source.name, source.summary, source.modules) == (spec, "Fields.", ("farm",))
    assert source.import_paths == (source.root / "src",)
    assert source.module_of("src/farm/__init__.py") == "farm"
    before = source.key
    commit = origin.commit(**{"b.py": ""})
    again = resolve(spec, interpreter, max_age=0.0)
    assert (again.key, again.name, again.versions) == (before, spec, {"origin": commit[:12]})
    assert key_of(spec, interpreter) == before


def test_a_repository_that_is_a_package_is_imported_by_its_name(tmp_path: Path, interpreter: Interpreter) -> None:
    origin = Origin(tmp_path / "shapes")
    origin.commit(**{"__init__.py": "", "area.py": ""})
    source = resolve(f"git:{origin.url}", interpreter, max_age=0.0)
    assert source.module_of("area.py") == "shapes.area"
    assert source.import_paths == (source.root.parent,)


def test_one_that_is_too_large_is_refused(origin: Origin, tmp_path: Path) -> None:
    origin.commit(**{"large.py": "#" * 100_000})
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    git = Git(Repository(origin.url, ""), scratch, limit=50_000)
    with pytest.raises(UsageError, match="is larger than"):
        git.unpack(git.fetch("HEAD"))


def test_what_was_fetched_is_removed_with_its_last_revision(origin: Origin, codenav_home: Path) -> None:
    origin.run("tag", "v1")
    origin.commit(**{"b.py": ""})
    main, tag = Repository(origin.url, "main"), Repository(origin.url, "v1")
    checkout(main)
    old = checkout(tag)
    forget(tag)
    assert not old.path.exists()
    assert names(checkout(main, max_age=None)) == ["a.py", "b.py"]
    forget(main)
    forget(main)
    assert list((codenav_home / "git").iterdir()) == []


def test_a_damaged_cache_is_fetched_anew(origin: Origin, codenav_home: Path) -> None:
    state = checkout(Repository(origin.url, ""))
    (state_file,) = codenav_home.glob("git/*/state.json")
    for damage in ("", "[]", '{"revisions": {"": {"commit": "../..", "asked": 0, "fetched": ""}}}'):
        state_file.write_text(damage)
        assert checkout(Repository(origin.url, ""), max_age=600) == state
    (state_file.parent / ".fetch-old").mkdir()
    checkout(Repository(origin.url, ""))
    assert not (state_file.parent / ".fetch-old").exists()


def test_git_that_is_not_installed(origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="git is not installed") as caught:
        checkout(Repository(origin.url, ""))
    assert (caught.value.exit_code, caught.value.hint) == (4, "apt-get install git")


def test_several_processes_fetch_it_once(origin: Origin, codenav_home: Path) -> None:
    code = (
        "import sys; from codenav.indexers.git import checkout; from codenav.indexers.repository import parse;"
        "print(checkout(parse(sys.argv[1])).path)"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, f"git:{origin.url}"], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    paths = {process.communicate()[0] for process in running}
    assert [process.returncode for process in running] == [0] * 4
    assert len(paths) == 1 and Path(paths.pop().strip()).is_dir()
    assert list(codenav_home.glob("git/*/.fetch-*")) == []


@pytest.fixture
def guarded(origin: Origin) -> Iterator[str]:
    """The repository behind a server that wants a name and a password; the address without them."""
    wanted = "Basic " + base64.b64encode(b"reader:pass-word").decode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(b"")

        def do_POST(self) -> None:
            self.answer(self.rfile.read(int(self.headers["Content-Length"])))

        def answer(self, body: bytes) -> None:
            if self.headers.get("Authorization") != wanted:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.end_headers()
                return
            path, _, query = self.path.partition("?")
            env = {
                "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(origin.path.parent), "GIT_HTTP_EXPORT_ALL": "1",
                "REQUEST_METHOD": self.command, "PATH_INFO": path, "QUERY_STRING": query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "REMOTE_USER": "reader",
                "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
            }  # fmt: skip
            if self.headers.get("Content-Encoding"):
                env["HTTP_CONTENT_ENCODING"] = self.headers["Content-Encoding"]
            done = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True)
            head, _, rest = done.stdout.partition(b"\r\n\r\n")
            self.send_response(200)
            for line in head.decode().split("\r\n"):
                name, _, value = line.partition(": ")
                if name and name != "Status":
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(rest)

        def log_message(self, *arguments: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}/origin/.git"
        server.shutdown()
        thread.join()


def test_a_server_that_wants_a_password_is_never_answered_by_a_prompt(guarded: str) -> None:
    for url in (f"http://{guarded}", f"http://reader:wrong-word@{guarded}", f"http://wrong-token@{guarded}"):
        with pytest.raises(Unavailable) as caught:
            checkout(parse(f"git:{url}"))
        assert f"http://{guarded} cannot be fetched" in str(caught.value)
        assert "wrong-" not in str(caught.value) + caught.value.hint


def test_a_password_in_the_url_is_used_and_never_kept(
    guarded: str, codenav_home: Path, interpreter: Interpreter
) -> None:
    spec = f"git:http://reader:pass-word@{guarded}@main"
    source = resolve(spec, interpreter, max_age=0.0)
    assert [found.path for found in source.files()] == ["a.py"]
    assert source.name == f"git:http://{guarded}@main"
    assert source.key == key_of(source.name, interpreter)
    assert resolve(source.name, interpreter).root == source.root, "found again without the password"
    kept = subprocess.run(["grep", "-r", "pass-word", str(codenav_home)], capture_output=True, text=True)
    assert kept.stdout == ""
    state = json.loads(next(codenav_home.glob("git/*/state.json")).read_text())
    assert state["url"] == f"http://{guarded}"


@pytest.fixture
def waiting_server() -> Iterator[Callable[[], str]]:
    """A server that takes connections and never answers."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield lambda: f"http://127.0.0.1:{listener.getsockname()[1]}/x"


def test_an_interrupted_fetch_leaves_no_process_and_no_folder(
    waiting_server: Callable[[], str], codenav_home: Path
) -> None:
    code = "import sys; from codenav.cli.main import main; main(['index', sys.argv[1]])"
    process = subprocess.Popen(
        [sys.executable, "-c", code, f"git:{waiting_server()}"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    while not list(codenav_home.glob("git/*/.fetch-*/stdout")):
        time.sleep(0.02)
    process.send_signal(2)
    assert process.communicate()[1].strip() == "Interrupted."
    assert process.returncode == 130
    assert list(codenav_home.glob("git/*/.fetch-*")) == []
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert waiting_server() not in listed
