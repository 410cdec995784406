"""The front page's pictures, as SVG with a ground of their own: readable on a light and on a dark page."""
import math
import textwrap
from xml.sax.saxutils import escape

from records import duration

SANS = "font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Noto Sans SC', sans-serif\""
MONO = "font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\""
STYLE = """<style>
.ground{fill:#ffffff}.ink{fill:#1f2328}.soft{fill:#59636e}.grid{stroke:#d8dee4}
.fp32{fill:#0969da;stroke:#0969da}.bf16{fill:#bc4c00;stroke:#bc4c00}
@media (prefers-color-scheme: dark){.ground{fill:#161b22}.ink{fill:#e6edf3}.soft{fill:#9198a1}.grid{stroke:#3d444d}
.fp32{fill:#58a6ff;stroke:#58a6ff}.bf16{fill:#f0883e;stroke:#f0883e}}
.line{stroke-dasharray:5 4;fill:none}.word{paint-order:stroke;stroke:#ffffff;stroke-width:4px;stroke-linejoin:round}
@media (prefers-color-scheme: dark){.word{stroke:#161b22}}
</style>"""


def _text(x, y, text, classes="ink", size=13, anchor="start", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{classes} word" font-size="{size}" text-anchor="{anchor}" {more}>{escape(text)}</text>'


COLUMNS = 66  # of a terminal's picture: still legible on a phone


def _wrapped(line):
    """Lines of at most COLUMNS; what goes on is indented by two more than the line."""
    indent = len(line) - len(line.lstrip())
    return textwrap.wrap(line, COLUMNS, subsequent_indent=" " * (indent + 2), drop_whitespace=True) or [""]


def terminal(title, lines, strong=()):
    """A terminal that shows these lines; those that hold one of the `strong` texts stand out. Dark on any page."""
    size, height = 13, 19
    shown = [(f"$ {title}", "#7ee787")]
    for line in lines:
        colour = "#ffa657" if any(each in line for each in strong) else "#e6edf3"
        shown += [(piece, colour) for piece in _wrapped(line)]
    width = round(COLUMNS * 7.85) + 40
    total = 42 + height * len(shown) + 10
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {total}" width="{width}" height="{total}" role="img" '
             f'aria-label="{escape(title, {chr(34): "&quot;"})}" {MONO}>',
             f'<rect width="{width}" height="{total}" rx="8" fill="#0d1117"/>',
             *(f'<circle cx="{20 + 18 * i}" cy="18" r="5.5" fill="{colour}"/>' for i, colour in enumerate(("#ff5f56", "#ffbd2e", "#27c93f")))]
    for number, (line, colour) in enumerate(shown):
        weight = ' font-weight="bold"' if colour == "#ffa657" else ""
        parts.append(f'<text x="18" y="{48 + height * number}" font-size="{size}" fill="{colour}"{weight} xml:space="preserve">{escape(line)}</text>')
    return "\n".join(parts) + "\n</svg>\n"


# The shape of the front page's plot: B=8, T=4096, H=32, K=V=64 on an H200.
RUNGS = [  # label, then (file, implementation) in fp32 and in bf16
    ("03  a thread per column, atomics", ("h200_wkv_training", "wkv_atomic"), None),
    ("04  sum in a register", ("h200_wkv_training", "wkv_no_atomic"), None),
    ("05  16-byte loads", ("h200_wkv_training", "wkv_float4"), None),
    ("06  rows in shared memory", ("h200_06_wkv_fp32_training", "wkv_shared_mem"), ("h200_06_wkv_bf16_training", "wkv_shared_mem")),
    ("06  tiles of the state", ("h200_06_wkv_fp32_training", "wkv_fused_recurrent"), ("h200_06_wkv_bf16_training", "wkv_fused_recurrent")),
    ("06  time tiles, copied ahead", ("h200_06_wkv_fp32_training", "wkv_time_tiles"), ("h200_06_wkv_bf16_training", "wkv_time_tiles")),
    ("07  chunks on tensor cores", ("h200_07_wkv_fp32_training", "wkv_chunkwise"), ("h200_07_wkv_bf16_training", "wkv_chunkwise")),
]
PUBLIC = [  # label, case, row, class
    ("RWKV-CUDA, fp32", "wkv_fp32_B8_T4096_H32_K64", "RWKV-CUDA wkv6 v1a", "fp32"),
    ("FLA recurrent, fp32", "wkv_fp32_B8_T4096_H32_K64", "FLA fused_recurrent_rwkv6", "fp32"),
    ("FLA chunk, bf16", "wkv_bf16_B8_T4096_H32_K64", "FLA chunk_rwkv6", "bf16"),
]
BOUNDS = [("bytes once, fp32", "h200_06_wkv_fp32_training", "fp32"), ("bytes once, bf16", "h200_07_wkv_bf16_training", "bf16")]


def ladder_lines(records):
    """(label, seconds, class) of every vertical line there is a record for."""
    lines = []
    for label, case, row, kind in PUBLIC:
        rows = {each["name"]: each for each in records.cases[case][0]["rows"]} if case in records.cases else {}
        if rows.get(row, {}).get("burst"):
            lines.append((label, rows[row]["burst"]["seconds"], kind))
    for label, name, kind in BOUNDS:
        run = records.runs.get(name)
        ceilings = [each["bytes_per_second"] for each in run["ceilings"] if "NVIDIA" in each["device"]] if run else []
        if ceilings:
            lines.append((label, run["bytes"] / ceilings[0], kind))
    return lines


