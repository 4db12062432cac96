"""What align() returns."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator

from . import _page, _plot

_ASKED_BY = {
    "rows": "rows=",
    "top_index": "top=",
    "top_weight": "top=",
    "entropy": "summary=True",
    "largest": "summary=True",
    "position": "summary=True",
    "distance": "summary=True",
    "lse": "summary=True",
    "received_sum": "received=True",
    "received_max": "received=True",
    "pooled": "pooled=",
    "mass": "distances=",
}


class Alignment:
    """Views of the weights: an attribute for each that was asked for, and no others.

    rows, top_index, top_weight, entropy, largest, position, distance, lse, received_sum,
    received_max, pooled, mass; see align().
    """

    rows: Any
    top_index: Any
    top_weight: Any
    entropy: Any
    largest: Any
    position: Any
    distance: Any
    lse: Any
    received_sum: Any
    received_max: Any
    pooled: Any
    mass: Any

    def __init__(self, views: dict[str, Any]) -> None:
        self.__dict__.update(views)

    def __getattr__(self, name: str) -> Any:
        if name in _ASKED_BY:
            raise AttributeError(f"{name} was not asked for; call align() with {_ASKED_BY[name]}")
        raise AttributeError(f"Alignment has no attribute {name}")

    def __iter__(self) -> Iterator[str]:
        """The names of the views."""
        return iter(self.__dict__)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __repr__(self) -> str:
        views = ", ".join(f"{name} {tuple(view.shape)}" for name, view in self.__dict__.items())
        return f"Alignment({views})"

    def plot(self, axes: Any = None) -> Any:
        """Draws the views with matplotlib and returns the figure, or draws the first on `axes`."""
        return _plot.plot(self.__dict__, axes)

    def html(self, path: str | Path) -> None:
        """Writes a page that stands alone."""
        Path(path).write_text(_page.page(self.__dict__), encoding="utf-8")

    def _repr_html_(self) -> str:
        return _page.fragment(self.__dict__)
