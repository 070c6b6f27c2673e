"""The canonical form of a value, read to its last element.

Equal data have equal forms: a list, a tuple and a small array of the same numbers, an int and a float of the same
value, sets and dicts in any order. Floats are rounded, so that another order of summation agrees.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import io
import math
import re
import sys
from collections import deque
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Iterable, Iterator, Mapping

DIGITS = 10
"""Significant digits that count of a float: sums in another order differ from the 15th on, long ones earlier."""
NOISE = 13
"""Powers of ten below the largest number of a list or an array at which a number is noise of a zero."""
LONG_DIGITS = 7
"""Digits of the floats of a long list or array: among so many, one would often round the other way for its noise."""
SMALL_ARRAY = 4096
"""Maximum number of elements for an array to have the form of a list of its elements."""
CHUNK = 1 << 16
CUT_REPR = 200
"""Characters above which a repr with dots in it shows a part only."""
NOT_DATA = (ModuleType, type, FunctionType, BuiltinFunctionType, MethodType)

_ADDRESS = re.compile(r"\bat 0x[0-9A-Fa-f]+|\b0x[0-9A-Fa-f]{9,16}\b")
_blake = hashlib.blake2b


class Unknown(Exception):
    """An object whose state cannot be seen."""


def _joined(tag: bytes, tokens: Iterable[bytes]) -> bytes:
    """The token of a container, of one size whatever is in it."""
    hasher = _blake(tag, digest_size=16)
    for token in tokens:
        hasher.update(b"%d:" % len(token))
        hasher.update(token)
    return b"#" + hasher.digest()


def _number(value: float, largest: float = 0.0) -> bytes:
    if value != value:
        return b"nan"
    size = abs(value)
    if size == math.inf:
        return b"inf" if value > 0 else b"-inf"
    if size == 0.0:
        return b"n0"
    digits = DIGITS
    if largest and largest != math.inf:
        digits = min(digits, NOISE + math.floor(math.log10(size)) - math.floor(math.log10(largest)))
        if digits < 1:
            return b"n0"
    rounded = float(format(value, f".{digits - 1}e"))
    return b"n%d" % int(rounded) if rounded.is_integer() and size < 1e300 else b"n" + repr(rounded).encode()


class Reader:
    """A reader of one value. `partial` is set where something in it shows a part of itself only.

    An object of which nothing can be seen raises `Unknown` at the top, or with `deep` its attributes stand for it;
    inside of a container its type does.
    """

    def __init__(self, *, deep: bool = False) -> None:
        self._deep = deep
        self._path: list[int] = []
        self._known: dict[int, tuple[bytes, Any]] = {}
        self._cycles = 0
        self.partial = False

    def token(self, value: Any, largest: float = 0.0) -> bytes:
        """The token of a value: its canonical form, made short."""
        kind = type(value)
        if kind is str:
            return self._text(value)
        if kind is int:
            return b"n%d" % value if value.bit_length() < 10_000 else b"n" + hex(value).encode()
        if kind is float:
            return _number(value, largest)
        if value is None:
            return b"none"
        if kind is bool:
            return b"true" if value else b"false"
        return self._container(value)

    @staticmethod
    def _text(value: str) -> bytes:
        data = str.encode(value, "utf-8", "surrogatepass")
        return b"s" + data if len(data) < 64 else b"S" + _blake(data, digest_size=16).digest()

    def _container(self, value: Any) -> bytes:
        """The token of a container. One that was read is not read again; one that holds itself is told by its place."""
        mark = id(value)
        if mark in self._known:
            return self._known[mark][0]
        if mark in self._path:
            self._cycles += 1
            return b"cycle%d" % (len(self._path) - self._path.index(mark))
        self._path.append(mark)
        cycles = self._cycles
        try:
            token = self._read(value)
        finally:
            self._path.pop()
        if cycles == self._cycles:
            self._known[mark] = token, value
        return token

    def _read(self, value: Any) -> bytes:
        for name, read in (("numpy", self._numpy), ("pandas", self._pandas), ("polars", self._polars)):
            module = sys.modules.get(name)
            if module is not None:
                token = read(module, value)
                if token is not None:
                    return token
        kind: Any = type(value)
        items: Any = value
        if isinstance(value, enum.Enum):
            return _joined(
                b"enum", [kind.__name__.encode(), value.name.encode() if value.name else repr(value).encode()]
            )
        if isinstance(value, bool):
            return b"true" if value else b"false"
        plain: Any
        for plain in (str, int, float):
            if isinstance(value, plain):
                return self.token(plain.__new__(plain, value))
        if isinstance(value, complex):
            return b"c" + _number(value.real) + b"," + _number(value.imag)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return b"y" + _blake(bytes(value), digest_size=16).digest()
        if isinstance(value, (list, tuple, deque, range, *_VIEWS)):
            return self._sequence(list(items))
        if isinstance(value, (set, frozenset)):
            return _joined(b"set", sorted(self.token(item) for item in value))
        if isinstance(value, dict):
            return self._dict(value)
        if isinstance(value, NOT_DATA):
            named = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
            return _joined(b"name", [str(named).encode()])
        return self._object(value)

    def _sequence(self, items: list[Any]) -> bytes:
        largest = _largest(items)
        if len(items) > SMALL_ARRAY:
            quick = _quick(items, largest)
            if quick is not None:
                return _joined(b"long", quick)
        return _joined(b"seq", (self.token(item, largest) for item in items))

    def _dict(self, value: Mapping[Any, Any]) -> bytes:
        items = list(dict.items(value)) if isinstance(value, dict) else list(value.items())
        largest = _largest([item for _, item in items])
        return _joined(
            b"dict", sorted(_joined(b"pair", (self.token(key), self.token(item, largest))) for key, item in items)
        )

    def _object(self, value: Any) -> bytes:
        kind = type(value)
        if isinstance(value, io.IOBase) and len(self._path) == 1:
            raise Unknown
        name = kind.__name__.encode("utf-8", "replace")
        if dataclasses.is_dataclass(value):
            fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
            return _joined(b"data", [name, self._dict(fields)])
        if "numpy" in sys.modules and hasattr(kind, "__array__"):
            read = self._numpy(sys.modules["numpy"], sys.modules["numpy"].asarray(value))
            if read is not None:
                return _joined(b"array-like", [name, read])
        if hasattr(kind, "tocoo"):
            found = value.tocoo()
            cells = sorted(zip(found.row.tolist(), found.col.tolist(), found.data.tolist()))
            return _joined(b"sparse", [self.token(tuple(found.shape)), self._sequence(cells)])
        shown = shown_text(value)
        if shown is not None:
            cut = shown.startswith("<") or (len(shown) > CUT_REPR and ("..." in shown or "…" in shown))
            self.partial |= cut or of_class(kind, "__repr__") is of_class(object, "__repr__")
            return _joined(b"repr", [name, self._text(shown)])
        if self._deep:
            state = getattr(value, "__dict__", None)
            if not state:
                raise Unknown
            return _joined(b"state", [name, self._dict(state)])
        if len(self._path) == 1:
            raise Unknown
        return _joined(b"opaque", [name])

    # Libraries, used only where the session has imported them

    def _numpy(self, numpy: Any, value: Any) -> bytes | None:
        if isinstance(value, numpy.ma.MaskedArray):
            return _joined(
                b"masked", [self._array(numpy, value.filled(0)), self._array(numpy, numpy.ma.getmaskarray(value))]
            )
        if isinstance(value, numpy.generic):
            item = value.item()
            return (
                self.token(str(value))
                if isinstance(item, numpy.generic) or value.dtype.kind in "mM"
                else self.token(item)
            )
        return self._array(numpy, value) if isinstance(value, numpy.ndarray) else None

    def _array(self, numpy: Any, value: Any) -> bytes:
        kind = value.dtype.kind
        if kind == "M" or kind == "m":
            value, kind = value.astype(kind + "8[ns]").view("i8"), "i"
        if value.size <= SMALL_ARRAY or kind not in "biufc":
            return self.token(value.tolist())
        shape = repr(tuple(value.shape)).encode()
        flat = value.reshape(-1)
        if kind == "c":
            flat, kind = numpy.concatenate([flat.real, flat.imag]), "f"
        return _joined(b"array", [shape, b"f" if kind == "f" else b"i", *self._pieces(numpy, flat, kind)])

    def _pieces(self, numpy: Any, flat: Any, kind: str) -> Iterator[bytes]:
        largest, digits = 0.0, DIGITS
        if kind == "f":
            finite = numpy.isfinite(flat)
            largest = float(numpy.abs(flat[finite]).max()) if finite.any() else 0.0
            digits = DIGITS if bool((flat[finite] == numpy.rint(flat[finite])).all()) else LONG_DIGITS
        for start in range(0, len(flat), CHUNK):
            piece = flat[start : start + CHUNK]
            if kind != "f":
                yield numpy.ascontiguousarray(piece.astype("i8" if kind != "u" else "u8")).tobytes()
                continue
            piece = piece.astype("f8")
            with numpy.errstate(all="ignore"):
                size = numpy.abs(piece)
                power = numpy.floor(numpy.log10(numpy.where(size > 0, size, 1.0)))
                room = NOISE - 1 - math.floor(math.log10(largest)) if largest else 300
                places = numpy.minimum(digits - 1 - power, room)
                scale = 10.0 ** numpy.clip(places, -300, 300)
                rounded = numpy.rint(piece * scale) / scale
            finite = numpy.isfinite(piece)
            shown = numpy.where(finite, rounded + 0.0, numpy.nan_to_num(piece, nan=0.5, posinf=1.5, neginf=-1.5))
            yield numpy.packbits(finite).tobytes()
            # Written as text of so many digits: the division has noise of its own.
            yield ",".join([f"{one:.{digits - 1}e}" for one in shown.tolist()]).encode()

    def _pandas(self, pandas: Any, value: Any) -> bytes | None:
        if isinstance(value, pandas.DataFrame):
            columns = [self._column(value.iloc[:, at]) for at in range(value.shape[1])]
            labels = self._sequence(value.columns.tolist())
            return _joined(b"frame", [labels, self._column(value.index), *columns])
        if isinstance(value, pandas.Series):
            return _joined(b"series", [self._column(value.index), self._column(value)])
        if isinstance(value, pandas.Index):
            return self._column(value)
        return None

    def _column(self, column: Any) -> bytes:
        plain = getattr(column.dtype, "kind", "O") in "biufc" and hasattr(column.dtype, "itemsize")
        numpy = sys.modules["numpy"]
        if plain and len(column) > SMALL_ARRAY:
            values = column.to_numpy()
            if isinstance(values, numpy.ndarray) and values.dtype.kind in "biufc":
                return self._array(numpy, values)
        return self._sequence(column.tolist())

    def _polars(self, polars: Any, value: Any) -> bytes | None:
        if isinstance(value, polars.DataFrame):
            return _joined(b"table", [self.token(list(value.columns)), self._sequence(value.rows())])
        if isinstance(value, polars.Series):
            return self._sequence(value.to_list())
        return None


_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))


def _quick(items: list[Any], largest: float) -> list[bytes] | None:
    """The tokens of a long list of nothing but floats, ints or texts; None for any other."""
    kinds = set(map(type, items))
    if kinds == {float}:
        noise = largest * 10.0**-NOISE
        digits = DIGITS if all(map(float.is_integer, items)) else LONG_DIGITS
        return [b"f", ",".join([f"{one if abs(one) > noise else 0.0:.{digits - 1}e}" for one in items]).encode()]
    if kinds == {int} or kinds == {str}:
        return [b"i", ",".join(map(repr, items)).encode()]
    return None


def _largest(items: list[Any]) -> float:
    """The largest absolute value of a list of floats; 0 where something else is among them, or there is only one."""
    largest = 0.0
    if len(items) < 2:
        return 0.0
    for item in items:
        if type(item) is not float:
            return 0.0
        size = abs(item)
        if size > largest and size != math.inf:
            largest = size
    return largest


def of_class(kind: Any, name: str) -> Any:
    return getattr(kind, name)


def shown_text(value: Any) -> str | None:
    """The repr that the class defines, or else its str; None where it defines neither, or an address is in them."""
    kind = type(value)
    for make in ("__repr__", "__str__"):
        if of_class(kind, make) is not of_class(object, make):
            text = repr(value) if make == "__repr__" else str(value)
            if not _ADDRESS.search(text):
                return text
    return None
