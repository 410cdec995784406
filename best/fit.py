#!/usr/bin/env python3
"""Fits what the rules compare, costs.inc, to a run of best_measure, and records the run.

usage: best/fit.py RUN.json      writes best/costs.inc and docs/results/best_h200.json, and says how good the choice is

The time of a kernel is nearly linear in what it walks through: steps, or chunks. A line is fitted for each kernel, form of data, width
of K and number of blocks, by least squares of relative errors. Chunks with segments of time are flat at first (more segments) and
then linear (longer ones).
"""
import collections
import json
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MULTIPROCESSORS = 132
ROWS = (32, 64, 128, 256)
# Lines are fitted for these, and straight lines in between are good enough; the other shapes measured show that.
HEADS = (4, 16, 32, 64, 128, 512)
HEADS_OF_SUMS = (1, 4, 8, 16, 32, 64, 128, 256, 512)
# Widths of the fit, for a form and a class of K.
SIZES = {
    ("kFp32", 32): 32, ("kFp32", 64): 64, ("kFp32", 128): 128, ("kFp32", 256): 256,
    ("kFp32Odd", 32): 31, ("kFp32Odd", 64): 63, ("kFp32Odd", 128): 65, ("kFp32Odd", 256): 201,
    ("kBf16", 32): 32, ("kBf16", 64): 64, ("kBf16", 128): 128, ("kBf16", 256): 256,
    ("kBf16Words", 32): 28, ("kBf16Words", 64): 36, ("kBf16Words", 128): 100, ("kBf16Words", 256): 196,
    ("kBf16Odd", 32): 31, ("kBf16Odd", 64): 63, ("kBf16Odd", 128): 65, ("kBf16Odd", 256): 201,
    ("kPlain", 32): 32, ("kPlain", 64): 64, ("kPlain", 128): 128, ("kPlain", 256): 256,
    ("kGeneral", 32): 32, ("kGeneral", 64): 64, ("kGeneral", 128): 128, ("kGeneral", 256): 256,
}
RECURRENCES = {"kTimeTiles": "wkv_time_tiles", "kChunkwiseFused": "wkv_chunkwise_fused", "kChunkwise": "wkv_chunkwise"}
SUMS = {"kPacked": "packed_causal_product", "kPrefix": "prefix_causal_product", "kChunkStates": "linear_attention_chunk_states",
        "kLinearChunkwise": "linear_attention_chunkwise"}


def width_class(K):
    return next(rows for rows in ROWS if K <= rows)


def form_of(shape):
    if shape["operator"] == "causal_dot_product":
        return "kPlain"
    if shape["operator"] == "linear_attention":
        return "kGeneral"
    K, V, name = shape["K"], shape["V"], "kFp32" if shape["precision"] == "fp32" else "kBf16"
    if K % 4 or V % 4:
        return name + "Odd"
    if name == "kBf16" and (K % 8 or V % 8):
        return name + "Words"
    return name


# What rules.cpp knows of the kernels, once more.
def chunk_of(form, rows):
    if form in ("kPlain", "kGeneral"):
        return 32 if rows <= 64 else 16
    if form.startswith("kFp32"):
        return 48 if rows <= 128 else 16
    return 64 if rows <= 128 else 32


def columns_of(kernel, rows):
    if kernel == "kPacked":
        return 16
    if kernel.startswith("kChunkwise") and rows == 128:
        return 128
    return 64


def blocks_of(kernel, shape):
    if kernel == "kChunkStates":  # 32 x 32 elements of the state
        return shape["H"] * shape["K"] * shape["V"] // 1024
    if kernel == "kPrefix":  # beyond one on each multiprocessor: whole waves
        blocks = shape["H"] * math.ceil(shape["V"] / 8)
        return blocks if blocks <= MULTIPROCESSORS else math.ceil(blocks / MULTIPROCESSORS) * MULTIPROCESSORS
    return shape["H"] * math.ceil(shape["V"] / columns_of(kernel, width_class(shape["K"])))


