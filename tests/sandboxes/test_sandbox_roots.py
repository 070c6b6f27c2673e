"""Import lines of a repository with several roots: each works in the sandbox as the index tells it."""

from __future__ import annotations

import codenav

PROJECT = "[project]\nname = 'x'\n"
FILES = {
    # A project below, with tests beside it.
    "services/backend/pyproject.toml": PROJECT,
    "services/backend/app/__init__.py": "from .pricing import price\n",
    "services/backend/app/pricing.py": "def price(): return 'backend'\ndef rebate(): return 'rebate'\n",
    "services/backend/test_pricing.py": "from app.pricing import price\n\ndef check(): return price()\n",
    # A src layout, and a package in a folder that `setup.cfg` names.
    "libs/one/pyproject.toml": PROJECT,
    "libs/one/src/one/__init__.py": "from one.deep.inner import area\n",
    "libs/one/src/one/deep/inner.py": "def area(): return 'one'\n",
    "libs/two/setup.cfg": "[options.packages.find]\nwhere = lib\n",
    "libs/two/lib/two.py": "import one\n\ndef both(): return one.area() + ' two'\n",
    # No project at all: files that import each other.
    "scripts/run.py": "from helper import help_out\n\ndef run(): return help_out()\n",
    "scripts/helper.py": "def help_out(): return 'helped'\n",
    # The name of a package that another root has.
    "services/worker/pyproject.toml": PROJECT,
    "services/worker/app/pricing.py": "def cost(): return 'worker'\n",
}
TOLD = {
    "price": ("from app import price", "backend"),
    "rebate": ("from app.pricing import rebate", "rebate"),
    "check": ("from test_pricing import check", "backend"),
    "area": ("from one import area", "one"),
    "both": ("from two import both", "one two"),
    "run": ("from run import run", "helped"),
    "help_out": ("from helper import help_out", "helped"),
    "cost": ("from services.worker.app.pricing import cost", "worker"),
}


def test_import_lines_of_a_repository_with_several_roots(fresh, tmp_path):
    for name, text in FILES.items():
        (tmp_path / "made" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "made" / name).write_text(text)
    with codenav.index(tmp_path / "made") as index:
        functions = {block.name: block for block in index.blocks() if block.kind == "FUNCTION"}
        paths = list(index.source.import_paths)
        notice = index.source.notice
    assert {name: block.import_line for name, block in functions.items()} == {n: told[0] for n, told in TOLD.items()}
    assert notice == "app is in services/backend and in services/worker: code imports the first of each by that name"
    sandbox = fresh(import_paths=paths)
    for name, (line, answer) in TOLD.items():
        execution = sandbox.run(f"{line}\n{functions[name].expression}()")
        assert execution.stdout == f"{answer!r}\n", (line, execution.error)
