#!/usr/bin/env python3
"""Ties measured times to the launched code: records/kernels.json, and `code` in every recorded
row."""
import argparse
import json
import re
import sys
from functools import lru_cache
from pathlib import Path

import launches
import nvcc
import ptx
from records import Records

from ladder_tools.place import Failed, write_whole
from ladder_tools.recorded import as_rows, documents, launched_in, measured_in

RECORD = Path("records/kernels.json")


class Hasher:
    """Hashes what a tree's launchers launch, as `program`, a launches.Program, reports it."""

    def __init__(self, tree, compiler, program):
        self.tree, self.compiler, self.program = tree, compiler, program

    def hashes(self, wanted):
        """For each (question, implementations): {implementation: the hash of its launch, or None if
        it launches nothing}."""
        answers = self.program.launches([{**question, "implementations": names} for question, names in wanted])
        answers = [{name: its if isinstance(its, list) else [] for name, its in answer.items()} for answer in answers]
        kernels = {}  # {source: mangled names}
        for answer in answers:
            for implementation, its in answer.items():
                for launch in its:
                    for source in self._sources(implementation, launch.kernel):
                        kernels.setdefault(source, set()).add(launch.kernel)
        codes = self._codes(kernels)
        return [{name: self._hash(name, its, codes) if its else None for name, its in answer.items()} for answer in answers]

    @lru_cache(maxsize=None)
    def _sources(self, implementation, kernel):
        """The sources that may define the kernel: the implementation's, or those whose launchers it
        calls."""
        own, name = self.tree.registered()[implementation], _plain_name(kernel)
        defines = re.compile(rf"__global__[^;{{}}]*\b{name}\s*\(")
        found = [each for each in self.tree.reached(own) if any(defines.search(self.tree.code(file)) for file in self.tree.closure(each))]
        return [own] if own in found else found

    def _codes(self, wanted):
        """{(source, mangled name): the hash of its machine code}"""
        named = {source: {ptx.without_build_hashes(kernel.name): kernel for kernel in its}
                 for source, its in self.compiler.kernels_of(self.tree, wanted).items()}
        chosen = {source: [named[source][name] for name in names if name in named[source]] for source, names in wanted.items()}
        resources = self.compiler.resources(self.tree, chosen)
        return {(source, ptx.without_build_hashes(kernel.name)): resources[kernel.hash]["code"] for source, its in chosen.items() for kernel in its}

    def _hash(self, implementation, its, codes):
        lines = []
        for launch in its:
            found = {codes[source, launch.kernel] for source in self._sources(implementation, launch.kernel) if (source, launch.kernel) in codes}
            if len(found) != 1:
                raise nvcc.ToolError(f"{implementation} launches {launch.kernel}, and nvcc has compiled {len(found)} of that name; allowed: 1")
            lines.append(f"{found.pop()} {launch.configuration}")
        return ptx.short_hash("\n".join(lines))


@lru_cache(maxsize=None)
def _plain_name(kernel):
    """The mangled `void a::b::kernel<int>(a::Args)` -> `kernel`."""
    readable = nvcc.demangled([kernel])[kernel].replace("(anonymous namespace)", "_")
    return re.findall(r"(\w+)(?=[<(]|$)", re.sub(r"^\w[\w ]* (?=\w)", "", readable.partition("(")[0].partition("<")[0]))[-1]


def source_hash(tree, source):
    """A hash of all text from which its kernels and launchers are made. While it is the same,
    nothing needs to be compiled."""
    return ptx.short_hash("\n".join([*nvcc.FLAGS, *(tree.closure_hash(each) for each in tree.reached(source))]))


def rows_of(records, tree):
    """[(name of the run or case, question, implementations)] for everything measured on a GPU and
    registered today."""
    found = [(name, launches.question(run), [row["implementation"] for row in run["rows"] if row["back_end"] == "cuda"])
             for name, run in records.runs.items()]
    found += [(name, launches.question_of_case(case), [row["name"] for row in case["rows"] if row["ours"]])
              for name, (case, _) in records.cases.items()]
    known = tree.registered()
    found = [(name, question, [each for each in names if each in known]) for name, question, names in found]
    return [each for each in found if each[2]]


def changed_sources(record, tree):
    """The recorded sources whose text has changed, or that are gone."""
    return {source for source, text in record["sources"] if source not in tree.paths or source_hash(tree, source) != text}


def stale_rows(record, rows, tree):
    """[(name, question, implementations)] that are not in the record, or whose sources have changed
    since."""
    changed, known, sources = changed_sources(record, tree), launched_in(record), tree.registered()
    found = [(name, question, [each for each in names if sources[each] in changed or each not in known.get(name, {})]) for name, question, names in rows]
    return [each for each in found if each[2]]


