"""The m&m's task: its files, its draw, the adapted code base, descriptions, self-check, and one episode."""

from __future__ import annotations

import ast
import dataclasses
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codenav import Session
from codenav.agents.models import ScriptedModel
from codenav.core.actions import Code, CodeSummary, Done, Search
from codenav.core.errors import NotFound, Unavailable, UsageError
from codenav.evals.mnms import Mnms
from codenav.evals.mnms.plans import draw
from codenav.evals.mnms.programs import program_of
from codenav.evals.task import Attempt, Mode

DATA = Path(__file__).parent.parent / "data" / "evals" / "mnms"
PLANS = DATA / "plans.json"
REAL = Path(os.environ.get("CODENAV_EVAL_DATA", "/nowhere")) / "mnms"


def mnms(**own: Any) -> Mnms:
    """The task on our own data."""
    return Mnms(**{"data": DATA / "checkout", "tasks": PLANS, "any_commit": True, **own})


def with_line(folder: Path, **changed: Any) -> Path:
    """A task file with one sound line, and one that is changed."""
    sound = {"id": 1, "user_request": "Look", "plan_str": "[{'id': 0, 'name': 'tag', 'args': {}}]"}
    path = folder / "tasks.json"
    path.write_text(json.dumps(sound) + "\n\n" + json.dumps({**sound, "id": 2, **changed}) + "\n")
    return path


def test_samples() -> None:
    task = mnms()
    samples = task.samples()
    assert len(samples) == 30 and samples[4].id == "22"
    assert {sample.group for sample in samples} == {"one tool", "two tools", "three tools"}
    assert samples[1].gold[1] == [{"id": 0, "name": "image_classification", "args": {"image": "dog.jpg"}}]
    assert "\u2028" in next(sample.request for sample in samples if "Ein Text" in sample.request)
    assert not any(sample.files for sample in samples)
    json.dumps([sample.gold for sample in samples])


def test_a_checkout_or_the_folder_in_it() -> None:
    assert mnms(data=DATA / "checkout" / "mnms").tools == mnms().tools
    with pytest.raises(NotFound, match=r"constants\.py"):
        mnms(data=DATA)


def test_a_task_file_is_needed_and_looked_for_in_the_checkout(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no task file") as error:
        mnms(tasks=None)
    assert "zixianma/mnms" in error.value.hint
    with pytest.raises(NotFound, match="no task file"):
        mnms(tasks="nothing.json")
    shutil.copytree(DATA / "checkout", tmp_path / "checkout")
    shutil.copyfile(PLANS, tmp_path / "checkout" / "here.json")
    assert len(mnms(data=tmp_path / "checkout", tasks="here.json").samples()) == 30


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"plan_str": "[{'id': 0, 'name': 'fly', 'args': {}}]"}, "unknown tool: 'fly'"),
        ({"plan_str": "[__import__('os').mkdir('pwned')]"}, "code in place of a literal"),
        ({"plan_str": "(lambda: [])()"}, "code in place of a literal"),
        ({"plan_str": "[{'id': 0"}, "no Python literal"),
        ({"plan_str": "[]"}, "no list of calls"),
        ({"plan_str": "{}"}, "no list of calls"),
        ({"plan_str": "[1]"}, "has not a number as id, a name, and args"),
        ({"plan_str": "[{'id': 0, 'name': 'tag', 'args': {'a b': 1}}]"}, "no dict of names"),
        ({"plan_str": "[{'id': 'x', 'name': 'tag', 'args': {}}]"}, "has not a number as id"),
        ({"plan_str": "[{'id': True, 'name': 'tag', 'args': {}}]"}, "has not a number as id"),
        ({"plan_str": "[{'id': 0, 'name': 'tag', 'args': {}}, {'id': 0, 'name': 'tag', 'args': {}}]"}, "same id"),
        ({"plan_str": "(" * 5000 + ")" * 5000}, "literal"),
        ({"plan_str": [1]}, "plan_str is no text"),
        ({"alt_plans_str": "{'a': 1}"}, "no list of plans"),
        ({"alt_plans_str": "[[{'id': 0, 'name': 'fly', 'args': {}}]]"}, "alt_plans_str names an unknown tool"),
        ({"user_request": " "}, "user_request is no text"),
        ({"id": None}, "id is no number"),
        ({"id": "a b"}, "id is no number"),
        ({"id": 1}, "the id 1 is there twice"),
    ],
)
def test_a_wrong_line_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=f"line 3.*{said}") as error:
        mnms(tasks=with_line(tmp_path, **changed))
    assert error.value.exit_code == 2 and error.value.hint
    assert not (tmp_path / "pwned").exists()


