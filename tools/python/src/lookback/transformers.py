"""The attention implementation "lookback" for the transformers library.

    import lookback.transformers
    lookback.transformers.register()
    model = AutoModel.from_pretrained(..., attn_implementation="lookback")

Padding, causality, sliding windows and packed positions reach the engine as what they are: no mask
of n x n is made for them. Packed sequences may also be passed as flash attention takes them, by
cu_seq_lens_q and cu_seq_lens_k. What the engine does not do (gradients, dropout) is left to "sdpa".
"""

from __future__ import annotations

import inspect
from typing import Any, Callable

import torch
from torch.utils._pytree import tree_map

from . import torch as drop_in

__all__ = ["Visibility", "attention", "mask", "register"]


def register(name: str = "lookback") -> None:
    """Makes the implementation known to the library under this name."""
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(name, attention)
    AttentionMaskInterface.register(name, mask)


class Visibility(torch.Tensor):
    """A boolean mask (B, 1, n_q, n_k) that is described, not stored.

    Any operation of PyTorch on it works on the stored mask, dense().
    """

    options: dict[str, Any]
    """causal, position, left, right, lengths, documents, mask (B, 1, 1, n_k): see lookback.attend()."""

    @staticmethod
    def __new__(cls, shape: tuple[int, ...], options: dict[str, Any]) -> Visibility:
        self = torch.Tensor._make_wrapper_subclass(cls, shape, dtype=torch.bool, device="cpu")
        self.options = options
        return self

    def __repr__(self) -> str:
        return f"Visibility({tuple(self.shape)}, {self.options})"

    def dense(self) -> torch.Tensor:
        B, _, n_q, n_k = self.shape
        options = self.options
        p = torch.arange(n_q)[:, None] + options["position"]
        j = torch.arange(n_k)
        seen = torch.ones((B, 1, n_q, n_k), dtype=torch.bool)
        if options.get("causal"):
            seen &= j <= p
        if options.get("left") is not None:
            seen &= j >= p - options["left"]
        if options.get("right") is not None:
            seen &= j <= p + options["right"]
        if options.get("lengths") is not None:
            seen &= j < options["lengths"][:, None, None, None]
        if options.get("documents") is not None:
            ids = options["documents"]
            seen &= (ids[:, :, None] == ids[:, None, :])[:, None]
        if options.get("mask") is not None:
            seen &= options["mask"]
        return seen

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        def stored(value):
            return value.dense() if isinstance(value, cls) else value

        return function(*tree_map(stored, args), **tree_map(stored, kwargs or {}))


def mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int | torch.Tensor = 0,
    kv_offset: int = 0,
    mask_function: Callable | None = None,
    attention_mask: torch.Tensor | None = None,
    **kwargs: Any,
) -> torch.Tensor | None:
    """What the library's models ask for before their layers run: a Visibility where the pattern
    is known, else the mask that "sdpa" gets."""
    from transformers import masking_utils

    if mask_function is None:
        mask_function = masking_utils.causal_mask_function
    is_static = isinstance(q_offset, torch.Tensor) or torch.compiler.is_compiling()
    is_foreign = kwargs.get("use_vmap", False)
    options = None if is_static or is_foreign else _pattern(mask_function)
    if options is None:
        return masking_utils.sdpa_mask(
            batch_size=batch_size,
            q_length=q_length,
            kv_length=kv_length,
            q_offset=q_offset,
            kv_offset=kv_offset,
            mask_function=mask_function,
            attention_mask=attention_mask,
            **kwargs,
        )
    options["position"] = q_offset - kv_offset
    _add_padding(options, attention_mask, kv_length, kv_offset)
    if _says_nothing(options, q_length, kv_length, kwargs):
        return None
    return Visibility((batch_size, 1, q_length, kv_length), options)


def _pattern(function: Callable) -> dict[str, Any] | None:
    """The options that a mask function of the library stands for; None for one of others."""
    from transformers import masking_utils

    if function is masking_utils.causal_mask_function:
        return {"causal": True}
    if function is masking_utils.bidirectional_mask_function:
        return {}
    if getattr(function, "__module__", None) != masking_utils.__name__:
        return None
    held = inspect.getclosurevars(function).nonlocals
    maker = function.__qualname__.split(".")[0]
    if maker == "sliding_window_overlay":
        return {"left": held["sliding_window"] - 1}
    if maker == "sliding_window_bidirectional_overlay":
        return {"left": held["sliding_window"], "right": held["sliding_window"]}
    if maker == "packed_sequence_mask_function":
        return {"documents": held["packed_sequence_mask"]}
    if maker == "remap_positions_for_packed_sequence":
        return _pattern(held["mask_function"])  # distances within a document stay the same
    if maker == "and_masks":
        merged: dict[str, Any] = {}
        for part in map(_pattern, held["mask_functions"]):
            if part is None or merged.keys() & part.keys():
                return None
            merged.update(part)
        return merged
    return None


