#!/usr/bin/env python3
"""Records the sample outputs and X-ray counts that pages show, in records/samples.json: runs their
commands and keeps the output, or compares it with today's."""
import argparse
import contextlib
import datetime
import json
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import nvcc
from ladder_tools.patches import holes_of, without_lines_of
from ladder_tools.place import exercise_of
from records import xray_counts, xray_sites

ROOT = nvcc.ROOT
SAMPLES = Path("records/samples.json")


class Wrong(ValueError):
    """A sample that cannot be taken, and the reason."""


def solution(writes):
    """A beginner's file: the exercise's stub with these lines in one hole; with `others`, our
    kernel with them."""
    exercise = exercise_of(writes["exercise"])
    if writes.get("others"):
        return exercise, holes_of(exercise).filled(writes["hole"], [writes["lines"]])[0]
    stub, todo = without_lines_of(writes["hole"], exercise.text), f"TODO({writes['hole']})"
    at = next(number for number, line in enumerate(stub) if todo in line)
    return exercise, "\n".join(stub[:at] + writes["lines"] + [line for line in stub[at:] if todo not in line]) + "\n"


@contextlib.contextmanager
def written(sample):
    """A folder my/ with only the file that the sample needs. An existing one is moved aside
    meanwhile."""
    if "writes" not in sample:
        yield
        return
    folder, aside = ROOT / "my", ROOT / "my.aside"
    exercise, text = solution(sample["writes"])
    if folder.exists():
        folder.rename(aside)
    try:
        (ROOT / exercise.mine).parent.mkdir(parents=True)
        (ROOT / exercise.mine).write_text(text)
        yield
    finally:
        shutil.rmtree(folder)
        if aside.exists():
            aside.rename(folder)


def wrapped(line, columns):
    """The lines of a terminal with that width; continuations are indented by two more than the
    line."""
    indent = len(line) - len(line.lstrip())
    return textwrap.wrap(line, columns, subsequent_indent=" " * (indent + 2), drop_whitespace=True, break_long_words=False, break_on_hyphens=False) or [""]


def shown(sample, said):
    """The lines of a command's output that a page shows: without those that match `without`,
    without text that matches `cut`, wrapped at `columns`."""
    dropped = re.compile(sample.get("without", r"^(ladder|written): "))
    lines = "\n".join(line.rstrip() for line in said.split("\n") if not dropped.search(line)).strip("\n").split("\n")
    if "cut" in sample:
        lines = [re.sub(sample["cut"], "", line) for line in lines]
    return [piece for line in lines for piece in (wrapped(line, sample["columns"]) if "columns" in sample else [line])]


def taken(sample):
    """Today's output of the sample's command in the recorded form: {"lines": ...}, or a part of the
    X-ray's JSON."""
    before = subprocess.run(["bash", "-c", sample.get("before", "true")], cwd=ROOT, capture_output=True, text=True)
    if before.returncode != 0:
        raise Wrong(before.stderr.strip())
    with written(sample):
        said = subprocess.run(["bash", "-c", sample["command"]], cwd=ROOT, capture_output=True, text=True).stdout
    return of_json(sample, ROOT / sample["json"]) if "json" in sample else {"lines": shown(sample, said)}


def of_json(sample, path):
    document = json.loads(path.read_text())
    if "kernels" in sample:
        return {"sites": xray_sites(document, sample["kernels"])}
    return {"counters": [each["name"] for each in document["counters"]], "counts": xray_counts(document)}


def _read():
    return json.loads((ROOT / SAMPLES).read_text())


def _named(document, names):
    unknown = sorted(set(names) - set(document["samples"]))
    if unknown:
        raise Wrong(f"sample is '{unknown[0]}'; allowed: {', '.join(document['samples'])}")
    return {name: document["samples"][name] for name in names or document["samples"]}


def record(names):
    """Records these samples anew, or all."""
    document = _read()
    for name, sample in _named(document, names).items():
        print(f"{name}: {sample['command']}", flush=True)
        try:
            sample.update(taken(sample), commit=nvcc.commit_here(), date=datetime.date.today().isoformat())
        except Wrong as error:
            raise Wrong(f"{name}: {error}") from None
    (ROOT / SAMPLES).write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def changed(names, json_of=None):
    """A sentence for each of these samples that differs today. `json_of`: the X-ray's JSON, if the
    command has run already."""
    wrong = []
    for name, sample in _named(_read(), names).items():
        today = of_json(sample, json_of) if json_of else taken(sample)
        kept = {key: sample[key] for key in today}
        if today != kept:
            wrong.append(f"{name}: {sample['command']} prints\n{_text(today)}\nbut records/samples.json has\n{_text(kept)}\n"
                         f"tools/upkeep/render.py --record {name} records it again")
    return wrong


def _text(kept):
    return "\n".join(f"  {line}" for line in kept.get("lines") or json.dumps(kept, indent=1).split("\n"))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="tools/upkeep/samples.py", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="the JSON that the sample's command has written")
    parser.add_argument("sample", nargs="+", help="ends with 1 if the command's output differs from the record")
    options = parser.parse_args(arguments)
    try:
        wrong = changed(options.sample, options.json)
    except Wrong as error:
        print(error, file=sys.stderr)
        return 2
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    print(f"{len(options.sample)} samples, {len(wrong)} differ today")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