def test_a_file_that_is_no_task_file(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    for content, said in [(b"", "holds no task"), (b"{", "line 1 is no JSON"), (b"[]", "no JSON object")]:
        path.write_bytes(content)
        with pytest.raises(UsageError, match=said):
            mnms(tasks=path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot read"):
        mnms(tasks=path)


def test_a_draw_has_every_tool_or_says_what_is_missing() -> None:
    tasks = mnms().file.tasks
    assert draw(tasks, 0, 7).tasks == tasks and draw(tasks, 30, 7).seed is None
    some = draw(tasks, 29, 0)
    tools = {name for task in tasks for name in task.names[0]}
    assert {name for task in some.tasks for name in task.names[0]} == tools
    backwards = draw(list(reversed(tasks)), 29, 0)
    assert some.seed is not None and draw(tasks, 29, 0) == some
    assert {task.id for task in backwards.tasks} == {task.id for task in some.tasks}
    few = draw(tasks, 2, 3)
    assert few.seed == 3 and len(few.tasks) == 2 and len(few.missing) > 20


def test_the_setting_says_what_was_drawn(tmp_path: Path) -> None:
    task = mnms(sample=29, seed=0, stub_tools=True)
    facts = task.setting(Mode.CODE_USE, tmp_path).facts
    assert facts["ids"] == [sample.id for sample in task.samples()] and len(facts["ids"]) == 29
    assert facts["stub_tools"] is True and facts["tasks"] == "plans.json" and len(facts["tasks_sha256"]) == 64
    json.dumps(facts)


def outline(code: str) -> dict[str, list[str]]:
    """The names of the parameters of each function."""
    return {
        node.name: [one.arg for one in node.args.args if one.arg != "ckpt"]
        for node in ast.parse(code).body
        if isinstance(node, ast.FunctionDef)
    }


@pytest.mark.parametrize("stub_tools", [True, False])
@pytest.mark.parametrize("data", [DATA / "checkout", REAL])
def test_the_adapted_code_base(tmp_path: Path, data: Path, stub_tools: bool) -> None:
    if not data.is_dir():
        pytest.skip("CODENAV_EVAL_DATA names no real checkout")
    task = mnms(data=data, stub_tools=stub_tools)
    try:
        (folder,) = task.setting(Mode.CODE_USE, tmp_path).on
    except Unavailable as error:
        assert data == REAL and "torch" in str(error) and "--stub-tools" in error.hint
        return
    code = (folder / "mnm" / "tool_api.py").read_text()
    functions = {node.name: node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)}
    for tool in task.tools:
        assert ast.get_docstring(functions[tool.name]) == tool.description.strip()
        assert outline(code)[tool.name] == [parameter.name for parameter in tool.parameters]
    written = "".join(path.read_text() for path in folder.rglob("*.py"))
    assert "next_tools" not in written and "DEMO_EXAMPLES" not in written
    # All functions run, with no keys in the environment and in a folder of its own.
    call = (
        "import mnm.tool_api as t; print(t.count(objects=[{}]), t.image_captioning('dog.jpg'), t.get_weather(1, 2.5))"
    )
    ran = subprocess.run([sys.executable, "-c", call], cwd=folder, env={}, capture_output=True, text=True)
    assert ran.returncode == 0 and "text" in ran.stdout and "objects" in ran.stdout, ran.stderr
    if not stub_tools:
        assert "models:" not in code and (folder / "mnm" / "data" / "dog.jpg").is_file()


def test_placeholders_refuse_arguments_of_other_types(tmp_path: Path) -> None:
    (folder,) = mnms(stub_tools=True).setting(Mode.CODE_USE, tmp_path).on
    call = "import mnm.tool_api as t; t.image_captioning(image=t.image_generation(text='a dog'))"
    ran = subprocess.run([sys.executable, "-c", call], cwd=folder, capture_output=True, text=True)
    assert ran.stderr.strip().endswith("TypeError: image is of type dict, not str")


def test_missing_packages_are_named_and_none_is_imported(tmp_path: Path) -> None:
    shutil.copytree(DATA / "checkout", tmp_path / "checkout")
    functions = tmp_path / "checkout" / "mnms" / "execution" / "tool_api.py"
    functions.write_text(
        "import no_such_package.inside, antigravity\nfrom not_there import x\n" + functions.read_text()
    )
    with pytest.raises(Unavailable, match=r"missing: no_such_package, not_there\n") as error:
        mnms(data=tmp_path / "checkout").setting(Mode.CODE_USE, tmp_path / "out")
    assert error.value.exit_code == 4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("TOOL_METADATA", "TOOLS"), "has no TOOL_METADATA"),
        (lambda text: text.replace('"Shortens a paragraph."', 'print("x")'), "is no plain data"),
        (lambda text: text.replace('"arg_name"', '"names"'), "in another form"),
        (lambda text: text.replace("text summarization", "no such tool"), "has no function no_such_tool"),
        (lambda text: text + "(", "no Python"),
    ],
)
def test_a_changed_checkout_is_refused(tmp_path: Path, change: Callable[[str], str], said: str) -> None:
    shutil.copytree(DATA / "checkout", tmp_path / "checkout")
    described = tmp_path / "checkout" / "mnms" / "constants.py"
    described.write_text(change(described.read_text()))
    with pytest.raises(UsageError, match=said):
        mnms(data=tmp_path / "checkout")


