#!/usr/bin/env python3
"""Compares the kernels of two revisions."""
import argparse
import collections
import fnmatch
import re
import sys
from dataclasses import dataclass

import nvcc


@dataclass
class Row:
    status: str  # same, moved, changed, new or gone
    old_file: str | None
    new_file: str | None
    name: str  # readable; the new name if there are two
    old: object = None  # ptx.Kernel
    new: object = None
    old_name: str | None = None  # if it differs


def short_name(readable):
    """`void a::b::kernel<int>(a::Args)` -> `kernel<int>`: without result, parameters and
    namespaces."""
    readable = readable.replace("(anonymous namespace)", "_")
    outside = readable.replace("->", "xx")  # without all <>, at the same positions
    while re.search("<[^<>]*>", outside):
        outside = re.sub("<[^<>]*>", lambda inside: "x" * len(inside[0]), outside)
    head = outside.partition("(")[0]
    return re.sub(r"\b\w+::", "", readable[head.rfind(" ") + 1:len(head)])


def compare(old, new, readable):
    """Compares {file: kernels} of `old` and `new`, matched by readable name, then by hash, then by
    name without namespaces."""
    olds = [(file, kernel) for file, kernels in sorted(old.items()) for kernel in kernels]
    news = [(file, kernel) for file, kernels in sorted(new.items()) for kernel in kernels]
    rows = []

    def pair(key, status):
        """Pairs kernels with the same key, first those in the same file."""
        for with_file in (True, False):
            waiting = {}
            for file, kernel in olds:
                waiting.setdefault((file if with_file else None, key(kernel)), []).append((file, kernel))
            for file, kernel in list(news):
                its = waiting.get((file if with_file else None, key(kernel)))
                if its:
                    match = its.pop(0)
                    olds.remove(match)
                    news.remove((file, kernel))
                    before, after = readable[match[1].name], readable[kernel.name]
                    rows.append(Row(status(match, (file, kernel)), match[0], file, after, match[1], kernel,
                                    before if before != after else None))

    def judged(match, found):
        if match[1].hash != found[1].hash:
            return "changed"
        return "same" if match[0] == found[0] else "moved"

    pair(lambda kernel: readable[kernel.name], judged)
    pair(lambda kernel: kernel.hash, lambda match, found: "moved")
    pair(lambda kernel: short_name(readable[kernel.name]), judged)
    rows += [Row("gone", file, None, readable[kernel.name], kernel, None) for file, kernel in olds]
    rows += [Row("new", None, file, readable[kernel.name], None, kernel) for file, kernel in news]
    return sorted(rows, key=lambda row: (row.new_file or row.old_file, row.name))


def counted(rows):
    """[(status, count)]"""
    counts = collections.Counter(row.status for row in rows)
    return [(status, counts[status]) for status in ("same", "moved", "changed", "new", "gone")]


def _change(before, after):
    if before is None or after is None or before == after:
        return str(after if before is None else before)
    return f"{before} -> {after}"


def _spills(resources):
    return None if resources is None else resources["spill_stores"] + resources["spill_loads"]


def report(rows, resources, list_all):
    """The table's lines. `resources`: {hash: registers and spills}, or None if not requested."""
    lines = []
    for file in sorted({row.new_file or row.old_file for row in rows}):
        its = [row for row in rows if (row.new_file or row.old_file) == file]
        lines.append(f"{file}: " + ", ".join(f"{n} {status}" for status, n in counted(its) if n))
        for row in its:
            if row.status == "same" and not list_all:
                continue
            line = f"  {row.status:8s}"
            if resources is not None:
                old = resources[row.old.hash] if row.old else None
                new = resources[row.new.hash] if row.new else None
                line += f"registers {_change(old and old['registers'], new and new['registers']):11s} "
                line += f"spills {_change(_spills(old), _spills(new)):13s} "
            line += row.name
            if row.old_name:
                line += f"   (was {row.old_name})"
            if row.old_file and row.new_file and row.old_file != row.new_file:
                line += f"   (was in {row.old_file})"
            lines.append(line)
    return lines


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="tools/upkeep/same_kernels.py", description="Says for every kernel of two revisions whether its PTX is the same, and its "
        "registers and spilled bytes (stores and loads together). Ends with 0 when every kernel is the same, 1 when one is not, "
        "2 when it could not be found out.")
    parser.add_argument("old", metavar="OLD", help="a git revision, or . for the working tree")
    parser.add_argument("new", metavar="NEW", help="a git revision, or . for the working tree")
    parser.add_argument("--files", metavar="GLOB", default="*", help="only these sources, as '07_*/*.cu'")
    parser.add_argument("--all", action="store_true", help="a line for every kernel, not only for those that differ")
    parser.add_argument("--ptx-only", action="store_true", help="no registers and spills, which take ptxas as long as all else")
    options = parser.parse_args(arguments)
    try:
        compiler = nvcc.Compiler(nvcc.say_to_stderr)
        with nvcc.tree_of(options.old) as old_tree, nvcc.tree_of(options.new) as new_tree:
            kernels, resources = [], {}
            for revision, tree in ((options.old, old_tree), (options.new, new_tree)):
                sources = [path for path in tree.kernel_sources if fnmatch.fnmatch(path, options.files)]
                kernels.append(compiler.kernels_of(tree, sources))
            if not any(kernels[0].values()) and not any(kernels[1].values()):
                raise nvcc.ToolError(f"no kernel is in a source that matches {options.files!r}")
            readable = nvcc.demangled(kernel.name for tree in kernels for its in tree.values() for kernel in its)
            rows = compare(*kernels, readable)
            if not options.ptx_only:
                # Registers are needed only for listed kernels, and equal kernels are compiled once.
                shown = {kernel.hash for row in rows if options.all or row.status != "same"
                         for kernel in (row.old, row.new) if kernel}
                for tree, its in ((old_tree, kernels[0]), (new_tree, kernels[1])):
                    wanted = {source: [kernel for kernel in list_ if kernel.hash in shown] for source, list_ in its.items()}
                    resources.update(compiler.resources(tree, wanted))
    except nvcc.ToolError as error:
        print(f"same_kernels: {error}", file=sys.stderr)
        return 2
    print("\n".join(report(rows, None if options.ptx_only else resources, options.all)))
    print(f"{options.old} -> {options.new}, {nvcc.ARCHITECTURE}, nvcc {compiler.release}: {len(rows)} kernels: "
          + ", ".join(f"{n} {status}" for status, n in counted(rows)))
    return 0 if all(row.status in ("same", "moved") for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
