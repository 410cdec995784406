"""Draws the pictures of docs/results.md as SVG, only from records/: a time without a record has no
point."""
import json
import math
from xml.sax.saxutils import escape

from pictures import SANS, STYLE, text
from records import duration  # finds ladder_tools

from ladder_tools.recorded import best_rows

_COLOURS = (("a", "#0969da", "#58a6ff"), ("b", "#bc4c00", "#f0883e"), ("c", "#1a7f37", "#3fb950"), ("d", "#8250df", "#bc8cff"), ("e", "#59636e", "#9198a1"))
_STYLE = STYLE.replace("</style>", "".join(f".{name}{{fill:{light};stroke:{light}}}" for name, light, _ in _COLOURS)
                       + "@media (prefers-color-scheme: dark){" + "".join(f".{name}{{fill:{dark};stroke:{dark}}}" for name, _, dark in _COLOURS) + "}"
                       + ".word{stroke:#ffffff}@media (prefers-color-scheme: dark){.word{stroke:#161b22}}</style>")
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 640, 420, 64, 176, 70, 52


def _ticks(low, high):
    """Powers of ten, and 2 and 5 times these if there are few of them."""
    digits = (1, 2, 5) if high / low < 300 else (1,)
    return [digit * 10.0**exponent for exponent in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for digit in digits
            if low <= digit * 10.0**exponent <= high * 1.0001]


def number(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"


class Plot:
    """A plot with two logarithmic axes. `say_x` and `say_y` format a tick's label."""

    def __init__(self, title, notes, x_axis, y_axis, x_range, y_range, say_x=number, say_y=duration):
        (self.x0, self.x1), (self.y0, self.y1) = x_range, y_range
        self.bottom = _HEIGHT - _BOTTOM
        self.labels = []
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img" '
                      f'aria-label="{escape(title)}" {SANS}>', _STYLE, f'<rect class="ground" width="{_WIDTH}" height="{_HEIGHT}" rx="8"/>']
        self.text(16, 24, title, size=15, more=' font-weight="600"')
        for line, words in enumerate(notes):
            self.text(16, 42 + 15 * line, words, "soft", 11.5)
        for value in _ticks(*x_range):
            self.parts.append(f'<line class="grid" x1="{self.x(value):.1f}" x2="{self.x(value):.1f}" y1="{_TOP}" y2="{self.bottom}" stroke-width="0.7"/>')
            self.text(self.x(value), self.bottom + 16, say_x(value), "soft", 11, "middle")
        for value in _ticks(*y_range):
            self.parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{self.y(value):.1f}" y2="{self.y(value):.1f}" stroke-width="0.7"/>')
            self.text(_LEFT - 6, self.y(value) + 4, say_y(value), "soft", 11, "end")
        self.text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 14, x_axis, "soft", 12, "middle")
        self.text(_WIDTH - _RIGHT + 8, _TOP - 4, y_axis, "soft", 11.5)

    def x(self, value):
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * math.log(value / self.x0) / math.log(self.x1 / self.x0)

    def y(self, value):
        return self.bottom - (self.bottom - _TOP) * math.log(value / self.y0) / math.log(self.y1 / self.y0)

    def text(self, x, y, words, classes="ink", size=12.5, anchor="start", more=""):
        self.parts.append(text(x, y, words, classes, size, anchor, more))

    def dot(self, x, y, colour, says):
        self.parts.append(f'<circle class="{colour}" cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="4"><title>{escape(says)}</title></circle>')

    def line(self, points, colour, dashed=False):
        path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        self.parts.append(f'<polyline class="{colour}" points="{path}" style="fill:none" stroke-width="1.8"{" stroke-dasharray=" + chr(34) + "5 4" + chr(34) if dashed else ""}/>')

    def series(self, name, points, colour):
        """A line with points and its name at the end."""
        points = sorted(points)
        if not points:
            return
        self.line(points, colour)
        for x, y in points:
            self.dot(x, y, colour, f"{name}: {number(x)}, {duration(y)}")
        self.labels.append((self.y(points[-1][1]), name, colour))

    def svg(self):
        before = _TOP
        for y, name, colour in sorted(self.labels):
            before = max(before + 15, y + 4)
            self.text(_WIDTH - _RIGHT + 8, before, name, colour, 12)
        return "\n".join([*self.parts, "</svg>", ""])


