"""Draws the pictures of the X-ray and of the ladder as SVG with a background, readable on light and
dark pages."""
import math
from xml.sax.saxutils import escape

from records import duration

SANS = "font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Noto Sans SC', sans-serif\""
STYLE = """<style>
.ground{fill:#ffffff}.ink{fill:#1f2328}.soft{fill:#59636e}.grid{stroke:#d8dee4}
.fp32{fill:#0969da;stroke:#0969da}.bf16{fill:#bc4c00;stroke:#bc4c00}
@media (prefers-color-scheme: dark){.ground{fill:#161b22}.ink{fill:#e6edf3}.soft{fill:#9198a1}.grid{stroke:#3d444d}
.fp32{fill:#58a6ff;stroke:#58a6ff}.bf16{fill:#f0883e;stroke:#f0883e}}
.line{stroke-dasharray:5 4;fill:none}.word{paint-order:stroke;stroke:#ffffff;stroke-width:4px;stroke-linejoin:round}
@media (prefers-color-scheme: dark){.word{stroke:#161b22}}
.code{font-size:11px;font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}
</style>"""


def number(value):
    return f"{round(value, 1) + 0:g}"


def text(x, y, words, classes="ink", size=13, anchor="start", more=""):
    anchored = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{number(x)}" y="{number(y)}" class="{classes} word" font-size="{size}"{anchored}{more}>{escape(words)}</text>'


def _code(x, y, words):
    return f'<text x="{number(x)}" y="{number(y)}" class="ink code" xml:space="preserve">{escape(words)}</text>'


def _shortened(text, most):
    return text if len(text) <= most else text[:most - 4].rstrip() + " ..."


# a kernel's width, the distance to the next, loads per row, the margin
PANEL, BESIDE, ACROSS, LEFT = 402, 432, 64, 20


def _boxes(corners, width, height, kind, look='stroke="none"'):
    """Boxes as one path element."""
    path = "".join(f"M{number(x)},{number(y)}h{number(width)}v{number(height)}h-{number(width)}z" for x, y in corners)
    return f'<path class="{kind}" {look} d="{path}"/>'


