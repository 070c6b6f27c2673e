"""The system prompt: what fills it, what it promises, and how a user replaces parts of it."""

from __future__ import annotations

import re
import types
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from codenav.agents.parsing import parse
from codenav.agents.prompts import FILES, NO_DESCRIPTION, compose, copy_prompts
from codenav.core.actions import Action, Ask, Code, CodeSummary, Done, Observation, Search
from codenav.core.blocks import BlockKind, IndexStats
from codenav.core.errors import NotFound, StorageFull, UsageError
from codenav.core.usage import estimate_tokens
from codenav.retrieval.query import parser as query

TYPES: dict[str, type[Action]] = {item.type: item for item in (Search, Code, CodeSummary, Ask, Done)}
PACKAGES = ", ".join(f"some-package{number} {number}.{number}.1" for number in range(40))


@dataclass(frozen=True)
class Bash(Action):
    """An action of a user."""

    type: str = "bash"


class Place:
    """An environment that has facts and does nothing."""

    def __init__(self, action: type[Action], **facts: str) -> None:
        self.action = action
        self._facts = facts

    def facts(self) -> Mapping[str, str]:
        return self._facts

    def respond(self, action: Action, *, timeout: float | None = None) -> Observation:
        return Observation(f"did {action.content}")


def places() -> list[Place]:
    """The five environments with facts as large as real ones."""
    return [
        Place(Search, full="3", more="10", kinds=", ".join(kind.value for kind in BlockKind)),
        Place(
            Code,
            python="3.11.7",
            packages=PACKAGES,
            work_dir="/work",
            network="There is no network.",
            timeout="60",
            imports="Modules: alpha, beta, gamma.",
            checks="Checkers read each step; their remarks stand below the result.",
        ),
        Place(CodeSummary),
        Place(Ask),
        Place(Done),
    ]


def prompt(**changes: object) -> str:
    """The whole prompt as shipped."""
    return compose(**{"description": "A library for maps.", "environments": places(), **changes})  # type: ignore[arg-type]


def examples() -> list[tuple[str, str]]:
    """Every complete action in the prompt files: file name and text."""
    found = []
    for path in sorted(FILES.glob("*.md")):
        for match in re.finditer(r"<thought>.*?</content>", path.read_text(encoding="utf-8"), re.DOTALL):
            found.append((path.stem, match[0]))
    return found


def test_it_costs_at_most_2500_tokens_without_the_description() -> None:
    assert estimate_tokens(prompt(description="")) <= 2500


def test_every_variable_is_filled() -> None:
    text = prompt()
    assert "${" not in text
    for place in places():
        for fact in place.facts().values():
            assert fact in text
    assert "A library for maps." in text
    assert "search, code, code_summary, ask, done" in text


def test_an_empty_description_says_so() -> None:
    assert NO_DESCRIPTION in prompt(description=" \n")


def test_sections_come_in_the_order_of_the_environments() -> None:
    headings = re.findall(r"^# Action: (\w+)$", prompt(), re.MULTILINE)
    assert headings == ["search", "code", "code_summary", "ask", "done"]
    headings = re.findall(r"^# Action: (\w+)$", prompt(environments=places()[::-1]), re.MULTILINE)
    assert headings == ["done", "ask", "code_summary", "code", "search"]


def test_an_action_that_is_not_in_play_is_not_offered() -> None:
    text = prompt(environments=[place for place in places() if place.action in (Search, Done)])
    assert "Action: code" not in text
    assert "TYPE is one of: search, done." in text
    assert "code_summary" not in text


def test_the_example_of_each_action_is_valid_and_written_as_the_history_shows_it() -> None:
    seen = set()
    for name, text in examples():
        if name == "overview":
            continue
        action = parse(text, TYPES)
        assert isinstance(action, Action)
        assert action.type == name
        assert action.to_xml() == text
        seen.add(name)
    assert seen == set(TYPES)


def test_the_form_in_the_overview_has_just_the_tags_that_are_parsed() -> None:
    form = next(text for name, text in examples() if name == "overview")
    action = parse(form.replace("TYPE", "done"), TYPES)
    assert action == Done(
        "what this action needs", "What you know so far and why you take this step: one to three sentences."
    )


def test_examples_of_code_compile_and_the_summary_prints_its_answer() -> None:
    for name, text in examples():
        if name in ("code", "code_summary"):
            compile(parse(text, TYPES).content, name, "exec")  # type: ignore[union-attr]
            assert "print(" in text


