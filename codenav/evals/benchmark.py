"""The benchmarks by name, and their common parts: a checkout that is read, a code base that is written, and texts.

The modules of the benchmarks are imported when they are used.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, cast

from codenav.core.errors import CodeNavError, NotFound, StorageFull, UsageError
from codenav.core.options import near_one
from codenav.evals.task import LEVELS, Check, Mode, Setting, Task, Tool


class Benchmark(Task, ABC):
    """A benchmark in a checkout of its repository. A subclass reads samples, adapts the code base, and scores."""

    known_commit: ClassVar[str]
    """The commit that the adapter was written for, and that the figures of the self-check belong to."""
    folder: ClassVar[str]
    """The benchmark's own folder in a checkout."""
    needs: ClassVar[Sequence[str]]
    """Files and folders without which a folder is not the benchmark's."""
    read: ClassVar[Sequence[str]] = ()
    """`Setting.read`."""
    all_tools: ClassVar[str] = "all tools"
    """The word for the description of tool-use in the head of a run."""

    def __init__(self, data: Path, *, any_commit: bool, description: str, guidelines: str) -> None:
        """Find the benchmark in a checkout, and read the files that are named as description or guidelines.

        Args:
            data: the checkout, or the benchmark's folder in it.
            any_commit: take another commit than the known one.
            description: one of `LEVELS`, or the path of a file.
            guidelines: `default`, `none`, or the path of a file.

        Raises:
            NotFound: a file is missing.
            UsageError: the commit is another one.
        """
        found = checkout(
            data,
            needs=self.needs,
            folder=self.folder,
            commit=self.known_commit,
            any_commit=any_commit,
            url=BENCHMARKS[self.name].checkout if self.name in BENCHMARKS else "",
        )
        self.root, self.commit = found.root, found.commit
        self._level, self._guidelines = description, guidelines
        self._own_description = None if description in LEVELS else text_of(description, "description")
        self._own_guidelines = None if guidelines in ("default", "none") else text_of(guidelines, "guidelines")

    @abstractmethod
    def files(self) -> Mapping[str, bytes]:
        """The adapted code base by relative path. Expected answers are not in it.

        Raises:
            UsageError: a file of the checkout is not as expected.
        """

    @abstractmethod
    def description_text(self, mode: Mode, level: str) -> str:
        """The description of the code base at a level; of all tools in full where there is no search."""

    @abstractmethod
    def guidelines_text(self, mode: Mode) -> str:
        """Our guidelines, which ask of the agent what those of the CodeNav paper ask."""

    @abstractmethod
    def tools_called(self) -> Sequence[Tool]:
        """`Setting.tools`."""

    @abstractmethod
    def selfcheck(self, out: Path, *, notice: Callable[[str], None]) -> Sequence[Check]:
        """Replay the expected answers (`codenav eval prepare --selfcheck`).

        `out` is an empty folder for it; `notice` gets a line for what takes long.
        """

    def prepare(self, out: Path, *, notice: Callable[[str], None]) -> bool:
        """Make in `out` the environment that `prepared=out` then names. False: the benchmark needs none.

        Raises:
            Unavailable: something cannot be fetched; the hint says what to do.
        """
        return False

    def facts(self) -> Mapping[str, Any]:
        """More of `Setting.facts`."""
        return {}

    @property
    def interpreter(self) -> Path | None:
        """`Setting.python`."""
        return None

    def setting(self, mode: Mode, out: Path) -> Setting:
        """Write the adapted code base below `out`, and describe it.

        Raises:
            UsageError, Unavailable: the checkout or the interpreter lacks something.
            StorageFull: the code base cannot be written.
        """
        folder = write_files(self.files(), out / "code")
        description = (
            self.description_text(mode, self._level) if self._own_description is None else self._own_description
        )
        guidelines = self._own_guidelines
        if guidelines is None:
            guidelines = "" if self._guidelines == "none" else self.guidelines_text(mode)
        return Setting(
            on=[folder],
            description="\n\n".join(part for part in (description.strip(), guidelines.strip()) if part),
            python=self.interpreter,
            read=list(self.read),
            tools=self.tools_called() if mode is Mode.TOOL_USE else (),
            facts={
                "commit": self.commit,
                "description": self._level if mode is Mode.CODE_USE else self.all_tools,
                "description_characters": len(description),
                "guidelines": self._guidelines,
                **self.facts(),
            },
        )


def text_of(path: str, option: str) -> str:
    """The text of a file that an option names.

    Raises:
        NotFound: there is none.
    """
    try:
        return Path(path).expanduser().read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        hint = f"--{option} takes one of the words in --help, or a file"
        raise NotFound(f"--{option} {path}: {error.strerror}", hint=hint) from None


