"""API-Bank's dialogues, texts and adapted code base, on a small data set in its format. Nothing of it is run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from codenav.core.blocks import BlockKind
from codenav.core.errors import NotFound, Unavailable, UsageError
from codenav.evals.api_bank import ApiBank, environment, inside
from codenav.evals.api_bank.dialogues import FOLDER
from codenav.evals.benchmark import write_files
from codenav.evals.task import Mode

DATA = Path(__file__).resolve().parent.parent / "data" / "evals" / "api_bank"


def bank(data: Path = DATA, **options: object) -> ApiBank:
    """The small data set, which is at no known commit."""
    return ApiBank(data, any_commit=True, **options)  # type: ignore[arg-type]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the small data set that a test may spoil."""
    return Path(shutil.copytree(DATA, tmp_path / "data"))


def test_samples_are_the_dialogues_with_calls_after_the_last_message_of_the_user() -> None:
    samples = {sample.id: sample for sample in bank().samples()}
    found = [(sample.facts["file"], [call["name"] for call in sample.gold]) for sample in samples.values()]
    assert found == [
        ("ChangePin-level-1-1.jsonl", ["ChangePin"]),
        ("GetToken-LendBook-level-2-1.jsonl", ["GetToken", "LendBook"]),
        ("Join-LendBook-level-2-1.jsonl", ["LendBook"]),
        ("LendBook-ReturnBook-level-2-1.jsonl", ["ReturnBook"]),
        ("OpenAt-level-1-1.jsonl", ["OpenAt"]),
        ("RateBooks-level-1-1.jsonl", ["RateBooks"]),
        ("Translate-level-1-1.jsonl", ["Translate"]),
    ]
    assert list(samples)[:2] == ["dialogue-001", "dialogue-003"]
    assert samples["dialogue-003"].group == "level-2"


def test_arguments_are_those_that_were_passed_and_not_their_text() -> None:
    sample = next(one for one in bank().samples() if one.facts["file"].startswith("RateBooks"))
    assert sample.gold[0]["arguments"]["ratings"][1] == {"title": "Emil", "stars": 4}
    assert isinstance(sample.gold[0]["params"]["ratings"], str)


def test_the_request_is_the_chat_up_to_the_last_message_of_the_user() -> None:
    sample = next(one for one in bank().samples() if one.facts["file"].startswith("LendBook"))
    lines = sample.request.splitlines()
    assert "This year is 2023." in lines[0]
    assert lines[2] == "User: I am Ada, pin 1815. I take Emil for 3 days."
    assert "API: [GetToken(member='Ada', pin='1815')] Response: {'token': 'ada-token-1'}" in lines
    assert lines[-1] == "User: I bring it back already."


def test_what_an_agent_sees_of_a_sample_does_not_name_what_is_expected() -> None:
    for sample in bank().samples():
        seen = sample.id + sample.files["sample.json"].decode()
        state = json.loads(sample.files["sample.json"])
        earlier = {call["name"] for call in state["earlier"]}
        for call in sample.gold:
            assert call["name"] in earlier or call["name"] not in seen
        assert set(state) == {"seed", "earlier"}


def test_the_code_base_has_no_dialogues_and_seals_recorded_answers(tmp_path: Path) -> None:
    code = write_files(bank().files(), tmp_path / "code")
    files = sorted(str(path.relative_to(code)) for path in code.rglob("*") if path.is_file())
    assert "apis/tool_search.py" not in files
    assert [name for name in files if not name.startswith("apis/")] == [
        ".gitignore",
        "init_database/Loans.json",
        "init_database/Members.json",
        "state/apis.json",
        "state/inside.py",
    ]
    everything = "".join(path.read_text() for path in code.rglob("*") if path.is_file())
    for hidden in ("biblioteca", "31415926", "27182818", "Sofies Welt", "16180339"):
        assert hidden not in everything
    assert len(json.loads((code / "state" / "apis.json").read_text())["recorded"]) == 1


def test_upstream_files_are_copied_as_they_are(tmp_path: Path) -> None:
    code = write_files(bank().files(), tmp_path / "code")
    for path in (DATA / "apis").glob("*.py"):
        if path.name not in ("__init__.py", "tool_search.py"):
            assert (code / "apis" / path.name).read_bytes() == path.read_bytes()


def test_recorded_answers_open_with_arguments_that_mean_the_same() -> None:
    key = inside.recording_key("Translate", {"src": " library ", "tgt_lang": "Spanish"})
    assert key == inside.recording_key("Translate", {"src": "library", "tgt_lang": "es", "src_lang": "en"})
    assert key != inside.recording_key("Translate", {"src": "library", "tgt_lang": "fr"})
    assert key != inside.recording_key("Dictionary", {"keyword": "library"})
    assert inside.seal(key, inside.seal(key, b"biblioteca")) == b"biblioteca"
    assert b"biblio" not in inside.seal(key, b"biblioteca")
    assert inside.recording_key("Dictionary", {"keyword": "Ice_Cream "}) == inside.recording_key(
        "Dictionary", {"keyword": "ice cream"}
    )


