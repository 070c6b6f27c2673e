"""One list of secrets and one rule for all that is shown of the host: code bases, mounts, images, interpreters."""

from __future__ import annotations

import base64
import json
import os
import random
import string
from pathlib import Path

import pytest

import codenav
from codenav.core.errors import UsageError
from codenav.core.execution import Mount, Outcome
from codenav.core.secrets.files import first_secret, is_secret, is_secret_name, secret_part
from codenav.sandboxes import code_copy
from codenav.sandboxes.binds import Binds
from codenav.sandboxes.copies import copied
from codenav.sandboxes.images.code import CodeBase, Packed
from codenav.sandboxes.masked import MaskedSandbox
from codenav.sandboxes.places import why_not

CANARY = "c4nary-of-the-host"
KEY = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{CANARY}\n-----END OPENSSH PRIVATE KEY-----\n"
SECRETS = {
    ".env": CANARY, ".env.production": CANARY, "sub/deep/.env": CANARY, ".envrc": CANARY, ".git/config": CANARY,
    "sub/.git": f"gitdir: {CANARY}", ".netrc": CANARY, "sub/.npmrc": CANARY, ".pypirc": CANARY,
    ".git-credentials": CANARY, ".ssh/known_hosts": CANARY, "keys/id_ed25519": KEY, "keys/id_rsa.bak": KEY,
    ".aws/credentials": CANARY, ".azure/token": CANARY, ".config/gcloud/credentials.db": CANARY, ".kube/config": CANARY,
    "certs/server.pem": KEY, "certs/server.key": KEY, ".hg/hgrc": CANARY, ".svn/entries": CANARY,
    ".docker/config.json": CANARY, "store.p12": CANARY, ".ENV": CANARY,
}  # fmt: skip
SHOWN = {
    "module.py": "X = 1\n", ".env.example": "KEY=\n", "sub/inner.py": "Y = 2\n", "certs/ca.pem": "BEGIN CERTIFICATE\n",
    "keys/id_ed25519.pub": "ssh-ed25519 AAAA\n", "id_utils.py": "'PRIVATE KEY'\n", ".gitignore": ".env\n",
    "data/table.csv": "1,2\n",
}  # fmt: skip


@pytest.fixture
def base(tmp_path):
    """A code base with every kind of secret in it."""
    root = tmp_path / "base"
    for name, text in {**SECRETS, **SHOWN}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "settings").symlink_to(".env")
    (root / "other").mkdir()
    (root / "other" / ".env").symlink_to("../data/table.csv")
    (root / "history").symlink_to(".git")
    os.link(root / ".env", root / "plain.txt")
    root.chmod(0o755)
    tmp_path.chmod(0o755)
    return root


def below(folder):
    """Files, relative, also behind links."""
    found = {}
    for here, _, names in os.walk(folder, followlinks=True):
        for name in names:
            path = Path(here, name)
            if path.exists():
                found[str(path.relative_to(folder))] = path.read_text()
    return found


def leaks(box, *bases):
    """What shows the canary."""
    code = f"""
import os
found = []
for base in {[str(base) for base in bases]!r}:
    for here, _, names in os.walk(base, followlinks=True):
        for name in names:
            try: text = open(os.path.join(here, name), errors='replace').read()
            except OSError: continue
            if {CANARY!r} in text: found.append(os.path.join(here, name))
print(found)
"""
    done = box.run(code)
    assert done.outcome is Outcome.OK, done.error
    return done.stdout.strip()


def test_names_and_contents_decide(base):
    for name in SECRETS:
        assert secret_part(name) or is_secret(str(base / name)), name
    for name in SHOWN:
        assert not secret_part(name), name
        assert not is_secret(str(base / name)), name
    assert is_secret_name("gcloud", ".config")
    assert not is_secret_name("gcloud", "src")
    assert first_secret(str(base)).startswith(str(base))


def test_a_copy_has_everything_but_the_secrets_and_is_made_once(base, tmp_path, monkeypatch):
    monkeypatch.setenv("CODENAV_HOME", str(tmp_path / "codenav"))
    copy = copied(str(base))
    assert below(copy.path) == SHOWN
    assert os.path.islink(f"{copy.path}/settings")
    assert (base / "module.py").stat().st_mtime_ns == Path(copy.path, "module.py").stat().st_mtime_ns
    assert copied(str(base)).path == copy.path
    (base / "module.py").write_text("X = 3\n")
    again = copied(str(base))
    assert Path(again.path, "module.py").read_text() == "X = 3\n"
    assert Path(copy.path, "module.py").read_text() == "X = 1\n"
    first = copy.path
    del copy
    (base / "module.py").write_text("X = 4\n")
    last = copied(str(base))
    assert not os.path.exists(first)
    assert sorted(os.listdir(tmp_path / "codenav" / "code")) == sorted(
        f"{os.path.basename(one.path)}{end}" for one in (again, last) for end in ("", ".lock")
    )


