"""Files of a model: its weights in the safetensors form, and the computation of a BERT as an ONNX file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from codenav.core.errors import MissingExtra, Unavailable
from codenav.retrieval.encoders.bert import Bert, Weights

_KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_HEADER = 100_000_000
"""Bytes of the longest header that the format allows."""


def read_weights(path: Path) -> Weights:
    """Return the arrays of a file by name, as float32. Arrays of whole numbers are left out.

    Raises:
        Unavailable: the file cannot be read, is cut short, or is not of this form.
    """
    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= _HEADER:
                raise ValueError("its header has no length")
            header = json.loads(file.read(length))
            data = file.read()
        return {
            name: _array(data[slice(*entry["data_offsets"])], entry["dtype"], entry["shape"])
            for name, entry in header.items()
            if name != "__metadata__" and entry["dtype"] in _KINDS
        }
    except OSError as error:
        raise Unavailable(f"cannot read {path}: {error.strerror or error}", hint="look at the file") from error
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError) as error:
        raise Unavailable(
            f"{path} is no whole file of weights in the safetensors form", hint="copy the model's directory again"
        ) from error


def _array(piece: bytes, kind: str, shape: Sequence[int]) -> npt.NDArray[np.float32]:
    found: npt.NDArray[Any] = np.frombuffer(piece, _KINDS[kind])
    if kind == "BF16":
        # The upper half of a float32.
        found = (found.astype(np.uint32) << 16).view(np.float32)
    return found.astype(np.float32).reshape(tuple(shape))


def write_weights(path: Path, weights: Weights) -> None:
    """Write arrays of float32.

    Raises:
        OSError: no room, or no permission.
    """
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    place = 0
    for name, array in weights.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [place, place + array.nbytes]}
        place += array.nbytes
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for array in weights.values():
            file.write(array.astype("<f4").tobytes())


OPSET, VERSION = 17, 8
"""The oldest that have a layer norm: onnxruntime 1.12 and later read them."""
_MASKED = -1e9


def write_onnx(path: Path, bert: Bert) -> None:
    """Write a model that takes `input_ids`, `attention_mask` and `token_type_ids`, and gives `last_hidden_state`.

    Raises:
        MissingExtra: `onnx` is not installed.
        OSError: no room, or no permission.
    """
    path.write_bytes(_Graph(bert).model().SerializeToString())


def onnx_package() -> Any:
    """Return the package `onnx`.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise MissingExtra("onnx", "train") from error
    return onnx


class _Graph:
    """The nodes and the constants of a file, in the order in which they are made."""

    def __init__(self, bert: Bert) -> None:
        self._onnx = onnx_package()
        self._helper, self._numpy = self._onnx.helper, self._onnx.numpy_helper
        self._bert = bert
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}

    def model(self) -> Any:
        """The whole file, checked."""
        helper, number = self._helper, self._onnx.TensorProto.INT64
        size = ["texts", "places"]
        inputs = [
            helper.make_tensor_value_info(name, number, size)
            for name in ("input_ids", "attention_mask", "token_type_ids")
        ]
        width = self._bert.weights["embeddings.LayerNorm.bias"].shape[0]
        output = helper.make_tensor_value_info("last_hidden_state", self._onnx.TensorProto.FLOAT, [*size, width])
        last = self._states(width)
        self._nodes.append(helper.make_node("Identity", [last], ["last_hidden_state"]))
        graph = helper.make_graph(self._nodes, "bert", inputs, [output], list(self._constants.values()))
        made = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=VERSION, producer_name="codenav"
        )
        self._onnx.checker.check_model(made)
        return made

    def _states(self, width: int) -> str:
        add, heads = self._add, self._bert.shape.heads
        places = add("Gather", add("Shape", "input_ids"), self._constant(np.array(1)), axis=0)
        positions = add("Range", self._constant(np.array(0)), places, self._constant(np.array(1)))
        x = add("Gather", self._weight("embeddings.word_embeddings.weight"), "input_ids", axis=0)
        x = add("Add", x, add("Gather", self._weight("embeddings.position_embeddings.weight"), positions, axis=0))
        kinds = add("Gather", self._weight("embeddings.token_type_embeddings.weight"), "token_type_ids", axis=0)
        x = self._norm(add("Add", x, kinds), "embeddings.LayerNorm")
        mask = add("Cast", "attention_mask", to=self._onnx.TensorProto.FLOAT)
        mask = add("Mul", add("Sub", self._constant(np.float32(1)), mask), self._constant(np.float32(_MASKED)))
        mask = add("Unsqueeze", mask, self._constant(np.array([1, 2])))
        split = self._constant(np.array([0, 0, heads, width // heads]))
        whole = self._constant(np.array([0, 0, width]))
        scale = self._constant(np.float32((width // heads) ** -0.5))
        for number in range(self._bert.shape.layers):
            name = f"encoder.layer.{number}"
            parts = [
                add("Transpose", add("Reshape", self._linear(x, f"{name}.attention.self.{part}"), split), perm=perm)
                for part, perm in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3]))
            ]
            scores = add("Add", add("Mul", add("MatMul", parts[0], parts[1]), scale), mask)
            context = add("MatMul", add("Softmax", scores, axis=-1), parts[2])
            context = add("Reshape", add("Transpose", context, perm=[0, 2, 1, 3]), whole)
            out = self._linear(context, f"{name}.attention.output.dense")
            x = self._norm(add("Add", x, out), f"{name}.attention.output.LayerNorm")
            inner = self._linear(x, f"{name}.intermediate.dense")
            share = add("Erf", add("Mul", inner, self._constant(np.float32(0.5**0.5))))
            share = add("Mul", add("Add", share, self._constant(np.float32(1))), self._constant(np.float32(0.5)))
            out = self._linear(add("Mul", inner, share), f"{name}.output.dense")
            x = self._norm(add("Add", x, out), f"{name}.output.LayerNorm")
        return x

    def _linear(self, x: str, name: str) -> str:
        made = self._add("MatMul", x, self._constant(self._bert.weights[f"{name}.weight"].T))
        return self._add("Add", made, self._weight(f"{name}.bias"))

    def _norm(self, x: str, name: str) -> str:
        parts = (self._weight(f"{name}.weight"), self._weight(f"{name}.bias"))
        return self._add("LayerNormalization", x, *parts, axis=-1, epsilon=self._bert.shape.epsilon)

    def _add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        output = f"{kind}_{len(self._nodes)}"
        self._nodes.append(self._helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def _weight(self, name: str) -> str:
        return self._constant(self._bert.weights[name], name)

    def _constant(self, value: Any, name: str = "") -> str:
        name = name or f"constant_{len(self._constants)}"
        array = np.asarray(value)
        array = array.astype(np.int64 if array.dtype.kind == "i" else np.float32)
        self._constants[name] = self._numpy.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
        return name