def _add_padding(options, attention_mask, kv_length, kv_offset) -> None:
    """The library's mask (B, keys seen so far): lengths if all padding is on the right."""
    if attention_mask is None:
        return
    seen = attention_mask.bool()
    missing = kv_length + kv_offset - seen.shape[-1]
    if missing > 0:
        seen = torch.nn.functional.pad(seen, (0, missing))
    seen = seen[:, kv_offset : kv_offset + kv_length]
    if seen.all():
        return
    if (seen[:, 1:] <= seen[:, :-1]).all():
        options["lengths"] = seen.sum(dim=-1)
    else:
        options["mask"] = seen[:, None, None, :]


def _says_nothing(options, q_length, kv_length, kwargs) -> bool:
    """A model without a mask is causal or not by itself, from the top left."""
    hidden = {"lengths", "mask", "documents", "left", "right"} & options.keys()
    if hidden or not options.get("causal"):
        return not hidden and kwargs.get("allow_is_bidirectional_skip", False)
    is_alike = options["position"] == (kv_length - 1 if q_length == 1 else 0)
    return is_alike and kwargs.get("allow_is_causal_skip", True)


def attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    position_bias: torch.Tensor | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """The layer's attention, (B, n, H, d). s_aux are the sinks."""
    tensors = [t for t in (query, key, value, position_bias) if t is not None]
    needs_grad = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
    if needs_grad or dropout > 0 or not query.is_cpu:
        return _by_sdpa(
            module,
            query,
            key,
            value,
            attention_mask,
            dropout,
            scaling,
            is_causal=is_causal,
            softcap=softcap,
            s_aux=s_aux,
            position_bias=position_bias,
            **kwargs,
        )
    options = _options(module, query, attention_mask, is_causal, kwargs)
    if position_bias is not None:
        bias = options.get("bias")
        options["bias"] = position_bias if bias is None else position_bias + bias
    out = drop_in.attend(
        query,
        key,
        value,
        scale=scaling,
        softcap=softcap,
        sinks=None if s_aux is None else s_aux.detach().flatten(),
        memory="positions_first",
        **options,
    )
    return out.transpose(1, 2), None


def _options(module, query, attention_mask, is_causal, kwargs) -> dict[str, Any]:
    """What each row sees."""
    if isinstance(attention_mask, Visibility):
        options = dict(attention_mask.options)
    elif attention_mask is None:
        if is_causal is None:
            is_causal = getattr(module, "is_causal", True)
        options = {"causal": bool(is_causal) and query.shape[2] > 1, "position": 0}
    elif attention_mask.dtype == torch.bool:
        options = {"mask": attention_mask}
    else:
        options = {"bias": attention_mask}
    bounds = kwargs.get("cu_seq_lens_q")
    if bounds is not None and query.shape[0] == 1 and not {"mask", "bias"} & options.keys():
        options.pop("documents", None)
        options["q_bounds"] = bounds
        options["k_bounds"] = _own_bounds(bounds, kwargs.get("cu_seq_lens_k"))
    return options


def _own_bounds(queries, keys):
    """Bounds of the keys. A past before the queries would move every position."""
    is_known = keys is None or keys is queries or torch.compiler.is_compiling()
    if not is_known and not torch.equal(keys, queries):
        raise NotImplementedError("packed sequences must have as many keys as queries")
    return keys


def _by_sdpa(module, query, key, value, attention_mask, dropout, scaling, *, s_aux=None, **kwargs):
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if s_aux is not None:
        raise NotImplementedError(
            "lookback gives no gradients and no dropout and computes on CPUs, and 'sdpa' knows no "
            "sinks; use attn_implementation='eager' here"
        )
    if isinstance(attention_mask, Visibility):
        attention_mask = attention_mask.dense().to(query.device)
    drop_in._say_once("layers with gradients, dropout or other devices")
    return sdpa_attention_forward(
        module, query, key, value, attention_mask, dropout, scaling, **kwargs
    )
