"""Containment of files and secrets, where it depends on the kernel, the mounts and the image."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

from codenav.core.execution import Outcome
from codenav.sandboxes.conformance.lab import CLOSED, READ_ONLY, TINY, Case, Lab, Refused, Step, ensure, expect

INODE_BYTES = 1024
"""Bytes of the kernel's memory for one empty file in a tmpfs (Linux 5.10: 720 of the inode, 192 of the entry)."""
NO_LINK = (*READ_ONLY, "EXDEV", "ENOENT")


def _host_files(lab: Lab) -> None:
    home = Path.home()
    paths = ["/etc/shadow", "/root/.ssh", "/root/.bash_history", str(home / ".ssh"), str(lab.canary)]
    paths += [f"/proc/1/root{lab.canary}", f"/proc/self/cwd/../../../../..{lab.canary}"]
    for path in paths:
        lab.refused(f"open({path!r}, 'rb').read(1) if not os.path.isdir({path!r}) else os.listdir({path!r})", CLOSED)
    project = str(Path(__file__).resolve().parents[3])
    if not any(str(path).startswith(project) for path in (*lab.spec.import_paths, *lab.spec.python.paths)):
        lab.refused(f"os.stat({os.path.join(project, 'pyproject.toml')!r})", CLOSED)


def _full(lab: Lab) -> None:
    writable = lab.says(
        """
        import os
        def writes(path):
            try:
                name = os.path.join(path, '.codenav-probe')
                with open(name, 'w'): pass
                os.unlink(name)
                return True
            except OSError:
                return False
        found = []
        for line in open('/proc/self/mountinfo'):
            before, _, after = line.partition(' - ')
            place, kind = before.split()[4], after.split()[0]
            if writes(place) and (place, kind) not in found: found.append((place, kind))
        for place, kind in found: print(place, kind)
        """
    )
    on_disk = [line for line in writable.splitlines() if line.split()[-1] not in ("tmpfs", "mqueue")]
    expect("places that are writable and not of bounded size", on_disk, [])
    free = os.statvfs(lab.folder)
    _fill(lab, lab.box.info.work_dir)
    left = os.statvfs(lab.folder)
    lost = (free.f_bfree - left.f_bfree) * free.f_frsize
    ensure(lost < 8 * lab.spec.resources.work_bytes, f"{lost >> 20} MiB of the host's disk are gone")


def _fill(lab: Lab, place: str) -> None:
    """Write three times the memory limit; it must end for want of space or memory."""
    done = lab.run(
        f"""
        import errno, os, time
        names = [os.path.join({place!r}, f'big{{n}}') for n in range(48)]
        try:
            for name in names:
                with open(name, 'wb') as file:
                    for _ in range(16): file.write(bytes(1 << 20))
            print('no limit')
            time.sleep(2)
        except OSError as error:
            print(errno.errorcode[error.errno])
        for name in names:
            if os.path.exists(name): os.unlink(name)
        """
    )
    ended = done.outcome is Outcome.OUT_OF_MEMORY or done.stdout.strip() in ("ENOSPC", "EDQUOT", "EFBIG", "ENOMEM")
    ensure(ended, f"{place}: {done.stdout!r}, {done.outcome}")


def _tiny(lab: Lab) -> None:
    done = lab.run(
        """
        import os
        os.mkdir('many')
        here = os.open('many', os.O_RDONLY)
        for number in range(1_000_000):
            os.close(os.open(str(number), os.O_CREAT | os.O_WRONLY, dir_fd=here))
            if number % 1000 == 0: print(number, flush=True)
        """,
        timeout=30.0,
    )
    made = max((int(line) for line in done.stdout.split() if line.isdigit()), default=0)
    limit = lab.spec.resources.memory_bytes
    ensure(
        done.outcome is Outcome.OUT_OF_MEMORY or made * INODE_BYTES <= limit,
        f"{made} files were made, {made * INODE_BYTES >> 20} MiB, and it ended as {done.outcome}",
    )
    with lab.at_most(5.0, "closing"):
        lab.close()


def _mode(lab: Lab) -> None:
    expect("setuid and setgid of the copy", (lab.work / "s").stat().st_mode & (stat.S_ISUID | stat.S_ISGID), 0)


