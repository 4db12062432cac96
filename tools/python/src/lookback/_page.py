"""The page of the command `lookback align`, of one call of align(): the same sources (folder page/
of the command, installed beside this file) and the same data, as its align/page_data.hpp tells.
"""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import _engine

_SOURCES = Path(__file__).parent / "page"
_SCRIPTS = ("data", "shades", "words", "flow", "matrix", "map", "main")

# As the command's: a page of 6 MB, all of its scores if they fit, of no more words than can be drawn.
_PAGE_BYTES = 4_200_000
_WHOLE_BYTES = 2_400_000
_WHOLE_SIDE = 1024


class Call(NamedTuple):
    """What align() was called with."""

    q: Any
    k: Any
    extents: tuple[int, int, int, int]
    """B, H, n_q, n_k"""
    score_bytes: int
    causal: bool
    offsets: list[int] | None
    """Where row 0 of each sequence stands; None if nothing says so."""
    options: dict[str, Any]
    """The others of attend() that were given."""

    @property
    def offset(self) -> int | None:
        """That of all sequences alike, without which the page cannot switch causality."""
        offsets = set(self.offsets or ())
        return offsets.pop() if len(offsets) == 1 else None

    def align(self, is_causal: bool, **views: Any) -> Any:
        return _engine.align(
            self.q, self.k, causal=is_causal, position=self.offsets, **self.options, **views
        )


def page(
    call: Call,
    *,
    text: str = "",
    tokens: Sequence[str] | None = None,
    query_tokens: Sequence[str] | None = None,
) -> str:
    if "q_bounds" in call.options:
        raise ValueError("packed sequences have no page; call align() with one of them")
    if 0 in call.extents:
        raise ValueError(f"there is nothing to show of [B, H, n_q, n_k] = {list(call.extents)}")
    B, H, n_q, n_k = call.extents
    if query_tokens is None and n_q == n_k:
        query_tokens = tokens
    meta: dict[str, Any] = {
        "text": text,
        "named": tokens is not None or query_tokens is not None,
        "rowWords": _words(query_tokens, n_q, "query_tokens", "rows"),
        "keyWords": _words(tokens, n_k, "tokens", "keys"),
        "firstLayer": 0,
        "layers": B,
        "firstHead": 0,
        "heads": H,
        "shown": [0, 0],
        "temperature": float(call.options.get("temperature", 1.0)),
        "causal": call.causal and call.offset is not None,
        "prefix": int(call.options.get("prefix", 0)),
    }
    if call.offset is not None:
        meta["offset"] = call.offset
    blocks = dict(_blocks(call, meta))  # which completes meta
    described = json.dumps(meta, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    data = "".join(
        f'<script type="text/plain" id="{name}">{content}</script>\n'
        for name, content in {"meta": described, **blocks}.items()
    )
    return (
        _source("page.html")
        .replace("/* page.css */", _source("page.css"), 1)
        .replace("/* scripts */", "".join(_source(f"{name}.js") for name in _SCRIPTS), 1)
        .replace("<!-- data -->", data, 1)
    )


def _source(name: str) -> str:
    return (_SOURCES / name).read_text(encoding="utf-8")


def _words(given: Sequence[str] | None, n: int, name: str, what: str) -> list[str]:
    if given is None:
        return [str(i) for i in range(n)]
    if len(given) != n:
        raise ValueError(f"{name} has {len(given)} words for {n} {what}")
    return [str(word) for word in given]


def _blocks(call: Call, meta: dict[str, Any]) -> Iterator[tuple[str, str]]:
    B, H, n_q, n_k = call.extents
    has_switch = call.offset is not None
    is_causal = call.causal and not has_switch  # without one, rows stay as they are
    if max(n_q, n_k) <= _WHOLE_SIDE and B * H * n_q * n_k * call.score_bytes <= _WHOLE_BYTES:
        meta["scoreBytes"] = call.score_bytes
        if "sinks" in call.options:
            meta["sinks"] = _sinks(call)
        yield "scores", _base64(call.align(is_causal, rows=range(n_q), stage="final").rows)
        return
    forms = [("0", is_causal), ("1", True)][: 1 + has_switch]
    cells, top = _budget(B * H * len(forms), n_q, n_k)
    meta["cells"] = [min(n_q, cells), min(n_k, cells)]
    meta["top"] = top
    for form, is_causal in forms:
        for name, numbers in _pooled(call, is_causal, meta["cells"], top).items():
            yield name + form, _base64(numbers)


def _sinks(call: Call) -> list[float | None]:
    """One for each layer and head; None where there is none."""
    B, H, _, _ = call.extents
    given = _numbers(call.options["sinks"])
    sinks = np.broadcast_to(given, (B, H)).ravel() if given.size else given
    return [float(sink) if np.isfinite(sink) else None for sink in sinks]


def _budget(maps: int, n_q: int, n_k: int) -> tuple[int, int]:
    """The finest map and the most links that fit."""
    link = 6 if n_k > 65535 else 4
    for top, cells in itertools.product((8, 6, 4, 2, 1), (256, 192, 128, 96, 64)):
        if maps * (min(cells, n_q) * min(cells, n_k) + n_q * (top * link + 4)) <= _PAGE_BYTES:
            return cells, top
    raise ValueError(
        f"{maps} maps of {n_q} rows do not fit into one page; call align() with fewer heads"
    )


def _pooled(call: Call, is_causal: bool, cells: list[int], top: int) -> dict[str, Any]:
    n_k = call.extents[-1]
    view = call.align(is_causal, top=top, pooled=tuple(cells), summary=True)
    edges = np.arange(cells[1] + 1) * n_k // cells[1]
    shares = np.asarray(view.pooled, np.float64) * np.diff(edges)
    return {
        "cells": _rounded(255 * np.sqrt(np.clip(shares, 0, 1)), np.uint8),
        # -1 for none becomes the largest number
        "keys": np.asarray(view.top_index).astype(np.uint32 if n_k > 65535 else np.uint16),
        "weights": _rounded(65535 * np.asarray(view.top_weight, np.float64), np.uint16),
        "entropies": np.asarray(view.entropy, np.float32),
    }


def _numbers(given: Any) -> np.ndarray:
    """Of a list or an array, also of one that NumPy has no type for."""
    return np.asarray(given.float() if hasattr(given, "float") else given, np.float64)


def _rounded(numbers: np.ndarray, dtype: Any) -> np.ndarray:
    return np.floor(np.nan_to_num(numbers) + 0.5).astype(dtype)


def _base64(numbers: Any) -> str:
    return base64.b64encode(np.asarray(numbers).tobytes()).decode("ascii")
