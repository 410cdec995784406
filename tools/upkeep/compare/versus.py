#!/usr/bin/env python3
"""Compares two builds of the ladder's program, such as an old commit's and today's, on the same
cases and one GPU, alternately: old, new, old, new, old, new. A case whose three pairs all differ by
more than 3 % has changed, so find, fix or explain the cause.

    versus.py OLD_PROGRAM NEW_PROGRAM [--cases FILE] [--out FILE.json]

A line of the cases, versus.txt beside this file, contains the program's arguments, with one
implementation. Ends with 1 if a case became slower."""
import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

CASES = Path(__file__).with_name("versus.txt")
ROUNDS = 3
TOLD = 0.03  # relative difference in every pair


class Unmeasured(Exception):
    pass


def cases_of(text):
    """[[argument, ...]]"""
    return [shlex.split(line) for line in text.splitlines() if line.strip() and not line.startswith("#")]


def seconds(program, arguments):
    """The time in the case's only row. Raises Unmeasured with a reason if there is none, for
    example if the program does not have the implementation."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        done = subprocess.run([program, *arguments, "--json", path], capture_output=True, text=True)
        try:
            document = json.loads(path.read_text())
            # before 2026-11-29 each run was a file
            [row] = (document["runs"][0] if "runs" in document else document)["rows"]
        except (OSError, ValueError, KeyError) as error:
            raise Unmeasured((done.stderr.strip() or done.stdout.strip() or str(error)).splitlines()[-1]) from None
        if not row.get("right") or "seconds" not in row:
            raise Unmeasured(row.get("message") or "not timed: no GPU")
        return row["seconds"]


def verdict(pairs):
    """"slower", "faster" or "" for [(old, new), ...]."""
    ratios = [new / old for old, new in pairs]
    if all(ratio > 1 + TOLD for ratio in ratios):
        return "slower"
    return "faster" if all(ratio < 1 - TOLD for ratio in ratios) else ""


def measured(old, new, arguments):
    pairs = [(seconds(old, arguments), seconds(new, arguments)) for _ in range(ROUNDS)]
    return {"case": shlex.join(arguments), "pairs": pairs, "verdict": verdict(pairs)}


def line_of(row):
    pairs = ", ".join(f"{old * 1e6:.4g} -> {new * 1e6:.4g} us" for old, new in row["pairs"])
    return f"{row['case']}\n    {pairs or row['message']}{'  <- ' + row['verdict'] if row['verdict'] else ''}"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", metavar="OLD_PROGRAM")
    parser.add_argument("new", metavar="NEW_PROGRAM")
    parser.add_argument("--cases", type=Path, default=CASES, metavar="FILE")
    parser.add_argument("--out", type=Path, metavar="FILE.json")
    options = parser.parse_args(arguments)
    rows = []
    for case in cases_of(options.cases.read_text()):
        try:
            rows.append(measured(options.old, options.new, case))
        except Unmeasured as why:
            rows.append({"case": shlex.join(case), "pairs": [], "verdict": "", "message": str(why)})
        print(line_of(rows[-1]), flush=True)
    if options.out:
        options.out.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    slower = sum(row["verdict"] == "slower" for row in rows)
    print(f"{len(rows)} cases, {slower} slower, {sum(not row['pairs'] for row in rows)} not measured")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
