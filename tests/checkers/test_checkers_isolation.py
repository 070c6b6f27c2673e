"""No configuration, plugin or module that lies around reaches the checkers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from codenav.core.system.interpreter import find_interpreter
from codenav.environments.checkers import StepChecks

PLUGIN = "from pathlib import Path\nPath({marker!r}).touch()\ndef plugin(version): raise SystemExit\n"
CONFIGURATION = {
    "mypy.ini": "[mypy]\nplugins = {folder}/evil.py\nignore_errors = True\ndisable_error_code = attr-defined\n",
    ".mypy.ini": "[mypy]\nplugins = {folder}/evil.py\nignore_errors = True\n",
    "setup.cfg": "[mypy]\nplugins = {folder}/evil.py\n[flake8]\nselect = E\n"
    "[flake8:local-plugins]\nextension = X = evil:Plugin\npaths = {folder}\n",
    "tox.ini": "[flake8]\nselect = E\n[flake8:local-plugins]\nextension = X = evil:Plugin\npaths = {folder}\n",
    ".flake8": "[flake8]\nselect = E\n[flake8:local-plugins]\nextension = X = evil:Plugin\npaths = {folder}\n",
    "pyproject.toml": "[tool.mypy]\nplugins = ['{folder}/evil.py']\nignore_errors = true\n"
    "[tool.black]\nline-length = 20\nskip-string-normalization = true\n",
}
MODULES = ("evil", "mypy", "black", "pyflakes", "flake8", "ast", "json", "sitecustomize", "usercustomize")

HOST = """
import json, os, sys
from pathlib import Path
from codenav.core.system.interpreter import find_interpreter
from codenav.environments.checkers import StepChecks
folder = sys.argv[1]
checks = StepChecks(python=find_interpreter(), import_paths=[Path(folder)], formatting=True, seconds=60)
os.chdir(folder)
code = "import evil\\nx = 'a' + 'b' + 'c' + 'd' + 'e'\\nprint(nowhere)\\n'a'.uper()\\n"
for _ in range(2):
    reports = checks.check(code)
    checks.remember("import evil")
environments = [
    Path(f"/proc/{pid}/environ").read_bytes().decode()
    for pid in os.listdir("/proc")
    if pid.isdigit() and Path(f"/proc/{pid}/stat").exists()
    and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1] == str(os.getpid())
]
print(json.dumps({"reports": [r.to_dict() for r in reports], "environments": environments}))
checks.close()
"""


def test_planted_configuration_has_no_effect(tmp_path: Path) -> None:
    marker, folder = tmp_path / "plugin-ran", tmp_path / "work"
    (folder / ".config" / "mypy").mkdir(parents=True)
    for place in (folder, folder / ".config" / "mypy", folder / ".config"):
        for name, text in CONFIGURATION.items():
            (place / name).write_text(text.format(folder=folder))
    (folder / ".config" / "mypy" / "config").write_text(CONFIGURATION["mypy.ini"].format(folder=folder))
    (folder / ".config" / "black").write_text(CONFIGURATION["pyproject.toml"].format(folder=folder))
    for name in MODULES:
        (folder / f"{name}.py").write_text(PLUGIN.format(marker=str(marker)))
    environment = {
        **os.environ,
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder / ".config"),
        "MYPYPATH": str(folder),
        "MYPY_CONFIG_FILE": str(folder / "mypy.ini"),
        "SECRET_TOKEN": "hunter2",
    }
    done = subprocess.run(
        # The host is started elsewhere: what its own interpreter imports is not the subject here.
        [sys.executable, "-P", "-c", HOST, str(folder)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        check=True,
    )
    found = json.loads(done.stdout)
    black, lint, types = found["reports"]
    assert [r["failure"] for r in (black, lint, types)] == ["", "", ""]
    assert black["formatted"].splitlines()[2] == 'x = "a" + "b" + "c" + "d" + "e"'
    assert [(f["code"], f["line_number"]) for f in lint["findings"]] == [("F821", 3)]
    assert [(f["code"], f["line_number"]) for f in types["findings"]] == [("name-defined", 3), ("attr-defined", 4)]
    assert not marker.exists()
    assert len(found["environments"]) == 3
    assert not [text for text in found["environments"] if "hunter2" in text or "MYPY" in text]


def test_a_single_file_and_a_folder_with_odd_names_can_be_imported(tmp_path: Path) -> None:
    odd = tmp_path / "a, b: c"
    odd.mkdir()
    (tmp_path / "lone.py").write_text("def one(a: int) -> int:\n    return a\n")
    (odd / "other.py").write_text("def two(a: int) -> int:\n    return a\n")
    # mypy stops at a file of this name.
    (odd / "types.py").write_text("raise SystemExit\n")
    checks = StepChecks(python=find_interpreter(), import_paths=[tmp_path / "lone.py", odd], lint=False, seconds=60)
    (report,) = checks.check("import lone, other\nlone.one('a')\nother.two('a')\n")
    assert not report.failure
    assert [(f.code, f.line_number) for f in report.findings] == [("arg-type", 2), ("arg-type", 3)]
    checks.close()
