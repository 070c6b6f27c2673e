"""`pkg:NAME` and paths: found, described, and refused with what was meant."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from codenav.core.blocks import FileSkip
from codenav.core.errors import CodeNavError, NotFound, UsageError
from codenav.core.system.interpreter import Interpreter
from codenav.indexers import index_groups as named
from codenav.indexers.file_blocks import file_blocks
from codenav.indexers.modules import readme_paragraph
from codenav.indexers.place import Place
from codenav.indexers.sources import Source, key_of, resolve, together
from codenav.indexers.walk import walk

Tree = Callable[[Mapping[str, str | bytes]], Path]


KINDS = "name a folder, a file, pkg:NAME, git:URL@REV, openapi:FILE, mcp:COMMAND, or tools:FILE"


@pytest.fixture
def other(site: Path) -> Interpreter:
    """An interpreter of another version, whose packages are files that the test writes."""
    prefix = site.parents[2]
    return Interpreter(prefix / "bin" / "python", "3.9.1", prefix, prefix, (site,), (("Demo.Pkg", "1.0"),))


def install(site: Path, name: str, files: Mapping[str, str], *, version: str = "1.0", **extra: str) -> None:
    """Lay out an installed distribution as pip does; `extra` are further files of its metadata."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: About {name}.\n"
    everything = {**files, f"{info}/METADATA": metadata, **{f"{info}/{key}": text for key, text in extra.items()}}
    for path, text in everything.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
    (site / info / "RECORD").write_text("".join(f"{path},,\n" for path in [*everything, f"{info}/RECORD"]))


def files_of(source: Source) -> list[str]:
    return [found.path for found in walk(source.root, members=source.members) if not isinstance(found, FileSkip)]


def test_an_installed_package(interpreter: Interpreter) -> None:
    source = resolve("pkg:networkx", interpreter)
    version = source.versions["networkx"]
    assert source.name == f"pkg:networkx@{version}"
    assert source.key.startswith(f"networkx-{version}-")
    assert source.root.name == "site-packages"
    assert source.import_paths == ()
    assert source.summary == "Python package for creating and manipulating graphs and networks"
    assert {"networkx", "networkx.algorithms"} <= set(source.modules)
    paths = files_of(source)
    assert "networkx/algorithms/centrality/betweenness.py" in paths
    assert {path.partition("/")[0] for path in paths} == {"networkx", f"networkx-{version}.dist-info"}
    assert (
        source.module_of("networkx/algorithms/centrality/betweenness.py")
        == "networkx.algorithms.centrality.betweenness"
    )
    assert source.module_of("networkx/__init__.py") == "networkx"


def test_only_its_own_importable_files_and_documents(site: Path, other: Interpreter) -> None:
    install(
        site, "google-cloud-a", {"google/cloud/a/__init__.py": "", "google/cloud/a/README.md": "# A\n", "x.json": "{}"}
    )
    install(site, "google-cloud-b", {"google/cloud/b/core.py": "", "google/cloud/b/core.pyi": ""})
    record = next(site.glob("google_cloud_a*/RECORD"), site / "google-cloud-a-1.0.dist-info" / "RECORD")
    with record.open("a") as file:
        file.write("../../../bin/tool.py,,\n/etc/x.py,,\ngoogle/cloud/a/__pycache__/x.py,,\n")
    a, b = resolve("pkg:google-cloud-a", other), resolve("pkg:Google_Cloud.B", other)
    assert files_of(a) == ["google/cloud/a/README.md", "google/cloud/a/__init__.py"]
    assert files_of(b) == ["google/cloud/b/core.py", "google/cloud/b/core.pyi"]
    assert b.module_of("google/cloud/b/core.py") == "google.cloud.b.core"
    assert (a.name, b.name) == ("pkg:google-cloud-a@1.0", "pkg:google-cloud-b@1.0")
    assert a.key != b.key


