#!/usr/bin/env python3
"""Makes Markdown tables from the output of judge_table_emulated and judge_table_cuda:
to_markdown.py FILE.json..."""

import json
import sys


def worst(implementations, share):
    name = max(implementations, key=lambda n: implementations[n][share]["share"])
    return implementations[name][share]["share"], name, implementations[name][share]["case"]


def number(share):
    return f"{share:.2f}" if share < 1000 else "infinite"


def print_tables(data):
    shares = ("whole", "row", "element", "slope", "leaning")
    print("| class (operator, output, storage, arithmetic) | runs | whole | row | element | slope | leaning | above | nearest to its limit |")
    print("|---|" + "---:|" * 7 + "---|")
    total = above = 0
    for c in data["classes"]:
        i = c["implementations"]
        found = [worst(i, share) for share in shares]
        nearest = max(found, key=lambda f: f[0])
        cases, wrong = (sum(x.get(k, 0) for x in i.values()) for k in ("cases", "above"))
        total, above = total + cases, above + wrong
        cells = [f"{c['operator']}, {c['output']}, {c['storage']}, {c['arithmetic']}", str(cases), *(number(f[0]) for f in found), str(wrong),
                 f"{nearest[1]} `{nearest[2]}`"]
        print("| " + " | ".join(cells) + " |")
    print(f"\n{total:,} arrays judged, {above} above their limit.\n")

    print("| planted fault | results | refused |\n|---|---:|---:|")
    faults = {}
    for c in data["classes"]:
        for fault, counts in c.get("planted", {}).items():
            faults.setdefault(fault, []).append(counts)
    for fault, counts in sorted(faults.items()):
        cases, refused = (sum(x[key] for x in counts) for key in ("cases", "refused"))
        print(f"| {fault} | {cases} | {refused} ({100 * refused / cases:.1f} %) |")


for file in sys.argv[1:]:
    with open(file, encoding="utf-8") as opened:
        data = json.load(opened)
    print(f"## {data['back_end']}" + (f", {data['seeds']} random small cases of each kind" if data["seeds"] else "") + "\n")
    print_tables(data)
    print()
