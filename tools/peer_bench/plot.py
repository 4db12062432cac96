"""The ratios as a picture: a dot per shape and peer, its bar from quartile to quartile."""
import io

import matplotlib
from PIL import Image

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.ticker import FuncFormatter  # noqa: E402

COLOURS = {"torch": "#d1495b", "onnxruntime": "#30638e", "openvino": "#8d6a9f"}


def draw(path, results, peers, title):
    cases = list(results)
    threads = list(next(iter(results.values())))
    figure, panels = pyplot.subplots(1, len(threads), sharey=True, sharex=True, squeeze=False,
                                     figsize=(3.2 + 3.6 * len(threads), 1.4 + 0.25 * len(cases)))
    for panel, t in zip(panels[0], threads):
        for p, peer in enumerate(peers):
            found = [(row, r) for row, case in enumerate(cases)
                     if not isinstance(r := results[case][t][peer], str)]
            if not found:
                continue
            middle = [r.ratio for _, r in found]
            sides = [[abs(r.ratio - q) for q, (_, r) in zip(side, found)]
                     for side in zip(*(r.quartiles for _, r in found))]
            heights = [row + 0.22 * (p - (len(peers) - 1) / 2) for row, _ in found]
            panel.errorbar(middle, heights, xerr=sides, fmt="o", markersize=4, linewidth=1.2,
                           color=COLOURS.get(peer), label=peer)
        panel.axvline(1, color="black", linewidth=1)
        panel.set_xscale("log")
        for axis_ticks in (panel.xaxis.set_major_formatter, panel.xaxis.set_minor_formatter):
            axis_ticks(FuncFormatter(lambda x, _: f"{x:g}" if f"{x:e}"[0] in "125" else ""))
        panel.set_title(f"{t} thread{'s' if t > 1 else ''}", fontsize=10)
        panel.set_xlabel("times as long as lookback", fontsize=9)
        panel.tick_params(labelsize=8)
        panel.grid(axis="both", linewidth=0.3)
    panels[0][0].set_yticks(range(len(cases)), [case.name for case in cases])
    panels[0][0].set_ylim(len(cases) - 0.5, -0.5)
    handles, labels = panels[0][-1].get_legend_handles_labels()
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    figure.legend(handles, labels, loc="upper right", ncols=len(peers), fontsize=8, frameon=False)
    figure.tight_layout()
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=90, bbox_inches="tight")
    # With a palette it is a third of the size; it goes into the repository.
    Image.open(drawn).convert("RGB").quantize(64).save(path, optimize=True)
