"""Who calls a definition and what it calls: each rule of resolution, and what no rule can tell."""

from __future__ import annotations

import ast
from pathlib import Path

import networkx as nx
import pytest

import codenav
from codenav.core.errors import Ambiguous, NotFound, UsageError
from codenav.navigation.imports import Import, imports_in
from codenav.retrieval.source_index import SourceIndex


def told(index: SourceIndex, name: str) -> dict[str, tuple[str, list[str]]]:
    """Of each name called: the evidence, and what it stands for, or the full name of what is outside."""
    return {
        callee.call.name: (
            callee.call.evidence.value,
            [block.qualname for block in callee.blocks] or [*filter(None, [callee.dotted])],
        )
        for callee in codenav.callees(name, on=index)
    }


def test_every_call_of_a_function_is_resolved_or_said_to_be_external(shop_index: SourceIndex) -> None:
    found = told(shop_index, "shop.place")
    assert found.pop("unknown.get") == ("name only", ["Store.get", "Other.get"])
    assert found == {
        "price": ("import", ["price"]),
        "store.get": ("annotation", ["Store.get"]),
        "shelves.Store": ("import", ["Store"]),
        "made.get": ("assignment", ["Store.get"]),
        "unknown.rare_inherited": ("only one of that name", ["Base.rare_inherited"]),
        # A list has such a method too.
        "unknown.append": ("name only", ["Basket.append"]),
        "math.sqrt": ("external", ["math.sqrt"]),
        "count": ("external", []),
        "cancel": ("same module", ["cancel"]),
        "inner": ("same function", ["place.inner"]),
    }


@pytest.mark.parametrize(
    ("name", "call", "expected"),
    [
        ("Store.get", "self.load", ("same class", ["Store.load"])),
        ("Store.get", "self.rare_inherited", ("base class", ["Base.rare_inherited"])),
        ("Base.rare_inherited", "self.load", ("may be overridden", ["Base.load", "Store.load"])),
        ("Store.size", "self.resize", ("external", [])),
        ("Store.size", "len", ("external", [])),
        ("cancel", "Shelf.get", ("import", ["Store.get"])),
        ("test_place", "shop.place", ("import", ["place"])),
        ("test_place", "shop.Store", ("import", ["Store"])),
        # The function around has imported it.
        ("place.inner", "price", ("import", ["price"])),
    ],
)  # fmt: skip
def test_a_call_is_resolved(shop_index: SourceIndex, name: str, call: str, expected: tuple[str, list[str]]) -> None:
    assert told(shop_index, name)[call] == expected


def test_callers_are_certain_by_name_only_or_left_out(shop_index: SourceIndex) -> None:
    found = codenav.callers("Store.get", on=shop_index)
    assert [(caller.block.qualname, caller.certain) for caller in found] == [("place", True), ("cancel", True)]
    (place, _) = found
    assert [(call.name, list(call.lines), call.evidence.value) for call in place.calls] == [
        ("store.get", [13], "annotation"),
        ("made.get", [15], "assignment"),
        ("unknown.get", [16], "name only"),
    ]
    assert (found.certain, found.by_name, found.others, found.total) == (2, 0, 0, 2)
    other = codenav.callers("Other.get", on=shop_index)
    assert [(caller.block.qualname, caller.certain) for caller in other] == [("place", False)]
    assert (other.certain, other.by_name, other.others) == (0, 1, 1)


def test_a_call_on_self_in_a_base_counts_for_what_overrides_it(shop_index: SourceIndex) -> None:
    for name, certain in (("Store.load", 2), ("Base.load", 1)):
        found = codenav.callers(name, on=shop_index)
        assert (found.certain, found.possible, found.by_name, found.total) == (certain, 1, 0, certain + 1)
        (last,) = found[-1:]
        assert (last.block.qualname, last.certain, last.possible) == ("Base.rare_inherited", False, True)
        assert [call.evidence.value for call in last.calls] == ["may be overridden"]
        assert found.to_dict()["possible"] == 1


