"""A git repository: its URL, checked since a user typed or copied it, and the `git` program run for it.

Git runs without prompts, without hooks or filters of the repository, and with a limit on disk use.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote, urlsplit, urlunsplit

from codenav.core.errors import NotFound, Unavailable, UsageError

TRANSPORTS = ("https", "http", "ssh", "file")
"""Transports allowed. Not `ext::` and other helpers, which run commands; not `git://`, which has no authentication."""

_FORM = "git:https://HOST/PATH@REV, git:ssh://git@HOST/PATH@REV, or git:FOLDER@REV; @REV may be left out"
_LIKE_SCP = re.compile(r"(?P<host>[^/:\s]+@[^/:\s]+):(?!//)(?P<path>.+)")
_HOST = re.compile(r"(?:[\w.+~%-]+(?::[^@\s/]*)?@)?(?:[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::\d+)?")
_REVISION = re.compile(r"(?![-+/.])(?!.*(?:\.\.|@\{|//|/\.|\.lock$|[/.]$))[^\x00-\x20\x7f~^:?*\[\\]{1,250}")
"""A name that git allows for a branch or a tag (git-check-ref-format(1)), unless it begins like an option (`-`) or
like another kind of refspec (`+`, `^`)."""

COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
"""A whole commit hash (SHA-1 or SHA-256)."""


@dataclass(frozen=True)
class Repository:
    """A repository and the revision asked for."""

    url: str
    """The URL passed to git. It may contain a password: show `shown` instead."""
    revision: str
    """A branch, a tag or a commit; empty for the default branch."""

    @property
    def shown(self) -> str:
        """The URL without anything that may be a secret. For ssh the user name stays: mostly `git`, and needed."""
        parts = urlsplit(self.url)
        user, _, host = parts.netloc.rpartition("@")
        if parts.scheme == "ssh" and user:
            host = f"{user.partition(':')[0]}@{host}"
        return urlunsplit(parts._replace(netloc=host)).rstrip("/")

    @property
    def spec(self) -> str:
        """The spec to type for this repository and revision, without secrets."""
        return f"git:{self.shown}@{self.revision}" if self.revision else f"git:{self.shown}"

    @property
    def name(self) -> str:
        """The last part of the URL's path, without `.git`."""
        last = urlsplit(self.url).path.rstrip("/").rpartition("/")[2].removesuffix(".git")
        return re.sub(r"[^\w.-]+", "-", last).lstrip(".-") or "repository"

    def key(self) -> str:
        """The name of the cache folder, the same for every revision."""
        digest = hashlib.blake2b(os.fsencode(self.shown), digest_size=8).hexdigest()
        return f"{self.name[:40]}-{digest}"


def parse(spec: str) -> Repository:
    """Read `git:URL`, `git:URL@REV` or `git:FOLDER@REV`.

    Raises:
        UsageError: no URL, a transport that is not allowed, or a revision that git would read as something else.
        NotFound: no such folder.
    """
    place = spec.removeprefix("git:").strip()
    if not place:
        raise UsageError("no repository named", hint=_FORM)
    if re.search(r"[\x00-\x20\x7f]|%0[0ad]", place, re.IGNORECASE):
        raise UsageError("a git URL must not contain blanks or control characters", hint=_FORM)
    scheme, separator, _ = place.partition("://")
    if not separator:
        return _local(place)
    if scheme not in TRANSPORTS:
        raise UsageError(f"git: transport {scheme!r} is not one of {', '.join(TRANSPORTS)}", hint=_FORM)
    parts = urlsplit(place)
    path, revision = _split(parts.path)
    known = parts.netloc in ("", "localhost") if scheme == "file" else _HOST.fullmatch(parts.netloc)
    if parts.query or parts.fragment or not known or not path.strip("/"):
        raise UsageError("this is not the URL of a repository", hint=_FORM)
    return Repository(urlunsplit((scheme, parts.netloc, path, "", "")), _valid_revision(revision))


def _local(place: str) -> Repository:
    """A repository on this disk, as a `file://` URL: git could read a path as an option, or as a host with a colon."""
    scp = _LIKE_SCP.fullmatch(place)
    if scp:
        raise UsageError(
            "git: the short form of an ssh URL is not supported",
            hint=f"git:ssh://{scp['host']}/{scp['path'].lstrip('/')}",
        )
    path, revision = (place, "") if os.path.isdir(os.path.expanduser(place)) else _split(place)
    folder = Path(os.path.abspath(os.path.expanduser(path)))
    if "::" in place:
        raise UsageError(f"git: transports are {', '.join(TRANSPORTS)}", hint=_FORM)
    if not folder.is_dir():
        raise NotFound(f"no such folder: {path}", hint=_FORM)
    return Repository("file://" + quote(str(folder)), _valid_revision(revision))