def features(kernel, form, rows, shape):
    T, chunk = shape["T"], chunk_of(form, rows)
    chunks = math.ceil(T / chunk)
    if kernel in ("kTimeTiles", "kChunkStates"):
        return (1, math.ceil(T / 8) * 8, 0)
    if kernel in ("kPacked", "kPrefix"):
        return (1, math.ceil(T / 32) * 32, 0)
    if kernel in ("kPackedShort", "kPrefixShort"):
        return (1, T, 0)
    if form in ("kFp32Odd", "kBf16Odd", "kBf16Words"):
        return (1, chunks, T)
    if form in ("kPlain", "kGeneral"):
        return (1, chunks, 0)
    full = shape["K"] == rows and shape["V"] % columns_of(kernel, rows) == 0
    return (1, chunks, (1 if T % chunk else 0) if full else chunks)


def rank(rows, columns):
    matrix = [[float(row[c]) for c in columns] for row in rows]
    found = 0
    for c in range(len(columns)):
        pivot = max(range(found, len(matrix)), key=lambda r: abs(matrix[r][c]), default=None)
        if pivot is None or abs(matrix[pivot][c]) < 1e-9:
            continue
        matrix[found], matrix[pivot] = matrix[pivot], matrix[found]
        for r in range(found + 1, len(matrix)):
            factor = matrix[r][c] / matrix[found][c]
            matrix[r] = [x - factor * y for x, y in zip(matrix[r], matrix[found])]
        found += 1
    return found


def least_squares(rows, values):
    """Of relative errors. A column that the others explain gets zero: there are too few lengths to tell them apart."""
    size = len(rows[0])
    used = []
    for c in range(size):
        if rank(rows, used + [c]) > len(used):
            used.append(c)
    matrix = [[sum(row[a] * row[b] / value**2 for row, value in zip(rows, values)) for b in used] +
              [sum(row[a] / value for row, value in zip(rows, values))] for a in used]
    n = len(used)
    for a in range(n):
        pivot = max(range(a, n), key=lambda r: abs(matrix[r][a]))
        matrix[a], matrix[pivot] = matrix[pivot], matrix[a]
        for r in range(n):
            if r != a:
                factor = matrix[r][a] / matrix[a][a]
                matrix[r] = [x - factor * y for x, y in zip(matrix[r], matrix[a])]
    result = [0.0] * size
    for a, c in enumerate(used):
        result[c] = matrix[a][n] / matrix[a][a]
    return result


def has_segments(kernel, form, rows, shape):
    """Whether the chunkwise kernel cuts time."""
    chunk = chunk_of(form, rows)
    if kernel == "kChunkwise":
        room = MULTIPROCESSORS * (2 if rows <= 64 else 1)
        return shape["T"] >= 4 * chunk and room >= 2 * blocks_of(kernel, shape)
    return kernel == "kLinearChunkwise" and math.ceil(shape["T"] / chunk) >= 8 and blocks_of(kernel, shape) <= MULTIPROCESSORS