FAMILY = """
from abc import abstractmethod
from far import Far as Nearby


class Top:
    def run(self):
        self.step()
        self.__secret()
        self.only_here()

    def step(self): pass

    def __secret(self): pass

    def only_here(self): pass


class Mixin:
    def step(self):
        return super().step()

    def ready(self):
        return self.check()

    def check(self):
        return True


class Strict:
    def check(self):
        return False


class Both(Mixin, Top): ...


class Sub(Top):
    def step(self):
        super().step()

    def _Top__secret(self): pass


class StrictMixin(Strict, Mixin): ...


class Left(Top):
    def step(self): pass


class Right(Top):
    def step(self): pass


class Diamond(Left, Right):
    def go(self):
        self.step()
        super().step()


class Form:
    @abstractmethod
    def fill(self):
        '''Fill it in.'''
        raise NotImplementedError("fill")

    def hook(self):
        pass

    def use(self):
        self.fill()
        self.hook()


class Outer:
    class Inner:
        def turn(self): pass

    class Again(Inner):
        def twice(self):
            self.turn()


class Distant(Nearby):
    def far_off(self): pass


def typed(top: Top, made=None):
    top.step()
    mine = Top()
    mine.step()
    Top.step(mine)
"""


def test_methods_are_looked_up_as_python_does(tmp_path: Path) -> None:
    (tmp_path / "family.py").write_text(FAMILY)
    (tmp_path / "far.py").write_text(
        "class Far:\n    def far_off(self): pass\n\n    def start(self):\n        self.far_off()\n"
    )
    with codenav.index(tmp_path) as index:
        every = ["Top.step", "Mixin.step", "Sub.step", "Left.step", "Right.step"]
        evidence, found = told(index, "Top.run")["self.step"]
        assert (evidence, sorted(found)) == ("may be overridden", sorted(every))
        # A name with two underscores is the class's own, and nobody overrides the last one.
        assert told(index, "Top.run")["self.__secret"] == ("same class", ["Top.__secret"])
        assert told(index, "Top.run")["self.only_here"] == ("same class", ["Top.only_here"])
        # On an object of Both, what follows Mixin is Top, though Mixin has no bases.
        assert told(index, "Mixin.step")[".step"] == ("may be overridden", ["Top.step"])
        # Strict is no heir of Mixin, but comes before it.
        assert told(index, "Mixin.ready")["self.check"] == ("may be overridden", ["Mixin.check", "Strict.check"])
        assert told(index, "Diamond.go") == {
            "self.step": ("base class", ["Left.step"]),
            ".step": ("base class", ["Left.step"]),
        }
        assert told(index, "Left.step") == {}
        # What only says what heirs have to have is not what runs; an empty method is.
        assert told(index, "Form.use") == {
            "self.fill": ("may be overridden", ["Form.fill"]),
            "self.hook": ("same class", ["Form.hook"]),
        }
        assert told(index, "Outer.Again.twice") == {"self.turn": ("base class", ["Outer.Inner.turn"])}
        assert told(index, "Far.start") == {"self.far_off": ("may be overridden", ["Far.far_off", "Distant.far_off"])}
        calls = codenav.callees("typed", on=index)
        assert {callee.call.name: callee.call.evidence.value for callee in calls} == {
            "top.step": "may be overridden",
            "mine.step": "assignment",
            "Top": "same module",
            "Top.step": "same module",
        }


def test_names_that_may_be_bound_again_are_not_certain(tmp_path: Path) -> None:
    (tmp_path / "quick.py").write_text(
        "def load(): ...\n\n\nclass Codec:\n    def encode(self): ...\n\n\nencode = Codec.encode\n"
    )
    (tmp_path / "slow.py").write_text(
        "import sys\n\nif sys.platform == 'linux':\n    def look(): ...\nelse:\n    look = None\n\n"
        "try:\n    from quick import load\nexcept ImportError:\n    def load(): ...\n\n\n"
        "def use():\n    look()\n    load()\n    encode()\n\n\nfrom quick import encode\n"
    )
    with codenav.index(tmp_path) as index:
        assert told(index, "use") == {
            "look": ("name only", ["look"]),
            "load": ("name only", ["load"]),
            "encode": ("import", ["encode", "Codec.encode"]),
        }
        assert "use" in {caller.block.qualname for caller in codenav.callers("Codec.encode", on=index)}


