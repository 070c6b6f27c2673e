"""The page of a report: whole without scripts and without a network, whatever a model has written."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from command_line import codenav
from made_runs import made_result, made_run

VOID = {"meta", "input", "br"}
HOSTILE = "</pre><script>alert(1)</script><img src=https://example.org/x onerror=alert(1)>\x00\u202e\ud800"


class Page(HTMLParser):
    """A page as a tree would be read: tags in balance, texts by element, and every attribute."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.pre: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "pre":
            self.pre.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "pre":
            self.pre[-1] += data

    def classes(self) -> dict[str, set[str]]:
        """The classes of each sample, in order."""
        found = [set(str(attrs["class"]).split()) for tag, attrs in self.tags if "s" in str(attrs.get("class")).split()]
        return {str(number): classes - {"s"} for number, classes in enumerate(found)}


def page(folder: Path, runs: Iterable[Path], *options: str) -> Page:
    file = folder / "report.html"
    ran = codenav("eval", "table", *runs, "--paper", "--html", file, *options)
    assert ran.code == 0, ran.err
    assert f"wrote {file}, " in ran.err
    return Page(file.read_text(encoding="utf-8"))


def test_a_sample_has_its_program_its_expected_result_and_its_trajectory(tmp_path: Path) -> None:
    found = page(tmp_path, [made_run(tmp_path / "run", [made_result("a")], samples="a")])
    for text in ("Compute a.", '"value": "12"', "from m3eval import trade\nanswer = 12", "FUNCTION find_minimum"):
        assert any(text in pre for pre in found.pre), text
    assert "2  find_minimum(a=1, b=2)" in found.pre
    text = (tmp_path / "report.html").read_text()
    assert "codenav episodes show e-a-1" in text
    assert "81.7 ±4.9" in text
    ran = codenav("eval", "table", tmp_path / "run", "--html", tmp_path / "b.html", "--json")
    assert ran.document["tasks"][0]["task"] == "m3tooleval" and (tmp_path / "b.html").exists()


def test_nothing_comes_from_outside_and_nothing_runs(tmp_path: Path) -> None:
    texts = dict.fromkeys(("request", "answer", "program", "reason", "group", "episode"), HOSTILE)
    hostile = made_result(
        "a",
        **texts,
        gold={HOSTILE: HOSTILE},
        values={HOSTILE: [HOSTILE]},
        scores={"correct": False, HOSTILE: HOSTILE},
        calls=[{"name": HOSTILE, "arguments": {HOSTILE: HOSTILE}, "step": HOSTILE}],
        trajectory=[dict.fromkeys(("thought", "action", "content", "observation"), HOSTILE)],
    )
    run = made_run(tmp_path / "run", [hostile], samples="a", model=HOSTILE.replace("\ud800", ""), task="mine")
    found = page(tmp_path, [run])
    assert not {tag for tag, _ in found.tags} & {"script", "img", "link", "iframe", "a", "object"}
    for _, attributes in found.tags:
        assert not {name for name in attributes if name.startswith("on")} | ({"src", "href"} & set(attributes))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    assert "url(" not in text
    assert "\x00" not in text and "\u202e" not in text
    assert len(re.findall("<script>", text)) == 0
    assert text.count("&lt;script&gt;") > 10


def test_filters_by_outcome_and_score_are_style_rules_of_radio_buttons(tmp_path: Path) -> None:
    results = [
        made_result("a"),
        made_result("b", correct=False),
        made_result("c", status="limit", correct=False),
        made_result("d", status="error", scores={}),
        made_result(
            "e", scores={"correct": False, "upstream": False, "graded": "text", "tools": 1, "tries": 0, "f1": 0.5}
        ),
    ]
    found = page(tmp_path, [made_run(tmp_path / "run", results, samples="abcde")])
    assert list(found.classes().values()) == [
        {"c-correct", "c-full"}, {"c-wrong", "c-zero"}, {"c-limit", "c-zero"}, {"c-error"}, {"c-wrong", "c-part"},
    ]  # fmt: skip
    text = (tmp_path / "report.html").read_text()
    buttons = {attributes["id"] for tag, attributes in found.tags if tag == "input" and "id" in attributes}
    assert buttons == {"f-correct", "f-wrong", "f-failed", "f-limit", "f-error", "f-zero", "f-part", "f-full"}
    for button in buttons:
        assert f"body:has(#{button}:checked) .s:not(.c-{str(button)[2:]}) {{ display: none }}" in text


def test_two_runs_stand_side_by_side(tmp_path: Path) -> None:
    one = made_run(tmp_path / "one", [made_result("a", answer="from the first"), made_result("b"), made_result("c")])
    two = made_run(
        tmp_path / "two", [made_result("a", answer="from the second"), made_result("b", correct=False)], model="other"
    )
    found = page(tmp_path, [one, two], "--mixed")
    assert list(found.classes().values()) == [
        {"c-correct", "c-full"}, {"c-correct", "c-wrong", "c-full", "c-zero", "c-differ", "c-first"},
        {"c-correct", "c-full"},
    ]  # fmt: skip
    text = (tmp_path / "report.html").read_text()
    first, second = text.index("from the first"), text.index("from the second")
    assert first < second < text.index("Compute b.")
    sides = text[text.index('<div class="sides">') : text.index("Compute b.")]
    assert sides.count("<section>") == 2
    assert "not run" in text
    assert "f-differ" in text


def test_epochs_of_a_sample_stand_below_each_other(tmp_path: Path) -> None:
    results = [made_result("a"), made_result("a", 2, correct=False)]
    found = page(tmp_path, [made_run(tmp_path / "run", results, samples="a", epochs=2)])
    assert list(found.classes().values()) == [{"c-correct", "c-wrong", "c-part"}]


def test_a_page_of_many_long_samples_is_small_and_quick(tmp_path: Path) -> None:
    """Trajectories with texts as long as a run keeps them: 18 MB before their signs are escaped."""
    long = ("<x>&" * 1000)[:4000]
    step = {"thought": long, "action": "code", "content": long, "observation": long}
    ids = [f"s{number}" for number in range(300)]
    run = made_run(tmp_path / "run", [made_result(id, trajectory=[step] * 5) for id in ids], samples=ids)
    began = time.monotonic()
    found = page(tmp_path, [run])
    assert time.monotonic() - began < 30
    assert (tmp_path / "report.html").stat().st_size < 20_000_000
    assert len(found.classes()) == 300
    assert "characters left out" in found.pre[-1]


@pytest.mark.parametrize(
    ("file", "said"), [("no/such/folder/report.html", "there is no folder"), ("run", "is a folder")]
)
def test_a_page_that_cannot_be_written_is_said(tmp_path: Path, file: str, said: str) -> None:
    run = made_run(tmp_path / "run", [made_result("a")], samples="a")
    ran = codenav("eval", "table", run, "--html", tmp_path / file)
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err
