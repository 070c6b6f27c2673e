"""The names that a file of JavaScript or TypeScript takes over and offers at its top level, read without a tree."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

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
"""How the TypeScript compiler writes `export * from` and `export { a } from` for `require`."""
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
    """What names stand for that are defined elsewhere, also dotted ones: `axios.Axios`."""
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
