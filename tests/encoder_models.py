"""Tiny random models in the form of sentence-transformers, made on the spot: a BERT of two layers, 16 wide."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from codenav.retrieval.encoders.weights import write_weights

WIDTH, INNER, LAYERS, HEADS, PLACES = 16, 32, 2, 2, 24


def tiny_model(folder: Path, words: Sequence[str], *, seed: int = 0, pooling: str = "mean", **config: Any) -> Path:
    """Write a model whose tokens are these words, and return its folder."""
    folder.mkdir(parents=True)
    vocabulary = {word: place for place, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    modules = [
        ("", "sentence_transformers.models.Transformer"), ("1_Pooling", "sentence_transformers.models.Pooling"),
        ("2_Normalize", "sentence_transformers.models.Normalize"),
    ]  # fmt: skip
    listed = [{"idx": n, "name": str(n), "path": path, "type": kind} for n, (path, kind) in enumerate(modules)]
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "1_Pooling").mkdir()
    modes = {f"pooling_mode_{name}": False for name in ("cls_token", "mean_tokens", "max_tokens")}
    modes[{"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token"}.get(pooling, pooling)] = True
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": WIDTH, **modes}))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": PLACES, "do_lower_case": False}))
    whole = {
        "model_type": "bert", "hidden_act": "gelu", "hidden_size": WIDTH, "intermediate_size": INNER,
        "num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "max_position_embeddings": PLACES,
        "layer_norm_eps": 1e-12, "vocab_size": len(vocabulary), **config,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(whole))
    write_weights(folder / "model.safetensors", random_weights(len(vocabulary), seed))
    return folder


def random_weights(words: int, seed: int = 0) -> dict[str, Any]:
    """Weights of the tiny model."""
    draw = np.random.default_rng(seed)

    def made(*shape: int) -> Any:
        return draw.normal(0, 0.3, shape).astype(np.float32)

    def norm(name: str) -> dict[str, Any]:
        return {f"{name}.weight": 1 + made(WIDTH) / 3, f"{name}.bias": made(WIDTH) / 3}

    found = {
        "embeddings.word_embeddings.weight": made(words, WIDTH),
        "embeddings.position_embeddings.weight": made(PLACES, WIDTH) / 3,
        "embeddings.token_type_embeddings.weight": made(2, WIDTH) / 3,
        **norm("embeddings.LayerNorm"),
    }
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        for part, out, into in (
            ("attention.self.query", WIDTH, WIDTH), ("attention.self.key", WIDTH, WIDTH),
            ("attention.self.value", WIDTH, WIDTH), ("attention.output.dense", WIDTH, WIDTH),
            ("intermediate.dense", INNER, WIDTH), ("output.dense", WIDTH, INNER),
        ):  # fmt: skip
            found |= {f"{layer}.{part}.weight": made(out, into), f"{layer}.{part}.bias": made(out) / 3}
        found |= {**norm(f"{layer}.attention.output.LayerNorm"), **norm(f"{layer}.output.LayerNorm")}
    return found