_KERNELS = (("wkv_fused_recurrent", "recurrent, tiles", "b"), ("wkv_time_tiles", "recurrent, time tiles", "a"), ("wkv_chunkwise", "chunkwise", "c"))


class _Times:
    """The times that the rules were made from: WKV with B = 1 and K = V."""

    def __init__(self, root):
        document = json.loads((root / "records" / "best_h200.json").read_text())
        self.rows = [(group["operator"], group["precision"], shape["T"], shape["H"], shape["K"], times)
                     for group, shape, times in best_rows(document) if shape["K"] == shape["V"]]
        self.said = f"{document['run']['device']}, commit {document['run']['conditions']['commit']}, {document['run']['date']}"

    def points(self, kernel, along, wanted):
        """(along, seconds) of the wanted rows of WKV in bf16."""
        return [(along(T, heads, K), times[kernel]) for op, precision, T, heads, K, times in self.rows
                if (op, precision) == ("wkv", "bf16") and kernel in times and wanted(T, heads, K)]


_TOKENS, _HEADS = 16384, 32  # the same in all recorded cases of the plot with softmax attention


def _softmax(records):
    """(T, seconds) of causal attention in bf16 with the same number of tokens and heads, of 64
    channels."""
    found = []
    for name, (case, conditions) in records.cases.items():
        if "H200" not in conditions["gpu"]:
            continue
        rows = {row["name"]: row for row in case["rows"]}
        if name.startswith("attention_T") and name.endswith("_D64_causal") and rows.get("attention_sm90", {}).get("burst"):
            found.append((int(name.split("_")[1][1:]), rows["attention_sm90"]["burst"]["seconds"]))
    return found


def length(records, times):
    """Time by sequence length T at a constant number of tokens, to show where chunks and softmax
    cross the recurrence."""
    plot = Plot(f"{_TOKENS:,} tokens, {_HEADS} heads of 64, bf16, cut into sequences of T", [times.said], "T, steps of a sequence", "time",
                (400, 20000), (5e-5, 2e-2))
    for kernel, name, colour in _KERNELS:
        plot.series(name, times.points(kernel, lambda T, heads, K: T, lambda T, heads, K: K == 64 and T * heads == _TOKENS * _HEADS), colour)
    plot.series("softmax, causal", _softmax(records), "d")
    return plot.svg()


def one_sequence(times, heads):
    plot = Plot(f"WKV, one sequence of T steps, {heads} heads of 64, bf16", [times.said], "T, steps", "time", (100, 131072), (4e-6, 2e-1))
    for kernel, name, colour in _KERNELS:
        plot.series(name, times.points(kernel, lambda T, _, K: T, lambda T, its, K: K == 64 and its == heads and T >= 128), colour)
    return plot.svg()


def batches(times):
    plot = Plot("WKV, 1,024 steps, heads of 64, bf16", [times.said], "B H, heads of all batches", "time", (1, 1024), (1e-5, 1e-2))
    for kernel, name, colour in _KERNELS:
        plot.series(name, times.points(kernel, lambda T, heads, K: heads, lambda T, heads, K: K == 64 and T == 1024), colour)
    return plot.svg()


def channels(times):
    plot = Plot("WKV, 1,024 steps, 32 heads, bf16, K = V", [times.said, "peaks: rows that are not whole 16-byte vectors"], "K = V", "time", (4, 256), (5e-6, 1e-2))
    for kernel, name, colour in _KERNELS:
        plot.series(name, times.points(kernel, lambda T, heads, K: K, lambda T, heads, K: T == 1024 and heads == 32), colour)
    return plot.svg()


