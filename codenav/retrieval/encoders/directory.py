"""A directory in the form of sentence-transformers: what its files say about the model in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codenav.core.errors import NotFound, Unavailable

POOLINGS = ("mean", "cls", "max")
ONNX = ("onnx/model.onnx", "model.onnx")
"""Places of the computation, the first of which sentence-transformers writes."""
WEIGHTS = "model.safetensors"
DESCRIPTION = "codenav.json"
"""The file of a tuned directory: what it was tuned from, with what success, and the weights that go with it."""
AGAIN = "copy the model's directory again, or name another"


@dataclass(frozen=True)
class ModelDirectory:
    """The parts of a sentence-transformers model."""

    folder: Path
    model: Path
    """The folder of the transformer: as a rule the same."""
    config: Mapping[str, Any]
    pooling: str
    """One of `POOLINGS`: how the states of a text become one vector."""
    longest: int
    """Most tokens of a text; further ones are cut off."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Texts that the model was trained to have in front: of `query`, and of `document`."""

    @classmethod
    def read(cls, folder: Path) -> ModelDirectory:
        """Read the descriptions in a directory; no weights are loaded.

        Raises:
            NotFound: there is no such directory.
            Unavailable: a file is missing or broken, or the model has parts that are not known here.
        """
        if not folder.is_dir():
            raise NotFound(f"no such directory: {folder}", hint="a directory of sentence-transformers, or a URL")
        modules = _json(folder / "modules.json", list)
        kinds = [(str(item.get("type", "")).rpartition(".")[2], str(item.get("path", ""))) for item in modules]
        if [kind for kind, _ in kinds[:2]] != ["Transformer", "Pooling"] or any(
            kind != "Normalize" for kind, _ in kinds[2:]
        ):
            raise Unavailable(
                f"{folder} has the modules {', '.join(kind for kind, _ in kinds) or 'none'}: "
                "codenav reads Transformer, Pooling, Normalize",
                hint="serve it, and name the server's URL",
            )
        if any(Path(path).is_absolute() or ".." in Path(path).parts for _, path in kinds):
            raise Unavailable(f"{folder / 'modules.json'} names folders that are not in it", hint=AGAIN)
        model = folder / kinds[0][1]
        config = _json(model / "config.json", dict)
        if not (model / "tokenizer.json").is_file():
            raise Unavailable(f"{folder} has no tokenizer: {model / 'tokenizer.json'} is missing", hint=AGAIN)
        sizes = [config.get("max_position_embeddings")]
        if (model / "sentence_bert_config.json").is_file():
            sizes.append(_json(model / "sentence_bert_config.json", dict).get("max_seq_length"))
        prompts: Mapping[str, Any] = {}
        if (folder / "config_sentence_transformers.json").is_file():
            listed = _json(folder / "config_sentence_transformers.json", dict).get("prompts")
            prompts = listed if isinstance(listed, dict) else {}
        return cls(
            folder, model, config, _pooling(folder / kinds[1][1] / "config.json"),
            min((size for size in sizes if isinstance(size, int) and size > 2), default=512),
            {name: text for name, text in prompts.items() if isinstance(text, str)},
        )  # fmt: skip

    @property
    def onnx(self) -> Path | None:
        """The file of the computation, if there is one."""
        return next((path for name in ONNX if (path := self.model / name).is_file()), None)

    @property
    def weights(self) -> Path | None:
        """The file of the weights, if there is one."""
        path = self.model / WEIGHTS
        return path if path.is_file() else None

    def digest(self) -> str:
        """A name of the model that changes with its weights: of 64 pieces, not of all, which would take half a second.

        Raises:
            Unavailable: there is no file of weights, or it cannot be read.
        """
        path = self.onnx or self.weights
        if path is None:
            raise Unavailable(f"{self.folder} has no model: neither {ONNX[1]} nor {WEIGHTS}", hint=AGAIN)
        try:
            size = path.stat().st_size
            hashed = hashlib.blake2b(f"{size} {self.pooling} {self.longest}".encode(), digest_size=6)
            with open(path, "rb") as file:
                for piece in range(64):
                    file.seek(size * piece // 64)
                    hashed.update(file.read(4096))
        except OSError as error:
            raise Unavailable(f"cannot read {path}: {error.strerror or error}", hint=AGAIN) from error
        return hashed.hexdigest()


def is_model(folder: Path) -> bool:
    """True if a directory looks like one of sentence-transformers, whole or not."""
    return any((folder / name).is_file() for name in ("modules.json", "tokenizer.json", "config.json", *ONNX))


def _pooling(path: Path) -> str:
    config = _json(path, dict)
    modes = [mode for mode in POOLINGS if config.get("pooling_mode") == mode]
    modes += [name for name, on in config.items() if name.startswith("pooling_mode_") and on is True]
    short = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls", "pooling_mode_max_tokens": "max"}
    named = [short.get(mode, mode) for mode in modes]
    if len(named) != 1 or named[0] not in POOLINGS:
        pooled = ", ".join(named) or str(config.get("pooling_mode", "none"))
        raise Unavailable(
            f"{path.parent} pools by {pooled}: codenav knows {', '.join(POOLINGS)}, one of them", hint=AGAIN
        )
    return named[0]


def _json(path: Path, kind: type[dict[str, Any]] | type[list[dict[str, Any]]]) -> Any:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        what = "is missing" if isinstance(error, FileNotFoundError) else error.strerror
        raise Unavailable(
            f"{path.parent} is no whole model of sentence-transformers: {path.name} {what}", hint=AGAIN
        ) from error
    except (ValueError, RecursionError) as error:
        raise Unavailable(f"{path} is not JSON", hint=AGAIN) from error
    if type(found) is not kind or (isinstance(found, list) and not all(isinstance(item, dict) for item in found)):
        raise Unavailable(f"{path} has another form than sentence-transformers writes", hint=AGAIN)
    return found
