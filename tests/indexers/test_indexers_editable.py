"""Editable installs as build backends leave them, and eggs: the files of a package, and the names of its modules.

The files in site-packages are those that pip wrote for setuptools 65 and 84, hatchling 1.33 and poetry-core 2.5.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from codenav.core.blocks import FileSkip
from codenav.core.errors import UsageError
from codenav.core.system.interpreter import Interpreter
from codenav.indexers.sources import Source, resolve

Tree = Callable[[Mapping[str, str | bytes]], Path]
FINDER = """from __future__ import annotations
import sys
from pathlib import Path
MAPPING: dict[str, str] = %s
NAMESPACES: dict[str, list[str]] = {}
PATH_PLACEHOLDER = '__editable__.demo-1.finder' + ".__path_hook__"
def install():
    sys.meta_path.append(_EditableFinder)
"""
REDIRECTOR = """from editables.redirector import RedirectingFinder as F
F.install()
F.map_module('code', '%s/code/__init__.py')"""


@pytest.fixture
def python(site: Path) -> Interpreter:
    """An interpreter that imports from `site`."""
    prefix = site.parents[2]
    return Interpreter(prefix / "bin" / "python", "3.9.1", prefix, prefix, (site,), ())


def install(site: Path, name: str, project: Path, files: Mapping[str, str], *, tops: str = "") -> None:
    """Lay out what pip leaves of an editable install."""
    info = f"{name.replace('-', '_')}-1.dist-info"
    everything = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n",
        f"{info}/direct_url.json": json.dumps({"url": project.as_uri(), "dir_info": {"editable": True}}),
        **({f"{info}/top_level.txt": tops} if tops else {}),
    }
    for path, text in everything.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
    (site / info / "RECORD").write_text("".join(f"{path},,\n" for path in everything))


def modules(source: Source) -> dict[str, str]:
    return {found.path: source.module_of(found.path) for found in source.files() if not isinstance(found, FileSkip)}


def test_a_namespace_package_without_a_list_of_names(site: Path, python: Interpreter, tree: Tree) -> None:
    root = tree({"src/acme/poem/__init__.py": "", "src/acme/poem/x.py": "", "src/notes.md": "", "tests/test_x.py": ""})
    install(site, "acme-poem", root, {"acme_poem.pth": f"{root}/src\n"})
    source = resolve("pkg:acme-poem", python)
    assert source.root == root / "src"
    assert modules(source) == {"acme/poem/__init__.py": "acme.poem", "acme/poem/x.py": "acme.poem.x"}
    assert source.modules == ("acme", "acme.poem")


def test_all_that_lies_in_its_source_folder(site: Path, python: Interpreter, tree: Tree) -> None:
    root = tree({"src/demo/__init__.py": "", "src/other/__init__.py": "", "src/demo.egg-info/x.txt": ""})
    install(site, "demo", root, {"demo.pth": f"{root}/src"})
    assert modules(resolve("pkg:demo", python)) == {"demo/__init__.py": "demo", "other/__init__.py": "other"}


def test_packages_in_several_folders(site: Path, python: Interpreter, tree: Tree) -> None:
    root = tree({"one/alpha/__init__.py": "", "two/beta/__init__.py": "", "two/beta/x.py": ""})
    install(site, "demo", root, {"demo.pth": f"{root}/one\n{root}/two\n"})
    source = resolve("pkg:demo", python)
    assert source.root == root
    assert modules(source) == {
        "one/alpha/__init__.py": "alpha", "two/beta/__init__.py": "beta", "two/beta/x.py": "beta.x",
    }  # fmt: skip
    assert source.modules == ("alpha", "beta", "beta.x")


def test_packages_that_are_imported_by_other_names(site: Path, python: Interpreter, tree: Tree) -> None:
    root = tree(
        {"lib/widgets/__init__.py": "", "lib/widgets/sub/x.py": "", "extra/h.py": "", "solo.py": "", "no.py": ""}
    )
    names = {
        "gadgets": f"{root}/lib/widgets", "corp.helpers": f"{root}/extra", "solo": f"{root}/solo",
        "gone": f"{root}/gone",
    }  # fmt: skip
    finder = {"__editable___demo_1_finder.py": FINDER % names, "__editable__.demo-1.pth": "import __editable__"}
    install(site, "demo", root, finder, tops="gadgets\ncorp\nsolo\n")
    source = resolve("pkg:demo", python)
    assert (source.root, source.import_paths) == (root, (root,))
    assert modules(source) == {
        "lib/widgets/__init__.py": "gadgets", "lib/widgets/sub/x.py": "gadgets.sub.x", "extra/h.py": "corp.helpers.h",
        "solo.py": "solo",
    }  # fmt: skip
    assert {"gadgets", "corp", "corp.helpers", "solo"} <= set(source.modules)


def test_a_redirecting_finder(site: Path, python: Interpreter, tree: Tree) -> None:
    root = tree({"code/__init__.py": "", "code/x.py": "", "other/__init__.py": ""})
    install(site, "demo", root, {"_editable_impl_demo.py": REDIRECTOR % root, "_editable_impl_demo.pth": "import x"})
    assert modules(resolve("pkg:demo", python)) == {"code/__init__.py": "code", "code/x.py": "code.x"}


@pytest.mark.parametrize(
    "finder", ["MAPPING = {", "MAPPING = {'a': 1, 2: 'b', 'c': 'relative/c', 'd-e': '/', **x}", "\0"]
)
def test_a_finder_that_cannot_be_read(site: Path, python: Interpreter, tree: Tree, finder: str) -> None:
    root = tree({"demo/__init__.py": "", "docs/x.py": ""})
    install(site, "demo", root, {"__editable___demo_1_finder.py": finder})
    assert modules(resolve("pkg:demo", python)) == {"demo/__init__.py": "demo"}


@pytest.mark.parametrize(("inner", "imported"), [("src/demo", "demo"), ("lib/widgets", "gadgets")])
def test_strict_mode(site: Path, python: Interpreter, tree: Tree, inner: str, imported: str) -> None:
    root = tree({f"{inner}/__init__.py": "", f"{inner}/sub/x.py": "", f"{inner}/later.py": ""})
    links = root / "build" / "__editable__.demo-1-py3-none-any"
    for name in ("__init__.py", "sub/x.py"):
        link = links / imported / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(root / inner / name)
    install(site, "demo", root, {"__editable__.demo-1.pth": f"{links}\n"}, tops=f"{imported}\n")
    source = resolve("pkg:demo", python)
    found = {str(source.root.relative_to(root) / path): name for path, name in modules(source).items()}
    assert found == {f"{inner}/__init__.py": imported, f"{inner}/sub/x.py": f"{imported}.sub.x"}
    assert source.modules[0] == imported


def test_several_distributions_in_one_folder(site: Path, python: Interpreter, tree: Tree) -> None:
    root = tree(
        {"src/acme/red/__init__.py": "", "src/acme/blue.py": "", "src/acme/free.py": "", "src/green/__init__.py": ""}
    )
    for name in ("acme-red", "Acme.Blue", "green", "rest"):
        install(site, name, root, {f"{name}.pth": f"{root}/src\n"}, tops="acme\ngreen\n")
    found = {name: list(modules(resolve(f"pkg:{name}", python))) for name in ("acme-red", "acme-blue", "green", "rest")}
    assert found == {
        "acme-red": ["acme/red/__init__.py"],
        "acme-blue": ["acme/blue.py"],
        "green": ["green/__init__.py"],
        "rest": ["acme/free.py"],
    }


@pytest.mark.parametrize(
    ("backend", "table"),
    [
        ("hatchling.build", '[tool.hatch.build.targets.wheel]\npackages = ["demo", "/more"]\n'
                            '[tool.hatch.build.targets.sdist]\ninclude = ["tools"]'),
        ("hatchling.build", '[tool.hatch.build.targets.wheel]\ninclude = ["demo/**/*.py", "/more/*"]'),
        ("poetry.core.masonry.api", '[tool.poetry]\npackages = [{include = "demo"}, {include = "more"}]'),
        ("pdm.backend", '[tool.pdm.build]\nincludes = ["./demo", "more"]'),
    ],
)  # fmt: skip
def test_a_project_without_a_source_folder_declares_its_packages(
    site: Path, python: Interpreter, tree: Tree, backend: str, table: str
) -> None:
    files = dict.fromkeys(["demo/__init__.py", "more/x.py", "tools/__init__.py", "setup.py"], "")
    other = '[tool.coverage]\ninclude = ["tools"]\n'
    root = tree({**files, "pyproject.toml": f'[build-system]\nbuild-backend = "{backend}"\n{other}{table}\n'})
    install(site, "demo", root, {"demo.pth": f"{root}\n"})
    assert modules(resolve("pkg:demo", python)) == {"demo/__init__.py": "demo", "more/x.py": "more.x"}


@pytest.mark.parametrize(
    ("backend", "table"),
    [
        ("flit_core.buildapi", '[tool.flit.module]\nname = "acme.demo"'),
        ("uv_build", '[tool.uv.build-backend]\nmodule-name = "acme.demo"\nmodule-root = ""'),
        ("pdm.backend", '[tool.pdm.build]\nincludes = ["acme/demo"]'),
    ],
)
def test_a_namespace_package_that_a_project_without_a_source_folder_declares(
    site: Path, python: Interpreter, tree: Tree, backend: str, table: str
) -> None:
    root = tree({
        "acme/demo/__init__.py": "", "acme/other.py": "", "tools/__init__.py": "",
        "pyproject.toml": f'[build-system]\nbuild-backend = "{backend}"\n{table}\n',
    })  # fmt: skip
    install(site, "demo-of-acme", root, {"demo.pth": f"{root}\n"})
    assert modules(resolve("pkg:demo-of-acme", python)) == {"acme/demo/__init__.py": "acme.demo"}


def test_a_package_in_the_folder_of_another_one(site: Path, python: Interpreter, tree: Tree) -> None:
    root = tree(dict.fromkeys(["code/__init__.py", "code/x/y.py", "code/z.py"], ""))
    mapping = {"demo": str(root / "code"), "demo.sub": str(root / "code" / "x")}
    install(site, "demo", root, {"__editable___demo_finder.py": FINDER % mapping})
    assert modules(resolve("pkg:demo", python)) == {
        "code/__init__.py": "demo", "code/x/y.py": "demo.sub.y", "code/z.py": "demo.z",
    }  # fmt: skip


def test_the_folder_of_a_project_as_a_package(site: Path, python: Interpreter, tree: Tree) -> None:
    root = tree(dict.fromkeys(["__init__.py", "x.py", "lib/other/y.py"], ""))
    mapping = {"demo": str(root), "other": str(root / "lib" / "other")}
    install(site, "demo", root, {"__editable___demo_finder.py": FINDER % mapping})
    found = [found.path for found in resolve("pkg:demo", python).files() if not isinstance(found, FileSkip)]
    assert found == ["__init__.py", "x.py", "lib/other/y.py"]
    assert modules(resolve("pkg:demo", python)) == {
        "__init__.py": "demo", "x.py": "demo.x", "lib/other/y.py": "other.y",
    }  # fmt: skip


def test_a_project_that_is_the_package(site: Path, python: Interpreter, tree: Tree) -> None:
    root = tree({"demo/__init__.py": "", "demo/a.py": "", "stranger/__init__.py": ""})
    install(site, "other-name", root / "demo", {"demo.pth": f"{root}\n"})
    assert modules(resolve("pkg:other-name", python)) == {"demo/__init__.py": "demo", "demo/a.py": "demo.a"}


def egg(path: Path, files: Mapping[str, str]) -> None:
    info = {"PKG-INFO": "Metadata-Version: 2.1\nName: eggy\nVersion: 2\n", "top_level.txt": "eggy\nlone\n"}
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, **{f"EGG-INFO/{name}": text for name, text in info.items()}}.items():
            archive.writestr(name, text)


def test_a_zipped_egg(site: Path, python: Interpreter, codenav_home: Path) -> None:
    path = site / "eggy-2-py3.9.egg"
    egg(
        path,
        {"eggy/__init__.py": "", "eggy/a.py": "x = 1", "lone.py": "", "../out.py": "", "/abs.py": "", "eggy/b.so": ""},
    )
    python = Interpreter(python.executable, "3.9.1", python.prefix, python.prefix, (site, path), ())
    source = resolve("pkg:eggy", python)
    assert modules(source) == {"eggy/__init__.py": "eggy", "eggy/a.py": "eggy.a", "lone.py": "lone"}
    assert (source.name, source.import_paths) == ("pkg:eggy@2", ())
    assert {path.name for path in codenav_home.rglob("*.py")} == {"__init__.py", "a.py", "lone.py"}
    egg(path, {"eggy/__init__.py": "", "eggy/c.py": ""})
    again = resolve("pkg:eggy", python)
    assert (list(modules(again)), again.key) == (["eggy/__init__.py", "eggy/c.py"], source.key)


def test_a_damaged_egg(site: Path, python: Interpreter) -> None:
    path = site / "eggy-2-py3.9.egg"
    egg(path, {"eggy/a.py": "x = 1\n" * 100})
    data = path.read_bytes()
    path.write_bytes(data.replace(b"x = 1", b"y = 1", 1))
    python = Interpreter(python.executable, "3.9.1", python.prefix, python.prefix, (path,), ())
    with pytest.raises(UsageError, match="is damaged"):
        resolve("pkg:eggy", python)
