"""The compiled module. An Array is anything that speaks DLPack or the buffer protocol."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, TypedDict, overload

from typing_extensions import Unpack

from ._alignment import Alignment

Array: TypeAlias = Any
"""NumPy's, PyTorch's, JAX's, ..."""
Ints: TypeAlias = Sequence[int] | Array
Floats: TypeAlias = Sequence[float] | Array
Position: TypeAlias = Literal["top-left", "bottom-right"] | int | Ints
Hook: TypeAlias = Any
"""An address, or a pointer of ctypes, cffi or Numba; or (function, what it is called with)."""
Layout: TypeAlias = Literal["bhnd", "bnhd"]
Pooling: TypeAlias = tuple[int, int] | tuple[int, int, Literal["mean", "max"]]
Region: TypeAlias = tuple[tuple[int, int], tuple[int, int]]

__version__: str

class Cancelled(RuntimeError): ...

class _Options(TypedDict, total=False):
    """Of attend() and align(); None is the default of all."""

    scale: float | None
    temperature: float | None
    causal: bool | Position | None
    position: Position | None
    window: tuple[int | None, int | None] | None
    prefix: int | None
    lengths: Ints | None
    documents: Ints | tuple[Ints, Ints] | None
    blocks: tuple[Array, tuple[int, int]] | None
    mask: Array | None
    bias: Array | None
    softcap: float | None
    alibi: Floats | None
    sinks: Floats | None
    hook: Hook | None
    layout: Layout | None
    q_bounds: Ints | None
    k_bounds: Ints | None
    threads: int | None
    progress: Callable[[float], object] | None

@overload
def attend(
    q: Array,
    k: Array,
    v: Array,
    *,
    return_lse: Literal[False] = False,
    out: Array | None = None,
    **options: Unpack[_Options],
) -> Array: ...
@overload
def attend(
    q: Array,
    k: Array,
    v: Array,
    *,
    return_lse: Literal[True],
    out: Array | None = None,
    **options: Unpack[_Options],
) -> tuple[Array, Array]: ...
def align(
    q: Array,
    k: Array,
    *,
    rows: int | Ints | None = None,
    stage: Literal["scaled", "capped", "final", "weights"] = "weights",
    top: int | None = None,
    summary: bool = False,
    received: bool = False,
    last: int | None = None,
    pooled: Pooling | None = None,
    region: Region | None = None,
    distances: int | tuple[int, Literal["signed"]] | None = None,
    heads: Literal["each", "mean", "max"] = "each",
    **options: Unpack[_Options],
) -> Alignment: ...
def merge(
    outs: Sequence[Array], lses: Sequence[Array], *, layout: Layout = "bhnd"
) -> tuple[Array, Array]: ...
def info() -> dict[str, Any]: ...
def set_target(name: str) -> None: ...
def _targets() -> list[tuple[str, bool, bool, int]]: ...
