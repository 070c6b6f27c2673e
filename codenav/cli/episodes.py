"""`codenav episodes`: the records of runs, step by step."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

import click

from codenav.cli import completing
from codenav.cli.lazy import LazyGroup
from codenav.cli.options import Duration, counted, json_option, print_json, say, sized

FilePath = click.Path(path_type=Path, dir_okay=False)


@click.group("episodes", cls=LazyGroup)
def command() -> None:
    """List, show and remove the records of runs.

    \b
    Examples:
      codenav episodes list
      codenav episodes show last
      codenav episodes show last --notebook run.ipynb --script run.py
      codenav episodes remove --older-than 30d
    """


@command.command("list")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Number of episodes, newest first; 0 lists all.",
)
@click.option("--all", "whole", is_flag=True, help="List the attempts of evals, too.")
@json_option
def list_episodes(limit: int, whole: bool, as_json: bool) -> None:
    """List the newest episodes first.

    \b
    Examples:
      codenav episodes list --limit 5
      codenav episodes list --all
    """
    from codenav.core.config import episodes_dir
    from codenav.episodes.store import EpisodeStore

    rows = EpisodeStore(episodes_dir()).list(limit or None, evals=whole)
    if as_json:
        print_json([row.to_dict() for row in rows])
        return
    from codenav.cli.steps import Room
    from codenav.core.events import Status
    from codenav.core.execution import REPRODUCED
    from codenav.core.system.terminal_text import flattened

    room = Room.of_terminal() if sys.stdout.isatty() else Room()
    for row in rows:
        mark = REPRODUCED if row.verified and row.status is Status.DONE else ""
        steps = "step " if row.steps == 1 else "steps"
        head = f"{row.id}  {row.status.value:<11} {row.steps:>3} {steps}  {mark:<10}"
        say(room.line(f"{head}  {flattened(row.request, 70)}").text)
    if rows.damaged:
        say(f"{len(rows.damaged)} without a readable record: {', '.join(rows.damaged[:5])}", err=True)
    if rows.hidden:
        say(f"{counted(rows.hidden, 'attempt')} of evals not shown: codenav episodes list --all", err=True)
    elif not rows:
        say('No episode yet. Try: codenav run "…" --on .', err=True)


@command.command("show")
@click.argument("episode", default="last", shell_complete=completing.episodes)
@click.option(
    "--all", "whole", is_flag=True, help="Leave nothing out: everything the model wrote and was shown, and every try."
)
@click.option("--prompt", is_flag=True, help="Print only the system prompt that the model was given.")
@click.option(
    "--notebook", type=FilePath, metavar="FILE.ipynb", help="Write a notebook: steps with their outputs and pictures."
)
@click.option("--script", type=FilePath, metavar="FILE.py", help="Write the code summary.")
@click.option("--record", type=FilePath, metavar="FILE.json", help="Write the whole record as one JSON document.")
@click.option("--atif", type=FilePath, metavar="FILE.json", help="Write a trajectory in ATIF, the format of Harbor.")
@json_option
def show(
    episode: str,
    whole: bool,
    prompt: bool,
    notebook: Path | None,
    script: Path | None,
    record: Path | None,
    atif: Path | None,
    as_json: bool,
) -> None:
    """Show an episode, by its id, the beginning of one, or last; or write it as a notebook, a script, JSON or ATIF.

    \b
    Examples:
      codenav episodes show last
      codenav episodes show last --all
      codenav episodes show 20261121 --json
      codenav episodes show last --notebook run.ipynb --script run.py
    """
    from codenav.cli.steps import Room, transcript
    from codenav.core.config import episodes_dir
    from codenav.episodes.store import EpisodeStore

    result = EpisodeStore(episodes_dir()).load(episode)
    ways = (
        ("notebook", notebook, result.to_notebook),
        ("script", script, result.to_script),
        ("record", record, result.to_json),
        ("atif", atif, result.to_atif),
    )
    written = {name: str(write(path)) for name, path, write in ways if path}
    if written:
        if as_json:
            print_json(written)
        for path in () if as_json else written.values():
            say(f"wrote {path}")
    elif as_json:
        print_json(result.to_dict())
    elif prompt:
        say(result.prompt.rstrip("\n"))
    else:
        say(transcript(result, room=Room() if whole else Room.of_terminal()))


@command.command("remove")
@click.argument("episodes", nargs=-1, metavar="[ID...]", shell_complete=completing.episodes)
@click.option(
    "--older-than",
    type=Duration(unit=True),
    metavar="AGE",
    help="Episodes that began longer ago than this: 12h, 30d, 8w.",
)
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="All episodes but the newest N.")
@json_option
def remove(episodes: tuple[str, ...], older_than: float | None, keep: int | None, as_json: bool) -> None:
    """Remove episodes: their records, the work folders that codenav made, and copies that no other episode needs.

    What they taught the tool graphs of their sources is forgotten.

    Name them by id, or use --older-than or --keep. Running episodes are never removed. A folder of yours (--work-dir)
    is not touched.

    \b
    Examples:
      codenav episodes remove last
      codenav episodes remove --older-than 30d
      codenav episodes remove --keep 100
    """
    if [bool(episodes), older_than is not None, keep is not None].count(True) != 1:
        raise click.UsageError("name episodes, or give one of --older-than and --keep.")
    from codenav.core.config import episodes_dir
    from codenav.episodes import removal
    from codenav.episodes.store import EpisodeStore
    from codenav.toolgraph.beside import forget_episodes

    store = EpisodeStore(episodes_dir())
    if episodes:
        done = removal.remove(store, episodes, before=forget_episodes)
    else:
        age = None if older_than is None else timedelta(seconds=older_than)
        done = removal.remove_old(store, older_than=age, keep=keep, before=forget_episodes)
    if as_json:
        print_json(done.to_dict())
        return
    say(f"removed {counted(len(done.removed), 'episode')}, freed {sized(done.freed_bytes)}")
    if done.in_use:
        say(f"{counted(len(done.in_use), 'episode')} in use stayed: {', '.join(done.in_use[:5])}", err=True)
