"""What the model reads of a result: everything that matters, nothing without a bound."""

from __future__ import annotations

from dataclasses import replace

from codenav.core.blocks import BlockKind, CodeBlock, Hit, LineSpan, SearchResult
from codenav.core.execution import (
    CheckReport,
    Display,
    Execution,
    ExecutionError,
    Finding,
    Outcome,
    Variable,
    Verdict,
)
from codenav.core.usage import estimate_tokens
from codenav.environments import formatting


def block(name: str = "area", *, text: str = "def area(r):\n    return 3 * r", docstring: str = "") -> CodeBlock:
    return CodeBlock(
        id=name,
        kind=BlockKind.FUNCTION,
        name=name,
        qualname=name,
        path="shapes/circle.py",
        lines=LineSpan(3, 4),
        text=text,
        signature=f"def {name}(r)",
        docstring=docstring,
        language="python",
        import_line=f"from shapes.circle import {name}",
    )


def test_a_short_block_is_shown_with_its_source_even_where_the_docstring_is_shorter() -> None:
    shown = formatting.block_in_full(block(docstring="Area."))
    assert "return 3 * r" in shown
    assert "from shapes.circle import area" in shown
    assert "shapes/circle.py:3-4" in shown


def test_a_long_block_is_shown_as_signature_and_docstring() -> None:
    body = "def area(r):\n" + "    r = r + 1\n" * 400
    shown = formatting.block_in_full(block(text=body, docstring="Area of a circle."))
    assert "Area of a circle." in shown
    assert "r = r + 1" not in shown


def test_a_long_block_without_a_docstring_keeps_its_head_and_tail() -> None:
    body = "def area(r):\n" + "    r = r + 1\n" * 4000 + "    return r"
    shown = formatting.block_in_full(block(text=body))
    assert "def area(r):" in shown
    assert "return r" in shown
    assert "characters left out" in shown
    assert estimate_tokens(shown) < formatting.FULL_TOKENS + 100


def test_source_with_backtick_fences_does_not_end_its_own_fence() -> None:
    shown = formatting.block_in_full(block(text='def area(r):\n    """\n    ```python\n    ```\n    """'))
    assert shown.count("````") == 2


def test_cutting_is_bounded_for_scripts_with_many_bytes_a_character() -> None:
    assert estimate_tokens(formatting.cut_middle("面積" * 50_000, 100)) <= 120


def test_the_counts_of_a_search_add_up() -> None:
    blocks = [block(f"f{n}") for n in range(13)]
    result = SearchResult("f*", [Hit.of(item) for item in blocks], total=40)
    shown = formatting.searched(result, full=blocks[:3], short=blocks[3:], seen=2)
    assert "40 matches, 2 shown before: 3 in full, 10 as signatures, 25 not shown" in shown


def test_nothing_is_claimed_to_be_hidden_when_all_is_shown() -> None:
    result = SearchResult("area", [Hit.of(block())], total=1)
    shown = formatting.searched(result, full=[block()], short=[], seen=0)
    assert "1 match: 1 in full." in shown
    assert "not shown" not in shown


def test_repairs_are_told() -> None:
    result = SearchResult("(area", [Hit.of(block())], total=1, read_as="area", repairs=["closed a bracket"])
    assert "Read as: area (closed a bracket)" in formatting.searched(result, full=[block()], short=[], seen=0)


def test_an_error_shows_the_line_of_the_step() -> None:
    error = ExecutionError("ZeroDivisionError", "division by zero", "x = 1 / 0", 2, "Traceback …")
    shown = formatting.executed(Execution(Outcome.ERROR, error=error), [])
    assert "Outcome: error" in shown
    assert "line 2: x = 1 / 0" in shown


def test_everything_that_a_step_did_is_told() -> None:
    execution = Execution(
        Outcome.OK,
        stdout="hello\n",
        late_output="from a thread",
        changed=[Variable("x", "int", "4")],
        displays=[Display("image/png", b"\x89PNG")],
        files=["plot.png"],
        notice="state rebuilt: replayed 2 steps",
    )
    shown = formatting.executed(execution, [])
    for part in ("hello", "from a thread", "x: int = 4", "image/png", "plot.png", "state rebuilt"):
        assert part in shown


def test_a_silent_step_says_so() -> None:
    assert "Nothing was printed" in formatting.executed(Execution(Outcome.OK), [])


def test_a_checker_that_failed_is_never_read_as_clean() -> None:
    failed = CheckReport("mypy", failure="did not answer within 10 s")
    assert "mypy could not check this step: did not answer" in formatting.executed(Execution(Outcome.OK), [failed])


def test_remarks_are_shown_and_counted() -> None:
    findings = [Finding("F821", f"undefined name 'n{n}'", n) for n in range(1, 25)]
    shown = formatting.executed(Execution(Outcome.OK), [CheckReport("flake8", findings=findings)])
    assert "line 1: undefined name 'n1' [F821]" in shown
    assert "and 4 more" in shown


def test_the_reason_of_an_unverified_summary_is_told() -> None:
    assert "x is 4 in the replay" in formatting.summarised(Verdict(False, "x is 4 in the replay and 5 in the episode"))


def test_whatever_a_step_did_the_observation_is_bounded() -> None:
    execution = Execution(
        Outcome.OK,
        stdout="x " * 100_000,
        stderr="y " * 100_000,
        late_output="z " * 100_000,
        changed=[Variable("v" * 500, "t" * 5000, "r" * 5000) for _ in range(1000)],
        files=[f"{n}-{'f' * 250}" for n in range(1000)],
        displays=[Display("image/png", b"") for _ in range(1000)],
        error=ExecutionError("E" * 100, "m" * 50_000, "l", 1, "  File \n" * 10_000),
    )
    findings = [Finding("F821", "m" * 5000, n) for n in range(1000)]
    shown = formatting.executed(execution, [CheckReport(tool, findings=findings) for tool in ("flake8", "mypy")])
    assert estimate_tokens(shown) <= formatting.EXECUTED_TOKENS + 20


def test_hits_of_several_sources_say_which_one() -> None:
    one = replace(block(), source="pkg:one@1.0")
    result = SearchResult("area", hits=[Hit.of(one)], total=1)
    told = formatting.searched(result, full=[one], short=[one], seen=0, tagged=True)
    assert told.count(", pkg:one@1.0)") == 2
    assert "pkg:one" not in formatting.searched(result, full=[one], short=[one], seen=0)
