"""What a notebook shows of an Alignment: its views in numbers, and maps as small pictures."""

from __future__ import annotations

import base64
import html
import struct
import zlib
from typing import Any

import numpy as np

_MAPS = ("pooled", "rows")
_MOST_CELLS = 256  # a side; of larger maps every second, third, ... row or column is shown
_MOST_MAPS = 12
_SIDE = 160  # pixels


def fragment(views: dict[str, Any]) -> str:
    arrays = {name: np.asarray(view) for name, view in views.items()}
    pieces = [_table(arrays)]
    for name in _MAPS:
        if name in arrays and arrays[name].size:
            matrices = arrays[name].reshape(-1, *arrays[name].shape[-2:])
            pieces += [_figure(f"{name} {i}", m) for i, m in enumerate(matrices[:_MOST_MAPS])]
    return "\n".join(pieces)


def _table(arrays: dict[str, np.ndarray]) -> str:
    rows = ["<table><tr><th>view</th><th>shape</th><th>least</th><th>mean</th><th>most</th></tr>"]
    for name, array in arrays.items():
        finite = array[np.isfinite(array)]
        numbers = (finite.min(), finite.mean(), finite.max()) if finite.size else ()
        cells = "".join(f"<td>{number:.4g}</td>" for number in numbers)
        rows.append(f"<tr><th>{html.escape(name)}</th><td>{array.shape}</td>{cells}</tr>")
    return "".join(rows) + "</table>"


def _figure(title: str, matrix: np.ndarray) -> str:
    rows, columns = (max(1, -(-extent // _MOST_CELLS)) for extent in matrix.shape)
    picture = base64.b64encode(_png(_shades(matrix[::rows, ::columns]))).decode("ascii")
    return (
        "<figure style='display:inline-block;margin:.5em'>"
        f"<img alt='{html.escape(title)}' src='data:image/png;base64,{picture}' "
        f"style='width:{_SIDE}px;height:{_SIDE}px;image-rendering:pixelated;border:1px solid #ccc'>"
        f"<figcaption>{html.escape(title)}</figcaption></figure>"
    )


def _shades(matrix: np.ndarray) -> np.ndarray:
    """The largest number is black; the smallest, and what is no number, white."""
    is_number = np.isfinite(matrix)
    low = matrix.min(where=is_number, initial=np.inf)
    span = matrix.max(where=is_number, initial=-np.inf) - low
    if not span > 0:
        low, span = 0.0, 1.0
    level = np.where(is_number, (matrix - low) / span, 0)
    return (255 - 255 * level.clip(0, 1)).astype(np.uint8)


def _png(shades: np.ndarray) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        checksum = zlib.crc32(name + data)
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", checksum)

    rows, columns = shades.shape
    header = struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0)  # 8 bits of grey
    lines = np.pad(shades, ((0, 0), (1, 0))).tobytes()  # a line begins with its filter, none
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(lines))
        + chunk(b"IEND", b"")
    )
