"""The comparison of a session with the replay of its summary: what agrees, what differs, what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from codenav.core.execution import DIFFERS, NOT_COMPARED, Digest, Held, Ran, Verdict
from codenav.episodes.code import FILES, OURS, OUT, Flow, printed
from codenav.episodes.files import Content
from codenav.episodes.outputs import Outputs
from codenav.episodes.repeats import Repeats, Results, masked
from codenav.episodes.written_down import Code, Given, Made, files_down, printed_down, values_down

SHOWN = 80
"""Characters of a value in a reason: two values and the sentence around them fit in three lines of a terminal."""
NAMED = 3
"""Names of missing results in a reason; the others are counted."""
LAST_OUTPUT = "the last output"
_ALIKE = ("firm", "part")


@dataclass(frozen=True)
class Left:
    """The state in which a session ended, and the steps that ran in it."""

    held: Held = Held()
    files: Mapping[str, Content] = field(default_factory=dict)
    """The files that the session wrote and that are still there."""
    ran: Sequence[Ran] = ()
    request: str = ""

    @property
    def done(self) -> list[Ran]:
        """The steps that ended ok, without codenav's own."""
        return [ran for ran in self.ran if ran.execution.ok and OURS not in ran.code]

    @property
    def outputs(self) -> list[str]:
        """The output of each of them."""
        return [printed(ran.code, ran.execution.stdout) for ran in self.done]


