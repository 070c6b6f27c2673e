"""Containment of the file system."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from pathlib import Path

from codenav.errors import NotFound, UsageError
from codenav.execution import MIB, Mount, Outcome, Resources
from codenav.sandboxes.conformance.case import case
from codenav.sandboxes.conformance.lab import CLOSED, READ_ONLY, Broken, Lab, ensure, expect
from codenav.system.terminal_text import neutral

RACES = 10_000
"""Number of reads against a component that is swapped all the time."""
INODE_BYTES = 1024
"""Bytes of the kernel's memory for one empty file in a tmpfs (Linux 5.10: 720 of the inode, 192 of the entry)."""


@case("F1", "files of the host are absent or closed")
def _host_files(lab: Lab) -> None:
    home = Path.home()
    paths = ["/etc/shadow", "/root/.ssh", "/root/.bash_history", str(home / ".ssh"), str(lab.canary)]
    paths += [f"/proc/1/root{lab.canary}", f"/proc/self/cwd/../../../../..{lab.canary}"]
    for path in paths:
        lab.refused(f"open({path!r}, 'rb').read(1) if not os.path.isdir({path!r}) else os.listdir({path!r})", CLOSED)
    project = str(Path(__file__).resolve().parents[3])
    if not any(str(path).startswith(project) for path in (*lab.spec.import_paths, *lab.spec.python.paths)):
        lab.refused(f"os.stat({os.path.join(project, 'pyproject.toml')!r})", CLOSED)


@case("F2", "the system and the packages are read-only")
def _read_only(lab: Lab) -> None:
    for path in ("/usr/x", "/usr/bin/python3", "/etc/passwd", "/etc/x", "/x", "/proc/sys/kernel/hostname"):
        lab.refused(f"open({path!r}, 'ab')", (*READ_ONLY, "ENOENT"))
    lab.refused("open(os.__file__, 'ab')", READ_ONLY)
    for purelib in ("purelib", "stdlib"):
        place = f"os.path.join(sysconfig.get_path({purelib!r}), 'codenav_x.py')"
        lab.refused(f"open({place}, 'w')", (*READ_ONLY, "ENOENT"), setup="import os, sysconfig")
    remount = "r = libc.mount(None, b'/usr', None, 32 | 4096, None)\nif r: raise OSError(ctypes.get_errno(), 'mount')"
    lab.refused(remount, READ_ONLY, setup="import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)")


@case("F3", "names that lead out of the work folder are refused", work=True)
def _names(lab: Lab) -> None:
    lab.says("open('plain', 'w').write('x')")
    names = ("../canary.txt", str(lab.canary), "/etc/passwd", "a/../../canary.txt", "", ".", "..", "a//b", "./plain")
    for name in (*names, "plain/", "pl\0ain", "\udcff/../x"):
        for call in (lambda: lab.box.read_file(name), lambda: lab.box.write_file(name, b"overwritten")):  # noqa: B023
            try:
                call()
            except (NotFound, UsageError):
                continue
            raise Broken(f"the name {name!r} was taken")
    expect("the host's file", lab.canary.read_text(encoding="utf-8"), lab.secret)
    expect("the work folder", lab.files(), ["plain"])


@case("F4", "a link to a file of the host is refused", work=True)
def _links(lab: Lab) -> None:
    (lab.work / "planted").symlink_to(lab.canary)
    done = lab.outcome(
        f"""
        import os
        for place, target in dict(a={str(lab.canary)!r}, b='/etc/passwd', c='/proc/1/environ', d='/etc').items():
            os.symlink(target, place)
        open('planted', 'w').write('through the link')
        """,
        Outcome.OK,
    )
    expect("the host's file", lab.canary.read_text(encoding="utf-8"), lab.secret)
    expect("the work folder", lab.files(), ["planted", "planted.codenav-1"])
    ensure((lab.work / "planted").is_symlink(), "a link of the host was replaced")
    ensure("a: a symbolic link" in done.stderr, f"the link is not told: {done.stderr!r}")
    for name in ("a", "b", "d/passwd"):
        with contextlib.suppress(NotFound, UsageError):
            raise Broken(f"{name} was read: {lab.box.read_file(name)[:40]!r}")
    ensure(not {"a", "b", "c"} & set(lab.box.artifacts()), "links are among the artefacts")


