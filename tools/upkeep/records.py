#!/usr/bin/env python3
"""Reads records/ by name: recorded runs of the ladder, comparisons with public kernels, sample
outputs, the X-ray's counts, and tables of figures whose program output was not kept. As a program,
it adds runs."""
import argparse
import json
import math
import sys
from pathlib import Path

import nvcc  # finds ladder_tools

from ladder_tools.place import write_whole
from ladder_tools.recorded import COMPARE, RUNS, as_rows, documents, is_old, launched_today, runs_of

SAMPLES = "kernel-ladder/samples/1"
TABLES = "kernel-ladder/tables/1"


class Missing(LookupError):
    """There is no record of that name."""


def three_digits(value):
    """Three significant digits, with trailing zeros: 27.0, 0.234, 482."""
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(float(f"{value:.3g}"))))
    return f"{value:.{max(0, 2 - exponent)}f}"


def unit_of(seconds):
    for unit, name in ((1, "s"), (1e-3, "ms")):
        if float(f"{seconds / unit:.3g}") >= 1:
            return unit, name
    return 1e-6, "us"


def duration(seconds):
    unit, name = unit_of(seconds)
    return f"{three_digits(seconds / unit)} {name}"


def durations(values):
    """Several times with one unit: 228 / 248 us."""
    unit, name = unit_of(max(values))
    return " / ".join(three_digits(value / unit) for value in values) + f" {name}"


def factor(value):
    return f"{value:.0f}x" if value >= 99.5 else f"{three_digits(value)}x"


def scientific(value):
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def xray_counts(document):
    """The counts of an X-ray's JSON that pages use: {implementation, or "implementation, kernel" if
    it launches several: {counter: number}}. "q threads" and "q warps" are the average numbers of
    threads, and of requests of warps, that load an element of q."""
    kernels = document["kernels"]
    names = [each["implementation"] for each in kernels]
    counts = {}
    for each in kernels:
        row = {name: number for name, number in each["counters"].items() if number}
        for buffer in each["buffers"]:
            for key, word in (("accesses_per_element", "threads"), ("requests_per_element", "warps")):
                # a tensor rather than scratch memory
                if buffer["loads"]["accesses"] and " " not in buffer["name"]:
                    row[f"{buffer['name']} {word}"] = buffer["loads"][key]["mean"]
        name = each["implementation"]
        counts[name if names.count(name) == 1 else f"{name}, {each['kernel']}"] = row
    return counts


def xray_sites(document, names):
    """The parts of an X-ray's JSON that a picture shows, for each of these kernels: the loading
    lines in the file's order, the number of requests that store o, and one request for k."""
    found = []
    for each in (each for name in names for each in document["kernels"] if each["implementation"] == name):
        loads = sorted((site for site in each["sites"] if site["operation"] == "global load"), key=lambda site: site["line"])
        request = next(step for step in each["steps"] if step["buffer"] == "k")
        found.append({"implementation": each["implementation"],
                      "loads": [{key: site[key] for key in ("file", "line", "text", "buffers", "access_bytes", "requests", "sectors")} for site in loads],
                      "stores": sum(site["requests"] for site in each["sites"] if site["operation"] == "global store"),
                      "request": {key: request[key] for key in ("buffer", "bytes", "lanes", "sectors")}})
    return found


def impossible(document):
    """A sentence about an impossible time in a run, one below its bound, or ""."""
    for row in document.get("rows", []):
        if row.get("seconds") and row.get("bound_seconds", 0) > row["seconds"]:
            return f"{row['implementation']} took {duration(row['seconds'])}, less than its bound of {duration(row['bound_seconds'])}: the bound is none"
    return ""


