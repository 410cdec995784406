"""Makes Markdown tables from compare.py's JSON."""
import json
import pathlib

from blocks import OLD, OLD_LINES
from records import duration

from ladder_tools.recorded import COMPARE, is_old, launched_today

TITLES = {"wkv": "WKV (RWKV-6)", "gla": "Gated linear attention", "linear_attention": "Linear attention, causal, not normalised",
          "attention": "Softmax attention", "warmup": "Chapter 00: what moves bytes, and products of matrices"}


def same_conditions(one, other):
    """Whether the conditions agree, apart from the commit, because each row identifies its
    kernel."""
    def rest(document):
        return {name: value for name, value in document["conditions"].items() if name != "commit"}, document["settings"]

    return rest(one) == rest(other)


def read(paths):
    """One document from several files. A later file's case replaces an earlier one of the same
    name."""
    merged = None
    for path in paths:
        document = json.loads(pathlib.Path(path).read_text())
        if document.get("schema") != COMPARE:
            raise ValueError(f"{path} has the schema {document.get('schema')}; allowed: {COMPARE}")
        if merged is None:
            merged = document
            continue
        if not same_conditions(merged, document):
            raise ValueError(f"{path} was measured under other conditions than {paths[0]}: show them apart")
        commits = merged["conditions"]["commit"].split(", ")
        if document["conditions"]["commit"] not in commits:
            merged["conditions"]["commit"] = ", ".join([*commits, document["conditions"]["commit"]])
        new = {case["name"] for case in document["cases"]}
        merged["cases"] = [case for case in merged["cases"] if case["name"] not in new] + document["cases"]
    return merged


TIE = 0.01  # relative difference of times that count as equal
MUCH_LESS_EXACT = 10  # ratio of errors from which times are not compared


def errors_text(errors):
    if list(errors) == ["o"]:
        return f"{errors['o']:.2e}"
    return ", ".join(f"{name} {error:.2e}" for name, error in errors.items())


def _time_cell(timing, operations, moved=0):
    if timing is None:
        return ""
    rate = f", {operations / timing['seconds'] * 1e-12:.0f} TFLOP/s" if operations else ""
    if moved:
        rate = f", {moved / timing['seconds'] * 1e-12:.2f} TB/s"
    return duration(timing["seconds"]) + rate


def measured(row):
    return row.get("burst") is not None


def leader(case):
    """Our row to which the others are compared: the first measured one."""
    return next((row for row in case["rows"] if row["ours"] and measured(row)), None)


def remarks(case, row):
    """Remarks on a peer's row: that it is faster than each of ours, or more or less exact."""
    ours = [each for each in case["rows"] if each["ours"] and measured(each)]
    if row["ours"] or not measured(row) or not ours:
        return []
    said = [f"faster, {name}" for regime, name in (("burst", "burst"), ("sustained", "sustained"), ("whole", "whole call"))
            if row[regime] and all(row[regime]["seconds"] < (1 - TIE) * each[regime]["seconds"] for each in ours)]
    mine, theirs = leader(case)["errors"], row["errors"]
    shared = [name for name in theirs if name in mine]
    exact = [name for name in shared if theirs[name] < 0.95 * mine[name]]
    if exact:
        said.append("more exact" + ("" if exact == shared else f": {', '.join(exact)}"))
    factor = max((theirs[name] / mine[name] for name in shared if mine[name] > 0), default=0)
    if factor > MUCH_LESS_EXACT:
        said.append(f"error up to {factor:.0f} times ours" + (" (TF32)" if case["precision"] == "fp32" else ""))
    return said


def shape_of(case):
    sizes = ", ".join(f"{name}={value}" for name, value in case["sizes"].items())
    kind = ("forward and backward " if case["operator"].endswith("_backward") and case["group"] != "attention"
            else "gradients " if case["operator"].endswith("_backward") else "")
    return f"{kind}{case['precision']} {sizes}{', causal' if case['causal'] and case['group'] == 'attention' else ''}" \
           f"{', state in and out' if case['states'] else ''}"


def has_changed(case, row, launched):
    """Whether it is an old time of ours. `launched` comes from launched_today, or is None for a new
    measurement."""
    return launched is not None and row["ours"] and measured(row) and is_old(row, case["name"], row["name"], launched)


