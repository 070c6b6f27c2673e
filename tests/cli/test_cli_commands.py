"""The command line as a user meets it: exit codes, stdout, stderr, documents."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import jsonschema
import pytest
from command_line import codenav
from ranking_servers import RankingServer

from codenav.cli import former
from codenav.cli.main import cli
from codenav.core import schemas


def commands(group: click.Command, *name: str) -> Iterator[tuple[str, ...]]:
    """The names of a group's commands, and of those below them."""
    if isinstance(group, click.Group):
        context = click.Context(group)
        for child in group.list_commands(context):
            yield from commands(group.get_command(context, child) or group, *name, child)
    if name:
        yield name


COMMANDS = list(commands(cli))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "shapes"
    root.mkdir()
    (root / "shapes.py").write_text(
        '"""Shapes."""\n\n\ndef resize_image(image, width: int = 10) -> object:\n    """Resize."""\n    return image\n'
    )
    (root / "README.md").write_text("# Shapes\n\nResize images.\n")
    (root / "ignored.py").write_text("# index: false\ndef hidden():\n    pass\n")
    return root


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_a_help_page_with_examples(command: tuple[str, ...]) -> None:
    ran = codenav(*command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Usage: codenav " + " ".join(command))
    assert "Examples:" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 100


def test_many_options_are_listed_in_sections() -> None:
    page = codenav("run", "--help").out
    titles = re.findall(r"^([A-Z].*):$", page, re.MULTILINE)
    assert titles[0] == "Options" and {"Model", "Limits", "Sandbox", "Tools"} < set(titles)
    assert len(titles) == len(set(titles))
    limits = page.partition("\nLimits:\n")[2].partition("\n\n")[0]
    assert re.findall(r"^  (--\S+)", limits, re.MULTILINE) == [
        "--max-steps",
        "--max-seconds",
        "--max-tokens",
        "--max-questions",
    ]
    first = page.partition("\nOptions:\n")[2].partition("\n\n")[0]
    assert {"--on", "--model", "--json", "-h,"} < set(re.findall(r"^  (-\S+)", first, re.MULTILINE))


def test_the_help_page_names_every_command() -> None:
    ran = codenav("--help")
    for name in {command[0] for command in COMMANDS}:
        assert f"\n  {name} " in ran.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("serach", "x"), "Did you mean 'search'?"),
        (("search", "x", "--limt", "3"), "--limit"),
        (("search", "x"), "--on"),
        (("search", "x", "--on", ".", "--limit", "-1"), "--limit"),
        (("run", "x", "--on", ".", "--set", "rerank.tob=3"), "did you mean 'rerank.top'?"),
        (("run", "x", "--on", ".", "--set", "rerank.top=-3"), "rerank.top in --set must be 0 (no limit) or above: -3"),
        (("run", "x", "--on", ".", "--set", "rerank.api_key=x"), "CODENAV_RERANK_API_KEY"),
        (("run", "x", "--on", ".", "--sandbox", "chroot"), "bubblewrap"),
        (("run", "x", "--on", ".", "--stream"), "--json"),
        (("episodes", "show", "nothing-like-it"), "codenav episodes list"),
        (("schema", "episod"), "episode"),
        (("sources", "remove", "pkg:no-such-package"), "no-such-package"),
        (("prompt", "--prompts", "no/such/folder"), "codenav prompt --copy"),
    ],
)
def test_wrong_usage_is_one_clear_line_and_exit_code_2(arguments: tuple[str, ...], said: str) -> None:
    ran = codenav(*arguments)
    assert ran.code == 2, ran.err
    assert said in ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err


def test_there_are_few_options_and_commands() -> None:
    leaves = [name for name in COMMANDS if not any(other[:-1] == name for other in COMMANDS)]
    assert len(leaves) <= 42
    run = cli.get_command(click.Context(cli), "run")
    assert run and len([one for one in run.params if isinstance(one, click.Option)]) <= 37  # with --set


@pytest.mark.parametrize("command", ["index", "outline", "describe"])
def test_a_command_on_a_source_takes_it_as_it_is(command: str) -> None:
    ran = codenav(command, "--on", "pkg:networkx")
    assert (ran.code, f"--on is not written here: codenav {command} SOURCE" in ran.err) == (2, True)


