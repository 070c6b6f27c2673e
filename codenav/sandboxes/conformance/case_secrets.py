"""Containment of secrets: what code may know of the host and of the variables that it was given."""

from __future__ import annotations

import json

from codenav.sandboxes.conformance.case import Case, Step
from codenav.sandboxes.conformance.lab import Lab, ensure, expect

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
    Case("S1", "no variable of the host is in the environment", [_environment], {"env": GIVEN}),
    Case("S2", "environments, arguments and mounts of processes tell neither secrets nor the host's folders", [
        Step(_PROC + f"len(seen) > 2, holding({BOTH!r})", prints="(True, [])"),
        _folders,
    ], {"env": GIVEN}, work=True),
)  # fmt: skip
