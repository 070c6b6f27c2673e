"""C, C++ and C#: preprocessor groups, macros and declarators, after what real code bases do."""

from __future__ import annotations

import time

import pytest

from codenav.core.blocks import BlockKind, CodeBlock
from codenav.indexers.code_blocks import code_blocks
from codenav.indexers.code_branches import one_branch
from codenav.indexers.code_macros import without_plain_macros
from codenav.indexers.place import Place
from codenav.indexers.walk import language_of


def blocks_of(name: str, source: str) -> list[CodeBlock]:
    blocks, reason = code_blocks(source, Place("/source", name), language_of(name))
    assert blocks is not None and not reason
    return [block for block in blocks if block.kind is not BlockKind.IMPORT]


def named(name: str, source: str) -> list[str]:
    """Kinds and qualified names of the blocks, statements left out."""
    found = (block for block in blocks_of(name, source) if block.name != "statements")
    return [f"{block.kind.value.lower()} {block.qualname}" for block in found]


AFTER = "int next(void) { return 1; }\nint last(void) { return 2; }\n"


@pytest.mark.parametrize(
    "body",
    [
        "#ifdef FAST\n  if (a)\n#else\n  if (b)\n#endif\n  {\n    g();\n  }\n",
        "  if (a)\n#ifdef FAST\n    g();\n#else\n    h();\n#endif\n",
        "#ifdef FAST\n  if (a) {\n#endif\n  g();\n#ifdef FAST\n  }\n#endif\n",
        "#ifndef SLOW\n  if (a) {\n#endif\n  g();\n#if !defined(SLOW)\n  }\n#endif\n",
        "#ifdef FAST\n  if (a) { g(); } else\n#endif\n  { h(); }\n",
        "  if (a) {\n    g();\n  }\n#ifdef FAST\n  else if (b) {\n    h();\n  }\n#endif\n",
        "  g(a\n#ifdef FAST\n    , b\n#endif\n  );\n",
        "#if 0\n  it's no code (\n#endif\n  g();\n",
        "#if defined(A) \\\n  || defined(B)\n  while (a) { // }\n#else\n  for (;;) { /* ( */\n#endif\n"
        "  char c = '{'; g(\"}\"); }\n",
    ],
)
def test_groups_that_cut_through_a_statement_cost_no_function(body: str) -> None:
    source = f"int first(int a, int b)\n{{\n{body}  return 0;\n}}\n{AFTER}"
    assert named("a.c", source) == ["function first", "function next", "function last"]
    first, second, _ = blocks_of("a.c", source)
    assert first.lines.end == second.lines.start - 1
    assert body in first.text and "g" in first.calls


def test_definitions_of_every_branch_stay_if_they_are_whole() -> None:
    source = "#ifdef A\nint a(void) { g(); }\n#elif B\nint b(void) { g(); }\n#else\nint c(void) { g(); }\n#endif\n"
    assert named("a.c", source + AFTER) == [f"function {name}" for name in ("a", "b", "c", "next", "last")]


