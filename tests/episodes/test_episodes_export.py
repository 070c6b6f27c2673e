"""Exports: notebook, script, JSON, frame; with hostile text, and to awkward places."""

from __future__ import annotations

import ast
import base64
import json
import os
import re
import subprocess
import sys
import tokenize
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pandas
import pytest
from markdown_it import MarkdownIt

from codenav.core.actions import (
    Ask,
    AskObservation,
    Code,
    CodeObservation,
    Done,
    DoneObservation,
    InvalidAction,
    Search,
    SearchObservation,
    Summary,
    Unreadable,
)
from codenav.core.blocks import SearchResult
from codenav.core.errors import NotFound, StorageFull, UsageError
from codenav.core.events import Status
from codenav.core.execution import Execution, ExecutionError, Outcome
from codenav.episodes.record import EpisodeResult

Recorded = Callable[..., EpisodeResult]

HOSTILE = (
    "</details></pre></code><script>alert(1)</script><img src=x onerror=alert(2)>\n"
    "```\n<b>out</b>\n````````\n~~~\n![t](http://tracker.example/t.png) [l](javascript:alert(3))\n"
    "\x1b[31mred\x1b]0;title\x07\x9b2J\x00\b\u202egnp.exe\n# Heading\n- item\r\n$\\href{javascript:alert(4)}{x}$\n"
)


def notebook_of(result: EpisodeResult, folder: Path) -> Any:
    """Write the notebook, read it as Jupyter does, and validate it."""
    path = result.to_notebook(folder / "run.ipynb")
    read = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    assert (read.nbformat, read.nbformat_minor) == (4, 5)
    nbformat.validate(read)
    return read


def cells(notebook: Any, kind: str) -> dict[str, Any]:
    return {cell.id: cell for cell in notebook.cells if cell.cell_type == kind}


def test_a_notebook_tells_the_episode(recorded: Recorded, tmp_path: Path) -> None:
    result = recorded()
    notebook = notebook_of(result, tmp_path)
    texts, codes = cells(notebook, "markdown"), cells(notebook, "code")
    assert "Which node has the highest betweenness?" in texts["request"].source
    assert "look for it" in texts["step-1"].source and "betweenness(" in texts["step-1"].source
    assert "FUNCTION networkx/centrality.py:20-21  def betweenness_centrality(G, k=None)" in texts["step-1"].source
    assert "1 shown of 4" in texts["step-1"].source and "read as: betweenness" in texts["step-1"].source
    assert texts["step-2"].source.startswith("## Step 2: no valid action")
    assert "the karate club" in texts["step-6"].source
    assert "reproduced" in texts["step-7"].source
    assert "Node 0" in texts["answer"].source and "reproduced" in texts["summary"].source
    assert codes["summary-code"].source == result.summary.code.rstrip("\n")
    assert [codes[id].execution_count for id in codes] == [1, 2, None]
    assert notebook.metadata.language_info.version == "3.11.7"
    assert notebook.metadata.codenav == {"id": result.id, "status": "done", "format": 2}


def test_a_notebook_has_the_real_outputs(recorded: Recorded, tmp_path: Path) -> None:
    notebook = notebook_of(recorded(), tmp_path)
    codes, texts = cells(notebook, "code"), cells(notebook, "markdown")
    failed, worked = (codes[f"step-{number}-code"].outputs for number in (3, 5))
    assert failed[0] == {"output_type": "stream", "name": "stderr", "text": "warning: old\n"}
    assert (failed[1].ename, failed[1].evalue) == ("ZeroDivisionError", "division by zero")
    assert failed[1].traceback == ["Traceback …", "ZeroDivisionError"]
    assert failed[2].text == "[state kept]\n"
    assert "os._exit(3)" in texts["step-4"].source and "crashed: the process that ran" in texts["step-4"].source
    assert worked[0].text == "[from threads of earlier steps]\nlate\n"
    assert worked[1] == {"output_type": "stream", "name": "stdout", "text": "node 0\n"}
    assert base64.b64decode(worked[2].data["image/png"]).startswith(b"\x89PNG")
    assert worked[3].data["image/svg+xml"].startswith("<svg ")
    assert worked[4].data["text/html"].startswith("<table>")