def test_the_readme_of_a_distribution_is_a_document(site: Path, other: Interpreter) -> None:
    """From its metadata, in the markup that they name; reStructuredText if they name none."""
    readme = "# Fast\n\nIt is.\n\n## Use\n\n```python\nfast.go(alpha=1)\n```\n"
    for kind, titles in (("text/markdown; charset=UTF-8", ["Fast", "Fast > Use"]), ("", ["README"])):
        head = "Metadata-Version: 2.1\nName: fast\nVersion: 1.0\n"
        head += f"Description-Content-Type: {kind}\n" if kind else ""
        install(site, "fast", {"fast.py": "x = 1\n"})
        (site / "fast-1.0.dist-info" / "METADATA").write_text(f"{head}\n{readme}")
        assert files_of(resolve("pkg:fast", other)) == ["fast-1.0.dist-info/METADATA", "fast.py"]
        place = Place("pkg:fast@1.0", "fast-1.0.dist-info/METADATA")
        blocks, _ = file_blocks(f"{head}\n{readme}", place, "text")
        assert [block.qualname for block in blocks or ()] == titles
        assert "".join(block.text for block in blocks or ()) == readme
        assert blocks and blocks[0].lines.start == head.count("\n") + 2


def test_of_a_distribution_that_is_all_compiled_its_metadata_are_read(site: Path, other: Interpreter) -> None:
    install(site, "fast", {"fast.cpython-39-x86_64-linux-gnu.so": "\0"})
    assert files_of(resolve("pkg:fast", other)) == ["fast-1.0.dist-info/METADATA"]


def test_a_distribution_without_a_list_of_files(site: Path, other: Interpreter) -> None:
    info = site / "olddist-2.0.egg-info"
    info.mkdir()
    (info / "PKG-INFO").write_text("Metadata-Version: 1.1\nName: olddist\nVersion: 2.0\nSummary: UNKNOWN\n")
    (info / "top_level.txt").write_text("old\nolder\n")
    (site / "old").mkdir()
    (site / "old" / "__init__.py").write_text("")
    (site / "older.py").write_text("")
    (site / "stranger.py").write_text("")
    source = resolve("pkg:olddist", other)
    assert files_of(source) == ["old/__init__.py", "older.py"]
    assert source.summary == ""


def test_a_real_editable_install(tree: Tree, tmp_path: Path) -> None:
    """With pip and the build backend that is at hand, into a folder that stands for site-packages."""
    project = tree(
        {
            "pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n",
            "backend.py": BACKEND,
            "shapes/__init__.py": "",
            "shapes/area.py": "def area(): pass\n",
        }
    )
    target = tmp_path / "env"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-build-isolation"]
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(target)], check=True)
    subprocess.run([*pip[:3], "--python", str(target / "bin" / "python"), *pip[3:], "-e", str(project)], check=True)
    from codenav.core.system.interpreter import find_interpreter

    python = find_interpreter(target)
    source = resolve("pkg:shapes", python)
    assert (source.root, files_of(source)) == (project, ["shapes/__init__.py", "shapes/area.py"])
    imported = [str(python.executable), "-c", "from shapes.area import area"]
    assert subprocess.run(imported, cwd=tmp_path).returncode == 0
    assert source.module_of("shapes/area.py") == "shapes.area"


def test_what_was_installed_since_is_seen(tmp_path: Path) -> None:
    from codenav.core.system.interpreter import find_interpreter

    target = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(target)], check=True)
    python = find_interpreter(target)
    assert find_interpreter(target) is python
    [packages] = [path for path in python.paths if path.is_relative_to(target)]
    (packages / "late-1.0.dist-info").mkdir()
    (packages / "late-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: late\nVersion: 1.0\n")
    assert find_interpreter(target).version_of("late") == "1.0"


