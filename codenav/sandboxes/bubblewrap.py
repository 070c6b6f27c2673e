"""The `bubblewrap` backend: private user, mount, pid, network, ipc and uts namespaces, made without root.

Real root drops its user id first: bubblewrap started as uid 0 leaves /proc/sys writable inside.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from codenav.core.errors import SandboxUnavailable
from codenav.core.execution import Diagnosis, SandboxSpec
from codenav.sandboxes.binds import NOBODY, Bind, Binds, as_nobody, stage
from codenav.sandboxes.cgroups import Cgroup, make_groups, usable
from codenav.sandboxes.guest_environment import WORK_FOLDERS, environment, folder_sizes, import_folders
from codenav.sandboxes.launch import GUEST, GUEST_ENVIRONMENT, GUEST_FLAGS, Launched, LaunchedProcess, launch, limits_of
from codenav.sandboxes.owned_resources import OwnedFolder
from codenav.sandboxes.seccomp import programs, supported

OLDEST = (0, 8)
"""The first version with `--disable-userns`."""
INSIDE_GUEST = "/run/codenav"
INSIDE_KILLED = "/run/codenav-killed"
"""Path inside of the file that counts processes killed for lack of memory. See `Cgroup.killed`."""
INSIDE_UID = 1000

_PASSWD = f"root:x:0:0:root:/:/bin/sh\nuser:x:{INSIDE_UID}:{INSIDE_UID}:user:/tmp:/bin/sh\n"
_GROUP = f"root:x:0:\nuser:x:{INSIDE_UID}:\n"
_HOSTS = "127.0.0.1 localhost\n::1 localhost\n"
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "timezone", "mime.types",
        "ssl/certs", "ssl/openssl.cnf", "fonts", "nsswitch.conf", "protocols", "services")  # fmt: skip
_ETC_NETWORK = ("resolv.conf", "hosts", "gai.conf", "ca-certificates", "pki")


def version() -> str:
    """Return the version, such as `0.8.0`, or an empty string if bubblewrap is not installed or does not report one."""
    found = shutil.which("bwrap")
    if found is None:
        return ""
    try:
        done = subprocess.run([found, "--version"], capture_output=True, env={}, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = re.search(r"\d+(\.\d+)+", done.stdout.decode("ascii", "replace"), re.ASCII)
    return match.group() if match else ""


@functools.cache
def trouble() -> Diagnosis | None:
    """Return what keeps bubblewrap from working, or None. Checked by starting `true` in it."""
    install = "apt-get install bubblewrap"
    if shutil.which("bwrap") is None:
        return Diagnosis(False, "bubblewrap (bwrap) is not installed", install)
    number = version()
    if not number:
        return Diagnosis(False, "bwrap --version names no version; bubblewrap 0.8 or later is needed", install)
    if tuple(int(part) for part in number.split(".")[:2]) < OLDEST:
        return Diagnosis(False, f"bubblewrap {number} is too old; 0.8 or later is needed", install)
    missing = [tool for tool in _ROOT_TOOLS if as_nobody() and shutil.which(tool) is None]
    if missing:
        return Diagnosis(
            False, f"as root, {', '.join(missing)} is needed to give up root", "apt-get install util-linux mount"
        )
    flags = ["--ro-bind", "/usr", "/usr", *_system_links(), *_isolation("none")]
    command = dropped([_bwrap(), *flags, "--", "/usr/bin/env", "true"], [])
    try:
        done = subprocess.run(command, capture_output=True, text=True, env={}, cwd="/", timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Diagnosis(False, f"bubblewrap does not start: {error}", "--sandbox process runs code without isolation")
    if done.returncode == 0:
        return None
    reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
    return Diagnosis(False, f"bubblewrap cannot make a namespace: {reason[0]}", _way_out())


def _way_out() -> str:
    """Return the remedy for a system that refuses user namespaces."""
    ways = (
        (
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        ("/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
        ("/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces=10000"),
    )
    for path, value, setting in ways:
        try:
            if Path(path).read_text().strip() == value:
                return f"sudo sysctl -w {setting}"
        except OSError:
            continue
    if _in_container():
        # Docker blocks them with its seccomp filter, its masked parts of /proc, and a root without capabilities.
        return (
            "docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined --user 1000 …, "
            "or use --sandbox process"
        )
    return "allow user namespaces, or use --sandbox process"


def _in_container() -> bool:
    return any(os.path.exists(path) for path in ("/.dockerenv", "/run/.containerenv"))


_ROOT_TOOLS = ("unshare", "mount", "setpriv", "sh")


def _bwrap() -> str:
    return shutil.which("bwrap") or "/usr/bin/bwrap"


def dropped(command: Sequence[str], prelude: Sequence[str]) -> list[str]:
    """Return the full command line: the shell lines `prelude`, then `command`.

    As root, `prelude` runs in a private mount namespace and `command` as nobody.
    """
    if not as_nobody():
        if not prelude:
            return list(command)
        return ["/bin/sh", "-c", "\n".join(["set -e", *prelude, "exec " + shlex.join(command)])]
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]
    script = "\n".join(
        ["set -e", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *prelude, "exec " + shlex.join([*drop, *command])]
    )
    unshare = shutil.which("unshare") or "/usr/bin/unshare"
    return [unshare, "--mount", "--propagation", "private", "--", "/bin/sh", "-c", script]


def _isolation(network: str) -> list[str]:
    """Return the bwrap flags that isolate the sandbox."""
    return [
        "--unshare-all", "--unshare-user", *(["--share-net"] if network == "host" else []), "--disable-userns",
        "--die-with-parent", "--new-session", "--as-pid-1", "--clearenv", "--hostname", "sandbox",
        "--uid", str(INSIDE_UID), "--gid", str(INSIDE_UID),
    ]  # fmt: skip


def _system_links() -> list[str]:
    """Return flags for /bin, /lib and so on: links into /usr on a merged system, folders elsewhere."""
    flags: list[str] = []
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/", name)
        if path.is_symlink():
            flags += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            flags += ["--ro-bind", str(path), str(path)]
    return flags


def launch_bubblewrap(spec: SandboxSpec) -> Launched:
    """Start the guest in bubblewrap.

    Raises:
        SandboxUnavailable: bubblewrap does not work here. The hint names the remedy.
        UsageError: a folder to be bound or mounted would expose the host.
    """
    problem = trouble()
    if problem is not None:
        raise SandboxUnavailable(problem.detail, hint=problem.hint)
    binds = Binds.of(spec)
    work = next((path for path in WORK_FOLDERS if not binds.touches(path)), "/codenav-work-folder")
    processors = len(os.sched_getaffinity(0))
    files = _files(spec)
    owned, group = _group(spec, processors)
    try:
        counts = [Bind(str(group.killed), INSIDE_KILLED)] if group else []
        staged, prelude = stage([Bind(str(GUEST), INSIDE_GUEST), *counts, *binds.shown])
        prelude = [*(group.entering() if group else []), *prelude]
        quota = group is not None and group.limits_processors
        flags = [*_file_system(spec, work, staged, binds.links, counted=group is not None), *_isolation(spec.network)]
        for descriptor, target in files:
            flags += ["--ro-bind-data", str(descriptor), target]
        flags += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", work]
        for name, value in GUEST_ENVIRONMENT.items():
            flags += ["--setenv", name, value]
        guest = [str(spec.python.executable), *GUEST_FLAGS, f"{INSIDE_GUEST}/guest_main.py"]
        command = dropped([_bwrap(), *flags, "--", *guest], prelude)
        cpus = None if quota else spec.resources.cpus
        process, errors = launch(command, descriptors=[one for one, _ in files], cpus=cpus)
    except BaseException:
        if owned is not None:
            owned.remove()
        raise
    finally:
        for descriptor, _ in files:
            os.close(descriptor)
    config: dict[str, object] = {
        "work": work,
        "remove": [],
        "counted": [work, "/tmp", "/dev/shm"],
        "env": environment(spec, home="/tmp"),
        "import_first": import_folders(spec.import_paths),
        "import_then": [str(path) for path in spec.python.paths],
        "limits": limits_of(spec.resources, processes=spec.resources.processes),
        "kernel": {"sockets": spec.network != "host", "rest": group is None},
    }
    notice = f"there is no filter of system calls for {platform.machine()}"
    if supported(platform.machine()):
        fixed = spec.resources.cpus < processors and not quota
        config |= {"filter": programs(fixed_processors=fixed, counted=group is not None), "filtered": True}
        notice = ""
    if group is not None:
        config["killed"] = INSIDE_KILLED
    notice = "; ".join(filter(None, (binds.notice, notice)))
    killed = group.killed if group else None
    return LaunchedProcess(process, errors, owned, killed, config=config, notice=notice, held=binds.copies)


def _group(spec: SandboxSpec, processors: int) -> tuple[OwnedFolder | None, Cgroup | None]:
    """Make control groups with the limits, and the folder that removes them, or return None for both."""
    place = usable()
    if place is None:
        return None, None
    owned = OwnedFolder.make()
    owned.note(place.groups(owned.name).values())
    group = make_groups(place, owned.name, spec.resources, processors=processors)
    if group is None:
        owned.remove()
        return None, None
    return owned, group


def _file_system(
    spec: SandboxSpec, work: str, staged: Sequence[Bind], links: Sequence[tuple[str, str]], *, counted: bool
) -> list[str]:
    """Return flags for a read-only system, a private /tmp and work folder, and the binds.

    Later flags cover earlier ones.

    Without control groups (`counted` is false), shared memory of /dev/zero that is no longer mapped is charged to no
    process, so /dev/full takes its place: it reads the same and cannot be mapped.
    """
    flags = ["--ro-bind", "/usr", "/usr", *_system_links(), "--proc", "/proc", "--dev", "/dev"]
    # bwrap covers /proc/sys itself, but not where the settings of the new namespace may be written.
    flags += ["--ro-bind", "/proc/sys", "/proc/sys", *([] if counted else ["--dev-bind", "/dev/full", "/dev/zero"])]
    for name in (*_ETC, *(_ETC_NETWORK if spec.network == "host" else ())):
        flags += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    in_work, scratch = folder_sizes(spec.resources)
    for size, path in ((scratch, "/tmp"), (scratch, "/dev/shm"), (in_work, work)):
        flags += ["--perms", "0755", "--size", str(size), "--tmpfs", path]
    for bind in staged:
        flags += ["--bind" if bind.writable else "--ro-bind", bind.source, bind.target]
    for place, target in links:
        flags += ["--symlink", target, place]
    return flags


def _files(spec: SandboxSpec) -> list[tuple[int, str]]:
    """Make the small files of the sandbox. Return pairs of descriptor and path inside."""
    made = {"/etc/passwd": _PASSWD, "/etc/group": _GROUP}
    if spec.network != "host":
        made["/etc/hosts"] = _HOSTS
    return [(_memory_file(text.encode()), path) for path, text in made.items()]


def _memory_file(data: bytes) -> int:
    descriptor = os.memfd_create("codenav")
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