def test_where_nothing_can_be_kept_a_copy_is_removed_with_its_user(base, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CODENAV_HOME", str(tmp_path / "file"))
    copy = copied(str(base))
    assert below(copy.path) == SHOWN
    path = copy.path
    del copy
    assert not os.path.exists(os.path.dirname(path))


def test_places_for_what_is_bound_inside_are_open_whatever_the_umask(base, tmp_path, monkeypatch):
    monkeypatch.setenv("CODENAV_HOME", str(tmp_path / "codenav"))
    (base / ".venv" / "bin").mkdir(parents=True)
    before = os.umask(0o077)
    try:
        copy = copied(str(base), holes=[str(base / ".venv/bin"), str(base / "sub"), str(base / "module.py")])
    finally:
        os.umask(before)
    assert os.stat(f"{copy.path}/.venv/bin").st_mode & 0o777 == os.stat(f"{copy.path}/.venv").st_mode & 0o777 == 0o755
    assert os.listdir(f"{copy.path}/sub") == []
    assert os.path.getsize(f"{copy.path}/module.py") == 0


def test_what_is_too_large_for_a_copy_is_told(base, monkeypatch):
    monkeypatch.setattr(code_copy, "MOST_BYTES", 10)
    with pytest.raises(UsageError, match="holds more than") as caught:
        copied(str(base))
    assert caught.value.hint.startswith(f"--mount {base}")


def test_an_image_takes_the_same(base):
    packed = Packed.of(CodeBase("x", "x", base))
    names = {entry.path for entry in packed.entries if entry.kind == b"0"}
    assert names == set(SHOWN)


@pytest.mark.parametrize("backend", ["bubblewrap", "docker"], indirect=True)
def test_no_code_base_shows_a_secret_now_or_later(fresh, base, tmp_path):
    (tmp_path / "link").symlink_to(base)
    alone = tmp_path / "alone.py"
    alone.write_text("Z = 3\n")
    box = fresh(import_paths=[base, base / "sub", tmp_path / "link", alone])
    assert leaks(box, base, tmp_path / "link") == "[]"
    assert box.run("import module, inner, alone\nmodule.X, inner.Y, alone.Z").stdout == "(1, 2, 3)\n"
    for name in (".env", "new.env/.env", "sub/.env.local", "module.py"):
        (base / name).parent.mkdir(exist_ok=True)
        (base / "draft").write_text(CANARY)
        os.replace(base / "draft", base / name)
    assert leaks(box, base, tmp_path / "link") == "[]"
    assert "Errno" in box.run(f"open({str(base / 'module.py')!r}, 'a')").error.message


def test_a_mount_with_a_secret_is_a_copy_without_it_and_not_writable(contained, base, tmp_path):
    box = contained(mounts=[Mount(base)])
    assert leaks(box, base) == "[]"
    assert box.run(f"open('{base}/data/table.csv').read()").stdout == "'1,2\\n'\n"
    assert "holds secrets" in box.info.notice
    assert str(base) in box.info.notice
    (base / ".env").write_text(CANARY)
    assert leaks(box, base) == "[]"
    with pytest.raises(UsageError, match="is a secret") as caught:
        contained(mounts=[Mount(base, writable=True)])
    assert "read-only" in caught.value.hint
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / ".env").write_text(CANARY)
    with pytest.raises(UsageError, match="is a secret"):
        contained(mounts=[Mount(base / "data", writable=True, source=tmp_path / "copy")])


def places(tmp_path, monkeypatch):
    home = tmp_path / "home" / "me"
    for name in ("project", ".ssh", ".config", ".local/share"):
        (home / name).mkdir(parents=True)
    (tmp_path / "home" / "other").mkdir()
    (tmp_path / "to-home").symlink_to(home)
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.mark.parametrize("path", [
    "home/me", "home", ".", "home/me/.", "home/me/project/..", "to-home", "home/other", "home/me/.ssh",
    "home/me/.local", "home/me/.local/share", "home/me/.config",
])  # fmt: skip
def test_no_home_folder_is_bound_by_any_name(tmp_path, monkeypatch, path):
    home = places(tmp_path, monkeypatch)
    wide = Path(f"{tmp_path}/{path}")
    with pytest.raises(UsageError, match="too wide") as caught:
        Binds.of_code([wide], [])
    assert caught.value.hint
    with pytest.raises(UsageError, match="is not mounted"):
        Binds.of_code([], [Mount(wide)])
    with pytest.raises(UsageError, match="is not mounted"):
        Binds.of_code([], [Mount(home / "project", source=wide)])
    assert why_not(home / "project") == ""


