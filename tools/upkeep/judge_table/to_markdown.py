#!/usr/bin/env python3
"""Markdown tables of what judge_table_emulated and judge_table_cuda print: to_markdown.py FILE.json..."""

import json
import sys


def worst(implementations, share):
    name = max(implementations, key=lambda n: implementations[n][share]["share"])
    return implementations[name][share]["share"], name, implementations[name][share]["case"]


def number(share):
    return f"{share:.2f}" if share < 1000 else "infinite"


def print_tables(data):
    old = any("old_whole" in i for c in data["classes"] for i in c["implementations"].values())
    shares = ["whole", "row", "element"] + (["old_whole", "old_row"] if old else [])
    head = ["class (operator, output, storage, arithmetic)", "runs", "whole", "row", "element"]
    head += ["above"] + (["old: whole", "old: row", "above"] if old else []) + ["nearest to its limit"]
    print("| " + " | ".join(head) + " |")
    print("|---|" + "---:|" * (len(head) - 2) + "---|")
    total = above = above_old = 0
    for c in data["classes"]:
        i = c["implementations"]
        found = {share: worst(i, share) for share in shares}
        nearest = max((found[s] for s in ("whole", "row", "element")), key=lambda f: f[0])
        counts = {k: sum(x.get(k, 0) for x in i.values()) for k in ("cases", "above", "above_old")}
        total, above, above_old = (total + counts["cases"], above + counts["above"], above_old + counts["above_old"])
        cells = [f"{c['operator']}, {c['output']}, {c['storage']}, {c['arithmetic']}", str(counts["cases"])]
        cells += [number(found[s][0]) for s in ("whole", "row", "element")] + [str(counts["above"])]
        if old:
            cells += [number(found[s][0]) for s in ("old_whole", "old_row")] + [str(counts["above_old"])]
        cells.append(f"{nearest[1]} `{nearest[2]}`")
        print("| " + " | ".join(cells) + " |")
    print(f"\n{total:,} arrays judged, {above} above their limit" + (f"; by the old rule {above_old}" if old else "") + ".\n")

    print("| planted fault | results | refused |" + (" by the old rule |" if old else ""))
    print("|---|---:|---:|" + ("---:|" if old else ""))
    faults = {}
    for c in data["classes"]:
        for fault, counts in c.get("planted", {}).items():
            faults.setdefault(fault, []).append(counts)
    for fault, counts in sorted(faults.items()):
        cases = sum(x["cases"] for x in counts)
        cells = [fault, str(cases)]
        for key in ["refused"] + (["refused_old"] if old else []):
            refused = sum(x[key] for x in counts)
            cells.append(f"{refused} ({100 * refused / cases:.1f} %)")
        print("| " + " | ".join(cells) + " |")


for file in sys.argv[1:]:
    with open(file, encoding="utf-8") as opened:
        data = json.load(opened)
    print(f"## {data['back_end']}" + (f", {data['seeds']} random small cases of each kind" if data["seeds"] else "") + "\n")
    print_tables(data)
    print()
