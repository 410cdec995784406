"""Draws one run of the ladder. usage: plot.py RUN.json PLOT.png (or .svg)"""
import collections
import json
import sys

INK = {"cpu": "#4c78a8", "cuda": "#59a14f", "recorded": "#b6d7a8"}


def times_text(factor):
    return f"{factor:.0f}" if factor >= 100 else f"{factor:.3g}"


Bar = collections.namedtuple("Bar", "label seconds kind note factor")


def bars(run):
    """A Bar for every rung that has a time on real hardware. Its factor is that to the first one on the same device: times of two
    machines are never divided by each other."""
    first = {}
    result = []
    for row in run["rows"]:
        if row["right"] and "seconds" in row and row["back_end"] != "emulator":
            seconds, kind, device, note = row["seconds"], row["back_end"], row["device"], row["device"]
        elif "recorded_seconds" in row:
            seconds, kind, device = row["recorded_seconds"], "recorded", row["recorded_device"]
            note = f"{device}, recorded" + (", old" if row.get("recorded_old") else "")
        else:
            continue
        first.setdefault(device, seconds)
        result.append(Bar(f"{row['chapter']}\n{row['implementation']}", seconds, kind, note, first[device] / seconds))
    return result


def title(run):
    shape = ", ".join(f"{name}={run['shape'][name]}" for name in ("B", "T", "T_q", "H", "H_kv", "K", "V") if name in run["shape"])
    causal = "causal " if run.get("causal") else ""
    return f"{causal}{run['operator']} in {run.get('precision', 'fp32')} at {shape}" + (", state in and out" if run.get("states") else "")


def main(run_path, plot_path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with open(run_path, encoding="utf-8") as file:
        run = json.load(file)
    rungs = bars(run)
    if not rungs:
        sys.exit("no rung has a time")
    figure, axes = plt.subplots(figsize=(8, 1.2 + 0.7 * len(rungs)), layout="constrained")
    several = len({bar.note.split(",")[0] for bar in rungs}) > 1
    for position, bar in enumerate(rungs):
        axes.barh(position, bar.seconds * 1e3, color=INK[bar.kind])
        factor = f"{times_text(bar.factor)}x" + (" there" if several else "")
        axes.text(bar.seconds * 1e3, position, f"  {bar.seconds * 1e3:.3g} ms, {factor}\n  {bar.note}", va="center", fontsize=9)
    axes.set_yticks(range(len(rungs)), [bar.label for bar in rungs])
    axes.invert_yaxis()
    axes.set_xscale("log")
    times = [bar.seconds * 1e3 for bar in rungs]
    axes.set_xlim(min(times) / 4, max(times) * 30)
    axes.set_xlabel("milliseconds (log scale)")
    axes.set_title(title(run), fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(plot_path, dpi=150)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
