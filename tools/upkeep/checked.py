#!/usr/bin/env python3
"""Lists which of .ci/run's expensive checks are due: those whose sources have changed since they
last passed, and a tenth of the others, drawn by the commit. records/checked.txt records what has
passed; `.ci/run --all`, which skips nothing, writes it."""
import argparse
import hashlib
import os
import re
import subprocess
import sys
from pathlib import PurePath

from nvcc import ROOT
from sources import Tree
from ladder_tools.place import bosses, exercises, lesson_of, mistakes

RECORD = ROOT / "records" / "checked.txt"
_CODE = (".cu", ".cpp", ".hpp", ".h", ".cuh")
_ONE_OF = 10  # one of so many passed checks runs again
# Checks that run as a whole, with the files whose change makes them due.
_WHOLE = {
    "sanitizers emulator": r"common/(emulator|cuda)/|\.ci/check_asan$|CMakeLists\.txt$|cmake/",
    "sanitizers reference": r"common/(core|judge|diagnosis|testing|operators)/|\.ci/check_asan$|CMakeLists\.txt$|cmake/",
    "sanitizers chapters": r"common/(core|judge|testing|operators|emulator)/|0[123]_[^/]*/.*\.(cpp|cu|hpp)$|\.ci/check_asan$|CMakeLists\.txt$|cmake/",
    "sanitizers hopper": r"common/(cuda|emulator)/|08_[^/]*/(15|19)_[^/]*/.*\.(cpp|cu|hpp)$|08_[^/]*/[^/]*\.hpp$|\.ci/check_asan$|CMakeLists\.txt$|cmake/",
    "nvcc library": r"library/.*(\.(cpp|cu|hpp|h|py)|CMakeLists\.txt)$|common/(core|cuda)/.*\.hpp$|\.ci/compile_cuda$",
    "clang": r"common/(core|cuda|diagnosis|emulator|judge|operators|program|testing)/|0[38]_[^/]*/[^/]*\.(cpp|cu|hpp)$|\.ci/run$|CMakeLists\.txt$|cmake/",
    "loop": r"tools/(ladder_tools/|commands$)|^ladder$|common/|cmake/|0[013]_[^/]*/.*\.(cpp|cu|hpp|patch|holes)$|\.ci/check_exercise_loop$",
}


def listed():
    """The tree's files, including uncommitted ones."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    return [name for name in names if name and (ROOT / name).is_file()]


def digest(*parts):
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


class Checks:
    """All checks by name: "nvcc 05_float4/kernel.cu", "lesson 07.02_chunk_walk" (its stubs,
    mistakes and boss), "solution 07.02_chunk_walk", "loop"; and the hash of each check's
    sources."""

    def __init__(self, files):
        self._files = files
        self._tree = Tree(ROOT, [name for name in files if name.endswith(_CODE)])
        self.hashes = {f"nvcc {each}": self._of_source(each) for each in files
                       if each.endswith(".cu") and not re.match(r"common/(check|emulator|xray)/", each) and "/solutions/" not in each}
        self.hashes |= {f"nvcc {each}": digest(self._of_source(kernel), self._text(each)) for each in files if each.endswith("/more/scratch.holes")
                        for kernel in (each.replace("more/scratch.holes", name) for name in ("kernel.cu", "kernel_sm90.cu")) if kernel in files}
        lessons = {}
        for name in files:
            folder = re.match(r"(\d\d_\w+(?:/\d\d[a-z]?_\w+)?)/", name)
            if folder:
                lessons.setdefault(f"lesson {lesson_of(PurePath(folder[1]))}", []).append(name)
        for lesson, names in lessons.items():
            self.hashes[lesson] = self.hashes[lesson.replace("lesson", "solution")] = self._of_lesson(names)
        for check, wanted in _WHOLE.items():
            self.hashes[check] = digest(*(self._without_comments(name) for name in files if re.search(wanted, name) and not name.endswith(".md")))

    def _text(self, name):
        return (ROOT / name).read_text(encoding="utf-8", errors="replace")

    def _without_comments(self, name):
        """C++ as a compiler sees it, but for its line numbers; every other file as it is."""
        return " ".join(self._tree.code(name).split()) if name.endswith(_CODE) else self._text(name)

    def _of_source(self, name):
        return digest(self._tree.closure_hash(name), self._text(".ci/compile_cuda"))

    def _of_lesson(self, names):
        """Hashes kernels and tests with their includes; the stubs, patches and solutions made from
        them as they are; and the pages' hints."""
        code = [name for name in names if name.endswith(_CODE) and "/solutions/" not in name]
        pages = [re.findall(r"^\*\*(?:Hole|Stage) [\s\S]*?(?=^## |\Z)", self._text(name), re.MULTILINE) for name in names if name.endswith(".md")]
        others = [self._text(name) for name in names if name not in code and not name.endswith((".md", ".svg", ".png"))]
        return digest(*(self._tree.closure_hash(name) for name in code), *sorted(others), *sum(pages, []))