def test_levels_of_description(tmp_path: Path) -> None:
    def told(mode: Mode, **own: Any) -> str:
        return mnms(stub_tools=True, **own).setting(mode, tmp_path / "out").description

    bare = {level: told(Mode.CODE_USE, description=level, guidelines="none") for level in
            ("none", "names", "descriptions", "prototypes", "library")}  # fmt: skip
    assert bare["none"] == ""
    assert "image_editing\n" in bare["names"] and "Changes an image" not in bare["names"]
    assert "image_editing: Changes an image as a text says." in bare["descriptions"]
    assert "image_editing(image, prompt): Changes an image as a text says." in bare["prototypes"]
    names = mnms().tool_names
    assert not any(name in bare["library"] for name in names if "_" in name)
    full = told(Mode.NO_SEARCH, description="none", guidelines="none")
    assert "object_detection(image) -> image, objects: Finds things in an image, with boxes." in full
    assert "get_location(city) -> lon, lat:" in full and "text = output['text']" in full
    assert "search" in told(Mode.CODE_USE, description="none").lower()
    assert "Search" not in told(Mode.NO_SEARCH).replace("search_movie", "")
    called = told(Mode.TOOL_USE)
    assert "object_detection(image) -> image, objects:" in called and "<result-1>." in called
    assert "import" not in called.replace("important", "") and "output[" not in called


@pytest.mark.parametrize("data", [DATA / "checkout", REAL])
def test_selfcheck(tmp_path: Path, data: Path) -> None:
    if not data.is_dir():
        pytest.skip("CODENAV_EVAL_DATA names no real checkout")
    told: list[str] = []
    checks = mnms(data=data).selfcheck(tmp_path, notice=told.append)
    assert [check for check in checks if not check.ok] == []
    assert told == ["30 tasks, 36 plans"] and "70" in checks[0].detail


def test_selfcheck_of_a_file_without_some_tools(tmp_path: Path) -> None:
    checks = mnms(tasks=with_line(tmp_path, alt_plans_str="None")).selfcheck(tmp_path, notice=print)
    assert all(check.ok for check in checks)
    assert checks[1].expected == round(100 / 33, 6)


@pytest.mark.parametrize("spoilt", [False, True])
def test_an_episode_is_scored_by_its_summary(tmp_path: Path, spoilt: bool) -> None:
    task = mnms(stub_tools=True)
    setting = task.setting(Mode.CODE_USE, tmp_path / "out")
    sample, planned = task.samples()[3], task.file.tasks[3]
    program = program_of(planned.plan[:-1] if spoilt else planned.plan)
    # What was tried on the way does not count.
    tried = "from mnm.tool_api import emoji, tag\ntag('a.jpg', [])"
    model = ScriptedModel([Search("image"), Code(tried), Code(program), CodeSummary(program), Done("a blue ball")])
    with Session(on=setting.on, model=model, description=setting.description, sandbox="process") as session:
        result = session.run(sample.request)
    assert result.status == "done" and result.summary.verified
    row = task.score(Attempt(sample, result))
    assert row["correct"] is not spoilt and row["made"] == planned.names[0][: 1 if spoilt else 2]
    assert row["summed_up"] and row["recall"] == (0.5 if spoilt else 1.0)
    unsummed = task.score(Attempt(sample, without_summary(result)))
    assert not unsummed["summed_up"] and unsummed["made"] == []


def without_summary(result: Any) -> Any:
    """The same result without its step of summing up: what is left has a script that codenav made from the steps."""
    return dataclasses.replace(result, steps=[step for step in result.steps if step.action.type != "code_summary"])
