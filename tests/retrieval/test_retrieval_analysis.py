"""Text analysis: what becomes a token, the same for every store."""

from __future__ import annotations

import random

import pytest

from codenav.retrieval import analysis


@pytest.mark.parametrize(
    ("text", "wholes", "parts"),
    [
        ("load_model(x)", "load_model x", "load model x"),
        ("HTTPServer parseJSON2 utf8", "httpserver parsejson2 utf8", "http server parse json 2 utf 8"),
        ("__init__ _ __", "__init__ _ __", "init"),
        ("BertForMaskedLM", "bertformaskedlm", "bert for masked lm"),
        ("conv2dTranspose", "conv2dtranspose", "conv 2 d transpose"),
        ("naïve_Größe ДетекторЛиц", "naïve_größe детекторлиц", "naïve größe детектор лиц"),
        ("人脸检测 脸 x人y", "人脸 脸检 检测 脸 x 人 y", "人脸 脸检 检测 脸 x 人 y"),
        ("ひらカタ 한국어", "ひら らカ カタ 한국 국어", "ひら らカ カタ 한국 국어"),
        ("ＬＯＡＤ ﬁle", "load file", "load file"),
        ("-> () !", analysis.SENTINEL, analysis.SENTINEL),
        ("", analysis.SENTINEL, analysis.SENTINEL),
    ],
)
def test_wholes_and_parts(text: str, wholes: str, parts: str) -> None:
    assert [field.split() for field in analysis.named(text)] == [wholes.split(), parts.split()]
    # Of a text, an identifier that is its own only part stands among the parts alone.
    alone = {word.lower() for word in analysis.words(text) if analysis.whole_tokens(word) == analysis.part_tokens(word)}
    compounds = [token for token in wholes.split() if token not in alone and not analysis.is_cjk(token)]
    found = [field.split() for field in analysis.analysed(text)]
    assert found == [compounds or [analysis.SENTINEL], parts.split()]


def test_simple_words_stand_among_the_parts_alone() -> None:
    assert analysis.analysed("def load_model(path): path, LOAD_MODEL") == (
        "load_model",
        "def load model path path load model",
    )
    assert analysis.analysed("größe = Größe_1") == ("größe_1", "größe größe 1")
    assert analysis.analysed("just words") == (analysis.SENTINEL, "just words")


def test_tokens_are_cut() -> None:
    wholes, parts = analysis.analysed("a" * 1000 + " " + "b_" * 1000)
    assert {len(token) for token in wholes.split()} == {255}
    assert max(len(token) for token in parts.split()) == 255
    assert max(len(token) for token in analysis.prefixes("c" * 255).split()) == analysis.MAX_PREFIX


def test_prefixes() -> None:
    assert analysis.prefixes("loader x") == "loa load loade loader x"
    assert analysis.prefixes(analysis.SENTINEL) == analysis.SENTINEL


def test_paths() -> None:
    assert analysis.path_parts("Src/my dir/Load.Model.py") == "src my␣dir load.model.py load.model"
    assert analysis.path_parts(".gitignore") == ".gitignore"
    assert analysis.path_token("A b/c\udcff.py") == "a␣b/c\\udcff.py"


def test_no_text_gives_a_token_with_white_space_or_an_empty_field() -> None:
    rng = random.Random(5)
    for _ in range(3000):
        text = "".join(chr(rng.randrange(0x110000 if rng.random() < 0.5 else 0x250)) for _ in range(rng.randint(0, 30)))
        wholes, parts = analysis.named(text)
        prefixes = analysis.prefixes(wholes)
        for field in (*analysis.analysed(text), wholes, parts, prefixes, analysis.path_parts(text)):
            assert field == " ".join(field.split())
            assert field
            field.encode()
            assert all(len(token) <= analysis.MAX_TOKEN for token in field.split())