def _split(path: str) -> tuple[str, str]:
    """Path and revision of `/group/project@feature/x`: the last `@` separates them, unless it begins a path segment."""
    at = path.rfind("@")
    if at <= 0 or path[at - 1] == "/":
        return path, ""
    if at == len(path) - 1:
        raise UsageError("no revision after the @", hint=_FORM)
    return path[:at], path[at + 1 :]


def _valid_revision(revision: str) -> str:
    if revision and not _REVISION.fullmatch(revision):
        raise UsageError(f"{revision[:100]!r} is not a valid branch, tag or commit", hint=_FORM)
    return revision


MAX_BYTES = 4_000_000_000
"""Size limit of the data received, and of the files of one commit. The Linux kernel has 0.3 GB (shallow) and 1.6 GB."""

ASK_SECONDS = 60.0
FETCH_SECONDS = 3600.0
"""Time limits of a question to a server and of a fetch. One that sends nothing for `_STALLED_SECONDS` ends earlier."""

_STALLED_SECONDS = 60

_NOT_OURS = re.compile(
    r"GIT_(DIR|WORK_TREE|COMMON_DIR|INDEX_FILE|NAMESPACE|OBJECT_DIRECTORY|ALTERNATE_\w+|TEMPLATE_DIR|PREFIX"
    r"|ATTR_SOURCE|SHALLOW_FILE|GRAFT_FILE|REPLACE_REF_BASE|NO_REPLACE_OBJECTS|IMPLICIT_WORK_TREE|TRACE\w*|EDITOR|PAGER)"
)
"""Environment variables that are not passed on: they choose another repository (set by git hooks and by
`git rebase --exec`), or print."""

_SETTINGS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "submodule.recurse=false", "fetch.recurseSubmodules=false",
    "gc.auto=0", "maintenance.auto=false", "protocol.version=2", "advice.detachedHead=false",
    "http.lowSpeedLimit=1", f"http.lowSpeedTime={_STALLED_SECONDS}",
)  # fmt: skip


class GitFailed(Unavailable):
    """Git ended with an error: the server does not answer, or refuses the request."""

    hint = "check the URL and your access: git ls-remote URL"