BACKEND = """
import os, zipfile
def build_editable(folder, config_settings=None, metadata_directory=None):
    name = "shapes-0.1-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr("shapes.pth", os.getcwd())
        wheel.writestr("shapes-0.1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: shapes\\nVersion: 0.1\\n")
        wheel.writestr("shapes-0.1.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("shapes-0.1.dist-info/RECORD", "shapes.pth,,\\n")
    return name
def build_wheel(*arguments):
    raise RuntimeError("only editable")
"""  # noqa: E501


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("pkg:PIL", "did you mean pkg:pillow?"),
        ("pkg:pilow", "did you mean pkg:pillow?"),
        ("pkg:Demo_Pgk", "did you mean pkg:demo-pkg?"),
        ("pkg:json", "json is part of Python's standard library: name its folder or file instead"),
        ("pkg:quite-another", "python -m pip install quite-another"),
        ("pkg:nope", "python -m pip install nope"),
        ("pkg:codenav", "pkg:codenav-agent: the package index has another project under the name codenav"),
        ("pkg:pillow@9", "codenav index pkg:pillow, or name another environment with --python"),
        ("pkg:pillow==10.1", "codenav index pkg:pillow, or name another environment with --python"),
    ],
)
def test_a_package_that_is_not_installed(site: Path, other: Interpreter, spec: str, hint: str) -> None:
    install(site, "pillow", {"PIL/__init__.py": ""}, version="10.0")
    install(site, "Demo.Pkg", {"demo.py": ""})
    install(site, "openai", {"openai.py": ""})
    (site / "broken-1.0.dist-info").mkdir()
    with pytest.raises(NotFound) as caught:
        resolve(spec, other)
    assert hint in caught.value.hint
    assert caught.value.exit_code == 2


def test_a_package_may_be_named_with_its_version_only(site: Path, other: Interpreter) -> None:
    install(site, "pillow", {"PIL/__init__.py": ""}, version="10.0")
    for version in ("@10.0", "==10.0", " == 10.0"):
        assert resolve(f"pkg:Pillow{version}", other).name == "pkg:pillow@10.0"
    with pytest.raises(NotFound, match=r"pillow 9 is not installed in .*, but 10\.0"):
        resolve("pkg:pillow==9", other)