def test_tests_come_last_and_all_of_one_name_are_meant(shop_index: SourceIndex) -> None:
    found = codenav.callers("place", on=shop_index)
    assert [block.path for block in found.targets] == ["shop/orders.py", "shop/tests/test_orders.py"]
    assert [caller.block.qualname for caller in found] == ["_private", "test_place"]
    assert all(caller.certain for caller in found)


def test_callers_of_what_is_outside(shop_index: SourceIndex) -> None:
    for name in ("math.sqrt", "sqrt", "math.sqrt()"):
        (caller,) = codenav.callers(name, on=shop_index)
        assert (caller.block.qualname, caller.certain) == ("place", True)
    (caller,) = codenav.callers("abs", on=shop_index)
    assert (caller.block.qualname, caller.certain) == ("price", False)
    assert codenav.callers("math.sqrt", on=shop_index).targets == []
    with pytest.raises(NotFound):
        codenav.callers("cmath.sqrt", on=shop_index)


def test_a_call_as_it_is_written_is_a_name_too(shop_index: SourceIndex) -> None:
    (caller,) = codenav.callers("shelves.Store", on=shop_index)
    assert (caller.block.qualname, caller.certain) == ("place", True)
    (caller,) = codenav.callers("unknown.get", on=shop_index)
    assert (caller.block.qualname, caller.certain) == ("place", False)


def test_capitals_count(tmp_path: Path) -> None:
    (tmp_path / "case.py").write_text(
        "class Parse: ...\n\n\ndef parse(): ...\n\n\ndef a():\n    Parse()\n\n\ndef b():\n    parse()\n"
    )
    with codenav.index(tmp_path) as index:
        assert [caller.block.qualname for caller in codenav.callers("Parse", on=index)] == ["a"]
        assert [caller.block.qualname for caller in codenav.callers("parse", on=index)] == ["b"]


def test_what_nobody_calls_has_no_callers(shop_index: SourceIndex) -> None:
    found = codenav.callers("_private", on=shop_index)
    assert (len(found), found.total) == (0, 0)
    assert [block.qualname for block in found.targets] == ["_private"]


def test_bad_input_is_refused(shop_index: SourceIndex) -> None:
    with pytest.raises(UsageError, match="negative"):
        codenav.callers("place", on=shop_index, limit=-1)
    with pytest.raises(UsageError, match="negative"):
        codenav.callees("place", on=shop_index, limit=-1)
    with pytest.raises(Ambiguous):
        codenav.callees("place", on=shop_index)
    for name in ("", "nothing_of_the_kind", "\0", "x" * 100_000):
        with pytest.raises(NotFound):
            codenav.callers(name, on=shop_index)
        with pytest.raises(NotFound):
            codenav.callees(name, on=shop_index)


def test_the_limit_bounds_the_list_and_not_the_counts(shop_index: SourceIndex) -> None:
    found = codenav.callers("Store.get", on=shop_index, limit=1)
    assert (len(found), found.total) == (1, 2)
    assert len(codenav.callees("shop.place", on=shop_index, limit=3)) == 3
    assert codenav.callees("shop.place", on=shop_index, limit=3).total == 11


def test_cycles_of_imports_and_of_bases_end(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "from b import *\nfrom b import f\n\n\nclass A(A, B): ...\n\n\ndef g():\n    f()\n    h()\n"
    )
    (tmp_path / "b.py").write_text(
        "from a import *\nfrom a import f\n\n\nclass B(A):\n    def m(self):\n        self.n()\n"
    )
    with codenav.index(tmp_path) as index:
        assert told(index, "g") == {"f": ("external", []), "h": ("external", [])}
        assert told(index, "B.m") == {"self.n": ("external", [])}


def test_a_file_with_syntax_errors_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n    g()\n\n\ndef g(): ...\n\n\ndef h():\n    g()\n")
    with codenav.index(tmp_path) as index:
        assert "h" in {caller.block.qualname for caller in codenav.callers("g", on=index)}


