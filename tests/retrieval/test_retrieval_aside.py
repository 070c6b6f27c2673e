"""Which files are tests and which are vendored, in trees as each language keeps them."""

from __future__ import annotations

import pytest

from codenav.core.blocks import BlockKind, CodeBlock, LineSpan
from codenav.retrieval.aside import is_aside, is_test, is_vendored
from codenav.retrieval.documents import TEST_WORTH, worth

TESTS = """
tests/a.py numpy/tests/data.py test_a.py a/test_b.py a/b_test.py conftest.py polls/tests.py test/orm/fixtures.py
mypy/test/testtypegen.py sniffio/_tests/x.py tests/README.md test/data.txt
context_test.go testdata/proto/x.go tests/e2e/etcd.go
src/test/java/a/Helper.java src/testFixtures/java/a/Age.java src/androidTest/java/a/A.java a/FooTest.java
a/FooTests.java
Src/Newtonsoft.Json.Tests/TestObjects/A.cs MyApp.Test/A.cs MyAppTests/Program.cs FooTests.cs App.UnitTests/A.cs
benchmarks/Dapper.Tests.Performance/Massive.cs
spec/spec_helper.rb spec/rack/mock_spec.rb test/helper.rb lib/a/b_spec.rb
src/__tests__/helpers.ts __mocks__/fs.js a.test.js src/a.spec.ts src/a.test-d.ts test/a.js
packages/rxjs/spec/helpers/run.ts
app.e2e-spec.ts test.js e2e/login.ts
tests/Foo.php Tests/Exception/FooTest.php module/App/test/FooTest.php
tokio/tests/io.rs src/fs/file/tests.rs src/parse_tests.rs tests-integration/src/lib.rs
test/test-fs.c util/arena_test.cc db/db_unittest.cc src/test/addrman_tests.cpp FooTest.cpp tests/unit/x.h
"""

NO_TESTS = """
numpy/testing/_private/utils.py django/test/client.py django/test/testcases.py pandas/_testing/_io.py werkzeug/test.py
contest/a.py contest.py latest.py attest.py ingest/a.py protests/a.py fastests/x.py inspection.py test
latest/x.go server/wal/testing/waltesting.go contest.go
spring-test/src/main/java/org/springframework/test/context/Foo.java src/main/java/a/WebMvcTest.java
java/security/spec/KeySpec.java Contest.java Test.java KIT.java
Latest.cs src/contest.cs Fastests.cs App.Testing/Host.cs
lib/rack/test/cookie_jar.rb lib/openapi/spec/reader.rb lib/rack/test.rb
src/spec/parser.ts lib/spec/x.js latest.js src/commands/test.js openapi-spec.ts core/testing/src/bed.ts
spec/openapi.md docs/spec/a.txt go/spec/ref.go
src/Contracts/Service/Test/Base.php src/Illuminate/Testing/Assert.php src/Concerns/CreatesMatchingTest.php
tokio-test/src/io.rs src/test/mod.rs src/attest.rs src/contests.rs
src/memtest.c src/greatest.cpp manifest.c
"""

VENDORED = """
deps/lua/src/lapi.c redis/deps/jemalloc/src/arena.c third_party/x.go src/thirdparty/a.cpp 3rdparty/zlib/inflate.c
vendor/golang.org/x/net/a.go pip/_vendor/rich/console.py pkg/_vendored/a.py node_modules/a/index.js extern/ply/lex.py
sklearn/externals/array_api/a.py external/fmt/format.h App/external/a.hpp subprojects/glib/a.c Pods/A/a.c
THIRD_PARTY/a.py static/admin/js/vendor/select2.js
"""

NOT_VENDORED = """
deps.py fastapi/dependencies/utils.py app/api/deps/auth.py app/services/external/client.py node_extern.go vendor.py
external_docs.go src/main/java/org/springframework/orm/jpa/vendor/Adapter.java vendoring/a.py
"""


@pytest.mark.parametrize("path", TESTS.split())
def test_tests_are_tests_in_every_language(path: str) -> None:
    assert is_test(path)


@pytest.mark.parametrize("path", NO_TESTS.split())
def test_what_only_sounds_like_a_test_is_none(path: str) -> None:
    assert not is_test(path)


@pytest.mark.parametrize("path", VENDORED.split())
def test_copies_of_other_projects_are_vendored(path: str) -> None:
    assert is_vendored(path)


@pytest.mark.parametrize("path", NOT_VENDORED.split())
def test_what_a_program_depends_on_in_its_own_words_is_not_vendored(path: str) -> None:
    assert not is_vendored(path)


@pytest.mark.parametrize(
    "path", ["", "/", ".", "test", "a\n/tests/b.go", "é/Tests/ü.cs", "\udce9.go", ".go", "src/main/"]
)
def test_any_string_is_a_path(path: str) -> None:
    assert is_test(path) == ("/tests/" in path.lower())
    assert not is_vendored(path)


@pytest.mark.parametrize(
    ("path", "aside"), [("context_test.go", True), ("deps/lua/lapi.c", True), ("context.go", False)]
)
def test_the_score_and_the_navigation_ask_this_one_rule(path: str, aside: bool) -> None:
    block = CodeBlock("0", BlockKind.FUNCTION, "f", "f", path, LineSpan(1, 1), "f")
    assert worth(block) == (TEST_WORTH if aside else 1.0)
    assert is_aside(block) is aside
