"""The import rules of docs/architecture.md: arrows point down, no cycles, the guest uses the standard library only."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "codenav"

LOW = {"core"}
MIDDLE = {"agents", "environments", "episodes", "indexers", "sandboxes", "tools"}
ROOMS: dict[str, set[str]] = {
    "core": set(),
    "sandboxes": LOW,
    "environments": LOW,
    "agents": LOW,
    "episodes": LOW,
    "tools": LOW,
    "indexers": LOW | {"tools"},
    "retrieval": LOW | {"indexers", "tools"},
    "navigation": LOW | {"indexers", "retrieval", "tools"},
    "toolgraph": LOW | {"environments", "episodes", "indexers", "navigation", "retrieval", "tools"},
    "session": LOW | MIDDLE | {"navigation", "retrieval", "toolgraph"},
    "evals": LOW | {"agents", "environments", "episodes", "retrieval", "session"},
    "cli": LOW | MIDDLE | {"evals", "navigation", "retrieval", "session", "toolgraph"},
}
"""The thirteen rooms, from the lowest, and what each may import."""


def room_of(module: str) -> str:
    """The room of `codenav.x.y`."""
    name = module.split(".")[1] if "." in module else ""
    return "cli" if name == "__main__" else name


def imports_of(path: Path) -> list[str]:
    """The full names of the modules that a file imports, also inside functions."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def modules() -> dict[str, Path]:
    """Every module of the package, by its full name."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def test_every_folder_is_a_room() -> None:
    rooms = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms == set(ROOMS)


def test_no_arrow_points_up() -> None:
    wrong = []
    for module, path in modules().items():
        own = room_of(module)
        for name in imports_of(path):
            target = room_of(name)
            # The package itself: its lazy public names (from any room), and its version (for any room).
            if name.split(".")[0] != "codenav" or name == "codenav.__version__" or own in ("", target):
                continue
            if target not in ROOMS[own]:
                wrong.append(f"{module} imports {name}")
    assert not wrong, wrong


def test_no_cycle() -> None:
    known = modules()
    graph = {
        module: {
            target
            for name in imports_of(path)
            for target in (name, name.rpartition(".")[0])
            if target in known and target not in (module, "codenav")
        }
        for module, path in known.items()
    }
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " → ".join((*trail, module))
        if module in done:
            return
        for target in sorted(graph[module]):
            visit(target, (*trail, module))
        done.add(module)

    for module in sorted(graph):
        visit(module, ())


def test_the_guest_imports_only_the_standard_library_and_parses_as_python_3_8() -> None:
    guest = sorted((ROOT / "sandboxes" / "guest").glob("*.py"))
    assert guest
    for path in guest:
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
        siblings = {other.stem for other in guest}
        for name in imports_of(path):
            assert name.split(".")[0] in sys.stdlib_module_names | siblings, f"{path.name} imports {name}"
