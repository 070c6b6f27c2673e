"""A callable's parameters with values, and how they are written between its parentheses."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from codenav.planner.writing import Value, beside, fit
from codenav.signatures.callables import Parameter
from codenav.signatures.types import EXACT, UNTYPED


@dataclass(frozen=True)
class Filled:
    """Values for parameters, and what is still to be found."""

    given: tuple[tuple[Parameter, str], ...]
    missing: tuple[Parameter, ...]
    used: tuple[Value, ...]
    score: float
    imports: tuple[str, ...] = ()
    named: int = 0
    """Literals in parameters that the word right beside them names."""
    guessed: int = 0
    """Literals in parameters that may be left out, for their types alone."""
    signature: tuple[str, ...] = ()
    """The names of all parameters, in their order."""
    pairs: tuple[tuple[Parameter, Value], ...] = ()
    """What went where, as far as one value went to one parameter."""
    packed: bool = False
    """Whether literals were put together into a list, or one was taken apart."""

    @property
    def swapped(self) -> int:
        """How many literals stand in another order than in the request, though no word beside them says so."""
        places = {name: number for number, name in enumerate(self.signature)}
        plain = [
            (places.get(parameter.name, len(places)), value.literal.start)
            for parameter, value in self.pairs
            if value.literal is not None and not value.is_word and beside(value, parameter) < 1.0
        ]
        starts = [start for _, start in sorted(plain)]
        return sum(one > other for one, other in itertools.pairwise(starts))

    @property
    def worst(self) -> float:
        """How well the value goes with its parameter that goes least well."""
        worths = (min(fit(value, parameter), EXACT) for parameter, value in self.pairs)
        return min(worths, default=UNTYPED if self.used else EXACT)

    def arguments(self, found: Mapping[str, str] = MappingProxyType({})) -> str:
        """Between the parentheses of the call; `found` are expressions for what was missing, by parameter."""
        shown: list[str] = []
        named = False
        for parameter, code in self._ordered(found):
            if parameter.kind == "VAR_POSITIONAL" or (parameter.kind == "POSITIONAL_ONLY" and not named):
                shown.append(code)
            elif parameter.kind == "KEYWORD_ONLY" or named or not parameter.required:
                named = True
                shown.append(f"{parameter.name}={code}")
            else:
                shown.append(code)
        return ", ".join(shown)

    def _ordered(self, found: Mapping[str, str]) -> list[tuple[Parameter, str]]:
        given = [*self.given, *((one, found[one.name]) for one in self.missing if one.name in found)]
        order = {"POSITIONAL_ONLY": 0, "POSITIONAL_OR_KEYWORD": 0, "VAR_POSITIONAL": 1, "KEYWORD_ONLY": 2}
        places = {name: number for number, name in enumerate(self.signature)}
        return sorted(
            given,
            key=lambda item: (order.get(item[0].kind, 3), not item[0].required, places.get(item[0].name, len(places))),
        )