def test_heads_of_which_each_branch_has_one_share_a_body() -> None:
    source = (
        "#ifdef VARIADIC\nvoid\nlog_error(int level, ...)\n#else\nvoid\nlog_error(int level, va_list args)\n#endif\n"
        "{\n  g();\n}\n"
    )
    assert named("a.c", source + AFTER) == ["function log_error", "function next", "function last"]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("LUA_API int (lua_iscfunction)(lua_State *L, int n);", "function lua_iscfunction"),
        ("LUA_API const char *(lua_tolstring) (lua_State *L);", "function lua_tolstring"),
        ("LUA_API lua_CFunction lua_atpanic (lua_State *L, lua_CFunction f);", "function lua_atpanic"),
        ("GIT_EXTERN(int) git_open(git_repository **out);", "function git_open"),
        ("static inline_always unsigned long\nspin(struct lock *l)\n{\n}", "function spin"),
        ("static DWORD WINAPI run(void *data) { return 0; }", "function run"),
        ("static int __stdcall handler(u_long type);", "function handler"),
        ("void log_it(const char *format, ...) FORMAT_PRINTF(1, 2);", "function log_it"),
        ("static void grow(list *l)\n  internal_function;", "function grow"),
        ('EXTERN CODE DEPRECATED(7, "Use b()")\nadd(struct post **first, ...);', "function add"),
        ("typedef int (__cdecl *compare)(int);", "class compare"),
        ("typedef BOOL (PASCAL FAR * LPFN)(IN SOCKET s, OUT HANDLE h);", "class LPFN"),
        ("typedef int (*plain)(int);", "class plain"),
        ("TEST_IMPL(tcp_open) {\n  g();\n}", "function tcp_open"),
        ("TEST_BEGIN(align)\n{\n  g();\n}", "function align"),
        ("SYSCALL_DEFINE3(open, const char *, name, int, flags)\n{\n  g();\n}", "function open"),
        ("typedef word __attribute__((__may_alias__)) word_alias;", "class word_alias"),
        ("typedef __attribute__((vector_size(16))) float v4;", "class v4"),
        ("typedef khash_t(items) items_t;", "class items_t"),
        (
            "static int cpuid(void)\n{\n  int res;\n  __asm {\n    mov eax,1\n    cpuid\n  }\n  return res;\n}",
            "function cpuid",
        ),
        ("UV_UNUSED(static int uv__fstat(int fd, struct stat* s)) {\n  g();\n}", "function uv__fstat"),
    ],
)
def test_a_declaration_of_c_is_named_after_what_it_declares(source: str, name: str) -> None:
    assert named("a.c", f"{source}\n{AFTER}") == [name, "function next", "function last"]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("struct EXPORT Options { int a; Options(); };", ["class Options", "method Options.Options"]),
        ("class LIB_API(1) Widget final : public Base { void f(); };", ["class Widget", "method Widget.f"]),
        ('class LIB_API [[deprecated("use B")]] A { void f(); };', ["class A", "method A.f"]),
        ("class [[nodiscard]] LIB_API A final : public B { void f(); };", ["class A", "method A.f"]),
        ("class A { void Lock() EXCLUSIVE_LOCK_FUNCTION(); void U() UNLOCK(); };",
         ["class A", "method A.Lock", "method A.U"]),
        ("class A { int n GUARDED_BY(mu) = 0; bool Has(int a) const LOCKS(mu_) { return true; } };",
         ["class A", "method A.Has"]),
        ("class A { INLINE A(int n) : n(n) {} INLINE ~A() = default; T* at(int* NULLABLE p) BOUND { return p; } };",
         ["class A", "method A.A", "method A.~A", "method A.at"]),
        ("class A { DECLARE_LIST(item); API operator bool() const; static int (max)() { return 1; } };",
         ["class A", "method A.operator bool", "method A.max"]),
        ("Path::operator bool() const { return true; }\nvoid* operator new[](size_t n);",
         ["method Path.operator bool", "function operator new[]"]),
        ("TEST_F(Fixture, Works) { g(); }", ["function Fixture.Works"]),
        ('TEST_CASE("an empty list", "[list]") { g(); }', ["function an empty list"]),
        ('FLAG(bool, quick, {}, "help");\nFLAG(int, n, 3, "");\nclass A {};', ["class A"]),
        ("void f() {\n  TRY {\n    g();\n  } CATCH_ANY {\n    h();\n  }\n  FOREACH(a, b) { g(); }\n}", ["function f"]),
        ("#ifdef __cplusplus\nextern \"C\" {\n#endif\nint f(int);\n#ifdef __cplusplus\n}\n#endif", ["function f"]),
        ("template INLINE void append<char>(buffer&);", ["function append"]),
    ],
)  # fmt: skip
def test_a_declaration_of_cpp_is_named_after_what_it_declares(source: str, names: list[str]) -> None:
    assert named("a.hpp", f"{source}\n{AFTER}") == [*names, "function next", "function last"]