def write_files(files: Mapping[str, bytes], folder: Path) -> Path:
    """Make a folder hold these files and no others. Those with the same content stay, so that an index stays too.

    Raises:
        StorageFull: they cannot be written.
    """
    try:
        for path in folder.rglob("*"):
            if path.is_file() and str(path.relative_to(folder)) not in files:
                path.unlink()
        for name, content in files.items():
            path = folder / name
            if not path.is_file() or path.read_bytes() != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
    except OSError as error:
        raise StorageFull(f"cannot write the code base to {folder}: {error}", hint="choose another folder") from error
    return folder


def with_docstrings(source: str, descriptions: Mapping[str, str]) -> str:
    """A module with a docstring in each function and method that has a description, in place of its own.

    Raises:
        UsageError: such a function stands on one line.
    """
    tree, lines = ast.parse(source), source.split("\n")
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    functions = [node for body in bodies for node in body if isinstance(node, ast.FunctionDef)]
    # From the end, so that the places of what is above stay right.
    for node in sorted(functions, key=lambda one: -one.lineno):
        if node.name not in descriptions:
            continue
        first = node.body[0]
        start = end = first.lineno - 1
        if ast.get_docstring(node) is not None:
            end = first.end_lineno or first.lineno
        elif node.lineno == first.lineno:
            raise UsageError(f"the function {node.name} stands on one line", hint="use a fresh checkout")
        lines[start:end] = docstring(descriptions[node.name], " " * first.col_offset)
    return "\n".join(lines)


def docstring(text: str, indent: str) -> list[str]:
    """The lines of a docstring with that text."""
    lines = text.replace("\\", "\\\\").replace('"""', "'''").strip().splitlines()
    if len(lines) == 1 and not lines[0].endswith('"'):
        return [f'{indent}"""{lines[0]}"""']
    return [f'{indent}"""{lines[0]}', *(f"{indent}{line}".rstrip() for line in lines[1:]), f'{indent}"""']


UNKNOWN = "unknown"
"""The commit of a folder that is no Git checkout."""
LINK, MODULE = b"120000", b"160000"
"""Modes of entries in a Git tree that are no files."""


@dataclass(frozen=True)
class Checkout:
    """A benchmark's folder in a checkout."""

    root: Path
    """The benchmark's own folder: `scripts/eval/m3tooleval`, `api-bank`, …"""
    commit: str
    """40 hex digits, or `unknown`."""


def checkout(
    data: Path, *, needs: Sequence[str], folder: str, commit: str, any_commit: bool, url: str = ""
) -> Checkout:
    """Find a benchmark in `data`: the checkout, or the benchmark's `folder` in it (`""` for the checkout itself).

    `needs` are files and folders that it must hold, relative to `folder`. `commit` is the known one; another one, or
    none that can be read, is refused without `any_commit`, and so are files below `needs` that were changed since.
    `url` is told to those who have no checkout.

    Raises:
        NotFound: `data` is no folder, or lacks something; the message names the first file that was looked for.
        UsageError: the commit is another one, or a file is not that of the commit.
    """
    data = data.expanduser().absolute()
    how = f": git clone {url} DIR && git -C DIR checkout {commit}" if url else ""
    if not data.is_dir():
        raise NotFound(f"no such folder: {data}", hint=f"--data names a checkout of the benchmark's repository{how}")
    places = [data / folder, data] if folder else [data]
    root = next((place for place in places if all((place / need).exists() for need in needs)), None)
    if root is None:
        # The place that has most of them is the one that was meant; ties go to the checkout.
        meant = max(places, key=lambda place: sum((place / need).exists() for need in needs))
        missing = next(need for need in needs if not (meant / need).exists())
        inside = f" or its folder {folder}" if folder else ""
        raise NotFound(
            f"{data} is not this benchmark: there is no {meant / missing}",
            hint=f"--data names a checkout of the benchmark's repository{inside}, with all of its files{how}",
        )
    found = commit_of(root)
    if commit and found != commit and not any_commit:
        state = "whose commit cannot be read" if found == UNKNOWN else f"at commit {found[:12]}"
        raise UsageError(
            f"{root} is a checkout {state}; scores are known for {commit[:12]}",
            hint=f"git checkout {commit}, or --any-commit to take it as it is",
        )
    if commit and not any_commit and (changed := _changed(root, needs)):
        raise UsageError(
            f"{root / changed} is not the file of commit {found[:12]}",
            hint=f"git restore {changed}, or --any-commit to take the checkout as it is",
        )
    return Checkout(root, found)


