"""Builds of the index of one corpus, by the real command line or the Python API, each time in a fresh process."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from corpus import Corpus
from measure import Cost, repeated, run, run_python

import codenav
from codenav.retrieval.source_index import SourceIndex

IN_PROCESS = """
import json, resource, sys, time
import codenav.session.api
def busy():
    usages = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
began, worked = time.perf_counter(), busy()
codenav.session.api.index(sys.argv[1]).close()
print(json.dumps([time.perf_counter() - began, busy() - worked]))
"""


class Builds:
    """Builds of one corpus in a home of its own; they edit the corpus."""

    def __init__(self, corpus: Corpus, home: Path, *, elasticsearch: str = "") -> None:
        self.corpus, self.home = corpus, home
        self.store = "elasticsearch" if elasticsearch else "embedded"
        kept = "CODENAV_ELASTICSEARCH_" if elasticsearch else " "
        self.env = {
            name: value for name, value in os.environ.items() if not name.startswith("CODENAV_") or kept in name
        }
        self.env |= {"CODENAV_HOME": str(home), "CODENAV_STORE": self.store}
        if elasticsearch:
            self.env["CODENAV_ELASTICSEARCH_URL"] = elasticsearch
        files = corpus.python_files()
        if not files:
            sys.exit(f"{corpus.name} holds no Python file to edit")
        self.edited = files[len(files) * 9 // 10]
        """The file whose size exceeds that of nine of ten files."""
        self.edits = 0

    def edit(self) -> None:
        """Add a new function, different in each edit."""
        self.edits += 1
        with open(self.edited, "a", encoding="utf-8") as file:
            file.write(f"\n\ndef added_by_edit_{self.edits}(value: int) -> int:\n    return value + {self.edits}\n")

    def forget(self) -> None:
        """Remove the index, whichever store holds it."""
        if self.store == "embedded":
            shutil.rmtree(self.home, ignore_errors=True)
        else:
            self._codenav("sources", "remove", self.corpus.root, ok=(0, 2))

    def command(self) -> Cost:
        """Run `codenav index`."""
        return self._codenav("index", self.corpus.root)

    def in_process(self) -> Cost:
        """Run `codenav.index`, timed after the import."""
        return run_python(IN_PROCESS, self.corpus.root, env=self.env)

    def ask(self) -> Cost:
        """Run `codenav search` for the function of the last edit; exit if it is not found."""
        name = f"added_by_edit_{self.edits}"
        cost = self._codenav("search", f"name: {name}", "--on", self.corpus.root, "--no-refresh")
        if name not in cost.output:
            sys.exit(f"{name} was written to {self.edited.name} and is not found")
        return cost

    def rows(self, runs: int) -> Iterator[tuple[str, str, Cost]]:
        """Label, key of the bar, and cost of each row."""
        for label, action in (("codenav index", self.command), ("codenav.index()", self.in_process)):
            yield f"{label}, from nothing", "from nothing", repeated(action, runs, self.forget)
            yield f"{label}, nothing changed", "nothing changed", repeated(action, runs)
            yield f"{label}, one file edited", "one file edited", repeated(action, runs, self.edit)
            self.ask()
        yield "codenav search, one query", "", repeated(self.ask, runs)

    def open(self) -> SourceIndex:
        """The existing index, opened in this process."""
        for name in [name for name in os.environ if name.startswith("CODENAV_")]:
            del os.environ[name]
        os.environ.update({name: value for name, value in self.env.items() if name.startswith("CODENAV_")})
        return codenav.index(self.corpus.root, refresh=False)

    def disk(self) -> int:
        """The bytes of all files below the home."""
        return sum(path.stat().st_size for path in self.home.rglob("*") if path.is_file())

    def _codenav(self, *arguments: str | Path, ok: tuple[int, ...] = (0,)) -> Cost:
        return run([sys.executable, "-m", "codenav", *arguments], env=self.env, ok=ok)