class Comparison:
    """The comparison of one replay with its session."""

    def __init__(self, script: str, left: Left, results: Results, repeats: Repeats | None = None) -> None:
        """With `repeats`, what differs each time the same code runs is not held against the script."""
        codes, outputs = [ran.code for ran in left.done], left.outputs
        replayed = results.replayed
        self._left, self._held, self._files, self._repeats = left, replayed.held, results.files, repeats
        self._flow = Flow.of(codes)
        self._session, self._script = Code(codes), Code([script])
        self._made_by_script = Flow.of([script])
        self._given = Given.of(left.request, self._session)
        self._step_of_output = max((at for at, text in enumerate(outputs) if text.strip()), default=-1)
        self._outputs = Outputs(
            outputs,
            codes,
            left.held,
            left.request,
            replayed,
            script,
            final=self._step_of_output >= self._flow.last_step_that_makes(),
            repeats=repeats,
        )

    def verdict(self) -> Verdict:
        """The verdict: verified, or the first reason against it."""
        reason = self._different_variable() or self._different_file()
        if not reason and (down := self._written_down()):
            return Verdict(False, down, outcome=NOT_COMPARED)
        reason = reason or self._outputs.difference
        if reason:
            return Verdict(False, reason, outcome=DIFFERS)
        missing, varying = self._missing(), self._varying()
        compared = self._compared()
        if not compared:
            lost = f"; it does not make {listed(missing)}" if missing else ""
            why = f"nothing that it computes could be compared{lost}"
            return Verdict(False, why, incidental=varying, outcome=NOT_COMPARED)
        reason = f"the script does not make {listed(missing)}" if missing else ""
        return Verdict(not missing, reason, compared, missing, varying, DIFFERS)

    def _varying(self) -> tuple[str, ...]:
        """The names of what is another one each time."""
        found = [*sorted(self._excused), *sorted(self._excused_files)]
        return tuple(found + ([f"part of {LAST_OUTPUT}"] if self._outputs.varies else []))

    # Variables

    @cached_property
    def _common(self) -> list[tuple[Digest, Digest]]:
        """Pairs of variables with the same name: the session's, the replay's."""
        passing = self._flow.passing | self._made_by_script.passing
        held = self._held.digests
        return [
            (here, held[name]) for name, here in self._left.held.digests.items() if name in held and name not in passing
        ]

    def _different_variable(self) -> str:
        for there, here in self._common:
            comparable = there.kind in _ALIKE and here.kind in _ALIKE
            if comparable and there.digest != here.digest and there.name not in self._excused:
                if self._repeats:
                    here = self._repeats.steady(here, of_session=False)
                    there = self._repeats.steady(there, of_session=True)
                return difference(here, there)
            unlike = {there.kind, here.kind} & {"none", "soft"} and {there.kind, here.kind} & set(_ALIKE)
            if unlike and there.type != here.type:
                return difference(here, there)
        return ""

    @cached_property
    def _excused(self) -> set[str]:
        """The names of variables that differ only in what is another one each time."""
        if self._repeats is None:
            return set()
        differ = [(there, here) for there, here in self._common if there.digest != here.digest]
        return {there.name for there, here in differ if self._repeats.excuses(there, here)}

    @cached_property
    def _pairs(self) -> list[tuple[Digest, Digest]]:
        """Pairs of variables that agree, also where the replay uses another name."""
        found = [(there, here) for there, here in self._common if there.digest and there.digest == here.digest]
        taken = {here.name for _, here in self._common}
        by_digest: dict[str, list[Digest]] = {}
        for here in self._held.digests.values():
            if here.name not in taken and here.digest:
                by_digest.setdefault(here.digest, []).append(here)
        for there in self._left.held.digests.values():
            if there.name in self._held.digests or not there.digest:
                continue
            for here in by_digest.get(there.digest, ()):
                if there.telling or self._made_alike(there.name, here.name):
                    found.append((there, here))
                    break
        return found

    def _made_alike(self, there: str, here: str) -> bool:
        return bool(self._flow.calls_for(there) & self._made_by_script.calls_for(here))

    def _worth(self, there: Digest, here: Digest) -> str:
        """The worth of a pair: `evidence`, `input` (a literal for both, or of too little use), or `written` down."""
        theirs, ours = self._made(self._session, there.name), self._script.name(here.name)
        if here.kind == "part":
            return "input"
        if ours.computed:
            return "evidence"
        if not theirs.computed and not theirs.works:
            return "input"
        if self._given.lacks(ours):
            return "written"
        return "evidence" if ours.works else "input"

    def _made(self, code: Code, name: str) -> Made:
        """The origin of a name of the session; a name that no step is known to bind counts as computed."""
        return code.name(name) if name in self._flow.bound else Made(computed=True)

    # What the script writes down

    def _written_down(self) -> str:
        for there, here in self._pairs:
            if self._worth(there, here) == "written":
                return f"{here.name} is written down, not computed: {cut(masked(here.repr))}"
        down = printed_down(self._script, self._session, self._given, self._outputs.session)
        if down:
            return f"the answer is written down, not computed: {cut(down)}"
        down = files_down(self._script, self._session, self._given) if self._left.files else ""
        if down:
            return f"the content of a file is written down, not computed: {cut(down)}"
        down = values_down(self._script, self._given, self._outputs.session)
        return f"{cut(down)} is written down, not computed" if down else ""

    # Files

    def _different_file(self) -> str:
        for name, content in self._left.files.items():
            if name in self._files and self._files[name] != content and name not in self._excused_files:
                return f"{name} has different content in the replay"
        return ""

    @cached_property
    def _excused_files(self) -> set[str]:
        """The names of files that differ only in what is another one each time, the name itself included."""
        if self._repeats is None:
            return set()
        here, there = self._files, self._left.files
        differ = [name for name in there if name in here and here[name] != there[name]]
        found = {name for name in differ if self._repeats.excuses_file(name, there[name], here[name])}
        return found | self._repeats.new_names(there, here)

    @cached_property
    def _missing_files(self) -> tuple[str, ...]:
        lost = (name for name in self._left.files if name not in self._files and name not in self._excused_files)
        return tuple(lost)

    # What is missing

    def _missing(self) -> tuple[str, ...]:
        lost = [*self._missing_variables(), *self._missing_files]
        if self._outputs.lost and not lost:
            lost.append(LAST_OUTPUT)
        return tuple(lost)

    def _missing_variables(self) -> list[str]:
        flow = self._flow
        output = OUT.format(self._step_of_output)
        agreed = {there.name for there, _ in self._pairs} | self._excused
        if self._outputs.agrees:
            agreed.add(output)
        if self._left.files and not self._missing_files:
            agreed.add(FILES)
        paired, bound = set(agreed), flow.bound - flow.passing
        final = self._final(output)
        lost = []
        for name, there in self._left.held.digests.items():
            if name in paired or name not in bound or there.kind not in _ALIKE:
                continue
            made = self._session.name(name)
            if not made.computed and not made.works:
                continue
            after = flow.made_from(name)
            if after & final and not after & agreed:
                lost.append((len(after), name))
        return [name for _, name in sorted(lost)]

    def _final(self, output: str) -> set[str]:
        """The results of the session: its last output, and names that its last step bound and nothing was made from."""
        last = self._flow.last_step_that_binds()
        final = {output} if self._step_of_output >= 0 else set()
        if last >= self._step_of_output:
            final |= {name for name in self._flow.bound_in(last) if not self._flow.after.get(name)}
        return final

    # What agrees

    def _compared(self) -> tuple[str, ...]:
        """The names of everything that agrees and counts as evidence."""
        worth = [(self._worth(there, here), there, here) for there, here in self._pairs]
        found = [_named(there, here) for kind, there, here in worth if kind == "evidence"]
        found += [name for name, digest in self._left.files.items() if self._files.get(name) == digest]
        prints = self._outputs.agrees and self._outputs.tells and self._prints_what_it_computes()
        if prints:
            found.append(LAST_OUTPUT)
        if not found and self._session_is_plain():
            # A session that computes nothing can only be compared by the literals that both sides hold.
            found = [_named(there, here) for kind, there, here in worth if kind == "input"]
            found += [LAST_OUTPUT] if self._outputs.agrees and self._outputs.tells else []
        return tuple(found)

    def _prints_what_it_computes(self) -> bool:
        made = [self._script.of(one, scope) for arguments, scope in self._script.printed for one in arguments]
        return any(one.computed or one.works for one in made) or not made

    def _session_is_plain(self) -> bool:
        """True if the session computed nothing."""
        made = [self._session.name(name) for name in self._flow.bound & set(self._left.held.digests)]
        made += [self._session.of(one, scope) for arguments, scope in self._session.printed for one in arguments]
        return bool(self._flow.statements) and not any(one.computed or one.works for one in made)


