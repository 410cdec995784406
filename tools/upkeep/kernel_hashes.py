#!/usr/bin/env python3
"""Ties measured results to the kernels they were measured on: records/kernels.json, and `ptx` in every recorded row."""
import argparse
import json
import sys
from pathlib import Path

import nvcc
import ptx
from records import Records

SCHEMA = "kernel-ladder/kernels/1"
RESULTS = Path("records")
RECORD = RESULTS / "kernels.json"


def file_hash(compiled, tree, source):
    """Of the kernels of a source and of every source whose launchers it calls."""
    kernels = [kernel.hash for each in tree.reached(source) for kernel in compiled[each]]
    if not kernels:
        raise nvcc.ToolError(f"{source} launches no kernel that could be found")
    return ptx.hash_of_hashes(kernels)


def record_of(tree, compiler):
    """What kernels.json says of a tree."""
    sources = tree.implementation_sources()
    compiled = compiler.kernels_of(tree, {each for source in sources for each in tree.reached(source)})
    return {"schema": SCHEMA, "nvcc": compiler.release, "architecture": compiler.architecture,
            # Each covers a source's PTX and that of the sources it calls: a recorded time is compared with it.
            "files": {source: file_hash(compiled, tree, source) for source in sources},
            # Each covers the text that went into it: as long as it is the same, nothing need be compiled to know the PTX.
            "sources": {source: source_hash(tree, source) for source in sources}}


def source_hash(tree, source):
    return ptx.short_hash("\n".join([*nvcc.FLAGS, *(tree.closure_hash(each) for each in tree.reached(source))]))


def changed_files(record, tree):
    """The recorded sources whose text is another one now, or that are gone."""
    now = {source: source_hash(tree, source) for source in tree.implementation_sources()}
    return sorted(source for source, text in record["sources"].items() if now.get(source) != text)


def unhashed_files(record, tree):
    """What a machine without nvcc has added: no mistake, until it is measured."""
    return sorted(set(tree.implementation_sources()) - set(record["files"]))


def without_changed(record, tree):
    """What can be said without nvcc: the hashes of sources whose text has changed are taken out."""
    changed = changed_files(record, tree)
    return {**record, **{part: {source: text for source, text in record[part].items() if source not in changed} for part in ("files", "sources")}}


def check(record, tree, new_compiler):
    """Lines to print, and whether no hash in kernels.json is wrong. Compiles only sources whose text has changed."""
    lines, right = [f"not hashed yet: {source}" for source in unhashed_files(record, tree)], True
    texts = changed_files(record, tree)
    if not texts:
        return [*lines, f"{len(record['files'])} sources are, comments aside, those that were hashed"], True
    compiler = new_compiler()
    if compiler is None or compiler.release != record["nvcc"]:
        which = "no nvcc" if compiler is None else f"nvcc {compiler.release}"
        return [*lines, f"SKIPPED: {len(texts)} sources have changed, and there is {which} to hash their kernels; {RECORD} is nvcc "
                f"{record['nvcc']}'s", *(f"  not checked: {source}" for source in texts)], True
    here = [source for source in texts if source in tree.implementation_sources()]
    compiled = compiler.kernels_of(tree, {each for source in here for each in tree.reached(source)})
    for source in texts:
        if source in here and file_hash(compiled, tree, source) == record["files"][source]:
            lines.append(f"the same kernels from a changed text: {source}")
            continue
        right = False
        lines.append(f"stale: {source} " + ("has other kernels now: its recorded times are old" if source in here else "is gone"))
    return lines, right


def as_json(content):
    """As the ladder's own program writes it."""
    return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="tools/upkeep/kernel_hashes.py", description=f"Writes {RECORD}: a hash of every source's kernels (normalised PTX of "
        f"{nvcc.ARCHITECTURE}). A recorded time whose row holds another hash was measured on other kernels.")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--check", action="store_true", help="compare instead of writing; ends with 1 when a hash is stale")
    group.add_argument("--old", action="store_true", help="list the recorded times that are old")
    options = parser.parse_args(arguments)

    def new_compiler():
        return nvcc.Compiler(nvcc.say_to_stderr) if nvcc.nvcc_version()[0] else None

    try:
        path = nvcc.ROOT / RECORD
        record = json.loads(path.read_text(encoding="utf-8"))
        if options.old:
            records = Records(nvcc.ROOT)
            old = [f"{name}: {row['implementation']} {row['seconds']:.3g} s" for name, run in records.runs.items() for row in run["rows"]
                   if "seconds" in row and records.is_old(name, row["implementation"])]
            for line in old:
                print(line)
            print(f"{len(old)} recorded times are old")
            return 0
        with nvcc.tree_of(".") as tree:
            if options.check:
                lines, right = check(record, tree, new_compiler)
                print("\n".join(lines))
                if not right:
                    print("Run tools/upkeep/kernel_hashes.py, look at `tools/upkeep/kernel_hashes.py --old`, and commit what it wrote.")
                return 0 if right else 1
            compiler = new_compiler()
            record = record_of(tree, compiler) if compiler else without_changed(record, tree)
            for source in unhashed_files(record, tree):
                print(f"not hashed, there is no nvcc: {source}")
        path.write_text(as_json(record), encoding="utf-8")
        print(f"{RECORD}: {len(record['files'])} sources")
        return 0
    except nvcc.ToolError as error:
        print(f"kernel_hashes: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
