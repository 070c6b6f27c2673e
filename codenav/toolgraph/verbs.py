"""The verb behind `codenav graph learn`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Unpack

from codenav.core.config import episodes_dir
from codenav.core.errors import NotFound
from codenav.core.options import StoreKeywords, spelled
from codenav.episodes.store import EpisodeStore
from codenav.indexers.build import Progress
from codenav.navigation.verbs import opened
from codenav.retrieval.source_index import Notice, On
from codenav.toolgraph.teaching import ENDINGS, Taught, Teacher

EPISODES = "episodes"
"""The word for the episodes of the store; a folder of that name is `./episodes`."""


@spelled(StoreKeywords)
def teach(
    on: On,
    learn_from: Sequence[str | Path] = (),
    *,
    forgetting: bool = False,
    tell: Callable[[str], None] = lambda text: None,
    python: str | Path | None = None,
    refresh: bool = True,
    progress: Callable[[Progress], None] | None = None,
    notice: Notice | None = None,
    **store: Unpack[StoreKeywords],
) -> Taught:
    """Teach the graph of a source, or with `forgetting` take the same out again; return what was learnt.

    `learn_from`: files of traces (`.jsonl`, `.json`), sources whose code calls it, and `episodes` for those on this
    machine; nothing: the code of the source itself. `tell` gets a sentence for each line or episode that is left out.

    Raises:
        NotFound: a file does not exist. Also as `codenav.index`.
        Unavailable: as `codenav.index`.
        StorageFull: the graph cannot be written; the old one stays.
    """
    names = [str(one) for one in learn_from]
    files = [Path(name) for name in names if name.lower().endswith(ENDINGS)]
    for file in files:
        if not file.is_file():
            raise NotFound(f"there is no file {file}", hint="a source that ends like one: name its folder")
    code = [name for name in names if name != EPISODES and not name.lower().endswith(ENDINGS)]
    reads_code = bool(code) or not names
    with opened([on, *code], python, refresh, progress, notice, store) as indexes:
        teacher = Teacher(indexes[0], tell=tell)
        if files:
            teacher.files(files, forgetting=forgetting)
        if EPISODES in names:
            if forgetting:
                teacher.forget_episodes()
            else:
                teacher.episodes(EpisodeStore(episodes_dir()))
        if reads_code:
            (teacher.forget_code if forgetting else teacher.code)(indexes[1:] or indexes)
        return teacher.taught