@pytest.fixture(scope="module")
def calls_by_the_standard_parser() -> dict[str, set[tuple[str, int]]]:
    """Of all `nx.NAME(...)` in networkx: the name → file and line of each, by `ast`."""
    root = Path(nx.__file__).parent
    found: dict[str, set[tuple[str, int]]] = {}
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Attribute) and ast.unparse(called.value) == "nx":
                place = (path.relative_to(root.parent).as_posix(), called.end_lineno or called.lineno)
                found.setdefault(called.attr, set()).add(place)
    return found


@pytest.mark.parametrize("name", ["shortest_path", "is_connected", "to_numpy_array", "connected_components"])
def test_no_call_through_the_package_is_missed(
    networkx: SourceIndex, calls_by_the_standard_parser: dict[str, set[tuple[str, int]]], name: str
) -> None:
    expected = calls_by_the_standard_parser[name]
    found = codenav.callers(f"networkx.{name}", on=networkx, limit=10_000)
    lines = {
        (caller.block.path, line)
        for caller in found
        for call in caller.calls
        if call.name == f"nx.{name}" and call.evidence.certain
        for line in call.lines
    }
    assert expected <= lines
    assert len(expected) > 5


def test_methods_of_graphs(networkx: SourceIndex) -> None:
    found = codenav.callers("Graph.add_node", on=networkx, limit=1_000)
    assert found.certain > 50 and found.others > 5
    certain = {caller.block.qualname for caller in found if caller.certain}
    assert "treewidth_decomp" in certain, "graph = nx.Graph(...) in it"
    assert not {"GEXFReader.make_graph", "GraphMLReader.make_graph"} & certain, "they call their own"


def test_imports_as_python_reads_them() -> None:
    text = (
        "import a.b, c as d\nimport x.y as z  # why\nfrom . import q\nfrom ..m.n import (a1 as b1,  # one\n    c2,\n)\n"
        "from k import *\nif True: import early\ntry:\n    from t import u\nexcept ImportError: from v import u2\n"
        '">>> import not_me"\nfrom long import \\\n    l\n'
    )
    bound, stars = imports_in(text)
    assert bound == {
        "a": Import("a"), "d": Import("c"), "z": Import("x.y"), "q": Import("", 1, "q"),
        "b1": Import("m.n", 2, "a1"), "c2": Import("m.n", 2, "c2"), "early": Import("early"),
        "u": Import("t", 0, "u"), "u2": Import("v", 0, "u2"), "l": Import("long", 0, "l"),
    }  # fmt: skip
    assert stars == [Import("k", 0, "*")]
    assert Import("m.n", 2, "a1").absolute("p.q.r", is_package=False) == "p.m.n"
    assert Import("m", 1).absolute("p.q", is_package=True) == "p.q.m"
    assert Import("m", 5).absolute("p.q", is_package=False) == ""


def test_other_languages_by_class_file_and_name(tmp_path: Path) -> None:
    (tmp_path / "store.ts").write_text(
        "export class Store {\n  get(k: string) { return this.load(k); }\n  load(k: string) { return helper(k); }\n}\n"
        "function helper(k: string) { return k; }\n"
        "export function start() { const s = new Store(); return s.load('x'); }\n"
    )
    (tmp_path / "pump.rs").write_text(
        "struct Pump;\n\nimpl Pump {\n    fn new() -> Pump { Pump }\n    fn go(&self) { self.stop(); }\n"
        "    fn stop(&self) {}\n}\n\nfn helper() {\n    let p = Pump::new();\n    p.go();\n}\n"
    )
    with codenav.index(tmp_path) as index:
        assert told(index, "Store.get") == {"this.load": ("same class", ["Store.load"])}
        assert told(index, "Store.load") == {"helper": ("same module", ["helper"])}
        assert told(index, "pump.helper") == {
            "Pump::new": ("same module", ["Pump.new"]),
            "p.go": ("only one of that name", ["Pump.go"]),
        }
        (caller,) = codenav.callers("Pump::new", on=index)
        assert (caller.block.qualname, caller.certain, list(caller.calls[0].lines)) == ("helper", True, [10])
        found = codenav.callers("Store.load", on=index)
        assert [(caller.block.qualname, caller.certain) for caller in found] == [("Store.get", True), ("start", False)]