@pytest.mark.parametrize("name", former.COMMANDS)
def test_a_former_command_says_what_took_its_place(name: str) -> None:
    ran = codenav(*name.split(), "x")
    assert (ran.code, ran.out) == (2, "")
    assert f"{name} is {former.COMMANDS[name]} now." in ran.err


@pytest.mark.parametrize(
    ("option", "now"),
    [
        ("--no-types", "--set checks.types=no"),
        ("--rerank-top", "--set rerank.top=N"),
        ("--elasticsearch-password", "the variable CODENAV_ELASTICSEARCH_PASSWORD"),
        ("--allow-private", "--set allow_private=yes"),
        ("--within", "--set graph.within=ACTION"),
    ],
)
def test_a_former_option_says_what_took_its_place(option: str, now: str) -> None:
    ran = codenav("run", "x", "--on", ".", option, "x")
    assert (ran.code, ran.out) == (2, "") and f"{option} is {now} now." in ran.err


def test_index_tells_files_blocks_and_seconds(repository: Path) -> None:
    ran = codenav("index", repository)
    assert ran.code == 0, ran.err
    files, blocks, seconds = ran.out.strip().split(", ")
    assert files == "2 files"
    assert blocks.endswith(" blocks")
    assert seconds.endswith(" s")
    assert "1 file was skipped" in ran.err


def test_a_second_index_reads_nothing_again(repository: Path) -> None:
    first = codenav("index", repository, "--json").document
    jsonschema.validate(first, schemas.load("index"))
    assert first["skipped"] == [{"path": "ignored.py", "reason": "index: false"}]
    second = codenav("index", repository, "--json").document
    assert (second["reused_files"], second["blocks"]) == (2, first["blocks"])


def test_a_search_refreshes_what_changed(repository: Path) -> None:
    assert codenav("search", "name: rotate_image", "--on", repository, "--json").document["total"] == 0
    with (repository / "shapes.py").open("a") as file:
        file.write("\n\ndef rotate_image(image):\n    return image\n")
    assert codenav("search", "name: rotate_image", "--on", repository, "--no-refresh", "--json").document["total"] == 0
    found = codenav("search", "name: rotate_image", "--on", repository, "--json").document
    assert found["total"] == 1
    assert found["hits"][0]["import_line"] == "from shapes import rotate_image"


def test_a_search_prints_hits_on_stdout_and_the_rest_on_stderr(repository: Path) -> None:
    ran = codenav("search", "(type: FUNCTION) AND resize", "--on", repository)
    assert ran.code == 0
    assert "resize_image" in ran.out
    assert "shapes.py:4" in ran.out
    assert "match" in ran.err
    assert "\x1b" not in ran.out + ran.err


def test_a_messy_query_is_repaired_and_told(repository: Path) -> None:
    ran = codenav("search", "(type: FUNCTION AND text: def resize_image(", "--on", repository, "--json")
    assert ran.code == 0, ran.err
    jsonschema.validate(ran.document, schemas.load("search"))
    assert ran.document["repairs"]
    assert ran.document["hits"][0]["name"] == "resize_image"


def test_a_search_without_hits_is_no_failure(repository: Path) -> None:
    ran = codenav("search", "zebra", "--on", repository)
    assert (ran.code, ran.out) == (0, "")


def test_a_query_without_a_word_is_read_as_nothing(repository: Path) -> None:
    ran = codenav("search", "AND", "--on", repository)
    assert (ran.code, ran.out) == (0, "")
    assert "Read as: nothing (" in ran.err


def test_limit_bounds_the_hits_and_not_the_total(repository: Path) -> None:
    found = codenav("search", "resize", "--on", repository, "--limit", "1", "--json").document
    assert len(found["hits"]) == 1
    assert found["total"] > 1


def test_sources_are_listed_shown_and_removed(repository: Path) -> None:
    assert codenav("sources", "list", "--json").document == []
    codenav("index", repository)
    (listed,) = codenav("sources", "list", "--json").document
    assert listed["source"] == str(repository)
    shown = codenav("sources", "list", repository, "--json").document
    jsonschema.validate(shown, schemas.load("sources-show"))
    assert shown["kinds"]["FUNCTION"] == 1
    assert "ignored.py: index: false" in codenav("sources", "list", repository).out
    assert codenav("sources", "remove", repository).code == 0
    assert codenav("sources", "list", "--json").document == []
    assert codenav("sources", "list", repository).code == 2


