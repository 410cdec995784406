"""Draws a run of the ladder. usage: plot.py RUN.json PLOT.png (or .svg)"""
import collections
import json
import sys

INK = {"cpu": "#4c78a8", "cuda": "#59a14f", "recorded": "#59a14f"}
BOUND = "#b07aa1"


def times_text(factor):
    return f"{factor:.0f}" if factor >= 100 else f"{factor:.3g}"


def duration_text(seconds):
    for unit, name in ((1, "s"), (1e-3, "ms")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * 1e6:.3g} us"


Rung = collections.namedtuple("Rung", "label seconds bound kind device note factor")


def rungs(run):
    """A Rung for every row that has a time on real hardware. Its factor is that to the first one on the same device: times of two
    machines are never divided by each other."""
    first = {}
    result = []
    for row in run["rows"]:
        if row["right"] and "seconds" in row and row["back_end"] != "emulator":
            seconds, bound, kind, device = row["seconds"], row.get("bound_seconds"), row["back_end"], row["device"]
            note = device
        elif "recorded_seconds" in row:
            seconds, bound, kind, device = row["recorded_seconds"], row.get("recorded_bound_seconds"), "recorded", row["recorded_device"]
            note = f"{device}, recorded" + (", old" if row.get("recorded_old") else "")
        else:
            continue
        first.setdefault(device, seconds)
        result.append(Rung(f"{row['chapter']}\n{row['implementation']}", seconds, bound or None, kind, device, note, first[device] / seconds))
    return result


def title(run):
    shape = ", ".join(f"{name}={run['shape'][name]}" for name in ("B", "T", "T_q", "H", "H_kv", "K", "V") if name in run["shape"])
    causal = "causal " if run.get("causal") else ""
    return f"{causal}{run['operator']} in {run.get('precision', 'fp32')} at {shape}" + (", state in and out" if run.get("states") else "")


def draw(axes, run, lines):
    several = len({rung.device for rung in lines}) > 1
    for position, rung in enumerate(lines):
        filled = rung.kind != "recorded"
        if rung.bound:
            axes.plot([rung.bound * 1e3, rung.seconds * 1e3], [position, position], color="#d0d0d0", linewidth=2, zorder=1)
            axes.plot(rung.bound * 1e3, position, marker="|", markersize=14, markeredgewidth=2, color=BOUND, zorder=2)
        axes.plot(rung.seconds * 1e3, position, marker="o", markersize=8, color=INK[rung.kind],
                  markerfacecolor=INK[rung.kind] if filled else "white", zorder=3)
        share = f", {100 * rung.bound / rung.seconds:.3g} % of bound" if rung.bound else ""
        factor = "" if rung.factor == 1 else f", {times_text(rung.factor)}x" + (" there" if several else "")
        axes.text(rung.seconds * 1e3, position, f"   {duration_text(rung.seconds)}{factor}{share}\n   {rung.note}", va="center", fontsize=8)
    axes.set_yticks(range(len(lines)), [rung.label for rung in lines], fontsize=8)
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.set_xscale("log")
    times = [value * 1e3 for rung in lines for value in (rung.seconds, rung.bound or rung.seconds)]
    axes.set_xlim(min(times) / 2, max(times) * 60)
    axes.set_title(title(run), fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)


def main(run_path, plot_path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with open(run_path, encoding="utf-8") as file:
        drawn = [(run, rungs(run)) for run in json.load(file)["runs"]]
    drawn = [(run, lines) for run, lines in drawn if lines]
    if not drawn:
        sys.exit("no rung has a time")
    counts = [len(lines) for _, lines in drawn]
    figure, all_axes = plt.subplots(len(drawn), figsize=(9, 0.9 * len(drawn) + 0.5 * sum(counts)), layout="constrained",
                                    height_ratios=[count + 0.5 for count in counts], squeeze=False)
    for axes, (run, lines) in zip(all_axes[:, 0], drawn):
        draw(axes, run, lines)
    bound = any(rung.bound for _, lines in drawn for rung in lines)
    all_axes[-1, 0].set_xlabel("milliseconds, log scale" + (";  | is the bound: the least time on that device" if bound else "")
                               + (";  a hollow dot was recorded earlier" if any(rung.kind == "recorded" for _, lines in drawn for rung in lines) else ""),
                               fontsize=9)
    figure.savefig(plot_path, dpi=150)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