def test_a_notebook_depends_on_the_episode_alone(recorded: Recorded, tmp_path: Path) -> None:
    result = recorded()
    first = result.to_notebook(tmp_path / "a.ipynb").read_bytes()
    assert result.to_notebook(tmp_path / "b.ipynb").read_bytes() == first


def test_hostile_text_is_inert_in_a_notebook(recorded: Recorded, tmp_path: Path) -> None:
    error = ExecutionError("E", HOSTILE, "x", 1, HOSTILE)
    execution = Execution(
        Outcome.ERROR, stdout=HOSTILE, stderr=HOSTILE, late_output=HOSTILE, error=error, notice=HOSTILE
    )
    search = SearchObservation(HOSTILE, results=[SearchResult(HOSTILE, [], 0, HOSTILE, [HOSTILE])])
    taken = [
        (Search(HOSTILE, HOSTILE), search),
        (Code("x", HOSTILE), CodeObservation(HOSTILE, execution=execution)),
        (Unreadable(HOSTILE, HOSTILE), InvalidAction(HOSTILE, "no_action")),
        (Ask(HOSTILE, HOSTILE), AskObservation(HOSTILE)),
        (Done(HOSTILE, HOSTILE), DoneObservation(HOSTILE)),
    ]
    result = recorded(request=HOSTILE, taken=taken)
    result = replace(result, answer=HOSTILE, reason=HOSTILE, summary=Summary(reason=HOSTILE, code="x = 1"))
    notebook = notebook_of(result, tmp_path)
    fences = 0
    for cell in cells(notebook, "markdown").values():
        tokens = MarkdownIt("commonmark", {"html": True}).parse(cell.source)
        for token in tokens:
            inner = {child.type for child in token.children or []}
            assert token.type in {
                "heading_open",
                "inline",
                "heading_close",
                "paragraph_open",
                "paragraph_close",
                "fence",
            }
            assert inner <= {"text"}
            fences += token.type == "fence"
            if token.type != "fence":
                assert "alert" not in token.content and "Heading" not in token.content
    assert fences > 15
    controls = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e]")
    assert not controls.search((tmp_path / "run.ipynb").read_text())
    for cell in notebook.cells:
        assert not controls.search(json.dumps(cell, ensure_ascii=False).replace("\\n", ""))
        assert "\\u001b" not in json.dumps(cell)


def test_a_script_runs_and_says_where_it_is_from(recorded: Recorded, tmp_path: Path) -> None:
    result = recorded(request="two\nlines")
    result = replace(result, summary=Summary(True, code="from __future__ import annotations\n\nprint(6 * 7)\n"))
    path = result.to_script(tmp_path / "run.py")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    assert done.stdout == "42\n"
    comments = [line for line in path.read_text().splitlines() if line.startswith("#")]
    assert comments[0] == f"# Code summary of episode {result.id}."
    assert "# In a fresh sandbox: reproduced." in comments
    assert "# Python 3.11.7" in comments and "# networkx==3.6.1" in comments
    assert comments[-3:] == ["# Request:", "# two", "# lines"]


@pytest.mark.parametrize(
    "text",
    [
        HOSTILE,
        "coding: utf-7\ncoding: utf-7\ncoding: utf-7",
        "a\rimport os; os._exit(9)\x0cimport os\u2028import os\x85import os\x0bimport os",
        '"""\nimport os; os._exit(9)\n"""',
        "ends with a backslash \\",
        "\udc80",
        "",
    ],
)
def test_nothing_in_the_header_of_a_script_is_code(recorded: Recorded, tmp_path: Path, text: str) -> None:
    result = replace(recorded(request=text), summary=Summary(reason=text, code="answer = 42\n"))
    path = result.to_script(tmp_path / "run.py")
    with open(path, "rb") as file:
        assert tokenize.detect_encoding(file.readline)[0] == "utf-8"
    (statement,) = ast.parse(path.read_bytes()).body
    assert ast.unparse(statement) == "answer = 42"
    assert "not run" in path.read_text()


