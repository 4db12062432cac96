"""PyTorch's scaled_dot_product_attention, computed by lookback where it can be.

    from lookback.torch import scaled_dot_product_attention

What lookback does not do (gradients, dropout, other devices, ...) is passed on to PyTorch, with a
warning the first time. The number of threads is PyTorch's, torch.get_num_threads().
"""

from __future__ import annotations

import math
import warnings

import torch

from . import _engine

__all__ = ["attend", "scaled_dot_product_attention"]

_TYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
_FLOAT32_MAX = torch.finfo(torch.float32).max

# One operator for all of lookback, so that torch.compile takes it as it is. Lower-level than
# torch.library.custom_op, whose wrapper costs as much as a small call.
torch.library.define(
    "lookback::attend",
    "(Tensor q, Tensor k, Tensor v, *, Tensor? mask=None, Tensor? bias=None, Tensor? lengths=None, "
    "Tensor? documents=None, Tensor? q_bounds=None, Tensor? k_bounds=None, Tensor? sinks=None, "
    "bool causal=False, int? position=None, int? left=None, int? right=None, float? scale=None, "
    'float? softcap=None, str memory="contiguous") -> Tensor',
)


@torch.library.impl("lookback::attend", "CPU")
def _attend(
    q,
    k,
    v,
    *,
    left=None,
    right=None,
    q_bounds=None,
    k_bounds=None,
    memory="contiguous",
    **options,
):
    out = _empty(q, v, memory)
    result = out
    if q_bounds is not None:  # one row of all tokens
        q, k, v, result = (t[0].transpose(0, 1) for t in (q, k, v, out))
    _engine.attend(
        q,
        k,
        v,
        window=None if left is None and right is None else (left, right),
        q_bounds=q_bounds,
        k_bounds=k_bounds,
        out=result,
        threads=torch.get_num_threads(),
        **options,
    )
    return out


@torch.library.register_fake("lookback::attend")
def _(q, k, v, *, memory="contiguous", **options):
    return _empty(q, v, memory)


attend = torch.ops.lookback.attend.default
"""q, k, v are [B, H, n, d]; `memory` is how the result lies: see _empty()."""


def _empty(q: torch.Tensor, v: torch.Tensor, memory: str) -> torch.Tensor:
    """For the result: "contiguous", "positions_first" or "like_query"."""
    if memory == "like_query":
        return torch.empty_like(q)
    shape = (*q.shape[:-1], v.shape[-1])
    if memory == "positions_first":
        return q.new_empty((shape[0], shape[2], shape[1], shape[3])).transpose(1, 2)
    return q.new_empty(shape)


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """torch.nn.functional.scaled_dot_product_attention: same arguments, result and errors."""
    reason = _reason_for_pytorch(query, key, value, attn_mask, dropout_p, is_causal, scale)
    if reason is None:
        q, k, v, mask = _autocast(query, key, value, attn_mask)
        fitted = _fit(q, k, v, mask, enable_gqa)
        if fitted is None:
            reason = "these shapes"
        elif 0 not in (*q.shape[:-1], v.shape[-1]):
            memory = _memory(q, k, v, mask, is_causal, scale, enable_gqa)
            return _call(q, fitted, is_causal, scale, memory)
    # Also a result without elements, whose strides only PyTorch knows.
    result = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )
    if reason is not None:
        _say_once(reason)
    return result


def _call(query, fitted, is_causal, scale, memory):
    q, k, v, mask = fitted
    is_boolean = mask is not None and mask.dtype == torch.bool
    if scale is None and q.shape[-1] == 0:
        scale = 1.0  # of no features, any
    out = attend(
        q,
        k,
        v,
        mask=mask if is_boolean else None,
        bias=None if is_boolean else mask,
        causal=bool(is_causal),
        position=0,
        scale=scale,
        memory=memory,
    )
    return out if query.dim() <= 4 else out.reshape(*query.shape[:-1], v.shape[-1])


_said: set[str] = set()


def _say_once(reason: str) -> None:
    if torch.compiler.is_compiling() or reason in _said:
        return
    _said.add(reason)
    warnings.warn(
        f"lookback leaves {reason} to torch.nn.functional.scaled_dot_product_attention",
        stacklevel=3,
    )


def _reason_for_pytorch(query, key, value, mask, dropout_p, is_causal, scale) -> str | None:
    """Why PyTorch must compute this, or find what is wrong with it; None if lookback can."""
    tensors = (query, key, value) if mask is None else (query, key, value, mask)
    if not all(isinstance(t, torch.Tensor) for t in tensors):
        return "what is no tensor"
    if torch.overrides.has_torch_function(tensors):
        return "tensor subclasses"
    for t in tensors:
        if not t.is_cpu:
            return f"tensors on {t.device.type}"
        if t.layout != torch.strided or t.is_nested:
            return "sparse and nested tensors"
    if dropout_p != 0.0:
        return "dropout"
    if query.dtype not in _TYPES:
        return f"tensors of {query.dtype}"
    if key.dtype != query.dtype or value.dtype != query.dtype:
        return "mixed types"
    if mask is not None:
        if is_causal:
            return "a mask beside is_causal"
        if mask.dtype not in (torch.bool, torch.float32, query.dtype):
            return f"masks of {mask.dtype}"
    if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
        return "gradients"
    if scale is not None:
        most = math.inf if query.dtype == torch.float64 else _FLOAT32_MAX
        if not isinstance(scale, (int, float)) or not abs(scale) <= most or math.isinf(scale):
            return "this scale"
    if not torch.compiler.is_compiling() and _is_transformed():
        return "the transforms of torch.func"
    return None


