"""Encoders of directories: numpy and onnxruntime give the same, and what is wrong with a directory is one line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from encoder_models import random_weights, tiny_model

from codenav.core.errors import CodeNavError, NotFound, Unavailable, UsageError
from codenav.retrieval.encoders import open_encoder
from codenav.retrieval.encoders.bert import Bert, Shape
from codenav.retrieval.encoders.directory import ModelDirectory
from codenav.retrieval.encoders.sentence import bert_of, tokenizer_of
from codenav.retrieval.encoders.weights import read_weights, write_onnx, write_weights

WORDS = ["order", "two", "mugs", "list", "the", "products", "delete", "a", "user"]
TEXTS = ["order two mugs", "list the products", "", "delete a user " * 20, "unknownword"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("models") / "tiny", WORDS)


@pytest.fixture
def copy(model: Path, tmp_path: Path) -> Path:
    return shutil.copytree(model, tmp_path / "copy")


def export(folder: Path) -> None:
    directory = ModelDirectory.read(folder)
    (folder / "onnx").mkdir()
    write_onnx(folder / "onnx" / "model.onnx", bert_of(directory, tokenizer_of(directory)))


def test_rows_are_of_length_one_and_do_not_depend_on_what_is_beside(model: Path) -> None:
    encoder = open_encoder(str(model))
    rows = encoder.encode(TEXTS)
    assert rows.shape == (5, 16) and rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 1, 0, 1, 1], atol=1e-6)
    for place, text in enumerate(TEXTS):
        assert np.allclose(encoder.encode([text])[0], rows[place], atol=1e-5)
    assert encoder.encode([]).shape[0] == 0


@pytest.mark.parametrize("pooling", ["mean", "cls", "pooling_mode_max_tokens"])
def test_onnxruntime_gives_what_numpy_gives(tmp_path: Path, pooling: str) -> None:
    folder = tiny_model(tmp_path / "model", WORDS, pooling=pooling)
    plain = open_encoder(str(folder))
    rows = plain.encode(TEXTS)
    export(folder)
    exported = open_encoder(str(folder))
    assert np.abs(exported.encode(TEXTS) - rows).max() < 1e-5
    assert exported.name != plain.name


def test_a_prompt_of_the_model_goes_in_front(copy: Path) -> None:
    (copy / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "list the "}}))
    encoder = open_encoder(str(copy))
    assert np.allclose(encoder.encode(["products"], query=True), encoder.encode(["list the products"]), atol=1e-6)


def test_the_name_changes_with_the_weights(copy: Path) -> None:
    before = open_encoder(str(copy)).name
    write_weights(copy / "model.safetensors", random_weights(13, seed=1))
    assert open_encoder(str(copy)).name != before


def changed(name: str, **keys: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / name
        path.write_text(json.dumps({**json.loads(path.read_text()), **keys}))

    return change


def removed(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def written(name: str, text: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)

    return change


def halved(folder: Path) -> None:
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[: len(data) // 2])


MODULES = '[{"type": "x.Transformer", "path": ""}, {"type": "x.Pooling", "path": "1_Pooling"}]'
BROKEN = {
    "no tokenizer": (removed("tokenizer.json"), "has no tokenizer"),
    "broken tokenizer": (written("tokenizer.json", "{}"), "tokenizer.json cannot be read"),
    "no modules": (removed("modules.json"), "no whole model of sentence-transformers: modules.json is missing"),
    "modules of another form": (written("modules.json", "{}"), "has another form"),
    "unknown module": (written("modules.json", '[{"type": "x.CLIPModel", "path": ""}]'), "has the modules CLIPModel"),
    "no config": (removed("config.json"), "config.json is missing"),
    "config is no json": (written("config.json", "{"), "config.json is not JSON"),
    "no weights": (removed("model.safetensors"), "neither model.onnx nor model.safetensors"),
    "weights cut short": (halved, "no whole file of weights"),
    "weights are text": (written("model.safetensors", "version https://git-lfs"), "no whole file of weights"),
    "another kind": (changed("config.json", model_type="xlm-roberta"), "needs a model.onnx"),
    "more layers": (changed("config.json", num_hidden_layers=3), "encoder.layer.2.attention.self.query.weight is miss"),
    "odd heads": (changed("config.json", num_attention_heads=3), "do not fit config.json"),
    "no heads": (changed("config.json", num_attention_heads=None), "no sound numbers"),
    "heads below zero": (changed("config.json", num_attention_heads=-2), "no sound numbers"),
    "endless layers": (changed("config.json", num_hidden_layers=10**12), "no sound numbers"),
    "odd epsilon": (changed("config.json", layer_norm_eps="small"), "no sound numbers"),
    "elsewhere": (written("modules.json", MODULES.replace('""', '"../tiny"')), "names folders that are not in it"),
    "no places": (changed("config.json", max_position_embeddings="x"), None),
    "too long": (changed("sentence_bert_config.json", max_seq_length=64), None),
    "more places": (changed("config.json", max_position_embeddings=10), None),
    "odd pooling": (
        written("1_Pooling/config.json", '{"pooling_mode_lasttoken": true}'),
        "pools by pooling_mode_lastt",
    ),
    "no onnx": (written("onnx/model.onnx", "not a model"), "no model that onnxruntime can load"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_with_a_directory_is_one_clear_line(copy: Path, case: str) -> None:
    change, told = BROKEN[case]
    change(copy)
    if told is None:
        assert open_encoder(str(copy)).encode(["order mugs"]).any()
        return
    with pytest.raises(Unavailable, match=told) as raised:
        open_encoder(str(copy)).encode(["order mugs"])
    assert "\n" not in str(raised.value) and raised.value.hint


def test_more_words_than_weights(copy: Path) -> None:
    write_weights(copy / "model.safetensors", random_weights(5))
    with pytest.raises(Unavailable, match="has 13 words, 24 places, where the weights have 5 and 24"):
        open_encoder(str(copy)).encode(["order"])


def test_weights_that_are_not_numbers(copy: Path) -> None:
    weights = random_weights(13)
    weights["embeddings.LayerNorm.bias"][0] = np.nan
    write_weights(copy / "model.safetensors", weights)
    with pytest.raises(Unavailable, match="computes no finite numbers"):
        open_encoder(str(copy)).encode(["order"])


def test_an_onnx_file_of_something_else(copy: Path) -> None:
    import onnx
    from onnx import helper

    pair = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in ("pixels", "label")]
    graph = helper.make_graph([helper.make_node("Identity", ["pixels"], ["label"])], "other", pair[:1], pair[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (copy / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(Unavailable, match="takes pixels, not the tokens of a text"):
        open_encoder(str(copy)).encode(["order"])


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [("nowhere", NotFound, "no such directory"), (".", UsageError, "holds no model that codenav knows")],
)
def test_what_names_no_encoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, kind: type[CodeNavError], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=told):
        open_encoder(text)
    with pytest.raises(UsageError, match="for a server"):
        open_encoder(text, model="named")


@pytest.mark.parametrize("kind", ["F16", "BF16", "F64"])
def test_weights_in_other_precisions_are_read(tmp_path: Path, kind: str) -> None:
    values = np.array([[1.5, -2.0], [0.25, 3.0]], np.float32)
    data = {
        "F16": values.astype("<f2"), "F64": values.astype("<f8"),
        "BF16": (values.view(np.uint32) >> 16).astype("<u2"),
    }[kind].tobytes()  # fmt: skip
    header = json.dumps({"w": {"dtype": kind, "shape": [2, 2], "data_offsets": [0, len(data)]}}).encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)
    assert np.array_equal(read_weights(path)["w"], values)


def test_a_bert_checks_its_shape() -> None:
    with pytest.raises(Unavailable, match="do not fit"):
        Bert(Shape(2, 2, 1e-12), {})