def test_macros_before_a_declaration_are_part_of_its_text() -> None:
    (block,) = blocks_of("a.h", "/* The type. */\nLUA_API int (lua_type)(lua_State *L);\n")
    assert block.text == "/* The type. */\nLUA_API int (lua_type)(lua_State *L);"
    assert block.signature == "LUA_API int (lua_type)(lua_State *L)" and block.docstring == "The type."


@pytest.mark.parametrize("word", ["LUA_API", "__global__", "EXTERN CODE"])
def test_words_in_a_line_of_their_own_part_no_declaration_from_its_comment(word: str) -> None:
    source = f"int a;\n\n/* The type. */\n{word}\nint f(int a)\n{{\n  return a;\n}}\n\nBEGIN_DECLS\nint g(int a);\n"
    _, f, g = blocks_of("a.cu", source)
    assert (f.lines.start, f.docstring, f.signature) == (3, "The type.", f"{word} int f(int a)")
    assert g.text == "int g(int a);"


def test_each_name_of_a_typedef_is_found() -> None:
    source = "typedef struct _ITEM {\n  int a;\n} ITEM, *PITEM;\n"
    assert named("a.c", source) == ["class ITEM", "class _ITEM", "class PITEM"]
    assert blocks_of("a.c", source)[-1].signature == "typedef ITEM *PITEM"


def test_a_macro_with_comments_in_it_ends_where_it_ends() -> None:
    source = "#define STEP(a) do { /* one\\\n  two */ \\\n  if (a) { /* { */ \\\n  g(a); } } while (0)\n"
    assert named("a.c", source + AFTER) == ["function STEP", "function next", "function last"]


def test_calls_in_a_function_are_no_definitions() -> None:
    source = (
        "int f(int a) {\n#ifdef A\n  if (a)\n#endif\n  { return g(a); }\n  else if (h(a)) { k(a); }\n"
        "  MACRO(a) { m(a); }\n}\n"
    )
    assert named("a.c", source + AFTER) == ["function f", "function next", "function last"]


def test_a_single_header_with_an_error_keeps_its_classes() -> None:
    classes = "".join(
        f"class LIB_API C{number} : public Base {{\npublic:\n  int f() const;\n}};\n" for number in range(50)
    )
    source = f"#ifndef A_HPP\n#define A_HPP\n#ifdef B\nnamespace lib {{\nint x = = ;\n{classes}}}\n#endif\n#endif\n"
    found = named("a.hpp", source)
    assert all(f"class lib.C{number}" in found and f"method lib.C{number}.f" in found for number in range(50))


def test_properties_and_events_are_blocks() -> None:
    source = (
        "class A {\n  /// <summary>The name.</summary>\n  public string Name { get; set; }\n  public int Count => 3;\n"
        "  public event Action Saved, Closed;\n  public event Action Opened { add { } remove { } }\n  int limit = 3;\n"
        '  [Obsolete("old", Reason = "none")]\n  public event Handler? Failed;\n'
        "}\ninterface I { int Size { get; } event Action Changed; }\n"
    )
    assert named("a.cs", source) == [
        "class A", "method A.Name", "method A.Count", "method A.Saved", "method A.Closed",
        "method A.Opened", "method A.Failed",
        "class I", "method I.Size", "method I.Changed",
    ]  # fmt: skip
    name = blocks_of("a.cs", source)[1]
    assert name.docstring == "The name." and name.signature == "public string Name { get; set; }"


@pytest.mark.parametrize(
    "head",
    [
        "class A<T>\n#if NET\n  : IFoo\n#endif\n",
        "class A<T>\n#if NET\n  : IFoo\n#else\n  : IBar\n#endif\n",
        'class A<T> : Base\n#if NET && !OLD // "\n  , IFoo\n#endif\n',
    ],
)
def test_a_group_after_the_name_of_a_class_makes_no_other(head: str) -> None:
    body = "#if A\n    if (x) {\n#else\n    if (y) {\n#endif\n      G(); }\n"
    source = head + '{\n  string path = @"C:\\";\n  void F() {\n' + body + "  }\n  void H() {}\n}\n"
    assert named("a.cs", source) == ["class A", "method A.F", "method A.H"]


