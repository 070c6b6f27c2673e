"""What the benchmark of the agent runs on: packages, packages under other names, files, right answers, a service."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from agent_requests import DATA, Request, value_of

from codenav.core.config import home

CACHE = home("cache") / "benchmarks" / "agent"
PACKAGES, SMOLAGENTS = CACHE / "packages", CACHE / "smolagents"
REPOSITORY = DATA / "heddle"
PORT = 8471
"""Of the service; it stands in the specification, whose index is kept."""
HIRE = f"http://127.0.0.1:{PORT}"
GOLD = DATA / "gold.json"
"""The right answers, as the scripts printed them: to read, and for the test of the scores."""
SPECIFICATION = CACHE / "hire.json"
RENAMED = {
    ("mercantile", "mapgrid"): {
        "tile": "patch", "tiles": "patches", "Tile": "Patch", "Tiles": "Patches", "quadkey": "patchcode",
        "quadkey_to_tile": "patchcode_to_patch", "parent": "coarser", "children": "finer", "bounds": "extent",
        "neighbors": "adjoining", "ul": "corner", "lnglat": "spot", "LngLat": "Spot", "LngLatBbox": "SpotBox",
        "bounding_tile": "covering_patch", "xy_bounds": "metre_extent", "Mercantile": "Mapgrid",
    },
    ("meteocalc", "airlore"): {
        "dew_point": "condensing", "dewpoint": "condensation", "heat_index": "muggy", "heatindex": "mugginess",
        "wind_chill": "blown", "windchill": "blowing", "feels_like": "outdoors", "feelslike_temperature": "outside",
        "Temp": "Warmth", "temperature": "warmth",
    },
}  # fmt: skip
"""Distributions that are installed once more, under a name that no model has seen: the names in them that change."""


def prepare(requests: Sequence[Request], *, smolagents: bool) -> dict[str, Any]:
    """Install what is missing, and return the right answer to each request, by its id."""
    _environment(PACKAGES, DATA / "requirements.txt")
    for (old, new), names in RENAMED.items():
        if not list(_site(PACKAGES).glob(f"{new}-*.dist-info")):
            _rename(old, new, {**names, old: new})
    if smolagents:
        _environment(SMOLAGENTS, DATA / "smolagents.txt")
        lines = [_site(PACKAGES), REPOSITORY]
        (_site(SMOLAGENTS) / "packages.pth").write_text("".join(f"{line}\n" for line in lines))
    SPECIFICATION.write_text((DATA / "hire.json").read_text().replace("{port}", str(PORT)))
    shutil.rmtree(CACHE / "files", ignore_errors=True)
    (CACHE / "files").mkdir()
    run([python(PACKAGES), str(DATA / "make_files.py")], cwd=CACHE / "files")
    return _answers(requests)


def python(environment: Path) -> str:
    """The interpreter of an environment."""
    return str(environment / "bin" / "python")


def copy_files(request: Request, folder: Path) -> None:
    """Put the files of a request into its work folder."""
    for name in request.files:
        shutil.copy(CACHE / "files" / name, folder)


def run(command: Sequence[str], **more: Any) -> str:
    """The output of a command; the end of the benchmark where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(command)[:300]}\nanswered {done.returncode}: {done.stderr[-1500:]}")
    return done.stdout


@contextlib.contextmanager
def service() -> Iterator[None]:
    """The service of the specification, in a process of its own."""
    with subprocess.Popen([sys.executable, str(DATA / "hire.py"), str(PORT)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            if not process.stdout.readline():
                sys.exit(f"the service does not start: is port {PORT} taken?")
            yield
        finally:
            process.terminate()


def _environment(folder: Path, requirements: Path) -> None:
    mark = folder / hashlib.sha256(requirements.read_bytes()).hexdigest()[:16]
    if mark.exists():
        return
    print(f"installing {requirements.name}: once, about two minutes", file=sys.stderr)
    folder.parent.mkdir(parents=True, exist_ok=True)
    run([sys.executable, "-m", "venv", "--clear", str(folder)])
    run([python(folder), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(requirements)])
    mark.touch()


def _site(environment: Path) -> Path:
    return next((environment / "lib").glob("python3.*/site-packages"))


def _rename(old: str, new: str, names: dict[str, str]) -> None:
    """Copy an installed package with its metadata, other names in its code, its documentation and its file names."""
    site = _site(PACKAGES)
    words = re.compile(r"\b(" + "|".join(map(re.escape, sorted(names, key=len, reverse=True))) + r")\b")
    information = next(site.glob(f"{old}-*.dist-info"))
    version = information.name.removeprefix(f"{old}-")
    files = [*(site / old).glob("*.py"), information / "METADATA"]
    written = []
    for file in files:
        folder = new if file.suffix else f"{new}-{version}"
        target = site / folder / (names.get(file.stem, file.stem) + file.suffix)
        target.parent.mkdir(exist_ok=True)
        text = file.read_text(encoding="utf-8")
        lines = [
            line for line in text.splitlines(True) if file.suffix or not re.match(r"(Home-page|Author|Keywords)", line)
        ]
        target.write_text(words.sub(lambda match: names[match[0]], "".join(lines)), encoding="utf-8")
        written.append(f"{target.relative_to(site)},,\n")
    (site / f"{new}-{version}" / "RECORD").write_text("".join(written) + f"{new}-{version}/RECORD,,\n")


def _answers(requests: Sequence[Request]) -> dict[str, Any]:
    """What the scripts print, each in a folder with the request's files; kept until a script or a file changes."""
    kept = CACHE / "gold.json"
    parts = [*(repr(one) for one in requests), *(file.read_text() for file in sorted(DATA.rglob("*.py")))]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    if kept.exists() and (known := json.loads(kept.read_text()))["digest"] == digest:
        return dict(known["answers"])
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(DATA)]),
        "HIRE": HIRE,
    }
    answers = {}
    with service():
        for one in requests:
            printed = run([python(PACKAGES), "-c", one.gold], cwd=CACHE / "files", env=environment)
            answers[one.id] = value_of(printed)
    lines = json.dumps(answers, ensure_ascii=False, indent=1)
    GOLD.write_text(re.sub(r"\s*\n\s{2,}|\n (?=\])", " ", lines) + "\n", encoding="utf-8")
    kept.write_text(json.dumps({"digest": digest, "answers": answers}))
    return answers
