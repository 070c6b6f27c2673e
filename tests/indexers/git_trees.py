"""Git work trees made by chance, with rules in every place that git reads, and what git itself lists of them."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

RULES = [
    "a", "b/", "*.py", "!c.py", "/a", "/b/", "a/*", "!a/c.py", "a/**", "**/b", "a/**/b", "*.md", "!*.md", "[ab]", "?",
    "!lib/", "lib", "/*", "a/b", "\\!x", "# c", "", "*/d.py", "!a/", "**", "!d.py", "a//", "[!a]*", "/**/a", "a/**/",
    "*.py ", "*\\ ", "a/*b*", "**/[[:alpha:]]/*.p[xy]", "*i*", "[a", "l*b/**", "?.py", "??.py", "[é].py", "é*", "*é.py",
    "[^a-z].py", "???.md", "人*", "!é.py", "*.py\r", "c.py  ", "\t", "!", "/", "!!c.py", "\\#x.py", "a b", "sub*",
    "nested", "!nested/", "*.[mp][dy]", "**/", "/a/b/c.py", "\ufeffa", "*.PY", "!LIB/",
    "É.py", "[[:upper:]].py", "[B-D].*", "/a**/b", "a/c**/**", "\\/*", "a**/**/c.py",
]  # fmt: skip
FOLDERS = ["a", "b", "lib", "é", "a b"]
FILES = ["c.py", "d.py", "x.md", "a.py", "é.py", "人.md", "#x.py", "caf\udce9.py"]


class GitTrees:
    """A maker of work trees."""

    def __init__(self, chance: random.Random, home: Path) -> None:
        self._chance = chance
        self._home = home

    def written(self, top: Path) -> Path:
        """Write a work tree, with other work trees in it, and the settings of a user."""
        self._home.mkdir()
        if self._maybe(0.4):
            self._rules(self._home / "git" / "ignore")
        if self._maybe(0.3):
            self._rules(self._home / "mine")
            (self._home / ".gitconfig").write_text(self._chance.choice([
                "[core]\n\texcludesFile = ~/mine\n", "[Core] excludesfile = \"~/mi\\\nne\" ; c\n",
                "[include]\n\tpath = more\n[user]\n\tname = x # y\n",
            ]))  # fmt: skip
            (self._home / "more").write_text("[core]\n excludesFile=~/mine\n")
        self._repository(top, depth=2)
        return top

    def _maybe(self, share: float) -> bool:
        return self._chance.random() < share

    def _rules(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        start = self._chance.choice(["", "", "\ufeff"])
        path.write_bytes(
            (start + "\n".join(self._chance.choices(RULES, k=3)) + self._chance.choice(["\n", ""])).encode()
        )

    def _repository(self, top: Path, *, depth: int) -> None:
        top.mkdir(parents=True, exist_ok=True)
        _git(top, "init", "-q")
        folders = [top]
        for _ in range(6):
            folders.append(self._chance.choice(folders) / self._chance.choice(FOLDERS))
        for folder in folders:
            folder.mkdir(exist_ok=True)
            for name in self._chance.sample(FILES, 3):
                (folder / name).touch()
        for folder in {top, *self._chance.sample(folders, 2)}:
            self._rules(folder / ".gitignore")
        if self._maybe(0.2):
            (top / "elsewhere").write_text("*.py\n")
            link = self._chance.choice(folders) / ".gitignore"
            link.unlink(missing_ok=True)
            link.symlink_to(top / "elsewhere")
        if self._maybe(0.3):
            self._rules(top / ".git" / "info" / "exclude")
        if self._maybe(0.1):
            self._rules(top / ".git" / "own")
            _git(top, "config", "core.excludesFile", self._chance.choice([".git/own", str(top / ".git" / "own")]))
        if self._maybe(0.1):
            (self._chance.choice(folders) / ".git").mkdir(exist_ok=True)
        if depth:
            for _ in range(self._chance.choice([0, 1, 1])):
                self._repository(
                    self._chance.choice(folders) / self._chance.choice(["sub", "nested", "a"]), depth=depth - 1
                )
        self._tracked(top)

    def _tracked(self, top: Path) -> None:
        """Track some of the files, ignored ones too, in one of the formats of the index, and some submodules."""
        _git(top, "config", "index.version", self._chance.choice(["2", "4"]))
        files, inner = [], []
        for folder, names, leaves in os.walk(top):
            if Path(folder) != top and Path(folder, ".git", "HEAD").exists():
                inner.append(Path(folder))
                names.clear()
                continue
            names[:] = sorted(set(names) - {".git"})
            files += [os.path.join(folder, leaf) for leaf in sorted(leaves)]
        for step in range(2):
            some = self._chance.sample(files, self._chance.randint(0, len(files) // 3))
            if some:
                _git(top, "add", "-f", *(["-N"] if step and self._maybe(0.3) else []), "--", *some)
        for each in inner:
            if self._maybe(0.5):
                _git(top, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{each.relative_to(top)}")


def listed(top: Path) -> set[str]:
    """The Python and Markdown files that git lists in a work tree, and in those inside it that it does not ignore."""
    asked = ("ls-files", "--cached", "--others", "--exclude-standard", "-z")
    found: set[str] = set()
    for entry in set(filter(None, _git(top, *asked).split(b"\0"))):
        name = os.fsdecode(entry)
        path = top / name
        if path.is_dir() and not path.is_symlink():
            if (path / ".git" / "HEAD").exists():
                found |= {f"{name.rstrip('/')}/{inner}" for inner in listed(path)}
        elif path.is_file() and not path.is_symlink() and name.endswith((".py", ".md")):
            found.add(name)
    return {name for name in found if name.encode("utf-8", "replace").decode() == name}


def shown_folder(top: Path, chance: random.Random) -> Path:
    """A folder of a work tree that no rule hides."""
    folders = [Path(folder) for folder, _, _ in os.walk(top) if ".git" not in Path(folder).relative_to(top).parts]
    folder = chance.choice(sorted(folders))
    hidden = subprocess.run(["git", "-C", str(folder), "check-ignore", "-q", "--no-index", "."], capture_output=True)
    return top if hidden.returncode == 0 else folder


def _git(top: Path, *arguments: str) -> bytes:
    ran = subprocess.run(["git", "-C", str(top), *arguments], capture_output=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