def test_words_of_cuda_name_nothing() -> None:
    source = (
        "__device__ float rate;\n__device__ __constant__ float table[3] = {1, 2, 3};\n__constant__ int most = 3;\n"
        "struct __align__(16) item {\n  float x;\n  __host__ __device__ float len() const { return x; }\n};\n"
        "__host__ __device__ int twice(int a) { return 2 * a; }\n__global__ void __launch_bounds__(8) run(int *x) {}\n"
    )
    assert named("a.cu", source) == [
        "assignment rate", "assignment table", "assignment most", "class item", "method item.len", "function twice",
        "function run",
    ]  # fmt: skip
    assert blocks_of("a.cu", source)[-1].signature == "__global__ void __launch_bounds__(8) run(int *x)"


def test_a_struct_that_is_both_ref_and_partial_is_a_type() -> None:
    source = (
        "namespace N;\npublic readonly ref partial struct A {\n  public int Size => 1;\n  void F() {}\n}\nclass B {}\n"
    )
    assert named("a.cs", source) == ["class A", "method A.Size", "method A.F", "class B"]
    assert blocks_of("a.cs", source)[0].signature == "public readonly ref partial struct A"


def test_a_group_in_a_switch_costs_no_method() -> None:
    cases = "switch (x) {\n#if NET\n  case B when !G(): return 1;\n#endif\n  case C:\n  default: break;\n  }\n"
    source = (
        f"class A {{\n  int F(B x) {{\n  if (x is not null) G();\n  {cases}"
        "  try { G(); }\n  catch (Exception e)\n  {\n    H();\n  }\n  }\n  void H() {}\n}\n"
    )
    assert named("a.cs", source) == ["class A", "method A.F", "method A.H"]


def test_a_header_that_is_better_read_as_cpp_is() -> None:
    source = f"struct range {{ int a; int b; }};\nstatic range all{{0, 9}};\nint first(int a);\n{AFTER}"
    assert named("a.h", source)[0] == "class range" and named("a.h", source)[-3:] == [
        "function first", "function next", "function last",
    ]  # fmt: skip
    assert {block.language for block in blocks_of("a.h", source)} == {"cpp"}
    assert {block.language for block in blocks_of("a.h", AFTER)} == {"c"}


@pytest.mark.parametrize("name", ["a.cu", "a.cuh", "a.inl", "a.ipp", "a.tpp", "a.c++", "a.ixx", "A.CU"])
def test_further_suffixes_of_cpp_are_read(name: str) -> None:
    source = "template <typename T>\n__global__ void add(T *x) { x[0] += 1; }\nvoid run() { add<<<1, 2>>>(p); g(); }\n"
    assert named(name, source) == ["function add", "function run"]


@pytest.mark.parametrize(
    "piece",
    [
        "#if A\n{\n", "#if A\nint a;\n#endif\n", "#define A \\\n/* x \\\n", "AAA(int\n", "AAA(\n", "  AAA {\n",
        "struct AAA\n", ") AAA\n", "(A b c\n", 'R"a(\n', "/\\\n", "typedef a (\n", "a<b> *\n", "case a: AAA(x)\n",
        "AAA ", "AAA(", "/*", "__attribute__((a\n", "__attribute__((a(\n", "class [[a]]\n", "class AAA [[a]]\n",
        "_asm {", "typedef a (b\n",
    ],
)  # fmt: skip
def test_repeated_pieces_take_no_long_time(piece: str) -> None:
    source = (piece * (100_000 // len(piece)) + "\nint f(").encode()
    before = time.process_time()
    assert len(without_plain_macros(one_branch(source, "c", flat=True))) == len(source)
    blocks, _ = code_blocks(f"int f();\n{piece * 200}\nint g(", Place("s", "a.c"), "cpp", seconds=0.3)
    assert blocks is not None and time.process_time() - before < 2
