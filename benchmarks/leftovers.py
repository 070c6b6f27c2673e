"""The leftovers of sandboxes: of sessions that end normally, several at a time, and of owners killed by `kill -9`.

    python benchmarks/leftovers.py [--backend bubblewrap] [--image IMAGE] [--sessions 200] [--kills 100]

Prints a table: after both, and one more start of codenav, nothing of them should be left.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from codenav.core.execution import MIB, Resources, SandboxSpec
from codenav.core.system.interpreter import find_interpreter
from codenav.core.system.process_identity import Owner
from codenav.sandboxes import cgroups, start

AT_ONCE = 8
GONE_SECONDS = 10.0
"""Seconds for the remains of killed processes to disappear."""
STEP = "x = 1\nfor n in range(20): open(f'file{n}', 'w').write('x' * 10000)"
OWNER = """
import sys
from pathlib import Path
from codenav.core.execution import MIB, Resources, SandboxSpec
from codenav.core.system.interpreter import find_interpreter
from codenav.sandboxes import start
backend, image, library, work = sys.argv[1:]
bound = [Path(library)] if library else []
spec = SandboxSpec(find_interpreter(), image=image, import_paths=bound, work_dir=Path(work),
                   resources=Resources(memory_bytes=256 * MIB, processes=32))
box = start(backend, spec)
while True: box.run(%r + "\\nimport subprocess; child = subprocess.Popen(['sleep', '600'])")
"""

NEXT = """
import sys
from codenav.core.execution import SandboxSpec
from codenav.core.system.interpreter import find_interpreter
from codenav.sandboxes import start
start(sys.argv[1], SandboxSpec(find_interpreter(), image=sys.argv[2])).close()
"""


def main() -> None:
    """Print the table; the exit code is 1 if something is left."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--backend", default="bubblewrap")
    asked.add_argument("--image", default="")
    asked.add_argument("--sessions", type=int, default=200)
    asked.add_argument("--kills", type=int, default=100)
    given = asked.parse_args()
    # Every sandbox has this folder bound, so its processes are found by it.
    with tempfile.TemporaryDirectory(prefix="leftovers-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "library").mkdir()
        (folder / "temporary").mkdir()
        tempfile.tempdir = os.environ["TMPDIR"] = str(folder / "temporary")
        groups = _groups()
        spec = SandboxSpec(
            find_interpreter(),
            image=given.image,
            import_paths=_bound(given, folder),
            resources=Resources(memory_bytes=256 * MIB, processes=32),
        )
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(
                pool.map(lambda number: _session(given.backend, spec, folder / f"work{number}"), range(given.sessions))
            )
            sessions = _left(folder, groups, given.backend)
            list(pool.map(lambda number: _killed(given, folder, folder / f"killed{number}"), range(given.kills)))
        time.sleep(1.0)
        # In another process: this one owns the leftovers of its sessions.
        subprocess.run([sys.executable, "-c", NEXT, given.backend, given.image], check=True)
        killed = _left(folder, groups, given.backend)
    who = "root" if os.geteuid() == 0 else "ordinary user"
    print(f"{given.backend}, {who}, control groups: {'yes' if cgroups.usable() else 'no'}")
    print(f"{'left':16} {given.sessions} sessions  {given.kills} kills")
    for kind in sessions:
        print(f"{kind:16} {len(sessions[kind]):8}  {len(killed[kind]):8}")
    for kind, found in killed.items():
        for one in sorted(found)[:5]:
            print(f"  {kind}: {one}")
    raise SystemExit(any(sessions.values()) or any(killed.values()))


def _bound(given: argparse.Namespace, folder: Path) -> list[Path]:
    """The folders to bind; none with Docker for an ordinary user: neither may see the other's folders or processes."""
    return [folder / "library"] if given.backend != "docker" or os.geteuid() == 0 else []


def _session(backend: str, spec: SandboxSpec, work: Path) -> None:
    work.mkdir()
    with start(backend, dataclasses.replace(spec, work_dir=work)) as box:
        done = box.run(STEP)
        assert done.ok, done
        box.run("import subprocess; child = subprocess.Popen(['sleep', '600'])")


def _killed(given: argparse.Namespace, folder: Path, work: Path) -> None:
    work.mkdir()
    arguments = [given.backend, given.image, *map(str, _bound(given, folder) or [""]), str(work)]
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER % STEP, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(random.uniform(0.3, 3.0))
    owner.kill()
    owner.wait()


def _left(folder: Path, groups: set[str], backend: str) -> dict[str, set[str]]:
    until = time.monotonic() + GONE_SECONDS
    while True:
        found = {
            "processes": _processes(str(folder / "library")),
            "mounts": {line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(folder) in line},
            "control groups": _groups() - groups,
            "folders": {path.name for place in (folder / "temporary").iterdir() for path in place.iterdir()},
            ".part files": {str(path) for path in folder.rglob(".codenav-*.part")},
            "containers": _containers() if backend == "docker" else set(),
        }
        if not any(found.values()) or time.monotonic() > until:
            return found
        time.sleep(0.2)


def _processes(library: str) -> set[str]:
    found = set()
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                if library in Path(f"/proc/{name}/mountinfo").read_text() or (
                    library.encode() in Path(f"/proc/{name}/cmdline").read_bytes()
                ):
                    found.add(f"{name} {Path(f'/proc/{name}/comm').read_text().strip()}")
            except OSError:
                continue
    return found


def _groups() -> set[str]:
    """The control groups without a process: other sandboxes of this machine have theirs in the same place."""
    place = cgroups.find()
    if place is None:
        return set()
    above = [place.unified] if place.unified is not None else list(place.split.values())
    found = [group for one in above for group in one.glob(f"{cgroups.PREFIX}*")]
    return {str(group) for group in found if not _busy(group)}


def _busy(group: Path) -> bool:
    try:
        return bool((group / "cgroup.procs").read_text())
    except OSError:
        return True


def _containers() -> set[str]:
    from codenav.core.system import docker_engine
    from codenav.sandboxes.owned_resources import KIND_LABEL, OWNER_LABEL

    client = docker_engine.connect().api
    try:
        listed = client.containers(all=True, filters={"label": [f"{KIND_LABEL}=sandbox", OWNER_LABEL]})
        owners = [(item["Id"][:12], Owner.from_text(item["Labels"][OWNER_LABEL])) for item in listed]
        return {id for id, owner in owners if owner is None or owner.pid == os.getpid() or owner.ended()}
    finally:
        client.close()


if __name__ == "__main__":
    main()
