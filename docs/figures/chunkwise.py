"""Draws chapter 07's figures beside this script. usage: /usr/bin/python3 docs/figures/chunkwise.py"""
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

FOLDER = Path(__file__).parent
CHUNK_COLOURS = ["#cfe2f3", "#d9ead3", "#fce5cd", "#ead1dc"]
INK, GREY, RED, BLUE, GREEN = "#222222", "#888888", "#c0392b", "#2c6fbb", "#3a8a3a"
CHUNK, SUB_CHUNK = 64, 16

plt.rcParams.update({
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "kernel-ladder",  # the same file every time
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 10,
    "axes.edgecolor": GREY,
})


def save(figure, name):
    figure.savefig(FOLDER / name, facecolor="white", metadata={"Date": None})
    plt.close(figure)


def arrow(axes, start, end, colour=INK, **options):
    axes.annotate("", xy=end, xytext=start, arrowprops={"arrowstyle": "->", "color": colour, "lw": 1.4, **options})


def decay_triangle():
    step = np.arange(CHUNK)
    mild = np.where(step % 7 == 3, -0.35, -0.06)
    total = mild.copy()
    total[40] = -np.inf
    figure, all_axes = plt.subplots(1, 2, figsize=(8.6, 4.3), layout="constrained", sharey=True)
    for axes, log_w, title in zip(all_axes, (mild, total), ("mild decay", "the same, and step 40 forgets everything")):
        factor = np.full((CHUNK, CHUNK), np.nan)
        for key in step:
            for query in range(key, CHUNK):
                factor[query, key] = np.exp(log_w[key + 1:query + 1].sum())  # nothing is subtracted: no inf - inf
        image = axes.imshow(factor, cmap="viridis", vmin=0, vmax=1, interpolation="nearest")
        for border in range(SUB_CHUNK, CHUNK, SUB_CHUNK):
            axes.axhline(border - 0.5, color="white", lw=0.8)
            axes.axvline(border - 0.5, color=GREY, lw=0.5)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("key s")
        axes.set_xticks(range(0, CHUNK, SUB_CHUNK))
        axes.set_yticks(range(0, CHUNK, SUB_CHUNK))
        axes.text(46, 14, "s > t:\nnot selected", ha="center", color=GREY)
    all_axes[0].set_ylabel("query t")
    bar = figure.colorbar(image, ax=all_axes, shrink=0.8)
    bar.set_label("what is left of key s at step t: exp($G_t - G_s$)")
    save(figure, "decayed_scores.svg")


def sub_chunk_anchor():
    step = np.arange(CHUNK)
    log_w = np.full(CHUNK, -2.0) + 0.5 * np.cos(step * 0.9)
    G = np.cumsum(log_w)
    first = 48  # of the queries' sub-chunk
    border = G[first - 1]
    figure, (top, below) = plt.subplots(2, 1, figsize=(8.6, 6.2), layout="constrained", sharex=True, height_ratios=(1.15, 1))
    for axes in (top, below):
        for i in range(4):
            axes.axvspan(16 * i - 0.5, 16 * i + 15.5, color=CHUNK_COLOURS[i], alpha=0.45, lw=0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.axvline(first - 0.5, color=INK, lw=1.2)
    top.plot(step, G, color=INK, marker=".", ms=4, lw=1)
    key, query = 21, 57
    for at, colour in ((key, BLUE), (query, GREEN)):
        top.plot([at, first - 0.5], [border, border], color=GREY, ls=":", lw=1)
        arrow(top, (at, G[key] if at == key else border), (at, border if at == key else G[query]), colour)
    top.text(key - 0.6, (G[key] + border) / 2, "k decays from s to the border:\n$G_{border} - G_s \\leq 0$  ", color=BLUE, ha="right", va="center")
    top.text(query + 0.6, (border + G[query]) / 2, "q from the\nborder to t:\n$G_t - G_{border} \\leq 0$", color=GREEN, va="center", fontsize=9)
    top.text(first - 1, -4, "border", ha="right")
    top.set_ylabel("G: log decay since\nthe chunk began")
    top.set_title("A score's decay, split at the border in front of the query's sub-chunk (log_w about -2)", fontsize=10)
    below.axhline(88.7, color=RED, lw=1, ls="--")
    below.text(1, 91, "above 88.7, exp is infinite in fp32", color=RED, va="bottom")
    below.plot(step, -G, color=RED, marker=".", ms=4, lw=1, label="k anchored at the chunk's beginning: $-G_s$")
    below.plot(step[:first], (border - G)[:first], color=BLUE, marker=".", ms=4, lw=1, label="k anchored at the border: $G_{border} - G_s$")
    below.plot(step[first:], (G - border)[first:], color=GREEN, marker=".", ms=4, lw=1, label="q anchored at the border: $G_t - G_{border}$")
    below.axhline(0, color=GREY, lw=0.8)
    below.set_ylabel("exponent")
    below.set_xlabel("step of the chunk")
    below.set_xticks(range(0, CHUNK + 1, SUB_CHUNK))
    below.legend(loc="lower right", fontsize=8, framealpha=1)
    save(figure, "sub_chunk_anchor.svg")


if __name__ == "__main__":
    decay_triangle()
    sub_chunk_anchor()
