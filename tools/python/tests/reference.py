"""The formula, in float64, with the whole matrix."""

import math

import numpy as np


def per_head(numbers, B, H):
    return np.broadcast_to(np.asarray(numbers, float).reshape(-1, H), (B, H))[:, :, None, None]


def resolve(position, n_q, n_k, lengths, B):
    """One offset per sequence."""
    if isinstance(position, str) and position == "bottom-right":
        ends = np.full(B, n_k) if lengths is None else np.asarray(lengths)
        return ends - n_q
    if position is None or isinstance(position, str):
        return np.zeros(B, int)
    return np.broadcast_to(np.asarray(position), (B,))


def visible(B, H, n_q, n_k, p, *, causal, window, prefix, lengths, documents, blocks, mask):
    """Boolean (B, H, n_q, n_k)."""
    j = np.arange(n_k)
    ok = np.ones((B, H, n_q, n_k), bool)
    if causal:
        ok &= j <= p
    if window is not None:
        left, right = window
        if left is not None:
            ok &= j >= p - left
        if right is not None:
            ok &= j <= p + right
    if prefix is not None:
        ok |= j < prefix
    if lengths is not None:
        ok &= j < np.asarray(lengths)[:, None, None, None]
    if documents is not None:
        q_ids, k_ids = documents if isinstance(documents, tuple) else (documents, documents)
        q_ids = np.broadcast_to(np.asarray(q_ids), (B, n_q))
        k_ids = np.broadcast_to(np.asarray(k_ids), (B, n_k))
        ok &= (q_ids[:, :, None] == k_ids[:, None, :])[:, None]
    if blocks is not None:
        table, (rows, columns) = blocks
        whole = np.repeat(np.repeat(table, rows, axis=-2), columns, axis=-1)
        ok &= whole[..., :n_q, :n_k]
    if mask is not None:
        ok &= mask
    return ok


def scores(
    q,
    k,
    *,
    scale=None,
    causal=False,
    position=None,
    window=None,
    prefix=None,
    lengths=None,
    documents=None,
    blocks=None,
    mask=None,
    bias=None,
    softcap=None,
    alibi=None,
):
    """Scaled scores, capped scores, and final ones with hidden places at -inf."""
    B, H, n_q, d = q.shape
    n_k = k.shape[2]
    k = np.repeat(k.astype(float), H // k.shape[1], axis=1)
    if not isinstance(causal, bool):
        position, causal = causal, True
    offsets = resolve(position, n_q, n_k, lengths, B)
    p = np.arange(n_q)[None, None, :, None] + offsets[:, None, None, None]
    scaled = (q.astype(float) * (1 / math.sqrt(d) if scale is None else scale)) @ k.swapaxes(2, 3)
    capped = scaled if softcap is None else softcap * np.tanh(scaled / softcap)
    s = capped
    if alibi is not None:
        s = s - per_head(alibi, B, H) * np.abs(p - np.arange(n_k))
    if bias is not None:
        s = s + bias.astype(float)
    ok = visible(
        B,
        H,
        n_q,
        n_k,
        p,
        causal=causal,
        window=window,
        prefix=prefix,
        lengths=lengths,
        documents=documents,
        blocks=blocks,
        mask=mask,
    )
    return scaled, capped, np.where(ok, s, -np.inf)


def weights(final, temperature=1.0, sinks=None):
    """(weights, lse) of final scores (B, H, n_q, n_k)."""
    B, H, n_q, n_k = final.shape
    s = final / temperature
    sink = np.full((B, H, 1, 1), -np.inf) if sinks is None else per_head(sinks, B, H)
    sink = np.broadcast_to(sink, (B, H, n_q, 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        m = np.maximum(s.max(axis=-1, keepdims=True, initial=-np.inf), sink)
        m_or_0 = np.where(np.isfinite(m), m, 0.0)
        e = np.exp(s - m_or_0)
        total = e.sum(axis=-1, keepdims=True) + np.exp(sink - m_or_0)
        w = np.where(total > 0, e / total, 0.0)
        lse = (m_or_0 + np.log(total))[..., 0]
    return w, lse


def attend(q, k, v, *, temperature=1.0, sinks=None, **options):
    """(out, lse) for (B, H, n, d)."""
    w, lse = weights(scores(q, k, **options)[2], temperature, sinks)
    return w @ np.repeat(v.astype(float), q.shape[1] // v.shape[1], axis=1), lse
