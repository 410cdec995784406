"""What lies in records/: JSON with one row a line. A file that ./ladder run wrote, or that holds what it wrote of one operator on one machine, is a
list of runs; in records/ each has a name."""
import json

RUNS = "kernel-ladder/runs/1"
COMPARE = "kernel-ladder/compare/1"
BEST = "kernel-ladder/best-recorded/2"


def documents(folder):
    """(path, content) of each file, in the order of their names."""
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
    """(name, conditions, {implementation: row}) of each run and each case of a comparison: the rows that were measured on a GPU and are ours."""
    for run in runs_of(document):
        yield run["name"], run["conditions"], {row["implementation"]: row for row in run["rows"] if row["back_end"] == "cuda"}
    if document.get("schema") == COMPARE:
        for case in document["cases"]:
            yield case["name"], document["conditions"], {row["name"]: row for row in case["rows"] if row["ours"]}


def launched_in(record):
    """Of records/kernels.json: name of a run or case -> implementation -> the hash of what it launches today."""
    return {each["name"]: each["code"] for each in record["launched"]}


def launched_today(folder):
    path = folder / "kernels.json"
    return launched_in(json.loads(path.read_text())) if path.is_file() else {}


def is_old(row, name, implementation, launched):
    """Whether something else is launched for it today (launched_today) than was measured, or the row does not say what that was."""
    return row.get("code", "") != launched.get(name, {}).get(implementation)


def best_rows(document):
    """(group, shape, {implementation: seconds}) of each row of best_h200.json. A group is of one operator, precision and choice of implementations."""
    for group in document["groups"]:
        for T, H, K, V, *times in group["rows"]:
            yield group, {"T": T, "H": H, "K": K, "V": V}, {name: us * 1e-6 for name, us in zip(group["implementations"], times)}


def as_rows(value):
    """As the ladder's program writes it: a list of objects or of lists has a line for each, and nothing else has lines of its own."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{as_rows(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list) and any(isinstance(each, (dict, list)) for each in value):
        return "[\n" + ",\n".join(map(as_rows, value)) + "\n]"
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
