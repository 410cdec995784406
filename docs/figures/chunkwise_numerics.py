"""Draws the error of each chunkwise form for each decay. usage: chunkwise_numerics.py NUMERICS.json
PLOT.png (or .svg)

build/chapter07_numerics NUMERICS.json writes the JSON, and cmake --build build --target
chapter07_numerics builds that program."""
import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

INK = ["#d1495b", "#edae49", "#2e4057", "#00798c", "#8d6a9f"]
DASH = ["-", "-", "-", (0, (4, 2)), (0, (1, 1.5))]
WIDTH = [1.6, 1.6, 3.2, 1.6, 2]
NOT_FINITE = 6  # above it, a line of crosses for each form


def main(numerics_path, plot_path):
    with open(numerics_path, encoding="utf-8") as file:
        numerics = json.load(file)
    figure, axes = plt.subplots(figsize=(8, 4.8), layout="constrained")
    decays = [-row["mean_log_decay"] for row in numerics["curve"]]
    for number, form in enumerate(numerics["forms"]):
        errors = [row["errors"][number] for row in numerics["curve"]]
        finite = [(x, y) for x, y in zip(decays, errors) if y is not None]
        axes.plot(*zip(*finite), color=INK[number], linestyle=DASH[number], linewidth=WIDTH[number], label=form, zorder=3)
        lost = [x for x, y in zip(decays, errors) if y is None]
        if lost:
            height = NOT_FINITE * 2 ** (number + 1)
            axes.plot([finite[-1][0], lost[0]], [finite[-1][1], height], color=INK[number], linewidth=0.8, linestyle=":")
            axes.plot(lost, [height] * len(lost), "x", color=INK[number], markersize=5)
    axes.axhspan(NOT_FINITE, 1000, color="#eeeeee", zorder=0)
    axes.text(decays[0], 80, "NaN or infinity", va="center")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(5e-8, 1000)
    axes.axhline(1, color="#bbbbbb", linewidth=0.8)
    axes.set_xlabel("mean of -log_w per token")
    axes.set_ylabel("relative error against float64")
    axes.set_title(f"Five forms of one product, chunks of {numerics['chunk']}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc=(0.02, 0.43))
    figure.savefig(plot_path, dpi=150)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
