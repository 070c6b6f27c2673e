"""Descriptions of code bases, made by rules and without a model: purpose, layout and entry points."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.core.config import home
from codenav.core.protocols import Index
from codenav.core.system.atomic_files import write_whole
from codenav.core.system.terminal_text import neutral
from codenav.indexers.modules import readme_paragraph
from codenav.indexers.sources import Source
from codenav.navigation.centrality import Entry, File, rank, read_files
from codenav.navigation.local import signature_in
from codenav.retrieval.aside import is_example
from codenav.retrieval.source_index import SourceIndex
from codenav.tools.state_files import Summary, read_summary

RULES = 4
"""Version of the rules; descriptions made by another version are made again."""
CHARACTERS = 2_000
"""Size limit of a description."""
PURPOSE_CHARACTERS, LAYOUT_CHARACTERS = 500, 700
"""Size limits of its first two parts; the entry points take the rest."""
SENTENCE_CHARACTERS = 110
SIGNATURE_CHARACTERS = 90
PURPOSE_SHARE, GROUPS_SHARE = 0.25, 0.4
"""Shares of the room for the first two parts of the description of a tool source; the operations take the rest."""
GROUP_CHARACTERS = 400
"""Size limit of a group of tools."""
EXPORTED_FACTOR = 5.0
"""Factor for names that the code base exports at its top: they go before names that are only much used inside it."""
ERROR_FACTOR = 0.05
"""Factor for exceptions: they are raised everywhere, and nobody begins with them."""
EXAMPLE_WEIGHT = 3.0
"""Weight of a use in an example (docstring or document) relative to a call in code: examples show what users call."""
UNSHOWN_FACTOR = 0.2
"""Factor of calls of what is neither shown in an example nor exported at the top: helpers are called everywhere."""
_CALL = re.compile(r"(?:(?<=\w\.)|(?<=[>@=(\s&]))([A-Za-z]\w+)(?=[({]|::|\.\w+\()")
"""A name that an example calls."""
_ERROR = re.compile(r"(?:Error|Exception|Warning|Exit|Abort)$")


def description_of(index: SourceIndex) -> str:
    """The description of an open index, from the cache as long as that index is unchanged."""
    state = [RULES, index.source.name, index.fingerprint(), *_states(index.source)]
    name = hashlib.blake2b(index.source.key.encode(), digest_size=12).hexdigest()
    cached = home("cache") / "descriptions" / f"{name}.json"
    with suppress(OSError, ValueError, TypeError, KeyError):
        kept = json.loads(cached.read_text(encoding="utf-8"))
        if kept["state"] == state:
            return str(kept["text"])
    text = describe(index, index.source)
    # Without a cache that can be written, the description is made each time.
    with suppress(OSError):
        cached.parent.mkdir(parents=True, exist_ok=True)
        write_whole(cached, json.dumps({"state": state, "text": text}))
    return text


def _states(source: Source) -> list[str]:
    """The states of tool sources: groups and texts are not in the index."""
    own = [source.tools.name] if source.tools else []
    return [*own, *(state for part in source.parts.values() for state in _states(part))]


def describe(index: Index, source: Source) -> str:
    """Describe a source in at most `CHARACTERS`, from its index, its metadata and its README.

    Each of several sources under one name has its own description and an equal share of the room.
    """
    if not source.parts:
        return _describe_part(index, source, "", CHARACTERS)
    room = CHARACTERS // len(source.parts) - 2
    return "\n\n".join(_describe_part(index, part, folder, room) for folder, part in source.parts.items())[:CHARACTERS]


def _describe_part(index: Index, source: Source, folder: str, room: int) -> str:
    if source.tools:
        return neutral(describe_tools(index, source.tools, folder, room))
    first = _purpose(source, room * PURPOSE_CHARACTERS // CHARACTERS)
    under = f"{folder}/" if folder else ""
    uses = Counter[str]()

    def counted() -> Iterator[CodeBlock]:
        for block in index.blocks():
            if block.path.startswith(under):
                uses.update(_uses_in(block))
                yield block

    files = read_files(counted())
    rank(files)
    shown = [file for file in files if not file.aside and not _is_private(file.module)]
    layout = within("Layout:", _modules(index, shown) or _folders(files, under), room * LAYOUT_CHARACTERS // CHARACTERS)
    points = _points(files, uses)
    left = room - len(first) - len(layout) - 2
    entries = within("Entry points, most used first:", _entry_lines(index, points), left)
    return "\n".join(filter(None, (first, layout, entries)))


def _uses_in(block: CodeBlock) -> set[str]:
    """The names called in the examples that a block holds: a document, a file of examples, or its docstring."""
    shows = block.kind is BlockKind.DOCUMENT or is_example(block.path)
    text = block.text if shows else block.docstring
    return set(_CALL.findall(text)) if "(" in text or "{" in text else set()


def _purpose(source: Source, room: int) -> str:
    title = " ".join(f"{name} {version}" for name, version in source.versions.items()) or Path(source.name).name
    text = f"{title}: {source.summary}" if source.summary else title
    more = "" if source.members is not None else readme_paragraph(source.root)
    if more and more not in text:
        text += f"\n{more}"
    return cut(neutral(text), room)


def _modules(index: Index, files: Sequence[File]) -> list[str]:
    """The modules nearest to the top with the first sentence of their docstrings, packages before their modules."""
    python = (file for file in files if file.path.endswith((".py", ".pyi")))
    modules = sorted(python, key=lambda file: (file.module.count("."), file.module))
    lines: list[str] = []
    for file in modules:
        if file.module.count(".") > 1:
            break
        block = index.get(file.sections[0].id) if file.sections else None
        said = _sentence(block.docstring or block.text) if block else ""
        if said or file.is_package:
            lines.append(f"  {file.module}: {said}" if said else f"  {file.module}")
    return lines


def _folders(files: Sequence[File], under: str) -> list[str]:
    """The top-level files and folders of a code base without Python modules, with the file count of each folder."""
    counted = Counter(file.path.removeprefix(under).partition("/")[0] for file in files)
    folders = {
        file.path.removeprefix(under).partition("/")[0] for file in files if "/" in file.path.removeprefix(under)
    }
    return [
        f"  {name}/: {number} file{'s' * (number != 1)}" if name in folders else f"  {name}"
        for name, number in sorted(counted.items())
    ]


def _points(files: Sequence[File], uses: Counter[str]) -> list[tuple[str, Sequence[Entry]]]:
    """Public functions and classes by their shortest names, most used first, each with all its definitions."""
    most = max((entry.rank for file in files for entry in file.entries), default=0.0) or 1.0
    often = max(uses.values(), default=0) or 1
    # Where a package offers anything, the rest is private.
    offering = {_ending(file.path) for file in files for entry in file.entries if entry.public_name}
    found: dict[str, tuple[float, list[Entry]]] = {}
    for file in files:
        for entry in [*file.entries, *file.instances] if not (file.aside or is_example(file.path)) else ():
            private = entry.name.startswith("_") or _is_private(file.module) or _ending(file.path) in offering
            if ("." in entry.qualname or private) and not (entry.public_name and entry.qualname == entry.name):
                continue
            used = max(uses[name] for name in (entry.name, re.split(r"\W", entry.public_name)[-1]))
            # Of the names that a package offers, constants among them, those count that somebody uses.
            bound = entry.kind is BlockKind.ASSIGNMENT and not entry.signature.startswith(
                ("exports.", "module.exports.")
            )
            if bound and not used:
                continue
            hidden = not used and not _is_exported(entry)
            worth = entry.rank / most * (UNSHOWN_FACTOR if hidden else 1.0) + EXAMPLE_WEIGHT * used / often
            worth *= (EXPORTED_FACTOR if _is_exported(entry) else 1.0) * (
                ERROR_FACTOR if _ERROR.search(entry.name) else 1.0
            )
            name = entry.public_name or f"{file.module}.{entry.name}".strip(".")
            if not entry.public_name and not file.path.endswith((".py", ".pyi")):
                name = f"{file.path}: {entry.name}"
            before = found.get(name, (0.0, []))
            found[name] = max(before[0], worth), [*before[1], entry]
    order = sorted(found, key=lambda name: (-found[name][0], name))
    # Of namesakes, the best one: an example that calls `array` means one of them.
    first = {found[name][1][0].name: name for name in reversed(order)}
    return [(name, found[name][1]) for name in order if first[found[name][1][0].name] == name]


def _entry_lines(index: Index, found: Iterable[tuple[str, Sequence[Entry]]]) -> Iterator[str]:
    for name, entries in found:
        blocks = [block for entry in entries if (block := index.get(entry.id))]
        if blocks and _is_offered(blocks[0]):
            # Of overloads, take the definition itself: the one with a docstring, or the last.
            block = next((block for block in blocks if block.docstring), blocks[-1])
            called = cut(name + _parameters(block), SIGNATURE_CHARACTERS)
            said = _sentence(block.docstring)
            yield f"  {called}: {said}" if said else f"  {called}"


def _is_offered(block: CodeBlock) -> bool:
    """True unless the language says that the block is for its own package."""
    match block.language:
        case "python":
            return bool(block.import_line)
        case "go":
            return block.name[:1].isupper()
        case "rust":
            return bool(block.public_name) or block.signature.startswith("pub ") or "#[macro_export]" in block.text
    return True


def _is_exported(entry: Entry) -> bool:
    """True for what a code base offers at its top."""
    name = re.sub(r"^@[^/]*/", "", entry.public_name)
    return len(re.findall(r"[./]|::", name)) == 1 or name.isidentifier()


def _ending(path: str) -> str:
    """The ending of a path, that of JavaScript also for TypeScript."""
    return re.sub(r"^[cm]?[jt]sx?$", "js", path.rpartition(".")[2])


def _parameters(block: CodeBlock) -> str:
    """The parameters of a function, without types; "" for anything else."""
    if block.kind in (BlockKind.CLASS, BlockKind.ASSIGNMENT):
        return ""
    node = signature_in(block.signature)
    if node is None:
        found = re.search(r"\(.*\)", " ".join(block.signature.split()))
        return found.group() if found else "()"
    for item in ast.walk(node.args):
        if isinstance(item, ast.arg):
            item.annotation = None
    return f"({ast.unparse(node.args)})"


def _is_private(dotted: str) -> bool:
    return any(part.startswith("_") for part in dotted.split("."))


def _sentence(text: str) -> str:
    """The first sentence of several words that begins a paragraph, since a title says little; else the first word."""
    title = ""
    for paragraph in re.split(r"\n[ \t]*\n|\n[-=~]{3,}[ \t]*\n", text.strip()):
        plain = " ".join(paragraph.split()).strip("#=-*`\"' ")
        if re.match(r"[A-Za-z\d]", plain):
            sentence = cut(neutral(re.split(r"(?<=[a-z)`])[.:](?:\s|$)", plain)[0]), SENTENCE_CHARACTERS)
            if " " in sentence:
                return sentence
            title = title or sentence
    return title


def describe_tools(index: Index, state: Path, folder: str, room: int) -> str:
    """Describe a state of a tool source in at most `room` characters. `folder` begins the paths of its blocks, or "".

    The operations are shown by name with what they do; those that do not fit are counted.
    """
    try:
        summary = read_summary(state)
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    title = " ".join(filter(None, [summary.title or summary.name, summary.version]))
    head = cut(f"{title} (tools.{summary.name}): {_flat(summary.text)}".rstrip(": "), int(room * PURPOSE_SHARE))
    groups = within("Groups:", map(_group, summary.groups), int(room * GROUPS_SHARE))
    left = room - len(head) - len(groups) - 2
    return "\n".join(filter(None, [head, groups, _operations(index, summary, folder, left)]))


def _group(group: Mapping[str, Any]) -> str:
    paragraphs = [_flat(one) for one in str(group.get("text", "")).split("\n\n")]
    text = " ".join(one if one.endswith((".", "!", "?")) else f"{one}." for one in paragraphs if one)
    return cut(f"  {group['module']}: {text}" if text else f"  {group['module']}", GROUP_CHARACTERS)


def _operations(index: Index, summary: Summary, folder: str, room: int) -> str:
    under = f"{folder}/" if folder else ""
    lines: dict[str, str] = {}
    for block in index.blocks():
        if block.kind is BlockKind.TOOL and block.path.startswith(under):
            said = block.docstring.partition("\n")[0]
            lines[block.name] = cut(f"  {block.name}({_parameter_names(block.signature)}): {said}", SENTENCE_CHARACTERS)
    ordered = [lines[name] for name in summary.operations if name in lines]
    title = f"Operations ({len(ordered)}):"
    text = within(title, ordered, room - 40)
    shown = text.count("\n")
    return f"{text}\n  … and {len(ordered) - shown} more: search for them" if text and shown < len(ordered) else text


def _parameter_names(signature: str) -> str:
    """The names of the parameters; those with a default end with `=`."""
    node = signature_in(signature)
    if node is None:
        return "…"
    required = [item.arg for item in node.args.args]
    return ", ".join([*required, *(f"{item.arg}=" for item in node.args.kwonlyargs)])


def _flat(text: str) -> str:
    return " ".join(text.split())


def cut(text: str, limit: int) -> str:
    """The text, or its beginning and an ellipsis, in at most `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def within(title: str, lines: Iterable[str], room: int) -> str:
    """A title and as many lines as fit into `room` characters; "" if none fits."""
    text = title
    for line in lines:
        if len(text) + len(line) + 1 > room:
            break
        text += f"\n{line}"
    return text if text != title else ""
