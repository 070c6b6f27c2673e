"""The names under which packages of JavaScript and TypeScript offer what is defined in them, read without a tree."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from codenav.indexers.place import Home, Offer

_NAME = r"[A-Za-z_$][\w$]*"
_PATH = rf"{_NAME}(?:\.{_NAME})*"
_CLAUSE = re.compile(
    rf"^(import|export)\s+(?:type\s+)?(?:({_NAME})\s*,?\s*)?(?:\{{([^}}]*)\}}|(\*)(?:\s*as\s+({_NAME}))?)?"
    r"(?:\s*from)?\s*(?:[\"']([^\"'\n]+)[\"'])?",
    re.MULTILINE,
)
"""`import a, { b as c } from "d"`, `export * as e from "f"`."""
_ITEM = re.compile(rf"(?:type\s+)?({_NAME})(?:\s+as\s+({_NAME}))?")
_DECLARED = re.compile(
    rf"^export\s+(default\s+)?(?:(?:declare|abstract|async)\s+)*"
    rf"(?:(?:function|class|const\s+enum|const|let|var|interface|type|enum|namespace)\b\s*\*?)\s*({_NAME})?",
    re.MULTILINE,
)
_VARIABLE = re.compile(
    rf"^(export\s+)?(?:const|let|var)\s+(?:({_NAME})(?:\s*:[^=\n]*)?|\{{([^}}]*)\}})\s*=\s*((?:{_PATH}\s*=\s*(?![=>]))*)",
    re.MULTILINE,
)
_SET = re.compile(rf"^((?:{_PATH}\s*=\s*(?![=>]))+)", re.MULTILINE)
_DEFAULT = re.compile(
    r"^export\s*(?:default|=)\s*(?=\S)(?!(?:function|class|async|abstract|interface|enum)\b)", re.MULTILINE
)
_COMPILED = re.compile(
    rf"^__exportStar\(require\(\"([^\"]+)\"\)|^Object\.defineProperty\(exports, \"({_NAME})\", .*? return ({_PATH});",
    re.MULTILINE,
)
"""The form in which the TypeScript compiler writes `export * from` and `export { a } from` for `require`."""
_VALUE = re.compile(rf"(?:require\s*\(\s*[\"']([^\"'\n]+)[\"']\s*\)((?:\.{_NAME})*)|({_PATH}))(?=\s*(?:[;,\n}}]|$))")
_WRITTEN = re.compile(rf"(?:async\s+)?(?:function\b\s*\*?|class\b)\s*({_NAME})")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
LITERAL = 20_000
"""Characters of the longest `{ … }` that is read for the names in it."""
NESTED = 10
"""The most brackets in each other there."""
_INNER = re.compile(r"(?<!require)\([^(){}\[\]]*\)|\[[^(){}\[\]]*\]|\{[^(){}\[\]]*\}")

Value = tuple[str, str]
"""A module as it is written (empty: this file), and a dotted name there: `*` for the whole module, `*.a` for a name of
it."""


@dataclass
class Script:
    """A file; `module.exports` is its name `*`."""

    bound: dict[str, Value] = field(default_factory=dict)
    """The values of names that are defined elsewhere, also dotted ones: `axios.Axios`."""
    offered: dict[str, Value] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    """Modules all of whose names it offers."""
    is_module: bool = False
    """True if it has `import` or `export`."""


def read_script(text: str) -> Script:
    """Read a file by what stands at the beginning of its lines."""
    script = Script()
    for clause in _CLAUSE.finditer(text):
        script.is_module = True
        _clause(script, *clause.groups())
    for found in _DECLARED.finditer(text):
        name = found[2] or "default"
        script.offered["default" if found[1] else name] = "", name
    for found in _VARIABLE.finditer(text):
        _variable(script, found, text)
    for found in _SET.finditer(text):
        _set(script, _paths(found[1]), text, found.end())
    for found in _DEFAULT.finditer(text):
        _set(script, ["exports" if "=" in found[0] else "exports.default"], text, found.end())
    for found in _COMPILED.finditer(text):
        if found[1]:
            script.stars.append(found[1])
        else:
            script.offered[found[2]] = "", found[3]
    return script


def _clause(script: Script, word: str, plain: str, items: str, star: str, starred: str, module: str) -> None:
    pairs = [(found[1], found[2] or found[1]) for found in _ITEM.finditer(_COMMENT.sub("", items or ""))]
    if word == "import" and module:
        script.bound.update((name, (module, f"*.{item}")) for item, name in pairs)
        if plain:
            script.bound[plain] = module, "*.default"
        if starred:
            script.bound[starred] = module, "*"
    elif word == "export" and starred:
        script.offered[starred] = module, "*"
    elif word == "export" and star:
        script.stars.append(module)
    elif word == "export" and not plain:
        script.offered.update((name, (module or "", f"*.{item}" if module else item)) for item, name in pairs)


def _variable(script: Script, found: re.Match[str], text: str) -> None:
    exported, name, items, others = found.groups()
    value = _value(text, found.end())
    if name and value and value != ("", name):
        script.bound[name] = value
    elif name:
        for other in _paths(others):
            script.offered[other.removeprefix("exports").strip(".") or "*"] = "", name
        _literal(script, name, text, found.end())
    for item in _COMMENT.sub("", items or "").split(","):
        key, _, other = (part.strip() for part in item.partition(":"))
        if key and value:
            script.bound[other or key] = value[0], f"{value[1]}.{key}"
            if exported:
                script.offered[other or key] = "", other or key


def _set(script: Script, names: list[str], text: str, at: int) -> None:
    """`exports = module.exports = value`, `exports.a = value`, `T.a = value`."""
    value = _value(text, at)
    written = _WRITTEN.match(text, at)
    for name in names:
        top, _, inner = name.partition(".")
        if top == "exports":
            script.offered[inner or "*"] = value or ("", inner or (written[1] if written else "exports"))
        elif value:
            script.bound[name] = value
    if not value:
        owner = next((name for name in names if not name.startswith("exports")), names[0])
        _literal(script, owner.removeprefix("exports."), text, at)


def _paths(written: str) -> list[str]:
    """The names in `exports = module.exports.a = `; `exports` stands for both."""
    names = (name.strip() for name in written.split("=")[:-1])
    return [re.sub(r"^module\.exports\b", "exports", name) for name in names]


def _literal(script: Script, owner: str, text: str, at: int) -> None:
    """The names in `{ a, b: c, d: require("./d") }`; what it defines itself are blocks of their own."""
    if not text.startswith("{", at):
        return
    inside = _COMMENT.sub("", text[at + 1 : at + LITERAL])
    for _ in range(NESTED):
        inside = _INNER.sub(" ", inside)
    for item in inside.partition("}")[0].split(","):
        key, colon, rest = (part.strip() for part in item.partition(":"))
        value = _value(rest if colon else key, 0)
        if value and re.fullmatch(_NAME, key):
            script.bound[f"{owner}.{key}"] = value


def _value(text: str, at: int) -> Value | None:
    found = _VALUE.match(text, at)
    if found is None:
        return None
    return (found[1], f"*{found[2]}") if found[1] else ("", found[3])


ENDINGS = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts", ".d.mts", ".d.cts")
_ENDING = re.compile(r"(?:\.d)?\.[cm]?[jt]sx?$")
_BUILT = re.compile(r"^(?:dist|build|lib|out|es|esm|cjs|umd)/(?:(?:es|esm|cjs|umd|node|browser|types)/)*")
"""The folders that a build writes to."""


class JavaScriptNames:
    """The public names of one source."""

    def __init__(self, paths: Collection[str], read: Callable[[str], str], packages: Mapping[str, str]) -> None:
        """`packages`: the text of each `package.json`, by its folder."""
        self._paths, self._read = set(paths), read
        self._scripts: dict[str, Script] = {}
        self._beside: dict[tuple[str, str], str] = {}
        self._entries: dict[str, dict[str, list[str]]] = {}
        """For each package, by what stands after its name in an import (`/v4`), the files that is read from."""
        self._folders: dict[str, str] = {}
        for folder, text in sorted(packages.items()):
            data = _json(text)
            name = data.get("name")
            if isinstance(name, str) and name and (entries := _entries(data, folder, self._at)):
                self._entries.setdefault(name, entries)
                self._folders.setdefault(folder, name)

    def offers(self) -> Iterator[Offer]:
        """The names that the packages offer; the shortest of a definition first."""
        for name, entries in self._entries.items():
            taken: set[str] = set()
            for below, paths in sorted(entries.items(), key=lambda entry: (entry[0].count("/"), entry[0])):
                for path in paths:
                    yield from self._below(f"{name}{below}", path, taken)
        # `axios.Axios = Axios` gives a name to a class that has the name already.
        for path, script in self._scripts.items():
            yield from (Offer((path, name), "") for name in script.bound if "." in name)

    def module_of(self, path: str) -> str:
        """The package of a file and its place there; empty outside of any package with public names."""
        folder = posixpath.dirname(path)
        while folder and folder not in self._folders:
            folder = posixpath.dirname(folder)
        name = self._folders.get(folder, "")
        return f"{name}/{path.removeprefix(folder).lstrip('/')}" if name else ""

    def _below(self, module: str, entry: str, taken: set[str]) -> Iterator[Offer]:
        """The names of a module. What was `taken` by another file of it stands for that one."""
        is_module = self._script(entry).is_module
        waiting, seen, new = [(entry, "")], {entry}, set()
        for path, front in waiting:
            for name in self._names(path):
                dotted = f"{front}.{name}" if name not in ("*", "default") and front else front or name
                whole = dotted in ("*", "default")
                public = module if whole else f"{module}.{dotted}"
                for home in self._exported(path, name, frozenset()):
                    if home[1] == "*":
                        if home[0] not in seen and not whole:
                            seen.add(home[0])
                            waiting.append((home[0], dotted))
                    elif public not in taken:
                        new.add(public)
                        yield Offer(home, public, _line(module, dotted, is_module=is_module))
        taken |= new

    def _script(self, path: str) -> Script:
        if path not in self._scripts:
            self._scripts[path] = read_script(self._read(path))
        return self._scripts[path]

    def _names(self, path: str, above: frozenset[str] = frozenset()) -> list[str]:
        """The names that a file offers, with those of what it takes over whole."""
        script = self._script(path)
        names = dict.fromkeys(script.offered)
        whole = script.offered.get("*") or script.offered.get("default")
        if whole and not whole[0]:
            names.update((key.removeprefix(f"{whole[1]}."), None) for key in script.bound if _is_in(key, whole[1]))
            whole = script.bound.get(whole[1], whole)
        stars = [*script.stars, *([whole[0]] if whole and whole[1] == "*" and "*" in script.offered else [])]
        for star in stars:
            other = self._found(path, star)
            if other and other not in above:
                names.update((name, None) for name in self._names(other, above | {path}) if name != "default")
        return list(names)

    def _exported(self, path: str, name: str, above: frozenset[tuple[str, str]]) -> list[Home]:
        """The definitions that a dotted name offered by a file stands for, or `*` in a file: all of what it offers."""
        if (path, name) in above:
            return []
        above |= {(path, name)}
        script = self._script(path)
        head, _, rest = name.partition(".")
        if head == "default" and head not in script.offered:
            head = "*"
        if head in script.offered:
            module, inner = script.offered[head]
            found = self._meant(path, (module, f"{inner}.{rest}" if rest else inner), above)
            # What comes from elsewhere is at least offered here.
            return found or ([] if rest or script.is_module else [(path, head)])
        if head == "*":
            return self._exported(path, rest, above) if rest else [(path, "*")]
        for star in script.stars:
            if (other := self._found(path, star)) and (found := self._exported(other, name, above)):
                return found
        module, inner = script.offered.get("*") or script.offered.get("default") or ("", "")
        is_known = "*" in script.offered or f"{inner}.{name}" in script.bound
        return self._meant(path, (module, f"{inner}.{name}"), above) if is_known else []

    def _meant(self, path: str, value: Value, above: frozenset[tuple[str, str]]) -> list[Home]:
        """The definitions that a value in a file stands for."""
        module, name = value
        if module:
            other = self._found(path, module)
            return self._exported(other, name.removeprefix("*.") or "*", above) if other else []
        bound, parts = self._script(path).bound, name.split(".")
        for count in range(len(parts), 0, -1):
            front = ".".join(parts[:count])
            if front in bound and ("=" + path, front) not in above:
                module, inner = bound[front]
                return self._meant(path, (module, ".".join([inner, *parts[count:]])), above | {("=" + path, front)})
        return [(path, name)]

    def _found(self, path: str, module: str) -> str:
        """The file that a module stands for in a file; empty if it is none of the source."""
        if module.startswith("."):
            key = path.rpartition("/")[0], module
            if key not in self._beside:
                self._beside[key] = self._at(posixpath.normpath(posixpath.join(*key)))
            return self._beside[key]
        for name, entries in self._entries.items():
            if f"{module}/".startswith(f"{name}/"):
                return next(iter(entries.get(module.removeprefix(name), ())), "")
        return ""

    def _at(self, path: str) -> str:
        stem = _ENDING.sub("", path)
        tries = [path, *(f"{front}{ending}" for front in (stem, path, f"{path}/index") for ending in ENDINGS)]
        return next((one.lstrip("/") for one in tries if one.lstrip("/") in self._paths), "")


def _is_in(name: str, owner: str) -> bool:
    return name.startswith(f"{owner}.") and name.count(".") == owner.count(".") + 1


def _line(module: str, dotted: str, *, is_module: bool) -> str:
    """The statement to import a name of a module; `*` and `default` are all of it."""
    top = dotted.partition(".")[0]
    if top in ("*", "default"):
        first, *words = re.findall(r"\w+", module.rpartition("/")[2])
        name = first + "".join(word.capitalize() for word in words)
        return f"import {name} from '{module}'" if is_module else f"const {name} = require('{module}')"
    return f"import {{ {top} }} from '{module}'" if is_module else f"const {{ {top} }} = require('{module}')"


def _json(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _entries(data: Mapping[str, Any], folder: str, at: Callable[[str], str]) -> dict[str, list[str]]:
    """The files that a package is read from: for each import of it the code, then the types if they are apart."""
    keys = ("source", "module", "main", "types", "typings")
    plain = {key: data[key] for key in keys if isinstance(data.get(key), str)} or {"main": "./index.js"}
    exports = data.get("exports") or plain
    if not isinstance(exports, dict) or not any(key.startswith(".") for key in exports):
        exports = {".": exports}
    found: dict[str, list[str]] = {}
    for key, value in exports.items():
        written = [target for target in _targets(value, ()) if "*" not in target[1]]
        written.sort(key=lambda target: ("source" not in target[0], bool(_BUILT.match(target[1]))))
        sources = [front for names, target in written for front in _sources(target, names, top=key == ".")]
        code = next(filter(None, (at(posixpath.join(folder, one)) for one in sources)), "")
        typed = (at(posixpath.join(folder, target)) for _, target in written if re.search(r"\.d\.[cm]?ts$", target))
        types = next(filter(None, typed), "")
        files = [code, types] if code and re.search(r"js$", code) else [code or types]
        files = list(dict.fromkeys(filter(None, files)))
        if files:
            found[key[1:]] = files
    return found


def _targets(value: Any, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The files named in a part of `exports`, each with the conditions that it is under."""
    if isinstance(value, str):
        yield " ".join(names), posixpath.normpath(value)
    for key, inner in value.items() if isinstance(value, dict) and len(names) < 10 else ():
        yield from _targets(inner, (*names, str(key)))


def _sources(target: str, names: str, *, top: bool) -> Iterator[str]:
    """Where the code of a file is looked for: in what it was built from, then in itself."""
    if re.search(r"\.d\.[cm]?ts$", target):
        return
    if _BUILT.match(target) and "source" not in names:
        yield f"src/{_BUILT.sub('', target)}"
        if top:
            yield "src/index.ts"
    yield target