def _is_transformed() -> bool:
    """Inside vmap, grad and the like, whose tensors have no memory of their own."""
    stack = getattr(torch._C._functorch, "peek_interpreter_stack", None)
    return stack is not None and stack() is not None


def _autocast(*tensors):
    """What autocast, if it is on, makes of the arguments."""
    if torch.is_autocast_enabled("cpu"):
        dtype = torch.get_autocast_dtype("cpu")
        narrow = (torch.float32, torch.bfloat16, torch.float16)
        return tuple(t.to(dtype) if t is not None and t.dtype in narrow else t for t in tensors)
    return tensors


def _fit(q, k, v, mask, enable_gqa):
    """q, k, v and mask as the engine takes them, expanded where they broadcast; None if they
    do not fit together, of which PyTorch is the judge."""
    rank = q.dim()
    if rank < 2 or k.dim() != rank or v.dim() != rank:
        return None
    if k.shape[-2] != v.shape[-2] or q.shape[-1] != k.shape[-1]:
        return None
    if q.shape[:-2] != k.shape[:-2] or q.shape[:-2] != v.shape[:-2]:
        fitted = _fit_leading(q, k, v, enable_gqa)
        if fitted is None:
            return None
        q, k, v = fitted
    elif enable_gqa and rank == 2:
        return None
    if mask is not None:
        full = (*q.shape[:-1], k.shape[-2])
        if not 2 <= mask.dim() <= rank:
            return None
        if not all(m in (1, n) for m, n in zip(mask.shape, full[rank - mask.dim() :])):
            return None
        if rank > 4:
            mask = mask.expand(full).flatten(0, -4)
    if rank > 4:
        q, k, v = (t.flatten(0, -4) for t in (q, k, v))
    return q, k, v, mask


def _fit_leading(q, k, v, enable_gqa):
    """Batches that broadcast, and heads that broadcast or are grouped."""
    axes = -2
    if enable_gqa:
        if q.dim() < 3 or k.shape[-3] != v.shape[-3] or k.shape[-3] == 0:
            return None
        if q.shape[-3] % k.shape[-3] != 0:
            return None
        axes = -3
    try:
        leading = torch.broadcast_shapes(q.shape[:axes], k.shape[:axes], v.shape[:axes])
    except RuntimeError:
        return None
    return tuple(t.expand(*leading, *t.shape[axes:]) for t in (q, k, v))


def _memory(q, k, v, mask, is_causal, scale, enable_gqa) -> str:
    """How PyTorch's result would lie: its fused kernel has a layout of its own."""
    if torch.compiler.is_compiling():
        is_fused = _is_fused(q, k, v, mask, enable_gqa)
    else:
        choice = torch._fused_sdp_choice(
            q, k, v, mask, 0.0, is_causal, scale=scale, enable_gqa=enable_gqa
        )
        is_fused = choice == 1
    return _FUSED_MEMORY if is_fused else "contiguous"


def _is_fused(q, k, v, mask, enable_gqa) -> bool:
    """What _fused_sdp_choice says of real tensors; it does not know fake ones."""
    if q.dim() != 4 and not (q.dim() == 3 and _FUSES_RANK_3):
        return False
    if not q.shape[-1] == k.shape[-1] == v.shape[-1]:
        return False
    if q.shape[-2] == 0 or k.shape[-2] == 0:
        return False
    if not q.shape[:-3] == k.shape[:-3] == v.shape[:-3] or k.shape[-3] != v.shape[-3]:
        return False
    if k.shape[-3] != q.shape[-3] and (k.shape[-3] == 0 or q.shape[-3] % k.shape[-3] != 0):
        return False
    if mask is not None and mask.dim() not in (2, q.dim()):
        return False
    return all(t.stride(-1) == 1 for t in (q, k, v))


def _fused_memory() -> str:
    """Before PyTorch 2.15 or so always positions first, now as the query lies."""
    meta = torch.empty((2, 3, 5, 8), device="meta")
    try:
        kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        return "like_query" if kernel(meta, meta, meta)[0].is_contiguous() else "positions_first"
    except (AttributeError, RuntimeError):
        return "contiguous"


def _fuses_rank_3() -> bool:
    one = torch.zeros((1, 2, 8))
    return torch._fused_sdp_choice(one, one, one, None, 0.0, False) == 1


_FUSED_MEMORY = _fused_memory()
_FUSES_RANK_3 = _fuses_rank_3()
