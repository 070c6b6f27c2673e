"""The import rules of docs/architecture.md: arrows point down, no cycles, the guest uses the standard library only."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "codenav"

BASE = {
    "actions", "blocks", "cancelling", "config", "errors", "events", "execution", "limits", "messages", "options",
    "protocols", "secrets", "system", "tool_selection", "traces", "usage",
}  # fmt: skip
PARTS = {
    "broker", "checkers", "encoders", "episodes", "indexers", "judges", "models", "retrieval", "retriever",
    "sandboxes", "schemas", "selection", "toolgraph", "tools",
}  # fmt: skip
JOINTS = ["indexing", "navigation", "graphs", "running", "session", "api"]
"""Layer 4, where the parts meet: each may import those before it."""
BELOW_JOINTS = {"base", *PARTS, "environments", "agents"}
MAY_IMPORT: dict[str, set[str]] = {
    "base": set(),
    **{part: {"base"} for part in PARTS},
    # `schemas`: that of the tool set file; it imports the base alone.
    "tools": {"base", "schemas"},
    # The normalised form of tool specifications and its readers.
    "broker": {"base", "tools"},
    "indexers": {"base", "tools"},
    # Words, their stems and their shipped vectors.
    "retriever": {"base", "retrieval"},
    "environments": {"base"},
    "agents": {"base"},
    **{joint: BELOW_JOINTS | set(JOINTS[:place]) for place, joint in enumerate(JOINTS)},
    "evals": {"base", *JOINTS, "agents", "environments", "episodes", "judges", "models"},
    "cli": BELOW_JOINTS | {*JOINTS, "evals", "server"},
    "server": BELOW_JOINTS | {*JOINTS, "evals"},
    # The package itself: its lazy public names.
    "": BELOW_JOINTS | set(JOINTS),
}


def part_of(module: str) -> str:
    """The row of MAY_IMPORT for `codenav.x.y`."""
    name = module.split(".")[1] if "." in module else ""
    if name in BASE:
        return "base"
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


def test_no_arrow_points_up() -> None:
    wrong = []
    for module, path in modules().items():
        own = part_of(module)
        for name in imports_of(path):
            if name.split(".")[0] != "codenav":
                continue
            target = part_of(name)
            # `from codenav import __version__`: a constant of the package, no part.
            if name == "codenav.__version__" or target == own:
                continue
            if target not in MAY_IMPORT[own]:
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