def _time(records, place):
    """Its seconds, and whether the kernel has changed since; None where nothing was recorded."""
    if place is None or place[0] not in records.runs:
        return None
    row = next((row for row in records.runs[place[0]]["rows"] if row["implementation"] == place[1]), {})
    return (row["seconds"], records.is_old(*place)) if "seconds" in row else None


def ladder(records, words):
    """Every rung in fp32 and bf16 as a dot, the bound and the public kernels as lines. `words`: title, axis and note."""
    left, right, top, step = 24, 84, 150, 44
    width = 640
    bottom = top + step * len(RUNGS)
    height = bottom + 62
    low, high = 1e-4, 4e-2
    scale = (width - left - right) / math.log10(high / low)

    def x(seconds):
        return left + scale * math.log10(seconds / low)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
             f'aria-label="{escape(words["title"])}" {SANS}>', STYLE, f'<rect class="ground" width="{width}" height="{height}" rx="8"/>',
             _text(20, 28, words["title"], size=16, more='font-weight="600"'),
             *(_text(20, 48 + 16 * number, line, "soft", 12) for number, line in enumerate(words["note"]))]
    for exponent in range(-4, -1):
        for digit in (1, 2, 5):
            seconds = digit * 10.0**exponent
            if low <= seconds <= high:
                parts.append(f'<line class="grid" x1="{x(seconds):.1f}" x2="{x(seconds):.1f}" y1="{top - 6}" y2="{bottom}" stroke-width="{1 if digit == 1 else 0.5}"/>')
                parts.append(_text(x(seconds), bottom + 18, f"{seconds * 1e3:g}", "soft", 11, "middle"))
    for number, (label, seconds, kind) in enumerate(sorted(ladder_lines(records), key=lambda each: each[1])):
        y = 84 + 15 * (number % 5)
        parts.append(f'<line class="{kind} line" x1="{x(seconds):.1f}" x2="{x(seconds):.1f}" y1="{y + 4}" y2="{bottom}" stroke-width="1.5"/>')
        parts.append(_text(x(seconds) + 4, y + 2, f"{words['lines'].get(label, label)}: {duration(seconds)}", kind, 11.5))
    any_old = False
    for number, (label, *places) in enumerate(RUNGS):
        y = top + step * number + 30
        parts.append(_text(20, y - 14, words["rungs"].get(label, label), size=12.5))
        shown = sorted((*time, kind) for place, kind in zip(places, ("fp32", "bf16")) if (time := _time(records, place)))
        any_old = any_old or any(old for _, old, _ in shown)
        for index, (seconds, old, kind) in enumerate(shown):
            parts.append(f'<circle class="{kind}" cx="{x(seconds):.1f}" cy="{y:.1f}" r="6"/>')
            first_of_two = len(shown) == 2 and index == 0
            parts.append(_text(x(seconds) + (-10 if first_of_two else 10), y + 4, duration(seconds) + ("°" if old else ""), kind, 12, "end" if first_of_two else "start"))
    parts.append(_text(20, bottom + 40, words["axis"] + (words["old"] if any_old else ""), "soft", 12))
    for index, kind in enumerate(("fp32", "bf16")):
        parts.append(f'<circle class="{kind}" cx="{width - 150 + 76 * index}" cy="{bottom + 36}" r="6"/>')
        parts.append(_text(width - 140 + 76 * index, bottom + 40, kind, kind, 13))
    return "\n".join(parts) + "\n</svg>\n"


ENGLISH = {"title": "WKV on an H200: from the first kernel to tensor cores",
           "note": ["B=8, T=4096, 32 heads of 64. Dots: this repository.", "Dashed lines: public kernels, and the time that a copy of the bytes takes."],
           "axis": "milliseconds, log scale", "old": "; ° an earlier version of the kernel", "lines": {}, "rungs": {}}
CHINESE = {"title": "H200 上的 WKV：从第一个核函数到张量核心",
           "note": ["B=8，T=4096，32 个头，每头 64。圆点：本仓库。", "虚线：公开的核函数，以及只搬运这些字节所需的时间。"],
           "axis": "毫秒（对数坐标）", "old": "；° 该核函数的较早版本",
           "lines": {"bytes once, fp32": "字节只搬一次，fp32", "bytes once, bf16": "字节只搬一次，bf16", "FLA recurrent, fp32": "FLA 循环，fp32",
                     "FLA chunk, bf16": "FLA 分块，bf16"},
           "rungs": {"03  a thread per column, atomics": "03  每列一个线程，原子加", "04  sum in a register": "04  在寄存器中求和",
                     "05  16-byte loads": "05  16 字节加载", "06  rows in shared memory": "06  行放入共享内存",
                     "06  tiles of the state": "06  状态分块", "06  time tiles, copied ahead": "06  时间分块，提前拷贝",
                     "07  chunks on tensor cores": "07  张量核心上的分块"}}