def fit(shapes):
    """{(kernel, form, rows): [(blocks, a, b, c)]}; a segment's line has a kernel of its own, kSegments or kLinearSegments."""
    groups = collections.defaultdict(list)
    for shape in shapes:
        recurrence = shape["operator"] in ("wkv", "gla")
        if (recurrence and shape["T"] <= 1) or shape["H"] not in (HEADS if recurrence else HEADS_OF_SUMS) or shape["operator"] == "gla" or shape["precision"] == "bf16_fp32_decay":
            continue
        form, rows = form_of(shape), width_class(shape["K"]) if shape["K"] <= 256 else 0
        if shape["K"] != shape["V"] or SIZES.get((form, rows)) != shape["K"]:
            continue
        for kernel, name in (SUMS if form in ("kPlain", "kGeneral") else RECURRENCES).items():
            if name not in shape["us"]:
                continue
            segments = has_segments(kernel, form, rows, shape)
            if kernel == "kChunkwise" and not segments:
                continue
            if segments:
                kernel = "kSegments" if kernel == "kChunkwise" else "kLinearSegments"
            if kernel in ("kPacked", "kPrefix") and shape["T"] <= (32 if rows <= 64 else 16):
                kernel += "Short"
            groups[kernel, form, rows, shape["H"]].append((shape, shape["us"][name]))
    lines = collections.defaultdict(list)
    for (kernel, form, rows, _), points in sorted(groups.items()):
        points.sort(key=lambda point: point[0]["T"])
        key = {"kSegments": "kChunkwise", "kLinearSegments": "kLinearChunkwise"}.get(kernel, kernel.removesuffix("Short"))
        blocks = blocks_of(key, points[0][0])
        if kernel.endswith("Segments"):
            flat = min(us for _, us in points)
            longer = [(shape["T"], us) for shape, us in points if us > 1.1 * flat]
            line = (flat, 0.0)
            if len(longer) > 1:
                line = least_squares([(1, T) for T, _ in longer], [us for _, us in longer])
            elif longer:
                (T, us), (last_T, last_us) = ((p[0]["T"], p[1]) for p in points[-2:])
                slope = (last_us - us) / (last_T - T)
                line = (us - slope * T, slope)
            coefficients = (flat, *line)
        else:
            coefficients = least_squares([features(kernel, form, rows, p[0]) for p in points], [p[1] for p in points])
        lines[kernel, form, rows] = [line for line in lines[kernel, form, rows] if line[0] != blocks] + [(blocks, *coefficients)]
    # A class that was not measured is taken for its nearest neighbour.
    neighbours = {"kFp32Odd": ("kFp32", "kFp32Odd"), "kBf16Odd": ("kBf16Words", "kBf16Odd"), "kBf16Words": ("kBf16Words",)}
    for (form, rows) in SIZES:
        for kernel in ("kTimeTiles", "kChunkwiseFused", "kSegments"):
            if (kernel, form, rows) in lines or form not in neighbours:
                continue
            for other in neighbours[form]:
                found = [(abs(math.log2(r / rows)), r) for r in ROWS if (kernel, other, r) in lines]
                if found:
                    lines[kernel, form, rows] = lines[kernel, other, min(found)[1]]
                    print(f"not measured: {kernel} {form} K <= {rows}: as {other} K <= {min(found)[1]}")
                    break
    return {key: sorted(value) for key, value in lines.items()}


def write_costs(lines, run):
    text = ["// Generated by best/fit.py from a run of best_measure; do not edit. Microseconds on one " + run["device"] + "."]
    text += ["// Rows: line, form of the data, K up to, blocks, and the three coefficients of rules.cpp."]
    text += ["// clang-format off", f"inline constexpr int kMeasuredMultiprocessors = {MULTIPROCESSORS};", "inline constexpr Cost kCosts[] = {"]
    for (kernel, form, rows), points in sorted(lines.items()):
        for blocks, *coefficients in points:
            values = ", ".join(f"{float(f'{c:.4g}')!r}" for c in coefficients)
            text.append(f"    {{Line::{kernel}, Form::{form}, {rows}, {blocks}, {{{values}}}}},")
    text += ["};", "// clang-format on", ""]
    with open(os.path.join(HERE, "costs.inc"), "w", encoding="utf-8") as file:
        file.write("\n".join(text))


def record(run, shapes):
    """The run without what depends on nothing: a row is operator, precision, T, H, K, V and the microseconds of its kernels."""
    names = sorted({name for shape in shapes for name in shape["us"]})
    rows = [json.dumps([s["operator"], s["precision"], s["T"], s["H"], s["K"], s["V"],
                        {str(names.index(n)): float(f"{us:.4g}") for n, us in sorted(s["us"].items())}], separators=(",", ":"))
            for s in sorted(shapes, key=lambda s: (s["operator"], s["precision"], s["K"], s["V"], s["H"], s["T"]))]
    head = {key: run[key] for key in ("date", "device", "conditions")}
    with open(os.path.join(HERE, "../docs/results/best_h200.json"), "w", encoding="utf-8") as file:
        file.write('{"schema": "kernel-ladder/best-recorded/1",\n' + f'"run": {json.dumps(head)},\n' +
                   f'"implementations": {json.dumps(names)},\n"rows": [\n' + ",\n".join(rows) + "\n]}\n")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        run = json.load(file)
    shapes = run["shapes"]
    for shape in shapes:
        shape["us"] = {row["implementation"]: 1e6 * row["seconds"] for row in shape["rows"]
                       if "seconds" in row and not row["implementation"].startswith("best_")}
    write_costs(fit(shapes), run)
    record(run, shapes)


if __name__ == "__main__":
    main()