class Git:
    """Git for one repository, run in a scratch folder.

    It sees the user's settings while it talks to the server (credentials, proxies), and none while it writes files:
    no filter, hook, LFS or submodule command runs.
    """

    def __init__(self, repository: Repository, scratch: Path, *, limit: int = MAX_BYTES) -> None:
        """`limit`: the most bytes that may be received, and that the files of a commit may have."""
        program = shutil.which("git")
        if program is None:
            raise Unavailable("git is not installed, and a git: source needs it", hint="apt-get install git")
        self._program = program
        self._repository = repository
        self._scratch = scratch
        self._limit = limit
        self._dir = scratch / "git"

    def refs(self, *patterns: str) -> Mapping[str, str]:
        """The server's references and their commits; the commit of an annotated tag is under `NAME^{}`.

        Raises:
            GitFailed: the server does not answer, or refuses the request.
        """
        text = self._run("ls-remote", "--quiet", "--", self._repository.url, *patterns, seconds=ASK_SECONDS)
        pairs = [line.split("\t", 1) for line in text.splitlines() if "\t" in line]
        return {name: commit for commit, name in pairs if COMMIT.fullmatch(commit)}

    def fetch(self, ref: str) -> str:
        """Fetch a reference or a commit without its history, and return the commit's hash.

        Raises:
            GitFailed: the server does not answer, or refuses the request.
            NotFound: the server has no such commit.
            UsageError: the commit is too large.
        """
        object_format = ["--object-format=sha256"] if len(ref) == 64 and COMMIT.fullmatch(ref) else []
        self._run("init", "--quiet", "--bare", "--template=", *object_format, str(self._dir))
        options = ["--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-gc"]
        self._run("fetch", *options, "--", self._repository.url, ref, seconds=FETCH_SECONDS)
        commit = self._run("rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}").strip()
        if not COMMIT.fullmatch(commit):
            self._fail("the server sent something that is not a commit")
        return commit

    def unpack(self, commit: str) -> Path:
        """Write the files of a commit, and return their folder.

        Raises:
            UsageError: the files are too large.
            GitFailed: git refuses their names (`.git`, `..`), or cannot write them.
        """
        sizes = self._run("ls-tree", "-r", "-l", "-z", commit, seconds=ASK_SECONDS, private=True)
        total = sum(int(size) for size in re.findall(r"(?:^|\0)\d+ blob [0-9a-f]+ +(\d+)\t", sizes))
        if total > self._limit:
            self._too_large()
        tree = self._scratch / "tree"
        tree.mkdir()
        self._run(
            "-c", "core.bare=false", f"--work-tree={tree}", "checkout", "--quiet", "--force", "--detach", commit,
            seconds=FETCH_SECONDS, private=True,
        )  # fmt: skip
        return tree

    def _run(self, *arguments: str, seconds: float = ASK_SECONDS, private: bool = False) -> str:
        """Run git in its own process group and return its stdout.

        Output goes to files, so that a flood of it does not fill the memory.
        """
        out, err = self._scratch / "stdout", self._scratch / "stderr"
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        command = [self._program, *settings, f"--git-dir={self._dir}", *arguments]
        with open(out, "wb") as stdout, open(err, "wb") as stderr:
            process = subprocess.Popen(
                command, cwd=self._scratch, env=self._environment(private), stdin=subprocess.DEVNULL,
                stdout=stdout, stderr=stderr, start_new_session=True,
            )  # fmt: skip
            try:
                self._watch(process, seconds)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if process.returncode:
            with open(err, "rb") as file:
                self._fail(file.read(20_000).decode(errors="replace"))
        return out.read_text(encoding="utf-8", errors="replace")

    def _watch(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        """Wait for the process to end; raise if it takes too long or writes too much."""
        begun = time.monotonic()
        pause = 0.005
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(pause)
                return
            if time.monotonic() - begun > seconds:
                self._fail(f"no answer within {seconds:.0f} s")
            if pause >= 0.5 and _size(self._scratch) > 2 * self._limit:
                self._too_large()
            pause = min(pause * 2, 0.5)

    def _environment(self, private: bool) -> dict[str, str]:
        env = {name: value for name, value in os.environ.items() if not _NOT_OURS.fullmatch(name)}
        env |= {
            "LC_ALL": "C",
            "GIT_ALLOW_PROTOCOL": ":".join(TRANSPORTS),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "true",
            "SSH_ASKPASS": "true",
            "SSH_ASKPASS_REQUIRE": "never",
            "GCM_INTERACTIVE": "never",
            "GIT_LFS_SKIP_SMUDGE": "1",
        }
        if private:
            env |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(self._scratch)}
            env = {
                key: value for key, value in env.items() if not key.startswith(("GIT_CONFIG_COUNT", "GIT_CONFIG_PARAM"))
            }
        elif urlsplit(self._repository.url).scheme == "ssh" and "GIT_SSH" not in env:
            env["GIT_SSH_COMMAND"] = f"{self._ssh(env)} -oBatchMode=yes -oConnectTimeout=15 -oServerAliveInterval=20"
        return env

    def _ssh(self, env: Mapping[str, str]) -> str:
        if env.get("GIT_SSH_COMMAND"):
            return env["GIT_SSH_COMMAND"]
        asked = [self._program, "config", "--global", "--get", "core.sshCommand"]
        done = subprocess.run(asked, env=dict(env), stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return done.stdout.strip() or "ssh"

    def _fail(self, said: str) -> NoReturn:
        """Raise an error with the most telling line of git's output, without the secrets of the URL.

        Raises:
            NotFound: git says that there is no such commit.
            GitFailed: anything else.
        """
        shown = self._repository.shown
        said = said.replace(self._repository.url, shown)
        userinfo = urlsplit(self._repository.url).netloc.rpartition("@")[0]
        password = userinfo.partition(":")[2] or userinfo
        if password and password not in shown:
            said = said.replace(password, "***")
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        told = [line for line in lines if line.startswith(("fatal:", "error:", "ssh:", "remote:"))] or lines
        best = next((line for line in told if "Could not read from remote" not in line), "git failed")
        best = re.sub(r"^(?:(?:fatal|error|remote|git upload-pack): )+|unable to access '.*?': ", "", best)
        if "not our ref" in said or "couldn't find remote ref" in said:
            raise NotFound(f"{shown} has no {self._repository.revision!r}", hint=f"git ls-remote {shown}")
        raise GitFailed(f"{shown} cannot be fetched: {best[:300].strip()}", hint=f"git ls-remote {shown}")

    def _too_large(self) -> NoReturn:
        raise UsageError(
            f"{self._repository.shown} is larger than {self._limit / 1e9:g} GB",
            hint="clone it yourself, and name the folder in it that you need",
        )


def _size(folder: Path) -> int:
    """Total bytes of the files below a folder, which may change meanwhile."""
    total = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(directory, name)).st_size
    return total