@pytest.mark.parametrize(
    "spec", ["pkg:pillow==", "pkg:pillow@", "pkg:==1", "pkg:pillow>=1", "pkg:a b", "pkg:pillow[all]", "pkg:-e", "pkg:."]
)
def test_what_is_no_package(other: Interpreter, spec: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(spec, other)
    assert (caught.value.hint, caught.value.exit_code) == ("pkg:NAME or pkg:NAME==VERSION", 2)


def test_several_sources_as_one(tree: Tree, site: Path, other: Interpreter) -> None:
    root = tree({"maps/setup.py": "", "maps/roads.py": "", "old/maps/setup.py": "", "tool.py": "", "old/x.bin": ""})
    os.symlink("/etc", root / "maps" / "out")
    install(site, "demo", {"demo/__init__.py": ""})
    specs = [str(root / "maps"), str(root / "old" / "maps"), "pkg:demo", str(root / "tool.py")]
    source = together("name:all", [resolve(spec, other) for spec in specs])
    found = {found.path: found for found in source.files()}
    assert {path for path, each in found.items() if not isinstance(each, FileSkip)} == {
        "maps/roads.py", "maps/setup.py", "maps-2/setup.py", "demo/demo/__init__.py", f"{root.name}/tool.py",
    }  # fmt: skip
    assert found["maps/out"] == FileSkip("maps/out", "link that leads out of the source")
    assert source.name_of("maps-2/setup.py") == str(root / "old" / "maps")
    assert source.name_of("demo/demo/__init__.py") == "pkg:demo@1.0"
    assert source.module_of("demo/demo/__init__.py") == "demo"
    assert source.module_of("maps/roads.py") == "roads"
    assert source.versions == {"demo": "1.0"}
    assert set(source.import_paths) == {root / "maps", root / "old" / "maps", root / "tool.py"}
    with pytest.raises(UsageError, match="is named twice"):
        together("name:all", [resolve("pkg:demo", other), resolve("pkg:demo==1.0", other)])


def test_a_named_index_is_found_by_its_name(tree: Tree, interpreter: Interpreter) -> None:
    root = tree({"a/x.py": "", "b/x.py": ""})
    named.define("name:pair", [str(root / "a"), str(root / "b")])
    source = resolve("name:pair", interpreter)
    assert (source.key, list(source.parts)) == (key_of("name:pair", interpreter), ["a", "b"])
    with pytest.raises(NotFound) as caught:
        resolve("name:pairs", interpreter)
    assert caught.value.hint == "did you mean name:pair?"
    for spec in ("name:", "name:../x", "name:a b", f"name:{'x' * 41}"):
        with pytest.raises(UsageError):
            resolve(spec, interpreter)
    with pytest.raises(UsageError, match="is a named index itself"):
        named.define("name:deep", ["name:pair"])
    named.forget("name:pair")
    with pytest.raises(NotFound):
        resolve("name:pair", interpreter)


def test_a_folder_that_cannot_be_listed_is_not_empty(tree: Tree, interpreter: Interpreter) -> None:
    source = resolve(str(tree({"a.py": ""})), interpreter)
    source.root.rename(source.root.with_name("elsewhere"))
    with pytest.raises(UsageError, match=r"cannot read .*: no such file or directory"):
        list(source.files())


def test_the_same_package_in_two_environments_has_two_keys(site: Path, other: Interpreter, tmp_path: Path) -> None:
    install(site, "demo", {"demo.py": ""})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    install(elsewhere, "demo", {"demo.py": ""})
    second = Interpreter(other.executable, "3.9.1", tmp_path, tmp_path, (elsewhere,))
    assert resolve("pkg:demo", other).key != resolve("pkg:demo", second).key


def test_a_folder(tree: Tree, interpreter: Interpreter) -> None:
    root = tree(
        {
            "pyproject.toml": '[project]\nname = "x"\ndescription = "Routes on maps."\n',
            "README.md": "# Maps\n\nOther words.\n",
            "maps/__init__.py": "",
            "maps/roads/network.py": "",
            "maps/_private.py": "",
            "my-script.py": "",
            "class.py": "",
        }
    )
    source = resolve(str(root), interpreter)
    assert (source.name, source.root, source.import_paths) == (str(root), root, (root,))
    assert source.summary == "Routes on maps."
    assert source.modules == ("maps", "maps.roads")
    modules = {path: source.module_of(path) for path in files_of(source)}
    assert modules == {
        "README.md": "",
        "class.py": "",
        "my-script.py": "",
        "maps/__init__.py": "maps",
        "maps/_private.py": "maps._private",
        "maps/roads/network.py": "maps.roads.network",
    }


def test_a_folder_with_a_src_layout(tree: Tree, interpreter: Interpreter) -> None:
    root = tree({"src/maps/__init__.py": "", "src/maps/a.py": "", "tests/t.py": ""})
    source = resolve(str(root), interpreter)
    assert source.import_paths == (root / "src",)
    assert source.module_of("src/maps/a.py") == "maps.a"
    assert source.module_of("tests/t.py") == ""
    assert source.modules == ("maps", "maps.a")


def test_a_folder_that_is_a_package_itself(tree: Tree, interpreter: Interpreter) -> None:
    root = tree({"maps/__init__.py": "", "maps/sub/__init__.py": "", "maps/sub/a.py": ""})
    source = resolve(str(root / "maps" / "sub"), interpreter)
    assert (source.root, source.import_paths) == (root / "maps" / "sub", (root,))
    assert source.module_of("a.py") == "maps.sub.a"
    assert source.module_of("__init__.py") == "maps.sub"


def test_a_file(tree: Tree, interpreter: Interpreter) -> None:
    root = tree(
        {"tool.py": "def f(): pass\n", "notes.md": "# Notes\n\n[![badge](x)](y)\n\nAbout it.\nAll.\n", "x.csv": ""}
    )
    source = resolve(str(root / "tool.py"), interpreter)
    assert (source.root, files_of(source), source.import_paths) == (root, ["tool.py"], (root / "tool.py",))
    assert source.module_of("tool.py") == "tool"
    notes = resolve(str(root / "notes.md"), interpreter)
    assert (notes.import_paths, notes.summary) == ((), "About it. All.")
    with pytest.raises(UsageError, match=r"x\.csv is not of a type that is indexed"):
        resolve(str(root / "x.csv"), interpreter)


def test_a_path_relative_or_below_home(tree: Tree, interpreter: Interpreter, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"a.py": ""})
    monkeypatch.setenv("HOME", str(root.parent))
    monkeypatch.chdir(root.parent)
    assert len({resolve(spec, interpreter).key for spec in ("~/tree", "tree", "./tree/", str(root))}) == 1