def _named(there: Digest, here: Digest) -> str:
    return there.name if there.name == here.name else f"{there.name} (as {here.name})"


def listed(names: Sequence[str]) -> str:
    """The first `NAMED` names, and the number of the others."""
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def difference(here: Digest, there: Digest) -> str:
    """A sentence on how a variable of the replay differs from the session's variable of that name."""
    ours, theirs = masked(here.repr), masked(there.repr)
    if ours == theirs or here.type != there.type:
        if here.type != there.type:
            return f"{here.name} has type {here.type} in the replay and {there.type} in the episode"
        return f"{here.name} differs from the episode's in a part that is not shown: {cut(ours)}"
    ours, theirs = cut_pair(ours, theirs)
    return f"{here.name} is {ours} in the replay and {theirs} in the episode"


def cut(text: str) -> str:
    """The text as one line, cut to `SHOWN` characters."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


def cut_pair(here: str, there: str) -> tuple[str, str]:
    """Two texts, each cut to a readable length around their first difference."""
    same = next((at for at, pair in enumerate(zip(here, there, strict=False)) if pair[0] != pair[1]), 0)
    skip = max(0, same - SHOWN // 2) if max(len(here), len(there)) > SHOWN else 0
    lead = "…" if skip else ""
    return lead + cut(here[skip:]), lead + cut(there[skip:])