def must_fail(lessons):
    """The stubs, mistakes and bosses of these lessons, by ./ladder test's names."""
    names = [f"stub.{each.lesson}.{each.kind.replace('exercise', 'kernel')}" for kind in ("exercise", "scratch") for each in exercises(kind) if each.lesson in lessons]
    names += [f"mistake.{name}" for name in mistakes() if name.rpartition(".")[0] in lessons]
    return names + [f"boss.{name.removesuffix('.boss')}.kernel" for name in bosses() if name.removesuffix(".boss") in lessons]


def recorded():
    lines = RECORD.read_text().splitlines() if RECORD.exists() else []
    return {line.rpartition(" ")[0]: line.rpartition(" ")[2] for line in lines}


def due(hashes, passed, commit):
    """{check: the reason why it runs}"""
    reasons = {}
    for check, now in hashes.items():
        if passed.get(check) != now:
            reasons[check] = "changed" if check in passed else "new"
        elif int(digest(commit, check), 16) % _ONE_OF == 0:
            reasons[check] = "drawn"
    return reasons


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", nargs="?", default="", help="print what is due of this kind, without the kind: clang, nvcc, lesson, solution, sanitizers or loop; "
                        "must_fail: the stubs, mistakes and bosses of the lessons that are due")
    parser.add_argument("--all", action="store_true", default=os.environ.get("LADDER_CI_ALL") == "1", help="everything is due (LADDER_CI_ALL=1 too)")
    parser.add_argument("--record", action="store_true", help="write the record: all have passed, or all of this kind")
    arguments = parser.parse_args()
    checks = Checks(listed())
    kinds = sorted({check.partition(" ")[0] for check in checks.hashes})
    if arguments.kind and arguments.kind not in (*kinds, "must_fail"):
        sys.exit(f"checked.py: kind is '{arguments.kind}'; allowed: {' '.join(kinds)} must_fail")
    if arguments.record:
        passed = {check: now for check, now in recorded().items() if check in checks.hashes}
        passed |= {check: now for check, now in checks.hashes.items() if arguments.kind in ("", check.partition(" ")[0])}
        RECORD.write_text("".join(f"{check} {now}\n" for check, now in sorted(passed.items())))
        return 0
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    reasons = dict.fromkeys(checks.hashes, "all") if arguments.all else due(checks.hashes, recorded(), commit)
    if arguments.kind == "must_fail":
        print(*must_fail({check.partition(" ")[2] for check in reasons if check.startswith("lesson ")}), sep="\n")
        return 0
    for check in sorted(reasons):
        kind, _, name = check.partition(" ")
        if not arguments.kind:
            print(f"{reasons[check]:<8} {check}")
        elif kind == arguments.kind:
            print(name or kind)
    return 0


if __name__ == "__main__":
    sys.exit(main())