def commit_of(folder: Path) -> str:
    """Return the commit of the Git checkout that holds a folder, or `unknown`."""
    found = _git(folder, "rev-parse", "HEAD").decode(errors="replace").strip()
    return found if len(found) == 40 else UNKNOWN


def _changed(root: Path, needs: Sequence[str]) -> str:
    """Return the first file below `needs` that is not as committed, or "".

    Files are hashed here: `git status` and `git diff` run programs that a checkout's own configuration names.
    """
    for entry in _git(root, "ls-tree", "-r", "-z", "HEAD", "--", *needs).split(b"\0"):
        facts, _, name = entry.partition(b"\t")
        path = root / os.fsdecode(name)
        if not facts or facts.startswith((LINK, MODULE)):
            continue
        blob = facts.decode().split()[2]
        try:
            content = path.read_bytes()
        except OSError:
            return os.fsdecode(name)
        # The object of a file as Git names it, from a checkout that changes no line ends.
        for text in (content, content.replace(b"\r\n", b"\n")):
            if hashlib.sha1(b"blob %d\0" % len(text) + text, usedforsecurity=False).hexdigest() == blob:
                break
        else:
            return os.fsdecode(name)
    return ""


def _git(folder: Path, *arguments: str) -> bytes:
    """Return the output of a Git command that only reads objects, or nothing."""
    # A checkout that belongs to somebody else is read, not trusted: nothing in it is run by these commands.
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    command = ["git", "-c", "safe.directory=*", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, env=clean, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout if done.returncode == 0 else b""


@dataclass(frozen=True)
class Entry:
    """A benchmark that `codenav eval` knows."""

    factory: str
    """Module and class: called with the checkout and the options of the benchmark."""
    about: str
    """One line."""
    checkout: str
    """Repository that `--data` names a checkout of."""


BENCHMARKS = {
    "m3tooleval": Entry(
        "codenav.evals.m3tooleval:M3ToolEval",
        "82 tasks in five domains; scored is the answer",
        "https://github.com/xingyaoww/code-act",
    ),
    "api-bank": Entry(
        "codenav.evals.api_bank:ApiBank",
        "186 dialogues; scored are the APIs that were called",
        "https://github.com/AlibabaResearch/DAMO-ConvAI",
    ),
    "mnms": Entry(
        "codenav.evals.mnms:Mnms",
        "multi-modal tasks; scored are the tools of the program",
        "https://github.com/RAIVNLab/mnms",
    ),
}
"""In the order of the CodeNav paper's table 1, from left to right by how little they need."""


def entry(name: str) -> Entry:
    """Return the entry of a benchmark.

    Raises:
        UsageError: there is none of that name.
    """
    if name not in BENCHMARKS:
        raise UsageError(f"no benchmark {name!r}", hint=near_one(name, list(BENCHMARKS)))
    return BENCHMARKS[name]


def task_class(name: str) -> type[Any]:
    """Return the class of a benchmark, without any data.

    Raises:
        UsageError: there is none of that name.
    """
    module, _, attribute = entry(name).factory.partition(":")
    return cast(type[Any], getattr(import_module(module), attribute))


def scorer_of(name: str, own: Sequence[Task] = ()) -> Task | None:
    """One of `own` tasks, else a known benchmark without a checkout: its `columns` and `aggregate` alone can be used.

    None: there is none of that name.
    """
    task = next((task for task in own if task.name == name), None)
    return task or (object.__new__(task_class(name)) if name in BENCHMARKS else None)


def make(name: str, data: str | Path, options: Mapping[str, Any] | None = None, **runs_in: Any) -> Benchmark:
    """Return a benchmark on a checkout.

    Options that are None are left out. One that the benchmark does not have is refused; `runs_in`, the `python` and
    `sandbox` of the sessions, are passed on to those that have them.

    Raises:
        UsageError: there is no such benchmark or option, or the checkout is not the one.
    """
    factory = task_class(name)
    known = inspect.signature(factory).parameters
    given = {key: value for key, value in (options or {}).items() if value is not None}
    for key in given:
        if key not in known:
            raise UsageError(f"{name} has no option --{key.replace('_', '-')}", hint=f"codenav eval run {name} --help")
    given |= {key: value for key, value in runs_in.items() if value and key in known}
    try:
        return cast(Benchmark, factory(Path(data), **given))
    except CodeNavError:
        raise
    except OSError as error:
        raise UsageError(f"cannot read {error.filename or data}: {error.strerror}", hint="look at --data") from error
