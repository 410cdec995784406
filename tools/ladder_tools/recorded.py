"""Reads records/: JSON with one row per line. A file from ./ladder run, or with its output for one
operator on one machine, is a list of runs; in records/ each run has a name."""
import json

RUNS = "kernel-ladder/runs/1"
COMPARE = "kernel-ladder/compare/1"
BEST = "kernel-ladder/best-recorded/2"


def documents(folder):
    """(path, content) of each file, sorted by name."""
    for path in sorted(folder.glob("*.json")):
        try:
            yield path, json.loads(path.read_text())
        except ValueError as error:
            raise ValueError(f"{path.name} is no JSON: {error}") from None


def runs_of(document):
    return document["runs"] if document.get("schema") == RUNS else []


def runs(folder):
    """(path, run) of each recorded run."""
    for path, document in documents(folder):
        for run in runs_of(document):
            yield path, run


def measured_in(document):
    """(name, conditions, {implementation: row}) of each run and each case of a comparison, with the
    rows of our kernels on a GPU."""
    for run in runs_of(document):
        yield run["name"], run["conditions"], {row["implementation"]: row for row in run["rows"] if row["back_end"] == "cuda"}
    if document.get("schema") == COMPARE:
        for case in document["cases"]:
            yield case["name"], document["conditions"], {row["name"]: row for row in case["rows"] if row["ours"]}


def launched_in(record):
    """From records/kernels.json: {name of a run or case: {implementation: the hash of its launch
    today}}."""
    return {each["name"]: each["code"] for each in record["launched"]}


def launched_today(folder):
    path = folder / "kernels.json"
    return launched_in(json.loads(path.read_text())) if path.is_file() else {}


def is_old(row, name, implementation, launched):
    """Whether today's launch (launched_today) differs from the measured one, or the row has no
    hash."""
    return row.get("code", "") != launched.get(name, {}).get(implementation)


def best_rows(document):
    """(group, shape, {implementation: seconds}) of each row of best_h200.json. A group has one
    operator, one precision and one choice of implementations."""
    for group in document["groups"]:
        for T, H, K, V, *times in group["rows"]:
            yield group, {"T": T, "H": H, "K": K, "V": V}, {name: us * 1e-6 for name, us in zip(group["implementations"], times)}


def as_rows(value):
    """JSON as the ladder's program writes it: one line per element of a list of objects or lists,
    and no other line breaks."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{as_rows(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list) and any(isinstance(each, (dict, list)) for each in value):
        return "[\n" + ",\n".join(map(as_rows, value)) + "\n]"
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
