"""Draws one run of the ladder. usage: plot.py RUN.json PLOT.png (or .svg)"""
import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

INK = {"cpu": "#4c78a8", "cuda": "#59a14f", "recorded": "#b6d7a8"}


def bars(run):
    """(label, seconds, kind) for every rung that has a time on real hardware."""
    for row in run["rows"]:
        if not row["right"]:
            continue
        label = f"{row['chapter']}\n{row['implementation']}"
        if row["back_end"] != "emulator":
            yield label, row["seconds"], row["back_end"]
        elif "recorded_seconds" in row:
            yield label, row["recorded_seconds"], "recorded"


def main(run_path, plot_path):
    with open(run_path, encoding="utf-8") as file:
        run = json.load(file)
    rungs = list(bars(run))
    if not rungs:
        sys.exit("no rung has a time")
    figure, axes = plt.subplots(figsize=(8, 1.2 + 0.7 * len(rungs)), layout="constrained")
    for position, (label, seconds, kind) in enumerate(rungs):
        axes.barh(position, seconds * 1e3, color=INK[kind])
        factor = rungs[0][1] / seconds
        note = " (recorded on a GPU)" if kind == "recorded" else ""
        axes.text(seconds * 1e3, position, f"  {seconds * 1e3:.3g} ms, {factor:.3g}x{note}", va="center")
    axes.set_yticks(range(len(rungs)), [label for label, _, _ in rungs])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(right=axes.get_xlim()[1] * 12)
    axes.set_xlabel("milliseconds (log scale)")
    shape = ", ".join(f"{name}={size}" for name, size in run["shape"].items())
    axes.set_title(f"{run['operator']} at {shape}")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(plot_path, dpi=150)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
