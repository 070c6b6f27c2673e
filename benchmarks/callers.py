"""What `callers` and `callees` say of calls that really happened, in tests of real packages that run under a profiler.

    python benchmarks/callers.py                          # all packages: half an hour the first time, on one core
    python benchmarks/callers.py django --wrong           # one, with every certain answer that is wrong

The packages and their source distributions are installed into the cache by pip, their tests run there once, and the
calls are kept beside them. A call that ran is a pair of a name, as a block of the index writes it, and the definition
that it ran: under that name, or another one. Pairs are judged by what `codenav.callees` says of that name:

    right       certain, and the definition is among those told
    wrong       certain, and it is not: the bar is 1 % of all that is certain
    possible    not certain, and it is among those told: a method that may be overridden, or the last name alone
    missed      not certain, and it is not
    found       the share that is right or possible

Nothing was mended by the help of scikit-learn's calls: they show what to expect of other packages.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shlex
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from callers_trace import Row
from corpus import source_distribution

import codenav
from codenav.core.blocks import BlockKind, CodeBlock
from codenav.core.config import home
from codenav.navigation.modules import Modules
from codenav.navigation.resolve import Resolution, Resolver
from codenav.retrieval.source_index import SourceIndex

BAR = 0.01
"""The most of what is certain that may be wrong."""
SECONDS = 400
"""The time for the tests of one package; what has run until then counts."""
TRACE = Path(__file__).with_name("callers_trace.py")


@dataclass(frozen=True)
class Program:
    """Tests of a package."""

    package: str
    command: Sequence[str]
    folder: str = ""
    """The folder in the source distribution that they run in; "" for that of the installed packages."""
    inside: str = ""
    """The folder of the package in the source distribution; "" if the installed one runs."""
    distribution: str = ""


def _pytest(*files: str) -> list[str]:
    return ["-m", "pytest", "-q", "-p", "no:cacheprovider", *files]


PROGRAMS = (
    Program(
        "django",
        [
            "runtests.py", "--parallel=1", "basic", "auth_tests.test_forms", "auth_tests.test_management",
            "cache.tests.DummyCacheTests", "cache.tests.CreateCacheTableForDBCacheTests",
            "cache.tests.CacheMiddlewareTest", "forms_tests", "template_tests", "migrations.test_autodetector",
            "migrations.test_operations", "queries", "sessions_tests", "admin_changelist", "handlers", "mail",
            "generic_views",
        ],
        folder="tests",
        inside="django",
    ),
    Program(
        "pandas",
        _pytest(
            "pandas/tests/reshape/merge/test_merge_asof.py", "pandas/tests/io/formats/test_to_html.py",
            "pandas/tests/frame/methods/test_describe.py", "pandas/tests/io/excel/test_style.py",
            "pandas/tests/io/json/test_json_table_schema.py", "pandas/tests/series/test_constructors.py",
            "pandas/tests/resample/test_time_grouper.py", "pandas/tests/groupby/test_filters.py",
            "pandas/tests/frame/methods/test_sort_values.py", "pandas/tests/reshape/test_pivot.py",
            "pandas/tests/indexes/multi/test_indexing.py", "pandas/tests/window/test_groupby.py",
            "pandas/tests/io/parser/test_index_col.py",
        ),
    ),
    Program(
        "sqlalchemy",
        _pytest(
            "-p", "no:logging", "test/orm/test_query.py", "test/orm/test_session.py", "test/orm/test_mapper.py",
            "test/sql/test_compiler.py", "test/sql/test_metadata.py", "test/engine/test_execute.py",
            "test/orm/declarative/test_mixin.py",
        ),
        folder=".",
        inside="lib/sqlalchemy",
    ),
    Program(
        "sklearn",
        _pytest(
            "sklearn/tests/test_pipeline.py", "sklearn/linear_model/tests/test_ridge.py",
            "sklearn/preprocessing/tests/test_data.py", "sklearn/model_selection/tests/test_search.py",
            "sklearn/ensemble/tests/test_voting.py", "sklearn/feature_extraction/tests/test_text.py",
            "sklearn/metrics/tests/test_classification.py", "sklearn/compose/tests/test_column_transformer.py",
        ),
        distribution="scikit-learn",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Ran:
    """What a call ran."""

    path: str
    name: str
    line: int
    made_in: str
    """The file of the class of the object that was made, if one was."""
    made: str
    """Its qualified name."""
    between: int
    """The number of functions in between, as those of a decorator."""

    def is_among(self, blocks: Sequence[CodeBlock]) -> bool:
        """True if one of the blocks is the definition: the function, or the class of which it makes an object."""
        return any(
            (block.path == self.path and block.lines.start == self.line)
            or (block.kind is BlockKind.CLASS and block.path == self.made_in and block.qualname == self.made)
            for block in blocks
        )

    def is_meant_by(self, name: str) -> bool:
        """True if that name can only mean the definition, or others that are named so."""
        return name in (self.name, self.made.rpartition(".")[2])


@dataclass(frozen=True)
class Written:
    """A call in a file, as it is written."""

    name: str
    begin: tuple[int, int]
    decorates: bool


@cache
def calls_in(file: Path) -> dict[tuple[int, int], Written]:
    """The calls in a file by the line and column where they end."""
    tree = ast.parse(file.read_bytes())
    decorators = {id(item) for node in ast.walk(tree) for item in getattr(node, "decorator_list", ())}
    return {
        (node.end_lineno or 0, node.end_col_offset or 0): Written(
            _name(node.func), (node.lineno, node.col_offset), id(node) in decorators
        )
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    }


def _name(called: ast.expr) -> str:
    parts = []
    while isinstance(called, ast.Attribute):
        parts.append(called.attr)
        called = called.value
    if isinstance(called, ast.Name):
        return ".".join([called.id, *reversed(parts)])
    return f".{parts[0]}" if parts else ""


class Judge:
    """The comparison for one package."""

    def __init__(self, index: SourceIndex) -> None:
        self._resolver = Resolver(Modules(index))
        self._told: dict[tuple[str, str], Resolution] = {}
        self._in_file: dict[str, list[CodeBlock]] = defaultdict(list)
        for block in index.blocks():
            if block.language == "python":
                self._in_file[block.path].append(block)
        self.counts: Counter[str] = Counter()
        self.evidence: Counter[tuple[str, str]] = Counter()
        self.wrong: list[str] = []

    def judge(self, root: Path, rows: Iterable[Row]) -> None:
        """Count the pairs."""
        seen = set()
        for path, first, column, line, last, *what in rows:
            written = calls_in(root / path).get((line, last))
            # A statement may end where a call ends.
            if not written or written.begin > (first, column):
                continue
            ran = Ran(*what)
            block = self._around(path, line, written.name)
            if block and (block.id, written.name, ran) not in seen:
                seen.add((block.id, written.name, ran))
                self._count(block, line, written, ran)

    def _around(self, path: str, line: int, name: str) -> CodeBlock | None:
        """The innermost block on a line that calls the name."""
        found = [
            block
            for block in self._in_file[path]
            if block.lines.start <= line <= block.lines.end and name in block.calls
        ]
        return (
            min(found, key=lambda block: (block.lines.end - block.lines.start, -block.qualname.count(".")))
            if found
            else None
        )

    def _is_block(self, ran: Ran, last: str) -> bool:
        """True if the index has the definition, or the class whose name was called."""
        if ran.made and last == ran.made.rpartition(".")[2] and last != ran.name:
            return any(block.qualname == ran.made for block in self._in_file[ran.made_in])
        return ran.is_among(self._in_file[ran.path])

    def _count(self, block: CodeBlock, line: int, written: Written, ran: Ran) -> None:
        last = written.name.rpartition(".")[2]
        if not self._is_block(ran, last):
            return
        key = (block.id, written.name)
        if key not in self._told:
            self._told[key] = self._resolver.resolve(block, written.name)
        told = self._told[key]
        named = ran.is_meant_by(last) or any(ran.is_meant_by(item.name) for item in told.blocks)
        # A function that is not decorated is itself what runs first.
        plain = told.blocks and all(
            item.kind in (BlockKind.FUNCTION, BlockKind.METHOD)
            and not item.text.startswith("@")
            and item.path.endswith(".py")
            for item in told.blocks
        )
        if not named and (ran.between or written.decorates or not plain or not told.evidence.certain):
            return
        held = ran.is_among(told.blocks)
        certain = told.evidence.certain
        outcome = ("right" if held else "wrong") if certain else "possible" if held else "missed"
        self.counts[outcome] += 1
        self.evidence[told.evidence.value, outcome] += 1
        if outcome in ("wrong", "missed"):
            said = ", ".join(f"{item.qualname} {item.path}:{item.lines.start}" for item in told.blocks[:3])
            self.wrong.append(
                f"{outcome}: {block.path}:{line} {block.qualname}: {written.name} ({told.evidence.value}) is said to be"
                f" {said or 'outside'}; it ran {ran.made or ran.name} {ran.path}:{ran.line}"
            )


def recorded(program: Program) -> tuple[Path, Path, list[Row]]:
    """The Python that has the package, the folder the package is in, and its calls; made on first use."""
    kept = home("cache") / "benchmarks" / "callers"
    python = kept / "python" / "bin" / "python"
    if not python.exists():
        run([sys.executable, "-m", "venv", str(kept / "python")])
        run([str(python), "-m", "pip", "install", "--quiet", "pytest", "hypothesis", *map(_distribution, PROGRAMS)])
    site = next((kept / "python" / "lib").glob("python3*")) / "site-packages"
    calls = kept / "calls" / f"{program.package}.json"
    if not calls.exists():
        calls.parent.mkdir(exist_ok=True)
        unpacked = source_distribution(program.package) if program.folder else site
        root = unpacked / (program.inside or program.package)
        command = [str(python), str(TRACE), str(calls), str(root), *program.command]
        print(f"{shlex.join(command)}: takes minutes", file=sys.stderr)
        run(command, folder=unpacked / program.folder, path=root.parent, seconds=SECONDS)
    return python, site, json.loads(calls.read_text(encoding="utf-8"))


def _distribution(program: Program) -> str:
    """The requirement of a package: of the version of its source distribution, if its tests come from that."""
    name = program.distribution or program.package
    if not program.folder:
        return name
    return f"{name}=={source_distribution(program.package).name.rpartition('-')[2]}"


def run(command: Sequence[str], *, folder: Path | None = None, path: Path | None = None, seconds: float = 3600) -> None:
    """Run a command to its end, or ask it to end when its time is up; tests that fail do not matter."""
    more = {"PYTHONPATH": str(path)} if path else {}
    with subprocess.Popen(command, cwd=folder, env={**os.environ, **more}, stdout=subprocess.DEVNULL) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.wait()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="default: all")
    parser.add_argument("--wrong", action="store_true", help="print the certain answers that are wrong")
    parser.add_argument("--missed", action="store_true", help="print what was missed")
    parser.add_argument("--evidence", action="store_true", help="print the counts by evidence")
    asked = parser.parse_args()
    names = [program.package for program in PROGRAMS]
    if set(asked.packages) - set(names):
        parser.error(f"the packages are {', '.join(names)}")
    head = f"{'package':12}{'pairs':>8}{'certain':>9}{'right':>8}{'wrong':>7}{'':>8}"
    head += f"{'possible':>10}{'missed':>8}{'found':>8}"
    print(f"{head}  bar")
    for program in PROGRAMS:
        if asked.packages and program.package not in asked.packages:
            continue
        python, root, rows = recorded(program)
        source = f"pkg:{program.distribution or program.package}"
        with codenav.index(source, python=python, notice=lambda notice: None) as index:
            judge = Judge(index)
            judge.judge(root, rows)
        found = judge.counts
        certain = found["right"] + found["wrong"]
        share = found["wrong"] / max(certain, 1)
        held = (found["right"] + found["possible"]) / max(found.total(), 1)
        print(
            f"{program.package:12}{found.total():8}{certain:9}{found['right']:8}{found['wrong']:7}{share:8.2%}"
            f"{found['possible']:10}{found['missed']:8}{held:8.1%}  {'met' if share <= BAR else 'NOT met'}"
        )
        for (evidence, outcome), count in sorted(judge.evidence.items()) if asked.evidence else ():
            print(f"    {evidence:24}{outcome:10}{count:6}")
        for line in sorted(judge.wrong):
            if (asked.wrong and line.startswith("wrong")) or (asked.missed and line.startswith("missed")):
                print(f"    {line}")


if __name__ == "__main__":
    main()