def _loads(kernel, x, y, kind):
    """The loading lines of a kernel, with a small box for each load that a warp makes for its 32
    elements of o; and the y where that ends."""
    parts = []
    for site in kernel["loads"]:
        count = site["requests"] // kernel["stores"]
        parts.append(_code(x, y, f"{site['line']:3}  {_shortened(site['text'], 42)}"))
        parts.append(text(x + PANEL, y, f"{count} x {site['access_bytes']} bytes", "soft", 11, "end"))
        parts.append(_boxes(((x + 6.2 * (each % ACROSS), y + 6 + 11 * (each // ACROSS)) for each in range(count)), 4.4, 8, kind))
        y += 32 + 11 * -(-count // ACROSS)
    return parts, y


def _request(request, x, y, kind):
    """One load: 32 lanes above the bytes of the sectors that they read."""
    pitch, size = PANEL / 32, 32 * request["sectors"]
    begin = min(request["lanes"]) // 32 * 32
    byte = PANEL / size
    parts = [text(x, y - 8, f"one of them: all 32 threads read the same {request['bytes']} bytes of {request['buffer']}", "soft", 11.5)]
    middles = [x + (at - begin + request["bytes"] / 2) * byte for at in request["lanes"]]
    lines = "".join(f"M{number(x + pitch * (lane + 0.5))},{y + 10}L{number(middle)},{y + 44}" for lane, middle in enumerate(middles))
    parts.append(f'<path class="grid" stroke-width="0.8" d="{lines}"/>')
    parts.append(_boxes(((x + pitch * lane + 1.2, y) for lane in range(len(middles))), pitch - 2.4, 10, kind))
    read = {at - begin + each for at in request["lanes"] for each in range(request["bytes"])}
    for bytes_, *look in ((read, kind), (set(range(size)) - read, "grid", 'fill="none"')):
        parts.append(_boxes(((x + byte * each + 0.8, y + 44) for each in sorted(bytes_)), byte - 1.6, 12, *look))
    parts.append(text(x, y + 74, f"{request['sectors']} sector{'s' * (request['sectors'] > 1)} of 32 bytes moves", "soft", 11.5))
    return parts


def xray(sample):
    """The X-ray's counts of two kernels side by side."""
    panels, lowest = [], 0
    for at, (kernel, kind) in enumerate(zip(sample["sites"], ("bf16", "fp32"))):
        x, total = LEFT + BESIDE * at, sum(site["requests"] for site in kernel["loads"]) // kernel["stores"]
        parts, y = _loads(kernel, x, 84, kind)
        panels.append([text(x, 56, f"{kernel['loads'][0]['file']}: {total} loads", size=14, more=' font-weight="600"'), *parts])
        lowest = max(lowest, y)
    for at, (kernel, kind) in enumerate(zip(sample["sites"], ("bf16", "fp32"))):
        panels[at] += _request(kernel["request"], LEFT + BESIDE * at, lowest + 18, kind)
    width, height, title = 2 * LEFT + BESIDE + PANEL, lowest + 106, f"{sample['command'].partition(' --')[0]}: what a warp of 32 threads loads for 32 elements of o"
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
             f'aria-label="{escape(title)}" {SANS}>', STYLE, f'<rect class="ground" width="{width}" height="{height}" rx="8"/>',
             text(LEFT, 28, title, "soft", 13), *(each for panel in panels for each in panel)]
    return "\n".join(parts) + "\n</svg>\n"


# The plot's shape is B=8, T=4096, H=32, K=V=64 on an H200.
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
    """(label, seconds, class) of every vertical line with a record."""
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
    """Its seconds, and whether the kernel has changed since; None without a record."""
    if place is None or place[0] not in records.runs:
        return None
    row = next((row for row in records.runs[place[0]]["rows"] if row["implementation"] == place[1]), {})
    return (row["seconds"], records.is_old(*place)) if "seconds" in row else None


def ladder(records):
    """A dot for every kernel in fp32 and in bf16; lines for the bound and the public kernels."""
    title = "WKV on an H200: from the first kernel to tensor cores"
    note = ("B=8, T=4096, 32 heads of 64. Dots: this repository.", "Dashed lines: public kernels, and the time that a copy of the bytes takes.")
    left, right, top, step = 24, 84, 150, 44
    width = 640
    bottom = top + step * len(RUNGS)
    height = bottom + 62
    low, high = 1e-4, 4e-2
    scale = (width - left - right) / math.log10(high / low)

    def x(seconds):
        return left + scale * math.log10(seconds / low)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
             f'aria-label="{escape(title)}" {SANS}>', STYLE, f'<rect class="ground" width="{width}" height="{height}" rx="8"/>',
             text(20, 28, title, size=16, more=' font-weight="600"'),
             *(text(20, 48 + 16 * n, line, "soft", 12) for n, line in enumerate(note))]
    for exponent in range(-4, -1):
        for digit in (1, 2, 5):
            seconds = digit * 10.0**exponent
            if low <= seconds <= high:
                parts.append(f'<line class="grid" x1="{number(x(seconds))}" x2="{number(x(seconds))}" y1="{top - 6}" y2="{bottom}" stroke-width="{1 if digit == 1 else 0.5}"/>')
                parts.append(text(x(seconds), bottom + 18, f"{seconds * 1e3:g}", "soft", 11, "middle"))
    for n, (label, seconds, kind) in enumerate(sorted(ladder_lines(records), key=lambda each: each[1])):
        y = 84 + 15 * (n % 5)
        parts.append(f'<line class="{kind} line" x1="{number(x(seconds))}" x2="{number(x(seconds))}" y1="{y + 4}" y2="{bottom}" stroke-width="1.5"/>')
        parts.append(text(x(seconds) + 4, y + 2, f"{label}: {duration(seconds)}", kind, 11.5))
    any_old = False
    for n, (label, *places) in enumerate(RUNGS):
        y = top + step * n + 30
        parts.append(text(20, y - 14, label, size=12.5))
        shown = sorted((*time, kind) for place, kind in zip(places, ("fp32", "bf16")) if (time := _time(records, place)))
        any_old = any_old or any(old for _, old, _ in shown)
        for index, (seconds, old, kind) in enumerate(shown):
            parts.append(f'<circle class="{kind}" cx="{number(x(seconds))}" cy="{number(y)}" r="6"/>')
            first_of_two = len(shown) == 2 and index == 0
            parts.append(text(x(seconds) + (-10 if first_of_two else 10), y + 4, duration(seconds) + ("°" if old else ""), kind, 12, "end" if first_of_two else "start"))
    parts.append(text(20, bottom + 40, "milliseconds, log scale" + ("; ° measured before the kernel's machine code changed" if any_old else ""), "soft", 12))
    for index, kind in enumerate(("fp32", "bf16")):
        parts.append(f'<circle class="{kind}" cx="{width - 150 + 76 * index}" cy="{bottom + 36}" r="6"/>')
        parts.append(text(width - 140 + 76 * index, bottom + 40, kind, kind, 13))
    return "\n".join(parts) + "\n</svg>\n"
