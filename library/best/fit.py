#!/usr/bin/env python3
"""Makes the table of costs that the rules compare, costs.inc, from the recorded times.

usage: library/best/fit.py best_which            writes costs.inc next to this file
       library/best/fit.py best_which --judge    fits one half of the recorded shapes, judges the
                                                 choice on the other half, and changes no file
       library/best/fit.py --record RUN.json     writes records/best_h200.json from the rows of
                                                 ./ladder run --json RUN.json

best_which is the program that `./ladder which` builds. It says what each kernel does for a shape:
blocks, waves, steps, chunks. A row of the table has the microseconds of each, at least 0, fitted by
least squares of relative errors. README.md says more."""
import collections
import json
import os
import random
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
sys.path.append(os.path.join(ROOT, "tools"))
from ladder_tools.recorded import BEST, as_rows, best_rows  # noqa: E402

DATA = ("kFp32", "kBf16", "kPlain", "kGeneral", "kAny")
NEAR, SHARE, WORST = 1.05, 0.97, 1.12  # times the fastest: near, the share of these, the most
HALVES = 5
PASSES = 4  # of the fit; each trusts times that fit badly less
TRUSTED = 0.02
RIDGE = 1e-5  # keeps terms that the shapes do not tell apart near 0


def solve(matrix, values):
    """x of matrix * x = values, by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, values)]
    n = len(rows)
    for a in range(n):
        pivot = max(range(a, n), key=lambda r: abs(rows[r][a]))
        rows[a], rows[pivot] = rows[pivot], rows[a]
        for r in range(n):
            factor = rows[r][a] / rows[a][a] if r != a else 0
            if factor:
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[a])]
    return [row[n] / row[a] for a, row in enumerate(rows)]


def least_squares(matrix, values):
    """Least squares of the normal equations, with no negative cost (Lawson and Hanson)."""
    n = len(values)
    x, used = [0.0] * n, []
    for _ in range(3 * n):
        rest = [values[a] - sum(matrix[a][b] * x[b] for b in used) for a in range(n)]
        best = max((a for a in range(n) if a not in used), key=lambda a: rest[a], default=None)
        if best is None or rest[best] < 1e-9:
            break
        used.append(best)
        while True:
            found = solve([[matrix[a][b] for b in used] for a in used], [values[a] for a in used])
            low = [(x[a] / (x[a] - z), a) for a, z in zip(used, found) if z <= 0]
            if not low:
                break
            share = min(low)[0]
            for a, z in zip(used, found):
                x[a] += share * (z - x[a])
            gone = min(low)[1]
            x[gone] = 0.0
            used.remove(gone)
        x = [0.0] * n
        for a, z in zip(used, found):
            x[a] = z
    return x


def fit_row(points):
    """The costs of [(terms, microseconds, share of the fastest kernel's time)]. Times of kernels
    that are far from the fastest matter less."""
    rows = [[term / us for term in terms] for terms, us, _ in points]
    size = [sum(row[a] ** 2 for row in rows) ** 0.5 or 1.0 for a in range(len(rows[0]))]
    rows = [[x / s for x, s in zip(row, size)] for row in rows]
    start = [share ** 0.5 for _, _, share in points]
    weights = start
    for _ in range(PASSES):
        squares = [w * w for w in weights]
        terms = range(len(size))
        matrix = [[sum(w * row[a] * row[b] for w, row in zip(squares, rows)) for b in terms]
                  for a in terms]
        for a in terms:
            matrix[a][a] += RIDGE
        values = [sum(w * row[a] for w, row in zip(squares, rows)) for a in terms]
        costs = least_squares(matrix, values)
        errors = [abs(sum(x * c for x, c in zip(row, costs)) - 1) for row in rows]
        weights = [s / max(e / TRUSTED, 1) ** 0.5 for s, e in zip(start, errors)]
    return [float(f"{c / s:.4g}") for c, s in zip(costs, size)]


def recorded_shapes(program):
    """((operator, precision), {kernel: microseconds}, {kernel: (row, terms)}) of each shape that
    the table decides."""
    with open(os.path.join(ROOT, "records/best_h200.json"), encoding="utf-8") as file:
        rows = list(best_rows(json.load(file)))
    asked = "".join(f"{g['operator']} {g['precision']} {s['T']} {s['H']} {s['K']} {s['V']}\n"
                    for g, s, _ in rows)
    said = subprocess.run([program, "terms"], input=asked, stdout=subprocess.PIPE, text=True,
                          check=True)
    shapes = []
    for (group, _, times), line in zip(rows, said.stdout.splitlines()):
        works = {name: (tuple(row), terms) for name, row, terms in json.loads(line)}
        if works:
            shapes.append(((group["operator"], group["precision"]),
                           {name: 1e6 * seconds for name, seconds in times.items()}, works))
    return shapes


def fit(shapes):
    """{row: costs}"""
    points = collections.defaultdict(list)
    for _, times, works in shapes:
        for name, (row, terms) in works.items():
            points[(name, *row)].append((terms, times[name], min(times.values()) / times[name]))
    return {row: fit_row(of_row) for row, of_row in sorted(points.items())}


def judge(table, shapes):
    """{operator and precision: [time of the choice / time of the fastest]}"""
    ratios = collections.defaultdict(list)
    for group, times, works in shapes:
        def cost(name):
            row, terms = works[name]
            return sum(x * c for x, c in zip(terms, table.get((name, *row), ())))
        choice = min(works, key=lambda name: cost(name) or float("inf"))
        ratios[group].append(times[choice] / min(times.values()))
    return ratios


def text_of(table):
    with open(os.path.join(HERE, "kernels.cpp"), encoding="utf-8") as file:
        ids = {name: kernel for kernel, name in re.findall(r'Kernel::(\w+): return "(\w+)"', file.read())}
    lines = ["// Written by library/best/fit.py: microseconds on an H200 for each term of a Work",
             "// (work.cpp). The columns in front: kernel, data, K up to, variant."]
    for (name, data, rows, variant), costs in table.items():
        row = f"Kernel::{ids[name]}, Data::{DATA[data]}, {rows}, {variant}"
        lines.append(f"{{{row}, {{{', '.join(f'{c:g}' for c in costs)}}}}},")
    return "\n".join([*lines, ""])


def four_digits(value):
    value = float(f"{value:.4g}")
    return int(value) if value.is_integer() else value


def document_of(runs):
    """The record. A row is T, H, K, V and the microseconds of its group's kernels, which see B * H
    only as a product."""
    groups, devices = {}, set()
    for run in sorted(runs, key=lambda run: [run["shape"][size] for size in "KVHT"]):
        s = run["shape"]
        timed = [row for row in run["rows"] if row["back_end"] == "cuda" and "seconds" in row]
        devices |= {row["device"] for row in timed}
        us = {row["implementation"]: four_digits(1e6 * row["seconds"]) for row in timed
              if not row["implementation"].startswith("best_")}
        rows = groups.setdefault((run["operator"], run["precision"], *sorted(us)), [])
        rows.append([s["T"], s["B"] * s["H"], s["K"], s["V"], *(us[name] for name in sorted(us))])
    if len(devices) != 1:
        sys.exit(f"fit.py: times of {len(devices)} GPUs; allowed: of one")
    first = {"date": runs[0]["date"], "device": devices.pop(), "conditions": runs[0]["conditions"]}
    return {"schema": BEST, "run": first,
            "groups": [{"operator": operator, "precision": precision, "implementations": names,
                        "rows": rows}
                       for (operator, precision, *names), rows in sorted(groups.items())]}


def judge_halves(shapes):
    """Prints how good the choice is on the halves that are not fitted. Returns what is wrong."""
    wrong = []
    for seed in range(HALVES):
        random.Random(seed).shuffle(shapes)
        ratios = judge(fit(shapes[::2]), shapes[1::2])
        ratios[("all",)] = [ratio for group in ratios.values() for ratio in group]
        for group, each in sorted(ratios.items()):
            share = sum(ratio <= NEAR for ratio in each) / len(each)
            said = (f"half {seed}, {', '.join(group)}: {len(each)} shapes, {100 * share:.1f} % "
                    f"within {NEAR - 1:.0%} of the fastest, worst {max(each):.2f}")
            print(said)
            if group == ("all",) and (share < SHARE or max(each) > WORST):
                wrong.append(said)
    return wrong


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--record":
        with open(arguments[1], encoding="utf-8") as file:
            document = document_of(json.load(file)["runs"])
        with open(os.path.join(ROOT, "records/best_h200.json"), "w", encoding="utf-8") as file:
            file.write(as_rows(document) + "\n")
        return
    if not arguments or arguments[1:] not in ([], ["--judge"]):
        sys.exit(__doc__)
    shapes = recorded_shapes(arguments[0])
    text, path = text_of(fit(shapes)), os.path.join(HERE, "costs.inc")
    if not arguments[1:]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return
    with open(path, encoding="utf-8") as file:
        wrong = [] if file.read() == text else ["costs.inc is not what fit.py writes"]
    sys.exit("\n".join(wrong + judge_halves(shapes)) or None)


if __name__ == "__main__":
    main(sys.argv[1:])
