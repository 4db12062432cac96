"""Views as HTML that needs nothing but itself."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

_MAPS = ("pooled", "rows")
_MOST_CELLS = 64  # a side; larger maps are thinned out to it
_MOST_MAPS = 12


def page(views: dict[str, Any]) -> str:
    """A whole page."""
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>lookback</title>"
        "<style>body{font:14px sans-serif;margin:2em} table{border-collapse:collapse}"
        "td,th{padding:.2em .8em;text-align:right} figure{display:inline-block;margin:.5em}"
        f"</style></head>\n<body>\n{fragment(views)}\n</body></html>\n"
    )


def fragment(views: dict[str, Any]) -> str:
    """A table of the views, and a heat map for each head of those that are maps."""
    arrays = {name: np.asarray(view) for name, view in views.items()}
    pieces = [_table(arrays)]
    for name in _MAPS:
        if name in arrays and arrays[name].size:
            matrices = arrays[name].reshape(-1, *arrays[name].shape[-2:])
            for i, matrix in enumerate(matrices[:_MOST_MAPS]):
                pieces.append(_heat_map(f"{name} {i}", matrix))
    return "\n".join(pieces)


def _table(arrays: dict[str, np.ndarray]) -> str:
    rows = ["<table><tr><th>view</th><th>shape</th><th>least</th><th>mean</th><th>most</th></tr>"]
    for name, array in arrays.items():
        finite = array[np.isfinite(array)]
        numbers = (finite.min(), finite.mean(), finite.max()) if finite.size else ()
        cells = "".join(f"<td>{number:.4g}</td>" for number in numbers)
        rows.append(f"<tr><th>{html.escape(name)}</th><td>{array.shape}</td>{cells}</tr>")
    return "".join(rows) + "</table>"


def _heat_map(title: str, matrix: np.ndarray) -> str:
    steps = [max(1, -(-extent // _MOST_CELLS)) for extent in matrix.shape]
    shown = matrix[:: steps[0], :: steps[1]]
    finite = shown[np.isfinite(shown)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
    span = (high - low) or 1.0
    cells = []
    for (r, c), value in np.ndenumerate(shown):
        if not np.isfinite(value) or value == low:
            continue
        opacity = (value - low) / span
        cells.append(f"<rect x='{c}' y='{r}' width='1' height='1' fill-opacity='{opacity:.3f}'/>")
    rows, columns = shown.shape
    return (
        f"<figure><svg width='{max(4 * columns, 64)}' height='{max(4 * rows, 64)}' "
        f"viewBox='0 0 {columns} {rows}' preserveAspectRatio='none' fill='#08306b' "
        f"style='background:#f7fbff;border:1px solid #ccc' role='img'>{''.join(cells)}</svg>"
        f"<figcaption>{html.escape(title)}</figcaption></figure>"
    )
