"""The corpora of the index benchmarks: a directory, an installed distribution, or a downloaded source distribution."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from codenav.core.blocks import FileSkip
from codenav.core.config import home
from codenav.core.errors import CodeNavError
from codenav.core.system.interpreter import find_interpreter
from codenav.indexers.sources import resolve
from codenav.indexers.walk import walk

BARRED = "transformers"
"""The corpus for which the bars are stated, in a 5.x source distribution."""
_REQUIREMENTS = {BARRED: f"{BARRED}>=5,<6"}


@dataclass(frozen=True)
class Corpus:
    """A private copy of the files that an index of the original would hold; a benchmark may change it."""

    name: str
    root: Path
    files: int
    bytes: int

    @property
    def barred(self) -> bool:
        """True if the bars apply to it."""
        return self.name.startswith(f"{BARRED}-5.") and "wheel" not in self.name

    def python_files(self) -> list[Path]:
        """The Python files, smallest first; equal sizes by path."""
        return sorted(self.root.rglob("*.py"), key=lambda path: (path.stat().st_size, str(path)))


def copy_corpus(spec: str, folder: Path) -> Corpus:
    """Copy a directory, or a distribution that is installed or else downloaded, into `folder`."""
    try:
        source = resolve(spec if Path(spec).is_dir() else f"pkg:{spec}", find_interpreter())
        name = source.name.removeprefix("pkg:").replace("@", " ") if not Path(spec).is_dir() else Path(spec).name
        if spec == BARRED:
            raise LookupError("its source distribution is meant, also where a wheel is installed")
    except (CodeNavError, LookupError):
        unpacked = source_distribution(spec)
        source, name = resolve(str(unpacked), find_interpreter()), unpacked.name
    files = size = 0
    for found in walk(source.root, members=source.members):
        if not isinstance(found, FileSkip):
            target = folder / found.path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(found.location, target)
            files, size = files + 1, size + found.size
    if not files:
        sys.exit(f"{spec} holds nothing that can be indexed")
    return Corpus(name, folder, files, size)


def source_distribution(distribution: str) -> Path:
    """The folder of an unpacked source distribution; pip downloads it on first use, as a wheel if it must."""
    cache = home("cache") / "benchmarks"
    cache.mkdir(parents=True, exist_ok=True)
    kept = sorted(item for item in cache.iterdir() if item.is_dir() and item.name.startswith(f"{distribution}-"))
    if kept:
        return kept[-1]
    with tempfile.TemporaryDirectory(dir=cache) as temporary:
        folder = Path(temporary)
        for kind in (["--no-binary", distribution], ["--only-binary", ":all:"]):
            requirement = _REQUIREMENTS.get(distribution, distribution)
            print(f"pip download {requirement} {' '.join(kind)}", file=sys.stderr)
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *kind, "-d", str(folder)]
            done = subprocess.run([*command, requirement], capture_output=True, text=True)
            archives = [item for item in folder.iterdir() if item.is_file()]
            if done.returncode == 0 and archives:
                return _unpack(archives[0], cache)
    sys.exit(f"{distribution} is no directory, is not installed, and cannot be downloaded: {done.stderr.strip()}")


def _unpack(archive: Path, cache: Path) -> Path:
    with tempfile.TemporaryDirectory(dir=cache) as temporary:
        inside = Path(temporary)
        if archive.suffix in (".whl", ".zip"):
            with zipfile.ZipFile(archive) as file:
                file.extractall(inside)
        else:
            with tarfile.open(archive) as file:
                file.extractall(inside, filter="data")
        if archive.suffix == ".whl":
            name, top = "-".join(archive.name.split("-")[:2]) + " wheel", inside
        else:
            (top,) = inside.iterdir()
            name = top.name
        return top.rename(cache / name)