class Records:
    """All records in a tree's records/."""

    def __init__(self, root):
        self.root, folder = Path(root), Path(root) / "records"
        self.runs, self.cases, self.samples, self.tables = {}, {}, {}, {}
        self.launched = launched_today(folder)
        for path, document in documents(folder):
            schema = document.get("schema")
            for run in runs_of(document):
                wrong = impossible(run)
                if wrong:
                    raise ValueError(f"{path.name}: {wrong}")
                if run.get("name", "") in ("", *self.runs):
                    raise ValueError(f"{path.name}: a run's name is '{run.get('name', '')}'; allowed: one that no other run has (tools/upkeep/records.py)")
                self.runs[run["name"]] = run
            if schema == COMPARE:
                self._add_cases(document)
            elif schema == SAMPLES:
                self.samples.update(document["samples"])
            elif schema == TABLES:
                self.tables.update(document["tables"])
        self.runs = dict(sorted(self.runs.items()))

    def _add_cases(self, document):
        """Adds cases. A case that was measured several times has today's kernels' results,
        otherwise the latest ones."""
        def rank(case, conditions):
            return not any(row["ours"] and is_old(row, case["name"], row["name"], self.launched) for row in case["rows"]), conditions["date"]

        for case in document["cases"]:
            before = self.cases.get(case["name"])
            if before is None or rank(*before) <= rank(case, document["conditions"]):
                self.cases[case["name"]] = (case, document["conditions"])

    def value(self, name, row_name, field):
        """A placeholder's value. Raises Missing, or ValueError for an unknown field."""
        if name in self.runs:
            return self._of_run(name, row_name, field or "time")
        if name in self.cases:
            return self._of_case(name, row_name, field or "both")
        if name in self.tables:
            return self._of_table(name, row_name, field)
        if "counts" in self.samples.get(name, {}):
            return self._of_counts(name, row_name, field)
        raise Missing(f"{name} is no run, no case of a comparison, no table and no X-ray in records/")

    def table(self, name):
        """The whole table's lines in Markdown."""
        if name not in self.tables:
            raise Missing(f"no table is called {name}")
        table = self.tables[name]
        rules = {"l": "---", "r": "---:", "c": ":---:"}
        for row in table["rows"]:
            if len(row) != len(table["columns"]):
                raise ValueError(f"{name}: row {row[0]} has {len(row)} cells; allowed: {len(table['columns'])}")

        def line(row):
            return "|" + "".join(f" {cell} |" if cell else " |" for cell in row)

        return [line(table["columns"]), "|" + "|".join(rules[each] for each in table["align"]) + "|", *map(line, table["rows"])]

    def ceilings(self, device, key, scale, digits):
        """The smallest and the largest ceiling of all recorded runs."""
        found = [each[key] * scale for run in self.runs.values() for each in run["ceilings"] if each["device"] == device and each.get(key)]
        if not found:
            raise Missing(f"no run has {key} of {device}")
        return " to ".join(dict.fromkeys(f"{value:.{digits}f}" for value in (min(found), max(found))))

    def _of_table(self, name, row_name, column):
        table = self.tables[name]
        if column not in table["columns"]:
            raise Missing(f"{name} has no column {column}")
        for row in table["rows"]:
            if row[0] == row_name:
                return row[table["columns"].index(column)]
        raise Missing(f"{name} has no row {row_name}")

    def _of_counts(self, name, row_name, field):
        sample = self.samples[name]
        if row_name == "conditions":
            return f"commit {sample['commit']}, {sample['date']}"
        if row_name not in sample["counts"]:
            raise Missing(f"{name} has no kernel {row_name}; it has {'; '.join(sample['counts'])}")
        if field not in sample["counters"] and field not in sample["counts"][row_name]:
            raise Missing(f"{name}, {row_name}: nothing is called {field}")
        number = sample["counts"][row_name].get(field, 0)
        return f"{number:,.2f}".rstrip("0").rstrip(".") if number != int(number) else f"{int(number):,}"

    def all_runs(self, mark):
        """A table of all runs: name, computation, conditions, times. `mark` follows the times of
        kernels that have changed since."""
        lines = ["| run | operator | shape | commit, date | times |", "|---|---|---|---|---|"]
        for name, run in self.runs.items():
            usual = [key for key in ("B", "T", "T_q", "H", "H_kv", "K", "V") if key in run["shape"]]
            shape = ", ".join(f"{key}={run['shape'][key]}" for key in dict.fromkeys([*usual, *run["shape"]]))
            more = (", causal" if run.get("causal") else "") + (", states" if run.get("states") else "")
            more += "".join(f", {name}={value}" for name, value in run.get("options", {}).items())
            times = [f"`{row['implementation']}` {duration(row['seconds'])}{mark if self.is_old(name, row['implementation']) else ''}"
                     for row in run["rows"] if "seconds" in row and row["back_end"] != "emulator"]
            lines.append(f"| `{name}` | {run['operator']}, {run.get('precision', 'fp32')}{more} | {shape} | {run['conditions']['commit']}, {run['date']} | {', '.join(times)} |")
        return lines

    def all_rows(self, name, mark):
        """A table with a run's or a case's rows."""
        run = name in self.runs
        fields = ("time", "sustained", "call", "of bound", "error") if run else ("burst", "sustained", "whole", "TFLOP/s", "error")
        lines = [f"{name}: {self.value(name, 'conditions', '')}", "", f"| | {' | '.join(fields)} |", "|---|" + "---:|" * len(fields)]

        def cell(row, field):
            try:
                return self.value(name, row, field)
            except Missing:
                return "-"
        for row in (self.runs[name] if run else self.cases[name][0])["rows"]:
            row = row.get("implementation", row.get("name"))
            lines.append(f"| `{row}`{mark if self.is_old(name, row) else ''} | {' | '.join(cell(row, field) for field in fields)} |")
        return lines

    def sample(self, name):
        if name not in self.samples:
            raise Missing(f"no sample is called {name}")
        return self.samples[name]

    def is_old(self, name, row_name):
        """Whether the kernel's machine code or launch has changed since, or is not in the
        record."""
        if name in self.runs:
            row = self._row(self.runs[name], name, row_name)
            return row["back_end"] == "cuda" and is_old(row, name, row_name, self.launched)
        if name in self.cases:
            row = self._row(self.cases[name][0], name, row_name)
            return row["ours"] and is_old(row, name, row_name, self.launched)
        return False

    def commit(self, name):
        """The commit of a run or a case."""
        return (self.runs[name] if name in self.runs else {"conditions": self.cases[name][1]})["conditions"]["commit"]

    @staticmethod
    def _row(document, name, row_name):
        for row in document["rows"]:
            if row.get("implementation", row.get("name")) == row_name:
                return row
        raise Missing(f"{name} has no row {row_name}")

    def _of_run(self, name, row_name, field):
        run = self.runs[name]
        if row_name == "conditions":
            return f"commit {run['conditions']['commit']}, {run['date']}"
        if row_name.startswith("ceiling "):
            return self._ceiling(run, name, row_name.removeprefix("ceiling "), field)
        row = self._row(run, name, row_name)

        def need(key):
            if key not in row:
                raise Missing(f"{name}, {row_name}: no {key} was recorded")
            return row[key]

        if field.startswith("vs "):
            return factor(self._row(run, name, field.removeprefix("vs "))["seconds"] / need("seconds"))
        seconds = {"time": "seconds", "sustained": "sustained_seconds", "call": "end_to_end_seconds", "bound": "bound_seconds"}
        if field in seconds:
            return duration(need(seconds[field]))
        if field == "both":
            return durations([need("seconds"), need("sustained_seconds")])
        if field == "error":
            return scientific(need("error"))
        if field == "plain error":
            return scientific(need("plain_loop_error"))
        if field == "of bound":
            return f"{three_digits(100 * need('bound_seconds') / need('seconds'))} %"
        if field == "TFLOP/s":
            return f"{three_digits(2e-12 * run['fma_count'] / need('seconds'))}"
        if field == "TB/s":
            return f"{three_digits(1e-12 * run['bytes'] / need('seconds'))}"
        raise ValueError(f"field is {field}; allowed: {', '.join([*seconds, 'both', 'error', 'plain error', 'of bound', 'TFLOP/s', 'TB/s'])}, vs ROW")

    @staticmethod
    def _ceiling(run, name, device, field):
        """The ceilings for FMAs in fp32 and for copies, or one of them."""
        for each in run["ceilings"]:
            if device in each["device"]:
                both = {"FMA": f"{three_digits(2e-12 * each['fma_per_second'])} TFLOP/s", "copy": f"{three_digits(1e-9 * each['bytes_per_second'])} GB/s"}
                return both.get(field) or ", ".join(both.values())
        raise Missing(f"{name} has no ceilings of {device}")

    def _of_case(self, name, row_name, field):
        case, conditions = self.cases[name]
        if row_name == "conditions":
            return f"commit {conditions['commit']}, {conditions['date']}"
        row = self._row(case, name, row_name)

        def seconds(regime):
            if not row.get(regime):
                raise Missing(f"{name}, {row_name}: {regime} was not measured")
            return row[regime]["seconds"]

        if field.startswith(("vs ", "of ")):
            other = self._row(case, name, field[3:])
            if not other.get("burst"):
                raise Missing(f"{name}, {other['name']}: burst was not measured")
            times = other["burst"]["seconds"] / seconds("burst")
            return factor(times) if field.startswith("vs ") else f"{100 * times:.0f} %"
        if field in ("burst", "sustained", "whole"):
            return duration(seconds(field))
        if field == "both":
            return durations([seconds("burst"), seconds("sustained")])
        if field == "error":
            errors = list(row["errors"].values())
            if not errors:
                raise Missing(f"{name}, {row_name}: no error was recorded")
            return scientific(row["errors"].get("o", max(errors)))
        if field == "TFLOP/s":
            return " / ".join(three_digits(1e-12 * case["operations"] / seconds(regime)) for regime in ("burst", "sustained"))
        if field == "TB/s" and case.get("bytes"):
            return " / ".join(three_digits(1e-12 * case["bytes"] / seconds(regime)) for regime in ("burst", "sustained"))
        raise ValueError(f"field is {field}; allowed: burst, sustained, whole, both, error, TFLOP/s, TB/s, vs ROW, of ROW")


