"""Draws chapter 07's figures beside this script. usage: /usr/bin/python3 docs/figures/chunkwise.py"""
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

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


def blank(width, height, x, y):
    figure, axes = plt.subplots(figsize=(width, height), layout="constrained")
    axes.set_xlim(*x)
    axes.set_ylim(*y)
    axes.axis("off")
    return figure, axes


def box(axes, x, y, width, height, text="", colour="white", edge=INK, **text_options):
    axes.add_patch(Rectangle((x, y), width, height, facecolor=colour, edgecolor=edge, linewidth=0.8))
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", **text_options)


def arrow(axes, start, end, colour=INK, **options):
    axes.annotate("", xy=end, xytext=start, arrowprops={"arrowstyle": "->", "color": colour, "lw": 1.4, **options})


def partition():
    figure, axes = blank(9, 4.6, (-1.3, 17.6), (-6.4, 3.3))
    for i in range(4):
        x = i * 4.3
        box(axes, x, 1.2, 3.2, 1.2, f"chunk {i}\nq, k, v, g of {CHUNK} steps", CHUNK_COLOURS[i], fontsize=9)
        arrow(axes, (x - 1.0, 0.2), (x + 0.1, 0.2))
        axes.text(x - 0.5, 0.35, f"$S_{i}$", ha="center", va="bottom")
        box(axes, x + 0.15, -0.3, 2.9, 1.0, "decay $S$, add $K^T V$", fontsize=9)
        arrow(axes, (x + 1.6, 1.15), (x + 1.6, 0.75), GREY)
    arrow(axes, (3 * 4.3 + 3.1, 0.2), (17.4, 0.2))
    axes.text(16.9, 0.35, "$S_4$", ha="center", va="bottom")
    axes.text(8.0, 2.75, "between chunks: one state goes from chunk to chunk; this chain has T / 64 links instead of T",
              ha="center")
    # One chunk, magnified.
    left, top, side = 1.2, -1.6, 1.05
    for line in ((4.3, left), (4.3 + 3.2, left + 4 * side)):
        axes.plot(line, (1.2, top), color=GREY, lw=0.8, ls=":", zorder=0)
    for i in range(4):
        axes.text(left - 0.15, top - (i + 0.5) * side, f"queries {16 * i}..{16 * i + 15}", ha="right", va="center", fontsize=8)
        for j in range(4):
            x, y = left + j * side, top - (i + 1) * side
            if j > i:
                box(axes, x, y, side, side, "0", "#f4f4f4", GREY, color=GREY)
            elif j == i:
                box(axes, x, y, side, side, "", "white")
                axes.fill([x, x, x + side], [y + side, y, y], color="#f6b26b", lw=0)
            else:
                box(axes, x, y, side, side, "", "#9fc5e8")
    axes.text(left + 2 * side, top + 0.12, "keys", ha="center", va="bottom", fontsize=8)
    notes = 6.6
    axes.text(notes, top - 0.35, "within chunk 1: 64 x 64 scores, in sub-chunks of 16", weight="bold", va="center")
    box(axes, notes, top - 1.5, 0.6, 0.6, "", "#9fc5e8")
    axes.text(notes + 0.9, top - 1.2, "earlier sub-chunk: a border lies between, two factors per score,\na matrix product", va="center", fontsize=9)
    box(axes, notes, top - 2.6, 0.6, 0.6, "", "white")
    axes.fill([notes, notes, notes + 0.6], [top - 2.0, top - 2.6, top - 2.6], color="#f6b26b", lw=0)
    axes.text(notes + 0.9, top - 2.3, "own sub-chunk: no border, each pair has its own exponent;\nlater keys are not selected", va="center", fontsize=9)
    box(axes, notes, top - 3.7, 0.6, 0.6, "0", "#f4f4f4", GREY, color=GREY)
    axes.text(notes + 0.9, top - 3.4, "later sub-chunk: nothing is computed", va="center", fontsize=9)
    axes.text(notes, top - 4.3, r"$o$ = scale $\cdot$ (decayed q $\cdot$ $S_1$ + scores $\cdot$ V)", va="center")
    save(figure, "chunk_partition.svg")


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
    partition()
    decay_triangle()
    sub_chunk_anchor()
