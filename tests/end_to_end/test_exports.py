"""Exported scripts and notebooks run as they are: a fresh interpreter or kernel, another folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

import codenav
from codenav.core.actions import Action
from codenav.episodes.record import EpisodeResult

AREA = "from farm.fields import Field\n\narea = Field(20, 30).area()\nprint(area)\n"


@dataclass(frozen=True)
class Place:
    """A folder in which nothing of the run is, and what is run in it."""

    folder: Path

    def script(self, result: EpisodeResult, *, expect: int = 0) -> tuple[str, str]:
        """Stdout and stderr of the exported script in an interpreter that no setting reaches; and its text."""
        path = result.to_script(self.folder / "run.py")
        ran = subprocess.run(
            [sys.executable, "-I", "-W", "error", path.name], cwd=self.folder, env={}, capture_output=True, text=True
        )
        assert ran.returncode == expect, ran.stderr
        return (ran.stderr if expect else ran.stdout), path.read_text()

    def notebook(self, result: EpisodeResult) -> dict[str, str]:
        """What the cells print in a fresh kernel, by the id of the cell."""
        written = nbformat.read(result.to_notebook(self.folder / "run.ipynb"), as_version=4)
        for cell in written.cells:
            cell.pop("outputs", None) if cell.cell_type != "code" else cell.update(outputs=[])
        NotebookClient(written, timeout=60, resources={"metadata": {"path": str(self.folder)}}).execute()
        return {cell.id: "".join(map(printed, cell.outputs)) for cell in written.cells if cell.cell_type == "code"}


def printed(output: Any) -> str:
    return str(output.get("text") or output.get("evalue") or output.get("data", {}).get("text/plain", ""))


@pytest.fixture
def elsewhere(tmp_path: Path) -> Place:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return Place(folder)


def played(on: object, actions: Sequence[Action], **options: Any) -> EpisodeResult:
    """A run of these actions, as its record tells it."""
    result = codenav.run("Go.", on=on, model=codenav.ScriptedModel(list(actions)), **options)  # type: ignore[arg-type]
    assert result.status == "done", result.reason
    return codenav.load_episode(result.id)


def one_file(library: Path) -> Path:
    """A module outside the package, with a neighbour that would be in the way."""
    folder = library.parent / "tools"
    folder.mkdir()
    (folder / "areas.py").write_text("def square(side: float) -> float:\n    return side * side\n")
    return folder / "areas.py"


def repository(library: Path) -> str:
    def git(*arguments: str) -> None:
        who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(["git", *who, *arguments], cwd=library, check=True, capture_output=True)

    git("init", "--initial-branch", "main")
    git("add", ".")
    git("commit", "--message", "farm")
    return f"git:{library}@main"


SOURCES: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "folder": (lambda library: library, AREA, "600"),
    "file": (one_file, "import areas\n\nprint(areas.square(3))\n", "9"),
    "git": (repository, AREA, "600"),
    "package": (lambda _: "pkg:networkx", "import networkx as nx\n\nprint(len(nx.karate_club_graph()))\n", "34"),
    "several": (lambda library: [library, one_file(library)], f"import areas\n{AREA}print(areas.square(3))", "600\n9"),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_script_and_notebook_of_any_source_run_elsewhere(kind: str, library: Path, elsewhere: Place) -> None:
    make, code, expected = SOURCES[kind]
    result = played(make(library), [codenav.Code(code), codenav.Done("There.")])
    assert result.summary.verified, result.summary.reason
    out, text = elsewhere.script(result)
    assert out.strip() == expected
    assert result.summary.code in text
    cells = elsewhere.notebook(result)
    assert cells["step-1-code"].strip() == expected and cells["summary-code"].strip() == expected
    # Nothing is added where nothing is needed.
    assert ("sys.path" in text, "setup" in cells) == ((False, False) if kind == "package" else (True, True))


def test_a_script_says_which_sources_and_versions_it_needs(library: Path, elsewhere: Place) -> None:
    spec = repository(library)
    result = played([library, spec, "pkg:networkx"], [codenav.Code(AREA), codenav.Done("600")])
    comments = [line for line in elsewhere.script(result)[1].splitlines() if line.startswith("# ")]
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=library, capture_output=True, text=True).stdout[:12]
    version = result.sources[2]["versions"]["networkx"]
    assert f"# The code of {library}" in comments
    assert f"# The code of git:file://{library}@main at commit {commit}" in comments
    assert f"# networkx=={version}" in comments


def test_a_missing_code_base_is_told_in_one_sentence(library: Path, elsewhere: Place) -> None:
    result = played(library, [codenav.Code(AREA), codenav.Done("600")])
    library.rename(library.with_name("moved"))
    told = f"{library / 'src'} is not there, and this "
    assert elsewhere.script(result, expect=1)[0] == f"{told}script needs it\n"
    with pytest.raises(CellExecutionError, match=f"{told}notebook needs it"):
        elsewhere.notebook(result)


READS = (
    "import csv\n\nwith open('loans.csv') as file:\n    total = sum(int(row['sum']) for row in csv.DictReader(file))"
)
WRITES = "with open('total.txt', 'w') as file:\n    file.write(str(total))\nprint(total)\n"


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A work folder with a file that is read, one that is not, and one that an earlier run had written."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "loans.csv").write_text("city,sum\nBonn,3\nUlm,4\n")
    (folder / "other.csv").write_text("x\n")
    (folder / "total.txt").write_text("0")
    return folder


def test_input_files_are_named_and_missed_at_once(library: Path, inputs: Path, elsewhere: Place) -> None:
    result = played(library, [codenav.Code(READS), codenav.Code(WRITES), codenav.Done("7")], work_dir=inputs)
    assert result.summary.verified, result.summary.reason
    assert result.input_files() == ["loans.csv", "other.csv", "total.txt"]
    told, text = elsewhere.script(result, expect=1)
    assert told == f"{elsewhere.folder / 'loans.csv'} is not there, and this script needs it\n"
    assert f"# Input files in the current directory: loans.csv (the run took them from {inputs})\n" in text
    with pytest.raises(CellExecutionError, match=r"loans\.csv is not there, and this notebook needs it"):
        elsewhere.notebook(result)
    (elsewhere.folder / "loans.csv").write_bytes((inputs / "loans.csv").read_bytes())
    assert elsewhere.script(result)[0] == "7\n"
    assert elsewhere.notebook(result)["summary-code"] == "7\n"


@pytest.mark.parametrize(
    "code",
    [
        "from pathlib import Path\n\ntotal = len(list(Path().glob('*.csv')))\nprint(total)\n",
        "names = [f'{name}.csv' for name in ('loans', 'other')]\ntotal = len([open(name).close() for name in names])\n",
    ],
)
def test_files_that_only_a_pattern_names_are_needed(code: str, library: Path, inputs: Path, elsewhere: Place) -> None:
    result = played(library, [codenav.Code(code), codenav.Done("2")], work_dir=inputs)
    assert "Input files in the current directory: loans.csv, other.csv (" in elsewhere.script(result, expect=1)[1]


def test_steps_that_failed_do_not_stop_a_notebook(library: Path, elsewhere: Place) -> None:
    steps = ["area = 1 / 0", "import os\nos._exit(3)", "while True:\n    pass", AREA]
    result = played(library, [*map(codenav.Code, steps), codenav.Done("600")], code_timeout=1.0)
    cells = elsewhere.notebook(result)
    assert cells["step-1-code"] == "division by zero"
    assert set(cells) == {"setup", "step-1-code", "step-4-code", "summary-code"}
    assert cells["summary-code"] == "600\n"


def test_the_notebook_of_a_later_request_of_a_session_runs(library: Path, elsewhere: Place) -> None:
    script = [codenav.Code(AREA), codenav.Done("600"), codenav.Code("print(area * 2)"), codenav.Done("1200")]
    with codenav.Session(on=library, model=codenav.ScriptedModel(script)) as session:
        session.run("Area of 20 by 30?")
        second = session.run("And twice that?")
    assert elsewhere.notebook(second)["step-1-code"] == "1200\n"


def test_what_python_wants_first_stays_first(library: Path, elsewhere: Place) -> None:
    code = f'"""Areas."""\nfrom __future__ import annotations; import farm\n{AREA}print(__doc__)\n'
    result = played(library, [codenav.CodeSummary(code), codenav.Done("600")])
    out, text = elsewhere.script(result)
    assert out == "600\nAreas.\n"
    assert text.index("from __future__") < text.index("sys.path") < text.index("import farm")


def test_a_record_without_import_paths_reads_and_exports(library: Path, elsewhere: Place) -> None:
    result = played(library, [codenav.Code("print(6 * 7)"), codenav.Done("42")])
    assert result.folder is not None
    record = result.folder / "events.jsonl"
    older = record.read_text().replace(f',"import_paths":["{library / "src"}"]', "")
    assert older != record.read_text()
    record.write_text(older)
    out, text = elsewhere.script(codenav.load_episode(result.id))
    assert out == "42\n" and "sys.path" not in text