@pytest.mark.parametrize(
    ("level", "has", "lacks"),
    [
        ("none", [], ["LendBook", "package"]),
        ("names", ["APIs: ChangePin, CheckToken"], ["Lends a book"]),
        ("descriptions", ["- LendBook: Lends a book"], ["days"]),
        ("prototypes", ["- LendBook().call(token, title, days): Lends a book"], []),
        ("library", ["- LendBook: Lends a book", "from apis import NAME"], ["days)"]),
    ],
)
def test_levels_of_the_description(level: str, has: list[str], lacks: list[str], tmp_path: Path) -> None:
    setting = bank(description=level, guidelines="none").setting(Mode.CODE_USE, tmp_path)
    assert all(text in setting.description for text in has)
    assert not any(text in setting.description for text in lacks)
    assert setting.facts["description"] == level


def test_tools_are_described_in_full_without_search(tmp_path: Path) -> None:
    text = bank().setting(Mode.NO_SEARCH, tmp_path).description
    assert (
        "LendBook().call(token, title, days)\nImport as: from apis import LendBook\nDescription: Lends a book" in text
    )
    assert "- days (int): Days of the loan." in text
    assert 'Returns: A dictionary whose "output" key has value of type str and description Number of the loan.' in text
    assert "ChangePin().call(stage, member, code, pin)" in text
    called = bank().setting(Mode.TOOL_USE, tmp_path).description
    assert "\nLendBook\nDescription: Lends a book" in called and "- days (int): Days of the loan." in called
    assert "import" not in called and ".call(" not in called


def test_search_finds_the_apis_and_not_their_state(tmp_path: Path) -> None:
    import codenav

    code = write_files(bank().files(), tmp_path / "code")
    with codenav.index(code) as index:
        assert index.search("lend a book", kinds=[BlockKind.CLASS])[0].name == "LendBook"
        assert not [hit for hit in index.search("name:State OR name:recording_key") if "state/" in hit.path]


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda data: shutil.rmtree(data / FOLDER), "level-1-given-desc"),
        (lambda data: (data / "apis" / "api.py").unlink(), "apis/api.py"),
        (lambda data: [path.unlink() for path in (data / FOLDER).iterdir()], "no dialogues"),
        (lambda data: (data / FOLDER / "Talk-level-1-1.jsonl").write_text("{torn"), "Talk-level-1-1.jsonl:1"),
        (lambda data: (data / FOLDER / "Talk-level-1-1.jsonl").write_text('\n{"role": "API"}\n'), "jsonl:2"),
        (lambda data: (data / FOLDER / "Talk-level-1-1.jsonl").write_bytes(b"\xff"), "cannot be read"),
        (lambda data: (data / "apis" / "join.py").write_text("class Join(\n"), "join.py is no Python"),
        (lambda data: (data / "apis" / "join.py").write_text("class Join(API):\n    pass\n"), "Join lacks"),
    ],
)
def test_a_spoilt_checkout_is_named(spoil: Callable[[Path], object], told: str, copy: Path, tmp_path: Path) -> None:
    spoil(copy)
    with pytest.raises(UsageError, match=told) as caught:
        bank(copy).setting(Mode.CODE_USE, tmp_path / "out")
    assert caught.value.hint and caught.value.exit_code == 2


def test_a_checkout_without_samples_is_refused(copy: Path) -> None:
    for path in (copy / FOLDER).iterdir():
        if not path.name.startswith("Talk"):
            path.unlink()
    with pytest.raises(UsageError, match="is a sample"):
        bank(copy).samples()


def python(folder: Path, version: str) -> Path:
    """A program that says it is an interpreter of a version."""
    path = folder / f"python{version}"
    facts = {"version": version, "prefix": "/", "base_prefix": "/", "paths": [], "distributions": []}
    path.write_text(f"#!/bin/sh\necho '{json.dumps(facts)}'\n")
    path.chmod(0o755)
    return path


def test_versions_that_fit(tmp_path: Path) -> None:
    old, first, last, new = (python(tmp_path, version) for version in ("3.7.9", "3.8.1", "3.12.9", "3.13.0"))
    assert environment.find_fitting([str(tmp_path / "gone"), str(old), str(first)]).version == "3.8.1"
    assert environment.find_fitting([str(new), str(last)]).version == "3.12.9"
    with pytest.raises(Unavailable, match=r"3\.8 to 3\.12") as caught:
        environment.find_fitting([str(old), str(new)])
    assert "3.12" in caught.value.hint
    with pytest.raises(UsageError, match=r"is Python 3\.13\.0; API-Bank needs 3\.8 to 3\.12"):
        environment.make(tmp_path / "environment", python=new, notice=print)
    assert not (tmp_path / "environment").exists()


def test_a_folder_that_was_not_prepared_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no environment") as caught:
        bank(prepared=tmp_path)
    assert "codenav eval prepare api-bank" in caught.value.hint