@case("F5", "a component swapped between check and use is never followed", work=True)
def _race(lab: Lab) -> None:
    lab.says(
        """
        import os, threading
        for folder, text in (('real', 'inside'), ('/tmp/other', 'FOLLOWED')):
            os.mkdir(folder)
            open(os.path.join(folder, 'file'), 'w').write(text)
        os.symlink('/tmp/other', 'link')
        os.rename('real', 'd')
        go = True
        def swap():
            while go:
                os.rename('d', 'real'); os.rename('link', 'd')
                os.rename('d', 'link'); os.rename('real', 'd')
        thread = threading.Thread(target=swap, daemon=True); thread.start()
        """
    )
    found: dict[bytes, int] = {}
    for _ in range(RACES):
        try:
            text = lab.box.read_file("d/file")
        except NotFound:
            text = b"refused"
        found[text] = found.get(text, 0) + 1
    lab.says("go = False; thread.join()")
    ensure(set(found) <= {b"inside", b"refused"}, f"a link was followed: {found}")
    ensure(len(found) == 2, f"the race did not take place: {found}")


@case("F6", "a hard link to a bound file is refused or harmless", work=True)
def _hard_links(lab: Lab) -> None:
    for source in ("/etc/passwd", "/usr/bin/env"):
        lab.refused(f"os.link({source!r}, 'hard'); os.chmod('hard', 0o777)", (*READ_ONLY, "EXDEV", "ENOENT"))
    lab.refused("os.link('/proc/self/exe', 'hard', follow_symlinks=True)", (*READ_ONLY, "EXDEV", "ENOENT"))
    expect("the work folder", lab.files(), [])


@case("F7", "a FIFO, a socket and a device are refused at once", work=True)
def _special(lab: Lab) -> None:
    with lab.at_most(5.0, "copying out"):
        done = lab.outcome(
            """
            import os, socket
            os.mkfifo('fifo')
            socket.socket(socket.AF_UNIX).bind('socket')
            open('plain', 'w').write('x')
            """,
            Outcome.OK,
        )
    expect("the work folder", lab.files(), ["plain"])
    ensure("fifo: not a regular file" in done.stderr, f"the FIFO is not told: {done.stderr!r}")
    for name in ("fifo", "socket"):
        with lab.at_most(2.0, f"reading {name}"), contextlib.suppress(NotFound):
            raise Broken(f"{name} was read: {lab.box.read_file(name)!r}")
    for kind, device in (("S_IFCHR", 0x105), ("S_IFBLK", 0x800)):
        lab.refused(f"os.mknod('device', stat.{kind} | 0o666, {device})", ("EPERM",), setup="import os, stat")


@case("F8", "a sparse file of 1 TiB is not copied", work=True)
def _sparse(lab: Lab) -> None:
    with lab.at_most(10.0, "the step"):
        done = lab.run(
            """
            with open('sparse', 'wb') as file:
                try: file.truncate(1 << 40)
                except OSError: pass
            open('small', 'w').write('x')
            """
        )
    ensure("small" in lab.files(), f"the small file did not come: {done.stderr!r}")
    sizes = {name: (lab.work / name).stat().st_size for name in lab.files()}
    ensure(max(sizes.values()) <= lab.spec.resources.file_bytes, f"files of {sizes}")


@case("F9", "a full disk is the sandbox's own")
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


@case("F10", "/tmp and /dev/shm have a size or count as memory")
def _scratch(lab: Lab) -> None:
    for place in ("/tmp", "/dev/shm"):
        _fill(lab, place)


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


