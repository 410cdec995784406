#!/usr/bin/env python3
"""Fits the costs that the rules compare, costs.inc, to the recorded times, and records a run of
best_measure.

usage: library/best/fit.py RECORD.json costs.inc    writes costs.inc; CMake calls this (costs.cmake)
       library/best/fit.py --record RUN.json        writes records/best_h200.json; the rules' test
                                                    reports how good the choice is

The time of a kernel is nearly linear in the number of its steps or chunks. A line is fitted for
each kernel, form of data, width of K and number of blocks, by least squares of relative errors. A
line that its neighbours give is left out."""
import collections
import json
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../../tools"))
from ladder_tools.recorded import BEST, as_rows, best_rows  # noqa: E402

MULTIPROCESSORS = 132
ROWS = (32, 64, 128, 256)
# Lines are fitted for these, and straight lines in between are good enough, as the other measured
# shapes show.
HEADS = (1, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
# for segments of time, whose number and length change with every number of heads
MORE_HEADS = (24, 48)
STRIP_STEPS = 2  # above it, the strips of chapter 03 are no candidate
BETWEEN = 0.04  # largest error of a line that is left out
# {(form, class of K): width in the fit}
SIZES = {
    ("kFp32", 32): 32, ("kFp32", 64): 64, ("kFp32", 128): 128, ("kFp32", 256): 256,
    ("kFp32Odd", 32): 31, ("kFp32Odd", 64): 63, ("kFp32Odd", 128): 65, ("kFp32Odd", 256): 201,
    ("kBf16", 32): 32, ("kBf16", 64): 64, ("kBf16", 128): 128, ("kBf16", 256): 256,
    ("kBf16Words", 32): 28, ("kBf16Words", 64): 36, ("kBf16Words", 128): 100, ("kBf16Words", 256): 196,
    ("kBf16Odd", 32): 31, ("kBf16Odd", 64): 63, ("kBf16Odd", 128): 65, ("kBf16Odd", 256): 201,
    ("kPlain", 32): 32, ("kPlain", 64): 64, ("kPlain", 128): 128, ("kPlain", 256): 256,
    ("kGeneral", 32): 32, ("kGeneral", 64): 64, ("kGeneral", 128): 128, ("kGeneral", 256): 256,
}
# A second width, for kernels whose time changes if their tile is not full.
NARROW = {("kChunkwiseFused", "kBf16", 64): 48, ("kChunkwiseFused", "kBf16", 128): 96, ("kChunkwiseFused", "kBf16", 256): 192}
RECURRENCES = {"kTimeTiles": "wkv_time_tiles", "kChunkwiseFused": "wkv_chunkwise_fused", "kChunkwise": "wkv_chunkwise"}
SUMS = {"kStrips": "causal_dot_product", "kPacked": "packed_causal_product", "kPrefix": "prefix_causal_product", "kChunkStates": "linear_attention_chunk_states",
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


# The kernels' properties, repeated from rules.cpp.
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
    if kernel == "kStrips":
        return shape["H"] * math.ceil(shape["V"] / 8)
    if kernel == "kChunkStates":  # 32 x 32 elements of the state
        return shape["H"] * shape["K"] * shape["V"] // 1024
    if kernel == "kPrefix":  # more than one per SM: whole waves
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
    if kernel == "kStrips":
        return (1, T, 0)
    if kernel in ("kPackedShort", "kPrefixShort"):
        return (1, T, 1 if T > 1 else 0)
    if kernel in ("kSegments", "kLinearSegments"):
        return (1, *longest_segment(kernel, form, rows, shape))
    if form in ("kFp32Odd", "kBf16Odd", "kBf16Words"):
        return (1, chunks, T)
    if form in ("kPlain", "kGeneral"):
        return (1, chunks, T)
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
    """Least squares of relative errors. A column that the others explain gets zero, because there
    are too few lengths to distinguish them."""
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


def through_zero(rows, values):
    """Least squares, through zero if the constant would be negative, because shorter segments than
    the measured ones occur."""
    costs = least_squares(rows, values)
    return costs if costs[0] >= 0 else [0.0, *least_squares([row[1:] for row in rows], values)]


def has_segments(kernel, form, rows, shape):
    """Whether the chunkwise kernel cuts time."""
    chunk = chunk_of(form, rows)
    if kernel == "kChunkwise":
        return shape["T"] >= 4 * chunk and 2 * blocks_of(kernel, shape) <= MULTIPROCESSORS
    return kernel == "kLinearChunkwise" and math.ceil(shape["T"] / chunk) >= 8 and blocks_of(kernel, shape) <= MULTIPROCESSORS


def longest_segment(kernel, form, rows, shape):
    """(the chunks of the longest segment, the number of segments)"""
    sums = kernel == "kLinearSegments"
    places = MULTIPROCESSORS * (2 if sums or rows <= 64 else 1)
    blocks = blocks_of("kLinearChunkwise" if sums else "kChunkwise", shape)
    chunks = math.ceil(shape["T"] / chunk_of(form, rows))
    segments = max(1, min(places // blocks, chunks // 4 if sums else shape["T"] // (2 * chunk_of(form, rows))))
    return math.ceil(chunks / segments), segments


def line_at(coefficients, at):
    return sum(c * x for c, x in zip(coefficients, at))


def without_those_between(lines, at):
    """Removes lines between others. lines: {blocks: coefficients}; at: {blocks: features of its
    shapes}. The first and the last line stay."""
    def error(kept, blocks):
        below, above = max(b for b in kept if b < blocks), min(b for b in kept if b > blocks)
        share = (blocks - below) / (above - below)
        return max(abs(((1 - share) * line_at(lines[below], x) + share * line_at(lines[above], x)) / line_at(lines[blocks], x) - 1)
                   for x in at[blocks])
    kept = sorted(lines)
    while True:
        errors = []
        for candidate in kept[1:-1]:
            rest = [b for b in kept if b != candidate]
            errors.append((max(error(rest, b) for b in lines if b not in rest), candidate))
        if not errors or min(errors)[0] > BETWEEN:
            return [(b, *lines[b]) for b in kept]
        kept.remove(min(errors)[1])


def fit(shapes):
    """{(kernel, form, rows): [(blocks, a, b, c)]}. Lines for segments have kernels of their own,
    kSegments and kLinearSegments."""
    groups = collections.defaultdict(list)
    for shape in shapes:
        recurrence = shape["operator"] in ("wkv", "gla")
        if (recurrence and shape["T"] <= 1) or shape["H"] not in HEADS + MORE_HEADS or shape["operator"] == "gla" or shape["precision"] == "bf16_fp32_decay":
            continue
        form, rows = form_of(shape), width_class(shape["K"]) if shape["K"] <= 256 else 0
        if shape["K"] != shape["V"]:
            continue
        for kernel, name in (SUMS if form in ("kPlain", "kGeneral") else RECURRENCES).items():
            if name not in shape["us"] or shape["K"] not in (SIZES.get((form, rows)), NARROW.get((kernel, form, rows))):
                continue
            if kernel == "kStrips" and shape["T"] > STRIP_STEPS:
                continue
            segments = has_segments(kernel, form, rows, shape)
            if kernel == "kChunkwise" and not segments:
                continue
            if shape["H"] not in HEADS + (MORE_HEADS if segments else ()):
                continue
            if segments:
                kernel = "kSegments" if kernel == "kChunkwise" else "kLinearSegments"
            if kernel in ("kPacked", "kPrefix") and shape["T"] <= (32 if rows <= 64 else 16):
                kernel += "Short"
            groups[kernel, form, rows, shape["H"]].append((shape, shape["us"][name]))
    lines, features_at = collections.defaultdict(dict), collections.defaultdict(dict)
    for (kernel, form, rows, _), points in sorted(groups.items()):
        points.sort(key=lambda point: point[0]["T"])
        key = {"kSegments": "kChunkwise", "kLinearSegments": "kLinearChunkwise"}.get(kernel, kernel.removesuffix("Short"))
        blocks = blocks_of(key, points[0][0])
        at = [features(kernel, form, rows, p[0]) for p in points]
        lines[kernel, form, rows][blocks] = (through_zero if kernel == "kSegments" else least_squares)(at, [p[1] for p in points])
        features_at[kernel, form, rows][blocks] = at
    lines = {key: without_those_between(lines[key], features_at[key]) for key in lines}
    for form, rows in SIZES:
        for kernel in (SUMS if form in ("kPlain", "kGeneral") else RECURRENCES):
            needed = {"kChunkwise": "kSegments"}.get(kernel, kernel)
            if (needed, form, rows) not in lines and (needed, form) != ("kStrips", "kGeneral"):
                sys.exit(f"the run has no shape for {needed}, {form}, K up to {rows}; it was too short")
    return lines


def costs(lines, run):
    text = ["// Written by library/best/fit.py. Microseconds on one " + run["device"] + "."]
    text += ["// Rows: line, form of the data, K up to, blocks, and the three coefficients of rules.cpp."]
    text += [f"inline constexpr int kMeasuredMultiprocessors = {MULTIPROCESSORS};", "inline constexpr Cost kCosts[] = {"]
    for (kernel, form, rows), points in sorted(lines.items()):
        for blocks, *coefficients in points:
            values = ", ".join(f"{float(f'{c:.4g}')!r}" for c in coefficients)
            text.append(f"    {{Line::{kernel}, Form::{form}, {rows}, {blocks}, {{{values}}}}},")
    return "\n".join([*text, "};", ""])


def four_digits(value):
    value = float(f"{value:.4g}")
    return int(value) if value.is_integer() else value


def record(run, shapes):
    """Writes the record, a run without what follows from the rest. A row is T, H, K, V and the
    microseconds of its group's kernels."""
    groups = {}
    for s in sorted(shapes, key=lambda s: (s["K"], s["V"], s["H"], s["T"])):
        rows = groups.setdefault((s["operator"], s["precision"], *sorted(s["us"])), [])
        rows.append([s["T"], s["H"], s["K"], s["V"], *(four_digits(s["us"][name]) for name in sorted(s["us"]))])
    document = {"schema": BEST, "run": {key: run[key] for key in ("date", "device", "conditions")},
                "groups": [{"operator": operator, "precision": precision, "implementations": names, "rows": rows}
                           for (operator, precision, *names), rows in sorted(groups.items())]}
    with open(os.path.join(HERE, "../../records/best_h200.json"), "w", encoding="utf-8") as file:
        file.write(as_rows(document) + "\n")


def main(arguments):
    if len(arguments) != 2:
        sys.exit(__doc__)
    if arguments[0] == "--record":
        with open(arguments[1], encoding="utf-8") as file:
            run = json.load(file)
        shapes = run["shapes"]
        for shape in shapes:
            shape["us"] = {row["implementation"]: 1e6 * row["seconds"] for row in shape["rows"]
                           if "seconds" in row and not row["implementation"].startswith("best_")}
        record(run, shapes)
        return
    with open(arguments[0], encoding="utf-8") as file:
        document = json.load(file)
    lines = fit([{"operator": group["operator"], "precision": group["precision"], **shape, "us": {name: 1e6 * seconds for name, seconds in times.items()}}
                 for group, shape, times in best_rows(document)])
    os.makedirs(os.path.dirname(arguments[1]), exist_ok=True)
    with open(arguments[1], "w", encoding="utf-8") as file:
        file.write(costs(lines, document["run"]))


if __name__ == "__main__":
    main(sys.argv[1:])