def test_a_script_of_an_episode_without_a_summary_is_its_steps(recorded: Recorded, tmp_path: Path) -> None:
    result = replace(recorded(), summary=Summary(reason="the model was not reachable"))
    text = result.to_script(tmp_path / "run.py").read_text()
    assert text.endswith("\nbest = 0\nprint('node', best)\n") and "os._exit" not in text
    assert "# In a fresh sandbox: not run: the model was not reachable." in text


def test_the_json_export_is_the_document(recorded: Recorded, tmp_path: Path) -> None:
    result = recorded(request="größer \udc80")
    path = result.to_json(tmp_path / "run.json")
    assert json.loads(path.read_text()) == result.to_dict()
    assert "größer" in path.read_text()


def test_a_frame_has_a_row_per_step(recorded: Recorded) -> None:
    frame = recorded().to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == [
        "number", "thought", "action", "content", "outcome", "shown", "seconds", "input_tokens", "output_tokens",
    ]  # fmt: skip
    assert list(frame.action) == ["search", "invalid", "code", "code", "code", "ask", "code_summary", "done"]
    assert list(frame.outcome) == ["1 hit", "invalid", "error", "crashed", "ok", "ok", "reproduced", "ok"]
    assert frame.input_tokens.sum() == 3600
    assert frame.set_index("number").loc[5, "shown"] == "node 0"
    assert list(EpisodeResult("x", "y", Status.DONE).to_frame().columns) == list(frame.columns)


def test_an_existing_file_is_replaced_whole_and_keeps_its_mode(recorded: Recorded, tmp_path: Path) -> None:
    path, result = tmp_path / "run.json", recorded()
    path.write_text("x" * 10_000_000)
    path.chmod(0o640)
    result.to_json(path)
    assert json.loads(path.read_text())["id"] == result.id
    assert path.stat().st_mode & 0o777 == 0o640
    link = tmp_path / "link.json"
    link.symlink_to(path)
    result.to_json(link)
    assert link.is_symlink() and json.loads(path.read_text())["id"] == result.id
    assert sorted(os.listdir(tmp_path)) == ["episodes", "link.json", "run.json"]


def test_a_new_file_has_the_usual_mode(recorded: Recorded, tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    path = recorded().to_script(tmp_path / "run.py")
    assert path.stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_places_that_cannot_be_written(recorded: Recorded, tmp_path: Path) -> None:
    result = recorded()
    with pytest.raises(NotFound) as missing:
        result.to_notebook(tmp_path / "none" / "run.ipynb")
    assert missing.value.hint == f"mkdir -p {tmp_path / 'none'}"
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="not a regular file"):
        result.to_script(tmp_path / "folder")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="not a regular file"):
        result.to_json(tmp_path / "pipe")
    with pytest.raises(UsageError, match="not a regular file"):
        result.to_json("/dev/null")
    with pytest.raises(StorageFull, match="File name too long"):
        result.to_json(tmp_path / ("x" * 300))


def test_a_full_disk_leaves_the_old_file(recorded: Recorded, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    code = (
        "import os, sys; from pathlib import Path\n"
        "from codenav.episodes.export import write_json\n"
        "from codenav.core.errors import StorageFull\n"
        "path = Path(sys.argv[1], 'run.json'); path.write_text('old')\n"
        "try: write_json({'a': 'x' * 500_000}, path)\n"
        "except StorageFull as error: print(error)\n"
        "print(path.read_text(), os.listdir(path.parent))\n"
    )
    command = [
        "bwrap",
        "--dev-bind",
        "/",
        "/",
        "--size",
        "65536",
        "--tmpfs",
        str(disk),
        sys.executable,
        "-c",
        code,
        str(disk),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"cannot write {disk}/run.json: No space left on device\nold ['run.json']\n"