TEMPLATES = {
    "java": "class Base { void run() { STEP(); this.STEP(); } void STEP() {} }\n"
    "class Heir extends Base { void STEP() { super.STEP(); } }\nclass Other { void STEP() {} }\n",
    "cs": "class Base { void Run() { STEP(); this.STEP(); } protected virtual void STEP() {} }\n"
    "sealed class Heir(int size) : Base, IDisposable { protected override void STEP() { base.STEP(); } }\n"
    "class Other { void STEP() {} }\n",
    "cpp": "class Base { public: void run() { STEP(); this->STEP(); } virtual void STEP() {} };\n"
    "class API Heir final : public Base { void STEP() override {} };\nclass Other { void STEP() {} };\n",
    "ts": "class Base { run() { this.STEP(); } STEP() {} }\n"
    "class Heir<T> extends Base implements Other { STEP() { super.STEP(); } }\nclass Other { STEP() {} }\n",
    "rb": "class Base\n  def run\n    STEP()\n    self.STEP\n  end\n  def STEP\n  end\nend\n"
    "class Heir < Base\n  def STEP\n  end\nend\nclass Other\n  def STEP\n  end\nend\n",
    "php": "<?php\nclass Base { function run() { $this->STEP(); static::STEP(); } function STEP() {} }\n"
    "class Heir extends Base { function STEP() { parent::STEP(); } }\nclass Other { function STEP() {} }\n",
}  # fmt: skip


@pytest.mark.parametrize("suffix", TEMPLATES)
def test_a_call_in_a_base_counts_for_what_overrides_it_in_every_language(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"base.{suffix}").write_text(TEMPLATES[suffix].replace("STEP", "advance"))
    with codenav.index(tmp_path) as index:
        for name in ("Base.advance", "Heir.advance"):
            found = codenav.callers(name, on=index)
            (caller,) = (caller for caller in found if caller.block.qualname.lower() == "base.run")
            assert {call.evidence.value for call in caller.calls} == {"may be overridden"}, name
        assert [caller.block.qualname for caller in codenav.callers("Other.advance", on=index)] == []
        beyond = [caller for caller in codenav.callers("Base.advance", on=index) if caller.certain]
        assert [caller.calls[0].evidence.value for caller in beyond] in ([], ["base class"])
        assert bool(beyond) is (suffix in ("java", "cs", "ts", "php"))


def test_a_base_in_another_file_is_a_name_without_imports(tmp_path: Path) -> None:
    (tmp_path / "Base.java").write_text("class Base { void run() { advance(); } void advance() {} void stop() {} }\n")
    (tmp_path / "Heir.java").write_text("class Heir extends x.Base<String> { void advance() { stop(); } }\n")
    with codenav.index(tmp_path) as index:
        (caller,) = codenav.callers("Heir.advance", on=index)
        assert (caller.block.qualname, caller.certain, caller.possible) == ("Base.run", False, True)
        # Another library may have a `Base`, too.
        (caller,) = codenav.callers("Base.stop", on=index)
        assert (caller.block.qualname, caller.certain) == ("Heir.advance", False)


def test_a_bare_name_is_a_method_where_the_language_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text("void stop() {}\nclass Pump { void stop() {} void run() { stop(); } };\n")
    (tmp_path / "b.rb").write_text("def halt\nend\nclass Pump\n  def halt\n  end\n  def run\n    halt()\n  end\nend\n")
    (tmp_path / "c.js").write_text("import { end } from './d';\nclass Pump { end() {} run() { end(); } }\n")
    with codenav.index(tmp_path) as index:
        for name in ("stop", "halt"):
            found = codenav.callers(f"Pump.{name}", on=index)
            assert [(caller.block.name, caller.certain) for caller in found] == [("run", True)]
        assert list(codenav.callers("a.cpp:1", on=index)) == []
        assert [caller.certain for caller in codenav.callers("Pump.end", on=index)] == [False]
