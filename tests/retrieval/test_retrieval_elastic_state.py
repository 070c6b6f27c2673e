"""The states of files in Elasticsearch, as documents: no server."""

from __future__ import annotations

import json

from codenav.core.blocks import FileState
from codenav.retrieval.elastic.lines import ROLE, FileEntry, file_lines, read_files


def test_states_are_read_back_also_those_without_inodes() -> None:
    files = {"a.py": FileEntry(FileState(1, 99, "d", 98, 97, "a"), {"FUNCTION": 2}, {"python": 2})}
    [lines] = file_lines(files, files)
    document = json.loads(lines.split(b"\n")[1])
    [content] = [json.loads(text) for key, text in document.items() if key != ROLE]
    assert read_files([content]) == files
    without = {path: row[:5] for path, row in content.items()}
    assert read_files([without])["a.py"].state == FileState(1, 99, "d")
