"""Draws one run of the ladder. usage: plot.py RUN.json PLOT.png (or .svg)"""
import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

INK = {"cpu": "#4c78a8", "cuda": "#59a14f", "recorded": "#b6d7a8"}


def times_text(factor):
    return f"{factor:.0f}" if factor >= 100 else f"{factor:.3g}"


def bars(run):
    """(label, seconds, kind, device) for every rung that has a time on real hardware."""
    for row in run["rows"]:
        if not row["right"]:
            continue
        label = f"{row['chapter']}\n{row['implementation']}"
        if row["back_end"] != "emulator":
            yield label, row["seconds"], row["back_end"], row["device"]
        elif "recorded_seconds" in row:
            yield label, row["recorded_seconds"], "recorded", row["recorded_device"]


def main(run_path, plot_path):
    with open(run_path, encoding="utf-8") as file:
        run = json.load(file)
    rungs = list(bars(run))
    if not rungs:
        sys.exit("no rung has a time")
    figure, axes = plt.subplots(figsize=(8, 1.2 + 0.7 * len(rungs)), layout="constrained")
    for position, (label, seconds, kind, device) in enumerate(rungs):
        axes.barh(position, seconds * 1e3, color=INK[kind])
        factor = rungs[0][1] / seconds
        note = f"{device}, recorded" if kind == "recorded" else device
        axes.text(seconds * 1e3, position, f"  {seconds * 1e3:.3g} ms, {times_text(factor)}x\n  {note}", va="center", fontsize=9)
    axes.set_yticks(range(len(rungs)), [label for label, *_ in rungs])
    axes.invert_yaxis()
    axes.set_xscale("log")
    times = [seconds * 1e3 for _, seconds, *_ in rungs]
    axes.set_xlim(min(times) / 4, max(times) * 30)
    axes.set_xlabel("milliseconds (log scale)")
    shape = ", ".join(f"{name}={run['shape'][name]}" for name in "BTHKV")
    axes.set_title(f"{run['operator']} at {shape}")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(plot_path, dpi=150)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