def test_the_index_of_a_folder_that_is_gone_can_still_be_removed(repository: Path) -> None:
    codenav("index", repository)
    repository.rename(repository.with_name("moved"))
    removed = codenav("sources", "remove", repository.name, cwd=repository.parent)
    assert removed.code == 0, removed.err


def test_what_a_hint_names_works() -> None:
    ran = codenav("sources", "list", "name:nothing")
    assert (ran.code, ran.err.splitlines()[-1]) == (2, "Try: codenav sources list")
    assert codenav("sources", "list").code == 0


def test_doctor_says_what_works_and_what_to_do() -> None:
    ran = codenav("doctor", "--json")
    assert ran.code == 0, ran.err
    jsonschema.validate(ran.document, schemas.load("rows"))
    rows = {row["name"]: row for row in ran.document}
    assert {"python", "bubblewrap", "process", "docker", "elasticsearch", "model", "disk"} <= set(rows)
    assert rows["bubblewrap"]["ok"]
    assert not rows["model"]["ok"] and "codenav models get" in rows["model"]["hint"]
    assert all(row["hint"] for row in ran.document if not row["ok"])
    ran = codenav("doctor", "--json", "--base-url", "http://127.0.0.1:9/v1")
    (row,) = (row for row in ran.document if row["name"] == "model")
    assert not row["ok"] and row["detail"] == "http://127.0.0.1:9/v1 is configured, but no model of it" and row["hint"]


def test_doctor_asks_the_services_that_are_configured() -> None:
    away = "http://user:secret@127.0.0.1:9"
    with RankingServer() as server:
        env = {"CODENAV_ELASTICSEARCH_URL": away, "CODENAV_RERANK_URL": away, "CODENAV_EMBEDDINGS": server.url}
        ran = codenav("doctor", "--json", env=env)
    rows = {row["name"]: row for row in ran.document}
    for name in ("elasticsearch", "rerank"):
        assert not rows[name]["ok"] and "127.0.0.1:9" in rows[name]["detail"] and rows[name]["hint"]
    assert rows["embeddings"]["ok"] and server.requests
    assert "secret" not in ran.out + ran.err


def test_doctor_fails_where_no_sandbox_works(tmp_path: Path) -> None:
    ran = codenav("doctor", env={"PATH": str(tmp_path)})
    assert ran.code == 4
    assert "apt-get install bubblewrap" in ran.out


def test_everything_that_is_written_lies_under_codenav_home(repository: Path, tmp_path: Path) -> None:
    user = tmp_path / "user"
    user.mkdir()
    script = tmp_path / "script.actions"
    script.write_text("<action><type>done</type><content>yes</content></action>")
    ran = codenav("run", "Yes?", "--on", repository, "--model", f"scripted:{script}", env={"HOME": str(user)})
    assert ran.code == 0, ran.err
    assert list(user.iterdir()) == []
    assert sorted(path.name for path in Path(os.environ["CODENAV_HOME"]).iterdir()) == [
        "code",
        "descriptions",
        "episodes",
        "indexes",
    ]


def test_the_configuration_file_names_a_model(repository: Path, tmp_path: Path, codenav_home: Path) -> None:
    script = tmp_path / "script.actions"
    script.write_text("<action><type>done</type><content>from the file</content></action>")
    (codenav_home / "config.toml").write_text(f'model = "scripted:{script}"\n')
    assert codenav("run", "Who?", "--on", repository).out.startswith("from the file")


def test_a_typo_in_the_configuration_file_is_told(repository: Path, codenav_home: Path) -> None:
    (codenav_home / "config.toml").write_text('modle = "x"\n')
    ran = codenav("run", "Who?", "--on", repository)
    assert ran.code == 2
    assert "did you mean 'model'" in ran.err