_ROOFS = (("wkv", "fp32", "WKV, fp32", "a"), ("wkv", "bf16", "WKV, bf16", "b"), ("causal_dot_product", "fp32", "causal product, fp32", "c"), ("attention", "bf16", "attention, bf16", "d"))
_TRAINING = {"wkv": {"B": 8, "T": 4096, "H": 32, "K": 64, "V": 64}, "causal_dot_product": {"B": 8, "T": 4096, "H": 32, "K": 64, "V": 64},
             "attention": {"B": 4, "T": 4096, "H": 16, "K": 128, "V": 128}}


def roofline(records):
    """Every kernel measured at the training shape, below the ceilings of the same GPU: each byte
    moved once, and FMAs."""
    runs = [run for run in records.runs.values() if any("H200" in each["device"] for each in run["ceilings"])]
    roofs = {key: max(each.get(key, 0) for run in runs for each in run["ceilings"] if "H200" in each["device"])
             for key in ("bytes_per_second", "fma_per_second", "tensor_fma_per_second", "warpgroup_fma_per_second")}
    low, high = 1, 2000
    plot = Plot("Each kernel under its ceiling", ["NVIDIA H200; B=8, T=4096, 32 heads of 64; attention: B=4, T=4096, 16 heads of 128, not causal"],
                "multiply-adds for each byte that must move", "multiply-adds a second", (low, high), (1e10, 1e15), say_y=lambda value: f"{value:.0e}".replace("e+", "e"))
    for key, name in (("fma_per_second", "CUDA cores, fp32"), ("tensor_fma_per_second", "tensor cores, warps"), ("warpgroup_fma_per_second", "tensor cores, warpgroups")):
        corner = max(low, roofs[key] / roofs["bytes_per_second"])
        plot.line([(low, low * roofs["bytes_per_second"]), (corner, roofs[key]), (high, roofs[key])], "e", dashed=True)
        plot.labels.append((plot.y(roofs[key]), name, "e"))
    for op, precision, name, colour in _ROOFS:
        points = {}
        for run in runs:
            if (run["operator"], run.get("precision", "fp32"), run["shape"]) != (op, precision, _TRAINING[op]):
                continue
            if op == "attention" and (run.get("causal") or run.get("options")):  # an option may be a mask
                continue
            for row in run["rows"]:
                if row.get("seconds") and "H200" in row["device"]:
                    points[row["implementation"]] = (run["fma_count"] / run["bytes"], run["fma_count"] / row["seconds"])
        for kernel, (x, y) in points.items():
            plot.dot(x, y, colour, f"{kernel}: {y:.3g} multiply-adds a second")
        if points:
            slowest = min(points.values(), key=lambda point: point[1])
            plot.text(plot.x(slowest[0]) + 8, plot.y(slowest[1]) + 14, name, colour, 12)
    return plot.svg()


def drawn(root, records):
    """{file in docs/figures: its text}"""
    times = _Times(root)
    return {"results_roofline.svg": roofline(records), "results_length.svg": length(records, times), "results_one_sequence_4.svg": one_sequence(times, 4),
            "results_one_sequence_32.svg": one_sequence(times, 32), "results_heads.svg": batches(times), "results_channels.svg": channels(times)}


def fastest(root):
    """Rows of a Markdown table: the fastest measured kernel of WKV with heads of 64, in bf16 and
    fp32, and its time."""
    times, steps, heads_shown = _Times(root), (1, 54, 256, 1024, 4096, 16384), (1, 4, 16, 32, 64, 256)
    best = {}
    for op, precision, T, heads, K, measured in times.rows:
        if op == "wkv" and K == 64:
            kernel = min(measured, key=measured.get)
            best[precision, T, heads] = f"`{kernel.removeprefix('wkv_')}` {duration(measured[kernel])}"
    lines = ["| WKV, K = V = 64: heads of all batches | " + " | ".join(f"T = {number(T)}" for T in steps) + " |", "|---|" + "---|" * len(steps)]
    for precision in ("bf16", "fp32"):
        lines += [f"| {precision}, B H = {heads} | " + " | ".join(best.get((precision, T, heads), "not measured") for T in steps) + " |" for heads in heads_shown]
    return [*lines, "", times.said + "."]
