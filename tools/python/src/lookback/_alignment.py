"""What align() returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from . import _display, _page, _plot

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

    def __init__(self, views: dict[str, Any], call: _page.Call) -> None:
        self._views = views
        self._call = call

    def __getattr__(self, name: str) -> Any:
        views = self.__dict__.get("_views", {})
        if name in views:
            return views[name]
        if name in _ASKED_BY:
            raise AttributeError(f"{name} was not asked for; call align() with {_ASKED_BY[name]}")
        raise AttributeError(f"Alignment has no attribute {name}")

    def __dir__(self) -> list[str]:
        return sorted(
            [*self._views, *(name for name in super().__dir__() if name not in _ASKED_BY)]
        )

    def __iter__(self) -> Iterator[str]:
        """The names of the views."""
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)

    def __getitem__(self, name: str) -> Any:
        return self._views[name]

    def __repr__(self) -> str:
        views = ", ".join(f"{name} {tuple(view.shape)}" for name, view in self._views.items())
        return f"Alignment({views})"

    def plot(self, axes: Any = None) -> Any:
        """Draws the views with matplotlib and returns the figure, or draws the first on `axes`."""
        return _plot.plot(self._views, axes)

    def html(
        self,
        path: str | Path,
        *,
        text: str = "",
        tokens: Sequence[str] | None = None,
        query_tokens: Sequence[str] | None = None,
    ) -> None:
        """Writes the page of the command `lookback align`: every head, every word, to play with.

        It shows all the weights of the call, whatever views were asked for, and computes them now
        from q and k as they are. A batch stands for the layers. `text` is a heading, `tokens` are
        the words of the keys, and of the rows too unless `query_tokens` are given.
        """
        page = _page.page(self._call, text=text, tokens=tokens, query_tokens=query_tokens)
        Path(path).write_text(page, encoding="utf-8")

    def _repr_html_(self) -> str:
        return _display.fragment(self._views)