def test_prompts_are_copied_changed_and_used(repository: Path, tmp_path: Path) -> None:
    assert "${description}" in codenav("prompt").out
    copies = codenav("prompt", "--copy", tmp_path / "mine", "--json").document
    assert {Path(path).name for path in copies} >= {"overview.md", "search.md", "code.md", "done.md"}
    assert codenav("prompt", "--copy", tmp_path / "mine").code == 2
    with (tmp_path / "mine" / "done.md").open("a") as file:
        file.write("\nAnswer in rhymes.\n")
    script = tmp_path / "script.actions"
    script.write_text("<action><type>done</type><content>yes</content></action>")
    arguments = ("--on", repository, "--model", f"scripted:{script}", "--prompts", tmp_path / "mine")
    assert codenav("run", "Yes?", *arguments).code == 0
    assert "Answer in rhymes." in codenav("episodes", "show", "last", "--prompt").out


def test_a_schema_can_be_printed() -> None:
    assert codenav("schema").out.split() == list(schemas.names())
    assert codenav("schema", "episode").document == schemas.load("episode")


def test_no_color_keeps_a_terminal_plain(repository: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.actions"
    script.write_text("<action><type>done</type><content>yes</content></action>")
    command = [sys.executable, "-m", "codenav", "run", "Yes?", "--on", str(repository), "--model", f"scripted:{script}"]

    def on_a_terminal(**env: str) -> str:
        ours, theirs = pty.openpty()
        try:
            subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs, check=True,
                env={**os.environ, "TERM": "xterm-256color", **env},
            )  # fmt: skip
            # A read gives a part of what a slow machine's progress bar wrote.
            os.set_blocking(ours, False)
            parts = []
            with contextlib.suppress(BlockingIOError):
                while part := os.read(ours, 1 << 16):
                    parts.append(part)
            return b"".join(parts).decode(errors="replace")
        finally:
            os.close(ours)
            os.close(theirs)

    assert "\x1b[1m" in on_a_terminal()
    assert "\x1b[3" not in on_a_terminal(NO_COLOR="1")


@pytest.fixture
def yes(tmp_path: Path) -> str:
    """A model that answers at once."""
    script = tmp_path / "script.actions"
    script.write_text("<action><type>done</type><content>yes</content></action>")
    return f"scripted:{script}"


def in_a_shell(line: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "codenav": f"{sys.executable} -m codenav"}
    return subprocess.run(["sh", "-c", line], cwd=cwd, env=env, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("redirection", "code", "answered"),
    [(">/dev/full", 4, False), ("<&-", 0, True), (">&-", 0, False), ("2>&-", 0, True), ("2>/dev/full", 0, True)],
)
def test_standard_streams_that_lead_nowhere(
    repository: Path, yes: str, redirection: str, code: int, answered: bool
) -> None:
    ran = in_a_shell(f"$codenav run Yes? --on {repository} --model {yes} {redirection}")
    assert ran.returncode == code, ran.stderr
    assert ("yes" in ran.stdout) == answered
    assert "Traceback" not in ran.stderr


def test_a_reader_that_leaves_early_is_no_traceback(repository: Path) -> None:
    ran = in_a_shell(f"$codenav search shapes --on {repository} --json | head -1")
    assert (ran.stdout, ran.stderr) == ("{\n", "")


def test_a_working_directory_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    ran = in_a_shell("rmdir ../gone; $codenav index .", cwd=tmp_path / "gone")
    assert ran.returncode == 2, ran.stderr
    assert "Error: cannot read ." in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("option", ["--code-timeout", "--max-seconds"])
@pytest.mark.parametrize("value", ["nan", "inf", "1e12", "-1"])
def test_a_duration_is_a_finite_number(repository: Path, yes: str, option: str, value: str) -> None:
    ran = codenav("run", "Yes?", "--on", repository, "--model", yes, option, value)
    assert ran.code == 2
    assert option in ran.err


def test_a_damaged_index_is_named_as_such(repository: Path, codenav_home: Path) -> None:
    codenav("index", repository)
    for path in (codenav_home / "indexes").rglob("*"):
        if path.is_file():
            path.write_bytes(b"garbage")
    listed = codenav("sources", "list")
    assert listed.code == 0
    assert "0 files" not in listed.out
    ran = codenav("search", "resize", "--on", repository)
    assert ran.code == 0, ran.err
    assert "resize_image" in ran.out
