"""Containment of secrets: what code may know of the host and of the variables that it was given."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from codenav.errors import UsageError
from codenav.execution import Mount, Outcome
from codenav.sandboxes.conformance.case import case
from codenav.sandboxes.conformance.lab import CLOSED, Broken, Lab, ensure, expect
from codenav.sandboxes.conformance.witness import namespace_of, processes_of

HOST_NAME = "CODENAV_CHECK_CANARY"
HOST_VALUE = "canary-of-the-host-7f3a91c4"
"""A variable in the environment of the checking process for as long as the check runs."""
GIVEN = {"CODENAV_CHECK_GIVEN": "canary-that-was-given-52b80d6e"}
"""A variable given to the sandbox, as with `--env`."""
_BOTH = (HOST_VALUE, *GIVEN.values())

_PROC = """
import glob
seen = {}
for path in glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline') + glob.glob('/proc/*/task/*/environ'):
    try: seen[path] = open(path, 'rb').read()
    except OSError: pass
for path in ('/proc/self/mountinfo', '/proc/1/mountinfo', '/proc/mounts', '/proc/self/cgroup', '/proc/cmdline'):
    try: seen[path] = open(path, 'rb').read()
    except OSError: pass
"""


@case("S1", "no variable of the host is in the environment", env=GIVEN)
def _environment(lab: Lab) -> None:
    expect("the host's canary", lab.says(f"import os\nos.environ.get({HOST_NAME!r})"), "")
    values = json.loads(lab.says("import json, os\nprint(json.dumps(dict(os.environ)))"))
    expect("the one that was given", values.get(*GIVEN), *GIVEN.values())
    neutral = ("PATH", "HOME", "TMPDIR", "LANG", "MPLBACKEND", "PYTHON", "LC_", "CODENAV_CHECK_GIVEN")
    expect("others", [name for name in values if not name.startswith(neutral)], [])
    expect("of a child", lab.says("import subprocess\nprint(subprocess.check_output(['env']).decode())")
           .count(HOST_VALUE), 0)  # fmt: skip


@case("S2", "no process inside has a secret in its environment", env=GIVEN)
def _proc_environ(lab: Lab) -> None:
    found = lab.says(
        _PROC + f"print([path for path, data in seen.items() for one in {_BOTH!r} if one.encode() in data])"
    )
    expect("files of /proc that hold one", found, "[]")
    ensure(int(lab.says("len(seen)")) > 2, "nothing of /proc could be read")


@case("S3", "arguments and mounts tell neither secrets nor the host's folders", work=True, env=GIVEN)
def _arguments(lab: Lab) -> None:
    words = [*_BOTH, str(lab.folder), str(lab.work)]
    found = lab.says(
        _PROC + f"print([(path, one) for path, data in seen.items() for one in {words!r} if one.encode() in data])"
    )
    expect("files of /proc that hold one", found, "[]")


@case("S4", "keys beside the code base are masked")
def _keys_of_the_code(lab: Lab) -> None:
    modes = {"open": 0o755, "closed": 0o700}
    for name, mode in modes.items():
        base = lab.folder / name
        (base / ".git").mkdir(parents=True)
        (base / ".env").write_text(f"KEY={lab.secret}", encoding="utf-8")
        (base / ".git" / "config").write_text(f"token = {lab.secret}", encoding="utf-8")
        (base / f"module_{name}.py").write_text("X = 1\n", encoding="utf-8")
        base.chmod(mode)
    lab.begin(import_paths=[lab.folder / name for name in modes])
    for name in modes:
        base = lab.folder / name
        expect("the code", lab.says(f"import module_{name}\nmodule_{name}.X"), "1")
        for key in (".env", ".git/config"):
            path = str(base / key)
            code = f"try: print(open({path!r}).read())\nexcept OSError: print('closed')"
            ensure(lab.secret not in lab.says(code), f"{key} of a code base can be read")
        listed = f"import os\ntry: print(os.listdir({str(base / '.git')!r}))\nexcept OSError: print([])"
        expect("what lies in .git", lab.says(listed), "[]")
    lab.refused(f"open({str(lab.canary)!r})", CLOSED)


@case("S5", "what the host and the engine show of a sandbox holds no secret", env=GIVEN)
def _seen_from_outside(lab: Lab) -> None:
    expect("the variable", lab.says(f"import os\nos.environ[{next(iter(GIVEN))!r}]"), repr(*GIVEN.values()))
    for pid in _pids(lab):
        for name in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                data = Path(f"/proc/{pid}/{name}").read_bytes()
                for value in GIVEN.values():
                    ensure(value.encode() not in data, f"/proc/{pid}/{name} holds a secret")
    if lab.box.info.backend == "docker":
        for told in _inspected():
            for value in _BOTH:
                ensure(value not in told, "docker inspect tells a secret")


def _pids(lab: Lab) -> Iterator[int]:
    """The process ids of the sandbox and of what this process has started, as far as the host sees them."""
    namespace = namespace_of(lab.box)
    if namespace != os.readlink("/proc/self/ns/pid"):
        yield from (one.pid for one in processes_of(namespace))
    waiting = [os.getpid()]
    while waiting:
        for thread in _children_of(waiting.pop()):
            waiting.append(thread)
            yield thread


def _children_of(pid: int) -> list[int]:
    # Not from /proc/PID/task/*/children: a child passes from a thread that ends to another, and may be in neither list.
    found = []
    for stat in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(Path(stat).read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.split("/")[2]))
    return found


def _inspected() -> Iterator[str]:
    """The engine's descriptions, processes and logs of the containers of codenav."""
    from docker.errors import APIError

    from codenav.system.docker_engine import connect

    client = connect().api
    try:
        for container in client.containers(all=True, filters={"label": "codenav.owner"}):
            # Others on this engine may end meanwhile, and a container without a log has none to read.
            for ask in (client.inspect_container, client.top, client.logs):
                with contextlib.suppress(APIError):
                    told = ask(container["Id"])
                    yield told.decode("utf-8", "replace") if isinstance(told, bytes) else json.dumps(told)
    finally:
        client.close()


