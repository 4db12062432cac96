"""Exact attention for CPUs: score, softmax, blend, streamed.

    import numpy as np, lookback
    q = k = v = np.random.rand(1, 8, 1000, 64).astype(np.float32)
    out = lookback.attend(q, k, v, causal=True)

lookback.torch has PyTorch's scaled_dot_product_attention, lookback.transformers an attention
implementation for the transformers library.
"""

from __future__ import annotations

from typing import NamedTuple

from . import _engine
from ._alignment import Alignment
from ._engine import Cancelled, __version__, align, attend, info, merge, set_target

__all__ = [
    "Alignment",
    "Cancelled",
    "Target",
    "__version__",
    "align",
    "attend",
    "info",
    "merge",
    "set_target",
    "targets",
]


class Target(NamedTuple):
    """An instruction set that this build holds."""

    name: str
    supported: bool
    """This machine can run it."""
    same_bits: bool
    """It has fused multiply-add, so its results are the same bits as the others'."""
    float32_lanes: int


def targets() -> list[Target]:
    """Instruction sets, best first."""
    return [Target(*fields) for fields in _engine._targets()]