def group_table(cases, launched):
    lines = ["| | error | burst | sustained | times ours | whole call | |", "|---|---:|---:|---:|---:|---:|---|"]
    for case in cases:
        lines.append(f"| **{shape_of(case)}** | | | | | | |")
        first = leader(case)
        for row in case["rows"]:
            if not row["errors"] and not measured(row):
                lines.append(f"| {row['name']} | | | | | | {row['message']} |")
                continue
            cells = [row["name"] + (OLD if has_changed(case, row, launched) else ""), errors_text(row["errors"])]
            if measured(row):
                times = [] if first is None else [f"{row[regime]['seconds'] / first[regime]['seconds']:.2f}" for regime in ("burst", "sustained")]
                counts = (case["operations"], case.get("bytes", 0))
                cells += [_time_cell(row["burst"], *counts), _time_cell(row["sustained"], *counts), " / ".join(times),
                          _time_cell(row["whole"], 0), "; ".join(remarks(case, row) + ([row["message"]] if row["message"] else []))]
            else:
                cells += ["", "", "", "", row["message"]]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def conditions_text(document):
    c, s = document["conditions"], document["settings"]
    peers = "; ".join(f"{name} {version}" for name, version in c["peers"].items())
    opt_in = "; ".join(f"{kernels}: {state}" for kernels, state in c.get("opt_in", {}).items()) or "not looked for"
    return (f"{c['gpu']}, driver {c['driver']}, CUDA {c['cuda']}, PyTorch {c['torch']}, cuDNN {c['cudnn']}, Triton {c['triton']}, "
            f"{c['date']}, commit {c['commit']}. Peers: {peers}. What they have off by default: {opt_in}.\n\n"
            f"Burst: {s['burst_rounds']} samples of about {s['burst_seconds'] * 1e3:.0f} ms of the fastest side, each after a pause of "
            f"{s['pause_seconds']} s and one replay. Sustained: {s['sustained_rounds']} times {s['sustained_seconds']} s without a "
            "pause, of which the second half counts. Every side: graphs of the same number of calls over the same inputs. Medians. "
            "Whole call: from a call in Python until its result is there. Error: |x - truth| / |truth| over a sample, truth in "
            "float64. Times ours: burst / sustained, above 1 the peer is slower.")


def render(document, launched=None):
    parts = [conditions_text(document)]
    for group, title in TITLES.items():
        cases = [case for case in document["cases"] if case["group"] == group]
        if cases:
            parts += [f"## {title}", group_table(cases, launched)]
    if has_old(document, launched):
        parts.append(f"{OLD} {OLD_LINES[''].format(document['conditions']['commit'])}")
    return "\n\n".join(parts) + "\n"


def has_old(document, launched):
    return any(has_changed(case, row, launched) for case in document["cases"] for row in case["rows"])


def runs_of(files, launched):
    """One document for all files with the same conditions and settings, today's kernels first, then
    the latest. A case that was measured several times is only in the first."""
    groups = {}
    for path in files:
        document = json.loads(pathlib.Path(path).read_text())
        groups.setdefault(json.dumps([document.get("conditions"), document.get("settings")], sort_keys=True), []).append(path)
    runs = sorted((read(paths) for paths in groups.values()), reverse=True,
                  key=lambda run: (not has_old(run, launched), run["conditions"]["date"]))
    seen = set()
    for run in runs:
        run["cases"] = [case for case in run["cases"] if case["name"] not in seen]
        seen.update(case["name"] for case in run["cases"])
    return [run for run in runs if run["cases"]]


def page(files, root):
    """The contents of records/h200_compare.md."""
    names = ", ".join(f"`{path.relative_to(root / 'records')}`" for path in files)
    head = ("# Our kernels beside the public ones, on one stopwatch\n\nWritten by `tools/upkeep/render.py` from "
            f"{names}. How it is measured: [tools/upkeep/compare](../tools/upkeep/compare/README.md).\n\n")
    launched = launched_today(root / "records")
    return head + "\n".join(render(run, launched) for run in runs_of(files, launched))