@case("F11", "a million tiny files meet a limit, and are gone within 5 s")
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


@case("F12", "a setuid file is none on the host", work=True)
def _setuid(lab: Lab) -> None:
    lab.says("import os\nopen('s', 'w').write('#!/bin/sh\\n'); os.chmod('s', 0o6755)")
    mode = (lab.work / "s").stat().st_mode
    expect("setuid and setgid of the copy", mode & (stat.S_ISUID | stat.S_ISGID), 0)
    for place in ("'.'", "'/tmp'", "'/dev/shm'"):
        expect(f"nosuid of {place}", lab.says(f"bool(os.statvfs({place}).f_flag & os.ST_NOSUID)"), "True")


@case("F13", "strange file names come out escaped, or not at all", work=True)
def _strange_names(lab: Lab) -> None:
    lab.says(
        r"""
        import os
        plain = [b'-rf', b'n' * 255, b' ', b'~']
        for name in [b'line\nend', b'\x1b]0;title\x07', b'\xff\xfe', 'r\u202eli'.encode(), *plain]:
            open(name, 'w').write('x')
        os.makedirs(b'\x1b[2J/\n')
        open(b'\x1b[2J/\n/f', 'w').write('x')
        """
    )
    expect("the work folder", lab.files(), sorted([" ", "-rf", "n" * 255, "~"]))
    bad = [name for name in lab.box.artifacts() if neutral(name) != name or "\n" in name]
    expect("artefacts with control characters", bad, [])


@case("F14", "a closed work folder is cleaned up all the same", work=True)
def _closed_folder(lab: Lab) -> None:
    lab.run("import os\nos.makedirs('a/b')\nopen('a/b/f', 'w').write('x')\nos.chmod('a/b', 0); os.chmod('.', 0)")
    lab.run("import os\nos.chmod('.', 0o755); open('later', 'w').write('x')")
    ensure("later" in lab.files(), "a file of a later step did not come out")
    lab.run("os.chmod('a', 0); os.chmod('.', 0)")


@case("F15", "a step finds the work folder whatever the one before did to it")
def _working_directory(lab: Lab) -> None:
    work = lab.box.info.work_dir
    for code in (
        "import os, shutil\nshutil.rmtree(os.getcwd(), ignore_errors=True)",
        "os.makedirs('x'); os.chdir('x'); os.rmdir('../x')",
        f"try: os.rename({work!r}, {work + '-moved'!r})\nexcept OSError: pass",
    ):
        lab.run(code)
        expect(f"the folder after {code!r}", lab.says("import os\nprint(os.getcwd())"), work)
        lab.says("open('written', 'w').write('x')")


@case("F16", "archives with ../ and bombs come out as they are", work=True)
def _archives(lab: Lab) -> None:
    lab.says(
        """
        import io, tarfile, zipfile
        with tarfile.open('t.tar', 'w') as archive:
            for name in ('../canary.txt', '/etc/codenav-x', 'link'):
                info = tarfile.TarInfo(name)
                info.size = 3
                archive.addfile(info, io.BytesIO(b'bad'))
        with zipfile.ZipFile('z.zip', 'w', zipfile.ZIP_DEFLATED) as archive:
            archive.writestr('../canary.txt', bytes(16 << 20))
        """
    )
    expect("the work folder", lab.files(), ["t.tar", "z.zip"])
    expect("the host's file", lab.canary.read_text(encoding="utf-8"), lab.secret)
    ensure(sum((lab.work / name).stat().st_size for name in lab.files()) < MIB, "an archive was unpacked")


