"""Code for the sandbox: tells the signatures of callables, the members of an object, the contents of a package.

Its text is one step of code, so it imports nothing of codenav. Source alone cannot tell what a decorator, a C extension
or a dataclass makes of a signature; `inspect` can.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import inspect
import json
import math
import pkgutil
import re
import sys
from collections.abc import Iterator
from typing import Any, Dict, Tuple

MARK = "codenav-survey:"
"""The mark before the answers, so that what an import prints is not read as one."""
DOC, SHORT = 3_000, 600
"""Maximum characters of a docstring: of what was asked for by name, and of what comes with it."""
TOTAL, MOST = 50_000, 60_000
"""Maximum characters of all docstrings in one answer, and of the answer: 64 KiB of output are kept."""
Told = Dict[str, Any]
Answer = Tuple[str, str, Told]
"""Import line, dotted name, and what there is to tell."""
Found = Tuple[str, str, str, str, Any, Any, str]
"""Name and docstring in lower case, import line, dotted name, value, owner, and `instance` for a ready
object, `inherited` for a class method of another class."""
MOST_NAMES = 4_000
MOST_INNER = 20
"""Maximum number of modules in a package that are looked into where it offers little itself."""
READ = 8
"""Maximum number of names that are told to a reader."""
SHOWN = 1_000
"""Maximum characters of an object as a text."""
MOST_TOLD, FEW = 60, 20
TURNS = {
    "__next__": "",
    "__iter__": "All that is in it, as a list.",
    "__int__": "The whole number that it is.",
    "__float__": "The plain number that it is.",
}
"""The special methods that are told, with what they give."""
MOST_KEYS = 40
"""Maximum number of keys of a dict that are told."""


def _told(value: Any, owner: Any, name: str, room: int) -> Told:
    """The kind, parameters, result and docstring of a value; `owner` is the class or object that it was taken from."""
    kind = "class" if inspect.isclass(value) else "function" if callable(value) else "object"
    if owner is not None and not inspect.ismodule(owner):
        of = owner if inspect.isclass(owner) else type(owner)
        held = inspect.getattr_static(of, name, None)
        if inspect.isclass(owner):
            if getattr(value, "__self__", None) is not owner and not isinstance(held, (staticmethod, classmethod)):
                if callable(value) and kind != "class":
                    kind = "method"
                elif hasattr(held, "__get__") and not inspect.isclass(value):
                    kind = "property"
        else:
            kind = "member" if kind == "function" else kind
    empty, shown, known, parameters = inspect.Parameter.empty, None, True, []
    try:
        shown = inspect.signature(value) if kind not in ("property", "object") else None
    except (TypeError, ValueError):
        known = False
    for number, item in enumerate(shown.parameters.values() if shown else ()):
        if number or kind != "method":
            note = "" if item.annotation is empty else inspect.formatannotation(item.annotation)[:120]
            default = "" if item.default is empty else repr(item.default)[:80]
            parameters.append([item.name, item.kind.name, item.default is empty, note, default])
    back = empty if shown is None else shown.return_annotation
    doc = inspect.getdoc(value) or ""
    if kind == "object":
        # The docstring of its class says nothing of this object.
        doc = ""
    if inspect.isclass(value) and value.__init__ is not object.__init__:
        doc += "\n\n" + (inspect.getdoc(value.__init__) or "")
    return {
        "kind": kind,
        "parameters": parameters,
        "known": known,
        "doc": doc[:room],
        "returns": "" if back is empty else inspect.formatannotation(back)[:200],
        "module": str(getattr(value, "__module__", "") or ""),
        "type": type(value).__name__,
        "abstract": inspect.isclass(value) and (inspect.isabstract(value) or issubclass(value, BaseException)),
        "bases": [base.__name__ for base in value.__mro__[1:-1]][:10] if inspect.isclass(value) else [],
    }


def _imported(line: str) -> dict[str, Any]:
    """Run an import line and return what it binds. A module loaded only now takes no name from its package."""
    module = line.split()[1] if line.split() else ""
    with _unshadowed(module):
        space: dict[str, Any] = {}
        exec(line, space)
    return space


@contextlib.contextmanager
def _unshadowed(module: str) -> Iterator[None]:
    """Keep a name that an import would take: `primefac.primefac` is a function, until that module is imported."""
    package, _, name = module.rpartition(".")
    with contextlib.suppress(ImportError, ValueError):
        if package:
            importlib.import_module(package)
    holder = sys.modules.get(package)
    held = vars(holder).get(name) if holder is not None else None
    try:
        yield
    finally:
        if held is not None and not inspect.ismodule(held):
            setattr(holder, name, held)


def _items(items: list[list[str]]) -> Iterator[Answer]:
    """The answers for import lines and dotted names."""
    room = min(DOC, TOTAL // max(len(items), 1))
    for line, dotted in items:
        try:
            space = _imported(line)
            head, *rest = dotted.split(".")
            owner, value = None, space[head]
            for part in rest:
                owner, value = value, getattr(value, part)
            yield line, dotted, _told(value, owner, dotted.rpartition(".")[2], room)
        except BaseException as error:
            yield line, dotted, {"error": f"{type(error).__name__}: {error}"[:200]}


def _members(value: Any, expression: str) -> Iterator[Answer]:
    """The public attributes of an object, or the keys of a dict; properties are not asked for their values."""
    if isinstance(value, dict):
        for path in list(_keys(value))[:MOST_KEYS]:
            told = {"kind": "value", "parameters": [], "known": True, "doc": "", "returns": "", "type": "", "bases": []}
            dotted = expression + "".join(f"[{key!r}]" for key in path)
            yield "", dotted, {**told, "module": type(value).__module__, "key": path[-1]}
        if type(value) is dict:
            yield "", f"{expression}.get", {**_told(value.get, value, "get", SHORT), "module": "builtins"}
            return
    if type(value) in (list, tuple):
        if len(value) == 1 and not isinstance(value[0], (str, bytes, int, float, list, tuple, type(None))):
            yield from _members(value[0], f"{expression}[0]")
        return
    names = [name for name in dir(value) if not name.startswith("_")][:200]
    # Special methods that Python's own `next`, `list`, `int` and `float` call.
    names = [*(name for name in TURNS if hasattr(type(value), name)), *names]
    room = min(SHORT, TOTAL // max(len(names), 1))
    if callable(value) and not inspect.isclass(value):
        with contextlib.suppress(Exception):
            told = _told(value if inspect.isroutine(value) else value.__call__, value, "__call__", room)
            yield "", f"{expression}.__call__", {**told, "kind": "member"}
        if inspect.isroutine(value):
            return
    for name in names:
        try:
            static = inspect.getattr_static(type(value), name, None)
            if isinstance(static, property) or type(static).__name__ in ("cached_property", "getset_descriptor"):
                told = {"kind": "value", "parameters": [], "known": True, "doc": (inspect.getdoc(static) or "")[:room]}
                told.update(returns="", module=type(value).__module__, type="", bases=[])
            else:
                got = getattr(value, name)
                told = _told(got, value, name, room)
                # A compiled method does not say itself which class it comes from.
                told["module"] = next((base.__module__ for base in type(value).__mro__ if name in vars(base)), "")
                if told["kind"] in ("object", "class"):
                    told["kind"] = "value" if told["kind"] == "object" else "class"
            if TURNS.get(name):
                told["doc"] = TURNS[name]
            yield "", f"{expression}.{name}", told
        except Exception:
            continue


def _keys(value: dict[Any, Any]) -> Iterator[Any]:
    """The keys of a dict that are texts, and then those of the dicts in it."""
    inner = []
    for key, held in value.items():
        if isinstance(key, str):
            yield (key,)
            if isinstance(held, dict):
                inner += [(key, one) for one in held if isinstance(one, str)]
    yield from inner


def _constructors(line: str, dotted: str) -> Iterator[Answer]:
    """The other ways that a class has to make its objects: its class methods and static methods."""
    space = _imported(line)
    class_ = space[dotted.partition(".")[0]]
    for part in dotted.split(".")[1:]:
        class_ = getattr(class_, part)
    for name in [name for name in dir(class_) if not name.startswith("_")][:200]:
        held = inspect.getattr_static(class_, name, None)
        if isinstance(held, (classmethod, staticmethod)) or type(held).__name__ == "classmethod_descriptor":
            yield line, f"{dotted}.{name}", _told(getattr(class_, name), class_, name, SHORT)


def _package(names: list[str], words: dict[str, float]) -> tuple[list[Answer], dict[str, int]]:
    """The public callables, constants and methods of modules in whose names or docs one of the words is.

    Words count less the more names they are in. Also returned: in how many each is, and for the empty word how many
    names there are.
    """
    seen: set[Any] = set()
    found: list[Found] = []
    modules = list(dict.fromkeys(names))
    for module in modules:
        _module(found, seen, module)
    for module in _compiled(modules[:1]):
        _module(found, seen, module)
    if len(found) < FEW:
        for module in _inner(modules[:1]):
            _module(found, seen, module)
    counts = {word: sum(word in near for near, *_ in found) for word in words}
    worth = {word: weight / (1 + 0.25 * math.log2(max(1, counts[word] / 3))) for word, weight in words.items()}
    told = []
    for near, far, *where in found:
        score = 0.3 * (where[-1] == "instance")
        if where[-1] == "inherited" and not any(word in where[1].rpartition(".")[0].lower() for word in worth):
            continue
        for word, weight in worth.items():
            there = word in near or word in far
            score += weight * ((4 if word == near else 3 if word in near else 1) if there else 0)
        if score:
            told.append((score - 0.01 * len(near), where))
    told.sort(key=lambda item: -item[0])
    del told[MOST_TOLD:]
    if len(told) < FEW:
        # Where no word says anything, tell what there is.
        kept = {where[1] for _, where in told}
        rest = [where for _, _, *where in found if where[3] is None and callable(where[2]) and where[1] not in kept]
        told += [(0.0, where) for where in rest[: FEW - len(told)]]
    offered = {where[1] for _, where in told}
    for _, (line, dotted, _, owner, _) in list(told):
        if owner is not None and dotted.rpartition(".")[0] not in offered:
            # The class whose methods were found is told, too.
            offered.add(dotted.rpartition(".")[0])
            told.append((0.0, [line, dotted.rpartition(".")[0], owner, None, ""]))
    room = min(SHORT, TOTAL // max(len(told), 1))
    items = []
    for _, (line, dotted, value, owner, _) in told:
        with contextlib.suppress(Exception):
            items.append((line, dotted, _told(value, owner, dotted.rpartition(".")[2], room)))
    return items, {**counts, "": len(found)}


def _module(found: list[Found], seen: set[Any], module: str) -> None:
    """Collect the public names of a module."""
    try:
        with _unshadowed(module):
            loaded = importlib.import_module(module)
    except BaseException:
        return
    # Some modules list the values instead of their names.
    public = [name for name in getattr(loaded, "__all__", ()) if isinstance(name, str)]
    for name in (public or dir(loaded))[:MOST_NAMES]:
        # A deprecated name may raise whatever it is asked.
        with contextlib.suppress(Exception):
            if not name.startswith("_"):
                _public(found, seen, module, name, getattr(loaded, name, None), bool(public))


def _compiled(packages: list[str]) -> list[str]:
    """The public modules in packages that are loaded and have no source."""
    names = [name for name in sys.modules if name.startswith(tuple(f"{package}." for package in packages))]
    public = [name for name in names if not re.search(r"\._|test", name)]
    files = {name: str(getattr(sys.modules[name], "__file__", None) or "") for name in public}
    return [name for name in public if not files[name].endswith((".py", ".pyc"))][:MOST_INNER]


def _inner(packages: list[str]) -> Iterator[str]:
    """The public modules directly in packages, without tests."""
    for package in packages:
        folders = getattr(sys.modules.get(package), "__path__", [])
        names = [info.name for info in pkgutil.iter_modules(list(folders))]
        names = [name for name in names if not name.startswith("_") and "test" not in name]
        yield from (f"{package}.{name}" for name in names[:MOST_INNER])


def _public(found: list[Found], seen: set[Any], module: str, name: str, value: Any, listed: bool) -> None:
    """Collect a public name and, of a class, those in it; `listed` where the module says itself that it is public."""
    top = module.partition(".")[0]
    own = str(getattr(value, "__module__", None) or module).partition(".")[0].lstrip("_")
    if own == "builtins" and not hasattr(builtins, name):
        # Compiled code need not say where it is from.
        own = top
    if inspect.ismodule(value) or (own != top and not listed):
        return
    if inspect.isclass(value) and (inspect.isabstract(value) or issubclass(value, BaseException)):
        return
    line = f"from {module} import {name}"
    _keep(found, seen, line, name, value, None)
    if inspect.isclass(value):
        for inner in [one for one in dir(value) if not one.startswith("_")][:200]:
            held = inspect.getattr_static(value, inner, None)
            _keep(found, seen, line, f"{name}.{inner}", getattr(value, inner, held), value)


def _keep(found: list[Found], seen: set[Any], line: str, dotted: str, value: Any, owner: Any) -> None:
    """Collect a value, once where it is inherited or imported elsewhere."""
    name = dotted.rpartition(".")[2]
    constant = not callable(value) and not isinstance(value, property)
    function = getattr(value, "__func__", value)
    if callable(value) and not isinstance(value, type(len)):
        key: Any = (owner is None, id(function))
    else:
        key = (dotted, "" if owner else line)
    if owner is not None and constant and not name.isupper():
        return
    # A class method may be another thing in each class that inherits it.
    inherited = key in seen and inspect.isclass(getattr(value, "__self__", None)) and name not in vars(owner or object)
    if key in seen and not inherited:
        return
    seen.add(key)
    far = "" if constant else (inspect.getdoc(value) or "")[:200].lower()
    kind = type(value).__module__.partition(".")[0]
    instance = owner is None and constant and kind not in ("builtins", "typing", "re", "collections")
    found.append(
        (name.lower(), far, line, dotted, value, owner, "instance" if instance else "inherited" if inherited else "")
    )


def _modules_of(distributions: list[str]) -> Iterator[str]:
    """The modules that distributions install."""
    from importlib import metadata

    for name in distributions:
        try:
            files = metadata.distribution(name).files or []
        except metadata.PackageNotFoundError:
            continue
        tops = dict.fromkeys(file.parts[0].split(".")[0] for file in files if file.suffix in (".py", ".so"))
        yield from (top for top in tops if top.isidentifier() and not top.startswith("_"))


def survey(question: dict[str, Any], space: dict[str, Any]) -> None:
    """Print the answers to one question, after the mark."""
    more: dict[str, Any] = {}
    answers: list[Answer] = []
    names = []
    if "distributions" in question:
        names = more["modules"] = list(_modules_of(question["distributions"]))
    elif "items" in question:
        answers = list(_items(question["items"]))
    elif "constructors" in question:
        answers = list(_constructors(*question["constructors"]))
    elif "forget" in question:
        for name in [name for name in sys.modules if name.partition(".")[0] in question["forget"]]:
            del sys.modules[name]
    elif "members" in question:
        answers = list(_members(space[question["members"]], question["members"]))
    else:
        answers, counts = _package(question["package"], question["words"])
        more["counts"] = counts
    told = {"answers": answers, **more}
    if "members" in question:
        value = space[question["members"]]
        # Other objects may be gone through as well, and offer more than that.
        plain = type(value).__module__ in ("builtins", "itertools", "collections", "_collections_abc")
        bare = all(name.startswith("_") or name in ("close", "send", "throw") for name in dir(value))
        goes_on = hasattr(type(value), "__next__") or (bare and hasattr(type(value), "__iter__"))
        told["iterator"] = goes_on and (plain or bare)
        with contextlib.suppress(Exception):
            if any("__str__" in vars(base) for base in type(value).__mro__[:-1]):
                told["shown"] = str(value)[:SHOWN]
    sys.stdout.flush()
    # The first line is for a reader of the record.
    names = names or [dotted + ("" if "error" in item else _shape(item)) for _, dotted, item in answers]
    rest = f" and {len(names) - READ} more" if len(names) > READ else ""
    print("\n" + ", ".join(names[:READ]) + rest)
    print(MARK + _fitting(told))


def _fitting(told: dict[str, Any]) -> str:
    """The answers as JSON that is not cut off: if it is too long, with shorter docstrings, then with fewer answers."""
    line = json.dumps(told)
    for room in (SHORT // 2, SHORT // 6, 0):
        if len(line) <= MOST:
            break
        for *_, item in told["answers"]:
            item["doc"] = str(item.get("doc", ""))[:room]
        line = json.dumps(told)
    while len(line) > MOST and told["answers"]:
        told["answers"] = told["answers"][: len(told["answers"]) * 9 // 10]
        line = json.dumps(told)
    return line


def _shape(item: Told) -> str:
    """The names of a callable's parameters, between parentheses."""
    return "" if item["kind"] in ("object", "value") else f"({', '.join(one[0] for one in item['parameters'][:6])})"
