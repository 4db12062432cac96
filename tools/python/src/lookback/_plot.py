"""Views with matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

_LABELS = {
    "pooled": ("key cell", "row cell"),
    "rows": ("key", "row chosen"),
    "top_index": ("place", "row"),
    "top_weight": ("place", "row"),
    "received_sum": ("key", "weight received"),
    "received_max": ("key", "largest weight received"),
    "mass": ("distance", "weight"),
}
_MAPS = ("pooled", "rows", "top_index", "top_weight")


def plot(views: dict[str, Any], axes: Any = None) -> Any:
    """One picture for each view, of the mean over batch and heads where it is a map."""
    if not views:
        raise ValueError("nothing was asked for, so there is nothing to plot")
    if axes is not None:
        name, view = next(iter(views.items()))
        _draw(axes, name, np.asarray(view))
        return axes.figure
    from matplotlib import pyplot

    columns = min(3, len(views))
    rows = -(-len(views) // columns)
    figure, grid = pyplot.subplots(
        rows, columns, figsize=(5 * columns, 4 * rows), squeeze=False, layout="constrained"
    )
    for place, (name, view) in zip(grid.flat, views.items()):
        _draw(place, name, np.asarray(view))
    for place in list(grid.flat)[len(views) :]:
        place.axis("off")
    return figure


def _draw(axes: Any, name: str, view: np.ndarray) -> None:
    x_label, y_label = _LABELS.get(name, ("row", name))
    axes.set(title=name, xlabel=x_label, ylabel=y_label)
    if name in _MAPS:
        matrix = view.reshape(-1, *view.shape[-2:]).mean(axis=0)
        axes.figure.colorbar(axes.imshow(matrix, aspect="auto", interpolation="nearest"), ax=axes)
        return
    for line in view.reshape(-1, view.shape[-1]):
        axes.plot(line)