def add(files, folder):
    """Puts runs into the files of their operators and machines, CARD_OPERATOR.json, under the names
    of their own files, which begin with CARD_. Replaces runs of the same name. Returns the written
    paths."""
    written = []
    for file in files:
        new = runs_of(json.loads(file.read_text()))
        if not new or "_" not in file.stem:
            raise ValueError(f"{file}; allowed: CARD_NAME.json that ./ladder run --json wrote, such as h200_07_wkv_bf16_training.json")
        for run in new:
            path = folder / f"{file.stem.partition('_')[0]}_{run['operator']}.json"
            kept = {each["name"]: each for each in runs_of(json.loads(path.read_text()))} if path.exists() else {}
            name = file.stem if len(new) == 1 else f"{file.stem}_{run['operator']}_{run['precision']}"
            kept[name] = {"name": name, **run}
            write_whole(path, as_rows({"schema": RUNS, "runs": [each for _, each in sorted(kept.items())]}) + "\n")
            written.append(path)
    return written


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="tools/upkeep/records.py", description="Puts runs of ./ladder run into records/, each under its file's name.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="written by ./ladder run --json CARD_NAME.json")
    try:
        print("\n".join(f"written: {path}" for path in add(parser.parse_args(arguments).files, nvcc.ROOT / "records")))
    except (OSError, ValueError) as error:
        print(f"records: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