def test_the_home_of_the_account_counts_too(monkeypatch):
    monkeypatch.setenv("HOME", "/nonexistent")
    assert why_not(os.path.expanduser("~root"))
    assert why_not("/home/somebody")
    assert why_not("/home")
    assert why_not("/home/somebody/project") == ""


def test_a_variable_is_masked_in_all_that_comes_out(contained):
    value = "Zq81xvHunter2_9"
    code = f"""
import os, json, html, sys
t = os.environ['TOKEN']
class Page:
    def _repr_html_(self): return f'<b>{{t}}</b>'
class Drawing:
    def _repr_svg_(self): return f'<svg xmlns="http://www.w3.org/2000/svg"><text>{{t}}</text></svg>'
globals()['name_' + t] = type('Type_' + t, (), {{}})()
open(t + '.txt', 'w').close()
print(json.dumps({{'a"': t}}), html.escape(t), file=sys.stderr)
sys.stdout.write('x' * (32768 - {len(value) // 2}) + t + 'y' * 100000)
long = 'z' * 60 + t + 'z' * 500
table = {{t: 'z' * 190 + t + 'z' * 200}}
"""
    box = MaskedSandbox(contained(env={"TOKEN": value}), {"TOKEN": value})
    done = box.run(code)
    assert done.outcome is Outcome.OK, done.error
    shown = [box.run("Page()"), box.run("Drawing()")]
    raised = box.run("raise type('Bad_' + t, (ValueError,), {})(repr(t))")
    assert [len(one.displays) for one in shown] == [1, 1]
    assert raised.error.type.endswith("Bad_[secret TOKEN]")
    texts = [repr(one.to_dict()) for one in (done, raised, *shown)]
    texts += [item.data.decode() for one in shown for item in one.displays]
    texts += [repr(box.variables()), repr(box.digests().to_dict()), repr(box.artifacts()), repr(box.info)]
    left = [part for text in texts for part in (value, value[:5], value[-5:]) if part in text]
    assert left == []
    assert sum("[secret TOKEN]" in text for text in texts) >= 7
    assert "name_[secret TOKEN]" in box.variables()


DRAWN = random.Random(5)


def drawn(length, letters=string.ascii_letters):
    """A value as random as a token: letters, with a digit among them."""
    return "".join(DRAWN.choices(letters, k=length - 1)) + "7"


def pem(kind="PRIVATE KEY", between="\n", head=""):
    lines = [
        f"-----BEGIN {kind}-----",
        *([head, ""] if head else []),
        drawn(64),
        drawn(64),
        f"-----END {kind}-----",
        "",
    ]
    return between.join(lines)


AWS = "AKIA" + "".join(DRAWN.choices("ABCDEFGH234567", k=16))
BY_CONTENT = {
    "keys/deploy_key": pem("OPENSSH PRIVATE KEY"), "keys/rsa": pem("RSA PRIVATE KEY"), "keys/ec": pem("EC PRIVATE KEY"),
    "keys/dsa.bak": pem("DSA PRIVATE KEY"), "keys/locked": pem("ENCRYPTED PRIVATE KEY"),
    "keys/dos": pem(between="\r\n"),
    "keys/old": pem("RSA PRIVATE KEY", head="Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B"),
    "keys/mail.asc": pem("PGP PRIVATE KEY BLOCK", head="Version: GnuPG v2"), "keys/deploy.txt": pem(),
    "keys/putty": "PuTTY-User-Key-File-3: ssh-ed25519\n", "keys/age.txt": f"AGE-SECRET-KEY-1{drawn(58)}",
    "keys/set.json": json.dumps({"keys": [{"d": drawn(43), "kty": "EC", "x": drawn(43)}]}),
    "secrets.yaml": "tls:\n  key: |\n    " + pem("RSA PRIVATE KEY", between="\n    "),
    "conf/service-account.json": json.dumps({"type": "service_account", "private_key": pem()}),
    "conf/twice.json": json.dumps({"inner": json.dumps({"key": pem()})}), "conf/key.xml": f"<key>{pem()}</key>",
    "conf/secret.yaml": "tls.key: " + base64.b64encode(pem().encode()).decode(),
    "conf/credentials.json": json.dumps({"installed": {"client_secret": f"GOCSPX-{drawn(28)}"}}),
    "conf/db-credentials.yaml": "user: app\npassword: Tr0ub4dor\n", "prod.env": "DEBUG=1\n",
    "conf/aws.ini": f"aws_access_key_id = {AWS}\naws_secret_access_key = {drawn(40)}\n",
    "conf/cloud.yaml": f"id: {AWS}\nvalue: {drawn(40)}\n", 
    "conf/keys.csv": f"Access key ID,Secret\n{AWS},{drawn(40)}\n",
    **{
        f"conf/{number}.toml": f'[service]\nvalue = "{start}{drawn(length)}"\n'
        for number, (start, length) in enumerate([
            ("ghp_", 36), ("github_pat_", 82), ("xoxb-12-34-", 24), ("sk_live_", 24), ("sk-proj-", 100), ("sk-", 48),
            ("sk-ant-api03-", 95), ("npm_", 36), ("pypi-AgEIcHlwaS5vcmc", 100), ("glpat-", 20), ("AIza", 35),
            ("hf_", 34),
        ])
    },
}  # fmt: skip
HARMLESS = {
    "keys.py": f"KEY = '''{pem()}'''\n", "docs/keys.md": f"Paste it:\n\n{pem()}", "docs/use.rst": f"ghp_{drawn(36)}",
    ".env.example": f"TOKEN=ghp_{drawn(36)}\n", "example.env": "DEBUG=1\n", "cert.pem": pem("CERTIFICATE"),
    "aws.yaml": "id: AKIAIOSFODNN7EXAMPLE\naws_secret_access_key: wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n",
    "a.toml": f'key = "sk-{"x" * 48}"', "b.json": '{"key": "-----BEGIN PRIVATE KEY-----\\nYOUR KEY\\n-----END"}',
    "c.yaml": "key: |\n  -----BEGIN PRIVATE KEY-----\n  ...\n  -----END PRIVATE KEY-----\n",
    "d.yaml": "rule: '-----BEGIN (RSA|EC) PRIVATE KEY-----'\ntoken: 'ghp_[A-Za-z0-9]{36}'\n",
    "secrets.yml": "password: ${DB_PASSWORD}\ntoken: {{ .Values.token }}\n", 
    "e.json": '{"client_secret": "Client secret"}',
    "package-lock.json": f'{{"integrity": "sha512-{drawn(86)}=="}}', "f.json": '{"a": "sk-estimator-doc-link-label-2"}',
    "public.json": json.dumps({"kty": "RSA", "n": drawn(300), "e": "AQAB"}),
    "tests/data/service.json": json.dumps({"type": "service_account", "private_key": pem()}),
}  # fmt: skip


