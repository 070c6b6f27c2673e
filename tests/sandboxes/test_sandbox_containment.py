"""What code in bubblewrap cannot do, besides what test_sandbox_corpus.py tries on every backend that contains."""

from __future__ import annotations

import os
import platform
import struct
import tempfile
import textwrap
from pathlib import Path

import pytest

from codenav.core.execution import MIB, Mount, Outcome, Resources
from codenav.sandboxes import seccomp
from codenav.sandboxes.binds import Bind, stage


@pytest.fixture(scope="module")
def backend() -> str:
    """Containment is bubblewrap's."""
    return "bubblewrap"


def probe(box, code):
    execution = box.run(textwrap.dedent(code), timeout=20)
    assert execution.outcome is Outcome.OK, execution.error
    return execution.stdout


def attempt(box, statement, setup="import os"):
    """The name of the exception that a statement raises, with its errno's name."""
    code = f"""
    import errno
    {setup}
    try:
        {statement}
        print('allowed')
    except OSError as error: print(errno.errorcode.get(error.errno, str(error)))
    except Exception as error: print(type(error).__name__)
    """
    return probe(box, code).strip()


def test_the_frozen_twin_cannot_be_read(box):
    code = """
    import os
    found = []
    while len(found) != 1:
        found = [int(name) for name in os.listdir('/proc') if name.isdigit() and int(name) not in (1, os.getpid())]
    def readable(pid):
        try: open('/proc/%d/mem' % pid, 'rb'); return True
        except OSError: return False
    print(len(found), any(map(readable, found)))
    """
    # The twin of the first step may still be on its way to being frozen.
    probe(box, "print()")
    assert probe(box, code) == "1 False\n"


def test_system_calls_of_the_list_are_refused(box):
    column = 0 if platform.machine() == "x86_64" else 1
    box.run("import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)")
    for name, numbers in seccomp.REFUSED.items():
        assert probe(box, f"libc.syscall({numbers[column]}, 0, 0, 0, 0, 0), ctypes.get_errno()") == "(-1, 1)\n", name


def test_files_in_memory_count(contained):
    sandbox = contained(resources=Resources(memory_bytes=96 * MIB))
    code = "import time\nwith open('big', 'wb') as f: [f.write(bytes(1 << 20)) for _ in range(40)]\n"
    code += "held = b'x' * (70 << 20)\ntime.sleep(5)"
    assert sandbox.run(code, timeout=10).outcome is Outcome.OUT_OF_MEMORY


def test_folders_that_only_the_owner_may_enter_work(contained, tmp_path):
    closed = tmp_path / "closed"
    (closed / "library").mkdir(parents=True)
    (closed / "library" / "inner.py").write_text("X = 'reached'\n")
    (closed / "single's.py").write_text("X = 1\n")
    closed.chmod(0o700)
    sandbox = contained(import_paths=[closed / "library", closed / "single's.py"])
    assert probe(sandbox, "import inner\ninner.X") == "'reached'\n"
    staged, lines = stage([Bind(str(closed / "library"), "/x")])
    assert bool(lines) == (os.geteuid() == 0)
    assert staged[0].target == "/x"


def test_a_link_in_a_folder_that_only_the_owner_may_enter_is_followed():
    with tempfile.TemporaryDirectory() as opened, tempfile.TemporaryDirectory() as closed:
        Path(opened).chmod(0o755)
        library, link = Path(opened, "library"), Path(closed, "link")
        library.mkdir()
        link.symlink_to(opened)
        assert stage([Bind(f"{link}/library", "/x")]) == ([Bind(str(library.resolve()), "/x")], [])


def test_a_closed_folder_with_odd_names_is_mounted_whole(contained, tmp_path):
    names = sorted(["#comment", "a b", "back\\040slash", "line\nbreak", "tab\t", "quote's", "€"])
    closed = tmp_path / "closed #1"
    closed.mkdir()
    for name in names:
        (closed / name).write_text(name)
    closed.chmod(0o700)
    found = f"from pathlib import Path\nsorted((one.name, one.read_text()) for one in Path({str(closed)!r}).iterdir())"
    sandbox = contained(mounts=[Mount(closed)])
    assert probe(sandbox, found) == f"{[(name, name) for name in names]}\n"


def test_the_filter_is_well_formed_for_each_processor():
    for machine in ("x86_64", "aarch64"):
        assert seccomp.supported(machine)
        plain = seccomp.program(machine, fixed_processors=False, counted=True)
        fixed = seccomp.program(machine, fixed_processors=True, counted=True)
        assert len(plain) % 8 == 0
        assert len(fixed) == len(plain) + 16
        strict = seccomp.program(machine, fixed_processors=True, counted=False)
        operations = [struct.unpack("=HBBI", strict[at : at + 8]) for at in range(0, len(strict), 8)]
        for number, (code, yes, no, _) in enumerate(operations):
            assert number + 1 + max(yes, no) < len(operations) or code == 6
        assert operations[-1][0] == 6
    assert not seccomp.supported("riscv64")


def test_a_module_that_others_may_not_read_is_named(contained, tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "closed.py").write_text("X = 1\n")
    (tmp_path / "closed.py").chmod(0o600)
    execution = contained(import_paths=[tmp_path]).run("import closed")
    if os.geteuid() == 0:
        assert execution.error.type == "PermissionError"
        assert str(tmp_path / "closed.py") in execution.error.message
    else:
        assert execution.ok