def test_keys_are_folder_names_and_unique(tree: Tree, interpreter: Interpreter) -> None:
    root = tree(
        {"a b/x.py": "", "a-b/x.py": "", "ünï/x.py": "", ("long" * 60) + "/x.py": "", "..x/x.py": "", "A-B/x.py": ""}
    )
    keys = [resolve(str(folder), interpreter).key for folder in root.iterdir()]
    assert len({key.lower() for key in keys}) == 6
    for key in keys:
        assert key.isascii() and "/" not in key and not key.startswith(".") and len(key) <= 80


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("{root}/mapz", "did you mean {root}/maps?"),
        ("https://github.com/psf/requests", "for a repository: git:https://github.com/psf/requests"),
        ("github.com/psf/requests", "for a repository: git:https://github.com/psf/requests"),
        ("{root}/nothing/like/it", KINDS),
        ("networkx", "for the installed package: pkg:networkx"),
    ],
)
def test_a_path_that_does_not_exist(tree: Tree, interpreter: Interpreter, spec: str, hint: str) -> None:
    root = tree({"maps/a.py": ""})
    with pytest.raises(NotFound) as caught:
        resolve(spec.format(root=root), interpreter)
    assert caught.value.hint == hint.format(root=root)
    assert str(caught.value) == f"no such file or folder: {spec.format(root=root)}"


def test_a_strange_name_is_told_in_one_short_line(interpreter: Interpreter) -> None:
    for spec, told in (("a\nb", "a\\nb"), ("n" * 3000, f"{'n' * 200}… (3,000 characters)")):
        with pytest.raises(CodeNavError, match=re.escape(told)) as caught:
            resolve(spec, interpreter)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


@pytest.mark.parametrize("spec", ["/dev/null", "", "  ", "pkg:", "a\0b"])
def test_what_is_no_source(interpreter: Interpreter, spec: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(spec, interpreter)
    assert caught.value.hint == KINDS


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("README.md", '<p align="center">\n<img src="x">\n</p>\n\n# T\n\n[![a](b)](c)\n\nA tool for x.\n',
         "A tool for x."),
        ("Readme.md", "[![Build][1]][2] A tool that does things.\n", "A tool that does things."),
        ("readme.rst", "Title\n=====\n\n.. image:: x.png\n   :target: y\n\nSays what it is.\n", "Says what it is."),
        ("README.md", "<h1>T</h1>\n\n<!-- a\n\nb c d e -->\n\n**Fast**, small and [good](https://x.y).\n",
         "Fast, small and [good](https://x.y)."),
        ("README.md", "```\nmake install it all\n```\n\n`codenav` is a thing.\n", "`codenav` is a thing."),
        ("README", "|PyPI| |CI|\n\n- a list of things\n\nReal prose is here.\n", "Real prose is here."),
    ],
)  # fmt: skip
def test_the_first_paragraph_of_prose_is_what_a_readme_says(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    assert readme_paragraph(tmp_path) == said