@case("S6", "tracebacks, names and messages hold no secret", work=True, env=GIVEN)
def _texts(lab: Lab) -> None:
    done = lab.outcome("import os\n1 / 0", Outcome.ERROR)
    crashed = lab.outcome("os._exit(3)", Outcome.CRASHED)
    refused = lab.outcome("import os\nos.symlink('/etc/passwd', 'x')", Outcome.OK)
    texts = [json.dumps(one.to_dict()) for one in (done, crashed, refused)]
    texts += [name for _, folders, names in os.walk(tempfile.gettempdir()) for name in (*folders, *names)]
    texts += [repr(lab.box), json.dumps(lab.box.info.to_dict())]
    for text in texts:
        for value in _BOTH:
            ensure(value not in text, f"a secret is in {text[:100]!r}")
    expect("frames of the sandbox itself", "guest_" in done.error.traceback if done.error else True, False)


@case("S7", "checkers of the host see a cleaned environment")
def _checkers(lab: Lab) -> None:
    expect("a step", lab.says("x = 1"), "")
    before = set(_children_of(os.getpid()))
    checks = lab.checker()
    try:
        for report in checks.check("y: int = 1"):
            if report.failure:
                raise Broken(f"this case needs {report.tool}, and {report.failure}")
        started = set(_children_of(os.getpid())) - before
        ensure(started, "no checker was started")
        for pid in started:
            data = Path(f"/proc/{pid}/environ").read_bytes() + Path(f"/proc/{pid}/cmdline").read_bytes()
            for value in _BOTH:
                ensure(value.encode() not in data, "a checker has a secret in its environment")
    finally:
        checks.close()


@case("S8", "no secret of a code base or a mount shows, at any depth, by any name")
def _every_secret(lab: Lab) -> None:
    base = _with_secrets(lab, lab.folder / "code")
    mount = _with_secrets(lab, lab.folder / "data")
    lab.begin(import_paths=[base, base / "sub"], mounts=[Mount(mount)])
    expect("the code", lab.says("import open_to_all\nopen_to_all.X"), "1")
    expect("what shows a secret", _showing(lab, base, mount), "[]")


@case("S9", "a secret that is saved while the sandbox runs does not show in the code base")
def _saved_meanwhile(lab: Lab) -> None:
    base = _with_secrets(lab, lab.folder / "code")
    lab.begin(import_paths=[base])
    expect("the code", lab.says("import open_to_all\nopen_to_all.X"), "1")
    for name in (".env", "sub/.env", "sub/.npmrc", "id_rsa"):
        # As editors do, put a new file in the place of the old one, over which a mask was bound.
        (base / "draft").write_text(f"-----BEGIN PRIVATE KEY-----\n{lab.secret}", encoding="utf-8")
        os.replace(base / "draft", base / name)
    expect("what shows a secret", _showing(lab, base), "[]")


@case("S10", "home folders and folders of secrets are not bound, by whatever name")
def _homes(lab: Lab) -> None:
    (lab.folder / "to-home").symlink_to(os.path.expanduser("~"))
    (lab.folder / "repository" / ".git").mkdir(parents=True)
    homes = [Path(os.path.expanduser("~")), Path(f"{os.path.expanduser('~')}/."), lab.folder / "to-home", Path("/home")]
    for path in (*homes, lab.folder / "repository" / ".git"):
        for changes in ({"import_paths": [path]}, {"mounts": [Mount(path)]}, {"mounts": [Mount(path, writable=True)]}):
            try:
                lab.open(**changes).close()
            except UsageError:
                continue
            ensure(not path.is_dir(), f"{next(iter(changes))} may be {path}")
    with contextlib.suppress(UsageError):
        lab.open(mounts=[Mount(lab.folder / "repository", writable=True)])
        raise Broken("a folder with .git in it may be written to")


def _with_secrets(lab: Lab, base: Path) -> Path:
    """Make a folder with the secret in each kind of file, and harmless code."""
    names = (
        ".env", ".env.local", "sub/deep/.env", "sub/.git/config", ".netrc", "sub/.npmrc", ".pypirc", ".git-credentials",
        ".ssh/config", "keys/id_ed25519", "keys/server.pem", ".aws/credentials", ".azure/profile",
        ".config/gcloud/credentials.db", ".kube/config", ".hg/hgrc", ".svn/entries",
    )  # fmt: skip
    for name in names:
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(f"-----BEGIN PRIVATE KEY-----\n{lab.secret}", encoding="utf-8")
    (base / "elsewhere").write_text("nothing", encoding="utf-8")
    (base / "sub" / "settings").symlink_to("../.env")
    (base / "sub" / ".env").symlink_to("../elsewhere")
    os.link(base / ".env", base / "plain.txt")
    (base / "open_to_all.py").write_text("X = 1\n", encoding="utf-8")
    base.chmod(0o755)
    return base


def _showing(lab: Lab, *bases: Path) -> str:
    """The files below some folders that show the secret."""
    return lab.says(f"""
        import os
        found = []
        for base in {list(map(str, bases))!r}:
            for here, folders, names in os.walk(base, followlinks=True):
                for path in [os.path.join(here, name) for name in names]:
                    try: text = open(path, errors='replace').read()
                    except OSError: continue
                    if {lab.secret!r} in text: found.append(path)
        print(found)
    """)