HOST_NAME = "CODENAV_CHECK_CANARY"
HOST_VALUE = "canary-of-the-host-7f3a91c4"
"""A variable in the environment of the checking process for as long as the check runs."""
GIVEN = {"CODENAV_CHECK_GIVEN": "canary-that-was-given-52b80d6e"}
"""A variable given to the sandbox, as with `--env`."""
BOTH = (HOST_VALUE, *GIVEN.values())

_PROC = """
import glob
seen = {}
for path in glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline') + glob.glob('/proc/*/task/*/environ'):
    try: seen[path] = open(path, 'rb').read()
    except OSError: pass
for path in ('/proc/self/mountinfo', '/proc/1/mountinfo', '/proc/mounts', '/proc/self/cgroup', '/proc/cmdline'):
    try: seen[path] = open(path, 'rb').read()
    except OSError: pass
def holding(words): return [(path, one) for path, data in seen.items() for one in words if one.encode() in data]
"""


def _environment(lab: Lab) -> None:
    values = json.loads(lab.says("import json, os\nprint(json.dumps(dict(os.environ)))"))
    expect("the one that was given", values.get(*GIVEN), *GIVEN.values())
    neutral = ("PATH", "HOME", "TMPDIR", "LANG", "MPLBACKEND", "PYTHON", "LC_", "CODENAV_CHECK_GIVEN")
    expect("others", [name for name in values if not name.startswith(neutral)], [])
    child = lab.says("import subprocess\nprint(subprocess.check_output(['env']).decode())")
    ensure(HOST_VALUE not in child, "a child has the host's canary")


def _folders(lab: Lab) -> None:
    expect("files of /proc that hold one", lab.says(f"holding({[str(lab.folder), str(lab.work)]!r})"), "[]")


CASES = (
    Case("F1", "files of the host are absent or closed", [_host_files], reads=True),
    Case("F2", "the system and the packages are read-only", [
        Refused(
            (*READ_ONLY, "ENOENT"),
            *(f"open({path!r}, 'ab')" for path in (
                "/usr/x", "/usr/bin/python3", "/etc/passwd", "/etc/x", "/x", "/proc/sys/kernel/hostname",
            )),
        ),
        Refused(READ_ONLY, "open(os.__file__, 'ab')"),
        Refused(
            (*READ_ONLY, "ENOENT"),
            "open(os.path.join(sysconfig.get_path('purelib'), 'codenav_x.py'), 'w')",
            "open(os.path.join(sysconfig.get_path('stdlib'), 'codenav_x.py'), 'w')",
            setup="import os, sysconfig",
        ),
        Refused(
            READ_ONLY,
            "r = libc.mount(None, b'/usr', None, 32 | 4096, None)\nif r: raise OSError(ctypes.get_errno(), 'mount')",
            setup="import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)",
        ),
    ], reads=True),
    Case("F6", "a hard link to a bound file is refused or harmless", [
        Refused(
            NO_LINK,
            "os.link('/etc/passwd', 'hard'); os.chmod('hard', 0o777)",
            "os.link('/usr/bin/env', 'hard'); os.chmod('hard', 0o777)",
            "os.link('/proc/self/exe', 'hard', follow_symlinks=True)",
        ),
        lambda lab: expect("the work folder", lab.files(), []),
    ], work=True),
    Case("F9", "a full disk is the sandbox's own", [_full]),
    Case("F10", "/tmp and /dev/shm have a size or count as memory", [
        lambda lab: _fill(lab, "/tmp"), lambda lab: _fill(lab, "/dev/shm"),
    ]),
    Case("F11", "a million tiny files meet a limit, and are gone within 5 s", [_tiny], {"resources": TINY}),
    Case("F12", "a setuid file is none on the host", [
        Step("import os\nopen('s', 'w').write('#!/bin/sh\\n'); os.chmod('s', 0o6755)"),
        _mode,
        Step("[bool(os.statvfs(place).f_flag & os.ST_NOSUID) for place in ('.', '/tmp', '/dev/shm')]",
             prints="[True, True, True]"),
    ], work=True),
    Case("S1", "no variable of the host is in the environment", [_environment], {"env": GIVEN}),
    Case("S2", "environments, arguments and mounts of processes tell neither secrets nor the host's folders", [
        Step(_PROC + f"len(seen) > 2, holding({BOTH!r})", prints="(True, [])"),
        _folders,
    ], {"env": GIVEN}, work=True),
)  # fmt: skip