@case("F17", "two sandboxes that write the same name do not meet", work=True)
def _no_cross_talk(lab: Lab) -> None:
    other_work = lab.folder / "other"
    other_work.mkdir()
    other = lab.open(work_dir=other_work, resources=Resources(memory_bytes=256 * MIB))
    boxes = {"one": lab.box, "two": other}

    def write(name: str) -> None:
        for number in range(5):
            boxes[name].run(f"open('same', 'w').write({name!r} * {number + 1})")

    threads = [threading.Thread(target=write, args=(name,)) for name in boxes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    texts = [(folder / "same").read_text(encoding="utf-8") for folder in (lab.work, other_work)]
    expect("the two files", texts, ["one" * 5, "two" * 5])
    expect("what they read", [boxes[name].read_file("same").decode() for name in boxes], texts)


@case("F18", "a work folder that the code can swap is refused, a swapped one not followed", work=True)
def _swapped(lab: Lab) -> None:
    shared, victim, moved = (lab.folder / name for name in ("shared", "victim", "moved"))
    inner, by_link = shared / "in" / "live", lab.folder / "by-link"
    for folder in (shared / "out", inner, victim):
        folder.mkdir(parents=True)
    by_link.symlink_to(shared / "out")
    for work, live in ((shared / "out", shared), (shared, shared), (by_link, shared), (inner.parent, inner)):
        try:
            lab.open(work_dir=work, mounts=(Mount(live, writable=True),))
        except UsageError as error:
            ensure("which the code can write to" in str(error), f"another reason: {error}")
            continue
        raise Broken(f"{work} was taken beside {live}:rw")
    lab.says("open('first', 'w').write('x'); import os; os.mkdir('d'); open('d/f', 'w').write('x')")
    # As the code would do if it could, or as somebody else does.
    lab.work.rename(moved)
    lab.work.symlink_to(victim)
    (moved / "d" / "f").unlink()
    (moved / "d").rmdir()
    (moved / "d").symlink_to(victim)
    done = lab.outcome("open('second', 'w').write('x'); open('d/f', 'w').write('y')", Outcome.OK)
    expect("the folder that a link leads to", os.listdir(victim), [])
    ensure((moved / "second").is_file(), "what was written did not come to the folder that was given")
    ensure("d/f: cannot be written" in done.stderr, f"what did not come is not told: {done.stderr!r}")


@case("F19", "repositories and secrets go neither in nor out; what tools run by themselves is told", work=True)
def _run_by_tools(lab: Lab) -> None:
    (lab.work / ".git").mkdir()
    (lab.work / ".git" / "config").write_text("[core]\n", encoding="utf-8")
    (lab.work / ".env").write_text(lab.secret, encoding="utf-8")
    done = lab.outcome(
        """
        import os
        found = os.listdir('.')
        names = ['.git/config', '.GIT/config', 'deep/.git', 'deep/.hg/hgrc', '.svn/x', 'HEAD', 'commondir', '.git./x']
        names += ['bare/' + name for name in ('HEAD', 'config', 'objects/a', 'refs/b')]
        names += ['.env', 'conftest.py', 'deep/.envrc', '.vscode/tasks.json', 'plain']
        for name in names:
            os.makedirs(os.path.dirname(name) or '.', exist_ok=True)
            with open(name, 'w') as file: file.write('[core]\\n\\tfsmonitor = evil\\n')
        found
        """,
        Outcome.OK,
    )
    expect("what went in", done.stdout.strip(), "[]")
    told = [".vscode/tasks.json", "conftest.py", "deep/.envrc"]
    expect("the work folder", lab.files(), sorted([".env", ".git/config", "plain", *told[:2]]))
    expect("the secret", (lab.work / ".env").read_text(encoding="utf-8"), lab.secret)
    expect("the repository", (lab.work / ".git" / "config").read_text(encoding="utf-8"), "[core]\n")
    for name in told:
        ensure(f"{name} (" in done.notice, f"{name} is not told: {done.notice!r}")
    for name in (".git: ", ".GIT: ", "deep/.git: ", "bare: ", "HEAD, commondir: ", ".env"):
        ensure(name in done.stderr, f"{name} is not told: {done.stderr!r}")
