"""Verdicts on the disk, so that a judge is asked once, and labels that people gave."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codenav.agents.judge import UNREADABLE
from codenav.core.errors import NotFound, StorageFull, UsageError
from codenav.core.system.stored import Stored

FILE = "judged.jsonl"
"""In the folder of the run, or of the first of two."""


@dataclass(frozen=True)
class AttemptVerdict(Stored):
    """A verdict on an attempt, or on a pair of attempts."""

    id: str
    epoch: int
    verdict: str
    """`pass` or `fail`; of a pair `first`, `second` or `tie`; `unreadable` if the judge gave none."""
    reason: str = ""
    consistent: bool = True
    """False for a pair of which the two orders had different winners; it is a tie."""
    asked: bool = True
    """False where no judge was needed: an attempt that did not end with an answer has not passed."""
    tokens: int = 0
    """Of the judge's prompts and answers."""


class VerdictFile:
    """The verdicts of a run's folder, one line each, by a digest of what the judge was asked."""

    def __init__(self, folder: Path) -> None:
        """Read what is there; damaged lines are passed over, and asked for again."""
        self._path = folder / FILE
        self._lock = threading.Lock()
        self._kept: dict[str, AttemptVerdict] = {}
        self._judges: dict[str, str] = {}
        """The judge of each, with the other run of a pair."""
        try:
            text = self._path.read_bytes()
        except OSError:
            text = b""
        self._torn = bool(text) and not text.endswith(b"\n")
        for line in text.splitlines():
            with suppress(ValueError, TypeError, KeyError, RecursionError):
                entry = json.loads(line)
                self._judges[entry["key"]] = _judge_text(entry["judge"], entry["other"])
                self._kept[entry["key"]] = AttemptVerdict.from_dict(entry)

    def __len__(self) -> int:
        return len(self._kept)

    def lines(self) -> dict[tuple[str, int], list[str]]:
        """The verdicts by sample and epoch, a line each: the judge, the other run of a pair, verdict and reason."""
        found: dict[tuple[str, int], list[str]] = {}
        for key, one in self._kept.items():
            reason = f". {one.reason}" if one.reason else ""
            found.setdefault((one.id, one.epoch), []).append(f"{self._judges[key]}: {one.verdict}{reason}")
        return found

    def ask_once(self, key: str, judge: str, other: str, ask: Callable[[], AttemptVerdict]) -> AttemptVerdict:
        """The kept verdict of that key, else what `ask` returns, which is then kept. Usable from several threads.

        `other` is the second run of a pair.

        Raises:
            StorageFull: the line cannot be written.
        """
        with self._lock:
            found = self._kept.get(key)
        if found is not None:
            return found
        verdict = ask()
        line = {"key": key, "judge": judge, "other": other, **verdict.to_dict()}
        with self._lock:
            self._kept[key], self._judges[key] = verdict, _judge_text(judge, other)
            try:
                with self._path.open("a", encoding="ascii") as file:
                    file.write(("\n" if self._torn else "") + json.dumps(line) + "\n")
            except OSError as error:
                raise StorageFull(f"cannot keep a verdict in {self._path}: {error.strerror}", cause=error) from error
            self._torn = False
        return verdict


def _judge_text(judge: str, other: str) -> str:
    return f"{judge} against {other}" if other else judge


@dataclass(frozen=True)
class Label:
    """The verdict of a person."""

    id: str
    verdict: str
    epoch: int | None = None
    """None: of every epoch."""


def read_labels(path: Path, *, words: Sequence[str]) -> list[Label]:
    """Read JSON lines such as `{"id": "dna-3", "epoch": 1, "verdict": "pass"}`; the epoch may be left out.

    Raises:
        NotFound: there is no such file.
        UsageError: a line is no label with one of the words.
    """
    hint = f'each line is such as {{"id": "a", "verdict": "{words[0]}"}}, with {" or ".join(words)}'
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise NotFound(f"there are no labels {path}", hint=hint) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the labels {path}: {error}", hint=hint) from error
    found = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            label = _label(line)
            if label is None or label.verdict not in words:
                raise UsageError(f"{path}, line {number} is no label", hint=hint)
            found.append(label)
    if not found:
        raise UsageError(f"{path} holds no label", hint=hint)
    return found


def _label(line: str) -> Label | None:
    try:
        entry = json.loads(line)
        label = Label(entry["id"], entry["verdict"], entry.get("epoch"))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return label if isinstance(label.id, str) and isinstance(label.epoch, int | None) else None


def agreement(labels: Sequence[Label], verdicts: Mapping[tuple[str, int], str]) -> dict[str, Any]:
    """Labels with a readable verdict, how many agree with it, and Cohen's kappa.

    Kappa is the agreement above that of chance, from the shares of each word; None where chance alone agrees.
    """
    pairs = [
        (label.verdict, verdict)
        for label in labels
        for (id, epoch), verdict in verdicts.items()
        if id == label.id and label.epoch in (None, epoch) and verdict != UNREADABLE
    ]
    if not pairs:
        return {"labels": 0, "agree": 0, "share": None, "kappa": None}
    agree = sum(theirs == ours for theirs, ours in pairs)
    share = agree / len(pairs)
    people, judge = Counter(theirs for theirs, _ in pairs), Counter(ours for _, ours in pairs)
    chance = sum(people[word] * judge[word] for word in people) / len(pairs) ** 2
    kappa = None if chance == 1 else (share - chance) / (1 - chance)
    return {"labels": len(pairs), "agree": agree, "share": share, "kappa": kappa}
