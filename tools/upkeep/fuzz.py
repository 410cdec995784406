#!/usr/bin/env python3
"""Runs random problems on every implementation: builds the program, keeps it running, and counts
the outcomes."""
import argparse
import collections
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time

import nvcc
from ladder_tools.building import Build
from ladder_tools.place import Failed

OUTCOMES = ("right", "refused", "complaint", "wrong", "spread", "failed", "crash", "time")
# The outcomes that fail a run. "complaint" does not: the judge complained, but the result is near
# the truth.
BAD = ("wrong", "spread", "failed", "crash", "time")


class Worker(threading.Thread):
    """Runs every STEP-th case in one process, which restarts after a crash or an endless case, so
    that only this case is lost."""

    def __init__(self, command, first, step, cases, seconds, results):
        super().__init__(daemon=True)
        self.command, self.step, self.seconds, self.results = command, step, seconds, results
        self.next, self.end = first, first + step * cases

    def run(self):
        try:
            while self.next < self.end:
                self._one_process()
            self.results.put(None)
        except Exception as error:  # raised again by the reader of the results
            self.results.put(error)

    def _one_process(self):
        count = (self.end - self.next + self.step - 1) // self.step
        errors = tempfile.TemporaryFile("w+")
        process = subprocess.Popen([*self.command, "--first", str(self.next), "--step", str(self.step), "--cases", str(count)],
                                   stdout=subprocess.PIPE, stderr=errors, text=True)
        timed_out = threading.Event()
        current, known = None, {}

        def give_up():
            timed_out.set()
            process.kill()

        timer = None
        for line in process.stdout:
            record = json.loads(line)
            if "begins" in record:
                current, known = record["begins"], {}
                timer = threading.Timer(self.seconds, give_up)
                timer.daemon = True
                timer.start()
            elif "case" not in record:
                known |= record
            else:
                timer.cancel()
                self.results.put(record)
                current, self.next = None, record["case"] + self.step
        if timer:
            timer.cancel()
        status = process.wait()
        process.stdout.close()
        with errors:
            errors.seek(0)
            ended = f"ended with {status}: {errors.read().strip()[-500:]}"
        if current is None and status == 0:
            return
        if current is None:
            raise nvcc.ToolError(f"{self.command[0]} {ended}")
        outcome, message = ("time", f"no end in {self.seconds} s") if timed_out.is_set() else ("crash", ended)
        run = {"implementation": known.pop("implementation", "?"), "schedule": known.pop("schedule", "?"), "outcome": outcome,
               "message": message}
        self.results.put({"operator": "?", "name": "?", **known, "case": current, "seconds": 0, "runs": [run]})
        self.next = current + self.step


def run_cases(command, first, cases, jobs, seconds, heard):
    """Runs all cases and returns their records in order; `heard` is called as each ends."""
    results = queue.Queue()
    workers = [Worker(command, first + n, jobs, (cases - n + jobs - 1) // jobs, seconds, results) for n in range(min(jobs, cases))]
    for worker in workers:
        worker.start()
    found, running = [], len(workers)
    while running:
        record = results.get()
        if isinstance(record, Exception):
            raise record
        if record is None:
            running -= 1
        else:
            found.append(record)
            heard(record)
    return sorted(found, key=lambda record: record["case"])


def outcomes_of(records):
    """The number of runs with each outcome."""
    outcomes = collections.Counter(run["outcome"] for record in records for run in record["runs"])
    return {outcome: outcomes[outcome] for outcome in OUTCOMES if outcomes[outcome]}


def described(record, all_runs):
    lines = []
    for run in record["runs"]:
        if all_runs or run["outcome"] in BAD:
            lines.append(f"  {run['outcome']:9s} {run['implementation']} ({run['schedule']})"
                         + (f", error {run['error']:.3g}, {run['share']:.2f} of its limit" if "error" in run else "")
                         + "".join("\n            " + line for line in run.get("message", "").splitlines()))
    if lines:
        lines.insert(0, f"case {record['case']}: {record['operator']} {record['name']}"
                     + (f", {record['bad']}" if "bad" in record else ""))
    return lines


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="tools/upkeep/fuzz.py", description="Draws random problems and runs up to three implementations on each: sizes at and around "
        "tiles, empty batches and sequences, decays from -0 to -inf, values from 1e-22 to 1e18, now and then one NaN or inf, under a "
        "random schedule of the emulator. Ends with 0 when no result is wrong, 1 when one is.")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="which run (default: %(default)s)")
    parser.add_argument("--cases", type=int, default=200, metavar="N", help="default: %(default)s")
    parser.add_argument("--first", type=int, default=0, metavar="I", help="default: %(default)s")
    parser.add_argument("--case", type=int, metavar="I", help="this case of the seed only, with all that is known about it")
    parser.add_argument("--implementation", metavar="NAME", help="no other")
    parser.add_argument("--gpu", action="store_true", help="on this machine's GPU")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="default: all processors")
    parser.add_argument("--seconds", type=float, default=120, metavar="S", help="a case may take so long (default: %(default)s)")
    options = parser.parse_args(arguments)
    if options.cases < 1 or options.jobs < 1 or options.first < 0 or (options.case or 0) < 0:
        parser.error("--cases and --jobs allow 1 or more, --first and --case 0 or more")
    try:
        return execute(options)
    except (nvcc.ToolError, Failed) as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 2


def built(gpu):
    build, target = Build("cuda" if gpu else "emulator"), f"fuzz_{'cuda' if gpu else 'emulated'}"
    build.prepare(target)
    build.build(target)
    return build.folder / "tools/upkeep/fuzz_program" / target


def execute(options):
    command = [str(built(options.gpu)), "--seed", str(options.seed)]
    if options.implementation:
        command += ["--implementation", options.implementation]
    one = options.case is not None
    began, seen = time.monotonic(), collections.Counter()

    def heard(record):
        for line in described(record, all_runs=one):
            print(line, flush=True)
        seen.update(run["outcome"] for run in record["runs"])
        seen["cases"] += 1
        if seen["cases"] % 100 == 0:
            print(f"{seen['cases']} cases, {time.monotonic() - began:.0f} s: "
                  + ", ".join(f"{seen[outcome]} {outcome}" for outcome in OUTCOMES if seen[outcome]), file=sys.stderr, flush=True)

    which = (options.case, 1, 1) if one else (options.first, options.cases, options.jobs)
    records = run_cases(command, *which, options.seconds, heard)
    outcomes = outcomes_of(records)
    print(f"seed {options.seed}: {len(records)} cases, {sum(outcomes.values())} runs: "
          + ", ".join(f"{n} {outcome}" for outcome, n in outcomes.items()))
    return 1 if any(outcomes.get(outcome) for outcome in BAD) else 0


if __name__ == "__main__":
    sys.exit(main())
