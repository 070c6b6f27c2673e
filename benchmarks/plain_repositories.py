"""Whole code bases of the benchmark of search, with their documents, tests and examples: sources from registries."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path


def fetch(package: str, folder: Path) -> Path:
    """The unpacked source of `REGISTRY:NAME@VERSION`, somewhere below an empty folder."""
    registry, _, rest = package.partition(":")
    name, _, version = rest.rpartition("@")
    return _REGISTRIES[registry](name, version, folder)


def _pypi(name: str, version: str, folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    _run([*pip, "--no-binary", name, "-d", str(folder), f"{name}=={version}"], folder)
    return _unpacked(folder)


def _npm(name: str, version: str, folder: Path) -> Path:
    _run(["npm", "pack", "--silent", f"{name}@{version}"], folder)
    return _unpacked(folder)


def _cargo(name: str, version: str, folder: Path) -> Path:
    Path(folder, "lib.rs").touch()
    manifest = '[package]\nname = "fetch"\nversion = "0.1.0"\nedition = "2021"\n[lib]\npath = "lib.rs"\n'
    needs = f'[dependencies]\n{name} = {{ version = "={version}", default-features = false }}\n'
    Path(folder, "Cargo.toml").write_text(manifest + needs, encoding="utf-8")
    _run(["cargo", "vendor", "--quiet", "--versioned-dirs", "vendor"], folder)
    return folder / "vendor" / f"{name}-{version}"


def _go(name: str, version: str, folder: Path) -> Path:
    Path(folder, "go.mod").write_text("module fetch\n", encoding="utf-8")
    found = json.loads(_run(["go", "mod", "download", "-json", f"{name}@{version}"], folder))
    # The module cache is read-only, and its folders would stay so where they are moved.
    target = folder / "source"
    shutil.copytree(found["Dir"], target, copy_function=shutil.copyfile)
    for item in [target, *target.rglob("*")]:
        item.chmod(0o755 if item.is_dir() else 0o644)
    return target


_REGISTRIES: dict[str, Callable[[str, str, Path], Path]] = {"pypi": _pypi, "npm": _npm, "cargo": _cargo, "go": _go}


def _unpacked(folder: Path) -> Path:
    """The one folder in the one archive of a folder."""
    (archive,) = folder.iterdir()
    with tarfile.open(archive) as file:
        file.extractall(folder / "source", filter="data")
    (top,) = Path(folder, "source").iterdir()
    return top


def _run(command: list[str], folder: Path) -> str:
    print(" ".join(command), file=sys.stderr)
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{command[0]} could not fetch a code base of the benchmark")
    return done.stdout
