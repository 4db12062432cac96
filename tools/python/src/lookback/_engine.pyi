"""The compiled module. An Array is anything that speaks DLPack or the buffer protocol."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, overload

from ._alignment import Alignment

Array: TypeAlias = Any
"""NumPy's, PyTorch's, JAX's, ..."""
Ints: TypeAlias = Sequence[int] | Array
Floats: TypeAlias = Sequence[float] | Array
Position: TypeAlias = Literal["top-left", "bottom-right"] | int | Ints
Layout: TypeAlias = Literal["bhnd", "bnhd"]
Hook: TypeAlias = Any
"""An address, or a pointer of ctypes, cffi or Numba; or (function, what it is called with)."""
Pooling: TypeAlias = tuple[int, int] | tuple[int, int, Literal["mean", "max"]]
Region: TypeAlias = tuple[tuple[int, int], tuple[int, int]]

__version__: str

class Cancelled(RuntimeError): ...

@overload
def attend(
    q: Array,
    k: Array,
    v: Array,
    *,
    scale: float | None = None,
    temperature: float = 1.0,
    causal: bool | Position = False,
    position: Position | None = None,
    window: tuple[int | None, int | None] | None = None,
    prefix: int | None = None,
    lengths: Ints | None = None,
    documents: Ints | tuple[Ints, Ints] | None = None,
    blocks: tuple[Array, tuple[int, int]] | None = None,
    mask: Array | None = None,
    bias: Array | None = None,
    softcap: float | None = None,
    alibi: Floats | None = None,
    sinks: Floats | None = None,
    hook: Hook | None = None,
    layout: Layout = "bhnd",
    q_bounds: Ints | None = None,
    k_bounds: Ints | None = None,
    return_lse: Literal[False] = False,
    out: Array | None = None,
    threads: int | None = None,
    progress: Callable[[float], bool | None] | None = None,
) -> Array: ...
@overload
def attend(
    q: Array,
    k: Array,
    v: Array,
    *,
    scale: float | None = None,
    temperature: float = 1.0,
    causal: bool | Position = False,
    position: Position | None = None,
    window: tuple[int | None, int | None] | None = None,
    prefix: int | None = None,
    lengths: Ints | None = None,
    documents: Ints | tuple[Ints, Ints] | None = None,
    blocks: tuple[Array, tuple[int, int]] | None = None,
    mask: Array | None = None,
    bias: Array | None = None,
    softcap: float | None = None,
    alibi: Floats | None = None,
    sinks: Floats | None = None,
    hook: Hook | None = None,
    layout: Layout = "bhnd",
    q_bounds: Ints | None = None,
    k_bounds: Ints | None = None,
    return_lse: Literal[True],
    out: Array | None = None,
    threads: int | None = None,
    progress: Callable[[float], bool | None] | None = None,
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
    scale: float | None = None,
    temperature: float = 1.0,
    causal: bool | Position = False,
    position: Position | None = None,
    window: tuple[int | None, int | None] | None = None,
    prefix: int | None = None,
    lengths: Ints | None = None,
    documents: Ints | tuple[Ints, Ints] | None = None,
    blocks: tuple[Array, tuple[int, int]] | None = None,
    mask: Array | None = None,
    bias: Array | None = None,
    softcap: float | None = None,
    alibi: Floats | None = None,
    sinks: Floats | None = None,
    hook: Hook | None = None,
    layout: Layout = "bhnd",
    q_bounds: Ints | None = None,
    k_bounds: Ints | None = None,
    threads: int | None = None,
    progress: Callable[[float], bool | None] | None = None,
) -> Alignment: ...
def merge(
    outs: Sequence[Array], lses: Sequence[Array], *, layout: Layout = "bhnd"
) -> tuple[Array, Array]: ...
def info() -> dict[str, Any]: ...
def set_target(name: str) -> None: ...
def _targets() -> list[tuple[str, bool, bool, int]]: ...
