"""What the three benchmarks share: a checkout that is read, a code base that is written, and texts that describe it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from codenav.core.errors import NotFound, StorageFull
from codenav.evals.checkouts import checkout
from codenav.evals.task import LEVELS, Column, Mode, Setting


class Benchmark:
    """A benchmark in a checkout of its repository. A subclass reads samples, adapts the code base, and scores."""

    name: ClassVar[str]
    columns: ClassVar[Sequence[Column]]
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
        found = checkout(data, needs=self.needs, folder=self.folder, commit=self.known_commit, any_commit=any_commit)
        self.root, self.commit = found.root, found.commit
        self._level, self._guidelines = description, guidelines
        self._own_description = None if description in LEVELS else text_of(description, "description")
        self._own_guidelines = None if guidelines in ("default", "none") else text_of(guidelines, "guidelines")

    def files(self) -> Mapping[str, bytes]:
        """The adapted code base by relative path. Expected answers are not in it.

        Raises:
            UsageError: a file of the checkout is not as expected.
        """
        raise NotImplementedError

    def described(self, mode: Mode, level: str) -> str:
        """The description of the code base at a level; in tool-use of all tools in full, whatever the level."""
        raise NotImplementedError

    def guided(self, mode: Mode) -> str:
        """Our guidelines, which ask of the agent what those of the CodeNav paper ask."""
        raise NotImplementedError

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
        description = self.described(mode, self._level) if self._own_description is None else self._own_description
        guidelines = self._own_guidelines
        if guidelines is None:
            guidelines = "" if self._guidelines == "none" else self.guided(mode)
        return Setting(
            on=[folder],
            description="\n\n".join(part for part in (description.strip(), guidelines.strip()) if part),
            python=self.interpreter,
            read=list(self.read),
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
        raise NotFound(
            f"--{option} {path}: {error.strerror}", hint=f"--{option} takes one of the words in --help, or a file"
        ) from None


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