def test_queries_in_the_prompt_are_read_without_repairs() -> None:
    section = (FILES / "search.md").read_text(encoding="utf-8")
    example = parse(next(text for name, text in examples() if name == "search"), TYPES)
    queries = example.content.splitlines()  # type: ignore[union-attr]
    how = section.split("How to write a query:")[1].split("Begin with")[0]
    queries += [text for text in re.findall(r"`([^`]+)`", how) if text not in ("*", "field: value")]
    assert len(queries) >= 8
    for text in queries:
        assert not query.parse(text.replace("${kinds}", "CLASS")).repairs, text


def test_the_real_environments_have_the_facts_that_the_prompt_uses() -> None:
    from codenav import environments

    class Idle:
        info = types.SimpleNamespace(python_version="3.12.1", work_dir="/work", network="none")

        def variables(self) -> dict[str, str]:
            return {}

    class Empty:
        def stats(self) -> IndexStats:
            return IndexStats("", "embedded")

    built = [
        environments.SearchEnvironment(Empty()),  # type: ignore[arg-type]
        environments.CodeEnvironment(Idle()),  # type: ignore[arg-type]
        environments.CodeSummaryEnvironment(),
        environments.AskEnvironment(),
        environments.DoneEnvironment(),
    ]
    text = prompt(environments=built)
    assert "Runs Python 3.12.1" in text
    assert "the current folder is /work" in text.lower()


def test_a_description_is_never_read_as_a_template() -> None:
    text = prompt(description="costs ${amount} and $5, ${actions}")
    assert "costs ${amount} and $5, ${actions}" in text


def test_a_file_of_the_user_wins_and_the_others_stay_ours(tmp_path: Path) -> None:
    (tmp_path / "done.md").write_text("# Action: done\n\nSay it in verse.\n", encoding="utf-8")
    text = prompt(folder=tmp_path)
    assert "Say it in verse." in text
    assert "1106" not in text
    assert "Runs Python 3.11.7" in text


def test_an_overview_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "overview.md").write_text("Mine. ${description} ${types}\n${actions}", encoding="utf-8")
    text = prompt(folder=tmp_path, environments=[Place(Done)])
    assert text.startswith("Mine. A library for maps. done\n# Action: done")
    assert text.endswith("\n")


def test_an_action_of_the_user_needs_one_file(tmp_path: Path) -> None:
    (tmp_path / "bash.md").write_text(
        "# Action: bash\n\nRuns ${shell}. `$HOME`, $$ and $${shell} stay.", encoding="utf-8"
    )
    text = prompt(folder=tmp_path, environments=[Place(Bash, shell="dash"), Place(Done)])
    assert "Runs dash. `$HOME`, $$ and ${shell} stay." in text
    assert "TYPE is one of: bash, done." in text


def test_an_action_without_a_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no prompt file for actions of type 'bash'") as raised:
        prompt(environments=[Place(Bash)], folder=tmp_path)
    assert "bash.md" in raised.value.hint and str(tmp_path) in raised.value.hint
    with pytest.raises(UsageError) as raised:
        prompt(environments=[Place(Bash)])
    assert "--prompts" in raised.value.hint


def test_an_unknown_variable_is_named_with_its_file_and_the_known_ones(tmp_path: Path) -> None:
    (tmp_path / "search.md").write_text("shows ${ful}", encoding="utf-8")
    with pytest.raises(UsageError, match=r"search\.md uses \$\{ful\}") as raised:
        prompt(folder=tmp_path)
    assert "${full}" in raised.value.hint


def test_a_fact_that_an_environment_does_not_give_is_named() -> None:
    with pytest.raises(UsageError, match=r"code\.md uses \$\{python\}") as raised:
        prompt(environments=[Place(Code)])
    assert "none" in raised.value.hint


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        prompt(folder=tmp_path / "nowhere")


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "done.md").write_bytes(b"\xff\xfe\x00\xff")
    with pytest.raises(UsageError, match=r"cannot read .*done\.md"):
        prompt(folder=tmp_path)


def test_copies_are_complete_and_work_as_an_override(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    copies = copy_prompts(folder)
    assert sorted(path.name for path in copies) == sorted(path.name for path in FILES.glob("*.md"))
    assert {path.stem for path in copies} == {"overview", *TYPES}
    assert prompt(folder=folder) == prompt()


def test_copying_never_overwrites(tmp_path: Path) -> None:
    (tmp_path / "done.md").write_text("mine", encoding="utf-8")
    (tmp_path / "ask.md").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match=r"ask\.md, done\.md"):
        copy_prompts(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ask.md", "done.md"]
    assert (tmp_path / "done.md").read_text(encoding="utf-8") == "mine"


def test_copying_to_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StorageFull, match="cannot write prompts"):
        copy_prompts(tmp_path / "file" / "inside")