@pytest.fixture
def judged(tmp_path):
    """A code base with secrets under harmless names, and with what only looks like them."""
    root = tmp_path / "judged"
    for name, text in {**BY_CONTENT, **HARMLESS}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    root.chmod(0o755)
    tmp_path.chmod(0o755)
    return root


def test_the_content_decides_where_names_tell_nothing(judged, tmp_path, monkeypatch):
    monkeypatch.setenv("CODENAV_HOME", str(tmp_path / "codenav"))
    told = sorted(name for name in BY_CONTENT if name != "prod.env")
    for again in (False, True):
        copy = copied(str(judged))
        assert sorted(below(copy.path)) == sorted(HARMLESS), again
        assert sorted(copy.secrets) == told, again
    packed = Packed.of(CodeBase("one", "one", judged))
    assert sorted(entry.path for entry in packed.entries if entry.kind == b"0") == sorted(HARMLESS)
    assert sorted(packed.left_out) == told


def test_what_no_sandbox_shows_is_not_found_by_a_search(judged, monkeypatch, tmp_path):
    monkeypatch.setenv("CODENAV_HOME", str(tmp_path / "codenav"))
    (judged / ".aws").mkdir()
    (judged / ".aws" / "notes.md").write_text("# Keys\n\ncanary of a note\n")
    with codenav.index(judged) as index:
        assert not [hit.path for hit in index.search("BEGIN PRIVATE KEY") if hit.path in BY_CONTENT]
        assert not index.search("canary of a note")
        assert {skip.path for skip in index.stats().skipped} >= {"keys/deploy.txt", "keys/age.txt"}


def test_secrets_by_content_are_told_and_shown_by_a_mount(contained, judged):
    look = f"import os; print(sorted(os.listdir({str(judged / 'keys')!r})))"
    box = contained(import_paths=[judged])
    assert f"left out of {judged}, as secrets: conf/0.toml" in box.info.notice
    assert f"--mount {judged}" in box.info.notice
    assert box.run(look).stdout == "[]\n"
    box = contained(import_paths=[judged], mounts=[Mount(judged / "keys")])
    assert "deploy_key" in box.run(look).stdout
    assert "conf/0.toml" in box.info.notice


def test_secrets_by_content_stay_out_of_the_work_folder(contained, judged):
    for name in os.listdir(judged / "conf"):
        (judged / "conf" / name).unlink()
    box = contained(work_dir=judged)
    assert "secrets.yaml" in box.info.notice
    shown = "import os; print(os.path.exists('secrets.yaml'), os.path.exists('keys.py')); "
    done = box.run(shown + "open('secrets.yaml', 'w').write('a: 1')")
    assert done.stdout.startswith("False True")
    assert "PRIVATE KEY" in (judged / "secrets.yaml").read_text()