def renewed(record, rows, tree, hasher):
    """The record with today's hashes of all its rows. Without a hasher (no nvcc), rows with changed
    sources are removed."""
    stale, known, sources = stale_rows(record, rows, tree), launched_in(record), tree.registered()
    changed = changed_sources(record, tree)
    result = {name: {each: known[name][each] for each in names if each in known.get(name, {}) and sources[each] not in changed} for name, _, names in rows}
    if hasher:
        for (name, _, names), found in zip(stale, hasher.hashes([each[1:] for each in stale])):
            result[name].update(found)
    texts = {source: source_hash(tree, source) for source in sorted({sources[each] for _, _, names in rows for each in names})
             if hasher or source not in changed}
    return {**record, "sources": [list(each) for each in texts.items()],
            "launched": [{"name": name, "code": dict(sorted(its.items()))} for name, its in sorted(result.items()) if its]}


def differing(record, rows, tree, hasher):
    """A line for each row whose recorded hash differs from today's."""
    stale, known = stale_rows(record, rows, tree), launched_in(record)
    stale = [(name, question, [each for each in names if each in known.get(name, {})]) for name, question, names in stale]
    stale = [each for each in stale if each[2]]
    for (name, _, names), found in zip(stale, hasher.hashes([each[1:] for each in stale])):
        yield from (f"stale: {name}, {each}: it launches something else now; its recorded time is old" for each in names if found.get(each) != known[name][each])


def stamp(folder, record, tree, tree_of):
    """Adds today's code to each recorded row without one, if its source had the same text at the
    measured commit. Rows of other commits stay unknown. Returns the written files."""
    known, sources, written = launched_in(record), tree.registered(), []
    for path, document in documents(folder):
        new = {}  # {commit: [(row, its code, its source)]}
        for name, conditions, rows in measured_in(document):
            for implementation, row in rows.items():
                code = known.get(name, {}).get(implementation)
                if "code" not in row and code and implementation in sources:
                    new.setdefault(conditions["commit"], []).append((row, code, sources[implementation]))
        for commit, rows in new.items():
            try:
                with tree_of(commit) as then:
                    same = {source for _, _, source in rows if source in then.paths and source_hash(then, source) == source_hash(tree, source)}
            except nvcc.ToolError:
                continue
            for row, code, source in rows:
                if source in same:
                    row["code"] = code
                    written += [path] if path not in written else []
        if path in written:
            write_whole(path, as_rows(document) + "\n")
    return written


def old_times(records):
    """A line for each recorded time whose kernel has changed since or is unknown."""
    return [f"{name}: {row['implementation']} {row['seconds']:.3g} s" for name, run in records.runs.items() for row in run["rows"]
            if "seconds" in row and records.is_old(name, row["implementation"])]


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="tools/upkeep/kernel_hashes.py", description=f"Writes {RECORD}: for every recorded row the hash of what its implementation launches today, "
        f"that is of each kernel's machine code for {nvcc.ARCHITECTURE} and of its grid, block and shared memory. A row that holds another hash was measured on another kernel.")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--check", action="store_true", help="compare instead of writing; ends with 1 when a hash is stale")
    group.add_argument("--old", action="store_true", help="list the recorded times that are old")
    options = parser.parse_args(arguments)
    path = nvcc.ROOT / RECORD
    try:
        records = Records(nvcc.ROOT)
        if options.old:
            old = old_times(records)
            print("\n".join([*old, f"{len(old)} recorded times are old"]))
            return 0
        release = nvcc.nvcc_version()[0]
        record = json.loads(path.read_text())
        with nvcc.tree_of(".") as tree:
            rows = rows_of(records, tree)
            if not stale_rows(record, rows, tree):
                if not options.check:
                    stamp(path.parent, record, tree, nvcc.tree_of)
                print(f"{sum(len(names) for _, _, names in rows)} rows: the sources are, comments aside, those that were hashed")
                return 0
            if options.check and release != record["nvcc"]:
                sources = "\n".join(f"  not checked: {source}" for source in sorted(changed_sources(record, tree)))
                print(f"SKIPPED: there is {f'nvcc {release}' if release else 'no nvcc'} to hash the kernels; {RECORD} is nvcc {record['nvcc']}'s\n{sources}")
                return 0
            hasher = Hasher(tree, nvcc.Compiler(nvcc.say_to_stderr), launches.Program(launches.built())) if release else None
            if options.check:
                lines = list(differing(record, rows, tree, hasher))
                print("\n".join([*lines, f"{len(lines)} rows are stale" + (": run tools/upkeep/kernel_hashes.py and tools/upkeep/render.py, and commit what they wrote" if lines else "")]))
                return 1 if lines else 0
            if release and release != record["nvcc"]:
                record = {**record, "nvcc": release, "sources": [], "launched": []}
            record = renewed(record, rows, tree, hasher)
            write_whole(path, as_rows(record) + "\n")
            print("\n".join(f"written: {each.relative_to(nvcc.ROOT)}" for each in [path, *stamp(path.parent, record, tree, nvcc.tree_of)]))
        return 0
    except (nvcc.ToolError, Failed) as error:
        print(f"kernel_hashes: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
